"""Which games are the same: by bytes and index, wherever they lie; and what takes what's place."""

import io
import json
import os
import shutil
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
import zstandard
from lakes import Lab, games_at, nonzero, rows, statuses, table
from rawlogs import (
    GAMES,
    PAYOFFS,
    chameleon,
    chatarena,
    cost_sharing,
    encode,
    prisoners_dilemma,
    public_good,
    undercover,
)

import pipeline
from pipeline.events.identity import identified_setting
from pipeline.game import FIXED
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.reports.audit import findings
from pipeline.verify import verify

SETTING = {"topic": "Rivers", "code": "Danube", "chameleon_name": "Player 1"}


def game(name: str) -> bytes:
    """A game of its own for each name."""
    return encode(prisoners_dilemma(model=name))


def models(lake: Path) -> list[str]:
    """The models tested in the lake's games, one for each game made by `game`."""
    return sorted(table(lake, "results")["model"])


def paths(lake: Path) -> dict[str, str]:
    """By the model that played it, where each game is."""
    games = table(lake, "games").select("game_id", "path")
    return dict(table(lake, "results").join(games, on="game_id").select("model", "path").rows())


def ids(lake: Path) -> dict[str, str]:
    """The game at each path that was seen, at last."""
    seen = table(lake, "documents").drop_nulls("game_id").sort("ingest_id", maintain_order=True)
    return dict(seen.select("path", "game_id").iter_rows())


def packed(members: Sequence[tuple[str, bytes]], kind: str) -> bytes:
    """An archive of members, which may have the same name."""
    target = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(target, "w") as archive:
            for name, data in members:
                archive.writestr(zipfile.ZipInfo(name), data)
        return target.getvalue()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, data in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return zstandard.compress(target.getvalue())


def archive(lab: Lab, name: str = "logs.tar.zst") -> Path:
    """An archive of the folder's files, beside the folder."""
    found = sorted(path for path in lab.root.rglob("*") if path.is_file())
    members = [(path.relative_to(lab.root).as_posix(), path.read_bytes()) for path in found]
    file = lab.root.parent / name
    file.write_bytes(packed(members, name.rpartition(".")[2]))
    return file


def one_of_each(lab: Lab) -> None:
    for name, build in GAMES.items():
        lab.write(f"{name}/0.json", build())
        lab.write(f"{name}/1.json", build(model="m-pgm"))
    lab.write("settings/0.json", SETTING)
    lab.write("notes.txt", b"not a log")


# Acceptance A6


def test_the_same_source_again_adds_no_row(lab: Lab) -> None:
    one_of_each(lab)
    assert lab.counts() == {"ingested": 10, "ignored": 2}
    before = rows(lab.lake)
    report = lab.ingest()
    assert nonzero(report) == {"unchanged": 10, "ignored": 2}
    assert report.n_superseded == 0
    assert report.games.is_empty()
    assert rows(lab.lake) == before
    assert table(lab.lake, "ingests").height == 2
    assert table(lab.lake, "documents").height == 12


def test_every_document_is_accounted_for(lab: Lab) -> None:
    lab.write("a.json", chameleon())
    lab.write("b.json", chameleon())
    lab.write("c.json", b"{")
    lab.write("d/settings.json", SETTING)
    lab.write("picture.png", b"\x89PNG")
    report = lab.ingest()
    assert statuses(lab.lake) == {
        "a.json": "ingested",
        "b.json": "duplicate",
        "c.json": "quarantined",
        "d/settings.json": "ignored",
        "picture.png": "ignored",
    }
    assert sum(report.statuses.values()) == 5
    assert report.games.rows() == [("chameleon", 1)]
    seen = table(lab.lake, "documents").sort("path")
    assert seen["game_id"].is_null().to_list() == [False, False, True, True, True]
    assert seen["reason"].is_null().to_list() == [True, False, False, False, False]
    assert seen["reason"][1] == f"the same game as {lab.root.as_posix()}/a.json"
    assert seen["format"].to_list() == ["magic", "magic", None, None, None]
    assert set(seen["source"]) == {lab.root.as_posix()}
    read = sorted(lab.root.rglob("*.json"))
    assert seen["n_bytes"].to_list() == [*(file.stat().st_size for file in read), None]


