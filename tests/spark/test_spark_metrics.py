"""The metrics on Spark, from the SQL that DuckDB runs: equal to both other engines."""

import shutil
from pathlib import Path

import polars as pl
import pytest
from event_tables import ENGINES, ODD, assert_same, lake_of
from failed_games import GAMES, ingested
from joined_logs import NAMES, other_logs

from pipeline.cli import main
from pipeline.errors import LakeError, QueryError
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.metrics import NAMES as METRICS, metrics
from pipeline.metrics.evidence import evidence
from pipeline.metrics.row_queries import metric_views
from pipeline.spark import SparkViews, view_name_without_schema
from pipeline.sql_files import SqlView
from pipeline.vocabulary import EDITIONS, PAPER
from pipeline.warehouse import connect, run_query

pytestmark = pytest.mark.slow

NAMED = ("judgement/m", f"judgement/{ODD}", r"O'Neil\'; --/m")  # the last is of conftest's `QUOTED`
# Of two metrics each, since Spark takes its time; together of all.
QUESTIONS = {
    "release of fewer games": {
        "metric": ["deception", "self_awareness"],
        "edition": "release",
        "num_of_game": 2,
        "by": ["model"],
    },
    "of all": {"metric": ["win_rate", "reasoning"], "by": []},
    "by setting": {
        "metric": ["coordination", "win_rate"],
        "by": ["game_type", "setting_id"],
        "game_type": ["all", "cost_sharing", "chameleon"],
    },
    "by a seat's column": {"metric": ["cooperation", "rationality"], "by": ["round"]},
    "of some": {
        "metric": ["judgement", "win_rate"],
        "model": NAMED,
        "game_type": ["undercover"],
        "by": ["model", "role"],
    },
    "of one type": {
        "metric": ["deception", "rationality"],
        "by": ["model"],
        "game_type": ["undercover"],
    },
    "of none": {"metric": ["judgement", "reasoning"], "model": []},
    "with intervals": {"metric": ["judgement", "rationality"], "confidence": 0.9},
}


def assert_engines_agree(lake, *, confidence=None, **question):
    """Without intervals unless asked for, which take Spark as long again."""
    found = metrics(lake, engine="spark", confidence=confidence, **question)
    for engine in ENGINES:
        assert_same(found, metrics(lake, engine=engine, confidence=confidence, **question))


@pytest.mark.long
@pytest.mark.parametrize("edition", EDITIONS)
def test_cases(edition, spark, case_lake):
    assert_engines_agree(case_lake, edition=edition)


@pytest.mark.long
@pytest.mark.parametrize("question", QUESTIONS)
def test_questions(question, spark, case_lake):
    assert_engines_agree(case_lake, **QUESTIONS[question])


@pytest.mark.parametrize(
    "edition",
    [pytest.param(one, marks=[pytest.mark.long] if one != PAPER else []) for one in EDITIONS],
)
def test_public_games(edition, spark, public_lake):
    assert_engines_agree(public_lake, edition=edition)


# The sample has no game with several rounds of players who leave, and no two names that look alike.
WITHOUT_ROWS = {
    "fallback_models",
    *("shared.alike_names", "shared.ended_by_players_left", "shared.ended_by_quests"),
    *("audit.acts_after_out", "audit.overspending", "audit.players_out", "audit.quests"),
}


@pytest.mark.long
def test_every_view_and_table(spark, sample_lake):
    """A view and the tables that it is made of have the same rows in DuckDB and on Spark.

    Of the views of rows and terms, which are alike for all metrics, those of one metric; and of
    terms those of the metric with fixed denominators.
    """
    of_rows = ("attempts", "evidence", "terms")
    of_win_rate = ("attempts", "terms", "attempts_release", "terms_release")
    tried = [f"{schema}.win_rate" for schema in of_win_rate]
    made = {
        name: view
        for name, view in metric_views().items()
        if not name.startswith(of_rows)
        or name in tried
        or name.endswith((".judgement", ".deception"))
    }
    on_spark = SparkViews(spark, sample_lake, made)
    with connect(sample_lake, made) as connection:
        for name in made:
            select = f"SELECT * FROM {name}"
            of_spark, of_duckdb = on_spark.run_query(select), run_query(connection, select)
            assert bool(of_spark.height) is (name not in WITHOUT_ROWS), name
            # Those made of it need not plan it again, which takes longer than all else.
            rows = on_spark.session.createDataFrame(of_spark.to_arrow())
            rows.createOrReplaceTempView(view_name_without_schema(name))
            assert_same(*(rows.sort(pl.all(), nulls_last=True) for rows in (of_spark, of_duckdb)))


