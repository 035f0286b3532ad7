"""SQL equals polars: on random tables, in what is declared, and in the views that SQL offers."""

import tempfile
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from cases.judgement import TABLES as VOTES
from event_tables import ENGINES, ODD, Frames, assert_same, lake_of, stacked
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from random_tables import EventTables, event_tables, shuffled

from pipeline.events.contracts import registered_roles
from pipeline.lake import StoredLake
from pipeline.metrics import NAMES, metric_spec, metrics
from pipeline.metrics.registry import metric_names
from pipeline.metrics.request import Request
from pipeline.metrics.row_queries import (
    metric_rows,
    metric_rows_select,
    metric_views,
    qualified_view_name,
)
from pipeline.vocabulary import AUDITED, DEFAULT_N_GAMES, EDITIONS, PAPER, RELEASE
from pipeline.warehouse import connect, run_query

# All metrics are asked of each example, by both engines.
FEW = settings(
    max_examples=max(3, settings.default.max_examples // 6),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
# The audited edition differs in which rows are hits; its own cases are worked by hand.
IN_RANDOM_TABLES = (PAPER, RELEASE, pytest.param(AUDITED, marks=pytest.mark.slow))
GROUPINGS: dict[str, tuple[tuple[str, ...], ...]] = {
    PAPER: (
        (),
        ("model",),
        ("model", "game_type"),
        ("game_type", "setting_id"),
        ("role",),
        ("model", "setting_id"),
        ("competition", "is_finished"),
        ("game_id",),
        ("round",),
        ("seat", "player", "game_type"),
        ("parse_status",),
    ),
    RELEASE: (("model",), ("model", "game_type"), ("game_type", "model")),
}
GROUPINGS[AUDITED] = GROUPINGS[PAPER]
TABLES = EventTables(range(1, 300), ())
MODEL_FOR_EACH_GAME = {
    name: rows.with_columns(model=pl.format("{} in {}", "model", "game_id"))
    if "model" in rows.columns
    else rows
    for name, rows in TABLES.items()
}
MODELS = ["m", ODD, "O'Neil; $by -- all"]
GAME_TYPES = ("chameleon", "undercover", "cost_sharing", "public_good")


CONDITIONS = (
    "role = 'civilian' OR model IS NULL",
    "NOT (side = 'hidden' AND model <> 'm')",
    "model IN ('m', 'O''Neil; $by -- all')",
    "is_tested IS DISTINCT FROM TRUE OR game_index < 20",
    "competition LIKE '%a%' AND topic IS NULL",
    "n_players BETWEEN -1 AND 3 OR multiplier >= 1.5",
)


@st.composite
def questions(draw: st.DrawFn, edition: str, tables: dict[str, pl.DataFrame]) -> dict[str, object]:
    """What `metrics` can be asked of the tables in an edition."""
    tested = tables["results"].filter("is_tested")["model"]
    known = [model for model in MODELS if model in tested]
    named = st.lists(st.sampled_from(known)) if known else st.just([])
    by = draw(st.sampled_from(GROUPINGS[edition]))
    game_types = ("all", *GAME_TYPES) if "game_type" in by else GAME_TYPES
    return {
        "edition": edition,
        "by": by,
        "model": draw(st.none() | named),
        "game_type": draw(st.none() | st.lists(st.sampled_from(game_types))),
        "num_of_game": draw(st.integers(1, 30)) if edition == RELEASE else DEFAULT_N_GAMES,
        "where": None if edition == RELEASE else draw(st.none() | st.sampled_from(CONDITIONS)),
    }


def _told(lake: StoredLake, **question) -> pl.DataFrame:
    """The answer, what is found by subtraction to fewer places: float sums differ in their last."""
    return metrics(lake, **question).with_columns(
        pl.col("ci_low", "ci_high", "effective_items").round_sig_figs(9)
    )


def both(tables: dict[str, pl.DataFrame], **question) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The answers of SQL and of polars, whose tables are in another order and in several files."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        return (
            _told(lake_of(Path(one), tables), engine="duckdb", **question),
            _told(lake_of(Path(other), shuffled(tables, 1), 3), engine="polars", **question),
        )


@pytest.mark.parametrize(
    "edition", [PAPER, *(pytest.param(one, marks=pytest.mark.slow) for one in (RELEASE, AUDITED))]
)
@FEW
@given(data=st.data(), tables=event_tables())
def test_engines_agree(edition, data, tables):
    assert_same(*both(tables, **data.draw(questions(edition, tables))))


@pytest.mark.parametrize("edition", IN_RANDOM_TABLES)
def test_engines_agree_on_many_games(edition):
    """The few random tables below can miss a metric; these have hits and misses of each term."""
    assert_same(*both(TABLES, edition=edition, by=("model", "game_type")))


@pytest.mark.parametrize(("edition", "name"), [(e, n) for e in EDITIONS for n in metric_names(e)])
def test_random_tables_tell_hits_from_misses(edition, name):
    """Otherwise the test above would pass if one writing of the metric swaps hits and misses."""
    # Hits of a model are null in the release if one of them is unknown, so each has only one game.
    by = ("model", "game_type") if edition == RELEASE else ("game_id",)
    values = metrics(
        Frames(MODEL_FOR_EACH_GAME), metric=name, edition=edition, by=by, confidence=None
    )
    terms = values.select(pl.col("terms").explode()).unnest("terms").filter(pl.col("counted") > 0)
    told_apart = terms.filter(pl.col("hits") != pl.col("counted") - pl.col("hits"))["term"].unique()
    missing = {term.name for term in metric_spec(name, edition).terms} - {*told_apart}
    assert not missing, (
        f"no row of tests/random_tables.py is a hit or a miss of {sorted(missing)}: let `EVENTS` "
        "there draw rows that the metric counts"
    )


# ---------------------------------------------------------------- the views


@pytest.fixture(scope="module")
def of_cases(tmp_path_factory):
    """A lake of the hand-worked cases of all metrics."""
    cases = {name: import_module(f"cases.{name}").TABLES for name in NAMES}
    return lake_of(tmp_path_factory.mktemp("cases"), stacked(cases))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("edition", [PAPER, AUDITED])
def test_games_of_one_type_have_the_values_of_that_type(edition, engine, of_cases):
    """Whether game_type is grouped by, or one is all that is asked for."""
    asked = {"edition": edition, "engine": engine}
    by_type = metrics(of_cases, **asked)
    for game_type in ("chameleon", "public_good"):
        found = metrics(of_cases, by=["model"], game_type=[game_type], **asked)
        expected = by_type.filter(game_type=game_type).drop("game_type")
        keys = ["metric", "model"]
        assert_same(found.join(expected, on=keys, how="semi", nulls_equal=True), expected)
        # Models without a game of the metric's types have a row of none.
        others = found.join(expected, on=keys, how="anti", nulls_equal=True)
        assert others["reason"].str.starts_with("nothing to count").all()


@pytest.mark.parametrize("engine", ENGINES)
def test_what_only_one_type_has_leads_to_the_values_of_each(engine, tmp_path):
    tables = import_module("cases.rationality").TABLES
    lake = lake_of(tmp_path, tables)
    asked = {"metric": "rationality", "engine": engine}
    hint = (
        "; also group by game_type to get the value of each type"
        "; `magic metrics --format json` shows each term in `terms`"
    )
    (reason,) = metrics(lake, by=["multiplier"], model="solo", **asked)["reason"]
    assert reason == f"nothing to count: betrayals{hint}"
    (result,) = metrics(lake, by=["multiplier", "game_type"], model="solo", **asked).filter(
        game_type="public_good"
    )["value"]
    (alone,) = metrics(lake, by=["multiplier"], model="solo", game_type="public_good", **asked)[
        "value"
    ]
    assert alone == result == 1
    (of_model,) = metrics(lake, by=["model"], model="solo", **asked)["reason"]
    assert of_model == "nothing to count: betrayals"


EVIDENCE = (
    "term",
    "game_id",
    "model",
    "seat",
    "round",
    "message_index",
    "parse_status",
    "what",
    "hit",
)


every_view = cache(metric_views)


def asked(lake: StoredLake, *queries: str) -> list[pl.DataFrame]:
    """The queries' results, over the metrics' views."""
    with connect(lake, every_view(), "\n".join(queries)) as connection:
        return [run_query(connection, one) for one in queries]


@pytest.fixture(scope="module")
def many_games(tmp_path_factory):
    """Hits and misses of each term: see test_random_tables_tell_hits_from_misses."""
    return lake_of(tmp_path_factory.mktemp("many"), TABLES)


@pytest.mark.parametrize("edition", IN_RANDOM_TABLES)
def test_views_and_evidence_are_a_second_opinion_on_the_values(edition, many_games):
    check_views(many_games, edition)


@pytest.mark.slow
@FEW
@given(edition=st.sampled_from(EDITIONS), tables=event_tables())
def test_views_and_evidence_of_any_lake(edition, tables):
    assume(tables["results"].height)  # which say what groups there are
    with tempfile.TemporaryDirectory() as folder:
        check_views(lake_of(Path(folder), tables), edition)


@pytest.mark.slow
@pytest.mark.parametrize("edition", EDITIONS)
def test_views_and_evidence_of_the_public_games(edition, public_lake):
    check_views(public_lake, edition)


def check_views(lake: StoredLake, edition: str) -> None:
    """The views of values, terms and evidence have what `metrics` and its rows have."""
    names = metric_names(edition)
    values = metrics(lake, edition=edition, confidence=None)
    selected = {
        "": "*",
        "terms": "model, game_type, term, hits, counted, value",
        "evidence": ", ".join(EVIDENCE),
    }
    queries = [
        f"SELECT {columns} FROM {qualified_view_name(schema, edition, name)}"
        for schema, columns in selected.items()
        for name in names
    ]
    found = iter(asked(lake, *queries))
    check_values({name: next(found) for name in names}, values)
    for name in names:
        check_terms(next(found), values.filter(metric=name))
    request = Request(edition=edition, by=("model",))
    for name in names:
        rows = metric_rows(metric_spec(name, edition), lake.table, request).filter("is_counted")
        evidence, by_polars = next(found), rows.select(EVIDENCE).collect()
        assert_same(*(one.sort(pl.all(), nulls_last=True) for one in (evidence, by_polars)))
        check_sums(evidence, values.filter(metric=name, game_type="all"), edition)


def check_values(views: dict[str, pl.DataFrame], values: pl.DataFrame) -> None:
    """Each row of a view is one of `metrics`; what `metrics` has a value for is in the view."""
    keys, numbers = ["metric", "model", "game_type"], ["value", "hits", "counted", "n_games"]
    parts = [rows.with_columns(metric=pl.lit(name)) for name, rows in views.items()]
    view = pl.concat([rows.select(*keys, *numbers) for rows in parts], how="vertical_relaxed")
    shown = values.join(view, on=keys, how="semi", nulls_equal=True).select(view.columns)
    assert_same(*(one.sort(keys, nulls_last=True) for one in (view, shown)))
    assert values.join(view, on=keys, how="anti", nulls_equal=True)["value"].is_null().all()


def check_terms(terms: pl.DataFrame, values: pl.DataFrame) -> None:
    """Python and SQL have the same hits, denominator and value for each term with any row."""
    keys = ["model", "game_type", "term"]
    # A model without any row of a metric has no row in its view.
    expected = values.filter(pl.col("n_games") > 0).select(*keys[:2], "terms")
    expected = expected.explode("terms").unnest("terms").filter(pl.col("counted") > 0)
    shown = terms.join(values, on=keys[:2], how="semi", nulls_equal=True)
    assert_same(
        *(one.sort(keys, nulls_last=True) for one in (shown, expected.select(terms.columns)))
    )


def check_sums(evidence: pl.DataFrame, values: pl.DataFrame, edition: str) -> None:
    """The rows behind the values come to their hits and counts; where a hit is unknown, none do."""
    keys = ["model", "term"]
    terms = values.select("model", "terms").explode("terms").unnest("terms").drop_nulls("hits")
    sums = evidence.group_by(keys).agg(hits=pl.col("hit").sum(), counted=pl.len().cast(pl.Int64))
    shown = terms.select(keys).join(sums, on=keys, how="left", nulls_equal=True).fill_null(0)
    (name,) = values["metric"].unique()
    is_fixed = any(term.fixed_count for term in metric_spec(name, edition).terms)
    compared = [*keys, "hits", *([] if is_fixed else ["counted"])]
    assert_same(*(one.select(compared).sort(keys, nulls_last=True) for one in (shown, terms)))


@FEW
@given(tables=event_tables())
def test_what_is_unknown_has_no_word(tables):
    """A game without a guess was not "guessed wrong": in no engine, also in rows not counted."""
    words = ("agreed", "not agreed", "own proposal", "other proposal", "won", "lost", "least")
    words += ("not least", "guessed right", "guessed wrong")
    with tempfile.TemporaryDirectory() as folder:
        lake = lake_of(Path(folder), tables)
        request = Request(edition=PAPER, by=("model",))
        columns = ["game_id", "term", "what", "hit", "is_counted"]
        selected = ", ".join(columns)
        by_sql = asked(
            lake,
            *(
                f"SELECT {selected} FROM ({metric_rows_select(name, PAPER)})"
                for name in metric_names(PAPER)
            ),
        )
        for name, sql in zip(metric_names(PAPER), by_sql, strict=True):
            polars = (
                metric_rows(metric_spec(name, PAPER), lake.table, request).select(columns).collect()
            )
            for found in (polars, sql):
                assert found.filter(pl.col("hit").is_null(), pl.col("what").is_in(words)).is_empty()
            assert_same(*(one.sort(pl.all(), nulls_last=True) for one in (sql, polars)))


@pytest.mark.slow
def test_no_view_holds_two_editions_and_unions_hold_every_metric(of_cases):
    for edition in EDITIONS:
        every = {(name, edition) for name in metric_names(edition)}
        found: dict[str, dict[str, set[tuple[str, str]]]] = {}
        of_views = list(
            product(("attempts", "evidence", "terms"), ("metrics", *metric_names(edition)))
        )
        selected = (
            f"SELECT DISTINCT metric, edition FROM {qualified_view_name(schema, edition, of)}"
            for schema, of in of_views
        )
        for (schema, of), pairs in zip(of_views, asked(of_cases, *selected), strict=True):
            found.setdefault(schema, {})[of] = set(pairs.iter_rows())
        assert found["attempts"]["metrics"] == every
        assert found["evidence"] == found["terms"]
        for of_name in found.values():
            assert of_name.pop("metrics") <= every
            assert all(of <= {(name, edition)} for name, of in of_name.items())


@pytest.mark.parametrize(
    ("edition", "counted"),
    [(PAPER, {"undercover": 3, "all": 3}), (RELEASE, {"all": 5})],
)
def test_votes_count_where_the_lake_has_a_role_that_is_sought(edition, counted, tmp_path):
    """Whatever is declared since: the release edition alone asks no roles."""
    is_other = pl.col("game_type") != "chameleon"
    roles = registered_roles().with_columns(is_sought=pl.col("is_sought") & is_other)
    lake = lake_of(tmp_path, VOTES | {"roles": roles})
    for engine in ENGINES:
        values = metrics(lake, metric="judgement", model="m", edition=edition, engine=engine)
        found = dict(
            values.select(
                "game_type",
                pl.col("terms").list.eval(pl.element().struct.field("counted")).list.sum(),
            ).rows()
        )
        assert {name: n for name, n in found.items() if n} == counted, engine
