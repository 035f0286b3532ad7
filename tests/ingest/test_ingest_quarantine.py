"""What could not be used, and why: the quarantine tells how things are now, not how they were."""

import errno
import gzip
import os
from hashlib import sha512
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from lakes import Lab, nonzero, table
from rawlogs import by_seat, chameleon, encode, prisoners_dilemma, public_good, undercover
from test_archives import tar

from pipeline.ingest import ingest
from pipeline.ingest.decode import (
    MAX_STORED_RAW_BYTES,
)
from pipeline.lake import open_lake
from pipeline.reports.documents import documents

BROKEN = b'{"history": ['
GAME = prisoners_dilemma()


def faulty(**changes: Any) -> dict[str, Any]:
    """A game of which a part is missing."""
    log = chameleon(**changes)
    del log["consistency_metric"]
    return log


def refused(lake: Path) -> list[tuple[str, str, bool]]:
    """Path, place and whether it is a game's part, of each row of the quarantine."""
    found = table(lake, "quarantine").sort("path", "json_path")
    return [
        (row["path"], row["json_path"], row["game_id"] is not None)
        for row in found.iter_rows(named=True)
    ]


# Whole documents


def test_bytes_from_outside_of_the_source_are_not_kept(lab: Lab, tmp_path: Path) -> None:
    """A link in a folder of logs may lead to any file of the system; games are read through it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(BROKEN)
    (outside / "secrets.tar").write_bytes(tar({"0.json": BROKEN}))
    (outside / "part").write_bytes(encode(faulty()))
    (outside / "game").write_bytes(encode(GAME))
    lab.write("blobs/torn", BROKEN + b" ")
    links = {
        "a.json": outside / "secret",
        "b/c.json": Path("../a.json"),  # by another link
        "b/d.tar": outside / "secrets.tar",
        "e.json": outside / "part",
        "f.json": outside / "game",
        "g.json": Path("blobs/torn"),
    }
    for name, target in links.items():
        (lab.root / name).parent.mkdir(exist_ok=True)
        (lab.root / name).symlink_to(target)
    lab.ingest("a.json")  # as a pattern of the shell gives it
    assert table(lab.lake, "quarantine")["raw"].to_list() == [None]
    assert lab.ingest().n_of_games == 2
    found = table(lab.lake, "quarantine")
    kept = dict(found.select("path", pl.col("raw").is_not_null()).iter_rows())
    assert kept == {
        "a.json": False,
        "b/c.json": False,
        "b/d.tar/0.json": False,
        "blobs/torn": True,
        "e.json": False,
        "g.json": True,
    }


def test_what_a_row_tells(lab: Lab) -> None:
    """The bytes are kept as they are, and capped; of what cannot be read there are none."""
    data = encode(chameleon() | {"win_flag": "2"})
    file = lab.write("deep/er.json", data)
    long, no_text = BROKEN + b" " * 2 * MAX_STORED_RAW_BYTES, bytes(range(256))
    lab.write("long.json", long)
    lab.write("no text.json", no_text)
    lab.write("torn.json.gz", b"\x1f\x8b\x08\x00")
    lab.write("whole.json", GAME)
    report = lab.ingest()
    assert nonzero(report) == {"ingested": 1, "quarantined": 4}
    row, *others = table(lab.lake, "quarantine").sort("path").iter_rows(named=True)
    assert f"{row['source']}/{row['path']}" == file.as_posix()
    assert (row["json_path"], row["game_id"]) == ("$.win_flag", None)
    assert "type" in row["rule"]
    assert "`win_flag` is an integer" in row["message"]
    assert (row["raw"], row["n_bytes"]) == (data, len(data))
    (seen,) = table(lab.lake, "documents").filter(path="deep/er.json").iter_rows(named=True)
    assert (row["sha256"], row["message"]) == (seen["sha256"], seen["reason"])
    (told,) = report.faults.filter(path="deep/er.json").iter_rows(named=True)
    assert told == {k: v for k, v in row.items() if k != "raw"}
    kept = [(one["raw"], one["n_bytes"]) for one in others]
    assert kept == [(long[:MAX_STORED_RAW_BYTES], len(long)), (no_text, 256), (None, None)]
    assert others[-1]["sha256"] is None
    assert lab.counts() == {"unchanged": 1, "quarantined": 4}
    assert len(refused(lab.lake)) == 4


@pytest.mark.slow
def test_a_file_cut_short_leaves_once_it_is_whole(lab: Lab) -> None:
    """By itself it is no document then: only what is in it is seen."""
    noise = [sha512(bytes([n])).hexdigest() * 8 for n in range(3)]
    games = {f"x/{n}.json": encode(GAME | {"topic": noise[n]}) for n in range(3)}
    data = gzip.compress(tar(games))
    lab.write("deep/a.tar.gz", data[: len(data) // 2])
    lab.write("deep/a/0.json", BROKEN)
    lab.ingest()
    assert {path for path, *_ in refused(lab.lake)} == {"deep/a.tar.gz", "deep/a/0.json"}
    lab.write("deep/a.tar.gz.json", GAME)
    lab.ingest("deep/a.tar.gz.json")
    assert {path for path, *_ in refused(lab.lake)} == {"deep/a.tar.gz", "deep/a/0.json"}
    lab.write("deep/a.tar.gz", data)
    lab.ingest()
    assert refused(lab.lake) == [("deep/a/0.json", "$", False)]
    unread = documents(open_lake(lab.lake), status="quarantined")
    assert unread["path"].to_list() == ["deep/a/0.json"]


def test_a_folder_that_could_not_be_listed_leaves_once_it_can(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write("shut/0.json", GAME)
    lab.write("shut_as_well/0.json", GAME)
    real = os.scandir

    def refusing(folder: Any) -> Any:
        if "/shut" in str(folder):
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return real(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    lab.ingest()
    assert [path for path, *_ in refused(lab.lake)] == ["shut/", "shut_as_well/"]
    monkeypatch.undo()
    lab.ingest("shut")
    assert [path for path, *_ in refused(lab.lake)] == ["shut_as_well/"]


@pytest.mark.slow
def test_a_place_is_told_of_until_it_is_seen_mended(lab: Lab) -> None:
    """One file, one row, from whichever folder it is reached: a source is where a look began."""
    for folder in ("one", "two", "deep"):
        lab.write(f"{folder}/a.json", BROKEN)
    lab.ingest("two")
    lab.ingest()
    for folder in ("one", "two", "deep"):
        lab.write(f"{folder}/a.json", GAME)
    for seen, left in (("deep", {"one", "two"}), ("one", {"two"})):
        lab.ingest(seen)
        told = table(lab.lake, "quarantine").select(pl.format("{}/{}", "source", "path"))
        places = [(lab.root / folder / "a.json").as_posix() for folder in sorted(left)]
        assert sorted(told.to_series()) == places


# Parts


def test_a_part_is_refused_and_its_game_stays(lab: Lab) -> None:
    several = undercover()
    del several["consistency_metric"], several["pgm_metric"], several["player_vote"]
    lab.write("a.json", faulty())
    lab.write("b.json", several)
    report = lab.ingest()
    assert nonzero(report) == {"ingested": 2}
    assert report.faults.height == 4
    (row,) = table(lab.lake, "quarantine").filter(path="a.json").iter_rows(named=True)
    assert row["game_id"] in table(lab.lake, "games").filter(path="a.json")["game_id"]
    assert row["raw"] == encode(faulty())
    assert table(lab.lake, "role_identifications").is_empty()
    assert table(lab.lake, "role_analyses").height == 18
    assert lab.counts() == {"unchanged": 2}
    assert refused(lab.lake) == [
        ("a.json", "$.consistency_metric", True),
        ("b.json", "$.consistency_metric", True),
        ("b.json", "$.pgm_metric", True),
        ("b.json", "$.player_vote", True),
    ]


# Contracts


def test_a_game_whose_rows_break_a_contract_is_refused_alone(lab: Lab) -> None:
    """An amount that no number can hold; its neighbours, and its copy, fare as they should."""
    beyond = by_seat(f"I contribute {'9' * 400}.", "I contribute 2", "I contribute 3")
    lab.write("a.json", public_good())
    lab.write("b.json", public_good([beyond]))
    lab.write("c.json", public_good([beyond]))
    assert lab.counts() == {"ingested": 1, "quarantined": 2}
    found = table(lab.lake, "quarantine").sort("path")
    assert found["path"].to_list() == ["b.json", "c.json"]
    assert found["game_id"].is_null().all()
    # What a text states is null where it is no number, and breaks nothing.
    of_columns = ("amount", "round_total")
    rule = "the contract of contributions: "
    assert set(found["rule"]) == {rule + "; ".join(f"{name} is finite" for name in of_columns)}
    assert set(found["message"]) == {
        f"a row breaks {rule}amount is finite (amount inf in 1 row); "
        "round_total is finite (round_total inf in 3 rows)"
    }
    assert found["raw"].to_list() == [encode(public_good([beyond]))] * 2
    assert lab.counts() == {"unchanged": 1, "quarantined": 2}
    assert table(lab.lake, "quarantine").height == 2


def test_every_batch_knows_what_others_decoded(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """However documents are dealt out into batches, the lake is the same."""
    monkeypatch.setattr("pipeline.ingest.worker.BATCH_DOCUMENTS", 2)
    monkeypatch.setattr("pipeline.lake.files.MAX_FILE_BYTES", 1)
    for n in range(3):
        lab.write(f"{n}/a.json", faulty())
        lab.write(f"{n}/b.json", GAME)
        lab.write(f"{n}/c.json", BROKEN)
    report = lab.ingest()
    assert nonzero(report) == {"ingested": 2, "duplicate": 4, "quarantined": 3}
    assert report.games.rows() == [("chameleon", 1), ("prisoners_dilemma", 1)]
    assert [place for _, place, _ in refused(lab.lake)].count("$.consistency_metric") == 1
    assert table(lab.lake, "games").height == 2


# Rehearsals


@pytest.mark.slow
def test_a_rehearsal_tells_what_an_ingest_would_do(lab: Lab, tmp_path: Path) -> None:
    """All of its report, but for the ingest's number, which it has none of."""
    lab.write("a.json", GAME)
    lab.write("b.json", faulty())
    lab.write("c.json", BROKEN)
    lab.write("d.json", public_good())
    lab.ingest()
    lab.write("c.json", undercover())  # mended
    lab.write("d.json", public_good(multiplier=3))  # replaced
    lab.write("e.json", GAME)  # copied
    lab.write("f.json", faulty(flag=0))  # new, with a faulty part
    lab.write("g.json", b"[")  # broken
    lab.write("h.txt", b"")  # no log
    before = {file: file.stat().st_mtime_ns for file in lab.lake.rglob("*")}
    rehearsed = ingest(lab.root, lab.lake, dry_run=True)
    assert {file: file.stat().st_mtime_ns for file in lab.lake.rglob("*")} == before
    report = lab.ingest()
    assert nonzero(report) == {
        "ingested": 2,
        "replacing": 1,
        "unchanged": 2,
        "duplicate": 1,
        "quarantined": 1,
        "ignored": 1,
    }
    assert rehearsed.ingest_id is None
    assert rehearsed.statuses == report.statuses
    assert rehearsed.games.equals(report.games)
    assert (rehearsed.n_superseded, rehearsed.n_bytes) == (1, report.n_bytes)
    result, done = (
        r.faults.select(pl.exclude("ingest_id")).sort("path", "json_path")
        for r in (rehearsed, report)
    )
    assert result.equals(done)


