"""The leaderboard, with letters for models whose difference is not significant."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Annotated

import numpy as np
import polars as pl
from msgspec.structs import replace

from pipeline import column
from pipeline.column import polars_schema
from pipeline.errors import UsageError
from pipeline.lake import StoredLake
from pipeline.metrics import (
    ALL_GAME_TYPES,
    DEFAULT_BY,
    DEFAULT_CONFIDENCE,
    DEFAULT_N_GAMES,
    PAPER,
    MetricResult,
    compute_metrics,
)
from pipeline.metrics.completeness import models_with_missing_games
from pipeline.metrics.registry import (
    IS_COMPLETE_COLUMN,
    LEADERBOARD_COLUMNS,
    METRIC_ESTIMATE_COLUMNS,
    MISSING_COLUMNS,
    MODEL_COLUMN,
    ORIGIN_COLUMNS,
    REPLAY_COLUMNS,
    SLICE_ESTIMATE_COLUMNS,
    SMALL_SAMPLE_COLUMN,
    leaderboard_columns,
    metric_names,
    metric_title,
    origin_columns,
    pivot_metrics,
)
from pipeline.metrics.request import Request, as_list, check_words, parse_condition
from pipeline.parameters import flag_spec, option_spec
from pipeline.reports.compare.differences import adjusted, compared, of_models
from pipeline.reports.registry import report
from pipeline.statistics.comparison import compact_letters, is_significant
from pipeline.statistics.intervals import SIGNIFICANT_DIGITS, radar_areas
from pipeline.text_format import EMPTY_TEXT, NULL_TEXT
from pipeline.vocabulary import Edition, Engine

_OF_LETTERS = ("letters", "family")
_REASONS = pl.format("{}: {}", "metric", "reason").drop_nulls()

MOST_COLUMNS = 60
MAX_LETTERED_MODELS = 100
"""With more models, pairs are not compared: after Holm's adjustment almost none would differ."""


