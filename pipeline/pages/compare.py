"""Two models: their differences, and the settings where they differ most."""

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.metrics.known import names
from pipeline.pages.content import (
    Content,
    Faults,
    Head,
    OfSystem,
    heads,
    tested_models,
)
from pipeline.reports.compare.columns import SCHEMA
from pipeline.reports.compare.notes import common_note, replay_note
from pipeline.reports.compare.settings import APART
from pipeline.vocabulary import Edition

LANE = "long"


class Parameters(OfSystem, frozen=True, kw_only=True):
    model: str = ""
    other: str = ""
    metric: str = ""
    edition: Edition = "paper"


class CompareContent(Content, frozen=True, kw_only=True):
    """`rows` are those of `compare`; `apart` are the settings with the largest differences."""

    models: tuple[str, ...]
    model: str
    other: str
    metrics: tuple[Head, ...]
    metric: str
    apart: pl.DataFrame


def content(lake: AnsweringLake, asked: Parameters) -> CompareContent:
    """The comparison of two models; without names, of the first two."""
    models = tested_models(
        lake.table("results").filter("is_tested").select("model").collect()["model"]
    )
    model = asked.model or next((name for name in models if name != asked.other), "")
    other = asked.other or next((name for name in models if name != model), "")
    metric = asked.metric or names(asked.edition)[0]
    rows, apart = pl.DataFrame(schema=SCHEMA), pl.DataFrame(schema=APART)
    faults = Faults()
    if model and other:
        with faults.of("other"):
            rows = lake.compare((model, other), edition=asked.edition)
    if model and other and not faults:
        with faults.of("metric"):
            apart = lake.settings_apart(model, other, metric, edition=asked.edition)
    return CompareContent(
        title=f"{model} and {other}" if model and other else "Compare models",
        rows=rows,
        models=models,
        model=model,
        other=other,
        metrics=heads(asked.edition),
        metric=metric,
        apart=apart,
        notes=_notes(rows),
        faults=faults,
    )


def _notes(rows: pl.DataFrame) -> list[str]:
    sizes = rows["family"].drop_nulls().unique().to_list()
    families = [
        f"p (Holm) is adjusted for the {size} p-values in this table. The null hypothesis is that "
        "both models behave alike."
        for size in sizes
    ]
    notes = [*common_note(rows), *replay_note(rows)]
    return families + [f"{note[0].upper()}{note[1:]}." for note in notes]
