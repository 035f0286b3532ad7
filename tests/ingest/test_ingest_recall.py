"""Archives that have not changed are not read again, and what comes of it is as if they were."""

import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import polars as pl
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lakes import Lab, nonzero, rows, table
from rawlogs import chameleon, chatarena, prisoners_dilemma, public_good

import pipeline.archives.containers
import pipeline.ingest.decode
import pipeline.ingest.recall
import pipeline.ingest.tasks
import pipeline.ingest.worker
from pipeline.archives import Unit, read_unit
from pipeline.cli import main
from pipeline.events.frames import Frames, IdentifiedGame, frames
from pipeline.game import Fault
from pipeline.ingest import IngestSummary, ingest
from pipeline.ingest.retry import retry
from pipeline.lake import create_lake
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
    data = io.BytesIO()
    if ".jsonl" in name:
        data.write(b"\n".join(members.values()))
    elif ".zip" in name:
        with zipfile.ZipFile(data, "w") as archive:
            for path, content in members.items():
                archive.writestr(zipfile.ZipInfo(path), content)
    else:
        with tarfile.open(fileobj=data, mode="w") as archive:
            for path, content in members.items():
                entry = tarfile.TarInfo(path)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return zstandard.compress(data.getvalue()) if name.endswith(".zst") else data.getvalue()


@pytest.fixture(autouse=True)
def _all_archives_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline.ingest.tasks, "LAST_ARCHIVE_BYTES", 0)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files read by workers of this process."""
    found: list[str] = []

    def noted(unit: Unit, *arguments: object, **named: object) -> Iterator[object]:
        found.append(unit.path)
        return read_unit(unit, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline.ingest.worker, "read_unit", noted)
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


@pytest.mark.long
@pytest.mark.parametrize("is_given", [True, False], ids=["given", "in a folder"])
@pytest.mark.parametrize("name", FORMS)
def test_an_unchanged_archive_is_not_read_and_seen_the_same(
    lab: Lab, reads: list[str], name: str, *, is_given: bool
) -> None:
    file = lab.write(name, packed(MEMBERS, name))
    source = file if is_given else lab.root
    ingest(source, lab.lake)
    assert reads == [name]
    before = rows(lab.lake)

    again = ingest(source, lab.lake, reread=True)
    expected = seen(lab.lake)
    n_rows = table(lab.lake, "documents").height
    assert reads == [name, name]

    recalled = ingest(source, lab.lake)
    assert reads == [name, name]
    assert seen(lab.lake) == expected
    assert table(lab.lake, "documents").height == n_rows
    assert result(recalled) == result(again)
    assert canonical(recalled.faults) == canonical(again.faults)
    assert rows(lab.lake) == before
    assert table(lab.lake, "archives")["ingest_id"].to_list() == [1]


@pytest.mark.slow
def test_a_rehearsal_recalls_as_well(lab: Lab, reads: list[str]) -> None:
    lab.write("logs.zip", packed(MEMBERS, "logs.zip"))
    lab.ingest()
    first = nonzero(lab.ingest())
    assert lab.rehearse() == first
    assert reads == ["logs.zip"]


@pytest.mark.slow
def test_a_history_of_an_archive_and_what_is_around_it(lab: Lab, reads: list[str]) -> None:
    """Two sources can have the same paths, and refusals are tried again in between."""
    sources = [lab.root / "one", lab.root / "two"]
    for source, game in zip(sources, (CHAMELEON, PUBLIC_GOOD), strict=True):
        lab.write(f"{source.name}/logs.tar", packed({"x.json": game, "y.json": b"{"}, "logs.tar"))
    ingest(sources, lab.lake)
    retry(lab.lake)
    maintain(lab.lake)
    assert len(reads) == 2
    before = rows(lab.lake)
    report = ingest(sources, lab.lake)
    assert nonzero(report) == {"unchanged": 2, "quarantined": 2}
    assert len(reads) == 2
    assert rows(lab.lake) == before


def test_an_archive_tells_what_is_its_own(lab: Lab) -> None:
    lab.write("one/logs.tar.zst", packed(MEMBERS, "logs.tar.zst"))
    lab.write("one/logs.jsonl", packed(MEMBERS, "logs.jsonl"))
    lab.write("one/a.json", chameleon())
    lab.ingest()
    archives = table(lab.lake, "archives").sort("prefix")
    assert archives["prefix"].to_list() == ["one/logs.jsonl#", "one/logs.tar.zst/"]
    seen = table(lab.lake, "documents")
    n_inside = [
        seen.filter(pl.col("path").str.starts_with(prefix)).height for prefix in archives["prefix"]
    ]
    assert n_inside == [7, 7]


def test_the_hash_of_an_archive_is_that_of_its_bytes(lab: Lab) -> None:
    # As sha256sum tells it.
    lab.write("line.jsonl", b"{}\n")
    lab.ingest()
    assert table(lab.lake, "archives").select("n_bytes", "sha256").rows() == [
        (3, "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356")
    ]


def test_what_was_refused_keeps_its_format_and_its_model(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a document does of which a row breaks a contract."""

    def refusing(games: Sequence[IdentifiedGame]) -> Frames:
        broken = {placed.game_id: Fault("$", "a rule", "it breaks it") for placed in games}
        return Frames(frames(games).tables, broken)

    monkeypatch.setattr(pipeline.ingest.decode, "frames", refusing)
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