@report(columns=LEADERBOARD_COLUMNS, is_for_papers=True, has_percent=True)
def leaderboard(
    lake: StoredLake,
    *,
    edition: Edition = PAPER,
    num_of_game: int = DEFAULT_N_GAMES,
    engine: Engine = "polars",
    master: str | None = None,
    model: str | Sequence[str] | None = None,
    metric: str | Sequence[str] | None = None,
    columns: Annotated[
        str | None,
        option_spec(
            "COLUMN",
            "A column for each value of this one, such as game_type or role, in place of the "
            "metrics; of one --metric, by default win_rate.",
            suggested="columns",
        ),
    ] = None,
    game_type: Annotated[
        str | None,
        option_spec(
            "TYPE", "The values of this game type alone.", suggested="games.game_type_names"
        ),
    ] = None,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
    sort: Annotated[
        str | None,
        option_spec("METRIC", "Sort by this metric, the highest first.", suggested="metrics"),
    ] = None,
    expected: int | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    include_incomplete: Annotated[
        bool, flag_spec("--include-incomplete", "Also rank models that lack a whole competition.")
    ] = False,
) -> pl.DataFrame:
    """Rank the models by win rate, with all metrics and their intervals.

    Each value is over all game types; notes below the table say why a value is missing. The win
    rates of two models differ significantly only if the models share no letter in `letters`: all
    ranked pairs are compared at the 5 % level (1 − the confidence level), adjusted by Holm's
    method. A model that lacks games which are expected of it is marked with *, and `missing` counts
    these games. A model that lacks a whole competition has no rank, since its win rate measures
    something else. A value is marked with † if a term has fewer than five settings of its own.

    With a game type, a condition or columns, values are of slices, sorted by model: these have no
    rank and no letters, which belong to the win rate over all games.

    \b
    Where the terminal is too narrow for a line a model, models are columns.

    \b
    Examples:
      magic leaderboard
      magic leaderboard --metric judgement --metric reasoning --sort judgement
      magic leaderboard --game-type chameleon --sort win_rate
      magic leaderboard --metric judgement --where "round = 1"
      magic leaderboard --columns game_type --percent --sort all
      magic leaderboard --columns role --metric judgement
      magic leaderboard --include-incomplete --confidence 0.9
      magic leaderboard --edition release --format markdown > leaderboard.md
      magic leaderboard --format latex > leaderboard.tex

    Raises UsageError for an unknown metric, model, game type, edition or engine, for a wrong
    condition, for a slice with `include_incomplete`, and for `columns` of several metrics, or of
    more than `MOST_COLUMNS` values.

    In a slice, whatever is not of a metric is null, but for `reasons` and what is missing. It has a
    further column `<metric>_lacks`: the competitions that this metric of another model counts, and
    that of this model does not. With `columns`, there is a column for each value of that column, in
    place of the metrics; `sort` is one of these values. With `by`, a row is a model and a group of
    these columns, which follow the model; this is a slice too. Other arguments are those of
    `metrics`.

    >>> lake.leaderboard().select("rank", "model", "letters").rows()[:2]
    [(1, 'sim-delta', 'a'), (2, 'sim-cedar', 'ab')]
    >>> chameleon = lake.leaderboard(game_type="chameleon", sort="judgement")
    >>> chameleon.select("rank", "model", "judgement").rows()[0]
    (None, 'sim-delta', 0.875)
    >>> by_role = lake.leaderboard(columns="role", metric="judgement")
    >>> by_role.select("model", "civilian", "non_chameleon").rows()[0]
    ('sim-atlas', 0.75, 0.25)
    """
    metrics, shown = _asked(edition, metric, columns)
    groups = as_list(by) or ()
    split_by = [*groups, *(as_list(columns) or ())]
    is_split_by_type = "game_type" in split_by and game_type in (None, ALL_GAME_TYPES)
    request = Request(
        edition=edition,
        by=tuple(dict.fromkeys([*DEFAULT_BY, *split_by])),
        game_types=None if is_split_by_type else (game_type or ALL_GAME_TYPES,),
        where=parse_condition(metrics, where),
        num_of_game=num_of_game,
        models=as_list(model),
        expected=expected,
    )
    # A rank and letters are of values over all games of a model.
    is_slice = (request.by, request.game_types, request.where) != (
        DEFAULT_BY,
        (ALL_GAME_TYPES,),
        None,
    )
    if include_incomplete and is_slice:
        raise UsageError("a slice has no rank: leave out include_incomplete")
    # The rank is by win rate, whatever is shown.
    needed = () if is_slice else ("win_rate",)
    answer = compute_metrics(
        lake,
        request,
        names=tuple(dict.fromkeys([*metrics, *needed])),
        engine=engine,
        master=master,
        with_games=("win_rate",),
        confidence=confidence,
    )
    values = answer.rows
    if is_split_by_type and columns != "game_type":
        values = values.filter(pl.col("game_type") != ALL_GAME_TYPES)
    if columns is not None:
        rows, shown = _grid(values, columns, groups)
    elif is_slice:
        rows = _unranked(values, shown, groups)
    else:
        board = ranked(
            values, models_with_missing_games(lake, edition), include_incomplete=include_incomplete
        )
        with_rank = board.filter(pl.col("rank").is_not_null())["model"]
        is_ranked = pl.col("model").is_in(with_rank.implode())
        won = answer._replace(rows=values.filter(is_ranked, metric="win_rate"))
        of_models = letters(won, confidence)
        rows = board.join(of_models, on="model", how="left", maintain_order="left")
        rows = rows.select(*leaderboard_columns(shown))
    check_words("metric" if columns is None else "column", sort, shown)
    rows = rows.with_columns(origin_columns(lake, edition))
    if sort is None:
        return rows
    # Equal means of fractions may differ in a last digit.
    return rows.sort(-pl.col(sort).round(SIGNIFICANT_DIGITS), "rank", "model", nulls_last=True)


