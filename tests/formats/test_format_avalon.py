"""The archive of multi-round Avalon: what its logs say, counted once more in plain Python."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from event_tables import ENGINES
from logs.avalon import EVIL, MODEL, Log, cut_short, good_won, merlin_found, quests_failed
from rawlogs import encode, fault_of, game_of
from real_archives import Archive, ingested, rows, shares, statuses, values

from pipeline.formats import read_game

EVERY_ENGINE = pytest.mark.parametrize("engine", ENGINES)
NAMES = {"good": "servant", "evil": "minion"}


@pytest.fixture(scope="module")
def archive(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return ingested(shared / "real" / "avalon.tar.zst", tmp_path_factory.mktemp("avalon"))


def logs(archive: Archive) -> Iterator[tuple[str, Any]]:
    for game in rows(archive, "games"):
        yield game["path"], archive.raw[game["path"]]


def proposals(log: Any) -> Iterator[tuple[int, int, Any, Any]]:
    """Each proposal of a game with the numbers of its mission and attempt, and its mission."""
    for mission in log["missions"]:
        for attempt, proposal in enumerate(mission["proposals"], 1):
            yield mission["mission_number"], attempt, proposal, mission


def test_every_document_is_accounted_for(archive: Archive) -> None:
    """What repeats the games beside it, or what players remember, is no log of a game."""
    ignored = [one["path"] for one in rows(archive, "documents") if one["status"] == "ignored"]
    names = Counter(path.rsplit("/", 1)[-1] for path in ignored)
    assert names == {"all_games.json": 3, "player_memories.json": 3, "LICENSE": 1}
    assert statuses(archive) == {"ingested": 90, "ignored": 7}
    assert rows(archive, "quarantine") == []
    for path in archive.raw:
        if path.endswith("all_games.json"):
            folder = path.removesuffix("all_games.json") + "individual_games/"
            beside = [name for name in archive.raw if name.startswith(folder)]
            assert len(archive.raw[path]["games"]) == len(beside) > 0


def test_games_are_as_many_as_known(archive: Archive) -> None:
    games = rows(archive, "games")
    assert Counter(game["n_players"] for game in games) == {5: 70, 7: 20}
    assert Counter(game["outcome"] for game in games) == {
        "quests_failed": 36,
        "merlin_found": 21,
        "good_won": 33,
    }
    assert {game["model"] for game in rows(archive, "players")} == {"gpt-5.1"}


def test_outcomes_follow_from_the_quests_and_the_assassin(archive: Archive) -> None:
    failed: Counter[str] = Counter()
    for team in rows(archive, "team_proposals"):
        failed[team["path"]] += team["is_quest_failed"] is True
    chosen = {one["path"]: one["is_correct"] for one in rows(archive, "assassinations")}
    assert len(chosen) == 54
    for game in rows(archive, "games"):
        path = game["path"]
        expected = "merlin_found" if chosen.get(path) else "good_won"
        assert game["outcome"] == ("quests_failed" if failed[path] == 3 else expected), path
        assert (game["outcome"] == "good_won") == (archive.raw[path]["winner"] == "good"), path


def test_the_assassin_is_right_if_the_choice_is_merlin(archive: Archive) -> None:
    """With seven players Morgana chooses: none of them is the assassin alone."""
    seats = {(one["path"], one["seat"]): one["role"] for one in rows(archive, "players")}
    choices = rows(archive, "assassinations")
    assert Counter(one["role"] for one in choices) == {"assassin": 45, "morgana": 9}
    for one in choices:
        is_merlin = seats[one["path"], one["target_seat"]] == "merlin"
        assert one["is_correct"] == is_merlin
        assert one["target"] == archive.raw[one["path"]]["assassin_phase"]["guess"]


def test_every_proposal_follows_from_its_votes(archive: Archive) -> None:
    """More than half have to approve. The fifth team of a quest goes without a vote."""
    votes: dict[tuple[str, int, int], list[bool]] = {}
    for vote in rows(archive, "team_votes"):
        key = vote["path"], vote["round"], vote["attempt"]
        votes.setdefault(key, []).append(vote["approves"])
    teams = {(t["path"], t["round"], t["attempt"]): t for t in rows(archive, "team_proposals")}
    expected = {
        (path, number, attempt): (proposal["leader"], proposal["team_members"])
        for path, log in logs(archive)
        for number, attempt, proposal, _ in proposals(log)
    }
    assert {key: (team["player"], team["team"]) for key, team in teams.items()} == expected
    assert (len(teams), len(votes)) == (507, 503)
    for key, team in teams.items():
        assert team["is_voted_on"] == (key in votes)
        if key in votes:
            for_it = votes[key].count(True)
            assert team["is_approved"] == (for_it * 2 > len(votes[key])), key
        else:
            assert (key[2], team["is_approved"]) == (5, True)


def test_one_fail_is_enough_whatever_the_quest(archive: Archive) -> None:
    """With seven players, too: in ten fourth quests one player alone played fail."""
    fails: Counter[tuple[str, int]] = Counter()
    failed: dict[tuple[str, int], bool] = {}
    for play in rows(archive, "quest_plays"):
        key = play["path"], play["round"]
        fails[key] += play["is_fail"]
        failed[key] = play["is_quest_failed"]
        assert play["side"] == "hidden" or not play["is_fail"]
    assert len(failed) == 364
    assert {key: n > 0 for key, n in fails.items()} == failed
    n_players = {game["path"]: game["n_players"] for game in rows(archive, "games")}
    fourth = [n for (path, round_), n in fails.items() if round_ == 4 and n_players[path] == 7]
    assert Counter(fourth) == {0: 5, 1: 10, 2: 1, 3: 1}


@EVERY_ENGINE
def test_wins_by_role(archive: Archive, engine: str) -> None:
    played = [
        (role, (role in EVIL) == (log["winner"] == "evil"))
        for _, log in logs(archive)
        for role in {player["role"] for player in log["players"]}
    ]
    wins = shares((("gpt-5.1", NAMES.get(role, role)), won) for role, won in played)
    hidden = shares((("gpt-5.1",), won) for role, won in played if role in EVIL)
    assert values(archive, "win_rate", ["model", "role"], engine) == pytest.approx(wins)
    assert values(archive, "deception", ["model"], engine) == pytest.approx(hidden)
    assert values(archive, "judgement", ["model"], engine) == {}


# One game at a time


def test_messages_are_in_the_order_of_play() -> None:
    game = game_of(merlin_found())
    course = [(one.phase, one.round) for one in game.messages]
    first = [*[("talk", 1)] * 5, ("team", 1), *[("team_vote", 1)] * 5]
    assert course[: len(first)] == first
    assert course[-3:] == [("assassination", 3)] * 3
    assert game.messages[-1].visible_to == ["Di"]
    assert game.messages[-2].visible_to == ["Di", "Eve"]
    assert game.messages[6].visible_to == ["Ann"]


def test_a_team_that_nobody_was_asked_about() -> None:
    teams = game_of(quests_failed()).team_proposals
    assert [(one.round, one.attempt, one.is_voted_on, one.is_approved) for one in teams] == [
        (1, 1, True, True),
        (2, 1, True, True),
        *[(3, attempt, True, False) for attempt in range(1, 5)],
        (3, 5, False, True),
    ]
    assert [one.is_quest_failed for one in teams] == [True, True, None, None, None, None, True]
    assert teams[-1].team == ["Eve", "Gus"]


def test_quests_are_played_in_silence() -> None:
    plays = game_of(quests_failed()).quest_plays
    assert [(one.seat, one.round, one.is_fail, one.message_index) for one in plays[:2]] == [
        (1, 1, False, None),
        (6, 1, True, None),
    ]


def test_roles_have_their_name_in_the_field() -> None:
    seats = game_of(merlin_found()).seats
    assert [one.role for one in seats] == ["merlin", "servant", "servant", "assassin", "minion"]
    assert [one.side for one in seats] == ["civilian"] * 3 + ["hidden"] * 2
    assert {one.model for one in seats} == {MODEL}


def test_a_game_without_a_winner_is_unfinished() -> None:
    game = game_of(cut_short())
    assert (game.is_finished, game.outcome, game.n_rounds) == (False, None, 2)
    assert [one.is_win for one in game.results] == [None] * 4


def test_an_assassin_without_a_target_and_a_vote_without_words() -> None:
    log = good_won()
    log["assassin_phase"]["guess"] = "Nobody"
    log["missions"][0]["proposals"][0]["votes"][0]["comment"] = None
    game = game_of(log)
    (choice,) = game.assassinations
    assert (choice.target, choice.target_seat, choice.is_correct) == (None, None, False)
    assert (game.team_votes[0].message_index, game.team_votes[0].approves) == (None, True)


def bent(*path: object, value: object) -> Log:
    log = good_won()
    *parents, last = path
    part: Any = log
    for key in parents:
        part = part[key]
    part[last] = value
    return log


@pytest.mark.parametrize(
    ("log", "json_path"),
    [
        (bent("players", 0, "role", value="jester"), "$.players[0].role"),
        (bent("players", 1, "name", value="Ann"), "$.players"),
        (bent("winner", value="nobody"), "$.winner"),
    ],
)
def test_a_log_that_breaks_a_rule_is_refused(log: Log, json_path: str) -> None:
    assert fault_of(log).json_path == json_path


TEAM = ("missions", 0, "proposals", 0)
STRANGERS: list[tuple[tuple[Any, ...], str]] = [
    (("missions", 1, "discussion", 0, "player"), "messages"),
    ((*TEAM, "leader"), "team_proposals"),
    ((*TEAM, "team_members"), "team_votes"),
    ((*TEAM, "votes", 0, "player"), "team_votes"),
    (("missions", 0, "quest_actions", 0, "player"), "quest_plays"),
    (("assassin_phase", "evil_discussion", 0, "player"), "messages"),
    (("assassin_phase", "assassin"), "assassinations"),
]


@pytest.mark.parametrize(("place", "table"), STRANGERS)
def test_what_somebody_without_a_seat_does_is_a_fault(place: tuple[Any, ...], table: str) -> None:
    """Of a team the stranger alone is left out, with no row less."""
    whole = game_of(bent("winner", value="good"))
    is_team = place[-1] == "team_members"
    game = game_of(bent(*place, value=["Zoë", "Ann"] if is_team else "Zoë"))
    (fault,) = game.faults
    assert fault.json_path.replace("[", ".").replace("]", "") == ".".join(map(str, ("$", *place)))
    n_rows = [len(getattr(one, table)) for one in (game, whole)]
    assert n_rows[0] == n_rows[1] if is_team else n_rows[0] < n_rows[1]
    assert game.outcome == whole.outcome


def test_other_documents_are_none() -> None:
    assert read_game(encode({"session_id": "s", "total_games": 1, "games": [good_won()]})) is None
    assert read_game(encode({"players": [], "missions": []})) is None