EVIDENCE = {
    "misses": {"hit": False},
    "of all": {},
    "not clear": {"unclear": True},
    "the first": {"limit": 3},
    "of some": {"model": NAMED, "game_type": "undercover"},
}


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("judgement", "misses"),
        *(
            pytest.param("judgement", one, marks=pytest.mark.long)
            for one in ("not clear", "the first", "of some")
        ),
        *(pytest.param(name, "of all", marks=pytest.mark.long) for name in METRICS),
    ],
)
def test_evidence(name, asked, spark, case_lake):
    found = evidence(case_lake, name, engine="spark", **EVIDENCE[asked])
    for engine in ENGINES:
        assert_same(found, evidence(case_lake, name, engine=engine, **EVIDENCE[asked]))


def test_names_that_are_joined(spark, tmp_path):
    """Seats that were called differently are one side: as the other engines count them."""
    other_logs(tmp_path / "logs")
    ingest(tmp_path / "logs", tmp_path / "lake")
    lake = open_lake(tmp_path / "lake").with_names(NAMES)
    on_spark = SparkViews(spark, lake, {})
    for table in ("players", "results", "votes"):
        found, expected = on_spark.run_query(f"SELECT * FROM {table}"), lake.table(table).collect()
        assert_same(*(one.sort(pl.all(), nulls_last=True) for one in (found, expected)))
    assert_engines_agree(lake, metric=["win_rate", "judgement"], by=["model", "opponent"])


@pytest.mark.long
def test_games_that_a_model_failed(spark, tmp_path):
    """As losses: by the rule that the other engines run."""
    lake = ingested(tmp_path, GAMES).with_failures("loss")
    found = SparkViews(spark, lake, {}).run_query("SELECT * FROM results")
    expected = lake.table("results").collect()
    assert_same(*(one.sort(pl.all(), nulls_last=True) for one in (found, expected)))
    assert_engines_agree(lake, metric="win_rate", by=["model"])


def test_a_file_that_no_executor_can_read(spark, sample_lake, tmp_path):
    lake = lake_of(tmp_path, {"votes": sample_lake.table("votes").collect()})
    for file in lake.table_files("votes"):
        with open(file, "wb") as damaged:  # noqa: PTH123
            damaged.write(b"no Parquet at all, but for its end: PAR1")
    with pytest.raises(
        LakeError, match=r"^the table `votes` cannot be read: [^\n]*magic verify[^\n]*$"
    ):
        SparkViews(spark, lake, {}).run_query("SELECT count(DISTINCT model) FROM votes")


def test_a_file_that_is_gone(spark, sample_lake, tmp_path):
    """Spark says so before it computes anything."""
    shutil.copytree(str(sample_lake.path), tmp_path / "lake")
    lake = open_lake(tmp_path / "lake")
    (gone,) = lake.table_files("votes")
    Path(gone).unlink()
    with pytest.raises(
        LakeError, match=r"^a file of the table `votes` was deleted [^\n]*magic verify[^\n]*$"
    ):
        metrics(lake, engine="spark", metric="judgement", confidence=None)


def test_what_spark_cannot_plan(spark, sample_lake):
    with pytest.raises(QueryError, match=r"^Spark cannot compute this: [^\n]*nothing[^\n]*$"):
        SparkViews(
            spark, sample_lake, {"made": SqlView("SELECT nothing FROM votes", "", {})}
        ).run_query("FROM made")


def test_command(spark, sample_lake, capsys):
    """The same result and the same notes, with each engine."""
    asked, result = ["metrics", "--metric", "judgement"], []
    for engine in ("spark", "duckdb"):
        lake = ["--lake", str(sample_lake.path), "--format", "csv"]
        assert main([*asked, *lake, "--engine", engine]) == 0
        result.append(capsys.readouterr())
    assert result[0] == result[1]
    assert result[0].out
