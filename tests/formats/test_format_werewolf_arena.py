"""Werewolf Arena: small games round by round, and real ones against a naive reader."""

import json
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from event_tables import ENGINES
from logs.werewolf_arena import NIGHT, VILLAGERS_WIN, WEREWOLVES_WIN
from rawlogs import encode
from wolves import Table, check

from pipeline.archives import iter_documents
from pipeline.formats import read_game
from pipeline.game_record import GameRecord, InvalidDocumentError, RecordError
from pipeline.ingest import IngestSummary, ingest
from pipeline.lake import StoredLake, open_lake

Log = dict[str, Any]


def game_of(log: Log) -> GameRecord:
    game = read_game(encode(log))
    assert game is not None
    return game


def fault_of(log: Log) -> RecordError:
    with pytest.raises(InvalidDocumentError) as error:
        read_game(encode(log))
    return error.value.fault


def test_players_and_setting() -> None:
    game = game_of(VILLAGERS_WIN)
    assert [(s.player, s.model, s.role) for s in game.seats][:3] == [
        ("Ada", "alpha", "villager"),
        ("Björn", "beta", "werewolf"),
        ("Cy", "alpha", "seer"),
    ]
    assert all(seat.is_tested for seat in game.seats)
    assert game.setting == {"roles": {"doctor": 1, "seer": 1, "villager": 3, "werewolf": 1}}


def test_the_last_tally_of_a_day_decides() -> None:
    votes = [(v.round, v.seat, v.target) for v in game_of(VILLAGERS_WIN).votes]
    assert votes[:6] == [
        (1, 1, "Björn"),
        (1, 2, "Cy"),
        (1, 3, "Björn"),
        (1, 4, "Cy"),
        (1, 5, "Cy"),
        (1, 6, "Eve"),
    ]
    assert [day for day, *_ in votes] == [1] * 6 + [2] * 5


def test_nights_belong_to_the_day_before() -> None:
    game = game_of(VILLAGERS_WIN)
    used = [(a.round, a.seat, a.kind, a.target, a.finding) for a in game.abilities]
    assert used == [
        (0, 2, "attack", "Cy", None),
        (0, 4, "protect", "Cy", None),
        (0, 3, "unmask", "Björn", "werewolf"),
        (1, 2, "attack", "Eve", None),
        (1, 4, "protect", "Cy", None),
        (1, 3, "unmask", "Ada", "villager"),
    ]
    assert [(e.round, e.seat, e.cause) for e in game.eliminations] == [
        (1, 5, "attack"),
        (2, 2, "vote"),
    ]
    assert game.n_rounds == 2
    assert list(game.messages.course.round) == [1, 1, 2]


def test_a_game_can_end_in_the_night() -> None:
    game = game_of(NIGHT)
    assert (game.outcome, game.n_rounds) == ("werewolves_won", 2)
    assert (game.eliminations[-1].round, game.eliminations[-1].seat) == (2, 5)


def test_an_interrupted_game_is_unfinished_and_its_last_tally_no_vote() -> None:
    log = deepcopy(WEREWOLVES_WIN)
    log |= {"winner": "", "error_message": "no answer"}
    log["rounds"][1] |= {"success": False, "exiled": None}
    game = game_of(log)
    assert (game.is_finished, game.outcome, game.ended_by) == (False, None, "no answer")
    assert {result.is_win for result in game.results} == {None}
    assert {vote.round for vote in game.votes} == {1}


def test_a_vote_for_no_player_is_a_fault() -> None:
    log = deepcopy(WEREWOLVES_WIN)
    voters = [*log["rounds"][0]["votes"][-1]]
    log["rounds"][0]["votes"][-1] |= {voters[0]: "skip", voters[1]: "Zed"}
    game = game_of(log)
    n_tallies = len(log["rounds"][0]["votes"])
    assert [vote.target for vote in game.votes if vote.round == 1].count(None) == 2
    assert [(fault.json_path, fault.message) for fault in game.faults] == [
        (f"$.rounds[0].votes[{n_tallies - 1}].{voters[1]}", "'Zed'")
    ]


def test_an_ability_of_nobody_is_reported() -> None:
    log = deepcopy(WEREWOLVES_WIN)
    log["rounds"][1]["protected"] = "Flo"
    game = game_of(log)
    assert [fault.json_path for fault in game.faults] == ["$.rounds[1].protected"]


def bent(log: Any, place: list[str | int], value: object) -> Any:
    inner = log = deepcopy(log)
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return log


@pytest.mark.parametrize(
    ("place", "value", "json_path", "rule"),
    [
        (["winner"], "Nobody", "$.winner", "the winner is Villagers or Werewolves"),
        (["players", "Ada", "role"], "Fox", "$.players.Ada.role", "a role is one of"),
        (["rounds", 1, "exiled"], "Ada", "$.rounds[1].exiled", "whoever leaves the game is still"),
        (["rounds", 1, "eliminated"], "Cy", "$.rounds[1].eliminated", "whoever leaves the game"),
    ],
)
def test_a_log_that_breaks_a_rule_is_refused(
    place: list[str | int], value: object, json_path: str, rule: str
) -> None:
    fault = fault_of(bent(WEREWOLVES_WIN, place, value))
    assert fault.json_path == json_path
    assert fault.rule.startswith(rule)


def with_a_name_twice() -> bytes:
    data = encode(WEREWOLVES_WIN).decode()
    start = data.index('"players"')
    return (data[:start] + data[start:].replace('"Flo": {', '"Ada": {', 1)).encode()


