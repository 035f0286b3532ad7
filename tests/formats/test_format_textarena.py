"""The archive of TextArena's Avalon: what its logs say, counted once more in plain Python."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from event_tables import ENGINES
from logs.textarena import EVIL, Log, cut_off, good_won, merlin_found, of_one_agent
from rawlogs import encode, fault_of, game_of
from real_archives import Archive, ingested, rows, shares, statuses, values

from pipeline.formats import read_game

EVERY_ENGINE = pytest.mark.parametrize("engine", ENGINES)
BOTS = {"deeprole", "deeprole-llm"}
Votes = dict[str, str]
# The number of a mission, a team, and the votes for it.
Ballot = tuple[int, list[int], Votes]


@pytest.fixture(scope="module")
def archive(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return ingested(shared / "real" / "textarena-avalon.tar.zst", tmp_path_factory.mktemp("arena"))


def agents(log: Any) -> list[str]:
    return log.get("seat_agents") or [log["agent"]] * len(log["game_info"])


def roles(log: Any) -> list[str]:
    return [info["role"] for info in log["game_info"].values()]


def ballots(log: Any) -> Iterator[Ballot]:
    """The votes as they were said, each under the last team that the engine wrote down."""
    state: Any = {}
    said: Votes = {}
    for row in log["logs"]:
        text = row["message"]
        if row["from"] == -1 and text.startswith("<game_state>"):
            if said:
                yield state["mission_index"], state["team_proposal"], said
            state, said = json.loads(text[len("<game_state>") : -len("</game_state>")]), {}
        elif row["from"] >= 0 and text.startswith("<vote>"):
            said[str(row["from"])] = text[len("<vote>") : -len("</vote>")]


def test_every_document_is_accounted_for(archive: Archive) -> None:
    """At 96 tables nobody but bots sits: they are read, and no metric counts them."""
    assert statuses(archive) == {"ingested": 298}
    faults = rows(archive, "quarantine")
    assert Counter(fault["rule"] for fault in faults) == {"at least one player is tested": 96}
    without = {path for path, log in archive.raw.items() if set(agents(log)) <= BOTS}
    assert {fault["path"] for fault in faults} == without


def test_games_are_as_many_as_known(archive: Archive) -> None:
    games = rows(archive, "games")
    assert {game["n_players"] for game in games} == {5}
    assert Counter(game["outcome"] for game in games) == {
        "quests_failed": 128,
        "merlin_found": 38,
        "good_won": 132,
    }
    ended_by = Counter(game["ended_by"] for game in games)
    assert ended_by == {None: 279, "invalid move: Merlin guess not in valid format": 19}
    for game in games:
        log = archive.raw[game["path"]]
        is_good = {pid for pid, role in enumerate(roles(log)) if role not in EVIL}
        winners = {int(pid) for pid, reward in log["rewards"].items() if reward == 1}
        assert (winners == is_good) == (game["outcome"] == "good_won"), game["path"]


def test_seats_are_of_models_and_bots(archive: Archive) -> None:
    """28 logs name one agent for all seats."""
    players = rows(archive, "players")
    assert {(one["model"], one["is_bot"], one["is_tested"]) for one in players} == {
        ("tinker-distil", False, True),
        ("deeprole", True, False),
        ("deeprole-llm", True, False),
    }
    assert sum("seat_agents" not in log for log in archive.raw.values()) == 28
    for one in players:
        log = archive.raw[one["path"]]
        pid = one["seat"] - 1
        assert (one["model"], one["role"]) == (agents(log)[pid], roles(log)[pid].lower())


def test_bots_say_one_of_four_lines(archive: Archive) -> None:
    talk = [one for one in rows(archive, "messages") if one["phase"] == "talk"]
    said = {one["content"] for one in talk if one["model"] in BOTS}
    assert (len(talk), len(said)) == (11_825, 4)


def test_every_vote_event_follows_from_its_votes(archive: Archive) -> None:
    events = [event for log in archive.raw.values() for event in log["vote_events"]]
    assert len(events) == 5_066
    for event in events:
        n_for = list(event["votes"].values()).count("approve")
        assert (n_for, n_for > 2) == (event["approve_count"], event["passed"])


def test_team_votes_are_those_that_were_said(archive: Archive) -> None:
    """Of 5,066 vote events 2,304 are votes; the others show an older vote under a newer team."""
    logged: dict[str, list[Ballot]] = {}
    for vote in rows(archive, "team_votes"):
        team = [int(name.removeprefix("Player ")) for name in vote["team"]]
        of_game = logged.setdefault(vote["path"], [])
        if not of_game or len(of_game[-1][2]) == 5:
            of_game.append((vote["round"] - 1, team, {}))
        choice = "approve" if vote["approves"] else "reject"
        of_game[-1][2][str(vote["seat"] - 1)] = choice
    assert sum(map(len, logged.values())) == 2_304
    for path, log in archive.raw.items():
        assert logged[path] == list(ballots(log)), path
        events = iter(
            (e["mission_index"], e["team_proposal"], e["votes"]) for e in log["vote_events"]
        )
        assert all(ballot in events for ballot in logged[path]), path  # in this order


def test_every_proposal_follows_from_its_votes(archive: Archive) -> None:
    votes: dict[tuple[str, int, int], list[bool]] = {}
    for vote in rows(archive, "team_votes"):
        key = vote["path"], vote["round"], vote["attempt"]
        votes.setdefault(key, []).append(vote["approves"])
    teams = rows(archive, "team_proposals")
    assert Counter(team["is_voted_on"] for team in teams) == {True: 2_304, False: 61}
    for team in teams:
        key = team["path"], team["round"], team["attempt"]
        assert team["is_voted_on"] == (key in votes)
        is_forced = team["attempt"] == 5
        assert team["is_approved"] == (is_forced or votes[key].count(True) > 2), key


def test_outcomes_follow_from_the_quests(archive: Archive) -> None:
    quests: dict[str, Counter[bool]] = {}
    for team in rows(archive, "team_proposals"):
        if team["is_quest_failed"] is not None:
            quests.setdefault(team["path"], Counter()).update([team["is_quest_failed"]])
    for game in rows(archive, "games"):
        decided = quests[game["path"]]
        assert (decided[True] == 3) == (game["outcome"] == "quests_failed")
        assert (decided[False] == 3) == (game["outcome"] != "quests_failed")


def test_secrets_are_not_in_the_tables(archive: Archive) -> None:
    """Who failed a quest, and who of the evil players guessed Merlin, no log says."""
    assert rows(archive, "quest_plays") == []
    assert rows(archive, "assassinations") == []


def test_instructions_are_for_one_player(archive: Archive) -> None:
    """The first ten rows say to each what it is; Merlin's instructions are empty in every game."""
    first = [one for one in rows(archive, "messages") if one["message_index"] < 10]
    merlin = {
        one["path"]: one["player"] for one in rows(archive, "players") if one["role"] == "merlin"
    }
    n_empty = 0
    for one in first:
        assert one["visible_to"] == [f"Player {one['message_index'] % 5}"]
        n_empty += one["content"] == ""
        assert one["content"] != "" or one["visible_to"] == [merlin[one["path"]]]
    assert n_empty == 298


