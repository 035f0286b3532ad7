"""A lake that an older version of magic wrote opens, and gives the same numbers as a new one.

`older/version_8.tar.zst` is the sample as the version before several systems in a lake ingested it:
it has no table of roles, and lacks columns of games and players.
"""

import tarfile
from pathlib import Path

import polars as pl
import pytest
import zstandard
from event_tables import ENGINES, assert_same

import pipeline
from pipeline.errors import LakeError
from pipeline.events.contracts import TABLES, VERSION
from pipeline.ingest import ingest
from pipeline.lake.maintain import maintain
from pipeline.verify import verify
from pipeline.vocabulary import EDITIONS

TOP = Path(__file__).parents[2]
SAMPLE = TOP / "data" / "sample" / "results"
NEW_TABLES = {"roles", "transfers", "abilities", "eliminations"}


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("older") / "lake"
    archive = Path(__file__).parent / "older" / "version_8.tar.zst"
    with (
        archive.open("rb") as packed,
        zstandard.ZstdDecompressor().stream_reader(packed) as data,
        tarfile.open(fileobj=data, mode="r|") as tar,
    ):
        tar.extractall(lake, filter="data")
    return lake


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("newer") / "lake"
    ingest(SAMPLE, lake)
    return lake


@pytest.mark.some(2)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("engine", ENGINES)
def test_metrics(older: Path, newer: Path, edition, engine) -> None:
    asked = {"edition": edition, "engine": engine}
    one, other = (pipeline.open_lake(lake).metrics(**asked) for lake in (older, newer))
    assert_same(one, other)
    assert one["value"].is_not_null().sum() > 20


@pytest.mark.slow
def test_what_is_made_of_metrics(older: Path, newer: Path) -> None:
    one, other = (pipeline.open_lake(lake) for lake in (older, newer))
    assert_same(one.leaderboard(), other.leaderboard())
    assert_same(one.compare(), other.compare())
    assert_same(one.completeness(), other.completeness())
    for view in ("judgement", "deception", "terms.win_rate", "evidence.reasoning"):
        both = [lake.sql(f"FROM {view} ORDER BY ALL") for lake in (one, other)]
        assert_same(*both)
        assert both[0].height > 0


def test_every_table_has_the_columns_of_its_contract(older: Path) -> None:
    lake = pipeline.open_lake(older)
    lacking = {table for table in TABLES if table not in lake.own_tables}
    assert lacking >= NEW_TABLES
    for table in TABLES:
        rows = lake.table(table).collect()
        assert_same(lake.sql(f"FROM {table} ORDER BY ALL"), rows.sort(pl.all(), nulls_last=True))
        assert (table in lacking - {"roles"}) <= rows.is_empty(), table
    assert lake.table("games").collect()["ended_by"].is_null().all()
    assert lake.table("players").collect()["is_bot"].is_null().all()


def test_it_is_undamaged(older: Path) -> None:
    assert verify(older).faults.rows() == []


def test_a_transcript(older: Path) -> None:
    lake = pipeline.open_lake(older)
    for game in lake.games(limit=3)["game_id"]:
        assert len(lake.game(game).text.splitlines()) > 20


@pytest.mark.parametrize("change", [lambda lake: ingest(SAMPLE, lake), maintain])
def test_it_is_not_written_to(older: Path, change) -> None:
    before = {file: file.stat().st_mtime_ns for file in older.rglob("*.parquet")}
    with pytest.raises(LakeError, match=f"version 8.*writes only {VERSION}"):
        change(older)
    assert {file: file.stat().st_mtime_ns for file in older.rglob("*.parquet")} == before
