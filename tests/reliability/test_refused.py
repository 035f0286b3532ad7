"""What was refused: `magic quarantine --export` writes it out, and an ingest reads it again."""

import json
from pathlib import Path

import polars as pl
import pytest
from lakes import Lab, check, nonzero, rows, table
from rawlogs import chameleon, chatarena, encode, public_good
from test_archives import tar

from pipeline.archives.sources import extension_for_exported_document
from pipeline.cli import main
from pipeline.errors import UsageError
from pipeline.formats.sniffer import invalid_document_error
from pipeline.game_record import RecordError
from pipeline.ingest import decode, ingest
from pipeline.ingest.export import MANIFEST_FILE_NAME, export_quarantine
from pipeline.lake import StoredLake, open_lake, open_or_create_lake
from pipeline.reports.completeness import completeness
from pipeline.verify import verify

BROKEN = b'{"history": ['


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab(tmp_path / "logs", tmp_path / "lake")
    open_or_create_lake(lab.lake)
    lab.root.mkdir()
    return lab


def faulty() -> object:
    """A game of which a part is missing."""
    log = chameleon(model="faulty")
    del log["consistency_metric"]
    return log


def refuse_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier version, that could read less: no Public Good, and no analyses of roles."""
    game = decode.read_game

    def read(data: bytes, model: str | None, path: str) -> object:
        found = game(data, model, path)
        if found is not None and found.game_type == "public_good":
            raise invalid_document_error("$", "it can be read", "not yet")
        if found is not None and found.game_type == "chameleon":
            found.role_analyses.clear()
            found.faults.append(RecordError("$.pgm_metric", "it can be read", "not yet"))
        return found

    monkeypatch.setattr(decode, "read_game", read)


# Written out


def test_export_writes_the_bytes_and_says_where_each_is_from(lab: Lab, tmp_path: Path) -> None:
    """Names of an archive are no paths."""
    names = ("../../evil.json", "/etc/evil.json", "a\nb/\x1b[2J.json")
    evil = {name: BROKEN + name.encode() for name in names}
    long = BROKEN + b" " * 2**17
    whole = {"a.json": BROKEN, "b.json": long, "c.json": encode(faulty())}
    for path, data in (whole | {"evil.tar": tar(evil)}).items():
        lab.write(path, data)
    lab.ingest()
    before = set(tmp_path.rglob("*"))
    manifest = export_quarantine(lab.lake, tmp_path / "out")
    result = json.loads((tmp_path / "out" / MANIFEST_FILE_NAME).read_bytes())
    assert result == manifest.to_dicts()
    by_path = {row["path"]: row for row in result}
    written = whole | {f"evil.tar/{name}": data for name, data in evil.items()}
    assert set(by_path) == set(written)
    for path, row in by_path.items():
        data = (tmp_path / "out" / row["file"]).read_bytes()
        assert data == written[path][: decode.MAX_STORED_RAW_BYTES]
        assert (row["n_bytes"], row["n_written"]) == (len(written[path]), len(data))
        assert row["is_cut"] == row["file"].endswith(".cut") == (path == "b.json")
        assert (row["game_id"] is not None) == (path == "c.json")
    made = {path.relative_to(tmp_path / "out").name for path in set(tmp_path.rglob("*")) - before}
    assert made == {"", MANIFEST_FILE_NAME, *(row["file"] for row in result)}


@pytest.mark.parametrize(
    ("path", "ending"),
    [
        *(("a.json", ".json"), ("A.CSV#17", ".csv"), ("x.tar/a.txt.gz#0", ".txt")),
        *(("a.jsonl", ".jsonl"), ("a.jsonl#2", ".json"), ("a.json#2", ".json")),
        *(("a.csv (2)#3", ".csv"), ("a.evil", ".json"), ("a.csv/../evil", ".json")),
    ],
)
def test_a_part_is_exported_as_a_file_of_its_own_kind(path: str, ending: str) -> None:
    assert extension_for_exported_document(path) == ending


def test_export_overwrites_nothing(lab: Lab, tmp_path: Path) -> None:
    """Also where there is nothing to export: an empty folder is filled, no other."""
    assert export_quarantine(lab.lake, tmp_path / "new").is_empty()
    assert json.loads((tmp_path / "new" / MANIFEST_FILE_NAME).read_bytes()) == []
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        export_quarantine(lab.lake, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


# Ingested again


@pytest.mark.slow
def test_what_a_later_version_reads_is_ingested_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lake is then the one that the later version would have made at once."""
    lab.write("0.json", public_good())
    lab.write("talk/a.json", chatarena())
    lab.write("b.json", chameleon(model="whole"))
    lab.write("c.json", faulty())
    lab.write("torn.json", BROKEN)
    expected = lab.lake.parent / "expected"
    ingest(lab.root, expected, model="talker")
    with monkeypatch.context() as earlier:
        refuse_everything(earlier)
        lab.ingest()
    assert table(lab.lake, "games").height == 2
    assert table(lab.lake, "role_analyses").is_empty()
    # Games of which only a part was refused are known, so they wait to be asked for.
    found = ingest(lab.root, lab.lake, model="talker")
    assert nonzero(found) == {"ingested": 2, "unchanged": 2, "quarantined": 1}
    found = ingest(lab.root, lab.lake, model="talker", reread=True)
    assert (nonzero(found), found.n_superseded) == (
        {"ingested": 2, "unchanged": 2, "quarantined": 1},
        2,
    )
    check(lab.lake)
    provenance = ("ingest_id",)
    assert rows(lab.lake, without=provenance) == rows(expected, without=provenance)
    # Of these one has a part that is refused for good: it takes its own place.
    found = ingest(lab.root, lab.lake, model="talker", reread=True)
    assert (nonzero(found), found.n_superseded) == (
        {"ingested": 1, "unchanged": 3, "quarantined": 1},
        1,
    )
    assert rows(lab.lake, without=provenance) == rows(expected, without=provenance)


