"""Which games are the same: by bytes and index, wherever they lie; and what takes what's place."""

import io
import json
import os
import shutil
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
import zstandard
from lakes import Lab, nonzero, rows, statuses, table
from rawlogs import (
    GAMES,
    PAYOFFS,
    chameleon,
    chatarena,
    cost_sharing,
    encode,
    game_of,
    prisoners_dilemma,
    public_good,
    undercover,
)
from test_archives import tar, zipped

import pipeline
from pipeline.events.readings import setting_with_id
from pipeline.game_record import FIXED_SETTING_KEYS
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.reports.audit import findings

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
    members = {path.relative_to(lab.root).as_posix(): path.read_bytes() for path in found}
    file = lab.root.parent / name
    file.write_bytes(zipped(members) if name.endswith("zip") else zstandard.compress(tar(members)))
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
def test_a_known_place_unseen_still_holds_its_game(lab: Lab) -> None:
    """The other place is of another source, which this ingest does not look at."""
    lab.write("one/a.json", game("a"))
    lab.write("two/a.json", game("a"))
    lab.ingest()
    lab.write("one/a.json", game("b"))
    assert lab.ingest("one").n_superseded == 0
    assert models(lab.lake) == ["a", "b"]
    assert paths(lab.lake) == {"a": "two/a.json", "b": "a.json"}
    lab.write("two/a.json", game("b"))
    assert lab.ingest("two").n_superseded == 1
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
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_of_one_name(lab: Lab) -> None:
    """They are two documents; the second one's path says that it is the second."""
    for kind, file in (("zip", "logs.zip"), ("zst", "logs.tar.zst")):
        twice = [("a.json", game(f"{kind} a")), ("a.json", game(f"{kind} b"))]
        lab.write(file, packed(twice, kind))
    torn = [("a.json", game("a"))]
    lab.write("torn.tar.zst", packed(torn, "zst"))
    assert lab.counts() == {"ingested": 5}
    assert models(lab.lake) == ["a", "zip a", "zip b", "zst a", "zst b"]
    first, second = sorted(path for path in statuses(lab.lake) if path.startswith("logs.zip"))
    assert first == "logs.zip/a.json"
    assert second.startswith(first)
    # What is refused is told, whatever its name.
    lab.write("torn.tar.zst", packed([*torn, ("a.json", b"{")], "zst"))
    for _ in range(2):
        assert lab.counts() == {"unchanged": 5, "quarantined": 1}
    (refused,) = table(lab.lake, "quarantine")["path"]
    assert statuses(lab.lake, 2)[refused] == "quarantined"


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


# Forms


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


def test_games_on_the_same_setting_share_its_id() -> None:
    """Whoever plays it, however its numbers are written; another hidden player is another one."""
    logs = [
        public_good(model="x"),
        public_good(model="y", multiplier=2.0),
        public_good(model="y", multiplier=2.5),
        public_good(model="y", tested="Player 2"),
        chameleon(model="x"),
        chameleon(model="y", flag=0),
        chameleon(model="y", hidden="Player 3"),
    ]
    rows = [game_of(log).games[0] for log in logs]
    for column in ("setting_id", "setting"):
        one, same, *others = [getattr(row, column) for row in rows]
        assert one == same
        assert others[2] == others[3]
        assert len({one, *others}) == 5
    assert json.loads(rows[2].setting)["multiplier"] == 2.5
    assert '"multiplier":2,' in rows[0].setting


