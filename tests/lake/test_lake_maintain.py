"""Upkeep changes which files hold the rows, and nothing else."""

import math
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lakes import check, parquet_files, rows, table
from rawlogs import encode, prisoners_dilemma
from test_archives import tar

from pipeline.errors import LakeError, UsageError
from pipeline.events.contracts import TABLES
from pipeline.ingest import ingest
from pipeline.lake import maintain as upkeep, open_lake
from pipeline.lake.files import TableWriter
from pipeline.lake.maintain import maintain
from pipeline.lake.tables import delete_stale_locks_and_find_writers, hold_writer_lock
from pipeline.lake.transaction import Transaction
from pipeline.stores import parse_location
from pipeline.verify import verify

DAY = 86_400
PROBE = "SELECT * FROM parquet_bloom_probe(?, 'game_id', ?)"


def age(lake: Path, days: float) -> None:
    """Makes every file of the lake look older."""
    for file in lake.rglob("*"):
        if file.is_file():
            os.utime(file, (time.time() - days * DAY,) * 2)


def n_files(lake: Path) -> dict[str, int]:
    opened = open_lake(lake)
    return {name: len(opened.table_files(name)) for name in TABLES if name != "ingests"}


def files_named(lake: Path) -> set[Path]:
    """The files that the lake's last state is made of."""
    opened = open_lake(lake)
    return {Path(file) for name in TABLES for file in opened.table_files(name)}


class Upkept(NamedTuple):
    """A lake after an upkeep, and what that and its rehearsal say of it; not to be written."""

    lake: Path
    done: pl.DataFrame
    rehearsed: pl.DataFrame


