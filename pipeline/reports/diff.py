"""What changed between two lakes, or two states of one lake, and which games caused it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from msgspec.structs import replace

from pipeline import column
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import (
    DEFAULT_CONFIDENCE,
    PAPER,
    MetricResult,
    compute_metrics,
    metric_specs,
    request_clusters,
)
from pipeline.metrics.estimates import GAME_CLUSTER_PREFIX, CountQuery, count_with_engine
from pipeline.metrics.registry import (
    METRIC_COLUMN,
    ORIGIN_COLUMNS,
    SMALL_SAMPLE_COLUMN,
    lake_method,
    metric_names,
    origin_columns,
)
from pipeline.metrics.request import (
    Request,
    as_list,
    check_models,
    requested_metrics,
    tested_models,
)
from pipeline.parameters import option_spec
from pipeline.reports.compare.differences import (
    COLUMNS as COMPARED,
    adjusted,
    check_margin,
    compared,
    of_models,
)
from pipeline.reports.registry import report
from pipeline.statistics.comparison import drop_p_value, is_significant, minimum_detectable_drop
from pipeline.statistics.pairs import rates_from_basis
from pipeline.vocabulary import Edition

SAME_GAMES = "the same games"
ONLY_BEFORE, ONLY_AFTER = "only before", "only after"
_OF_STATE = ("value", "common_value", "thin")
_Asked = tuple[StoredLake, Request]
_OF_GAMES: Mapping[str, column.Column] = {
    "n_common": column.count_column(
        "games that both count, in the same competitions and settings"
    ).with_heading("common"),
    "n_gone": column.count_column(
        "games that only the first counts in a competition and setting"
    ).with_heading("gone"),
    "n_new": column.count_column(
        "games that only the second counts in a competition and setting"
    ).with_heading("new"),
}
_GAMES = column.polars_schema(_OF_GAMES)
DIFF_COLUMNS: Mapping[str, column.Column] = {
    "metric": COMPARED["metric"],
    "model": COMPARED["model"],
    "value": column.proportion_column("the value before, in the metric's unit").with_heading(
        "before"
    ),
    "new_value": column.proportion_column("the value after").with_heading("after"),
    "common_value": column.proportion_column(
        "the value before on the common settings, each counted as much before as after; null "
        "unless `method` is `paired by setting` or `the same games`"
    ).with_heading("common before"),
    "new_common_value": column.proportion_column("the same after").with_heading("common after"),
    "thin": SMALL_SAMPLE_COLUMN,
    "new_thin": SMALL_SAMPLE_COLUMN,
    "difference": column.proportion_column(
        "new_common_value − common_value if these are not null, else new_value − value"
    ),
    **{name: COMPARED[name] for name in ("ci_low", "ci_high", "ci_method", "p_value", "p_holm")},
    "family": column.count_column("how many p-values are adjusted together: all of the result"),
    "level": column.number_column("the significance level, 1 − `confidence`"),
    "method": column.text_column("how the difference was computed"),
    "n_settings": column.count_column(
        "settings in common, without those whose games are the same in both; where a model "
        "finished games of only one setting of a competition, its games are the clusters"
    ).with_heading("settings"),
    "is_replayed": COMPARED["is_replayed"],
    **_OF_GAMES,
    "is_beyond_chance": column.boolean_column(
        "whether the value moved beyond chance: `p_holm` reaches the level, or the same games have "
        "another value; null if there is no difference",
        nullable=True,
    ).with_heading("beyond chance"),
    "reason": column.text_column("why there is no difference"),
}
# With a margin.
MARGIN_COLUMNS: Mapping[str, column.Column] = {
    "p_fall": column.p_value_column(
        "one-sided, adjusted by Holm: the value fell by more than the margin"
    ),
    "fall_seen": column.proportion_column(
        "the smallest fall that this test sees with power .8, at the level of 1 − `confidence` "
        "divided by the number of tests; null if even a fall to 0 would not be seen"
    ),
    "is_regression": column.boolean_column("whether the value fell by more than the margin"),
}
_GAME_KEY = ("model", "competition", "setting_id", "game_id")
CHANGED_GAMES_COLUMNS: Mapping[str, column.Column] = {
    "metric": METRIC_COLUMN,
    **{name: TABLES["results"].columns()[name] for name in _GAME_KEY},
    "change": column.text_column(
        "`gone` if only the first counts the game, `new` if only the second"
    ),
    "hits": column.number_column("the game's hits"),
    "counted": column.count_column("the game's counted rows"),
}


@report(columns={**DIFF_COLUMNS, **ORIGIN_COLUMNS}, title="What changed", tells_system=True)
def diff(
    before: StoredLake,
    after: StoredLake | str | Path,
    *,
    model: str | Sequence[str] | None = None,
    metric: str | Sequence[str] | None = None,
    margin: Annotated[
        float | None,
        option_spec(
            "MARGIN",
            "Exit with 4 if a value fell by more than MARGIN, by a one-sided test.",
            "--fail-on-regression",
            min=0,
        ),
    ] = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """Show what changed between two lakes, and whether chance alone can explain it.

    The first line says how many values moved beyond chance, at which level (.05, or 1 − SHARE with
    `--confidence`), and which models are new or gone. The rows are the values that moved; --all
    lists all. Where the two lakes have different settings, `common before` and `common after` are
    the values on the common settings: `difference` is the second less the first. With --model and
    --metric, p-values are adjusted for these values alone.

    If both lakes count the same games, the difference is exact and has no p-value. Otherwise the
    two states are compared like two models, paired by setting if possible. Settings whose games are
    the same in both tell of no change: they are not paired, and new games weigh against old ones.

    With `--fail-on-regression`, `p fall` tests whether the value fell by more than MARGIN, adjusted
    by Holm's method. At .05 or less (1 − SHARE with `--confidence`) it did: this is a regression.
    `fall seen` is the smallest fall that this test detects with a probability of .8; smaller falls
    can stay undetected.
    A value that cannot be compared is no regression: `reason` says why.

    \b
    Examples:
      magic diff before/ after/
      magic diff before/ after/ --all --metric win_rate --model gpt-4
      magic diff before/ after/ --fail-on-regression 0.05
      magic diff before/ --lake lake/
      magic diff --as-of 1 --list-games

    Raises UsageError for an unknown edition or metric, a wrong margin or a model of neither lake,
    and LakeError if there is no lake at the path.

    A row is a metric and a model of either lake. `after` is a lake or the path of one. `model` and
    `metric` choose rows, as in `metrics`; p-values are adjusted for those chosen. With a `margin`,
    also `p_fall`, `fall_seen` and `is_regression`: see `OF_MARGIN`.

    >>> lake.diff("lake/").select("n_gone", "n_new").unique().rows()
    [(0, 0)]
    """
    asked = _asked(*_of_same_system(before, after), edition, model)
    game_types = {name for lake, _ in asked for name in lake.game_types}
    check_margin(margin, metric, edition, game_types, may_be_0=True)
    metrics = requested_metrics(metric, edition)
    answers = [
        compute_metrics(lake, request, names=metrics, confidence=confidence)
        for lake, request in asked
    ]
    games = _games(asked, metrics)
    # A game in which a model has several roles counts in several competitions, and is one game: it
    # is common if all of these are.
    change = pl.col("change")
    of_game = games.group_by("metric", "model", "game_id").agg(
        n_common=(change == "common").all(),
        n_gone=(change == "gone").any(),
        n_new=(change == "new").any(),
    )
    of_games = of_game.group_by("metric", "model")
    rows = _compared(answers, games, confidence).join(
        of_games.agg(pl.col(_GAMES.names()).sum().cast(pl.Int64)),
        on=["metric", "model"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    n_games = pl.col(_GAMES.names()).fill_null(0)
    is_same = (pl.col("n_gone") == 0) & (pl.col("n_new") == 0) & pl.col("difference").is_not_null()
    rows = rows.with_columns(n_games).with_columns(
        pl.when(~is_same).then("p_value").alias("p_value"),
        pl.when(is_same).then("difference").otherwise("ci_low").alias("ci_low"),
        pl.when(is_same).then("difference").otherwise("ci_high").alias("ci_high"),
        ci_method=pl.when(~is_same).then("ci_method"),
        method=pl.when(is_same).then(pl.lit(SAME_GAMES)).otherwise("method"),
    )
    rows = adjusted(rows, [])
    if margin is not None:
        rows = _with_falls(rows, margin, confidence)
    is_told_apart = is_significant(pl.col("p_holm"), confidence)
    is_beyond = pl.when(is_same).then(pl.col("difference") != 0).otherwise(is_told_apart)
    return rows.with_columns(is_beyond_chance=is_beyond, level=round(1 - confidence, 15)).select(
        *list(DIFF_COLUMNS)[:-1],
        *(() if margin is None else MARGIN_COLUMNS),
        "reason",
        *origin_columns(asked[0][0], edition),
    )


def _of_same_system(
    before: StoredLake, after: StoredLake | str | Path
) -> tuple[StoredLake, StoredLake]:
    """The lakes of one system: that of the earlier one, else of the other, else its largest.

    Raises UsageError for lakes of two systems.
    """
    if not isinstance(after, StoredLake):
        after = open_lake(after)
    before = before.for_single_system(before.system or after.system)
    if before.system is None or not after.systems:
        return before, after.for_single_system()
    others = [after.system] if after.system else [*after.systems]
    if before.system not in others:
        raise UsageError(
            f"a diff is of one system: {before.path} has games of {before.system}, and "
            f"{after.path} of {', '.join(others)}"
        )
    return before, after.for_system(before.system)


def _asked(
    before: StoredLake, after: StoredLake, edition: Edition, model: str | Sequence[str] | None
) -> list[_Asked]:
    """Both lakes, each with the request for those of the models that it tests.

    Raises UsageError for a model that neither tests.
    """
    models = as_list(model)
    own = [tested_models(lake, models) for lake in (before, after)]
    check_models(after, sorted(set(models or ()).difference(*(some or () for some in own))))
    return [
        (lake, Request(edition=edition, by=("model",), models=some))
        for lake, some in zip((before, after), own, strict=True)
    ]


def _with_falls(rows: pl.DataFrame, margin: float, confidence: float) -> pl.DataFrame:
    """The rows with p_fall (one-sided, adjusted), fall_seen and is_regression."""
    level = (1 - confidence) / max(1, rows["p_value"].count())
    falls = [
        _fall(basis, p, margin, level) if p is not None else (None, None)
        for basis, p in rows.select("basis", "p_value").iter_rows()
    ]
    of_falls = pl.DataFrame(falls, {"raw": pl.Float64, "fall_seen": pl.Float64}, orient="row")
    is_beyond = pl.col("difference") < -margin
    is_seen = (
        pl.when(pl.col("raw").is_null())
        .then(is_beyond)
        .otherwise(is_significant(pl.col("p_fall"), confidence))
    )
    tested = adjusted(pl.concat([rows, of_falls], how="horizontal"), [], "raw", "p_fall")
    return tested.with_columns(is_regression=is_seen)


def _fall(
    basis: dict[str, Any], p: float, margin: float, level: float
) -> tuple[float, float | None]:
    """The one-sided p-value of a fall of more than the margin, and the fall that it detects."""
    new, old, correlation = rates_from_basis(basis)
    seen = minimum_detectable_drop(new, old, margin, level, correlation=correlation)
    return drop_p_value(new, old, margin, p, correlation), seen


def _compared(
    answers: Sequence[MetricResult], games: pl.DataFrame, confidence: float
) -> pl.DataFrame:
    """The comparison of each metric and model after with the same before, as `value`, `new_value`.

    What only one state has is not compared: the reason says which state that is.
    """
    of_states = [
        one.with_columns(pl.lit(state).alias("state"))
        for one, state in zip(answers, ("before", "after"), strict=True)
    ]
    request = replace(answers[0].request, by=("model", "state"))
    answer = _told_same(MetricResult.of_all(of_states, request), games)
    lacking = (
        pl.when(pl.col("entity").is_null())
        .then(pl.lit(ONLY_BEFORE))
        .when(pl.col("other_entity").is_null())
        .then(pl.lit(ONLY_AFTER))
    )
    pairs = of_models(answer, [("after", "before")], "state").with_columns(lacking=lacking)
    order = pl.col("metric").cast(pl.Enum(metric_names(answer.request.edition)))
    both = compared(answer, pairs.sort(order, "model"), confidence, label="state")
    renamed = {name: f"new_{name}" for name in _OF_STATE}
    return both.rename(renamed | {f"other_{name}": name for name in _OF_STATE})


def _told_same(answer: MetricResult, games: pl.DataFrame) -> MetricResult:
    """The answer whose sums say which cells have the same games in both states, as `is_same`.

    They are not paired: they would only be compared with themselves. Where no game of a metric and
    model changed, none is told.
    """
    is_common = pl.col("change") == "common"
    changed = games.filter(~is_common.all().over("metric", "model"))
    cell = ["metric", "model", "stratum", "cluster"]
    of_cells = changed.rename({"competition": "stratum"}).group_by(cell)
    same = of_cells.agg(is_same=is_common.all())
    sums = answer.sums.join(same, on=cell, how="left", nulls_equal=True)
    return answer._replace(sums=sums.with_columns(pl.col("is_same").fill_null(value=False)))


def _games(asked: Sequence[_Asked], metrics: Sequence[str]) -> pl.DataFrame:
    """The games that either lake counts, as in `CHANGED_GAMES`, with the cluster that each
    is in; `common` in both."""
    both = pl.concat(
        _counted(lake, request, metrics).with_columns(change=pl.lit(change))
        for (lake, request), change in zip(asked, ("gone", "new"), strict=True)
    )
    change = pl.when(pl.len() > 1).then(pl.lit("common")).otherwise(pl.col("change").first())
    of_games = both.group_by("metric", *_GAME_KEY)
    return of_games.agg(pl.col("cluster", "hits", "counted").first(), change=change)


def _counted(lake: StoredLake, request: Request, metrics: Sequence[str]) -> pl.DataFrame:
    """The games that each metric counts, with its hits and counted rows in them."""
    finest = replace(request, by=_GAME_KEY)
    declared = metric_specs(lake, metrics, finest)
    question = CountQuery(declared, finest, with_games=(), clusters=request_clusters(lake, request))
    sums = count_with_engine(lake, question, "polars").sums
    cluster = pl.col("cluster").str.strip_prefix(GAME_CLUSTER_PREFIX)
    of_games = sums.group_by("metric", *_GAME_KEY, cluster).agg(pl.col("hits", "counted").sum())
    return of_games.filter(pl.col("counted") > 0).with_columns(pl.col("hits").cast(pl.Float64))


@lake_method
@column.document_columns({**CHANGED_GAMES_COLUMNS, **ORIGIN_COLUMNS})
def diff_games(
    before: StoredLake,
    after: StoredLake | str | Path,
    *,
    edition: Edition = PAPER,
    model: str | Sequence[str] | None = None,
    metric: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """The games behind `diff`: a row for each metric and game that only one lake counts.

    The arguments are those of `diff`.

    >>> lake.diff_games("lake/").height
    0
    """
    asked = _asked(*_of_same_system(before, after), edition, model)
    metrics = requested_metrics(metric, edition)
    order = pl.col("metric").cast(pl.Enum(metric_names(edition)))
    changed = _games(asked, metrics).filter(pl.col("change") != "common")
    return (
        changed.select(*CHANGED_GAMES_COLUMNS)
        .sort(order, *_GAME_KEY, nulls_last=True)
        .with_columns(origin_columns(asked[0][0], edition))
    )
