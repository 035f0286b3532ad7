"""Where logs contradict themselves."""

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.pages.content import ROWS, Address, Content
from pipeline.reports.audit import TITLES, findings_parts

LANE = "long"


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
    model = asked.model or None
    rows = lake.audit(model=model)
    findings = _first(lake, asked.kind, model) if asked.kind else None
    is_cut = findings is not None and findings.height > ROWS
    return AuditContent(
        title="Audit",
        rows=rows,
        findings=None if findings is None else findings.head(ROWS),
        finding=TITLES[asked.kind] if asked.kind else None,
        is_cut=is_cut,
    )


def _first(lake: AnsweringLake, kind: str, model: str | None) -> pl.DataFrame:
    """The first findings, and one more if there are more."""
    parts: list[pl.DataFrame] = []
    for part in findings_parts(lake, kind, model=model):
        parts.append(part.head(ROWS + 1))
        if sum(one.height for one in parts) > ROWS:
            break
    return pl.concat(parts).head(ROWS + 1)
