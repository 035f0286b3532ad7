"""An ingest is seen in all tables or in none: by readers, after a crash, beside another ingest."""

import errno
import json
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from lakes import Rows, check, latest_version, nonzero, parquet_files, rows, statuses, table
from rawlogs import chatarena, encode, prisoners_dilemma, write_logs

from pipeline.cli import main
from pipeline.errors import LakeError, MachineError, SourceError, UsageError
from pipeline.events.contracts import TABLES, VERSION, table_schema
from pipeline.ingest import ingest
from pipeline.ingest.resolve import write_known_game_ids
from pipeline.lake import StoredLake, is_lake, open_lake, open_or_create_lake
from pipeline.lake.maintain import maintain
from pipeline.lake.transaction import Transaction, begin_transaction, reraise_as_lake_error
from pipeline.stores import parse_location

ALL = {"but_for": ()}


class Crash(BaseException):
    """What no code of ours catches, as little as a kill."""


@pytest.fixture(scope="module")
def used_rows(used_lake: Path) -> Rows:
    """All rows of the used lake, and of its copies until they are written."""
    return rows(used_lake, **ALL)


# Readers


def all_rows(lake: StoredLake) -> dict[str, list[str]]:
    return {name: sorted(map(repr, lake.table(name).collect().rows())) for name in TABLES}


@pytest.mark.slow
def test_a_reader_sees_one_state_for_the_whole_of_its_work(
    lake: Path, used_lake: Path, used_rows: Rows
) -> None:
    """Its other tables, rows that it has yet to collect, and those of files that are replaced."""
    reader = open_lake(lake)
    assert reader.table("games").collect().equals(table(used_lake, "games"))
    waiting = reader.table("messages")
    logs = shutil.copytree(used_lake.parent / "logs", lake.parent / "logs")
    ingest(logs, lake, model="talker")
    (logs / "3.json").write_bytes(encode(prisoners_dilemma(model="fourth")))
    assert ingest(logs, lake, model="talker").statuses["replacing"] == 1
    assert all_rows(reader) == used_rows
    assert sorted(map(repr, waiting.collect().rows())) == used_rows["messages"]
    assert (reader.ingest_id, open_lake(lake).ingest_id) == (3, 5)


def test_an_empty_lake_reads_as_the_contracts_have_it(empty_lake: Path) -> None:
    lake = open_lake(empty_lake)
    assert (lake.ingest_id, lake.last_ingest) == (0, None)
    for name in TABLES:
        assert dict(lake.table(name).collect_schema()) == table_schema(name)
        assert lake.table(name).collect().is_empty()


# Crashes


def crash_after(monkeypatch: pytest.MonkeyPatch, n_tables: int) -> None:
    """Makes the commit after so many tables' commits crash."""
    done = []
    commit = Transaction._commit_table

    def crashing(self: Transaction, name: str) -> int:
        if len(done) == n_tables:
            raise Crash
        done.append(name)
        return commit(self, name)

    monkeypatch.setattr(Transaction, "_commit_table", crashing)


@pytest.fixture(scope="module")
def undisturbed(
    used_lake: Path, used_rows: Rows, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Rows]:
    """Logs, and what the used lake holds once it has taken them in without trouble."""
    top = tmp_path_factory.mktemp("undisturbed")
    logs = write_logs(top / "logs", "third")
    (logs / "talk.json").write_bytes(encode(chatarena()))
    # One that the lake holds under another name, and one that takes that name's place.
    shutil.copy(used_lake.parent / "logs" / "3.json", logs / "moved.json")
    shutil.copytree(used_lake, top / "lake")
    ingest(logs, top / "lake", model="talker")
    expected = rows(top / "lake", but_for=["ingests"])
    assert all(expected[name] != used_rows[name] for name in ("games", "documents"))
    return logs, expected


