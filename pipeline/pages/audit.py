"""Where logs contradict themselves."""

from collections.abc import Iterator

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.pages.content import ROWS, Address, Content, first_rows
from pipeline.reports.audit import TITLES, findings_parts

LANE = "long"
WHOLE = "findings"


class Parameters(Address, frozen=True, kw_only=True):
    kind: str = ""
    model: str = ""


class AuditContent(Content, frozen=True, kw_only=True):
    """`rows` are those of `audit`; `findings` the first rows of one kind."""

    findings: pl.DataFrame | None
    finding: str | None
    is_cut: bool


def content(lake: AnsweringLake, asked: Parameters) -> AuditContent:
    """How often logs contradict themselves, and the findings of the kind that is asked for."""
    rows = lake.audit(model=asked.model or None)
    findings = first_rows(whole(lake, asked), ROWS) if asked.kind else None
    return AuditContent(
        title="Audit",
        rows=rows,
        findings=None if findings is None else findings.head(ROWS),
        finding=TITLES[asked.kind] if asked.kind else None,
        is_cut=findings is not None and findings.height > ROWS,
    )


def whole(lake: AnsweringLake, asked: Parameters) -> Iterator[pl.DataFrame]:
    """All findings of the kind that is asked for."""
    return findings_parts(lake, asked.kind, model=asked.model or None)