def test_a_name_that_comes_twice_is_refused() -> None:
    with pytest.raises(InvalidDocumentError) as error:
        read_game(with_a_name_twice())
    assert error.value.fault.rule == "no two players have the same name"


def test_bytes_that_are_no_text_are_refused_where_nothing_is_read() -> None:
    """The decoder skips what nobody asks for, whatever it is; what looks for names does not."""
    data = with_a_name_twice().replace(b'"Ada": {', b'"Ada": {"note": "\xbb", ', 1)
    with pytest.raises(InvalidDocumentError) as error:
        read_game(data)
    assert error.value.fault.json_path == "$.players"
    assert "byte 0xbb" in error.value.fault.message


# Real logs


@pytest.fixture(scope="module")
def archive(shared: Path) -> Path:
    return shared / "real" / "werewolf-arena.tar.zst"


@pytest.fixture(scope="module")
def logs(archive: Path) -> list[Log]:
    return [
        json.loads(document.data)
        for document in iter_documents(archive)
        if document.data is not None and document.path.endswith("game_complete.json")
    ]


@pytest.fixture(scope="module")
def ingested(
    archive: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[StoredLake, IngestSummary]:
    lake = tmp_path_factory.mktemp("arena") / "lake"
    report = ingest(archive, lake, jobs=1)
    return open_lake(lake), report


def test_every_document_is_accounted_for(ingested: tuple[StoredLake, IngestSummary]) -> None:
    """The prompts of a game are no game."""
    lake, report = ingested
    assert {status: n for status, n in report.statuses.items() if n} == {
        "ingested": 19,
        "ignored": 1,
    }
    ignored = lake.table("documents").filter(status="ignored").select("path", "reason").collect()
    assert ignored.rows() == [
        (
            "session_20250418_181926/game_logs.json",
            "not a log: JSON with other keys (eliminate, investigate, protect, …)",
        )
    ]
    assert lake.table("quarantine").collect().is_empty()


def test_known_facts(ingested: tuple[StoredLake, IngestSummary]) -> None:
    lake = ingested[0]
    games = lake.table("games").collect()
    assert Counter(games["n_players"]) == {8: 16, 10: 3}
    assert Counter(games["outcome"]) == {"villagers_won": 11, "werewolves_won": 8}
    assert lake.table("players").collect()["model"].n_unique() == 5
    votes = lake.table("votes").collect()
    by_others = votes.filter(side="civilian")["is_correct"]
    assert (by_others.sum(), len(by_others)) == (154, 249)
    assert votes.filter(role="werewolf").height == 97
    assert votes["is_valid"].all()


def test_who_is_left_is_as_the_log_says(
    logs: list[Log], ingested: tuple[StoredLake, IngestSummary]
) -> None:
    """After each day, by the eliminations; and who is exiled has more than half of the votes."""
    lake = ingested[0]
    rows = lake.table("eliminations").select("game_id", "player", "round").collect().rows()
    votes = lake.table("votes").select("game_id", "player", "target", "round").collect().rows()
    players = lake.table("players").select("game_id", "player").collect().rows()
    ids = {frozenset(p for g, p in players if g == game): game for game, _ in players}
    assert len(ids) == 19
    for log in logs:
        game = ids[frozenset(log["players"])]
        for day, one in enumerate(log["rounds"], start=1):
            # The night after the day is of its round too, and is in the next round of the log.
            exiled = {log["rounds"][n]["exiled"] for n in range(day)}
            gone = {p for g, p, r in rows if g == game and (r < day or p in exiled)}
            assert set(one["players"]) == set(log["players"]) - gone
            tally = Counter(t for g, _, t, r in votes if (g, r) == (game, day))
            most = [p for p, n in tally.items() if 2 * n > tally.total()]
            assert most == [one["exiled"]] * bool(one["exiled"])


@pytest.mark.parametrize("engine", ENGINES)
def test_metrics_are_those_of_the_naive_reader(
    logs: list[Log], ingested: tuple[StoredLake, IngestSummary], engine: str
) -> None:
    games = [
        Table(
            {name: player["model"] for name, player in log["players"].items()},
            {name: player["role"].lower() for name, player in log["players"].items()},
            log["winner"] == "Werewolves",
            [
                (day, voter, target)
                for day, one in enumerate(log["rounds"])
                for voter, target in (one["votes"][-1] if one["votes"] else {}).items()
            ],
        )
        for log in logs
    ]
    check(ingested[0], engine, games)


@pytest.mark.parametrize(
    ("place", "value", "json_path"),
    [
        (["rounds", 0, "debate", 0, 0], "Zed", "$.rounds[0].debate[0]"),
        (["rounds", 0, "votes", -1, "Zed"], "Ada", "$.rounds[0].votes[1]"),
    ],
)
def test_what_somebody_without_a_seat_does_is_a_fault(
    place: list[str | int], value: str, json_path: str
) -> None:
    log = bent(VILLAGERS_WIN, place, value)
    (fault,) = game_of(log).faults
    assert (fault.json_path, fault.rule) == (json_path, "whoever acts is a player")
    assert len(game_of(log).votes) == len(game_of(VILLAGERS_WIN).votes)


@pytest.mark.parametrize("nobody", ["", "None", "no_elimination"])
@pytest.mark.parametrize("key", ["eliminated", "exiled"])
def test_a_word_for_nobody_is_no_player(key: str, nobody: str) -> None:
    written, null = (
        game_of(bent(WEREWOLVES_WIN, ["rounds", 1, key], value)) for value in (nobody, None)
    )
    assert (written.eliminations, written.faults) == (null.eliminations, [])
