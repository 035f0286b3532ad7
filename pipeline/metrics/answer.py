"""The answer to a request: what an engine counted, made into values with intervals in one way."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import polars as pl
from msgspec.structs import replace

from pipeline.errors import UsageError
from pipeline.lake import StoredLake, of_one_system
from pipeline.metrics.completeness import played, with_completeness
from pipeline.metrics.counts import Question, clusters, of_own_games
from pipeline.metrics.declaration import Metric
from pipeline.metrics.engines import check_engine, count
from pipeline.metrics.intervals import sums_by_cluster, with_intervals
from pipeline.metrics.known import metric
from pipeline.metrics.known import names as edition_names
from pipeline.metrics.request import ALL, RELEASE, Request
from pipeline.metrics.thin import with_thin
from pipeline.metrics.validation import check
from pipeline.metrics.values import values
from pipeline.vocabulary import MAGIC, Engine, GameType

DEFAULT_CONFIDENCE = 0.95


class Answer(NamedTuple):
    """The rows of `metrics`, and what their intervals and comparisons are made of.

    `sums` has metric, the finest groups of the request, stratum, cluster, cluster_kind, term, h
    (hits), c (counted); `settings` are those that were `played`. `by_game` counts one metric of
    some models again, with the column `game`. All are None if no interval was asked for.
    """

    rows: pl.DataFrame
    request: Request
    sums: pl.DataFrame | None = None
    settings: pl.DataFrame | None = None
    by_game: Callable[[str, Sequence[str]], pl.DataFrame] | None = None


@of_one_system
def answered(
    lake: StoredLake,
    request: Request,
    *,
    names: Sequence[str] | None = None,
    engine: Engine = "polars",
    master: str | None = None,
    confidence: float | None = DEFAULT_CONFIDENCE,
    with_games: Collection[str] | None = None,
) -> Answer:
    """The answer to a request; `n_games` is 0 for metrics that are not among `with_games`.

    To count games is half of the work; without `with_games` it is done for all metrics.
    """
    metric_names = tuple(edition_names(request.edition) if names is None else names)
    check_engine(lake, engine, master)
    if confidence is not None and not 0 < confidence < 1:
        raise UsageError(
            f"the confidence must be between 0 and 1, for example 0.95, not {confidence:g}"
        )
    check(lake, request, metric_names)
    declared = _declared(lake, metric_names, request)
    settings = None if confidence is None else played(lake)
    question = Question(
        declared,
        request,
        with_games=metric_names if with_games is None else with_games,
        clusters=None if settings is None else clusters(settings, request),
    )
    counts = of_own_games(count(lake, question, engine, master), declared)
    rows = values(counts, declared, request)
    if confidence is None or settings is None:
        return Answer(in_order(rows, metric_names, request.by), request)
    sums = sums_by_cluster(counts.sums, declared, request)
    rows = with_intervals(rows, declared, sums, request, confidence)

    def by_game(name: str, models: Sequence[str]) -> pl.DataFrame:
        of_metric = {name: declared[name]}
        wanted = replace(request, by=(*request.by, "game_id"), models=tuple(models))
        narrowed = question._replace(metrics=of_metric, request=wanted, with_games=())
        counts = of_own_games(count(lake, narrowed, engine, master), of_metric)
        by_cluster = sums_by_cluster(counts.sums, of_metric, wanted)
        return by_cluster.rename({"game_id": "game"})

    rows = with_thin(rows, sums, request)
    rows = with_completeness(rows, declared, settings, request)
    return Answer(in_order(rows, metric_names, request.by), request, sums, settings, by_game)


def _declared(lake: StoredLake, names: Sequence[str], request: Request) -> dict[str, Metric]:
    """The metrics as they are declared, with the terms of the games that their system plays.

    A system's metric has no value where a model lacks one of the games. Of MAgIC's own games all
    count for this, whether the lake has them or not; of another system's, those that it has.
    """
    declared = {name: metric(name, request.edition) for name in names}
    if request.edition == RELEASE:
        return declared
    magic_types = GameType if lake.system in (None, MAGIC) else ()
    played = {*magic_types, *lake.game_types}
    return {name: of_metric.among(played) for name, of_metric in declared.items()}


def in_order(rows: pl.DataFrame, names: Sequence[str], by: Sequence[str]) -> pl.DataFrame:
    """The rows in the metrics' order, then the groups'; `all` after the game types."""
    first = [(pl.col(column) == ALL) if column == "game_type" else pl.col(column) for column in by]
    order = pl.col("metric").replace_strict({name: i for i, name in enumerate(names)})
    return rows.sort(order, *first, *by, nulls_last=True)