def test_an_archive_of_other_bytes_is_read(lab: Lab, reads: list[str]) -> None:
    """Though the lake has all of its games, since the folder has copies of them."""
    lab.write("copies/0.json", CHAMELEON)
    lab.write("copies/1.json", PUBLIC_GOOD)
    for game in (CHAMELEON, PUBLIC_GOOD):
        lab.write("logs.tar", packed({"x.json": game}, "logs.tar"))
        lab.ingest()
    assert reads.count("logs.tar") == 2
    lab.write("logs.tar", packed({"x.json": CHAMELEON}, "logs.tar"))
    lab.ingest()
    assert reads.count("logs.tar") == 2
    held = table(lab.lake, "documents").filter(path="logs.tar/x.json").sort("ingest_id")
    games = dict(table(lab.lake, "games").select("game_id", "game_type").iter_rows())
    assert [games[game] for game in held["game_id"]] == ["chameleon", "public_good", "chameleon"]


@pytest.mark.long
def test_an_archive_is_read_where_it_would_be_read_otherwise(
    lab: Lab, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = lab.write("logs.tar", packed(MEMBERS, "logs.tar"))
    lab.ingest()
    ingest(file.parent, lab.lake, model="m-9")
    ingest(file.parent, lab.lake, max_document=2**20)
    ingest(file.parent, lab.lake, max_expanded=2**20)
    assert len(reads) == 4
    ingest(file.parent, lab.lake, max_expanded=2**20)
    assert len(reads) == 4
    monkeypatch.setattr(pipeline.ingest.worker, "code_sha256", lambda: "0" * 64)
    lab.ingest()
    assert len(reads) == 5


@pytest.mark.slow
def test_reread_is_asked_for_on_the_command_line(lab: Lab, reads: list[str]) -> None:
    lab.write("logs.tar", packed(MEMBERS, "logs.tar"))
    command = ["ingest", str(lab.root), "--lake", str(lab.lake), "--jobs", "1"]
    assert [main(command), main(command)] == [0, 0]
    assert len(reads) == 1
    assert main([*command, "--reread"]) == 0
    assert len(reads) == 2


@pytest.mark.slow
def test_an_archive_is_read_whose_game_the_lake_has_no_more(lab: Lab, reads: list[str]) -> None:
    lab.write("a.tar", packed({"0.json": CHAMELEON}, "a.tar"))
    lab.ingest()
    held = table(lab.lake, "games")["game_id"]
    report = ingest(lab.root, lab.lake, again=held)
    assert reads == ["a.tar"] * 2
    assert nonzero(report) == {"ingested": 1}


@pytest.mark.slow
def test_an_archive_that_breaks_off_is_read_each_time(lab: Lab, reads: list[str]) -> None:
    whole = packed(MEMBERS, "logs.tar.zst")
    lab.write("logs.tar.zst", whole[: len(whole) // 2])
    lab.ingest()
    lab.ingest()
    assert reads == ["logs.tar.zst"] * 2
    assert table(lab.lake, "archives").is_empty()


def test_a_member_that_could_not_be_read_is_read_again(
    lab: Lab, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk's error can pass."""
    lab.write("logs.zip", packed({"0.json": CHAMELEON, "1.json": PUBLIC_GOOD}, "logs.zip"))
    with monkeypatch.context() as patch:
        patch.setattr(pipeline.archives.containers, "check_size", failing())
        assert lab.counts() == {"ingested": 1, "quarantined": 1}
    assert lab.counts() == {"ingested": 1, "unchanged": 1}
    assert len(reads) == 2


def test_what_is_read_each_night_adds_its_rows_once(lab: Lab, reads: list[str]) -> None:
    """As an archive with a member that nobody can read; until something in it changes."""
    data = bytearray(packed({"0.json": CHAMELEON, "1.json": PUBLIC_GOOD}, "logs.zip"))
    data[data.rindex(b"PK\1\2") + 8] |= 1  # it says that its last member is encrypted
    lab.write("logs.zip", bytes(data))
    for _ in range(3):
        lab.ingest()
    assert reads == ["logs.zip"] * 3
    assert table(lab.lake, "documents")["ingest_id"].to_list() == [1, 1]
    assert table(lab.lake, "archives")["ingest_id"].to_list() == [1]
    lab.write("logs.zip", packed({"0.json": CHAMELEON, "1.json": DILEMMA}, "logs.zip"))
    for _ in range(2):
        lab.ingest()
    assert reads == ["logs.zip"] * 4
    assert table(lab.lake, "documents")["ingest_id"].sort().to_list() == [1, 1, 4, 4]
    assert table(lab.lake, "archives")["ingest_id"].sort().to_list() == [1, 4]


def failing() -> Callable[[int, int], None]:
    """A check that fails once, as a disk does."""
    errors = iter([OSError(5, "Input/output error")])

    def check(n_bytes: int, limit: int) -> None:
        for error in errors:
            raise error

    return check


def test_an_archive_that_changes_meanwhile_is_not_noted(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = iter(range(9))
    monkeypatch.setattr(pipeline.ingest.recall, "version", lambda file: (next(versions),))
    lab.write("logs.zip", packed(MEMBERS, "logs.zip"))
    lab.ingest()
    assert table(lab.lake, "archives").is_empty()


def test_files_whose_names_print_alike_are_not_noted(tmp_path: Path, reads: list[str]) -> None:
    logs, lake = tmp_path / "logs", tmp_path / "lake"
    logs.mkdir()
    for name in (b"x\xe9.tar", b"x\\udce9.tar"):
        (logs / os.fsdecode(name)).write_bytes(packed({"0.json": CHAMELEON}, "a.tar"))
    for _ in range(2):
        ingest(logs, lake)
    assert len(reads) == 4
    assert table(lake, "archives").is_empty()


@pytest.mark.slow
def test_a_pipe_in_an_archives_place_is_not_waited_for(lab: Lab) -> None:
    file = lab.write("logs.tar", packed(MEMBERS, "logs.tar"))
    lab.write("a.json", CHAMELEON)
    lab.ingest()
    file.unlink()
    os.mkfifo(file)
    assert lab.counts() == {"unchanged": 1, "ignored": 1}


def test_a_file_beside_an_archive_is_not_in_it(lab: Lab) -> None:
    """A log can be called as if it were a line of another, and a file that is none."""
    lab.write("b.jsonl", CHAMELEON)
    lab.write("b.jsonl#x.json", PUBLIC_GOOD)
    lab.write("b.jsonl#7", b"")
    lab.ingest()
    lab.write("b.jsonl#x.json", DILEMMA)
    report = lab.ingest()
    assert nonzero(report) == {"replacing": 1, "unchanged": 1, "ignored": 1}
    assert report.n_superseded == 1


@pytest.mark.long
def test_a_refused_document_is_read_whose_fault_the_lake_has_not(
    lab: Lab, reads: list[str]
) -> None:
    """As when the document was refused in a folder above, under another name of its source."""
    lab.write("sub/logs.zip", packed(MEMBERS, "logs.zip"))
    lab.ingest()
    lab.ingest("sub")
    lab.ingest("sub")
    assert len(reads) == 3
    assert lab.counts() == nonzero(lab.ingest("sub"))


def test_a_small_archive_is_read_where_the_others_are(
    lab: Lab, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To look it up would take longer."""
    monkeypatch.setattr(pipeline.ingest.tasks, "LAST_ARCHIVE_BYTES", 2**20)
    lab.write("logs.zip", packed(MEMBERS, "logs.zip"))
    lab.ingest()
    lab.ingest()
    assert len(reads) == 2


# Any history

DOCUMENTS = [CHAMELEON, PUBLIC_GOOD, DILEMMA, b"{", b"[]"]
NAMES = ["a.tar", "b.jsonl", "b.jsonl#x.json", "c/0.json"]
STEP = st.tuples(
    st.dictionaries(st.sampled_from(["0.json", "1.json", "x.json"]), st.sampled_from(DOCUMENTS)),
    st.sampled_from(NAMES),
    st.sampled_from([None, "m-9"]),
    st.booleans(),
)


@pytest.mark.long
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEP, min_size=1, max_size=4))
def test_recalling_is_as_reading_whatever_came_before(
    steps: list[tuple[Members, str, str | None, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    top = tmp_path_factory.mktemp("histories")
    logs, lakes = top / "logs", [top / "read", top / "recalled"]
    (logs / "c").mkdir(parents=True)
    for lake in lakes:
        create_lake(lake)
    for members, name, model, is_given in steps:
        file = logs / name
        is_plain = file.suffix == ".json"
        file.write_bytes(next(iter(members.values()), b"[]") if is_plain else packed(members, name))
        for source in [file if is_given else logs, logs]:
            rehearsed, read, recalled = (
                ingest(source, lake, model=model, reread=lake == lakes[0], dry_run=dry_run)
                for lake, dry_run in ((lakes[1], True), (lakes[0], False), (lakes[1], False))
            )
            assert result(rehearsed) == result(read) == result(recalled)
            assert canonical(read.faults) == canonical(recalled.faults)
            assert seen(lakes[0]) == seen(lakes[1])
    assert rows(lakes[0]) == rows(lakes[1])