@pytest.fixture(scope="module")
def upkept(used_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Upkept:
    lake = shutil.copytree(used_lake, tmp_path_factory.mktemp("upkept") / "lake")
    lying = parquet_files(lake)
    rehearsed = maintain(lake, dry_run=True)
    assert parquet_files(lake) == lying
    assert open_lake(lake).ingest_id == 3
    done = maintain(lake)
    check(lake)
    return Upkept(lake, done, rehearsed)


def test_a_file_says_which_games_it_has_without_being_read(upkept: Upkept) -> None:
    """By a Bloom filter in each row group: it never denies a game that is there."""
    for file in open_lake(upkept.lake).table_files("messages"):
        games = pl.read_parquet(file, columns=["game_id"])["game_id"].unique().to_list()
        absent = [f"{number:032x}" for number in range(40)]
        excluded = {
            game: all(row[-1] for row in duckdb.execute(PROBE, [file, game]).fetchall())
            for game in (*games, *absent)
        }
        assert not any(excluded[game] for game in games)
        assert sum(excluded[game] for game in absent) > 36


def test_small_files_become_one(used_lake: Path, upkept: Upkept) -> None:
    lake, done, rehearsed = upkept
    # A rehearsal knows all but the bytes of what is not written yet.
    assert rehearsed.drop("bytes_after").equals(done.drop("bytes_after"))
    known = rehearsed["bytes_after"].is_not_null()
    assert rehearsed.filter(known)["bytes_after"].equals(done.filter(known)["bytes_after"])
    assert not known.all()
    assert rows(lake) == rows(used_lake)
    assert set(n_files(lake).values()) <= {0, 1}
    assert done["files_before"].sum() > done["files_after"].sum()
    assert done["files_deleted"].sum() == 0
    last = open_lake(lake).last_ingest
    assert (last["ingest_id"], last["n_documents"], last["sources"]) == (4, 0, [])
    # The files that they replace can be deleted at once.
    deleted = maintain(lake, keep_days=0, older_than_hours=0, dry_run=True)
    replaced = parquet_files(lake) - files_named(lake)
    found = deleted.filter(pl.col("files_deleted") > 0).select("table", "files_deleted")
    assert dict(found.iter_rows()) == Counter(file.parent.name for file in replaced)


@pytest.mark.slow
def test_many_archives_are_cut_into_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Archives have no game and no path; above a million of an ingest, `maintain` failed."""
    monkeypatch.setattr("pipeline.ingest.worker.LARGE_ARCHIVE_BYTES", 1)
    logs = tmp_path / "logs"
    logs.mkdir()
    for batch in range(2):
        for number in range(4):
            log = encode(prisoners_dilemma(model=f"m{batch}{number}"))
            (logs / f"{batch}-{number}.tar").write_bytes(tar({"x/0.json": log}))
        ingest(logs, tmp_path / "lake")
    before = rows(tmp_path / "lake", but_for=())
    assert len(before["archives"]) == 8
    monkeypatch.setattr(upkeep, "CHUNK_BYTES", 2 * upkeep.ESTIMATED_ROW_BYTES)
    monkeypatch.setattr("pipeline.lake.files.MAX_FILE_BYTES", 1)
    maintain(tmp_path / "lake")
    after = rows(tmp_path / "lake", but_for=())
    assert {**after, "ingests": before["ingests"]} == before


@pytest.mark.slow
def test_rows_are_sorted_so_that_readers_skip(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.lake.files.MAX_FILE_BYTES", 1)
    maintain(lake)
    result = pl.DataFrame(open_lake(lake).delta_table("results").get_add_actions(flatten=True))
    assert result["min.game_type"].equals(result["max.game_type"].rename("min.game_type"))
    assert result["min.game_type"].is_unique().all()
    for file in open_lake(lake).table_files("messages"):
        keys = pl.read_parquet(file).select("game_type", "model")
        assert keys.equals(keys.sort("game_type", "model", nulls_last=False))


@pytest.mark.slow
def test_a_file_has_so_many_rows(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is left to do the second time."""
    most = 10
    for module in ("files", "maintain"):
        monkeypatch.setattr(f"pipeline.lake.{module}.MAX_FILE_ROWS", most)
    monkeypatch.setattr(upkeep, "CHUNK_BYTES", 9 * upkeep.ESTIMATED_ROW_BYTES)
    before = rows(lake)
    maintain(lake)
    assert rows(lake) == before
    files = open_lake(lake).table_files("messages")
    _, *full = sorted(pq.read_metadata(file).num_rows for file in files)
    assert full
    of_games = open_lake(lake).table("messages").group_by("game_id").len().collect()
    largest = of_games["len"].max()  # a game's rows stay together
    assert all(most < n < 3 * most + largest for n in full)
    assert n_files(lake)["decisions"] == 1
    done = maintain(lake)
    assert done["files_before"].to_list() == done["files_after"].to_list()
    assert open_lake(lake).ingest_id == 4


@pytest.mark.slow
def test_an_ingest_that_commits_meanwhile_wins(
    lake: Path, more: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it took out does not come back, and what it left alone is merged."""
    ingest(more, lake)
    write = upkeep._write_sorted_files

    def slow(*args: object) -> None:
        write(*args)  # type: ignore[arg-type]
        if args[1].table == "proposal_votes":  # type: ignore[attr-defined]  # the last one
            (more / "3.json").write_bytes(encode(prisoners_dilemma(model="fresh")))
            assert ingest(more, lake).statuses["replacing"] == 1

    monkeypatch.setattr(upkeep, "_write_sorted_files", slow)
    maintain(lake)
    assert "fresh" in set(table(lake, "results")["model"])
    assert "third" not in set(table(lake, "decisions")["model"])
    assert n_files(lake)["votes"] == 1
    assert n_files(lake)["decisions"] > 1
    lying = {file.name for file in (lake / "decisions").glob("sorted-*")}
    assert not lying


@pytest.mark.slow
def test_a_crash_leaves_the_lake_and_no_file(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, lying = rows(lake, but_for=()), parquet_files(lake)

    def failing(self: Transaction, row: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "commit", failing)
        with pytest.raises(KeyboardInterrupt):
            maintain(lake)
    assert rows(lake, but_for=()) == before
    assert parquet_files(lake) == lying


@pytest.mark.slow
@pytest.mark.parametrize(("error", "is_committed"), [(KeyboardInterrupt, False), (OSError, True)])
def test_an_upkeep_that_ends_in_its_commit_deletes_nothing_that_is_named(
    lake: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], is_committed: bool
) -> None:
    """Right before the last table's commit, or right after it, when all is visible."""
    before, commit = rows(lake), Transaction._commit_table

    def failing(self: Transaction, table: str) -> int:
        version = commit(self, table) if is_committed or table != "ingests" else 0
        if table == "ingests":
            raise error
        return version

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "_commit_table", failing)
        with pytest.raises((KeyboardInterrupt, LakeError)):
            maintain(lake)
    assert open_lake(lake).ingest_id == (4 if is_committed else 3)
    assert rows(lake) == before
    assert verify(lake).is_whole
    age(lake, 2)
    maintain(lake, keep_days=0)
    assert rows(lake) == before
    assert verify(lake).is_whole


# What is deleted


@pytest.mark.slow
def test_what_is_kept_and_what_is_deleted(lake: Path, used_lake: Path) -> None:
    """All of this lake's states are from today, whatever the files' age."""
    reader, before = open_lake(lake), rows(lake, but_for=())
    orphans = [lake / "games" / name for name in ("part-x.parquet", "part-y.parquet#1")]
    for orphan in orphans:
        orphan.write_bytes(b"PAR1")
    assert maintain(lake)["files_deleted"].sum() == 0
    age(lake, 30)
    kept = maintain(lake, keep_days=math.inf, older_than_hours=1e30)
    assert kept["files_deleted"].sum() == 0
    done = maintain(lake).filter(files_deleted=2).select("table", "bytes_deleted").rows()
    assert done == [("games", 8)]
    assert not any(orphan.exists() for orphan in orphans)
    seen = {t: sorted(map(repr, reader.table(t).collect().rows())) for t in TABLES}
    assert seen == before
    deleted = ["table", "files_deleted", "bytes_deleted"]
    rehearsed = maintain(lake, keep_days=0, dry_run=True).select(deleted)
    assert maintain(lake, keep_days=0).select(deleted).equals(rehearsed)
    assert rehearsed["files_deleted"].sum() > 0
    left = open_lake(lake).ingest_id
    with pytest.raises(LakeError) as refusal:
        open_lake(lake, as_of=1)
    assert str(refusal.value) == (
        f"{lake}: the state after ingest 1 is gone: `magic maintain` deleted its files; "
        f"the oldest state left is the one after ingest {left}"
    )
    assert {file for file in parquet_files(lake) if file.parent.name != "ingests"} == {
        file for file in files_named(lake) if file.parent.name != "ingests"
    }
    report = ingest(used_lake.parent / "logs", lake, model="talker")
    assert not any(report.statuses[new] for new in ("ingested", "replacing"))


@pytest.mark.parametrize("option", ["keep_days", "older_than_hours"])
@pytest.mark.parametrize("duration", [-1, math.nan])
def test_a_negative_duration_is_refused(empty_lake: Path, option: str, duration: float) -> None:
    with pytest.raises(UsageError, match="must be 0"):
        maintain(empty_lake, **{option: duration})  # type: ignore[arg-type]


def test_a_lost_file_is_no_work_of_upkeep(tmp_path: Path, used_lake: Path) -> None:
    """Then the newest state lacks it as well, and who reads the file tells of it."""
    lake = tmp_path / "lake"
    shutil.copytree(used_lake, lake)
    Path(open_lake(lake).table_files("games")[0]).unlink()
    assert open_lake(lake, as_of=3).ingest_id == 3


@pytest.mark.slow
def test_what_is_being_written_is_never_old(lake: Path) -> None:
    """A running process holds a lock, so that no clock decides; one that was killed does not."""
    written = [lake / "games" / f"part-{token}-0.parquet" for token in ("a" * 32, "b" * 32)]
    for file in written:
        file.write_bytes(b"PAR1")
    (lake / ".writing").mkdir(exist_ok=True)
    (lake / ".writing" / ("b" * 32)).touch()
    age(lake, 365)
    with hold_writer_lock(parse_location(lake), "a" * 32):
        maintain(lake, older_than_hours=0)
        assert [file.exists() for file in written] == [True, False]
    maintain(lake, older_than_hours=0)
    assert not any(file.exists() for file in written)
    assert not any((lake / ".writing").iterdir())


@pytest.mark.slow
def test_upkeep_during_an_ingest_on_a_machine_ahead_of_time(
    lake: Path, more: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It deletes nothing that the ingest has written and not yet committed."""
    begin = Transaction.__init__

    def delayed(self: Transaction, *arguments: object) -> None:
        monkeypatch.undo()
        # As upkeep elsewhere would, if it had the lock at this moment.
        alive = delete_stale_locks_and_find_writers(parse_location(lake))
        assert len(alive) == 1
        assert all(any(token in file.name for token in alive) for file in unnamed(lake))
        begin(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Transaction, "__init__", delayed)
    assert ingest(more, lake).statuses["ingested"] == 5


def unnamed(lake: Path) -> set[Path]:
    """The Parquet files that no state of the lake names."""
    states = [open_lake(lake, number) for number in range(1, open_lake(lake).ingest_id + 1)]
    return parquet_files(lake) - {
        Path(file) for state in states for name in TABLES for file in state.table_files(name)
    }


@pytest.mark.slow
@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(b"PAR1")])
def test_an_ingest_whose_files_are_lost_commits_nothing(
    lake: Path, more: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    before, commit = rows(lake, but_for=()), Transaction.commit

    def after_loss(self: Transaction, row: dict[str, object]) -> None:
        damage(next(file for file in unnamed(lake) if file.parent.name == "messages"))
        commit(self, row)

    monkeypatch.setattr(Transaction, "commit", after_loss)
    message = r"written for this ingest are missing or truncated.* run the same"
    with pytest.raises(LakeError, match=message):
        ingest(more, lake)
    monkeypatch.undo()
    assert rows(lake, but_for=()) == before
    assert ingest(more, lake).statuses["ingested"] == 5


@pytest.mark.slow
def test_many_commits_become_few_files(
    lake: Path, more: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "MAX_COMMIT_FILES", 2)
    before = table(lake, "ingests").sort("ingest_id")
    maintain(lake)
    assert table(lake, "ingests").sort("ingest_id")[:3].equals(before)
    assert len(open_lake(lake).table_files("ingests")) == 2
    ingest(more, lake)


def test_what_is_no_lake(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="no such lake"):
        maintain(tmp_path / "nothing")


# Encoded columns


@pytest.mark.parametrize("index", [pa.int8(), pa.uint32()])
def test_encoded_texts_read_back_as_texts(
    tmp_path: Path, used_lake: Path, index: pa.DataType
) -> None:
    plain = pq.read_table(open_lake(used_lake).table_files("results")[0])
    encoded = plain
    for place, field in enumerate(plain.schema):
        if field.type == pa.string():
            column = plain.column(place).combine_chunks().dictionary_encode()
            column = pa.DictionaryArray.from_arrays(column.indices.cast(index), column.dictionary)
            encoded = encoded.set_column(place, field.name, column)
    assert pa.types.is_dictionary(encoded.schema.field("model").type)
    files = []
    for some in ([plain], [encoded], [encoded, plain, encoded]):
        writer = TableWriter(tmp_path, "results")
        for part in some:
            writer.write(part)
        writer.close()
        files.append(tmp_path / writer.files[0].name)
        found = pq.read_table(files[-1])
        assert found.equals(pa.concat_tables([plain.cast(found.schema)] * len(some)))
        assert '"nullCount"' in writer.files[0].stats
    first, *others = files
    for other in others:
        assert pq.read_schema(other).types == pq.read_schema(first).types
        assert pl.read_parquet_schema(other) == pl.read_parquet_schema(first)


def test_a_disk_that_is_full_is_said_with_the_lake(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow's error names no file."""

    def full(*_: object) -> None:
        raise OSError(28, "Error writing bytes to file: no space left on device")

    monkeypatch.setattr(TableWriter, "write", full)
    with pytest.raises(LakeError, match=f"^{lake}: the lake could not be written: .* no space"):
        maintain(lake)
