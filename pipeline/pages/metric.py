"""One metric: what it means, and its value for every model."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.errors import UsageError
from pipeline.metrics.known import has_sql, metric, sql
from pipeline.pages.address import BY, EDITION, METRIC, WHERE, address
from pipeline.pages.content import Content, Faults, answered, grouped, head, listed
from pipeline.present import present
from pipeline.vocabulary import ALL

LANE = "long"


Parameters = address(METRIC, EDITION, WHERE, BY, is_of_system=True)


def content(lake: AnsweringLake, asked: Any) -> Content:
    """The metric's definition, and its values by model, by game type and by what is asked.

    `rows` are those of `metrics` over all game types, `by_type` those of each game type.
    """
    declared, shown = metric(asked.metric, asked.edition), head(asked.metric, asked.edition)
    groups = tuple(name for name in listed(asked.by) if name not in ("model", "game_type"))
    rows, faults = _values(lake, asked, groups)
    is_all = pl.col("game_type") == ALL
    whole = rows.filter(is_all).sort("value", "model", descending=[True, False], nulls_last=True)
    terms = [
        {"term": one.name, "game types": ", ".join(one.game_types), "weight": one.weight}
        for one in declared.terms
    ]
    return Content(
        title=shown.title,
        rows=whole,
        parts={
            "head": shown,
            "source": shown.source,
            "combine": str(declared.combine),
            "terms": pl.DataFrame(terms),
            "sql": sql(asked.metric, asked.edition) if has_sql(asked.metric) else "",
            "by_type": rows.filter(~is_all),
            "groups": groups,
        },
        notes=present("metrics", rows).notes,
        faults=faults,
    )


def _values(
    lake: AnsweringLake, asked: Any, groups: tuple[str, ...]
) -> tuple[pl.DataFrame, Faults]:
    """The values as far as nothing is wrong with the request, and what is."""

    def values(where: str | None = None, by: Sequence[str] = ()) -> pl.DataFrame:
        rows = lake.metrics(
            metric=asked.metric, edition=asked.edition, by=["model", "game_type", *by], where=where
        )
        if where and rows["model"].null_count():  # the row that says why there is none
            raise UsageError(rows["reason"][0])
        return rows

    fields = {"": {}, "where": {"where": asked.where or None}, "by": {"by": groups}}
    rows, faults = answered(values, fields)
    return pl.DataFrame() if rows is None else grouped(rows, groups), faults