@pytest.mark.slow
def test_a_touched_file_supersedes_its_game_alone(lab: Lab) -> None:
    one_of_each(lab)
    lab.ingest()
    before, same = rows(lab.lake), rows(lab.lake, without=["game_id", "sha256"])
    held = ids(lab.lake)
    original = (lab.root / "public_good/0.json").read_bytes()

    lab.write("public_good/0.json", original + b"\n")
    report = lab.ingest()
    assert nonzero(report) == {"replacing": 1, "unchanged": 9, "ignored": 2}
    assert report.n_superseded == 1
    assert statuses(lab.lake)["public_good/0.json"] == "replacing"
    now = ids(lab.lake)
    assert {path for path in held if held[path] != now[path]} == {"public_good/0.json"}
    games = table(lab.lake, "games")
    assert set(games["game_id"]) == set(now.values())
    # The same game in other bytes: all but its id and its hash is as it was.
    changing = ["game_id", "sha256"]
    assert rows(lab.lake, without=changing) == same

    lab.write("public_good/0.json", original)
    assert lab.counts() == {"replacing": 1, "unchanged": 9, "ignored": 2}
    assert ids(lab.lake) == held
    assert rows(lab.lake) == before


def test_writing_the_same_bytes_again_changes_nothing(lab: Lab) -> None:
    lab.write("a.json", game("a"))
    lab.ingest()
    lab.write("a.json", game("a"))
    assert lab.counts() == {"unchanged": 1}


@pytest.mark.slow
def test_a_copy_under_another_name_is_one_duplicate(lab: Lab) -> None:
    lab.write("a.json", game("a"))
    lab.ingest()
    before = rows(lab.lake)
    lab.write("b.json", game("a"))
    assert lab.counts() == {"unchanged": 1, "duplicate": 1}
    assert statuses(lab.lake)["b.json"] == "duplicate"
    assert rows(lab.lake) == before
    assert ids(lab.lake)["a.json"] == ids(lab.lake)["b.json"]
    # From now on the copy's place holds the game too.
    assert lab.rehearse() == {"unchanged": 2}
    assert games_at(lab.lake) == [("a.json", None)]


def test_copies_in_one_ingest(lab: Lab) -> None:
    for name in ("b", "a", "c/a"):
        lab.write(f"{name}.json", game("a"))
    assert lab.counts() == {"ingested": 1, "duplicate": 2}
    assert statuses(lab.lake) == {
        "a.json": "ingested",
        "b.json": "duplicate",
        "c/a.json": "duplicate",
    }
    assert games_at(lab.lake) == [("a.json", None)]


# The index


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [True, False])
def test_equal_bytes_of_different_indexes_are_two_games(lab: Lab, at_once: bool) -> None:
    """Two repeats of a setting at temperature 0 can be equal to the byte."""
    lab.write("3.json", game("a"))
    if not at_once:
        assert lab.counts() == {"ingested": 1}
    lab.write("4.json", game("a"))
    assert lab.counts() == ({"ingested": 2} if at_once else {"ingested": 1, "unchanged": 1})
    assert games_at(lab.lake) == [("3.json", 3), ("4.json", 4)]
    assert lab.rehearse() == {"unchanged": 2}


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    ("first", "second"), [("a.json", "b/3.json"), ("a/3.json", "b.json"), ("a/3.json", "b/03.json")]
)
@pytest.mark.long
def test_equal_bytes_without_different_indexes_are_one_game(
    lab: Lab, first: str, second: str, at_once: bool
) -> None:
    lab.write(first, game("a"))
    if not at_once:
        lab.ingest()
    lab.write(second, game("a"))
    # The one with an index is the game, whichever came first.
    gives_way = not at_once and first == "a.json"
    known = "ingested" if at_once else "unchanged"
    assert lab.counts() == {known: 1, "ingested" if gives_way else "duplicate": 1}
    assert len(games_at(lab.lake)) == 1
    assert lab.rehearse() == {"unchanged": 2}


