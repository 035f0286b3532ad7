"""The tally equals a plain count of its rows: engines that run one text cannot prove each other."""

from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from event_tables import ENGINES, lake_of
from hypothesis import HealthCheck, given, settings, strategies as st
from random_tables import event_tables

from pipeline.lake import StoredLake
from pipeline.metrics.completeness import game_counts_by_model_and_setting
from pipeline.metrics.estimates import (
    CountQuery,
    Counts,
    choose_settings_or_games_as_clusters,
    count_with_engine,
)
from pipeline.metrics.registry import metric_names, metric_spec
from pipeline.metrics.request import Request, parse_condition
from pipeline.metrics.row_queries import metric_rows
from pipeline.vocabulary import AUDITED, PAPER, RELEASE

FEW = settings(
    max_examples=max(2, settings.default.max_examples // 7),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
GROUPINGS = ((), ("model",), ("model", "game_type"), ("role", "model"), ("topic",), ("game_id",))
OF_RELEASE = GROUPINGS[1:3]
CONDITIONS = (None, "role = 'civilian' OR model IS NULL", "NOT (side = 'hidden' AND model <> 'm')")


@pytest.mark.parametrize("edition", [PAPER, RELEASE, pytest.param(AUDITED, marks=pytest.mark.slow)])
@FEW
@given(tables=event_tables(), data=st.data())
def test_the_tally_is_what_a_loop_counts(edition, tables, data):
    is_release = edition == RELEASE
    by = data.draw(st.sampled_from(OF_RELEASE if is_release else GROUPINGS))
    where = None if is_release else data.draw(st.sampled_from(CONDITIONS))
    with TemporaryDirectory() as folder:
        lake = lake_of(Path(folder), tables, 2)
        condition = None if where is None else parse_condition(metric_names(edition), where)
        request = Request(edition=edition, by=by, where=condition, num_of_game=9)
        declared = {name: metric_spec(name, edition) for name in metric_names(edition)}
        of_settings = (
            choose_settings_or_games_as_clusters(game_counts_by_model_and_setting(lake), request)
            if data.draw(st.booleans())
            else None
        )
        question = CountQuery(declared, request, with_games=[*declared], clusters=of_settings)
        expected = looped(lake, question)
        for engine in ENGINES:
            found = records(count_with_engine(lake, question, engine), question)
            assert found == expected, engine


Records = tuple[dict[tuple, tuple], dict[tuple, tuple], dict[tuple, int]]


def records(counts: Counts, question: CountQuery) -> Records:
    """The rows of each frame by its keys; of games, those of groups that have any."""
    n = 1 + len(question.request.counted_group_columns)
    at = n + (1 if question.clusters is None else 3)
    sums = {row[:at]: (round(row[at], 12), *row[at + 1 :]) for row in known(counts.sums)}
    games = {row[:n]: row[n:] for row in counts.games.iter_rows() if any(row[n:])}
    return sums, games, {row[:-1]: row[-1] for row in counts.sides.iter_rows()}


def known(sums: pl.DataFrame) -> list[tuple]:
    """The rows of sums; a sum of no hits is 0."""
    return sums.with_columns(pl.col("hits").cast(pl.Float64).fill_null(0)).rows()


def looped(lake: StoredLake, question: CountQuery) -> Records:
    """The same, by a loop over the rows of each metric: sums of fractions, and sets of games."""
    request, of_settings = question.request, question.clusters
    by_game = set(of_settings.by_game if of_settings else ())
    sums = defaultdict(lambda: [Fraction(0), *[0] * 5])
    games = defaultdict(lambda: (set(), set()))
    for name, declared in question.metrics.items():
        for row in metric_rows(declared, lake.table, request).collect().iter_rows(named=True):
            group = (name, *(row[column] for column in request.counted_group_columns))
            is_by_game = (row["model"] or "", row["competition"]) in by_game
            cluster = f"game {row['game_id']}" if is_by_game else row["setting_id"]
            is_unknown = row["hit"] is None
            places = (row["competition"], cluster) if of_settings else ()
            own = sums[(*group, *places, row["term"])]
            own[2] += row["parse_status"] != "ok"
            own[3] += is_unknown and row["parse_status"] != "outage"
            own[4] += is_unknown and row["parse_status"] not in ("ok", "outage")
            if row["is_counted"]:
                own[0] += Fraction(row["hit"] or 0)
                own[1] += 1
                own[5] += is_unknown
                games[group][0].add(row["game_id"])
                games[group][1].update([row["game_id"]] * is_unknown)
    return (
        {key: (round(float(own[0]), 12), *own[1:]) for key, own in sums.items()},
        {key: (len(all_), len(unknown)) for key, (all_, unknown) in games.items()},
        sides(lake, request),
    )


def sides(lake: StoredLake, request: Request) -> dict[tuple, int]:
    """The groups of tested sides, with the number of unfinished games of each."""
    unfinished = defaultdict(set)
    topics = dict(lake.table("games").select("game_id", "topic").collect().iter_rows())
    results = lake.table("results").filter("is_tested")
    if request.where is not None:
        results = results.filter(pl.sql_expr(request.where.sql))
    for row in results.collect().iter_rows(named=True):
        row["topic"] = topics.get(row["game_id"])
        number = row["game_index"]
        is_numbered = number is not None and number < request.num_of_game
        is_scoped = request.edition != RELEASE or is_numbered
        is_unfinished = not row["is_finished"] and is_scoped
        own = unfinished[tuple(row[column] for column in request.counted_group_columns)]
        own.update([row["game_id"]] * is_unfinished)
    return {key: len(games) for key, games in unfinished.items()}