@EVERY_ENGINE
def test_wins_by_role(archive: Archive, engine: str) -> None:
    played = [
        (agent, role, (role in EVIL) == (log["rewards"][str(roles(log).index("Minion"))] == 1))
        for log in archive.raw.values()
        for agent, role in set(zip(agents(log), roles(log), strict=True))
        if agent not in BOTS
    ]
    wins = shares(((agent, role.lower()), won) for agent, role, won in played)
    hidden = shares(((agent,), won) for agent, role, won in played if role in EVIL)
    assert values(archive, "win_rate", ["model", "role"], engine) == pytest.approx(wins)
    assert values(archive, "deception", ["model"], engine) == pytest.approx(hidden)


# One game at a time


def test_phases_and_rounds_follow_from_the_state() -> None:
    game = game_of(merlin_found())
    spoken = [one for one in game.messages if one.seat is not None]
    of_attempt = [*["talk"] * 5, "team", *["team_vote"] * 5]
    assert [one.phase for one in spoken] == of_attempt * 4
    assert [one.round for one in spoken] == [1] * 11 + [2] * 22 + [3] * 11
    assert [(one.round, one.attempt, one.leader) for one in game.team_votes[::5]] == [
        (1, 1, "Player 3"),
        (2, 1, "Player 4"),
        (2, 2, "Player 0"),
        (3, 1, "Player 1"),
    ]
    assert [one.is_quest_failed for one in game.team_proposals] == [False, None, False, False]


