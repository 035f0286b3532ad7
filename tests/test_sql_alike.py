"""`magic sql`, `Lake.sql` and a plain DuckDB on `magic.duckdb` give the same to the same query."""

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest
from event_tables import assert_same
from rawlogs import chatarena, encode, prisoners_dilemma, write_logs

import pipeline
from pipeline.api import Lake
from pipeline.catalog import rebuild_catalog
from pipeline.cli import main
from pipeline.errors import LakeError
from pipeline.ingest import ingest
from pipeline.lake import open_or_create_lake
from pipeline.lake.tables import CATALOG_FILE_NAME
from pipeline.metrics.row_queries import ALL_METRICS_VIEW, LEADERBOARD_VIEW, qualified_view_name
from pipeline.reports.sql_views import views_computed_by_python
from pipeline.simulate import simulate
from pipeline.vocabulary import EDITIONS
from pipeline.warehouse import connect, run_query
from pipeline.warehouse.statements import ComputedView, to_polars_without_decimals

# A name that JSON and SQL have to quote.
ODD = """it's "Zoë's" \\ 7B\n\U0001f600"""
QUERIES = {
    **{f"all of {name}": f"FROM {name}" for name in views_computed_by_python()},
    "columns of metrics": "DESCRIBE metrics",
    "a term": "SELECT metric, unnest(terms, recursive := true) FROM audited.metrics ORDER BY ALL",
    "a join": """SELECT metrics.model, rank, sum(metrics.counted)::BIGINT AS counted, avg(value)
        FROM metrics JOIN leaderboard ON metrics.model = leaderboard.model
        WHERE game_type = 'all' GROUP BY ALL ORDER BY ALL""",
    "a metric in SQL": "FROM judgement ORDER BY ALL",
    "evidence audited": "FROM evidence_audited.reasoning ORDER BY ALL",
    "terms": "FROM terms_release.metrics ORDER BY ALL",
    "attempts": "FROM attempts.deception ORDER BY ALL",
    "settings": "FROM settings ORDER BY ALL",
    "audit": "FROM audit.stated_votes ORDER BY ALL",
}


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of all game types, and of an unfinished game."""
    top = tmp_path_factory.mktemp("alike")
    simulate(top / "logs", models=2, games=1, seed=2)
    ingest(top / "logs", top / "lake")
    more = write_logs(top / "more", "unused")
    (more / "talk.json").write_bytes(encode(chatarena(ending="right")))
    (more / "cut.json").write_bytes(encode(prisoners_dilemma() | {"result": None}))
    ingest(more, top / "lake", model=ODD)
    return top / "lake"


@pytest.fixture(scope="session")
def catalogued(place: Path) -> Path:
    """The lake with its catalogue."""
    rebuild_catalog(place)
    return place


@pytest.fixture(scope="session")
def lake(place: Path) -> Lake:
    return pipeline.open_lake(place)


def by_duckdb(place: Path, asked: str) -> pl.DataFrame:
    """The result by a plain DuckDB, which knows nothing of this package."""
    with duckdb.connect(place / CATALOG_FILE_NAME, read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return to_polars_without_decimals(connection.sql(asked))


@pytest.mark.slow
@pytest.mark.usefixtures("queries_here")
@pytest.mark.parametrize("asked", QUERIES)
def test_a_lake_its_catalogue_and_the_command_give_the_same(
    lake: Lake, catalogued: Path, asked: str, tmp_path: Path
) -> None:
    found = lake.sql(QUERIES[asked])
    assert found.height
    assert_same(found, by_duckdb(catalogued, QUERIES[asked]))
    file = tmp_path / "rows.parquet"
    assert main(["sql", QUERIES[asked], "--lake", str(catalogued), "-o", str(file)]) == 0
    assert_same(pl.read_parquet(file), found)


def apart(lake: Lake, rows: Callable[[Lake], pl.DataFrame]) -> pl.DataFrame:
    """What Python gives for each system of the lake, with the system in front."""
    return pl.concat(
        rows(one).select("system", pl.exclude("system")) for one in lake.split_by_system()
    )


@pytest.mark.some(1)
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_values_are_those_of_python(lake: Lake, edition: str) -> None:
    """Of which there is one definition."""
    metrics = lake.sql(f"FROM {qualified_view_name('', edition, ALL_METRICS_VIEW)}")
    of_python = apart(lake, lambda one: one.metrics(edition=edition))
    assert_same(metrics, of_python.select(metrics.columns))
    assert metrics["ci_low"].count()
    assert metrics["small_sample_terms"].list.len().sum()
    assert ODD in metrics["model"].to_list()
    board = lake.sql(f"FROM {qualified_view_name('', edition, LEADERBOARD_VIEW)}")
    of_python = apart(lake, lambda one: one.leaderboard(edition=edition))
    assert_same(board, of_python.select(board.columns))


@pytest.mark.slow
def test_a_lake_without_a_game_has_the_same_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "pipeline.catalog.all_views", views_computed_by_python
    )  # to make the others takes long
    open_or_create_lake(tmp_path / "lake")
    empty = pipeline.open_lake(tmp_path / "lake")
    rebuild_catalog(tmp_path / "lake")
    for edition in EDITIONS:
        for name in (
            qualified_view_name("", edition, ALL_METRICS_VIEW),
            qualified_view_name("", edition, LEADERBOARD_VIEW),
        ):
            found = empty.sql(f"FROM {name}")
            assert_same(found, by_duckdb(tmp_path / "lake", f"FROM {name}"))
            assert found.schema == views_computed_by_python()[name].schema
            assert found.is_empty()


def test_any_text_and_number_arrives(lake: Lake) -> None:
    rows = pl.DataFrame(
        {
            "text": [ODD, "\x00\x1b[31m\u2028", "null", "", "2020-01-01", None],
            "texts": [['"', None], [], None, ["\x00"], ["[]"], ["null"]],
            "number": [0.1 + 0.2, 1e300, 5e-324, None, -0.0, 1 / 3],
            "whole": [2**62, -(2**63), 0, None, 2**53 + 1, 1],
            "is_it": [True, None, False, True, False, None],
        }
    )
    for given in (rows, rows.clear()):
        odd = ComputedView(lambda _, given=given: given, rows.schema, "a row", {})
        with connect(lake, {"odd": odd}, "odd") as connection:
            assert_same(run_query(connection, "FROM odd"), given)


def test_a_damaged_lake_is_reported_as_such(place: Path, tmp_path: Path) -> None:
    damaged = pipeline.open_lake(shutil.copytree(place, tmp_path / "lake"))
    (file, *_) = (tmp_path / "lake" / "votes").glob("*.parquet")
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(LakeError, match=r"cannot be read: .*PAR1.*run `magic verify`"):
        damaged.sql("SELECT avg(value) FROM metrics")
