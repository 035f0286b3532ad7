"""Archives that have not changed are not read again, and what comes of it is as if they were."""

import os
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
import zstandard
from inspect_logs import chameleon as inspected, json_log, sample
from lakes import Lab, nonzero, rows, table
from rawlogs import chameleon, chatarena, prisoners_dilemma, public_good
from test_archives import tar, zipped

import pipeline.archives
import pipeline.ingest.decode
import pipeline.ingest.resolve
import pipeline.ingest.worker
from pipeline.archives import SourceFile, iter_file_documents
from pipeline.cli import main
from pipeline.events.frames import EventFrames, IdentifiedGame, build_event_frames
from pipeline.game_record import RecordError
from pipeline.ingest import IngestSummary, ingest
from pipeline.lake.maintain import maintain

Members = dict[str, bytes]

# Without a line's end, so that each is a line of its own as well.
CHAMELEON, PUBLIC_GOOD, DILEMMA = (
    msgspec.json.encode(log) for log in (chameleon(), public_good(), prisoners_dilemma())
)
MEMBERS: Members = {
    "a/0.json": CHAMELEON,
    "a/1.json": PUBLIC_GOOD,
    "b/copy.json": CHAMELEON,
    "b/broken.json": b'{"history": [',
    "b/faulty.json": msgspec.json.encode(prisoners_dilemma() | {"history": [{"agent_name": 3}]}),
    "settings.json": b'{"topic": "Rivers"}',
    "notes.txt": b"no log",
}
FORMS = ["logs.tar.zst", "logs.zip", "logs.jsonl", "logs.jsonl.zst"]


def packed(members: Members, name: str) -> bytes:
    """The members in an archive of the form that its name stands for."""
    if ".jsonl" in name:
        data = b"\n".join(members.values())
    else:
        data = zipped(members) if ".zip" in name else tar(members)
    return zstandard.compress(data) if name.endswith(".zst") else data


@pytest.fixture(autouse=True)
def _all_archives_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline.ingest.worker, "LARGE_ARCHIVE_BYTES", 0)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files read by workers of this process."""
    found: list[str] = []

    def noted(unit: SourceFile, *arguments: object, **named: object) -> Iterator[object]:
        found.append(unit.path)
        return iter_file_documents(unit, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline.ingest.worker, "iter_file_documents", noted)
    return found


def seen(lake: Path) -> list[tuple[object, ...]]:
    """The last rows of each document: when a game was read does not matter."""
    place = ["source", "path"]
    found = table(lake, "documents").filter(
        pl.col("ingest_id") == pl.col("ingest_id").max().over(place)
    )
    is_game = pl.col("game_id").is_not_null()
    as_it_is = [pl.when(~is_game).then(name).alias(name) for name in ("status", "reason")]
    return canonical(found.with_columns(as_it_is).drop("ingest_id"))


def canonical(found: pl.DataFrame) -> list[tuple[object, ...]]:
    """The rows in an order of their own, since that of a table means nothing."""
    return sorted(found.rows(), key=repr)


def result(report: IngestSummary) -> dict[str, int]:
    return nonzero(report) | {"superseded": report.n_superseded, "bytes": report.n_bytes}


@pytest.mark.parametrize(
    "forms",
    [["logs.zip", "logs.jsonl"], pytest.param(FORMS, marks=pytest.mark.slow(seconds=5))],
    ids=["some", "all"],
)
def test_unchanged_archives_are_not_read_and_seen_the_same(
    lab: Lab, reads: list[str], forms: list[str]
) -> None:
    """Two sources can have the same paths, and files are merged in between."""
    sources = [lab.root / "one", lab.root / "two"]
    for name in forms:
        lab.write(f"one/{name}", packed(MEMBERS, name))
    lab.write("two/logs.zip", packed({"a/0.json": DILEMMA, "a/1.json": b"{"}, "logs.zip"))
    ingest(sources, lab.lake)
    read_once = sorted([*forms, "logs.zip"])
    assert sorted(reads) == read_once
    before = rows(lab.lake)

    again = ingest(sources, lab.lake, reread=True)
    expected = seen(lab.lake)
    n_rows = table(lab.lake, "documents").height
    assert sorted(reads) == sorted(2 * read_once)
    maintain(lab.lake)

    recalled = ingest(sources, lab.lake)
    assert sorted(reads) == sorted(2 * read_once)
    assert seen(lab.lake) == expected
    assert table(lab.lake, "documents").height == n_rows
    assert result(recalled) == result(again)
    assert canonical(recalled.faults) == canonical(again.faults)
    assert rows(lab.lake) == before
    assert set(table(lab.lake, "archives")["ingest_id"]) == {1}
    command = ["ingest", *map(str, sources), "--lake", str(lab.lake), "--dry-run"]
    assert main([*command, "--reread"]) == 0
    assert sorted(reads) == sorted(3 * read_once)


def test_what_was_refused_keeps_its_format_and_its_model(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a document does of which a row breaks a contract."""

    def refusing(games: Sequence[IdentifiedGame]) -> EventFrames:
        broken = {placed.game_id: RecordError("$", "a rule", "it breaks it") for placed in games}
        return EventFrames(build_event_frames(games).tables, broken)

    monkeypatch.setattr(pipeline.ingest.decode, "build_event_frames", refusing)
    talk = msgspec.json.encode(chatarena(ending="right"))
    lab.write("talk.tar", packed({"talk.json": talk, "0.json": CHAMELEON}, "talk.tar"))
    for reread in (True, False):
        report = ingest(lab.root, lab.lake, model="m-9", reread=reread)
        assert nonzero(report) == {"quarantined": 2}
    documents = table(lab.lake, "documents")
    assert documents["ingest_id"].to_list() == [1, 1]
    assert set(documents["assigned_model"]) == {"m-9", None}
    assert documents["format"].null_count() == 0


