"""SQL equals polars: on random tables, in what is declared, and in the views that SQL offers."""

import tempfile
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest
from event_tables import ENGINES, ODD, assert_same, lake_of, stacked
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_tables import event_tables, shuffled

from pipeline.lake import Lake
from pipeline.metrics import NAMES, metric, metrics
from pipeline.metrics.compute import rows
from pipeline.metrics.request import AUDITED, DEFAULT_GAMES, EDITIONS, PAPER, RELEASE, Request
from pipeline.metrics.sql import file_of, sql_metric, views
from pipeline.sqlfiles import header
from pipeline.warehouse import connect, query

# All eight metrics are asked of each example, by both engines.
FEW = settings(
    max_examples=max(3, settings.default.max_examples // 6),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
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
MODELS = ["m", ODD, "O'Neil; $by -- all"]
GAME_TYPES = ("chameleon", "undercover", "cost_sharing", "public_good")


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
        "models": draw(st.none() | named),
        "game_types": draw(st.none() | st.lists(st.sampled_from(game_types))),
        "num_of_game": draw(st.integers(1, 30)) if edition == RELEASE else DEFAULT_GAMES,
    }


def _told(lake: Lake, **question) -> pl.DataFrame:
    """The answer, what is found by subtraction to fewer places: float sums differ in their last."""
    return metrics(lake, **question).with_columns(
        pl.col("ci_low", "ci_high", "n_eff").round_sig_figs(9)
    )


def both(tables: dict[str, pl.DataFrame], **question) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The answers of SQL and of polars, whose tables are in another order and in several files."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        return (
            _told(lake_of(Path(one), tables), engine="duckdb", **question),
            _told(lake_of(Path(other), shuffled(tables, 1), 3), engine="polars", **question),
        )


@pytest.mark.parametrize("edition", EDITIONS)
@FEW
@given(data=st.data(), tables=event_tables())
def test_engines_agree(edition, data, tables):
    assert_same(*both(tables, **data.draw(questions(edition, tables))))


@FEW
@given(tables=event_tables(), by=st.sampled_from([("kind",), ("game_type", "kind")]))
def test_engines_agree_by_a_column_of_one_metric(tables, by):
    assert_same(*both(tables, names=["reasoning"], by=by))


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", NAMES)
def test_declarations_agree(name, edition):
    of_polars, of_sql = metric(name, edition), sql_metric(name, edition)
    assert str(of_polars.combine) == of_sql.combine
    assert [(term.name, term.game_types) for term in of_polars.terms] == [
        (term, game_types) for term, _, game_types, _ in of_sql.terms
    ]
    told = header(file_of(name, edition))
    assert told["metric"] == [name]
    assert told["edition"] == [edition] or edition == AUDITED
    assert told["range"] == [f"{of_polars.low:.2g}..{of_polars.high:.3g}"]


# ---------------------------------------------------------------- the views


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("edition", [PAPER, AUDITED])
def test_games_of_one_type_have_the_values_of_that_type(edition, engine, tmp_path):
    """Whether game_type is grouped by, or one is all that is asked for."""
    lake = lake_of(
        tmp_path, stacked({name: import_module(f"cases.{name}").TABLES for name in NAMES})
    )
    asked = {"edition": edition, "engine": engine}
    by_type = metrics(lake, **asked)
    for game_type in GAME_TYPES:
        found = metrics(lake, by=["model"], game_types=[game_type], **asked)
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
    asked = {"names": ["rationality"], "engine": engine}
    hint = (
        "; group by game_type too, to have the value of each type"
        "; `magic metrics --format json` has each term, in `terms`"
    )
    (reason,) = metrics(lake, by=["multiplier"], models=["solo"], **asked)["reason"]
    assert reason == f"nothing to count: betrayals{hint}"
    (told,) = metrics(lake, by=["multiplier", "game_type"], models=["solo"], **asked).filter(
        game_type="public_good"
    )["value"]
    (alone,) = metrics(
        lake, by=["multiplier"], models=["solo"], game_types=["public_good"], **asked
    )["value"]
    assert alone == told == 1
    (of_model,) = metrics(lake, by=["model"], models=["solo"], **asked)["reason"]
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


def views_of(lake: Lake, *queries: str) -> list[pl.DataFrame]:
    """The queries' results, over the metrics' views."""
    with connect(lake, views(NAMES), "\n".join(queries)) as connection:
        return [query(connection, text) for text in queries]


def terms_of(values: pl.DataFrame, name: str, *by: str) -> pl.DataFrame:
    """The metric's hits and counts by group and term."""
    told = values.filter(metric=name).select(*by, "terms")
    return told.explode("terms").unnest("terms").select(*by, "term", "hits", "counted")


@pytest.mark.parametrize("edition", EDITIONS)
@FEW
@given(tables=event_tables())
def test_evidence_is_the_rows_that_were_counted(edition, tables):
    """The same rows in both engines, and their sums are the hits and counts of the metrics."""
    request = Request(edition=edition, by=("model",))
    told = [sql_metric(name, edition).view for name in NAMES]
    columns = ", ".join(EVIDENCE)
    with tempfile.TemporaryDirectory() as folder:
        lake = lake_of(Path(folder), tables)
        values = metrics(lake, edition=edition, by=request.by)
        found = views_of(
            lake, *(f"SELECT {columns} FROM {view}_evidence ORDER BY ALL" for view in told)
        )
        for name, evidence in zip(NAMES, found, strict=True):
            counted = rows(metric(name, edition), lake.table, request).filter("is_counted")
            polars = counted.select(EVIDENCE).sort(pl.all(), nulls_last=True).collect()
            assert_same(evidence, polars)
            expected = terms_of(values, name, "model")
            sums = evidence.group_by("model", "term").agg(
                hits=pl.col("hit").sum(), counted=pl.len().cast(pl.Int64)
            )
            keys = ["model", "term"]
            shown = expected.select(keys).join(sums, on=keys, how="left", nulls_equal=True)
            is_fixed = any(term.fixed_count for term in metric(name, edition).terms)
            compared = [*keys, "hits", *([] if is_fixed else ["counted"])]
            assert_same(
                shown.fill_null(0).select(compared).sort(keys),
                expected.select(compared).sort(keys),
            )


@pytest.mark.parametrize("edition", EDITIONS)
def test_views_give_the_same_as_metrics(edition, tmp_path):
    lake = lake_of(
        tmp_path, stacked({name: import_module(f"cases.{name}").TABLES for name in NAMES})
    )
    values = metrics(lake, edition=edition, confidence=None)
    all_metrics = "metrics" if edition == PAPER else f"metrics_{edition}"
    by = ["model", "game_type"]
    view, *by_term = views_of(
        lake,
        f"SELECT * FROM {all_metrics} ORDER BY ALL",
        *(
            f"SELECT model, game_type, term, hits, counted FROM {sql_metric(name, edition).view}"
            "_by_term ORDER BY ALL"
            for name in NAMES
        ),
    )
    everything = pl.all()
    assert_same(view, values.drop("terms").sort(everything, nulls_last=True))
    for name, found in zip(NAMES, by_term, strict=True):
        assert_same(found, terms_of(values, name, *by).sort(everything, nulls_last=True))