@pytest.mark.slow
def test_a_report_has_the_faults_of_what_was_seen(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write("one/a.json", faulty())
    lab.write("one/b.json", b"{")
    lab.write("two/c.json", b"[")
    lab.ingest("one")
    report = lab.ingest("two")
    assert report.faults["path"].to_list() == ["c.json"]
    assert report.n_faulty_parts == 0
    report = lab.ingest("one")
    assert report.faults.select("ingest_id", "path").rows() == [(1, "a.json"), (1, "b.json")]
    assert report.n_faulty_parts == 1
    monkeypatch.setattr("pipeline.ingest.resolve.MAX_REPORTED_ROWS", 1)
    report = lab.ingest("one")
    assert (report.faults["path"].to_list(), report.n_faulty_parts) == (["a.json"], 1)
    assert report.statuses["quarantined"] == 1


def test_a_rehearsal_makes_no_lake_and_tells_of_its_progress(lab: Lab, tmp_path: Path) -> None:
    """It tells of every document and byte that it reads."""
    lab.write("a.json", GAME)
    lab.write("b.json", faulty())
    lab.write("d.txt", b"12345")
    nowhere = tmp_path / "nowhere"
    told: list[tuple[int, int]] = []
    report = ingest(lab.root, nowhere, dry_run=True, on_progress=lambda *one: told.append(one))
    assert sum(n_documents for n_documents, _ in told) == 3
    assert sum(n_bytes for _, n_bytes in told) == sum(
        file.stat().st_size for file in lab.root.iterdir()
    )
    assert nonzero(report) == {"ingested": 2, "ignored": 1}
    assert report.games.rows() == [("chameleon", 1), ("prisoners_dilemma", 1)]
    assert report.faults.height == 1
    assert not nowhere.exists()