# What has to be read again


def encrypted(data: bytes) -> bytes:
    """A zip that says so of its last member."""
    place = data.rindex(b"PK\1\2") + 8
    return data[:place] + bytes([data[place] | 1]) + data[place + 1 :]


def two(name: str, second: Callable[..., object] = public_good) -> bytes:
    """Two games that no archive of another name has."""
    games = [msgspec.json.encode(game(model=ascii(name))) for game in (chameleon, second)]
    return packed({"0.json": games[0], "1.json": games[1]}, name)


# The archives of a folder, each with its data at three ingests, None for the same, and the ingests
# that read it: a disk's error passes, what nobody can read is tried again, and so is what is not
# noted, since it changed meanwhile, is small, or has parts with names of their own.
WHOLE, PIPE = two("whole.tar.zst"), b"a pipe"
ARCHIVES: dict[str, tuple[list[bytes | None], list[int]]] = {
    "a failure.zip": ([two("a failure.zip"), None, None], [1, 2]),
    "whole.tar.zst": ([WHOLE, None, None], [1]),
    "lines.jsonl": ([packed(MEMBERS, "lines.jsonl"), None, None], [1]),
    "broken off.tar.zst": ([WHOLE[: len(WHOLE) // 2], None, None], [1, 2, 3]),
    "nobody can.zip": (
        [encrypted(two("nobody can.zip")), None, two("nobody can.zip", prisoners_dilemma)],
        [1, 2, 3],
    ),
    "copy.tar": ([two("other.tar"), None, None], [1]),
    "other.tar": (
        [two("other.tar"), two("other.tar", prisoners_dilemma), two("other.tar")],
        [1, 2],
    ),
    "meanwhile.zip": ([two("meanwhile.zip"), None, None], [1, 2, 3]),
    "samples.log": ([json_log([sample(0, inspected(0))]), None, None], [1, 2, 3]),
    "small.jsonl": ([b"{}\n", None, None], [1, 2, 3]),
    "z.tar": ([two("z.tar"), PIPE, None], [1, 2, 3]),
}


@pytest.mark.slow
def test_an_archive_is_read_until_all_of_it_is_known(
    lab: Lab, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline.ingest.worker, "LARGE_ARCHIVE_BYTES", 10)
    instants, version = iter(range(99)), pipeline.ingest.resolve.file_change_key
    monkeypatch.setattr(
        pipeline.ingest.resolve,
        "file_change_key",
        lambda file: (next(instants),) if "meanwhile" in str(file) else version(file),
    )
    check_size, failures = pipeline.archives.check_size, iter([OSError(5, "a disk's")])

    def failing_once(n_bytes: int, limit: int) -> None:
        if error := next(failures, None):
            raise error
        check_size(n_bytes, limit)

    monkeypatch.setattr(pipeline.archives, "check_size", failing_once)
    expected = {name: ingests for name, (_, ingests) in ARCHIVES.items()}
    read_in: dict[str, list[int]] = {name: [] for name in expected}
    for number in range(3):
        for name, (data, _) in ARCHIVES.items():
            file = lab.root / name
            if data[number] == PIPE:
                file.unlink()
                os.mkfifo(file)
            elif content := data[number]:
                file.write_bytes(content)
        reads.clear()
        lab.ingest()
        for name in set(reads):
            read_in[name].append(number + 1)
    assert read_in == expected
    reads.clear()
    assert lab.rehearse()["unchanged"] > 10
    assert {*reads} == {name for name, ingests in expected.items() if 3 in ingests} - {
        "nobody can.zip"
    }
    # What is read again and again adds its rows once.
    seen = table(lab.lake, "documents").sort("ingest_id")
    of_file = {name: seen.filter(pl.col("path").str.starts_with(name)) for name in expected}
    assert sorted(of_file["a failure.zip"].filter(ingest_id=1)["status"])[1] == "quarantined"
    assert of_file["nobody can.zip"]["ingest_id"].to_list() == [1, 1, 3, 3]
    assert of_file["other.tar"]["ingest_id"].to_list() == [1, 1, 2, 2, 3]
    assert of_file["z.tar"]["status"].to_list() == ["ingested", "ingested", "ignored"]
    assert len(of_file["lines.jsonl"]) == len(MEMBERS)
    archives = table(lab.lake, "archives").sort("ingest_id")
    noted = {prefix[:-1]: sha for prefix, sha in archives.select("prefix", "sha256").iter_rows()}
    not_noted = {"broken off.tar.zst", "meanwhile.zip", "samples.log", "small.jsonl"}
    assert noted.keys() == ARCHIVES.keys() - not_noted
    for name in ("whole.tar.zst", "lines.jsonl", "copy.tar"):
        assert noted[name] == sha256((lab.root / name).read_bytes()).hexdigest()


@pytest.mark.slow
def test_files_whose_names_print_alike_are_not_noted(tmp_path: Path, reads: list[str]) -> None:
    logs, lake = tmp_path / "logs", tmp_path / "lake"
    logs.mkdir()
    for name in (b"x\xe9.tar", b"x\\udce9.tar"):
        (logs / os.fsdecode(name)).write_bytes(two("a.tar"))
    for _ in range(2):
        ingest(logs, lake)
    assert len(reads) == 4
    assert table(lake, "archives").is_empty()


@pytest.mark.slow
def test_an_archive_is_read_where_it_would_be_read_otherwise(
    lab: Lab, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = lab.write("logs.tar", packed(MEMBERS, "logs.tar"))
    given: dict[str, Any] = {"model": "m-9", "max_document": 2**20, "max_expanded": 2**20}
    ingest(file.parent, lab.lake, **given)
    ingest(file.parent, lab.lake, **given, dry_run=True)
    assert len(reads) == 1
    for option, value in given.items():
        ingest(file.parent, lab.lake, **(given | {option: 2 * value}), dry_run=True)
    assert len(reads) == 4
    monkeypatch.setattr(pipeline.ingest.worker, "hash_ingest_code", lambda: "0" * 64)
    ingest(file.parent, lab.lake, **given, dry_run=True)
    assert len(reads) == 5


@pytest.mark.slow
def test_an_archive_is_read_whose_game_the_lake_has_no_more(lab: Lab, reads: list[str]) -> None:
    """A game without a number gives way to one of the same bytes that has one."""
    lab.write("a.tar", packed({"x.json": CHAMELEON}, "a.tar"))
    lab.ingest()
    lab.write("0.json", CHAMELEON)
    assert lab.ingest().n_superseded == 1
    assert reads.count("a.tar") == 1
    lab.ingest()
    assert reads.count("a.tar") == 2