def test_what_a_setting_fixes_is_in_columns_and_listed(lab: Lab) -> None:
    """Each column as its log has it, null where a game type has no such thing."""
    chosen = {
        "chameleon": (chameleon(), {"topic", "word", "hidden_player"}),
        "undercover": (undercover(), {"word", "other_word", "hidden_player"}),
        "cost_sharing": (cost_sharing(), {"tested_player"}),
        "prisoners_dilemma": (
            prisoners_dilemma(),
            {"tested_player", *(name for name in FIXED_SETTING_KEYS if name.startswith("payoff_"))},
        ),
        "public_good": (public_good(), {"tested_player", "n_rounds_fixed", "multiplier"}),
    }
    for name, (log, _) in chosen.items():
        lab.write(f"{name}.json", log)
    lab.ingest()
    games = {row["game_type"]: row for row in table(lab.lake, "games").to_dicts()}
    for name, (_, columns) in chosen.items():
        there = {
            one for one in (*FIXED_SETTING_KEYS, "topic", "word") if games[name][one] is not None
        }
        assert there == columns, name
    undercovers = games["undercover"]
    assert [undercovers[one] for one in ("word", "other_word")] == ["pond", "lake"]
    assert {one: games["prisoners_dilemma"][f"payoff_{one}"] for one in PAYOFFS} == PAYOFFS
    settings = pipeline.open_lake(lab.lake).settings().to_dicts()
    assert [row["n_games"] for row in settings] == [1] * 5
    shared = settings[0].keys() & games["chameleon"].keys()
    assert shared >= {*FIXED_SETTING_KEYS, "topic", "word", "setting", "setting_id", "system"}
    for row in settings:
        assert all(row[one] == games[row["game_type"]][one] for one in shared)


def test_a_setting_is_written_with_sorted_keys_and_plain_numbers() -> None:
    setting = {"b": [1, 2.0, 2.5, True, None], "a": {"z": 1e300, "y": "1.0", "x": -0.0}}
    found = setting_with_id("chameleon", setting)
    written = '{"a":{"x":0,"y":"1.0","z":1e300},"b":[1,2,2.5,true,null]}'
    assert found.setting == written
    assert setting_with_id("chameleon", json.loads(written)).setting == written
    assert setting_with_id("undercover", setting).setting_id != found.setting_id


def test_seeds_of_64_bits_stay_apart() -> None:
    """No float is any of these whole numbers; one that a float is, is equal to it."""
    seeds = [2**64 - 1, 2**64 - 2, 2**63 + 1, 2**63 - 1, -(2**63) + 1, 2**53 + 1]
    settings = [setting_with_id("chameleon", {"seed": seed}) for seed in seeds]
    assert len({one.setting_id for one in settings}) == len(seeds)
    assert [json.loads(one.setting)["seed"] for one in settings] == seeds
    assert setting_with_id("a", {"seed": 2**63}) == setting_with_id("a", {"seed": 2.0**63})


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_whole_numbers_of_a_setting_keep_their_digits(engine: str, tmp_path: Path) -> None:
    """Also those that a float is, which engines would write in different ways."""
    wholes = [2**53, 2**53 + 1, 10**16, 2**62, 2**63, 2**64 - 2048, 2**64 - 1, -(2**63), -(2**53)]
    seats = [{"player": name, "model": "m", "is_win": True} for name in "ab"]
    game = {"magic_interchange": 1, "system": "s", "game_type": "prisoners_dilemma"}
    game |= {"is_finished": True, "seats": seats}
    games = [game | {"setting": {"seed": whole}} for whole in wholes]
    (tmp_path / "games.jsonl").write_text("\n".join(map(json.dumps, games)))
    ingest(tmp_path / "games.jsonl", tmp_path / "lake", jobs=1)
    lake = pipeline.open_lake(tmp_path / "lake")
    digits = sorted(map(str, wholes))
    settings = [json.loads(row["setting"])["seed"] for row in lake.settings().to_dicts()]
    assert sorted(settings) == sorted(wholes)
    found = lake.metrics(metric="win_rate", by="setting.seed", engine=engine, confidence=None)
    assert sorted(found["setting.seed"]) == digits
    for whole in digits:
        where = f"setting.seed = '{whole}'"
        (row,) = lake.metrics(metric="win_rate", by="model", where=where, engine=engine).to_dicts()
        assert row["counted"] == 2


def test_a_source_whose_name_is_no_text_is_noted(tmp_path: Path) -> None:
    """Given by itself, and not found in its folder, it is told of in `ingests`."""
    log = tmp_path / os.fsdecode(b"caf\xe9.json")
    log.write_bytes(encode(prisoners_dilemma()))
    assert ingest(log, tmp_path / "lake").statuses["ingested"] == 1
    (sources,) = table(tmp_path / "lake", "ingests")["sources"]
    assert sources.to_list() == [f"{tmp_path}/caf\\udce9.json"]