def _asked(
    edition: Edition, metric: str | Sequence[str] | None, columns: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The metrics to count and those to show; `columns` are of one, by default the win rate."""
    if metric is None and columns is None:
        return metric_names(edition), metric_names(PAPER)
    metrics = tuple(dict.fromkeys(as_list(metric) or ("win_rate",)))
    if columns is not None and len(metrics) != 1:
        raise UsageError(f"columns are the values of one metric, not of {', '.join(metrics)}")
    if columns == "model":
        raise UsageError("rows are models: choose other columns, such as game_type or role")
    return metrics, metrics


def _grid(
    values: pl.DataFrame, column: str, by: Sequence[str]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The rows with the values of this column, as texts, in place of the metrics; these values.

    Of game types there is `all` too, and it comes first.
    """
    there = values.filter(pl.any_horizontal(pl.col("model", column).is_not_null()))
    texts = pl.col(column).cast(pl.String).replace({"": EMPTY_TEXT})
    heading = texts.fill_null(NULL_TEXT).alias("metric")
    named = there[column].unique().sort(nulls_last=True).to_frame().select(heading)
    shown = tuple(
        sorted(named["metric"], key=lambda n: column == "game_type" and n != ALL_GAME_TYPES)
    )
    if len(shown) > MOST_COLUMNS:
        raise UsageError(
            f"`{column}` has {len(shown):,} values: at most {MOST_COLUMNS} are shown as columns; "
            "choose some by a condition (where), or another column"
        )
    own = [f"{name}{end}" for name in shown for end in SLICE_ESTIMATE_COLUMNS]
    if taken := [
        name for name, n in Counter([*own, *LEADERBOARD_COLUMNS, *ORIGIN_COLUMNS]).items() if n > 1
    ]:
        raise UsageError(f"a value of `{column}` is named as another column is: {taken[0]}")
    return _unranked(there.with_columns(heading), shown, by), shown


def _unranked(rows: pl.DataFrame, shown: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """The same of a slice: a row for each model and group, sorted by these, without a rank."""
    columns = polars_schema(leaderboard_columns(shown, SLICE_ESTIMATE_COLUMNS))
    keys = list(dict.fromkeys(["model", *by]))
    reasons = rows.group_by(keys).agg(
        pl.col("is_complete").all(ignore_nulls=False),
        # Those of the metric that lacks most.
        pl.col(*MISSING_COLUMNS).sort_by(*MISSING_COLUMNS).last(),
        reasons=_REASONS,
    )
    values = pivot_metrics(rows, shown, keys, SLICE_ESTIMATE_COLUMNS)
    known = values.join(reasons, on=keys, nulls_equal=True).sort(keys, nulls_last=True)
    absent = [pl.lit(None, columns[name]).alias(name) for name in columns if name not in known]
    return known.with_columns(absent).select(*dict.fromkeys(["rank", *keys, *columns]))


def ranked(
    rows: pl.DataFrame, lacks: pl.DataFrame, *, include_incomplete: bool = False
) -> pl.DataFrame:
    """A row for each model, from the rows over all game types and what models are `lacking`.

    The columns are those of `LEADERBOARD` without the letters. Ties share the better rank. Models
    without a win rate have no rank and come last. Models that lack a whole competition have none
    either, unless `include_incomplete`, since their win rate measures something else. Nor has the
    row without a model: it can stand for several.
    """
    # Named, since a lake without games has no rows to take the columns from.
    estimates = pivot_metrics(rows, metric_names(PAPER), ["model"], METRIC_ESTIMATE_COLUMNS)
    is_win_rate = pl.col("metric") == "win_rate"
    of_model = rows.group_by("model").agg(
        pl.col("n_games", "is_complete", *MISSING_COLUMNS, *REPLAY_COLUMNS)
        .filter(is_win_rate)
        .first(),
        reasons=_REASONS,
    )
    is_incomplete = pl.lit(value=not include_incomplete) & (pl.col("lacks").list.len() > 0)
    is_apart = is_incomplete | pl.col("model").is_null()
    # Equal means of fractions may differ in a last digit.
    win_rate = pl.col("win_rate").round(SIGNIFICANT_DIGITS)
    place = pl.when(~is_apart).then(win_rate).rank("min", descending=True)
    return (
        estimates.join(of_model, on="model", nulls_equal=True)
        .join(lacks, on="model", how="left", nulls_equal=True)
        .with_columns(rank=place.cast(pl.Int64))
        .sort("rank", -win_rate, "model", nulls_last=True)
        .select([name for name in leaderboard_columns() if name not in _OF_LETTERS])
    )


def letters(answer: MetricResult, confidence: float = DEFAULT_CONFIDENCE) -> pl.DataFrame:
    """model, letters, family: models that share a letter do not differ significantly.

    All pairs of models are compared; their p-values are adjusted by Holm for the number of pairs,
    `family`. Models that do not differ significantly are not shown to be equal.
    Both columns are null for more models than `MOST_LETTERED`.
    """
    has_value = pl.col("value").is_not_null() & pl.col("model").is_not_null()
    valued = answer._replace(rows=answer.rows.filter(has_value))
    models = valued.rows.sort("value", descending=True, maintain_order=True)["model"].to_list()
    schema = {"model": pl.String, "letters": pl.String}
    if len(models) > MAX_LETTERED_MODELS:
        without = pl.DataFrame({"model": models, "letters": None}, schema=schema)
        return without.with_columns(family=pl.lit(None, pl.Int64))
    pairs = list(combinations(models, 2))
    differences = adjusted(
        compared(valued, of_models(valued, pairs), confidence, with_intervals=False), []
    )
    reached = differences.select(is_significant(pl.col("p_holm"), confidence)).to_series()
    is_apart = np.zeros((len(models), len(models)), np.bool_)
    is_apart[np.triu_indices(len(models), 1)] = reached.fill_null(value=False)
    lettered = pl.DataFrame({"model": models, "letters": compact_letters(is_apart)}, schema=schema)
    return lettered.with_columns(family=pl.lit(differences["p_value"].count(), pl.Int64))


# The seven metrics of each model around a point, and the area of the polygon that they make.

RADAR_AXES = (
    *("judgement", "reasoning", "deception", "cooperation"),
    *("coordination", "rationality", "self_awareness"),
)
"""In the order of the paper, on whose order an area depends."""
MIN_RADAR_AXES = 3
"""Fewer metrics make no polygon."""
RADAR_COLUMNS: Mapping[str, column.Column] = {
    "model": MODEL_COLUMN,
    "area": column.area_column(
        "½ · sin(2π/n) · Σ of the products of the n neighbouring metrics in percent, the last one "
        "beside the first; metrics without a value of any model are left out, and at least three "
        "must remain; null, with `reasons`, if one of these is null"
    ),
    "ci_low": column.area_column("the lower end of its confidence interval, by the delta method"),
    "ci_high": column.area_column("the upper end of its confidence interval"),
    "thin": SMALL_SAMPLE_COLUMN,
    **{
        name: column.proportion_column(f"the value of {name} over all game types").with_heading(
            metric_title(name)
        )
        for name in (*RADAR_AXES, "win_rate")
    },
    "is_complete": IS_COMPLETE_COLUMN,
    **MISSING_COLUMNS,
    "reasons": column.text_list_column("why a metric has no value"),
}


@report(columns=RADAR_COLUMNS, is_for_papers=True, is_drawn=True)
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
    request = Request(edition=edition, by=("model",), models=as_list(model))
    answer = compute_metrics(lake, request, names=(*RADAR_AXES, "win_rate"), confidence=confidence)
    values = answer.rows
    if request.models:
        # The axes are those of the lake, so that an area does not depend on the models chosen.
        every = replace(request, models=None)
        values = compute_metrics(lake, every, names=RADAR_AXES, confidence=None).rows
    valued = values.drop_nulls("value")["metric"].unique()
    axes = [name for name in RADAR_AXES if name in valued]
    # All axes make no area where one of them is null in every row.
    axes = axes if len(axes) >= MIN_RADAR_AXES else list(RADAR_AXES)
    rows = ranked(answer.rows, models_with_missing_games(lake, edition), include_incomplete=True)
    is_axis = pl.col("metric").is_in(axes)
    sums, terms = answer.sums.filter(is_axis), answer.terms.filter(is_axis)
    found = radar_areas(rows, sums, terms, ["model"], confidence, axes=axes)
    joined = rows.join(found, on="model", how="left", nulls_equal=True, maintain_order="left")
    thin = pl.concat_list(f"{name}_thin" for name in axes)
    return joined.with_columns(thin=thin).select(*RADAR_COLUMNS)


def area_axes(rows: pl.DataFrame) -> list[str]:
    """Return the metrics of which the areas of the rows are made, in the order of the axes.

    It returns none if no row has an area.
    """
    return [name for name in RADAR_AXES if rows.filter(pl.col("area").is_not_null())[name].count()]
