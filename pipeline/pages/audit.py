"""Where logs contradict themselves."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.pages.address import Field, address, given
from pipeline.pages.content import ROWS, Content, first_rows
from pipeline.reports.audit import TITLES, findings_parts

LANE = "long"
WHOLE = "findings"
Parameters = address(Field("kind"), Field("model"))


def content(lake: AnsweringLake, asked: Any) -> Content:
    """How often logs contradict themselves, and the first findings of the kind asked for."""
    rows, findings = lake.audit(**given(asked, "model")), None
    if asked.kind:
        findings = first_rows(whole(lake, asked), ROWS)
    parts = {
        "findings": None if findings is None else findings.head(ROWS),
        "finding": TITLES[asked.kind] if asked.kind else None,
        "is_cut": findings is not None and findings.height > ROWS,
    }
    return Content(title="Audit", rows=rows, parts=parts)


def whole(lake: AnsweringLake, asked: Any) -> Iterator[pl.DataFrame]:
    """All findings of the kind that is asked for."""
    return findings_parts(lake, asked.kind, **given(asked, "model"))
