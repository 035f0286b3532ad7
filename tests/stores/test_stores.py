"""Sources and lakes on an object store are what they are on this machine."""

import multiprocessing
import os
import pickle
import shutil
import time
from pathlib import Path

import duckdb
import obstore
import pytest
from event_tables import assert_same, checked
from lakes import rows
from obstore.store import from_url
from rawlogs import chameleon, encode, prisoners_dilemma, write_logs
from test_catalog import leave_out_most

from pipeline import open_lake
from pipeline.archives import (
    count_files_and_bytes,
    iter_documents,
    iter_file_documents,
    iter_source_files,
)
from pipeline.cli import main
from pipeline.errors import LakeError, PipelineError, SourceError
from pipeline.events.contracts import TABLES
from pipeline.ingest import ingest
from pipeline.lake import is_lake, open_or_create_lake
from pipeline.lake.maintain import maintain
from pipeline.simulate import simulate
from pipeline.stores import parse_location, remote
from pipeline.verify import verify

TREE = {
    ".git/a.json": b"{}",
    ".git/b/c.json": b"{}",
    "a-b/0.json": b"{}",
    "a.json": b"{}",
    "a/0.json": b"",
    "a/caf\u00e9 'x'.json": b"[1]",
    "a/c.jsonl": b"{}\n\n[]",
    "a/notes.txt": b"",
    "z%20.json": b"[9]",
}


def upload(folder: Path, url: str) -> str:
    """Puts all files of a folder below the URL."""
    store = from_url(url)
    for file in folder.rglob("*"):
        if file.is_file():
            obstore.put(store, file.relative_to(folder).as_posix(), file)
    return url


def keys(url: str) -> set[str]:
    return {entry["path"] for batch in obstore.list(from_url(url)) for entry in batch}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for path, data in TREE.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    for kind in ("zip", "tar", "gztar", "xztar"):
        shutil.make_archive(str(tmp_path / "packed"), kind, root / "a")
    for file in tmp_path.glob("packed.*"):
        file.rename(root / file.name)
    return root


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return write_logs(tmp_path / "logs", "first")


# Sources


def test_a_prefix_holds_what_the_folder_does(tree: Path, bucket: str) -> None:
    """The same paths in the same order, archives and all."""
    url = upload(tree, f"{bucket}/some where")
    there, here = list(iter_documents(f"{url}/")), list(iter_documents(tree))
    assert [document[1:] for document in there] == [document[1:] for document in here]
    assert {document.source for document in there} == {url}
    assert count_files_and_bytes(url) == count_files_and_bytes(tree)


def test_units_are_read_anywhere(tree: Path, bucket: str) -> None:
    url = upload(tree, bucket)
    dealt = [pickle.loads(pickle.dumps(unit)) for unit in iter_source_files(url)]
    reported: list[int] = []
    found = [
        document
        for unit in dealt
        for document in iter_file_documents(unit, on_bytes=reported.append)
    ]
    assert found == list(iter_documents(url))
    assert sum(reported) == sum(unit.n_bytes for unit in dealt)


def test_an_object_by_itself(tree: Path, bucket: str) -> None:
    """Within a source it is read once."""
    url = upload(tree, f"{bucket}/x")
    assert list(iter_documents([url, f"{url}/a", f"{url}/a.json"])) == list(iter_documents(url))
    (log,) = iter_documents(f"{url}/a.json")
    assert (log.source, log.path, log.data) == (url, "a.json", b"{}")
    packed = list(iter_documents(f"{url}/packed.zip"))
    assert {document.source for document in packed} == {f"{url}/packed.zip"}
    everything = {(f"{d.source}/{d.path}", d.data) for d in iter_documents(url)}
    assert {(f"{d.source}/{d.path}", d.data) for d in packed} < everything


def test_an_object_larger_than_the_limit_is_not_read(tmp_path: Path, bucket: str) -> None:
    (tmp_path / "0.json").write_bytes(b"1" * 2000)
    (tmp_path / "1.json").write_bytes(b"{}")
    url = upload(tmp_path, f"{bucket}/x")
    large, fine = iter_documents(url, max_document=1000)
    assert (large.data, large.is_broken, fine.data) == (None, True, b"{}")