def test_the_moderator_addresses_whom_its_text_names() -> None:
    game = game_of(good_won())
    shown = {one.content.split("\n")[-1]: one.visible_to for one in game.messages}
    assert shown["You are the leader, propose a team."] == ["Player 0"]
    assert shown["You are on the mission team. Choose."] == ["Player 0", "Player 4"]
    assert shown["Evil team, you have one chance."] == ["Player 2", "Player 3"]
    invalid = [one for one in game.messages if "invalid move" in one.content]
    assert [one.visible_to for one in invalid] == [["Player 2"], ["Player 3"]]
    assert shown["Mission Succeeded. All actions"] == ["all"]


def test_an_invalid_move_is_told_and_the_game_is_finished() -> None:
    game = read_game(encode(good_won()))
    assert game.ended_by == "invalid move: Merlin guess not in valid format"
    assert (game.is_finished, game.outcome) == (True, "good_won")


def test_the_fifth_team_goes_unasked() -> None:
    game = game_of(of_one_agent("model-c"))
    teams = [
        (one.round, one.attempt, one.is_voted_on, one.is_approved) for one in game.team_proposals
    ]
    assert teams[3:6] == [(1, 4, True, False), (1, 5, False, True), (2, 1, True, True)]
    assert [one.is_quest_failed for one in game.team_proposals] == [None] * 4 + [True] * 3
    assert {one.model for one in game.seats} == {"model-c"}


def test_one_name_for_several_agents_is_no_model() -> None:
    game = game_of(of_one_agent("mixed"))
    assert {(one.model, one.is_bot, one.is_tested) for one in game.seats} == {(None, None, False)}
    bots = game_of(of_one_agent("deeprole-llm"))
    assert {(one.model, one.is_bot, one.is_tested) for one in bots.seats} == {
        ("deeprole-llm", True, False)
    }


def test_a_log_that_ends_in_a_vote_is_unfinished() -> None:
    log = cut_off()
    game = read_game(encode(log))
    assert (game.is_finished, game.outcome, game.ended_by) == (False, None, "Time is up.")
    votes = game_of(log).team_votes
    assert [(one.seat, one.approves, one.is_approved) for one in votes] == [
        (1, True, None),
        (2, True, None),
    ]
    assert [one.is_approved for one in game_of(log).team_proposals] == [None]


def test_a_log_without_rows_is_a_game_without_words() -> None:
    game = read_game(encode({**good_won(), "logs": []}))
    assert len(game.messages) == 0


def test_a_vote_that_was_not_registered_is_a_fault() -> None:
    log = cut_off()
    log["logs"][-1]["message"] = "I pass."
    game = read_game(encode(log))
    (fault,) = game.faults
    assert fault.json_path == f"$.logs[{len(log['logs']) - 1}]"
    assert len(game.events["team_votes"]) == 1


def bent(*path: object, value: object) -> Log:
    log = merlin_found()
    *parents, last = path
    part: Any = log
    for key in parents:
        part = part[key]
    part[last] = value
    return log


@pytest.mark.parametrize(
    ("log", "json_path"),
    [
        (bent("seat_agents", value=["model-a"]), "$.seat_agents"),
        (bent("game_info", "0", "role", value="Jester"), "$.game_info[...].role"),
        (bent("game_info", "5", value={"role": "Minion"}), "$.seat_agents"),
        (bent("logs", 3, "from", value=9), "$.logs[3].from"),
        (bent("logs", 10, "message", value="<game_state>{</game_state>"), "$.logs[10].message"),
        (bent("rewards", value=[1, -1]), "$.rewards"),
    ],
)
def test_a_log_that_breaks_a_rule_is_refused(log: Log, json_path: str) -> None:
    assert fault_of(log).json_path == json_path


def test_logs_of_another_environment_are_none() -> None:
    assert read_game(encode({**merlin_found(), "env_id": "SecretMafia-v0"})) is None
