"""Which games are the same: by bytes and index, wherever they lie; and what takes what's place."""

import json
import os
import shutil
from pathlib import Path

import pytest
import zstandard
from lakes import Lab, nonzero, rows, statuses, table
from rawlogs import (
    GAMES,
    PAYOFFS,
    chameleon,
    cost_sharing,
    encode,
    game_of,
    prisoners_dilemma,
    public_good,
    undercover,
)
from test_archives import tar, zipped

import pipeline
from pipeline.events.readings import game_id, setting_with_id, sha256
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
    lab.write("e.json", json.dumps(chameleon(), indent=1).encode())
    lab.write("picture.png", b"\x89PNG")
    report = lab.ingest()
    assert statuses(lab.lake) == {
        "a.json": "ingested",
        "b.json": "duplicate",
        "c.json": "quarantined",
        "d/settings.json": "ignored",
        "e.json": "ingested",
        "picture.png": "ignored",
    }
    assert sum(report.statuses.values()) == 6
    assert report.games.rows() == [("chameleon", 2)]
    assert report.n_in_other_form == 2
    seen = table(lab.lake, "documents").sort("path")
    assert seen["game_id"].is_null().to_list() == [False, False, True, True, False, True]
    assert seen["reason"].is_null().to_list() == [True, False, False, False, True, False]
    assert seen["reason"][1] == f"the same game as {lab.root.as_posix()}/a.json"
    assert seen["format"].to_list() == ["magic", "magic", None, None, "magic", None]
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


# Ids


def test_a_game_id_is_the_same_on_every_machine() -> None:
    """Of the bytes and the index alone; this is the id of these bytes for good."""
    data = (
        b'{"test_player_name": "Player 1", "history": [], "result": null, "scores": [1, 2, 3],'
        b' "game_setting": {"multiplier": 2, "game_round": 1, "test_player": {"model": "m"}}}'
    )
    assert game_id(sha256(data), 7, None) == "abe5fbcaa482c047e28d43eba38f732f"
    assert game_id(sha256(data + b" "), None, None) == "a8c4a9450c2dca361e9533d70aaf4b77"


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


@pytest.mark.slow
def test_whole_numbers_of_a_setting_keep_their_digits(tmp_path: Path) -> None:
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
    where = " OR ".join(f"setting.seed = '{whole}'" for whole in digits)
    for engine in ("polars", "duckdb"):
        asked = {"metric": "win_rate", "engine": engine, "confidence": None}
        assert sorted(lake.metrics(by="setting.seed", **asked)["setting.seed"]) == digits
        (row,) = lake.metrics(by="model", where=where, **asked).to_dicts()
        assert row["counted"] == 2 * len(wholes)


def test_a_source_whose_name_is_no_text_is_noted(tmp_path: Path) -> None:
    """Given by itself, and not found in its folder, it is told of in `ingests`."""
    log = tmp_path / os.fsdecode(b"caf\xe9.json")
    log.write_bytes(encode(prisoners_dilemma()))
    assert ingest(log, tmp_path / "lake").statuses["ingested"] == 1
    (sources,) = table(tmp_path / "lake", "ingests")["sources"]
    assert sources.to_list() == [f"{tmp_path}/caf\\udce9.json"]