def test_sources_that_are_not_there(bucket: str, tree: Path) -> None:
    with pytest.raises(SourceError, match="patterns work only for files on this machine"):
        iter_documents(f"{bucket}/x/*.json")
    with pytest.raises(SourceError, match="no file") as caught:
        iter_documents(f"{bucket}/nothing")
    with pytest.raises(SourceError, match="NoSuchBucket") as other:
        iter_documents(["s3://no-such-bucket/x", tree])
    for error in (caught.value, other.value):
        assert "\n" not in str(error)


# Lakes


@pytest.mark.slow
def test_a_lake_on_a_store_is_the_lake_here(
    tmp_path: Path, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Games of each type from and into the store, the metrics of both engines, the catalogue."""
    leave_out_most(monkeypatch)
    result = simulate(tmp_path / "logs", models=2, games=1, seed=3, jobs=1)
    url = upload(tmp_path / "logs", f"{bucket}/logs")
    here, there = tmp_path / "lake", f"{bucket}/some/lake"
    assert main(["ingest", url, "--lake", there]) == 0
    ingest(url, here)
    assert rows(here) == rows(there)  # type: ignore[arg-type]
    ours, theirs = open_lake(here), open_lake(there)
    for name in TABLES:
        checked(name, theirs.table(name).collect())
    values = ours.metrics()
    for engine in ("polars", "duckdb"):
        assert_same(theirs.metrics(engine=engine), values)
    assert main(["catalog", "--lake", there]) == 0
    (tmp_path / "got.duckdb").write_bytes(parse_location(f"{there}/magic.duckdb").open().read())
    with duckdb.connect(tmp_path / "got.duckdb", read_only=True) as connection:
        assert_same(connection.sql("FROM metrics").pl().select(values.columns), values)
        select = "SELECT sql FROM duckdb_views() WHERE view_name = 'votes' AND NOT internal"
        (view,) = connection.execute(select).fetchone()
    assert all(file in view for file in theirs.table_files("votes"))
    assert result.n_games == ours.table("games").collect().height
    query = "SELECT game_type, count(*) AS n FROM messages GROUP BY ALL ORDER BY ALL"
    assert theirs.sql(query).equals(ours.sql(query))
    assert set(ingest(url, there).statuses.items()) >= {
        ("ingested", 0),
        ("unchanged", result.n_games),
    }


@pytest.mark.slow
def test_replacements_and_upkeep(logs: Path, bucket: str) -> None:
    lake = f"{bucket}/lake"
    for model in ("first", "second"):
        (logs / "3.json").write_bytes(encode(prisoners_dilemma(model=model)))
        report = ingest(logs, lake)
    assert (report.statuses["replacing"], report.n_superseded) == (1, 1)
    before = rows(lake)  # type: ignore[arg-type]
    result = maintain(lake, keep_days=0, older_than_hours=0)
    assert result["files_after"].sum() < result["files_before"].sum()
    assert result["files_deleted"].sum() > 0
    assert rows(lake) == before  # type: ignore[arg-type]
    opened = open_lake(lake)
    live = {Path(file).name for name in TABLES for file in opened.table_files(name)}
    assert {
        Path(key).name for key in keys(lake) if key.endswith(".parquet") and "_delta_log" not in key
    } == live
    assert verify(lake).faults.is_empty()  # each object has the bytes that its name is the hash of
    assert opened.ingest_id == 3


def test_what_is_no_lake(bucket: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert not is_lake(f"{bucket}/nothing")
    with pytest.raises(LakeError, match="no such lake"):
        open_lake(f"{bucket}/nothing")
    obstore.put(from_url(bucket), "other/x.txt", b"")
    with pytest.raises(LakeError, match="not a lake"):
        open_lake(f"{bucket}/other")
    with pytest.raises(LakeError, match="not a lake and not empty"):
        open_or_create_lake(f"{bucket}/other")
    for lake in ("s3://no-such-bucket/lake", f"{bucket}/a%20b"):
        for make in (open_lake, open_or_create_lake):
            with pytest.raises(LakeError) as caught:
                make(lake)
            assert "\n" not in str(caught.value)
            assert lake in str(caught.value)


@pytest.mark.parametrize("path", ["a//b", "/a", "./a", "a/../b"])
def test_no_part_of_a_url_is_left_out(bucket: str, path: str) -> None:
    with pytest.raises(LakeError, match="between slashes"):
        open_lake(f"{bucket}/{path}")
    with pytest.raises(SourceError, match="between slashes"):
        iter_documents(f"{bucket}/{path}")


def test_a_store_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr("pipeline.stores.remote._RETRY_CONFIG", {"max_retries": 0})
    with pytest.raises(PipelineError) as caught:
        open_lake("s3://bucket/lake")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [("AWS_ALLOW_HTTP", "false", "AWS_ALLOW_HTTP"), (None, None, "unknown object store")],
)
def test_what_to_do_is_told(
    bucket: str, monkeypatch: pytest.MonkeyPatch, name: str | None, value: str, hint: str
) -> None:
    if name:
        monkeypatch.setenv(name, value)
    lake = f"{bucket}/lake" if name else "ftp://host/lake"
    with pytest.raises(LakeError, match=hint):
        open_lake(lake)


def test_files_of_this_machine_can_be_urls(logs: Path, tmp_path: Path) -> None:
    lake = tmp_path / "a lake"
    ingest(logs.as_uri(), lake.as_uri())
    assert open_lake(lake).table("games").collect().height == 5


def test_a_file_that_goes_while_its_folder_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a draft does whose writer gives up: the others are listed, or a lake would be none."""
    for name in ("a", "gone", "z"):
        (tmp_path / name).write_bytes(b"1")
    iterdir = Path.iterdir

    def going(path: Path) -> list[Path]:
        listed = list(iterdir(path))
        (tmp_path / "gone").unlink(missing_ok=True)
        return listed

    monkeypatch.setattr(Path, "iterdir", going)
    assert [file.name for file in parse_location(tmp_path).list_files()] == ["a", "z"]
    assert parse_location(tmp_path / "gone").list_files() == []


# The lock


def test_a_lock_excludes_and_is_given_back(bucket: str) -> None:
    lock = parse_location(f"{bucket}/.lock")
    with lock.lock(1), pytest.raises(TimeoutError), lock.lock(0.5):
        raise AssertionError
    with lock.lock(1):
        pass


@pytest.mark.slow
def test_a_lock_is_kept_by_a_slow_holder(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it works, as long as it shows that it lives."""
    monkeypatch.setattr(remote, "RENEWAL_SECONDS", 0.1)
    monkeypatch.setattr(remote, "STALE_SECONDS", 0.8)
    lock = parse_location(f"{bucket}/.lock")
    with lock.lock(1) as check_lock:
        with pytest.raises(TimeoutError), lock.lock(2.5):
            raise AssertionError
        check_lock()


def test_a_dead_holder_s_lock_is_taken_over(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And if it was not dead, it finds that the lock is lost, and leaves the other's alone."""
    monkeypatch.setattr(remote, "STALE_SECONDS", 0.5)
    lock = parse_location(f"{bucket}/.lock")
    first = remote.Lease(from_url(bucket), ".lock", "first")
    first.acquire(1)
    began = time.monotonic()
    with lock.lock(5) as check_lock:
        assert time.monotonic() - began > 0.5
        first.renew_or_mark_lost()
        with pytest.raises(OSError, match="lost"):
            first.raise_if_lost()
        first.release()
        check_lock()
        with pytest.raises(TimeoutError), lock.lock(0):
            raise AssertionError


@pytest.mark.slow
def test_a_lost_lock_stops_a_commit(
    logs: Path, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = f"{bucket}/lake"
    ingest(logs, lake)
    (logs / "new.json").write_bytes(encode(chameleon(model="new")))
    monkeypatch.setattr(
        remote.Lease, "raise_if_lost", lambda self: (_ for _ in ()).throw(OSError("lost"))
    )
    with pytest.raises(LakeError, match="lost"):
        ingest(logs, lake)
    assert open_lake(lake).ingest_id == 1


def _die_with_the_lock(url: str) -> None:
    with parse_location(url).lock(1):
        os._exit(9)


@pytest.mark.slow
def test_a_killed_process_locks_nobody_out(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = multiprocessing.get_context("spawn").Process(
        target=_die_with_the_lock, args=(f"{bucket}/.lock",)
    )
    worker.start()
    worker.join(timeout=30)
    assert worker.exitcode == 9
    monkeypatch.setattr(remote, "STALE_SECONDS", 0.5)
    with parse_location(f"{bucket}/.lock").lock(10):
        pass
