"""The seven metrics of each model around a point, and the area of the polygon that they make."""

from collections.abc import Mapping, Sequence

import polars as pl
from msgspec.structs import replace

from pipeline import column
from pipeline.lake import StoredLake
from pipeline.metrics import DEFAULT_CONFIDENCE, PAPER, answered
from pipeline.metrics.completeness import lacking
from pipeline.metrics.known import title
from pipeline.metrics.request import Request, several
from pipeline.metrics.results import IS_COMPLETE, IS_THIN, MISSING, MODEL
from pipeline.reports.declared import report
from pipeline.reports.ranking import ranked
from pipeline.statistics.area import areas
from pipeline.vocabulary import Edition

AXES = (
    *("judgement", "reasoning", "deception", "cooperation"),
    *("coordination", "rationality", "self_awareness"),
)
"""In the order of the paper, on whose order an area depends."""
LEAST_AXES = 3
"""Fewer metrics make no polygon."""
COLUMNS: Mapping[str, column.Column] = {
    "model": MODEL,
    "area": column.area(
        "½ · sin(2π/n) · Σ of the products of the n neighbouring metrics in percent, the last one "
        "beside the first; metrics without a value of any model are left out, and at least three "
        "must remain; null, with `reasons`, if one of these is null"
    ),
    "ci_low": column.area("the lower end of its confidence interval, by the delta method"),
    "ci_high": column.area("the upper end of its confidence interval"),
    "thin": IS_THIN,
    **{
        name: column.share(f"the value of {name} over all game types").shown(title(name))
        for name in (*AXES, "win_rate")
    },
    "is_complete": IS_COMPLETE,
    **MISSING,
    "reasons": column.texts("why a metric has no value"),
}


@report("Numbers", columns=COLUMNS, is_for_papers=True, is_drawn=True)
def radar(
    lake: StoredLake,
    *,
    edition: Edition = PAPER,
    model: str | Sequence[str] | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """Show the seven metrics of each model around a point, and the area that they make.

    The metrics are in percent, in the order of the paper. The area of a polygon of n metrics is
    ½ · sin(2π/n) times the sum of the products of neighbours; its interval is by the delta method,
    over settings. The picture has a polygon for each model, and bars of the areas.

    Metrics of which no model of the lake has a value are left out. At least three must remain.

    An area ranks nothing: in another order of the metrics it is another one, and it squares, so
    that a model twice as good in all has four times the area.

    \b
    Examples:
      magic radar
      magic radar --edition release --format latex
      magic radar --model gpt-4 --model gpt-4-pgm --format svg > radar.svg

    Raises UsageError for an unknown model or edition.

    >>> lake.radar().select("model", pl.col("area").round(), "win_rate").rows()[0]
    ('sim-delta', 28508.0, 0.880952380952381)
    """
    request = Request(edition=edition, by=("model",), models=several(model))
    answer = answered(lake, request, names=(*AXES, "win_rate"), confidence=confidence)
    values = answer.rows
    if request.models:
        # The axes are those of the lake, so that an area does not depend on the models chosen.
        every = replace(request, models=None)
        values = answered(lake, every, names=AXES, confidence=None).rows
    valued = values.drop_nulls("value")["metric"].unique()
    axes = [name for name in AXES if name in valued]
    # All axes make no area where one of them is null in every row.
    axes = axes if len(axes) >= LEAST_AXES else list(AXES)
    rows = ranked(answer.rows, lacking(lake, edition), include_incomplete=True)
    is_axis = pl.col("metric").is_in(axes)
    sums, terms = answer.sums.filter(is_axis), answer.terms.filter(is_axis)
    found = areas(rows, sums, terms, ["model"], confidence, axes=axes)
    joined = rows.join(found, on="model", how="left", nulls_equal=True, maintain_order="left")
    thin = pl.concat_list(f"{name}_thin" for name in axes)
    return joined.with_columns(thin=thin).select(*COLUMNS)


def axes_of_areas(rows: pl.DataFrame) -> list[str]:
    """Return the metrics of which the areas of the rows are made, in the order of the axes.

    It returns none if no row has an area.
    """
    return [name for name in AXES if rows.filter(pl.col("area").is_not_null())[name].count()]
