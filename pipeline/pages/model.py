"""One model: its profile over all metrics against the field, by role, by opponent."""

from typing import Any

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.metrics.request import check_models, several
from pipeline.pages.address import EDITION, Field, address
from pipeline.pages.content import Content, Faults, tested_models
from pipeline.present import present
from pipeline.vocabulary import ALL, RELEASE

LANE = "long"


Parameters = address(
    Field("model", "Model", are_names=True), EDITION, is_of_system=True, in_title=("model",)
)


def content(lake: AnsweringLake, asked: Any) -> Content:
    """The model's values; without a name those of the first model.

    `rows` are the model's rows of `metrics`; `field` are those of all models.
    """
    field = lake.metrics(edition=asked.edition, game_type=ALL)
    models = tested_models(field["model"])
    model, faults = asked.model or next(iter(models), None), Faults()
    with faults.of("model"):
        check_models(lake, several(asked.model or None))
    known = None if faults else model
    rows = field.filter(pl.col("model").eq_missing(pl.lit(model, pl.String)))
    there, valued = lake.completeness(), field.drop_nulls("value")
    ticks = valued.group_by("metric", maintain_order=True).agg("value")
    return Content(
        title=model or "No model",
        rows=rows,
        parts={
            "model": model,
            "field": field,
            "ticks": dict(ticks.iter_rows()),
            "by_role": _by(lake, asked, known, "role"),
            "by_opponent": _by(lake, asked, known, "opponent"),
            "completeness": there.filter(pl.col("model").eq_missing(pl.lit(model, pl.String))),
        },
        choices={"model": models},
        notes=present("metrics", rows).notes,
        faults=faults,
    )


def _by(lake: AnsweringLake, asked: Any, model: str | None, column: str) -> pl.DataFrame:
    """The model's values by one more column; no rows where the edition has none."""
    if asked.edition == RELEASE or model is None:
        return pl.DataFrame()
    rows = lake.metrics(edition=asked.edition, model=model, by=["model", "game_type", column])
    return rows.filter(pl.col("game_type") != ALL, pl.col("value").is_not_null())
