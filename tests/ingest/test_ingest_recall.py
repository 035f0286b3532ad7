"""Archives that have not changed are not read again, and what comes of it is as if they were."""

import io
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import polars as pl
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lakes import Lab, nonzero, rows, table
from rawlogs import chameleon, prisoners_dilemma, public_good

import pipeline.ingest.recall
import pipeline.ingest.worker
from pipeline.archives import Unit, read_unit
from pipeline.ingest import Report, ingest
from pipeline.lake import create_lake

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


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files read by workers of this process."""
    found: list[str] = []

    def noted(unit: Unit, *arguments: object, **named: object) -> Iterator[object]:
        found.append(unit.path)
        return read_unit(unit, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline.ingest.worker, "read_unit", noted)
    return found


def last(lake: Path, name: str) -> list[tuple[object, ...]]:
    """The table's rows of the last ingest, but for its number."""
    found = table(lake, name)
    newest = found.filter(pl.col("ingest_id") == pl.col("ingest_id").max())
    return sorted(newest.drop("ingest_id").rows(), key=repr)


def told(report: Report) -> dict[str, int]:
    return nonzero(report) | {"superseded": report.n_superseded, "bytes": report.n_bytes}


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
    expected = last(lab.lake, "documents")
    assert reads == [name, name]

    recalled = ingest(source, lab.lake)
    assert reads == [name, name]
    assert last(lab.lake, "documents") == expected
    assert told(recalled) == told(again)
    assert recalled.faults.rows() == again.faults.rows()
    assert rows(lab.lake) == before
    archives = table(lab.lake, "archives")
    assert archives["ingest_id"].sort().to_list() == [1, 2, 3]
    assert archives.drop("ingest_id").n_unique() == 1


def test_a_rehearsal_recalls_as_well(lab: Lab, reads: list[str]) -> None:
    lab.write("logs.zip", packed(MEMBERS, "logs.zip"))
    lab.ingest()
    first = nonzero(lab.ingest())
    assert lab.rehearse() == first
    assert reads == ["logs.zip"]


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
    lab.write("empty.tar", bytes(10240))
    lab.ingest()
    assert table(lab.lake, "archives").select("n_bytes", "sha256").rows() == [
        (10240, "84ff92691f909a05b224e1c56abb4864f01b4f8e3c854e4bb4c7baf1d3f6d652")
    ]


# What has to be read again


def test_an_archive_of_other_bytes_is_read(lab: Lab, reads: list[str]) -> None:
    lab.write("logs.tar", packed(MEMBERS, "logs.tar"))
    lab.ingest()
    other = MEMBERS | {"a/0.json": MEMBERS["a/0.json"].replace(b"a", b"b", 1)}
    lab.write("logs.tar", packed(other, "logs.tar"))
    lab.ingest()
    lab.write("logs.tar", packed(MEMBERS, "logs.tar"))
    lab.ingest()
    assert reads == ["logs.tar"] * 3


def test_an_archive_is_read_where_it_would_be_read_otherwise(
    lab: Lab, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = lab.write("logs.tar", packed(MEMBERS, "logs.tar"))
    lab.ingest()
    ingest(file.parent, lab.lake, model="m-9")
    ingest(file.parent, lab.lake, max_document=100)
    ingest(file.parent, lab.lake, max_expanded=2**20)
    assert len(reads) == 4
    ingest(file.parent, lab.lake, max_expanded=2**20)
    assert len(reads) == 4
    monkeypatch.setattr(pipeline.ingest.recall, "__version__", "later")
    lab.ingest()
    assert len(reads) == 5


def test_an_archive_is_read_whose_game_the_lake_has_no_more(lab: Lab, reads: list[str]) -> None:
    game = {"0.json": CHAMELEON}
    lab.write("a.tar", packed(game, "a.tar"))
    lab.ingest()
    held = table(lab.lake, "games")["game_id"]
    again = ingest([], lab.lake, again=held, documents=[])
    assert not nonzero(again)
    report = ingest(lab.root, lab.lake, again=held)
    assert reads == ["a.tar"] * 2
    assert nonzero(report) == {"ingested": 1}


def test_an_archive_that_breaks_off_is_read_each_time(lab: Lab, reads: list[str]) -> None:
    whole = packed(MEMBERS, "logs.tar.zst")
    lab.write("logs.tar.zst", whole[: len(whole) // 2])
    lab.ingest()
    lab.ingest()
    assert reads == ["logs.tar.zst"] * 2
    assert table(lab.lake, "archives").is_empty()


def test_an_archive_that_changes_meanwhile_is_not_noted(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = iter(range(9))
    monkeypatch.setattr(pipeline.ingest.recall, "version", lambda file: (next(versions),))
    lab.write("logs.zip", packed(MEMBERS, "logs.zip"))
    lab.ingest()
    assert table(lab.lake, "archives").is_empty()


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


# Any history

DOCUMENTS = [CHAMELEON, PUBLIC_GOOD, DILEMMA, b"{", b"[]"]
STEP = st.tuples(
    st.dictionaries(st.sampled_from(["0.json", "1.json", "x.json"]), st.sampled_from(DOCUMENTS)),
    st.sampled_from(["a.tar", "b.jsonl"]),
    st.sampled_from([None, "m-9"]),
)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEP, min_size=1, max_size=3))
def test_recalling_is_as_reading_whatever_came_before(
    steps: list[tuple[Members, str, str | None]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    top = tmp_path_factory.mktemp("histories")
    logs, lakes = top / "logs", [top / "read", top / "recalled"]
    logs.mkdir()
    for lake in lakes:
        create_lake(lake)
    for members, name, model in steps:
        (logs / name).write_bytes(packed(members, name))
        for _ in range(2):
            read, recalled = (
                ingest(logs, lake, model=model, reread=lake == lakes[0]) for lake in lakes
            )
            assert told(read) == told(recalled)
            assert last(lakes[0], "documents") == last(lakes[1], "documents")
    assert rows(lakes[0]) == rows(lakes[1])
