"""`magic quarantine --export` and `--retry`: what was refused comes out, and goes in again."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from lakes import Lab, check, nonzero, rows, table
from rawlogs import chameleon, chatarena, encode, moderate, public_good
from test_archives import tar

from pipeline.archives.names import document_ending
from pipeline.cli import main
from pipeline.errors import UsageError
from pipeline.formats.broken import WELL_FORMED, broken
from pipeline.game import Fault
from pipeline.ingest import decode, ingest
from pipeline.ingest.export import MANIFEST, export
from pipeline.ingest.retry import retry
from pipeline.lake import StoredLake, create_lake, open_lake
from pipeline.reports.completeness import completeness

BROKEN = b'{"history": ['


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    lab = Lab(tmp_path / "logs", tmp_path / "lake")
    create_lake(lab.lake)
    lab.root.mkdir()
    return lab


def faulty() -> object:
    """A game of which a part is missing."""
    log = chameleon(model="faulty")
    del log["consistency_metric"]
    return log


def refuse_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier version, that could read less: no Public Good, and no analyses of roles."""
    game = decode.read

    def read(data: bytes, model: str | None, path: str) -> object:
        found = game(data, model, path)
        if found is not None and found.game_type == "public_good":
            raise broken("$", "it can be read", "not yet")
        if found is not None and found.game_type == "chameleon":
            found.role_analyses.clear()
            found.faults.append(Fault("$.pgm_metric", "it can be read", "not yet"))
        return found

    monkeypatch.setattr(decode, "read", read)


# Written out


def test_export_writes_the_bytes_and_says_where_each_is_from(lab: Lab, tmp_path: Path) -> None:
    long = BROKEN + b" " * 2**17
    written = {"a.json": BROKEN, "b.json": long, "c.json": encode(faulty())}
    for path, data in written.items():
        lab.write(path, data)
    lab.ingest()
    manifest = export(lab.lake, tmp_path / "out")
    result = json.loads((tmp_path / "out" / MANIFEST).read_bytes())
    assert result == manifest.to_dicts()
    by_path = {row["path"]: row for row in result}
    assert set(by_path) == set(written)
    for path, row in by_path.items():
        data = (tmp_path / "out" / row["file"]).read_bytes()
        assert data == written[path][: decode.RAW_LIMIT]
        assert (row["n_bytes"], row["n_written"]) == (len(written[path]), len(data))
    assert {path: row["is_cut"] for path, row in by_path.items()} == {
        "a.json": False,
        "b.json": True,
        "c.json": False,
    }
    assert by_path["b.json"]["file"].endswith(".cut")
    assert by_path["c.json"]["game_id"] is not None
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {MANIFEST, *(row["file"] for row in result)}


@pytest.mark.parametrize(
    ("path", "ending"),
    [
        *(("a.json", ".json"), ("A.CSV#17", ".csv"), ("x.tar/a.txt.gz#0", ".txt")),
        *(("a.jsonl", ".jsonl"), ("a.jsonl#2", ".json"), ("a.json#2", ".json")),
        *(("a.csv (2)#3", ".csv"), ("a.evil", ".json"), ("a.csv/../evil", ".json")),
    ],
)
def test_a_part_is_exported_as_a_file_of_its_own_kind(path: str, ending: str) -> None:
    assert document_ending(path) == ending


@pytest.mark.slow
@pytest.mark.parametrize("name", ["../../evil.json", "/etc/evil.json", "a\nb/\x1b[2J.json"])
def test_names_of_an_archive_are_no_paths(lab: Lab, tmp_path: Path, name: str) -> None:
    lab.write("a.tar", tar({name: BROKEN}))
    lab.ingest()
    before = set(tmp_path.rglob("*"))
    export(lab.lake, tmp_path / "out")
    made = {path.name for path in set(tmp_path.rglob("*")) - before}
    assert made == {"out", MANIFEST, "document-000001.json"}


