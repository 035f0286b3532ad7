"""Where logs contradict themselves: how often, and each row."""

from functools import partial
from typing import Any

import polars as pl

from pipeline.present import folds
from pipeline.present.rows import brief
from pipeline.present.table import Table
from pipeline.present.values import group_columns
from pipeline.reports import audit as audits

_BRIEF_FINDINGS = ("model", "player", "round", "logged", "says", "message_index", "content")


def audit(rows: pl.DataFrame, **_: Any) -> Table:
    return Table(
        "audit",
        rows,
        {**group_columns(rows), **audits.COLUMNS},
        hidden=("title", "effect"),
        folds=(folds.titled("kind", "metric"),),
    )


def findings(rows: pl.DataFrame, **_: Any) -> Table:
    columns = ("game_id", *_BRIEF_FINDINGS)
    return Table("findings", rows, audits.FINDINGS, brief=partial(brief, columns=columns))
