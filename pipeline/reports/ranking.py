"""The leaderboard, with letters that mark significant differences, and the radar chart's areas.

Used by `pipeline.lake_methods`, `pipeline.render` and `pipeline.plots`; depends on
`pipeline.metrics` and `pipeline.reports.compare`.
"""

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
from pipeline.metrics.completeness import leaderboard_counts_by_model
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
    pivot_metrics,
    system_edition_and_view_option_columns,
)
from pipeline.metrics.request import Request, as_list, check_known_names, parse_condition
from pipeline.parameters import flag_spec, option_spec
from pipeline.reports.compare.differences import (
    add_holm_adjusted_p_values,
    compute_differences,
    pair_rows_of_models,
)
from pipeline.reports.registry import report
from pipeline.statistics.comparison import compact_letters, is_significant
from pipeline.statistics.intervals import SIGNIFICANT_DIGITS, radar_areas
from pipeline.text_format import EMPTY_TEXT, NULL_TEXT
from pipeline.vocabulary import Edition, Engine

_LETTER_COLUMNS = ("group_letters", "family")
_REASON_LIST = pl.format("{}: {}", "metric", "reason").drop_nulls()

MAX_VALUE_COLUMNS = 60
MAX_LETTERED_MODELS = 100
"""Pairs of more models are not compared, because few would differ after Holm's adjustment."""


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
            "One column for each value of COLUMN, such as game_type or role, instead of one for "
            "each metric; the values are those of one --metric, by default win_rate.",
            suggested="columns",
        ),
    ] = None,
    game_type: Annotated[
        str | None,
        option_spec("TYPE", "Only this game type.", suggested="games.game_type_names"),
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

    Each value is over all game types. Notes below the table say why a value is missing. The win
    rates of two models differ significantly only if the models share no letter in `group_letters`:
    all pairs of ranked models are compared at the 5 % level (1 − the confidence level), adjusted by
    Holm's method. A model with missing games is marked with *, and `missing` is their number. A
    model that lacks a whole competition has no rank, because its win rate measures something else.
    A value is marked with † if one of its terms has fewer than five independent settings.

    With a game type, a condition or columns, the table shows a slice of the games, sorted by model.
    A slice has no rank and no letters, because these refer to the win rate over all games.

    \b
    If the terminal is too narrow, each model is a column instead of a row.

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

    Raises UsageError for an unknown metric, model, game type, edition or engine, for an invalid
    condition, for a slice with `include_incomplete`, and for `columns` with several metrics or with
    more than 60 values.

    In a slice, the columns that do not belong to a metric are null, except `reasons` and the
    numbers of missing games. A slice has a further column `<metric>_lacks`: the competitions that
    count in this metric for other models but not for this one. With `columns`, there is one column
    for each value of that column instead of each metric, and `sort` is one of these values. With
    `by`, each row is a model and a group of these columns, which follow the model; this is a slice,
    too. Other arguments have the same meaning as in `metrics`.

    >>> lake.leaderboard().select("rank", "model", "group_letters").rows()[:2]
    [(1, 'sim-delta', 'a'), (2, 'sim-cedar', 'ab')]
    >>> chameleon = lake.leaderboard(game_type="chameleon", sort="judgement")
    >>> chameleon.select("rank", "model", "judgement").rows()[0]
    (None, 'sim-delta', 0.875)
    >>> by_role = lake.leaderboard(columns="role", metric="judgement")
    >>> by_role.select("model", "civilian", "non_chameleon").rows()[0]
    ('sim-atlas', 0.75, 0.25)
    """
    metrics, displayed_names = _metrics_to_compute_and_to_display(edition, metric, columns)
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
    # Rank and letters refer to the values over all games of a model.
    is_slice = (request.by, request.game_types, request.where) != (
        DEFAULT_BY,
        (ALL_GAME_TYPES,),
        None,
    )
    if include_incomplete and is_slice:
        raise UsageError("a slice has no rank: remove include_incomplete")
    # The rank depends on the win rate, whichever metrics are displayed.
    rank_metrics = () if is_slice else ("win_rate",)
    result = compute_metrics(
        lake,
        request,
        names=tuple(dict.fromkeys([*metrics, *rank_metrics])),
        engine=engine,
        master=master,
        with_games=("win_rate",),
        confidence=confidence,
    )
    values = result.rows
    if is_split_by_type and columns != "game_type":
        values = values.filter(pl.col("game_type") != ALL_GAME_TYPES)
    if columns is not None:
        board, displayed_names = _pivot_by_column_values(values, columns, groups)
    elif is_slice:
        board = _unranked_rows_by_model_and_group(values, displayed_names, groups)
    else:
        ranked_rows = rank_models(
            values,
            leaderboard_counts_by_model(lake, edition),
            include_incomplete=include_incomplete,
        )
        ranked_models = ranked_rows.filter(pl.col("rank").is_not_null())["model"]
        is_ranked = pl.col("model").is_in(ranked_models.implode())
        win_rates = result._replace(rows=values.filter(is_ranked, metric="win_rate"))
        letters = compute_group_letters(win_rates, confidence)
        board = ranked_rows.join(letters, on="model", how="left", maintain_order="left")
        board = board.select(*leaderboard_columns(displayed_names))
    check_known_names("metric" if columns is None else "column", sort, displayed_names)
    board = board.with_columns(system_edition_and_view_option_columns(lake, edition))
    if sort is None:
        return board
    # Means of fractions that are equal can differ in their last digit.
    return board.sort(-pl.col(sort).round(SIGNIFICANT_DIGITS), "rank", "model", nulls_last=True)


def _metrics_to_compute_and_to_display(
    edition: Edition, metric: str | Sequence[str] | None, columns: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the metrics to compute, and the names of those to display.

    With `columns`, only one metric is displayed, by default the win rate.
    """
    if metric is None and columns is None:
        return metric_names(edition), metric_names(PAPER)
    metrics = tuple(dict.fromkeys(as_list(metric) or ("win_rate",)))
    if columns is not None and len(metrics) != 1:
        raise UsageError(f"`columns` needs exactly one metric, not {', '.join(metrics)}")
    if columns == "model":
        raise UsageError("each row is a model: choose other columns, such as game_type or role")
    return metrics, metrics


def _pivot_by_column_values(
    values: pl.DataFrame, column: str, group_columns: Sequence[str]
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return rows with one column for each distinct value of `column`, and these columns' names.

    The new columns take the place of those of the metrics. The game type `all` comes first.
    """
    rows_in_groups = values.filter(pl.any_horizontal(pl.col("model", column).is_not_null()))
    value_texts = pl.col(column).cast(pl.String).replace({"": EMPTY_TEXT})
    heading = value_texts.fill_null(NULL_TEXT).alias("metric")
    distinct_values = (
        rows_in_groups[column].unique().sort(nulls_last=True).to_frame().select(heading)
    )
    value_names = tuple(
        sorted(
            distinct_values["metric"],
            key=lambda name: column == "game_type" and name != ALL_GAME_TYPES,
        )
    )
    if len(value_names) > MAX_VALUE_COLUMNS:
        raise UsageError(
            f"`{column}` has {len(value_names):,} values, but at most {MAX_VALUE_COLUMNS} can be "
            "columns: select some with a condition (where), or choose another column"
        )
    estimate_columns = [
        f"{name}{suffix}" for name in value_names for suffix in SLICE_ESTIMATE_COLUMNS
    ]
    if duplicate_names := [
        name
        for name, count in Counter(
            [*estimate_columns, *LEADERBOARD_COLUMNS, *ORIGIN_COLUMNS]
        ).items()
        if count > 1
    ]:
        raise UsageError(
            f"a value of `{column}` has the name of another column: {duplicate_names[0]}"
        )
    return _unranked_rows_by_model_and_group(
        rows_in_groups.with_columns(heading), value_names, group_columns
    ), value_names


def _unranked_rows_by_model_and_group(
    rows: pl.DataFrame, metrics: Sequence[str], group_columns: Sequence[str]
) -> pl.DataFrame:
    """Return the leaderboard's rows for a part of the games: by model and group, without a rank."""
    columns = polars_schema(leaderboard_columns(metrics, SLICE_ESTIMATE_COLUMNS))
    keys = list(dict.fromkeys(["model", *group_columns]))
    columns_of_groups = rows.group_by(keys).agg(
        pl.col("is_complete").all(ignore_nulls=False),
        # The numbers of the metric with the most missing games.
        pl.col(*MISSING_COLUMNS).sort_by(*MISSING_COLUMNS).last(),
        reasons=_REASON_LIST,
    )
    values = pivot_metrics(rows, metrics, keys, SLICE_ESTIMATE_COLUMNS)
    slice_rows = values.join(columns_of_groups, on=keys, nulls_equal=True).sort(
        keys, nulls_last=True
    )
    null_columns = [
        pl.lit(None, columns[name]).alias(name) for name in columns if name not in slice_rows
    ]
    return slice_rows.with_columns(null_columns).select(*dict.fromkeys(["rank", *keys, *columns]))


def rank_models(
    rows: pl.DataFrame, missing_competitions: pl.DataFrame, *, include_incomplete: bool = False
) -> pl.DataFrame:
    """Rank the models by win rate, and return the leaderboard's rows without `group_letters`.

    Models with equal win rates share the better rank. Models without a win rate have no rank and
    come last. Models that lack a whole competition have no rank either, because their win rate
    measures something else. The row without a model has none, because it can stand for several
    models.

    Args:
        rows: The rows of all metrics over all game types.
        missing_competitions: For each model, the competitions that it lacks, as returned by
            `missing_competitions_by_model`.
        include_incomplete: Whether models that lack a whole competition get a rank.

    Returns:
        One row for each model, with the columns of `LEADERBOARD_COLUMNS` without
        `group_letters` and `family`.
    """
    # The metrics are named, because a lake without games has no rows that contain them.
    estimates = pivot_metrics(rows, metric_names(PAPER), ["model"], METRIC_ESTIMATE_COLUMNS)
    is_win_rate = pl.col("metric") == "win_rate"
    model_columns = rows.group_by("model").agg(
        pl.col("n_games", "is_complete", *MISSING_COLUMNS, *REPLAY_COLUMNS)
        .filter(is_win_rate)
        .first(),
        reasons=_REASON_LIST,
    )
    is_incomplete = pl.lit(value=not include_incomplete) & (
        pl.col("missing_competitions").list.len() > 0
    )
    is_unranked = is_incomplete | pl.col("model").is_null()
    # Means of fractions that are equal can differ in their last digit.
    win_rate = pl.col("win_rate").round(SIGNIFICANT_DIGITS)
    rank = pl.when(~is_unranked).then(win_rate).rank("min", descending=True)
    return (
        estimates.join(model_columns, on="model", nulls_equal=True)
        .join(missing_competitions, on="model", how="left", nulls_equal=True)
        .with_columns(rank=rank.cast(pl.Int64))
        .sort("rank", -win_rate, "model", nulls_last=True)
        .select([name for name in leaderboard_columns() if name not in _LETTER_COLUMNS])
    )


def compute_group_letters(
    result: MetricResult, confidence: float = DEFAULT_CONFIDENCE
) -> pl.DataFrame:
    """Give the same letter to models whose values do not differ significantly.

    The letters are a compact letter display. All pairs of models are compared, with Holm's
    adjustment for the number of pairs. A shared letter does not mean that the models are equal.

    Args:
        result: The values of one metric for the models.
        confidence: Confidence level, between 0 and 1.

    Returns:
        One row for each model with a value: `model`, `group_letters`, and `family`, the number of
        pairs. The last two are null if there are more than `MAX_LETTERED_MODELS` models.
    """
    has_value = pl.col("value").is_not_null() & pl.col("model").is_not_null()
    result_with_values = result._replace(rows=result.rows.filter(has_value))
    models = result_with_values.rows.sort("value", descending=True, maintain_order=True)[
        "model"
    ].to_list()
    schema = {"model": pl.String, "group_letters": pl.String}
    if len(models) > MAX_LETTERED_MODELS:
        unlettered = pl.DataFrame({"model": models, "group_letters": None}, schema=schema)
        return unlettered.with_columns(family=pl.lit(None, pl.Int64))
    pairs = list(combinations(models, 2))
    differences = add_holm_adjusted_p_values(
        compute_differences(
            result_with_values,
            pair_rows_of_models(result_with_values, pairs),
            confidence,
            with_intervals=False,
        ),
        [],
    )
    is_significant_pair = differences.select(
        is_significant(pl.col("p_holm"), confidence)
    ).to_series()
    differs = np.zeros((len(models), len(models)), np.bool_)
    differs[np.triu_indices(len(models), 1)] = is_significant_pair.fill_null(value=False)
    letter_rows = pl.DataFrame(
        {"model": models, "group_letters": compact_letters(differs)}, schema=schema
    )
    return letter_rows.with_columns(family=pl.lit(differences["p_value"].count(), pl.Int64))


# The radar chart: seven metrics of each model on axes around a point, and the polygon's area.

RADAR_AXES = (
    *("judgement", "reasoning", "deception", "cooperation"),
    *("coordination", "rationality", "self_awareness"),
)
"""The axes in the order of the paper, because the area depends on the order."""
MIN_RADAR_AXES = 3
"""The minimum number of axes that form a polygon."""
RADAR_COLUMNS: Mapping[str, column.Column] = {
    "model": MODEL_COLUMN,
    "area": column.area_column(
        "½ · sin(2π/n) · Σ of the products of neighbouring metrics in percent, where the last of "
        "the n metrics is a neighbour of the first; metrics that no model has are excluded, and at "
        "least three must remain; null, with `reasons`, if one of these is null"
    ),
    "ci_low": column.area_column("the lower end of its confidence interval, by the delta method"),
    "ci_high": column.area_column("the upper end of its confidence interval"),
    "small_sample_terms": SMALL_SAMPLE_COLUMN,
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
    ½ · sin(2π/n) times the sum of the products of neighbouring metrics. Its confidence interval is
    computed by the delta method, clustered by setting. The picture has one polygon for each model,
    and bars of the areas.

    Metrics that no model of the lake has are excluded. At least three metrics must remain.

    Do not rank models by their area: it depends on the order of the metrics, and it is quadratic,
    so a model with twice the values has four times the area.

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
    result = compute_metrics(lake, request, names=(*RADAR_AXES, "win_rate"), confidence=confidence)
    values = result.rows
    if request.models:
        # The axes depend on all models of the lake, so that a selection of models changes no area.
        request_for_all = replace(request, models=None)
        values = compute_metrics(lake, request_for_all, names=RADAR_AXES, confidence=None).rows
    metrics_with_values = values.drop_nulls("value")["metric"].unique()
    axes = [name for name in RADAR_AXES if name in metrics_with_values]
    # With too few axes, all are kept: the areas are null, because one axis is null in all rows.
    axes = axes if len(axes) >= MIN_RADAR_AXES else list(RADAR_AXES)
    rows = rank_models(
        result.rows,
        leaderboard_counts_by_model(lake, edition),
        include_incomplete=True,
    )
    is_axis = pl.col("metric").is_in(axes)
    sums, terms = result.sums.filter(is_axis), result.terms.filter(is_axis)
    areas = radar_areas(rows, sums, terms, ["model"], confidence, axes=axes)
    rows_with_areas = rows.join(
        areas, on="model", how="left", nulls_equal=True, maintain_order="left"
    )
    small_samples = pl.concat_list(f"{name}_small_sample_terms" for name in axes)
    return rows_with_areas.with_columns(small_sample_terms=small_samples).select(*RADAR_COLUMNS)


def metrics_in_radar_areas(rows: pl.DataFrame) -> list[str]:
    """Return the metrics that are the axes of the polygons whose areas the rows contain.

    Args:
        rows: Rows of `radar`.

    Returns:
        The metrics in the order of the axes; an empty list if no row has an area.
    """
    return [name for name in RADAR_AXES if rows.filter(pl.col("area").is_not_null())[name].count()]