@pytest.mark.some(2)
@pytest.mark.slow
@pytest.mark.parametrize("order", [("a", "3", "4"), ("3", "4", "a"), ("a", "3 4"), ("a 3 4",)])
def test_different_indexes_are_two_games_whatever_else_is_there(
    lab: Lab, order: tuple[str, ...]
) -> None:
    """A third copy, without an index, is one with either of them; they are two all the same."""
    for names in order:
        for name in names.split():
            lab.write(f"{name}.json", game("a"))
        lab.ingest()
    assert len(games_at(lab.lake)) == 2


# Another game in a place


@pytest.mark.slow
def test_a_moved_game_stays_when_its_old_place_is_taken(lab: Lab) -> None:
    lab.write("a.json", game("a"))
    lab.ingest()
    lab.write("b.json", game("a"))
    lab.write("a.json", game("b"))
    report = lab.ingest()
    assert statuses(lab.lake) == {"a.json": "replacing", "b.json": "duplicate"}
    assert report.n_superseded == 0
    assert models(lab.lake) == ["a", "b"]
    assert paths(lab.lake) == {"a": "b.json", "b": "a.json"}
    # The place that holds it now is the last one.
    lab.write("b.json", game("c"))
    report = lab.ingest()
    assert statuses(lab.lake) == {"b.json": "replacing"}
    assert report.n_superseded == 1
    assert models(lab.lake) == ["b", "c"]


@pytest.mark.slow
def test_games_that_change_places(lab: Lab) -> None:
    lab.write("a.json", game("a"))
    lab.write("b.json", game("b"))
    lab.ingest()
    before = rows(lab.lake)
    lab.write("a.json", game("b"))
    lab.write("b.json", game("a"))
    report = lab.ingest()
    assert nonzero(report) == {"duplicate": 2}
    assert report.n_superseded == 0
    after = rows(lab.lake)
    assert {name for name in after if after[name] != before[name]} == {"games"}
    assert paths(lab.lake) == {"a": "b.json", "b": "a.json"}
    assert lab.rehearse() == {"unchanged": 2}


def test_a_place_that_takes_over_a_known_game_gives_up_its_own(lab: Lab) -> None:
    lab.write("a.json", game("a"))
    lab.write("b.json", game("b"))
    lab.ingest()
    lab.write("a.json", game("b"))
    report = lab.ingest()
    assert statuses(lab.lake) == {"a.json": "duplicate"}
    assert report.n_superseded == 1
    assert models(lab.lake) == ["b"]


def test_a_game_stays_when_its_file_is_gone(lab: Lab) -> None:
    lab.write("a.json", game("a"))
    lab.write("b.json", game("b"))
    lab.ingest()
    (lab.root / "a.json").unlink()
    assert lab.counts() == {"unchanged": 1}
    assert models(lab.lake) == ["a", "b"]
    lab.write("a.json", game("a"))
    assert lab.rehearse() == {"unchanged": 2}


@pytest.mark.slow
def test_a_known_place_unseen_still_holds_its_game(lab: Lab) -> None:
    """The other place is of another source, which this ingest does not look at."""
    lab.write("one/a.json", game("a"))
    lab.write("two/a.json", game("a"))
    lab.ingest()
    lab.write("one/a.json", game("b"))
    assert lab.ingest("one").n_superseded == 0
    assert models(lab.lake) == ["a", "b"]
    assert paths(lab.lake) == {"a": "two/a.json", "b": "a.json"}
    assert verify(lab.lake).faults.is_empty()
    lab.write("two/a.json", game("b"))
    assert lab.ingest("two").n_superseded == 1
    assert models(lab.lake) == ["b"]


@pytest.mark.slow
def test_a_broken_replacement_leaves_the_old_game(lab: Lab) -> None:
    lab.write("a.json", game("a"))
    lab.ingest()
    before = rows(lab.lake, but_for=("documents", "ingests", "quarantine"))
    lab.write("a.json", game("b")[:-9])
    report = lab.ingest()
    assert (nonzero(report), report.n_superseded) == ({"quarantined": 1}, 0)
    assert rows(lab.lake, but_for=("documents", "ingests", "quarantine")) == before
    assert table(lab.lake, "quarantine").height == 1
    # Its place holds it still.
    lab.write("a.json", game("a"))
    assert lab.counts() == {"unchanged": 1}
    assert table(lab.lake, "quarantine").is_empty()
    lab.write("a.json", b"[")
    lab.ingest()
    lab.write("a.json", game("b"))
    report = lab.ingest()
    assert (nonzero(report), report.n_superseded) == ({"replacing": 1}, 1)
    assert models(lab.lake) == ["b"]
    assert table(lab.lake, "quarantine").is_empty()