@pytest.mark.slow
def test_a_crash_after_the_last_commit_has_happened(
    lake: Path, undisturbed: tuple[Path, Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it is visible it stays, files and all."""
    logs, expected = undisturbed
    commit = Transaction.commit

    def crashing(self: Transaction, row: dict[str, object]) -> None:
        commit(self, row)
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "commit", crashing)
        with pytest.raises(Crash):
            ingest(logs, lake, model="talker")
    assert rows(lake, but_for=["ingests"]) == expected
    assert nonzero(ingest(logs, lake, model="talker"))["unchanged"] == 7


@pytest.mark.slow
def test_crashes_in_a_row_and_of_another_source(
    lake: Path, used_rows: Rows, undisturbed: tuple[Path, Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    logs, expected = undisturbed
    other = lake.parent / "other"
    other.mkdir()
    (other / "a.json").write_bytes(encode(prisoners_dilemma(model="never")))
    for source, n_tables in ((other, 5), (other, 9), (logs, 15)):
        with monkeypatch.context() as patch:
            crash_after(patch, n_tables)
            with pytest.raises(Crash):
                ingest(source, lake, model="talker")
        assert rows(lake, **ALL) == used_rows
    assert ingest(logs, lake, model="talker").ingest_id == 4
    assert rows(lake, but_for=["ingests"]) == expected
    assert "never" not in set(table(lake, "results")["model"])


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is told of after each document, not after each thousand."""
    monkeypatch.setattr(import_module("pipeline.ingest.worker"), "TASK_UNITS", 1)


def during(n_documents: int, act: Callable[[], object]) -> Callable[[int, int], None]:
    """A watcher of progress that acts once, when so many documents were read."""
    seen = [0]

    def watch(documents: int, n_bytes: int) -> None:
        seen[0] += documents
        if documents and seen[0] == n_documents:
            act()

    return watch


@pytest.mark.slow
@pytest.mark.usefixtures("one_by_one")
def test_what_goes_wrong_in_reading_leaves_no_file(
    lake: Path, more: Path, used_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the lake's folders, not in its tables; two batches are in files by then."""
    lying = parquet_files(lake)

    def fail() -> None:
        assert parquet_files(lake) > lying
        raise KeyboardInterrupt

    monkeypatch.setattr("pipeline.ingest.worker.BATCH_DOCUMENTS", 2)
    with pytest.raises(KeyboardInterrupt):
        ingest(more, lake, on_progress=during(5, fail))
    assert parquet_files(lake) == lying
    assert rows(lake, **ALL) == used_rows


@pytest.mark.slow
@pytest.mark.parametrize("max_bytes", [1, 2**20], ids=["in a file", "in a file not ended"])
def test_what_goes_wrong_in_writing_a_table_leaves_no_file(
    lake: Path, monkeypatch: pytest.MonkeyPatch, max_bytes: int
) -> None:
    """The second rows cannot be had, when the first are written."""
    lying = parquet_files(lake)

    def frames() -> Iterator[pl.DataFrame]:
        yield table(lake, "documents")
        assert parquet_files(lake) > lying
        raise Crash

    monkeypatch.setattr("pipeline.lake.files.MAX_FILE_BYTES", max_bytes)
    with pytest.raises(Crash), begin_transaction(lake) as change:
        change.write_rows("documents", frames())
    assert parquet_files(lake) == lying


# Beside another ingest


@pytest.mark.slow
@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize(
    ("other", "is_now", "n_refused"), [("copy", "duplicate", 4), ("more", "unchanged", 3)]
)
def test_an_ingest_that_another_overtakes(
    lake: Path, more: Path, other: str, is_now: str, n_refused: int
) -> None:
    """Both land; what the other brought first, from a copy or from here, is not brought again."""
    n_games = table(lake, "games").height
    copy = shutil.copytree(more, lake.parent / "copy").with_name(other)
    report = ingest(more, lake, on_progress=during(3, lambda: ingest(copy, lake)))
    assert report.ingest_id == 5
    assert nonzero(report) == {is_now: 5, "quarantined": 1, "ignored": 1}
    assert report.games.is_empty()
    assert table(lake, "games").height == n_games + 5
    assert table(lake, "quarantine").height == n_refused
    assert set(statuses(lake, 4).values()) == {"ingested", "quarantined", "ignored"}


@pytest.mark.slow
@pytest.mark.usefixtures("one_by_one")
def test_an_ingest_whose_known_game_another_takes_out(lake: Path, more: Path) -> None:
    """It did not decode that game, since the lake had it; it says so and changes nothing."""
    ingest(more, lake)
    file = more / "3.json"
    original = file.read_bytes()

    def replace() -> None:
        file.write_bytes(encode(prisoners_dilemma(model="meanwhile")))
        ingest(more, lake)

    with pytest.raises(LakeError, match="again") as caught:
        ingest(more, lake, on_progress=during(7, replace))
    assert "3.json" in str(caught.value)
    assert open_lake(lake).ingest_id == 5
    lying = parquet_files(lake)
    assert "meanwhile" in set(table(lake, "results")["model"])
    file.write_bytes(original)
    assert ingest(more, lake).statuses["replacing"] == 1
    assert parquet_files(lake) > lying


def _die_in_commit(source: Path, lake: Path) -> None:
    commit = Transaction._commit_table

    def dying(self: Transaction, name: str) -> int:
        version = commit(self, name)
        if name == "games":
            os._exit(9)
        return version

    Transaction._commit_table = dying  # type: ignore[method-assign]
    ingest(source, lake)


@pytest.mark.slow
def test_a_process_that_dies_in_its_commit_locks_nobody_out(
    lake: Path, more: Path, used_rows: Rows
) -> None:
    worker = multiprocessing.get_context("spawn").Process(target=_die_in_commit, args=(more, lake))
    worker.start()
    worker.join(timeout=60)
    assert worker.exitcode == 9
    assert rows(lake, **ALL) == used_rows
    assert latest_version(lake, "games") > open_lake(lake).states["games"].version
    assert ingest(more, lake).statuses["ingested"] == 5


def test_a_lock_that_others_hold(new_lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.lake.transaction.LOCK_SECONDS", 0.1)
    held = parse_location(new_lake / ".lock").lock(1)
    with held, pytest.raises(LakeError, match="another ingest"), begin_transaction(new_lake):
        raise AssertionError


def test_what_times_out_within_is_not_told_as_the_lock(new_lake: Path) -> None:
    """As a disk of the network does."""
    told = pytest.raises(LakeError, match=r"not be written: .*timed out")
    with told, begin_transaction(new_lake):
        raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")


# What stays behind


def test_a_refused_commit_leaves_nothing_behind(
    lake: Path, more: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the workers' files, which no table names, nor the lock of who writes them."""

    def refuse(*_: object) -> None:
        raise LakeError("refused")

    before = parquet_files(lake)
    monkeypatch.setattr(Transaction, "_raise_if_added_files_changed", refuse)
    with pytest.raises(LakeError, match="refused"):
        ingest(more, lake)
    assert parquet_files(lake) == before
    assert not any((lake / ".writing").iterdir())


@pytest.mark.slow
def test_what_cannot_be_deleted_after_the_commit_is_no_failure(
    lake: Path,
    more: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    unlink = Path.unlink

    def denied(path: Path, *, missing_ok: bool = False) -> None:
        if path.parent.name == ".writing":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", denied)
    assert main(["ingest", str(more), "--lake", str(lake)]) == 0
    assert "the ingest is done, but" in capsys.readouterr().err
    assert open_lake(lake).ingest_id == 4
    check(lake)


def test_a_data_file_is_on_the_disk_before_it_has_its_name(
    new_lake: Path, more: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power loss leaves no empty file where a log names it."""
    synced = set()
    fsync = os.fsync

    def noted(handle: int) -> None:
        synced.add(os.fstat(handle).st_ino)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    ingest(more / "3.json", new_lake)
    written = parquet_files(new_lake)
    assert written
    assert {file.stat().st_ino for file in written} <= synced


# What is no lake


def is_one_line(error: BaseException) -> bool:
    return "\n" not in str(error) and bool(str(error))


def test_where_there_is_nothing(tmp_path: Path) -> None:
    assert not is_lake(tmp_path / "nothing")
    with pytest.raises(LakeError, match="no such lake") as caught:
        open_lake(tmp_path / "nothing")
    assert is_one_line(caught.value)
    assert not (tmp_path / "nothing").exists()


def test_a_folder_of_something_else(tmp_path: Path, more: Path) -> None:
    before = sorted(more.iterdir())
    for act in (
        lambda: open_lake(more),
        lambda: open_or_create_lake(more),
        lambda: ingest(more, more),
    ):
        with pytest.raises(LakeError, match="not a lake") as caught:
            act()
        assert is_one_line(caught.value)
    assert sorted(more.iterdir()) == before


@pytest.mark.parametrize("source", ["no such path", "empty", "*.json"])
def test_a_source_of_nothing_makes_no_lake(tmp_path: Path, source: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError) as caught:
        ingest(tmp_path / source, tmp_path / "lake")
    assert is_one_line(caught.value)
    assert not (tmp_path / "lake").exists()


def test_a_file(tmp_path: Path, more: Path) -> None:
    file = tmp_path / "file"
    file.write_text("not a lake")
    for act in (lambda: open_lake(file), lambda: ingest(more, file)):
        with pytest.raises(LakeError) as caught:
            act()
        assert is_one_line(caught.value)
    assert file.read_text() == "not a lake"


@pytest.mark.parametrize(
    ("lost", "says"),
    [
        ("votes", "votes: the lake is damaged, the table cannot be opened: the folder is missing"),
        ("votes/_delta_log", "votes: the lake is damaged, .*: its log is missing"),
        ("ingests", "its table `ingests` is gone, but [0-9]+ other tables have rows"),
        ("ingests/_delta_log", "its table `ingests` is gone"),
    ],
)
def test_a_lake_that_lost_a_folder(
    tmp_path: Path, used_lake: Path, more: Path, lost: str, says: str
) -> None:
    """It is not begun anew: then all rows would count as left behind by a killed ingest."""
    lake = shutil.copytree(used_lake, tmp_path / "lake")
    shutil.rmtree(lake / lost)
    before = {*lake.rglob("*")}
    with pytest.raises(LakeError, match=says) as caught:
        open_lake(lake).table("votes").collect()
    assert "from a copy" in str(caught.value)
    assert is_one_line(caught.value)
    with pytest.raises(LakeError, match=says if "ingests" in lost else "votes") as caught:
        ingest(more, lake)
    assert is_one_line(caught.value)
    assert {*lake.rglob("*")} - before <= {lake / ".lock"}


def test_an_empty_folder_is_no_lake(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    with pytest.raises(LakeError, match="not a lake"):
        open_lake(tmp_path / "lake")
    assert open_or_create_lake(tmp_path / "lake").ingest_id == 0


def test_a_lake_half_made_is_made_whole(new_lake: Path, more: Path) -> None:
    """Its last table is the one by which it is known, so a crash before that leaves none.

    A store whose answer was lost can have two commits of a table that has no rows.
    """
    for name in ("ingests", "games"):
        shutil.rmtree(new_lake / name)
    log = new_lake / "votes" / "_delta_log"
    shutil.copy(log / f"{0:020d}.json", log / f"{1:020d}.json")
    assert not is_lake(new_lake)
    ingest(more, new_lake)
    check(new_lake)


@pytest.fixture
def later(tmp_path: Path, used_lake: Path) -> Path:
    """A lake that another version of the contracts wrote."""
    lake = tmp_path / "later"
    shutil.copytree(used_lake, lake)
    for name in TABLES:
        log = lake / name / "_delta_log" / "00000000000000000000.json"
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for line in lines:
            if "metaData" in line:
                line["metaData"]["configuration"]["magic.contractVersion"] = str(VERSION + 1)
        log.write_text("\n".join(map(json.dumps, lines)))
    return lake


def test_a_lake_of_another_version_of_the_contracts(later: Path, more: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in later.rglob("*")}
    for act in (lambda: open_lake(later), lambda: ingest(more, later)):
        with pytest.raises(LakeError) as caught:
            act()
        assert f"version {VERSION + 1}" in str(caught.value)
        assert f"and {VERSION};" in str(caught.value)
        assert is_one_line(caught.value)
    assert {file: file.stat().st_mtime_ns for file in later.rglob("*")} == before


def test_a_table_that_is_none(used_lake: Path) -> None:
    with pytest.raises(UsageError, match="games"):
        open_lake(used_lake).table("game")


@pytest.mark.slow
def test_a_lake_within_its_own_source(tmp_path: Path, more: Path) -> None:
    """As `magic ingest .` has it: the lake's files are no logs, and no lake's log is one."""
    lake = more / "lake"
    ingest(more, lake)
    report = ingest(more, lake)
    assert report.statuses["unchanged"] == 5
    assert report.statuses["quarantined"] == 1
    check(lake)


# What a store or another process does meanwhile


@pytest.mark.parametrize("is_stored", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_commit_whose_answer_is_lost_has_happened(
    lake: Path, more: Path, monkeypatch: pytest.MonkeyPatch, is_stored: bool
) -> None:
    """A store writes a commit and answers by an error, for each table; or it writes none."""
    commit = DeltaTable.create_write_transaction

    def answer_lost(table: DeltaTable, *arguments: Any, **options: Any) -> None:
        if is_stored:
            commit(table, *arguments, **options)
        raise CommitFailedError("Failed to commit transaction: 0")

    before = open_lake(lake).ingest_id
    monkeypatch.setattr(DeltaTable, "create_write_transaction", answer_lost)
    if is_stored:
        assert ingest(more, lake).ingest_id == before + 1
    else:
        with pytest.raises(LakeError, match="could not be written"):
            ingest(more, lake)
    monkeypatch.undo()
    assert open_lake(lake).ingest_id == before + is_stored
    if not is_stored:
        ingest(more, lake)


@pytest.mark.slow
def test_upkeep_that_deletes_what_an_ingest_reads(
    lake: Path, more: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ingest has opened a state whose files are then merged and deleted."""

    def after_upkeep(*arguments: Any) -> Any:
        maintain(lake, keep_days=0, older_than_hours=0)
        return write_known_game_ids(*arguments)

    ingest(more, lake)
    (more / "new.json").write_bytes(encode(prisoners_dilemma(model="new")))
    monkeypatch.setattr("pipeline.ingest.resolve.write_known_game_ids", after_upkeep)
    with pytest.raises(LakeError, match=r"deleted while it was being read.* run the command again"):
        ingest(more, lake)
    monkeypatch.undo()
    ingest(more, lake)
    check(lake)


def test_a_full_temporary_folder_is_told(
    new_lake: Path, more: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = duckdb.IOException('{"exception_type":"IO","message":"No space left on device"}')
    monkeypatch.setattr(
        "pipeline.ingest.resolve.run_trusted_query", lambda *_: (_ for _ in ()).throw(full)
    )
    with pytest.raises(MachineError, match=r"^a disk is full: .* by TMPDIR$"):
        ingest(more, new_lake)


@pytest.mark.parametrize(
    ("error", "raised"), [(KeyError("a bug"), KeyError), (MemoryError(), MachineError)]
)
def test_only_what_fails_in_writing_is_told_of_the_lake(
    error: Exception, raised: type[Exception], tmp_path: Path
) -> None:
    """A bug of ours and a lack of memory are told as what they are."""
    with pytest.raises(raised), reraise_as_lake_error(tmp_path):
        raise error


@pytest.mark.slow
def test_a_clock_that_is_set_back_ends_no_ingest_before_its_beginning(
    new_lake: Path, more: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Earlier(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime(2001, 1, 1, tzinfo=tz)

    monkeypatch.setattr("pipeline.lake.transaction.datetime", Earlier)
    ingest(more / "3.json", new_lake)
    (row,) = table(new_lake, "ingests").iter_rows(named=True)
    assert row["finished_at"] == row["started_at"]
