"""Completeness of a lake: its games per model, the missing games, and bounds of the values.

A model is expected to finish as many games of every setting in a competition as other models did
(see `pipeline.metrics.completeness`), or a given number of games. The bounds are Manski's (C. F.
Manski, American Economic Review 80:2 (1990) 319–323): everything missing is counted as a miss for
the lower bound and as a hit for the upper bound. They are not confidence intervals and do not rank
models. Terms are combined as in the value.

Used by `pipeline.lake_methods` and `pipeline.render`; depends on `pipeline.metrics`.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline import column
from pipeline.lake import StoredLake
from pipeline.metrics import PAPER, metric_specs_for_system
from pipeline.metrics.completeness import (
    expected_games_by_model_and_setting,
    game_counts_by_model_and_setting,
    games_by_competition_with_fixed_expectation,
    missing_and_replayed_games_by_metric as complete,
)
from pipeline.metrics.estimates import (
    Clusters,
    CountQuery,
    combine_term_ratios_into_values,
    compute_metric_values,
    count_games_sql,
    count_rows_sql,
    count_with_engine,
    sum_hits_sql,
)
from pipeline.metrics.registry import (
    METRIC_COLUMN,
    METRIC_VALUE_COLUMNS,
    MISSING_COLUMNS,
    MODEL_COLUMN,
    Metric,
    lake_method_for_single_system,
    metric_names,
)
from pipeline.metrics.request import (
    Request,
    check_edition_allows_failures_as_losses,
    check_expected_number_of_games,
    check_models_are_tested,
    selection_condition,
)
from pipeline.metrics.row_queries import edition_counts_game_condition
from pipeline.reports.registry import report
from pipeline.statistics.intervals import order_independent_sum
from pipeline.vocabulary import RELEASE, Edition

COMPLETENESS_COLUMNS: Mapping[str, column.Column] = {
    "model": MODEL_COLUMN,
    "competition": column.text_column("the competition"),
    "game_type": column.text_column("the game type of the competition"),
    "expected": column.count_column(
        "games expected: for each setting that any model played, the median over the models that "
        "finished one, or the model's own games with those that it began and has to finish; for "
        "games that nobody can repeat, those of this model; or `expected`, if given"
    ),
    "found": column.count_column(
        "how many of the expected games the lake has; further games of a setting do not count"
    ),
    "finished": column.count_column(
        "how many of the expected games are finished; the rest are missing"
    ),
    "n_missing": column.count_column("how many of the expected games are missing").with_heading(
        "missing"
    ),
    "n_games": column.count_column("all games of the model in the competition").with_heading(
        "games"
    ),
    "n_unfinished": column.count_column("its unfinished games").with_heading("unfinished"),
    "n_failed": column.count_column(
        "its games that the model itself failed: by a forfeit, a time-out or an error that ended "
        "the game, or by an outage that left it without a result"
    ).with_heading("failed"),
    "n_quarantined": column.count_column("parts of its games that could not be used").with_heading(
        "quarantined"
    ),
    "is_complete": column.boolean_column("whether no expected game is missing").with_heading(
        "complete"
    ),
}
READABILITY_COLUMNS: Mapping[str, column.Column] = {
    "model": MODEL_COLUMN,
    "metric": METRIC_COLUMN,
    "value": column.proportion_column("the value over all game types"),
    "value_min": column.proportion_column("the lower bound of the value, in the metric's unit"),
    "value_max": column.proportion_column(
        "the upper bound of the value; both bounds are null if there is no value and no row that "
        "would be counted if it were known"
    ),
    "counted": column.count_column("rows that were counted"),
    "n_unreadable": column.count_column(
        "rows whose `parse_status` is not `ok`, as in `metrics`"
    ).with_heading("not clear"),
    "n_unknown": METRIC_VALUE_COLUMNS["n_unknown"],
    "n_ambiguous": column.count_column("how many of the unclear rows are ambiguous").with_heading(
        "ambiguous"
    ),
    "n_outages": column.count_column("how many of the unclear rows are outages").with_heading(
        "outages"
    ),
    "n_missing": MISSING_COLUMNS["n_missing"],
    "is_complete": column.boolean_column(
        "whether no game is missing, and no row is an outage"
    ).with_heading("complete"),
}
_COMPETITION_KEY = ("model", "competition")
_IS_OUTAGE, _IS_UNFINISHED = "parse_status = 'outage'", "NOT is_finished"
# Rows that are counted, or would be counted if they were known: outages, and rows without a hit.
_IS_COUNTABLE = f"(is_counted OR {_IS_OUTAGE} OR hit IS NULL)"
# Only the release edition counts outages, unfinished games and unknown hits. An unreadable text
# counts as the game interpreted it: mostly as a miss, but a text that names neither choice counts
# as a defection, which can be a hit.
_IS_UNCERTAIN = (
    f"is_counted AND ({_IS_OUTAGE} OR {_IS_UNFINISHED} OR hit IS NULL "
    "OR parse_status = 'unreadable')"
)
_BOUND_SUMS = {
    "n_games": f"CAST({count_games_sql(_IS_COUNTABLE)} AS BIGINT)",
    "uncounted": count_rows_sql(f"{_IS_COUNTABLE} AND NOT is_counted"),
    # `lost` hits could have been misses, and `gained` misses could have been hits.
    "lost": sum_hits_sql("hit", _IS_UNCERTAIN),
    "gained": sum_hits_sql("1 - coalesce(hit, 0)", _IS_UNCERTAIN),
    "ambiguous": count_rows_sql("parse_status = 'ambiguous'"),
    "outages": count_rows_sql(_IS_OUTAGE),
    "begun": count_rows_sql(f"{_IS_COUNTABLE} AND {_IS_UNFINISHED}"),
}


@report(columns=COMPLETENESS_COLUMNS)
def completeness(
    lake: StoredLake,
    *,
    model: str | Sequence[str] | None = None,
    expected: int | None = None,
) -> pl.DataFrame:
    """Show which games of each model the lake has, and which are missing.

    Each row is a model and a competition: the number of games expected, how many of these the lake
    has and how many are finished, and the model's games, unfinished games and quarantined parts.
    For each setting that any model played, the expected number is the median over the models that
    finished a game of it. With --missing, each row is a setting with missing games. With
    --readability, each row is a model and a metric: the texts that could not be parsed, the
    outages, the rows of missing games (compared with the model that finished most), and the lowest
    and highest value that the metric could have if these were known. These bounds are not
    confidence intervals; do not use them to rank models.

    \b
    Examples:
      magic completeness
      magic completeness --expected 20 --format csv
      magic completeness --missing --model gpt-4
      magic completeness --incomplete --fail-if-incomplete
      magic completeness --readability

    Raises UsageError if `expected` is less than 1 or above a billion, and for an unknown model.

    Each row is a model and a competition that any model played. A last row without a model counts
    the documents that are quarantined as a whole, because their model is unknown.

    >>> games = lake.completeness(model="sim-atlas")
    >>> games.select("competition", "expected", "finished", "is_complete").rows()[0]
    ('chameleon_as_chameleon', 4, 4, True)
    """
    check_expected_number_of_games(expected)
    check_models_are_tested(lake, model)
    results = lake.table("results").filter("is_tested")
    # Only one column is read, because each quarantined document is stored with up to 64 KiB.
    quarantined_parts = lake.table("quarantine").select("game_id")
    quarantined_counts = (
        quarantined_parts.drop_nulls()
        .join(results.select("game_id", *_COMPETITION_KEY).unique(), on="game_id", how="inner")
        .group_by(_COMPETITION_KEY)
        .agg(n_quarantined=pl.len().cast(pl.Int64))
    )
    failed_counts = (
        lake.failed_results()
        .filter("is_tested", "is_failed")
        .group_by(_COMPETITION_KEY)
        .agg(n_failed=pl.col("game_id").n_unique().cast(pl.Int64))
    )
    games = (
        games_by_competition_with_fixed_expectation(lake, expected)
        .lazy()
        .join(quarantined_counts, on=_COMPETITION_KEY, how="left", nulls_equal=True)
        .join(failed_counts, on=_COMPETITION_KEY, how="left", nulls_equal=True)
        .with_columns(pl.col("n_quarantined", "n_failed").fill_null(0))
        .select(
            *_COMPETITION_KEY,
            "game_type",
            expected="n_expected",
            found="n_found",
            finished="n_finished",
            n_missing="n_missing",
            n_games="n_games",
            n_unfinished=pl.col("n_games") - pl.col("n_complete"),
            n_failed="n_failed",
            n_quarantined="n_quarantined",
        )
        .filter((pl.col("expected") > 0) | (pl.col("n_games") > 0))
        .with_columns(is_complete=pl.col("n_missing") == 0)
        .sort(_COMPETITION_KEY, nulls_last=True)
        .collect()
    )
    if model is not None:
        return games.filter(selection_condition(model=model))
    n_whole_documents = quarantined_parts.null_count().collect().item()
    if not n_whole_documents:
        return games
    return pl.concat(
        [games, pl.DataFrame({"n_quarantined": [n_whole_documents]})], how="diagonal_relaxed"
    )


@lake_method_for_single_system(READABILITY_COLUMNS)
def readability(
    lake: StoredLake,
    *,
    edition: Edition = PAPER,
    expected: int | None = None,
    model: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """Return the bounds of each value if unreadable texts and missing games are misses or hits.

    Each row is a model and a metric. The lower bound counts each row that is `unreadable`, an
    outage or has an unknown hit as a miss, and the upper bound counts it as a hit. An `ambiguous`
    row counts as the game registered it, if it did. The bounds are not a confidence interval and do
    not rank models. `expected` has the same meaning as in `completeness`.

    Raises UsageError for an unknown model or edition, and if `expected` is less than 1 or above a
    billion.

    >>> bounds = lake.readability(model="sim-atlas").filter(metric="judgement")
    >>> bounds.select("value", "value_min", "value_max", "n_unreadable").row(0)
    (0.5, 0.5, 0.625, 3)
    """
    check_expected_number_of_games(expected)
    check_models_are_tested(lake, model)
    check_edition_allows_failures_as_losses(lake, edition)
    request = Request(edition=edition, by=("model",), expected=expected)
    specs = metric_specs_for_system(lake, metric_names(edition), request)
    query = CountQuery(specs, request, with_games=(), clusters=Clusters(), extra_sums=_BOUND_SUMS)
    counts = count_with_engine(lake, query, "polars")
    setting_sums = counts.sums.rename({"stratum": "competition", "cluster": "setting_id"})
    missing_by_setting = _count_missing_games_by_setting(lake, request)
    values = compute_metric_values(counts, specs, request).join(
        complete(lake, specs, request), on=["metric", "model"], how="left", nulls_equal=True
    )
    bounds = _add_value_bounds(specs, values, setting_sums, missing_by_setting)
    rows = bounds.sort("model", pl.col("metric").cast(pl.Enum(list(specs))), nulls_last=True)
    return rows.filter(selection_condition(model=model))


def _count_missing_games_by_setting(lake: StoredLake, request: Request) -> pl.DataFrame:
    """Return the number of games that each model did not finish, by competition and setting.

    The number of games to finish is the expected number, or that of the model that finished most,
    whichever is larger. If the request contains an expected number, it applies to the competition
    as a whole, and `setting_id` is null.
    """
    settings = (
        game_counts_by_model_and_setting(lake, edition_counts_game_condition(request))
        if request.edition == RELEASE
        else lake.compute_once(game_counts_by_model_and_setting)
    )
    models = lake.compute_once(game_counts_by_model_and_setting).select("model").unique()
    games = expected_games_by_model_and_setting(settings, models)
    if request.expected is not None:
        finished_games = settings.group_by(_COMPETITION_KEY).agg(pl.col("n_finished").sum())
        sides = models.join(settings.select("competition").unique(), how="cross")
        games = sides.join(
            finished_games, on=_COMPETITION_KEY, how="left", nulls_equal=True
        ).select(
            *_COMPETITION_KEY,
            pl.col("n_finished").fill_null(0),
            setting_id=pl.lit(None, pl.String),
            n_most=pl.lit(request.expected, pl.Int64),
            n_expected=pl.lit(request.expected, pl.Int64),
        )
    n_games = pl.max_horizontal("n_most", "n_expected") - pl.col("n_finished")
    return games.filter(n_games > 0).select(*_COMPETITION_KEY, "setting_id", n_games=n_games)


def _add_value_bounds(
    metrics: Mapping[str, Metric],
    values: pl.DataFrame,
    counts: pl.DataFrame,
    missing: pl.DataFrame,
) -> pl.DataFrame:
    """Add the lower and the upper bound, and counts that explain them, to each metric value."""
    keys, combine = ["metric", "model"], {name: spec.combine for name, spec in metrics.items()}
    term_keys = [*keys, "term"]
    term_sums = counts.group_by(term_keys).agg(pl.col("hits", "counted", *_BOUND_SUMS).sum())
    term_sums = term_sums.with_columns(pl.col("hits", "lost", "gained").cast(pl.Float64))
    terms = (
        values.select(*keys, "terms")
        .explode("terms")
        .unnest("terms")
        .rename({"counted": "denominator"})
        .drop("value", "hits")  # these are null if any hit is unknown
        # The order is kept, because a float sum in another order can give a bound beyond the value.
        .join(term_sums, on=term_keys, how="left", nulls_equal=True, maintain_order="left")
        .join(
            _estimate_row_counts_of_missing_games(counts, missing),
            on=term_keys,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        .with_columns(pl.exclude(*term_keys, "weight").fill_null(0))
        .with_columns(
            added=pl.col("uncounted") + pl.col("missing"),
            combine=pl.col("metric").replace_strict(combine, return_dtype=pl.String),
        )
    )
    bounds = terms.group_by(keys).agg(
        pl.col("counted", "uncounted").sum(),
        n_ambiguous=pl.col("ambiguous").sum(),
        n_outages=pl.col("outages").sum(),
    )
    lower_bounds = _compute_values_for_assumed_hits(
        "value_min", metrics, terms, pl.col("hits") - pl.col("lost")
    )
    upper_bounds = _compute_values_for_assumed_hits(
        "value_max", metrics, terms, pl.col("hits") + pl.col("gained") + pl.col("added")
    )
    has_rows = pl.col("value").is_not_null() | (pl.col("uncounted") > 0)
    is_bounded = has_rows & pl.col("value_min").is_not_null()
    # A fixed denominator can be smaller than the number of missing games, so the bound is capped.
    highest_values = pl.col("metric").replace_strict(
        {name: spec.high for name, spec in metrics.items()}
    )
    upper_limit = pl.max_horizontal("value", highest_values)
    # If no model has a row of the metric, no game of it is missing.
    rows = values.select(
        *("model", "metric", "value", "n_unreadable", "n_unknown"),
        pl.col("n_missing").fill_null(0),
    )
    for frame in (lower_bounds, upper_bounds, bounds):
        rows = rows.join(frame, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return rows.with_columns(
        value_min=pl.when(is_bounded).then("value_min"),
        value_max=pl.when(is_bounded).then(pl.min_horizontal("value_max", upper_limit)),
        is_complete=(pl.col("n_missing") == 0) & (pl.col("n_outages") == 0),
    ).select(list(READABILITY_COLUMNS))


def _compute_values_for_assumed_hits(
    value_name: str, metrics: Mapping[str, Metric], terms: pl.DataFrame, hits: pl.Expr
) -> pl.DataFrame:
    """Return the value of each metric and model, in the column `value_name`, for these hits."""
    fixed_terms = [
        f"{metric} {term.name}"
        for metric, spec in metrics.items()
        for term in spec.terms
        if term.fixed_count
    ]
    is_fixed = pl.concat_str("metric", "term", separator=" ").is_in(fixed_terms)
    denominator = pl.col("denominator") + pl.when(is_fixed).then(0).otherwise("added")
    bounded_terms = terms.lazy().with_columns(hits=hits, counted=denominator)
    ratio = pl.when(pl.col("counted") > 0).then(pl.col("hits") / pl.col("counted"))
    values = combine_term_ratios_into_values(
        bounded_terms.with_columns(ratio=ratio), ["metric", "model"]
    )
    return values.select("metric", "model", pl.col("value").alias(value_name)).collect()


def _estimate_row_counts_of_missing_games(
    counts: pl.DataFrame, missing: pl.DataFrame
) -> pl.DataFrame:
    """Estimate how many rows the missing games would have, by metric, model and term.

    A missing game is assumed to have the mean number of rows of a game of its setting, for the
    model for which this mean is highest. If no model played the setting, it is the mean for the
    competition. The rows that the model has in unfinished games are subtracted.
    """
    rows_per_game = counts.filter(pl.col("n_games") > 0).with_columns(
        size=(pl.col("counted") + pl.col("uncounted")) / pl.col("n_games")
    )
    setting_key = ["metric", "competition", "setting_id", "term"]
    setting_maxima = rows_per_game.group_by(setting_key).agg(pl.col("size").max())
    competition_maxima = rows_per_game.group_by("metric", "competition", "term").agg(
        largest=pl.col("size").max()
    )
    unfinished_rows = counts.select("model", *setting_key, "begun")
    rows_in_game, n_unfinished_rows = pl.coalesce("size", "largest"), pl.col("begun").fill_null(0)
    rows = (pl.col("n_games") * rows_in_game - n_unfinished_rows).clip(0)
    return (
        missing.join(competition_maxima, on="competition")
        .join(setting_maxima, on=setting_key, how="left")
        .join(unfinished_rows, on=["model", *setting_key], how="left", nulls_equal=True)
        .group_by("metric", "model", "term")
        .agg(missing=order_independent_sum(rows).ceil().cast(pl.Int64))
    )