@pytest.mark.slow
def test_a_replacement_that_is_no_log_leaves_the_old_game(lab: Lab) -> None:
    lab.write("a.json", game("a"))
    lab.ingest()
    lab.write("a.json", SETTING)
    report = lab.ingest()
    assert (nonzero(report), report.n_superseded) == ({"ignored": 1}, 0)
    assert models(lab.lake) == ["a"]
    lab.write("a.json", game("b"))
    report = lab.ingest()
    assert (nonzero(report), report.n_superseded) == ({"replacing": 1}, 1)
    assert models(lab.lake) == ["b"]


# The same file, however it is reached


@pytest.mark.long
def test_the_same_files_reached_by_different_sources(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.write("deep/er/a.json", game("a"))
    lab.write("deep/er/3.json", game("b"))
    assert lab.counts("deep") == {"ingested": 2}
    before = rows(lab.lake)
    monkeypatch.chdir(lab.root / "deep")
    link = lab.root.parent / "link"
    link.symlink_to(lab.root, target_is_directory=True)
    for sources in (
        [lab.root],
        [lab.root / "deep" / "er"],
        [lab.root / "deep" / "er" / "a.json", lab.root / "deep" / "er" / "3.json"],
        [lab.root / "deep" / "*" / "*.json"],
        [lab.root / "**" / "*.json"],
        [lab.root / "deep" / ".." / "deep"],
        [Path("er")],
        [Path("er/a.json"), Path("er"), lab.root],
        [link],
    ):
        report = ingest(sources, lab.lake, dry_run=True)
        assert (nonzero(report), report.n_superseded) == ({"unchanged": 2}, 0), sources
    ingest(lab.root, lab.lake)
    assert rows(lab.lake) == before


@pytest.mark.slow
def test_folder_then_archive(lab: Lab) -> None:
    """The games are the same games; each place of them counts for itself."""
    one_of_each(lab)
    lab.ingest()
    before = rows(lab.lake)
    packed_file = archive(lab)
    report = ingest(packed_file, lab.lake)
    assert nonzero(report) == {"duplicate": 10, "ignored": 2}
    assert rows(lab.lake) == before
    # A game that its file no longer holds is in the archive still.
    lab.write("undercover/0.json", undercover(model="another"))
    report = lab.ingest()
    assert (report.statuses["replacing"], report.n_superseded) == (1, 0)
    assert table(lab.lake, "games").height == 11
    # Once the archive holds the new one too, the old one is gone.
    report = ingest(archive(lab), lab.lake)
    assert nonzero(report) == {"unchanged": 9, "duplicate": 1, "ignored": 2}
    assert report.n_superseded == 1
    assert table(lab.lake, "games").height == 10


@pytest.mark.slow
def test_archive_and_folder_make_the_same_lake(lab: Lab, empty_lake: Path) -> None:
    one_of_each(lab)
    lab.ingest()
    but = {"without": ["source", "path", "ingest_id"], "but_for": ["archives", "ingests"]}
    ours = rows(lab.lake, **but)
    for name in ("logs.tar.zst", "logs.zip"):
        other = shutil.copytree(empty_lake, lab.root.parent / f"lake of {name}")
        ingest(archive(lab, name), other)
        assert rows(other, **but) == ours


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["zip", "zst"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_an_archive_has_twice(lab: Lab, kind: str) -> None:
    """They are two documents and two games; the second one's path says that it is the second."""
    name = "logs.zip" if kind == "zip" else "logs.tar.zst"
    file = lab.write(name, packed([("a.json", game("a")), ("a.json", game("b"))], kind))
    assert nonzero(ingest(file, lab.lake)) == {"ingested": 2}
    assert models(lab.lake) == ["a", "b"]
    first, second = sorted(statuses(lab.lake))
    assert first == "a.json"
    assert second.startswith("a.json")
    assert nonzero(ingest(file, lab.lake)) == {"unchanged": 2}
    assert dict(games_at(lab.lake)) == {first: None, second: None}


@pytest.mark.slow
def test_a_broken_member_of_a_name_that_a_game_has_too(lab: Lab) -> None:
    """What is refused is told, whatever its name."""
    file = lab.write("logs.tar.zst", packed([("a.json", game("a"))], "zst"))
    ingest(file, lab.lake)
    file.write_bytes(packed([("a.json", game("a")), ("a.json", b"{")], "zst"))
    assert nonzero(ingest(file, lab.lake)) == {"unchanged": 1, "quarantined": 1}
    quarantine = table(lab.lake, "quarantine")
    assert quarantine.height == 1
    refused = next(path for path, status in statuses(lab.lake).items() if status == "quarantined")
    assert quarantine["path"].to_list() == [refused]
    assert nonzero(ingest(file, lab.lake)) == {"unchanged": 1, "quarantined": 1}
    assert table(lab.lake, "quarantine").height == 1


# Lines


@pytest.mark.slow
def test_lines_of_a_file(lab: Lab) -> None:
    lines = [
        encode(build()).replace(b"\n", b" ") for build in (chameleon, cost_sharing, public_good)
    ]
    lab.write("games.jsonl", b"\n".join([*lines, b"", lines[0], b"{"]))
    assert lab.counts() == {"ingested": 3, "duplicate": 1, "quarantined": 1}
    assert statuses(lab.lake) == {
        "games.jsonl#1": "ingested",
        "games.jsonl#2": "ingested",
        "games.jsonl#3": "ingested",
        "games.jsonl#5": "duplicate",
        "games.jsonl#6": "quarantined",
    }
    new = game("new").replace(b"\n", b" ")
    lab.write("games.jsonl", b"\n".join([lines[0], new, lines[2], b"", lines[0]]))
    report = lab.ingest()
    assert nonzero(report) == {"unchanged": 3, "replacing": 1}
    assert report.n_superseded == 1
    # The last line is not there any more to be seen, so it stays refused.
    assert table(lab.lake, "quarantine")["path"].to_list() == ["games.jsonl#6"]
    # The same document in a file of its own.
    lab.write("one.json", lines[2])
    assert lab.counts("one.json") == {"duplicate": 1}


# Who played, where the log does not say


def test_a_transcript_needs_a_model(lab: Lab) -> None:
    lab.write("a.json", chatarena())
    report = lab.ingest()
    assert nonzero(report) == {"quarantined": 1}
    assert "--model" in report.faults["message"][0]
    # Given one, it leaves the quarantine.
    assert lab.counts(model="x") == {"ingested": 1}
    assert table(lab.lake, "quarantine").is_empty()
    assert table(lab.lake, "games")["assigned_model"].to_list() == ["x"]
    assert set(table(lab.lake, "players")["model"]) == {"x"}
    assert lab.counts(model="x") == {"unchanged": 1}


@pytest.mark.slow
def test_another_model_makes_another_game_of_a_transcript(lab: Lab) -> None:
    lab.write("a.json", chatarena())
    lab.ingest(model="x")
    first = ids(lab.lake)["a.json"]
    report = lab.ingest(model="y")
    assert (nonzero(report), report.n_superseded) == ({"replacing": 1}, 1)
    assert ids(lab.lake)["a.json"] != first
    assert set(table(lab.lake, "results")["model"]) == {"y"}
    lab.ingest(model="x")
    assert ids(lab.lake)["a.json"] == first
    # Without one it is known by its bytes.
    assert lab.counts() == {"unchanged": 1}
    assert table(lab.lake, "documents").sort("ingest_id")["assigned_model"][-1] == "x"
    assert lab.counts(model="x") == {"unchanged": 1}


@pytest.mark.slow
def test_a_transcript_without_a_model_is_known_by_its_bytes(lab: Lab) -> None:
    """Wherever it is; what was quarantined for want of a model leaves the quarantine."""
    lab.write("a.json", chatarena())
    assert lab.counts() == {"quarantined": 1}
    lab.ingest(model="x")
    lab.write("b/a.json", chatarena())
    assert lab.counts() == {"unchanged": 1, "duplicate": 1}
    report = lab.ingest()
    assert report.n_known_by_content == 2
    assert table(lab.lake, "games").height == 1
    assert table(lab.lake, "quarantine").is_empty()


@pytest.mark.slow
def test_bytes_that_two_models_played_do_not_say_which(lab: Lab) -> None:
    """Taken for the first model's, the second's game would have lost its place."""
    lab.write("x/a.json", chatarena())
    lab.write("y/a.json", chatarena())
    lab.ingest("x", model="x")
    lab.ingest("y", model="y")
    assert lab.counts() == {"quarantined": 2}
    assert set(table(lab.lake, "games")["assigned_model"]) == {"x", "y"}


@pytest.mark.slow
def test_a_game_in_another_form_is_new_and_said_to_be(lab: Lab) -> None:
    """Spaces, escapes and the order of keys are form; a file that is written anew is no copy."""
    log = chameleon()
    lab.write("a.json", log)
    assert lab.ingest().n_in_other_form == 0
    lab.write("a.json", json.dumps(log, indent=4).encode())
    assert lab.ingest().n_in_other_form == 0
    lab.write("b.json", json.dumps(dict(reversed(log.items())), ensure_ascii=False).encode())
    lab.write("c.json", chameleon(model="another"))
    report = lab.ingest()
    assert (nonzero(report), report.n_in_other_form) == ({"unchanged": 1, "ingested": 2}, 1)
    found = findings(open_lake(lab.lake), "repeated_games")
    places = [(lab.root / name).as_posix() for name in ("a.json", "b.json")]
    assert sorted(found.select("logged", "says").rows()) == [
        (places[0], places[1]),
        (places[1], places[0]),
    ]
    assert found.select("hit_logged", "hit_read").null_count().row(0) == (0, 1)
    assert lab.ingest().n_in_other_form == 0


def test_games_in_two_forms_at_once(lab: Lab) -> None:
    lab.write("a.json", chatarena())
    lab.write("b.json", json.dumps(chatarena(), indent=1).encode())
    lab.write("c.json", chatarena())
    assert lab.ingest(model="x").n_in_other_form == 2


@pytest.mark.slow
def test_transcripts_of_equal_bytes_by_two_models_are_two_games(lab: Lab) -> None:
    lab.write("x/a.json", chatarena())
    lab.write("y/a.json", chatarena())
    lab.ingest("x", model="x")
    assert lab.counts("y", model="y") == {"ingested": 1}
    assert table(lab.lake, "games")["assigned_model"].sort().to_list() == ["x", "y"]


def test_a_given_model_does_not_touch_logs_that_name_theirs(lab: Lab) -> None:
    lab.write("a.json", game("a"))
    lab.write("b.json", chatarena())
    assert lab.counts(model="x") == {"ingested": 2}
    held = ids(lab.lake)
    assert lab.counts(model="y") == {"unchanged": 1, "replacing": 1}
    assert ids(lab.lake)["a.json"] == held["a.json"]
    result = table(lab.lake, "documents").filter(pl.col("path") == "a.json")
    assert result["assigned_model"].is_null().all()


# Ids


def test_a_game_id_is_the_same_on_every_machine(lab: Lab) -> None:
    """Of the bytes and the index alone; this is the id of these bytes for good."""
    data = (
        b'{"test_player_name": "Player 1", "history": [], "result": null, "scores": [1, 2, 3],'
        b' "game_setting": {"multiplier": 2, "game_round": 1, "test_player": {"model": "m"}}}'
    )
    lab.write("7.json", data)
    lab.write("b.json", data + b" ")
    lab.ingest()
    assert ids(lab.lake) == {
        "7.json": "abe5fbcaa482c047e28d43eba38f732f",
        "b.json": "a8c4a9450c2dca361e9533d70aaf4b77",
    }


def test_games_on_the_same_setting_share_its_id(lab: Lab) -> None:
    """Whoever plays it, however its numbers are written; another hidden player is another one."""
    lab.write("a.json", public_good(model="x"))
    lab.write("b.json", public_good(model="y", multiplier=2.0))
    lab.write("c.json", public_good(model="y", multiplier=2.5))
    lab.write("d.json", public_good(model="y", tested="Player 2"))
    lab.write("e.json", chameleon(model="x"))
    lab.write("f.json", chameleon(model="y", flag=0))
    lab.write("g.json", chameleon(model="y", hidden="Player 3"))
    lab.ingest()
    games = table(lab.lake, "games")
    of = dict(games.select("path", "setting_id").iter_rows())
    assert of["a.json"] == of["b.json"]
    assert of["e.json"] == of["f.json"]
    assert len(set(of.values())) == 5
    texts = dict(games.select("path", "setting").iter_rows())
    assert len(set(texts.values())) == 5
    assert texts["a.json"] == texts["b.json"]
    assert json.loads(texts["c.json"])["multiplier"] == 2.5
    assert '"multiplier":2,' in texts["a.json"]


def test_what_a_setting_fixes_is_in_columns_and_listed(lab: Lab) -> None:
    """Each column as its log has it, null where a game type has no such thing."""
    chosen = {
        "chameleon": (chameleon(), {"topic", "word", "hidden_player"}),
        "undercover": (undercover(), {"word", "other_word", "hidden_player"}),
        "cost_sharing": (cost_sharing(), {"tested_player"}),
        "prisoners_dilemma": (
            prisoners_dilemma(),
            {"tested_player", *(name for name in FIXED if name.startswith("payoff_"))},
        ),
        "public_good": (public_good(), {"tested_player", "n_rounds_fixed", "multiplier"}),
    }
    for name, (log, _) in chosen.items():
        lab.write(f"{name}.json", log)
    lab.ingest()
    games = {row["game_type"]: row for row in table(lab.lake, "games").to_dicts()}
    for name, (_, columns) in chosen.items():
        there = {one for one in (*FIXED, "topic", "word") if games[name][one] is not None}
        assert there == columns, name
    undercovers = games["undercover"]
    assert [undercovers[one] for one in ("word", "other_word")] == ["pond", "lake"]
    assert {one: games["prisoners_dilemma"][f"payoff_{one}"] for one in PAYOFFS} == PAYOFFS
    settings = pipeline.open_lake(lab.lake).settings().to_dicts()
    assert [row["n_games"] for row in settings] == [1] * 5
    shared = settings[0].keys() & games["chameleon"].keys()
    assert shared >= {*FIXED, "topic", "word", "setting", "setting_id", "system"}
    for row in settings:
        assert all(row[one] == games[row["game_type"]][one] for one in shared)


def test_a_setting_is_written_with_sorted_keys_and_plain_numbers() -> None:
    setting = {"b": [1, 2.0, 2.5, True, None], "a": {"z": 1e300, "y": "1.0", "x": -0.0}}
    found = identified_setting("chameleon", setting)
    written = '{"a":{"x":0,"y":"1.0","z":1e300},"b":[1,2,2.5,true,null]}'
    assert found.setting == written
    assert identified_setting("chameleon", json.loads(written)).setting == written
    assert identified_setting("undercover", setting).setting_id != found.setting_id


def test_seeds_of_64_bits_stay_apart() -> None:
    """No float is any of these whole numbers; one that a float is, is equal to it."""
    seeds = [2**64 - 1, 2**64 - 2, 2**63 + 1, 2**63 - 1, -(2**63) + 1, 2**53 + 1]
    settings = [identified_setting("chameleon", {"seed": seed}) for seed in seeds]
    assert len({one.setting_id for one in settings}) == len(seeds)
    assert [json.loads(one.setting)["seed"] for one in settings] == seeds
    assert identified_setting("a", {"seed": 2**63}) == identified_setting("a", {"seed": 2.0**63})


def test_a_source_whose_name_is_no_text_is_noted(tmp_path: Path) -> None:
    """Given by itself, and not found in its folder, it is told of in `ingests`."""
    log = tmp_path / os.fsdecode(b"caf\xe9.json")
    log.write_bytes(encode(prisoners_dilemma()))
    assert ingest(log, tmp_path / "lake").statuses["ingested"] == 1
    (sources,) = table(tmp_path / "lake", "ingests")["sources"]
    assert sources.to_list() == [f"{tmp_path}/caf\\udce9.json"]
