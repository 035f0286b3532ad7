"""A lake that an older version of magic wrote opens, and gives the same numbers as a new one.

`older/version_9.tar.zst` is the sample as the version before players had a failure and a cost
ingested it: it lacks their columns, and is written to.
"""

import tarfile
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
import zstandard
from deltalake import DeltaTable
from event_tables import ENGINES, assert_same

import pipeline
from pipeline.cli import main
from pipeline.events.contracts import TABLES, VERSION
from pipeline.formats.interchange import EXAMPLE
from pipeline.ingest import ingest
from pipeline.lake.maintain import maintain
from pipeline.lake.tables import COMMITS_TABLE, VERSION_KEY, scan_files
from pipeline.lake.transaction import (
    RowMask,
    RowRemoval,
    Transaction,
    rewrite_files_with_removed_rows,
)
from pipeline.stores import parse_location
from pipeline.verify import verify


def unpacked(lake: Path) -> Path:
    archive = Path(__file__).parent / "older" / "version_9.tar.zst"
    with (
        archive.open("rb") as packed,
        zstandard.ZstdDecompressor().stream_reader(packed) as data,
        tarfile.open(fileobj=data, mode="r|") as tar,
    ):
        tar.extractall(lake, filter="data")
    return lake


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("older") / "lake")


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """One to be written to."""
    return unpacked(tmp_path / "lake")


