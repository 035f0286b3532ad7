"""One model: its profile over all metrics against the field, by role, by opponent."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.metrics.request import RELEASE, several
from pipeline.metrics.validation import check_models
from pipeline.pages.content import Content, Faults, OfSystem, tested_models
from pipeline.present import present
from pipeline.vocabulary import ALL, Edition

LANE = "long"


class Parameters(OfSystem, frozen=True, kw_only=True):
    IN_TITLE: ClassVar[tuple[str, ...]] = ("model",)

    model: str = ""
    edition: Edition = "paper"


class ModelContent(Content, frozen=True, kw_only=True):
    """`rows` are the model's rows of `metrics`; `field` are those of all models."""

    model: str | None
    models: tuple[str, ...]
    field: pl.DataFrame
    ticks: Mapping[str, Sequence[float]]
    by_role: pl.DataFrame
    by_opponent: pl.DataFrame
    completeness: pl.DataFrame


def content(lake: AnsweringLake, asked: Parameters) -> ModelContent:
    """The model's values; without a name those of the first model."""
    field = lake.metrics(edition=asked.edition, game_type=ALL)
    models = tested_models(field["model"])
    model, faults = asked.model or next(iter(models), None), Faults()
    with faults.of("model"):
        check_models(lake, several(asked.model or None))
    known = None if faults else model
    rows = field.filter(pl.col("model").eq_missing(pl.lit(model, pl.String)))
    there, valued = lake.completeness(), field.drop_nulls("value")
    return ModelContent(
        title=model or "No model",
        faults=faults,
        rows=rows,
        notes=present("metrics", rows).notes,
        model=model,
        models=models,
        field=field,
        ticks=dict(valued.group_by("metric", maintain_order=True).agg("value").iter_rows()),
        by_role=_by(lake, asked, known, "role"),
        by_opponent=_by(lake, asked, known, "opponent"),
        completeness=there.filter(pl.col("model").eq_missing(pl.lit(model, pl.String))),
    )


def _by(lake: AnsweringLake, asked: Parameters, model: str | None, column: str) -> pl.DataFrame:
    """The model's values by one more column; no rows where the edition has none."""
    if asked.edition == RELEASE or model is None:
        return pl.DataFrame()
    rows = lake.metrics(edition=asked.edition, model=model, by=["model", "game_type", column])
    return rows.filter(pl.col("game_type") != ALL, pl.col("value").is_not_null())
