"""Two models in a slice of the games: their differences, and where these are largest."""

from typing import Any

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.errors import UsageError
from pipeline.metrics.known import metric as declaration
from pipeline.metrics.known import names
from pipeline.metrics.request import ALL
from pipeline.pages.content import (
    Content,
    Faults,
    Head,
    OfSystem,
    game_types,
    heads,
    listed,
    tested_models,
)
from pipeline.reports.compare.columns import SCHEMA
from pipeline.reports.compare.notes import replay_note
from pipeline.reports.compare.settings import APART
from pipeline.vocabulary import Edition

LANE = "long"
ON_COMMON = (
    "A difference counts only the settings that both models played: it is that of the two values "
    "on the common settings. The values beside the models are over all their games."
)


class Parameters(OfSystem, frozen=True, kw_only=True):
    model: str = ""
    other: str = ""
    metric: str = ""
    edition: Edition = "paper"
    game_type: str = ALL
    where: str = ""
    by: str = ""
    margin: str = ""
    influence: bool = False


class CompareContent(Content, frozen=True, kw_only=True):
    """`rows` are those of `compare`; `apart` are the settings with the largest differences."""

    models: tuple[str, ...]
    model: str
    other: str
    metrics: tuple[Head, ...]
    metric: str
    groups: tuple[str, ...]
    game_types: tuple[str, ...]
    apart: pl.DataFrame


def content(lake: AnsweringLake, asked: Parameters) -> CompareContent:
    """The comparison of two models; without names, of the first two."""
    models = tested_models(
        lake.table("results").filter("is_tested").select("model").collect()["model"]
    )
    model = asked.model or next((name for name in models if name != asked.other), "")
    other = asked.other or next((name for name in models if name != model), "")
    known = _metrics(asked)
    metric = asked.metric or next(iter(known), names(asked.edition)[0])
    faults = Faults()
    rows, apart = pl.DataFrame(schema=SCHEMA), pl.DataFrame(schema=APART)
    if model and other:
        rows = _compared(lake, (model, other), asked, known, faults)
    if model and other and not faults:
        with faults.of("metric"):
            slice_ = _slice(asked)
            apart = lake.settings_apart(model, other, metric, edition=asked.edition, **slice_)
    return CompareContent(
        title=f"{model} and {other}" if model and other else "Compare models",
        rows=rows,
        models=models,
        model=model,
        other=other,
        metrics=heads(asked.edition),
        metric=metric,
        groups=tuple(name for name in listed(asked.by) if name in rows.columns),
        game_types=game_types(),
        apart=apart,
        notes=_notes(rows),
        faults=faults,
    )


def _metrics(asked: Parameters) -> tuple[str, ...]:
    """The metrics of the edition that are defined for the game type."""
    return tuple(
        name
        for name in names(asked.edition)
        if asked.game_type in (ALL, *declaration(name, asked.edition).game_types)
    )


def _slice(asked: Parameters) -> dict[str, Any]:
    game_type = None if asked.game_type == ALL else asked.game_type
    return {"game_type": game_type, "where": asked.where or None}


def _compared(
    lake: AnsweringLake,
    pair: tuple[str, str],
    asked: Parameters,
    known: tuple[str, ...],
    faults: Faults,
) -> pl.DataFrame:
    """The rows of `compare`, as they are without the fields that are wrong."""
    margin = None
    with faults.of("margin"):
        margin = _number(asked.margin)
    fields: dict[str, dict[str, Any]] = {
        "other": {"metric": known or None, "edition": asked.edition},
        "game_type": {"game_type": _slice(asked)["game_type"]},
        "where": {"where": asked.where or None},
        "by": {"by": listed(asked.by)},
        "margin": {"margin": margin, "influence": asked.influence},
    }
    try:
        return lake.compare(
            pair, **{name: one for part in fields.values() for name, one in part.items()}
        )
    except UsageError:
        # Each is tried after those before it, so that an error is that of its field.
        rows = pl.DataFrame(schema=SCHEMA)
        options: dict[str, Any] = {}
        for field, part in fields.items():
            with faults.of(field):
                rows = lake.compare(pair, **options, **part)
                options |= part
            if "other" in faults:
                break
        return rows


def _number(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError(f"the margin must be a number, for example 0.05, not {text}") from None


def _notes(rows: pl.DataFrame) -> list[str]:
    sizes = rows["family"].drop_nulls().unique().to_list()
    families = [
        f"p (Holm) is adjusted for the {size} p-values in this table. The null hypothesis is that "
        "both models behave alike."
        for size in sizes
    ]
    common = [ON_COMMON] if rows["common_value"].count() else []
    return common + families + [f"{note[0].upper()}{note[1:]}." for note in replay_note(rows)]
