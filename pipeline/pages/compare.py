"""Two models in a slice of the games: their differences, and where these are largest."""

from typing import Any

import polars as pl
from msgspec.structs import replace

from pipeline.answers import AnsweringLake
from pipeline.column import schema
from pipeline.errors import UsageError
from pipeline.metrics.known import metric as declaration
from pipeline.metrics.known import names
from pipeline.metrics.request import check_models
from pipeline.pages.address import EDITION, GAME_TYPE, METRIC, Field, address, given, text
from pipeline.pages.content import Content, Faults, answered, listed, tested_models
from pipeline.present import present
from pipeline.reports.compare.differences import SCHEMA
from pipeline.reports.compare.settings import APART
from pipeline.vocabulary import ALL

LANE = "long"


Parameters = address(
    Field("model", "Model", are_names=True),
    Field("other", "Other", are_names=True),
    replace(METRIC, label="Settings by", default=""),
    EDITION,
    GAME_TYPE,
    text("where", "Only rows where", "role = 'civilian'", 17),
    text("by", "By", "role", 8),
    text("margin", "Alike within", "0.05", 5),
    is_of_system=True,
    in_title=("model", "other"),
)


def content(lake: AnsweringLake, asked: Any) -> Content:
    """The comparison of two models; without names, of the first two.

    `rows` are those of `compare`; `apart` are the settings with the largest differences.
    """
    models = tested_models(
        lake.table("results").filter("is_tested").select("model").collect()["model"]
    )
    model = asked.model or next((name for name in models if name != asked.other), "")
    other = asked.other or next((name for name in models if name != model), "")
    metric = asked.metric or next(iter(_metrics(asked)), names(asked.edition)[0])
    faults, rows, apart, margin = Faults(), None, pl.DataFrame(schema=schema(APART)), None
    for field, name in (("model", model), ("other", other)):
        with faults.of(field):
            check_models(lake, (name,) if name else None)
    if model and other and not faults:
        fields = _fields(asked)

        def compared(margin: str = "", **options: Any) -> pl.DataFrame:
            return lake.compare((model, other), margin=_number(margin), **options)

        rows, faults = answered(compared, fields)
    with faults.of("margin"):
        margin = _number(asked.margin)
    if model and other and not faults:
        with faults.of("metric"):
            slice_ = {"edition": asked.edition, **fields["game_type"], **fields["where"]}
            apart = lake.settings_apart(model, other, metric, **slice_)
    rows = pl.DataFrame(schema=SCHEMA) if rows is None else rows
    known = tuple(dict.fromkeys([*models, *filter(None, (model, other))]))
    return Content(
        title=f"{model} and {other}" if model and other else "Compare models",
        rows=rows,
        parts={"model": model, "other": other, "metric": metric, "apart": apart},
        choices={"model": known, "other": known},
        notes=present("compare", rows, margin=margin).notes,
        faults=faults,
    )


def _metrics(asked: Any) -> tuple[str, ...]:
    """The metrics of the edition that are defined for the game type."""
    return tuple(
        name
        for name in names(asked.edition)
        if asked.game_type in (ALL, *declaration(name, asked.edition).game_types)
    )


def _fields(asked: Any) -> dict[str, dict[str, Any]]:
    """What is asked for, by the field that an error in it is about."""
    return {
        "other": {"metric": _metrics(asked) or None, "edition": asked.edition},
        "game_type": given(asked, "game_type"),
        "where": given(asked, "where"),
        "by": {"by": listed(asked.by)},
        "margin": {"margin": asked.margin},
    }


def _number(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError(f"the margin must be a number, for example 0.05, not {text}") from None