@pytest.mark.slow
def test_a_game_is_not_given_up_that_a_later_version_refuses(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is its part forgotten; once it can be read again, only that is in quarantine."""
    lab.write("c.json", faulty())
    lab.ingest()
    before = rows(lab.lake, without=("ingest_id",))

    def refuse(data: bytes, model: str | None, path: str) -> object:
        raise invalid_document_error("$", "it can be read", "not any more")

    for reread in (True, False):
        with monkeypatch.context() as later:
            later.setattr(decode, "read_game", refuse)
            assert nonzero(ingest(lab.root, lab.lake, reread=True)) == {"quarantined": 1}
        assert table(lab.lake, "games").height == 1
        assert table(lab.lake, "quarantine")["game_id"].null_count() == 1
        assert verify(lab.lake).faults.is_empty()
        ingest(lab.root, lab.lake, reread=reread)
        assert rows(lab.lake, without=("ingest_id",)) == before
    check(lab.lake)


@pytest.mark.slow
def test_what_was_too_large_is_read_with_a_higher_limit(lab: Lab) -> None:
    """Alone, and in an archive, of which the rest is unchanged."""
    long = encode(public_good()) + b" " * 2**17
    lab.write("0.json", long)
    lab.write("a.tar", tar({"x/1.json": long, "x/2.json": encode(chameleon())}))
    ingest(lab.root, lab.lake, max_document=2**16)
    assert table(lab.lake, "quarantine").height == 2
    assert lab.counts() == {"ingested": 2, "unchanged": 1}
    assert table(lab.lake, "quarantine").is_empty()
    check(lab.lake)


@pytest.mark.slow
def test_the_rest_of_a_mended_archive_is_ingested(lab: Lab) -> None:
    talk = encode(chatarena())
    file = lab.write("logs.tar", tar({"talk.json": talk, "1.json": encode(chameleon())}))
    whole = file.read_bytes()
    file.write_bytes(whole[: 2**10 + len(talk)])
    assert nonzero(lab.ingest(model="me")) == {"ingested": 1, "quarantined": 1}
    assert nonzero(lab.ingest(model="me")) == {"unchanged": 1, "quarantined": 1}
    file.write_bytes(whole)
    assert nonzero(lab.ingest(model="me")) == {"ingested": 1, "unchanged": 1}
    check(lab.lake)


@pytest.mark.slow
def test_a_replaced_game_gives_way_to_what_was_refused(lab: Lab) -> None:
    """The path holds a broken document, which kept its old game, and now can be read."""
    lab.write("a.json", chameleon(model="old"))
    lab.ingest()
    lab.write("a.json", chatarena())
    lab.ingest()
    assert set(table(lab.lake, "results")["model"]) == {"old"}
    assert nonzero(lab.ingest(model="new")) == {"replacing": 1}
    assert set(table(lab.lake, "results")["model"]) == {"new"}
    check(lab.lake)


# The command


def test_the_command(lab: Lab, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    lab.write("talk.json", chatarena())
    lab.write("torn.json", BROKEN)
    lab.ingest()

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main(["quarantine", "--lake", str(lab.lake), *map(str, arguments)])
        result = capsysbinary.readouterr()
        return code, result.out.decode(), result.err.decode()

    code, out, err = run("--export", tmp_path / "out", "--format", "json")
    assert (code, len(json.loads(out))) == (0, 2)
    assert "2 documents, 0 cut and 0 never read" in err
    assert run("--export", tmp_path / "out")[0] == 2
    assert run("--export", tmp_path / "new", "--raw")[0] == 2


# What is refused no more


@pytest.mark.slow
def test_a_copy_of_a_game_is_refused_no_more(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though a part of the game itself is, and of the copy as well each time it is decoded."""

    def refuse(data: bytes, model: str | None, path: str) -> object:
        raise invalid_document_error("$", "it can be read", "not yet")

    lab.write("x.json", faulty())
    with monkeypatch.context() as patch:
        patch.setattr(decode, "read_game", refuse)
        assert nonzero(lab.ingest()) == {"quarantined": 1}
    lab.write("5.json", faulty())
    ingest(lab.root / "5.json", lab.lake)
    assert set(table(lab.lake, "quarantine")["path"]) == {"5.json", "x.json"}
    for _ in range(2):
        lab.ingest()
        assert table(lab.lake, "quarantine")["path"].to_list() == ["5.json"]
    check(lab.lake)


# What is told without the bytes


@pytest.fixture
def no_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails whoever reads the documents in quarantine, which can be more than fits into memory."""

    def refuse(raw: pl.Series) -> pl.Series:
        raise AssertionError("the documents were read")

    table = StoredLake.table

    def without(lake: StoredLake, name: str) -> pl.LazyFrame:
        found = table(lake, name)
        if name != "quarantine":
            return found
        return found.with_columns(pl.col("raw").map_batches(refuse, pl.Binary()))

    monkeypatch.setattr(StoredLake, "table", without)


@pytest.mark.usefixtures("no_bytes")
def test_the_list_reads_no_documents(lab: Lab, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Nor does completeness: there are one part of a game, and one document of nobody."""
    lab.write("a.json", BROKEN)
    lab.write("b.json", faulty())
    lab.ingest()
    assert main(["quarantine", "--lake", str(lab.lake), "--format", "json"]) == 0
    result = json.loads(capsysbinary.readouterr().out)
    assert sorted(row["path"] for row in result) == ["a.json", "b.json"]
    assert set(result[0]) == {"source", "path", "json_path", "rule", "message"}
    assert completeness(open_lake(lab.lake))["n_quarantined"].to_list() == [1, 1]