def test_a_game_has_the_same_content_id(older: Path, sample_lake: Path) -> None:
    one, other = (
        pipeline.open_lake(lake).table("games").select("game_id", "content_id").collect()
        for lake in (older, sample_lake)
    )
    assert one.sort(pl.all()).equals(other.sort(pl.all())), (
        "content_id of the same game changed, so that duplicates of games in existing lakes would "
        "not be found: see what `content_id` in pipeline/events/readings.py hashes"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_metrics(older: Path, sample_lake: Path, engine) -> None:
    one, other = (pipeline.open_lake(lake).metrics(engine=engine) for lake in (older, sample_lake))
    # An older version read some votes' texts in another way, though the game's votes are the same.
    assert_same(one.drop("n_unreadable"), other.drop("n_unreadable"))
    assert one["value"].is_not_null().sum() > 20


@pytest.mark.slow
def test_every_table_has_the_columns_of_its_contract(older: Path) -> None:
    lake = pipeline.open_lake(older)
    for table in TABLES:
        rows = lake.table(table).collect()
        assert_same(lake.sql(f"FROM {table} ORDER BY ALL"), rows.sort(pl.all(), nulls_last=True))


def used(lake: pipeline.Lake) -> list[tuple[int, ...]]:
    """How many players there are, and how many cost something: by polars, and by DuckDB."""
    counts = pl.len().cast(pl.Int64), pl.col("cost", "failure").count().cast(pl.Int64)
    of_polars = lake.table("players").select(*counts).collect().row(0)
    return [
        of_polars,
        *lake.sql("SELECT count(*), count(cost), count(failure) FROM players").rows(),
    ]


def test_what_it_lacks_is_null(older: Path, sample_lake: Path) -> None:
    one, other = (pipeline.open_lake(lake) for lake in (older, sample_lake))
    assert used(one) == [(336, 0, 0)] * 2
    assert one.models().equals(other.models())


def another_game(lake: Path) -> Path:
    """A log of a game in which one player cost something."""
    file = lake.parent / "game.json"
    file.write_text(EXAMPLE.replace('"role": "seer"', '"role": "seer", "cost": 0.5'))
    return file


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ingest", "maintain"])
def test_the_version_before_is_written_to(
    before: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Players get their columns with the first change; an earlier state stays as it was.

    The user reads a note. Earlier versions count a row of `ingests` for each of its commits
    before they look at the contract version, and call the lake damaged if these differ.
    """
    source = [str(another_game(before))] if name == "ingest" else []
    for is_first in (True, False):
        assert main([name, *source, "--lake", str(before)]) == 0
        told = f"upgraded from 9 to {VERSION};" in capsys.readouterr().err
        assert told == is_first
        lake = pipeline.open_lake(before)
        assert lake.contract_version == str(VERSION)
        assert used(lake) == [(339, 1, 0) if name == "ingest" else (336, 0, 0)] * 2
        commits = DeltaTable(before / COMMITS_TABLE)
        assert commits.version() == commits.to_pyarrow_table().num_rows
        assert commits.metadata().configuration[VERSION_KEY] == str(VERSION)
    assert used(pipeline.open_lake(before, 1)) == [(336, 0, 0)] * 2
    assert verify(before).faults.is_empty()


@pytest.mark.slow
def test_a_column_can_be_null_that_could_not(before: Path) -> None:
    """One vote that nobody registered, and that its text does not decide. Each engine, and readers
    of the Delta log, count one null; the older votes are as they were."""
    n_votes = pipeline.open_lake(before).table("votes").collect().height
    undecided = EXAMPLE.replace("I vote for Wu.", "Hm.").replace(', "target": "Wu"', "")
    (before.parent / "game.json").write_text(undecided)
    ingest(before.parent / "game.json", before)
    lake = pipeline.open_lake(before)
    votes = lake.table("votes").select(pl.len(), pl.col("is_correct").null_count()).collect()
    sql = "SELECT count(*), count(*) - count(is_correct) FROM votes"
    assert votes.row(0) == lake.sql(sql).row(0)
    assert votes.row(0)[1] == 1
    assert votes.row(0)[0] > n_votes
    nullable = {one.name for one in lake.delta_table("votes").schema().fields if one.nullable}
    assert {"is_correct", "is_valid"} <= nullable
    assert verify(before).faults.is_empty()


@pytest.mark.slow
def test_many_commits_are_merged_with_the_upgrade(before: Path, monkeypatch) -> None:
    monkeypatch.setattr("pipeline.lake.maintain.MAX_COMMIT_FILES", 0)
    maintain(before)
    commits = DeltaTable(before / COMMITS_TABLE)
    assert (commits.version(), commits.to_pyarrow_table().num_rows) == (2, 2)
    assert verify(before).faults.is_empty()


@pytest.mark.parametrize("n_gone", [0, 1, 336])
def test_rows_are_taken_out_of_files_that_lack_columns(before: Path, n_gone: int) -> None:
    """As where the document of a game has changed."""
    place = parse_location(before / "players")
    rows = pipeline.open_lake(before).table("players").collect()
    gone = rows["game_id"].unique().sort()[:n_gone]

    def mask(columns: pa.Table) -> RowMask:
        return pl.DataFrame(columns)["game_id"].cast(pl.String).is_in(gone.implode()).to_numpy()

    files = [str(file) for file in (before / "players").glob("*.parquet")]
    changed, written = rewrite_files_with_removed_rows(
        place, "players", files, RowRemoval(("game_id",), mask)
    )
    kept = rows.filter(~pl.col("game_id").is_in(gone.implode()))
    assert bool(changed) == (n_gone > 0)
    assert sum(file.n_rows for file in written) == (kept.height if n_gone else 0)
    if written:
        names = [str(place / file.name) for file in written]
        assert_same(scan_files("players", names).collect(), kept)


@pytest.mark.slow
def test_a_change_that_is_killed_leaves_the_version_before(
    before: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the tables and the row that makes them visible: the next change begins anew."""
    commit = Transaction._commit_table

    def killed(change: Transaction, table: str) -> int:
        if table == COMMITS_TABLE:
            raise KeyboardInterrupt
        return commit(change, table)

    with monkeypatch.context() as patched:
        patched.setattr(Transaction, "_commit_table", killed)
        with pytest.raises(KeyboardInterrupt):
            ingest(another_game(before), before)
    assert used(pipeline.open_lake(before)) == [(336, 0, 0)] * 2
    ingest(another_game(before), before)
    assert used(pipeline.open_lake(before)) == [(339, 1, 0)] * 2
    assert verify(before).faults.is_empty()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_renamed_word_is_mapped_when_an_older_lake_is_read(
    older: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """As if `ok` and `gold` had other names now: nothing else of the tables changes."""

    def tables() -> dict[str, pl.DataFrame]:
        lake = pipeline.open_lake(older)
        names = ("votes", "role_analyses", "games")
        if engine == "duckdb":
            return {name: lake.sql(f"FROM {name} ORDER BY ALL") for name in names}
        return {name: lake.table(name).collect().sort(pl.all()) for name in names}

    monkeypatch.setattr("pipeline.lake.tables.RENAMED_VALUES", {})
    before = tables()
    renamed = {"parse_status": {"ok": "clear"}, "kind": {"gold": "true"}}
    monkeypatch.setattr("pipeline.lake.tables.RENAMED_VALUES", renamed)
    for name, rows in tables().items():
        words = {column: renamed[column] for column in renamed if column in rows.columns}
        expected = before[name].with_columns(pl.col(c).replace(w) for c, w in words.items())
        assert_same(rows.sort(pl.all()), expected.sort(pl.all()))
        assert name == "games" or not rows.equals(before[name])


def test_a_renamed_word_is_checked_by_its_new_name(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if `ok` had a name now that the contract does not know."""
    assert verify(older).faults.is_empty()
    monkeypatch.setattr("pipeline.lake.tables.RENAMED_VALUES", {"parse_status": {"ok": "clear"}})
    faults = verify(older).faults.filter(check="contract")
    assert "votes" in faults["table"].to_list()