def test_export_overwrites_nothing(lab: Lab, tmp_path: Path) -> None:
    lab.write("a.json", BROKEN)
    lab.ingest()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        export(lab.lake, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def test_export_of_nothing(lab: Lab, tmp_path: Path) -> None:
    assert export(lab.lake, tmp_path / "out").is_empty()
    assert json.loads((tmp_path / "out" / MANIFEST).read_bytes()) == []


# Ingested again


@pytest.mark.slow
def test_what_a_later_version_reads_is_ingested_without_its_source(
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
    shutil.rmtree(lab.root)
    retried = retry(lab.lake, model="talker")
    assert nonzero(retried.report) == {"ingested": 4}
    assert (retried.n_left, retried.gone) == (1, [])
    check(lab.lake)
    provenance = ("ingest_id",)
    assert rows(lab.lake, without=provenance) == rows(expected, without=provenance)


def test_what_is_tried_again_and_what_is_left_alone(lab: Lab, tmp_path: Path) -> None:
    lab.write("broken.json", BROKEN)
    lab.write("faulty.json", faulty())
    lab.write("talk.json", chatarena())
    # Too large to be read: what is broken all the same, what goes, and what an archive holds.
    lab.write("long.json", BROKEN + b" " * 2**17)
    gone = lab.write("gone.json", encode(public_good()) + b" " * 2**17)
    archive = lab.write("a.tar", tar({"../../secret.json": b"{" + b" " * (2**17 - 1)}))
    ingest(lab.root, lab.lake, max_document=2**16)
    manifest = {row["path"]: row for row in export(lab.lake, tmp_path / "out").to_dicts()}
    never_read = manifest["long.json"]
    assert (never_read["file"], never_read["is_cut"], never_read["n_written"]) == (
        None,
        False,
        None,
    )
    # The path leads nowhere else, not even where a folder has come to stand in its place.
    (tmp_path / "secret.json").write_bytes(encode(public_good()))
    for file in (gone, archive):
        file.unlink()
    archive.mkdir()
    retried = retry(lab.lake)
    assert nonzero(retried.report) == {"quarantined": 1}
    assert retried.gone[1:] == [str(gone)]
    assert table(lab.lake, "quarantine").filter(path="long.json")["rule"].to_list() == [WELL_FORMED]
    before = rows(lab.lake, but_for=())
    for _ in range(2):
        retried = retry(lab.lake)
        assert (retried.report, retried.n_left) == (None, 4)
        assert rows(lab.lake, but_for=()) == before
    # One log lacked only a model.
    assert nonzero(retry(lab.lake, model="talker").report) == {"ingested": 1}
    assert set(table(lab.lake, "games")["assigned_model"]) == {"talker", None}
    assert retry(lab.lake).report is None


@pytest.mark.slow
def test_a_document_that_the_lake_has_cut_is_read_from_its_source(lab: Lab) -> None:
    """Alone, and in an archive, of which the rest is unchanged."""
    long = encode(public_good()) + b" " * 2**17
    lab.write("0.json", long)
    lab.write("a.tar", tar({"x/1.json": long, "x/2.json": encode(chameleon())}))
    ingest(lab.root, lab.lake, max_document=2**16)
    assert table(lab.lake, "quarantine").height == 2
    retried = retry(lab.lake)
    assert nonzero(retried.report) == {"ingested": 2}
    assert table(lab.lake, "quarantine").is_empty()
    assert table(lab.lake, "games").select("source").n_unique() == 1
    check(lab.lake)


@pytest.mark.slow
def test_what_is_beside_a_cut_document_is_left_alone(lab: Lab) -> None:
    """The good logs do not say who played, and this time nobody does."""
    long = BROKEN + b" " * 2**17
    talks = {f"{seat}.json": encode(chatarena(hidden=f"Player {seat}")) for seat in (1, 2)}
    lab.write("logs.tar", tar({**talks, "long.json": long}))
    assert nonzero(lab.ingest(model="me")) == {"ingested": 2, "quarantined": 1}
    before = rows(lab.lake, but_for=())
    for _ in range(2):
        retried = retry(lab.lake)
        assert (retried.report, retried.n_left, retried.gone) == (None, 1, [])
        assert rows(lab.lake, but_for=()) == before
    lab.write("logs.tar", tar({**talks, "long.json": encode(public_good()) + b" " * 2**17}))
    retried = retry(lab.lake)
    assert nonzero(retried.report) == {"ingested": 1}
    assert set(table(lab.lake, "games")["assigned_model"]) == {"me", None}
    check(lab.lake)


@pytest.mark.slow
def test_a_cut_document_that_its_archive_lost_is_gone(lab: Lab) -> None:
    lab.write("logs.tar", tar({"a.json": BROKEN + b" " * 2**17, "b.json": encode(chameleon())}))
    lab.ingest()
    file = lab.write("logs.tar", tar({"b.json": encode(chameleon())}))
    retried = retry(lab.lake)
    assert (retried.report, retried.n_left, retried.gone) == (None, 0, [f"{file}/a.json"])


def test_the_rest_of_a_mended_archive_is_ingested(lab: Lab) -> None:
    talk = encode(chatarena())
    file = lab.write("logs.tar", tar({"talk.json": talk, "1.json": encode(chameleon())}))
    whole = file.read_bytes()
    file.write_bytes(whole[: 2**10 + len(talk)])
    assert nonzero(lab.ingest(model="me")) == {"ingested": 1, "quarantined": 1}
    retried = retry(lab.lake)
    assert (retried.report, retried.n_left, retried.gone) == (None, 1, [])
    file.write_bytes(whole)
    retried = retry(lab.lake)
    assert nonzero(retried.report) == {"ingested": 1}
    assert retry(lab.lake).report is None
    check(lab.lake)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["many faults", "no unexpected error in magic", "a contract"])
def test_what_only_an_ingest_refuses_is_left_alone(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    """Refused beside the reading itself: by the number of faults, a defect, or a row's contract."""
    game = decode.read

    def read(data: bytes, model: str | None, path: str) -> Any:
        found = game(data, model, path)
        if rule == "no unexpected error in magic":
            raise ZeroDivisionError
        if rule == "a contract":
            found.seats[0].final_score = float("nan")
        else:
            found.faults += [Fault(f"$.{number}", "it is good", "no") for number in range(50)]
        return found

    monkeypatch.setattr(decode, "read", read)
    lab.write("a.json", public_good())
    lab.ingest()
    n_rows = table(lab.lake, "quarantine").height
    assert n_rows == (decode.MOST_FAULTS if rule == "many faults" else 1)
    retried = retry(lab.lake)
    assert (retried.report, retried.n_left) == (None, 1)


@pytest.mark.slow
def test_a_replaced_game_gives_way_to_what_was_refused(lab: Lab) -> None:
    """The path holds a broken document, which kept its old game, and now can be read."""
    lab.write("a.json", chameleon(model="old"))
    lab.ingest()
    lab.write("a.json", chatarena())
    lab.ingest()
    assert set(table(lab.lake, "results")["model"]) == {"old"}
    retried = retry(lab.lake, model="new")
    assert nonzero(retried.report) == {"replacing": 1}
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
    code, out, err = run("--retry", "--model", "m", "--format", "json")
    assert code == 0
    assert json.loads(out)["n_ingested"] == 1
    assert "documents still in quarantine: 1" in err
    assert run("--retry")[2].startswith("nothing new can be read")
    assert run("--retry", "--raw")[0] == 2
    assert run("--model", "m")[0] == 2
    assert run("--export", tmp_path / "out")[0] == 2
    assert pl.DataFrame(open_lake(lab.lake).table("games").collect()).height == 1


# What is refused no more


@pytest.mark.slow
def test_a_mended_log_takes_the_place_of_what_was_read_of_it(lab: Lab) -> None:
    """It is too long for the lake to have all of its bytes, so its file is read again."""
    long = chameleon(model="faulty")
    long["history"].append(moderate("x" * 2 * decode.RAW_LIMIT))
    del long["consistency_metric"]
    lab.write("3.json", long)
    lab.ingest()
    assert table(lab.lake, "quarantine").height == 1
    lab.write("3.json", chameleon(model="mended"))
    report = retry(lab.lake).report
    assert (nonzero(report), report.n_superseded) == ({"ingested": 1}, 1)
    assert table(lab.lake, "games").height == 1
    assert table(lab.lake, "quarantine").is_empty()
    check(lab.lake)


@pytest.mark.slow
def test_a_copy_of_a_game_is_refused_no_more(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though a part of the game itself is, and of the copy as well each time it is decoded."""

    def refuse(data: bytes, model: str | None, path: str) -> object:
        raise broken("$", "it can be read", "not yet")

    lab.write("x.json", faulty())
    with monkeypatch.context() as patch:
        patch.setattr(decode, "read", refuse)
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
    lab.write("a.json", BROKEN)
    lab.ingest()
    assert main(["quarantine", "--lake", str(lab.lake), "--format", "json"]) == 0
    (result,) = json.loads(capsysbinary.readouterr().out)
    assert set(result) == {"source", "path", "json_path", "rule", "message"}


@pytest.mark.usefixtures("no_bytes")
def test_completeness_reads_no_documents(lab: Lab) -> None:
    """One part of a game, and one document of nobody."""
    lab.write("a.json", BROKEN)
    lab.write("b.json", faulty())
    lab.ingest()
    assert completeness(open_lake(lab.lake))["n_quarantined"].to_list() == [1, 1]
