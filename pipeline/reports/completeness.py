"""Which games of each model the lake has, which are missing, and how far values could move.

A model is expected to finish as many games of every setting in a competition as other models did
(see `metrics.completeness`), or a given number of games. The bounds of a value are Manski's (C. F.
Manski, American Economic Review 80:2 (1990) 319–323): everything missing is counted as a miss for
the lower bound, and as a hit for the upper one. They are not intervals, and do not order models.
Terms are combined as in the value.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline import column
from pipeline.lake import StoredLake
from pipeline.metrics import PAPER, metric_specs
from pipeline.metrics.completeness import (
    expected_games,
    fixed_expected_games,
    metric_completeness as complete,
    played_games,
)
from pipeline.metrics.estimates import (
    Clusters,
    CountQuery,
    combine_terms,
    compute_values,
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
    metric_names,
    per_system,
)
from pipeline.metrics.request import (
    Request,
    check_expected,
    check_losses,
    check_models,
    selection_condition,
)
from pipeline.metrics.row_queries import edition_condition
from pipeline.reports.registry import report
from pipeline.statistics.intervals import exact_sum
from pipeline.vocabulary import RELEASE, Edition

COMPLETENESS_COLUMNS: Mapping[str, column.Column] = {
    "model": MODEL_COLUMN,
    "competition": column.text_column("the competition"),
    "game_type": column.text_column("its game"),
    "expected": column.count_column(
        "games: of each setting that any model played, the median of what the models that finished "
        "one have, or the model's own with those that it began and has to finish; of games that "
        "nobody can repeat, those of this model; or `expected`, if given"
    ),
    "found": column.count_column(
        "how many of these the lake has; games beyond are of no use for others"
    ),
    "finished": column.count_column("how many of these with an end: the others are missing"),
    "n_missing": column.count_column("how many of these are missing").with_heading("missing"),
    "n_games": column.count_column("its games").with_heading("games"),
    "n_unfinished": column.count_column("its games without an end").with_heading("unfinished"),
    "n_failed": column.count_column(
        "its games that it failed itself: by a forfeit, a time-out or an error that ended them, or "
        "by an outage that left them without a result"
    ).with_heading("failed"),
    "n_quarantined": column.count_column("parts of its games that could not be used").with_heading(
        "quarantined"
    ),
    "is_complete": column.boolean_column(
        "whether as many are finished as are expected"
    ).with_heading("complete"),
}
READABILITY_COLUMNS: Mapping[str, column.Column] = {
    "model": MODEL_COLUMN,
    "metric": METRIC_COLUMN,
    "value": column.proportion_column("the value over all game types"),
    "value_min": column.proportion_column("the lowest that it could be, in the metric's unit"),
    "value_max": column.proportion_column(
        "the highest that it could be; both are null if there is no value, and no row that would "
        "be counted if it were known"
    ),
    "counted": column.count_column("rows that were counted"),
    "n_unreadable": column.count_column(
        "rows whose `parse_status` is not `ok`, as in `metrics`"
    ).with_heading("not clear"),
    "n_unknown": METRIC_VALUE_COLUMNS["n_unknown"],
    "n_ambiguous": column.count_column("how many of those not clear are ambiguous").with_heading(
        "ambiguous"
    ),
    "n_outages": column.count_column("how many of those not clear are outages").with_heading(
        "outages"
    ),
    "n_missing": MISSING_COLUMNS["n_missing"],
    "is_complete": column.boolean_column(
        "whether no game is missing, and no row is an outage"
    ).with_heading("complete"),
}
_OF_SIDE = ("model", "competition")
_IS_OUTAGE, _IS_OPEN = "parse_status = 'outage'", "NOT is_finished"
# Rows that are counted, or would be if they were known: an outage, or a row without a hit.
_IS_THERE = f"(is_counted OR {_IS_OUTAGE} OR hit IS NULL)"
# Outages, games without an end and unknown hits are counted by the release edition alone. What
# cannot be read counts as the game took it: mostly a miss, but who says neither defects, which can
# be a hit.
_IS_UNSURE = (
    f"is_counted AND ({_IS_OUTAGE} OR {_IS_OPEN} OR hit IS NULL OR parse_status = 'unreadable')"
)
_SUMS = {
    "n_games": f"CAST({count_games_sql(_IS_THERE)} AS BIGINT)",
    "uncounted": count_rows_sql(f"{_IS_THERE} AND NOT is_counted"),
    # Hits that could have been misses, and misses that could have been hits.
    "lost": sum_hits_sql("hit", _IS_UNSURE),
    "gained": sum_hits_sql("1 - coalesce(hit, 0)", _IS_UNSURE),
    "ambiguous": count_rows_sql("parse_status = 'ambiguous'"),
    "outages": count_rows_sql(_IS_OUTAGE),
    "begun": count_rows_sql(f"{_IS_THERE} AND {_IS_OPEN}"),
}


@report(columns=COMPLETENESS_COLUMNS)
def completeness(
    lake: StoredLake,
    *,
    model: str | Sequence[str] | None = None,
    expected: int | None = None,
) -> pl.DataFrame:
    """Show which games of each model the lake has, and which are missing.

    A row is a model and a competition: the games expected (of each setting that any model played,
    the median of what the models that finished one have), how many of these are found and finished;
    its games, unfinished games and quarantined parts. With --missing, a row is a setting of which
    games are missing. With --readability, a row is a model and a metric: the texts that could not
    be read, the outages and the rows of missing games (beside the model that finished most), and
    the lowest and highest value that the metric could have if these were known. These bounds are
    not confidence intervals; do not use them to rank models.

    \b
    Examples:
      magic completeness
      magic completeness --expected 20 --format csv
      magic completeness --missing --model gpt-4
      magic completeness --incomplete --fail-if-incomplete
      magic completeness --readability

    Raises UsageError if `expected` is less than 1 or above a billion, and for an unknown model.

    A row is a model and a competition. The competitions are those that any model played. A last row
    without a model counts the documents that are quarantined as a whole, since their model is
    unknown.

    >>> games = lake.completeness(model="sim-atlas")
    >>> games.select("competition", "expected", "finished", "is_complete").rows()[0]
    ('chameleon_as_chameleon', 4, 4, True)
    """
    check_expected(expected)
    check_models(lake, model)
    results = lake.table("results").filter("is_tested")
    # Not of all columns: of each refused document there are up to 64 KiB.
    quarantined = lake.table("quarantine").select("game_id")
    broken = (
        quarantined.drop_nulls()
        .join(results.select("game_id", *_OF_SIDE).unique(), on="game_id", how="inner")
        .group_by(_OF_SIDE)
        .agg(n_quarantined=pl.len().cast(pl.Int64))
    )
    failed = (
        lake.failed_results()
        .filter("is_tested", "is_failed")
        .group_by(_OF_SIDE)
        .agg(n_failed=pl.col("game_id").n_unique().cast(pl.Int64))
    )
    games = (
        fixed_expected_games(lake, expected)
        .lazy()
        .join(broken, on=_OF_SIDE, how="left", nulls_equal=True)
        .join(failed, on=_OF_SIDE, how="left", nulls_equal=True)
        .with_columns(pl.col("n_quarantined", "n_failed").fill_null(0))
        .select(
            *_OF_SIDE,
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
        .sort(_OF_SIDE, nulls_last=True)
        .collect()
    )
    if model is not None:
        return games.filter(selection_condition(model=model))
    whole = quarantined.null_count().collect().item()
    if not whole:
        return games
    return pl.concat([games, pl.DataFrame({"n_quarantined": [whole]})], how="diagonal_relaxed")


@per_system(READABILITY_COLUMNS)
def readability(
    lake: StoredLake,
    *,
    edition: Edition = PAPER,
    expected: int | None = None,
    model: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """What could not be read, and how far the value could move: a row for each model and metric.

    The bounds count each row that is `unreadable`, an outage or of unknown hit once as a miss and
    once as a hit. An `ambiguous` row counts as the game registered it, if it did. Bounds are not a
    confidence interval, and do not order models.
    `expected` is that of `completeness`.

    Raises UsageError for an unknown model or edition, and for a wrong number of expected games.

    >>> bounds = lake.readability(model="sim-atlas").filter(metric="judgement")
    >>> bounds.select("value", "value_min", "value_max", "n_unreadable").row(0)
    (0.5, 0.5, 0.625, 3)
    """
    check_expected(expected)
    check_models(lake, model)
    check_losses(lake, edition)
    request = Request(edition=edition, by=("model",), expected=expected)
    declared = metric_specs(lake, metric_names(edition), request)
    question = CountQuery(declared, request, with_games=(), clusters=Clusters(), also=_SUMS)
    counts = count_with_engine(lake, question, "polars")
    of_settings = counts.sums.rename({"stratum": "competition", "cluster": "setting_id"})
    missing = _missing(lake, request)
    valued = compute_values(counts, declared, request).join(
        complete(lake, declared, request), on=["metric", "model"], how="left", nulls_equal=True
    )
    bounds = _bounds(declared, valued, of_settings, missing)
    rows = bounds.sort("model", pl.col("metric").cast(pl.Enum(list(declared))), nulls_last=True)
    return rows.filter(selection_condition(model=model))


def _missing(lake: StoredLake, request: Request) -> pl.DataFrame:
    """The games that may be missing of those that count: model, competition, setting_id, n_games.

    Beside the model that finished most games of a setting, and as many as are expected; or of the
    number that is expected of a competition, whatever their settings.
    """
    settings = (
        played_games(lake, edition_condition(request))
        if request.edition == RELEASE
        else lake.cached(played_games)
    )
    models = lake.cached(played_games).select("model").unique()
    games = expected_games(settings, models)
    if request.expected is not None:
        finished = settings.group_by(_OF_SIDE).agg(pl.col("n_finished").sum())
        sides = models.join(settings.select("competition").unique(), how="cross")
        games = sides.join(finished, on=_OF_SIDE, how="left", nulls_equal=True).select(
            *_OF_SIDE,
            pl.col("n_finished").fill_null(0),
            setting_id=pl.lit(None, pl.String),
            n_most=pl.lit(request.expected, pl.Int64),
            n_expected=pl.lit(request.expected, pl.Int64),
        )
    n_games = pl.max_horizontal("n_most", "n_expected") - pl.col("n_finished")
    return games.filter(n_games > 0).select(*_OF_SIDE, "setting_id", n_games=n_games)


def _bounds(
    metrics: Mapping[str, Metric],
    values: pl.DataFrame,
    counts: pl.DataFrame,
    missing: pl.DataFrame,
) -> pl.DataFrame:
    """The rows of all metrics, in the order of the values."""
    group, combine = ["metric", "model"], {name: of.combine for name, of in metrics.items()}
    by = [*group, "term"]
    seen = counts.group_by(by).agg(pl.col("hits", "counted", *_SUMS).sum())
    seen = seen.with_columns(pl.col("hits", "lost", "gained").cast(pl.Float64))
    terms = (
        values.select(*group, "terms")
        .explode("terms")
        .unnest("terms")
        .rename({"counted": "denominator"})
        .drop("value", "hits")  # which are null if one of them is unknown
        # In their order: a sum of floats in another one may come to a bound beyond the value.
        .join(seen, on=by, how="left", nulls_equal=True, maintain_order="left")
        .join(_lacking(counts, missing), on=by, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(pl.exclude(*by, "weight").fill_null(0))
        .with_columns(
            added=pl.col("uncounted") + pl.col("missing"),
            combine=pl.col("metric").replace_strict(combine, return_dtype=pl.String),
        )
    )
    bounds = terms.group_by(group).agg(
        pl.col("counted", "uncounted").sum(),
        n_ambiguous=pl.col("ambiguous").sum(),
        n_outages=pl.col("outages").sum(),
    )
    least = _bound("value_min", metrics, terms, pl.col("hits") - pl.col("lost"))
    most = _bound("value_max", metrics, terms, pl.col("hits") + pl.col("gained") + pl.col("added"))
    is_told = pl.col("value").is_not_null() | (pl.col("uncounted") > 0)
    is_bounded = is_told & pl.col("value_min").is_not_null()
    # More games may be missing than a denominator that is fixed beforehand has room for.
    high = pl.col("metric").replace_strict({name: of.high for name, of in metrics.items()})
    highest = pl.max_horizontal("value", high)
    # Where no model has a row of the metric, nothing is missing of it.
    rows = values.select(
        *("model", "metric", "value", "n_unreadable", "n_unknown"),
        pl.col("n_missing").fill_null(0),
    )
    for frame in (least, most, bounds):
        rows = rows.join(frame, on=group, how="left", nulls_equal=True, maintain_order="left")
    return rows.with_columns(
        value_min=pl.when(is_bounded).then("value_min"),
        value_max=pl.when(is_bounded).then(pl.min_horizontal("value_max", highest)),
        is_complete=(pl.col("n_missing") == 0) & (pl.col("n_outages") == 0),
    ).select(list(READABILITY_COLUMNS))


def _bound(
    name: str, metrics: Mapping[str, Metric], terms: pl.DataFrame, hits: pl.Expr
) -> pl.DataFrame:
    """metric, model, and in a column `name` the value that it would have with so many hits."""
    fixed = [
        f"{metric} {term.name}"
        for metric, declared in metrics.items()
        for term in declared.terms
        if term.fixed_count
    ]
    is_fixed = pl.concat_str("metric", "term", separator=" ").is_in(fixed)
    whole = pl.col("denominator") + pl.when(is_fixed).then(0).otherwise("added")
    bounded = terms.lazy().with_columns(hits=hits, counted=whole)
    ratio = pl.when(pl.col("counted") > 0).then(pl.col("hits") / pl.col("counted"))
    values = combine_terms(bounded.with_columns(ratio=ratio), ["metric", "model"])
    return values.select("metric", "model", pl.col("value").alias(name)).collect()


def _lacking(counts: pl.DataFrame, missing: pl.DataFrame) -> pl.DataFrame:
    """The estimated number of rows that missing games would have had, by metric, model, term.

    A missing game is taken to have the rows that a game of its setting has on average, for the
    model where this is most; if there is none, those of a game of its competition. Rows that the
    model has in unfinished games are subtracted.
    """
    there = counts.with_columns(there=pl.col("counted") + pl.col("uncounted"))
    a_game = there.filter(pl.col("n_games") > 0).with_columns(
        size=pl.col("there") / pl.col("n_games")
    )
    of_setting = ["metric", "competition", "setting_id", "term"]
    elsewhere = a_game.group_by(of_setting).agg(pl.col("size").max())
    largest = a_game.group_by("metric", "competition", "term").agg(largest=pl.col("size").max())
    begun = counts.select("model", *of_setting, "begun")
    size, n_begun = pl.coalesce("size", "largest"), pl.col("begun").fill_null(0)
    rows = (pl.col("n_games") * size - n_begun).clip(0)
    return (
        missing.join(largest, on="competition")
        .join(elsewhere, on=of_setting, how="left")
        .join(begun, on=["model", *of_setting], how="left", nulls_equal=True)
        .group_by("metric", "model", "term")
        .agg(missing=exact_sum(rows).ceil().cast(pl.Int64))
    )
