"""AIWolf's logs, line by line."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from logs.aiwolf import FIVE, SEVEN
from rawlogs import fault_of, record_of

from pipeline.cli import main
from pipeline.formats import ignored_reason
from pipeline.game_record import GameRecord, RecordError


def game_of(text: str) -> GameRecord:
    return record_of(text.encode(), path="game.log")


def refused(text: str) -> RecordError:
    return fault_of(text.encode(), path="game.log")


def test_the_first_lines_are_the_players() -> None:
    assert [(s.player, s.model, s.role, s.is_tested) for s in game_of(SEVEN).seats][:3] == [
        ("Ida", "Stork", "werewolf", True),
        ('Zoë "the Owl"', "Heron", "bodyguard", True),
        ("Bo", "Heron", "werewolf", True),
    ]
    assert [s.player for s in game_of(FIVE).seats] == [f"Agent[0{n}]" for n in range(1, 6)]
    assert game_of(FIVE).setting == {
        "roles": {"possessed": 1, "seer": 1, "villager": 2, "werewolf": 1}
    }


def test_messages_keep_commas_and_whispers_are_for_living_werewolves() -> None:
    game = game_of(SEVEN)
    rows = zip(
        game.messages.course.player,
        game.messages.course.phase,
        game.messages.course.round,
        game.messages.course.visible_to,
        game.messages.content,
        strict=True,
    )
    assert list(rows) == [
        ("Ida", "whisper", 0, ("Ida", "Bo"), "Tonight 樹, tomorrow Finn, then Åse."),
        ("Bo", "whisper", 0, ("Ida", "Bo"), "Over"),
        ("樹", "talk", 0, "all", "おはようございます。"),
        ("Finn", "talk", 1, "all", "Bo is quiet."),
        ("Ida", "whisper", 1, ("Ida",), "I am alone."),
        ("Åse", "talk", 2, "all", "Bo was a werewolf."),
    ]


def test_a_line_separator_in_a_text_ends_no_line() -> None:
    game = game_of(FIVE.replace("Good evening", "Good\u2028evening\x0b"))
    assert game.messages.content[0] == "Good\u2028evening\x0b to all of you."


@pytest.mark.parametrize(
    ("written", "text", "seconds"),
    [
        ("Good day.,1700000009", "Good day.", 1700000009),
        (
            "I am the seer.\n\n 4, you say?\nYes,1700000009",
            "I am the seer.\n\n 4, you say?\nYes",
            1700000009,
        ),
        ("First,\r\nthen\n,1700000009", "First,\nthen\n", 1700000009),
        ("1700000009", "1700000009", None),
        ("Two of us, 1700000009", "Two of us, 1700000009", None),
        ("On day 1:\n1, 2 and\n1 more", "On day 1:\n1, 2 and\n1 more", None),
    ],
)
def test_a_text_has_its_line_breaks_and_not_its_seconds(
    written: str, text: str, seconds: int | None
) -> None:
    game = game_of(FIVE.replace("Agent[04] then.", written))
    assert game.messages.content[-1] == text
    assert game.started_at == (seconds and datetime.fromtimestamp(seconds, UTC))
    assert (game.votes, game.outcome) == (game_of(FIVE).votes, "villagers_won")


def test_a_game_starts_with_its_first_seconds() -> None:
    game = game_of(
        FIVE.replace("then.", "then.,1700000060").replace("of you.", "of you.,1700000050")
    )
    assert game.started_at == datetime.fromtimestamp(1700000050, UTC)


def test_the_agents_of_a_team_are_one_model() -> None:
    """As the server has it, which takes all digits at the end of a name for a number."""
    names = ["a-1", "a-12", "b2c", "7", "ü٣"]
    lines = [f"0,status,{n},VILLAGER,ALIVE,{name}" for n, name in enumerate(names, start=1)]
    log = "\n".join([*lines, "0,talk,0,0,1,Hello."])
    assert [seat.model for seat in game_of(log).seats] == ["a-", "a-", "b2c", "7", "ü٣"]


@pytest.mark.slow
def test_an_ingest_says_that_models_are_teams(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "1.log").write_text(FIVE, encoding="utf-8")
    main(["ingest", str(tmp_path / "1.log"), "--lake", str(tmp_path / "lake")])
    assert "aiwolf logs are teams" in capsys.readouterr().err


def test_of_a_tie_voted_on_again_the_last_vote_counts() -> None:
    votes = [(v.seat, v.target) for v in game_of(SEVEN).votes if v.round == 1]
    assert votes == [
        (1, "Finn"),
        (2, "Bo"),
        (3, "Finn"),
        (4, "Bo"),
        (5, "Bo"),
        (6, "Bo"),
        (7, "Finn"),
    ]


def test_abilities_with_what_was_learnt() -> None:
    def used(game: GameRecord) -> list[tuple[int, int, str, str | None, str | None]]:
        return [(a.round, a.seat, a.kind, a.target, a.finding) for a in game.abilities]

    assert used(game_of(FIVE)) == [
        (0, 2, "divine", "Agent[04]", "werewolf"),
        (1, 2, "divine", "Agent[05]", "human"),
        (1, 4, "attack_vote", "Agent[01]", None),
        (1, 4, "attack", "Agent[01]", None),
    ]
    # The medium learns what the first two executed were. It does not live to learn of itself.
    assert used(game_of(SEVEN)) == [
        (1, 2, "guard", "樹", None),
        (1, 1, "attack_vote", "樹", None),
        (1, 1, "attack", "樹", None),
        (2, 2, "guard", "Åse", None),
        (3, 2, "guard", 'Zoë "the Owl"', None),
        (3, 1, "attack_vote", "Gro", None),
        (3, 1, "attack", "Gro", None),
        (1, 4, "identify", "Bo", "werewolf"),
        (2, 4, "identify", "Finn", "human"),
    ]


def test_eliminations_and_the_end() -> None:
    five, seven = game_of(FIVE), game_of(SEVEN)
    out = [[(e.round, e.seat, e.cause) for e in game.eliminations] for game in (five, seven)]
    assert out == [
        [(1, 3, "vote"), (1, 1, "attack"), (2, 4, "vote")],
        [(1, 3, "vote"), (2, 6, "vote"), (3, 4, "vote"), (3, 7, "attack")],
    ]
    assert (five.outcome, five.n_rounds) == ("villagers_won", 2)
    assert (seven.outcome, seven.n_rounds) == ("werewolves_won", 3)
    assert {(r.model, r.role): r.is_win for r in five.results} == {
        ("Kestrel", "villager"): True,
        ("Heron", "seer"): True,
        ("Kestrel", "possessed"): False,
        ("Stork", "werewolf"): False,
        ("Heron", "villager"): True,
    }


@pytest.mark.parametrize(
    ("log", "ended_by"),
    [
        (FIVE[: FIVE.index("3,result")], None),
        (FIVE.replace("0,VILLAGER\n", "0,NONE\n"), "NONE"),
    ],
    ids=["no result", "nobody won"],
)
def test_without_a_winner_a_game_is_unfinished(log: str, ended_by: str | None) -> None:
    game = game_of(log)
    assert (game.is_finished, game.outcome, game.ended_by) == (False, None, ended_by)
    assert {r.is_win for r in game.results} == {None}


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("2,status,1,VILLAGER,DEAD", "2,status,1,VILLAGER,", "a status is ALIVE or DEAD"),
        ("2,status,1,VILLAGER,DEAD", "2,status,1,VILLAGER,ALIVE", "a player is DEAD once"),
        ("result,2,0", "result,2,1", "2 villagers and 0 werewolves are left"),
        ("2,talk,0", "2,sing,0", "an event is one of status, talk,"),
        ("1,vote,3,1", "1,vote,-1,1", "value 1 of `vote` is a player's seat"),
        ("1,vote,3,1", "1,vote,3", "`vote` has 2 values"),
        ("0,divine,2,4,WEREWOLF", "0,divine,2,4,SEER", "value 3 of `divine` is one of HUMAN"),
    ],
)
def test_a_line_that_cannot_be_used_is_reported(old: str, new: str, rule: str) -> None:
    game = game_of(FIVE.replace(old, new))
    (fault,) = game.faults
    assert fault.json_path == f"$[{FIVE[: FIVE.index(old)].count(chr(10))}]"
    assert fault.rule.startswith(rule)
    assert game.is_finished


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("0,status,3,POSSESSED", "0,status,3,FOX", "a role is one of"),
        ("0,status,3", "0,status,7", "the players' seats are 1, 2, 3 and so on"),
        ("1,vote,3,1", "day one,vote,3,1", "every line begins with a day and an event"),
        ("1,attack,1,true", "1,attack,3,true", "a player is executed or attacked once"),
        ("2,0,VILLAGER\n", "2,0,VILL\n", "value 3 of `result` is one of VILLAGER"),
    ],
)
def test_a_log_that_breaks_a_rule_is_refused(old: str, new: str, rule: str) -> None:
    fault = refused(FIVE.replace(old, new))
    assert fault.json_path == f"$[{FIVE[: FIVE.index(old)].count(chr(10))}]"
    assert fault.rule.startswith(rule)


@pytest.mark.parametrize("n_bytes", [2, 5, 11])
def test_a_last_line_that_was_cut_costs_no_game(n_bytes: int) -> None:
    """As a writer leaves it that was killed."""
    before, _, _ = FIVE.removesuffix("\n").rpartition("\n")
    whole, cut = game_of(before), game_of(FIVE[:-n_bytes])
    assert len(cut.faults) == len(whole.faults) + 1
    assert (cut.is_finished, cut.votes) == (False, whole.votes)


@pytest.mark.parametrize(
    ("log", "rule"),
    [
        # Cut here, nobody can say whether all players are there.
        (FIVE[: FIVE.index("0,status,4")], "a log goes on after its players"),
        (SEVEN.replace(",Bo\n", ",Ida\n"), "no two players have the same name"),
    ],
)
def test_players_without_a_game_or_of_one_name_are_refused(log: str, rule: str) -> None:
    assert refused(log).rule == rule


def test_the_json_of_the_server_names_the_log() -> None:
    """It stands beside the log of the same game, and has no votes of its own."""
    beside = b'{"game_id": "g", "win_side": "VILLAGER", "agents": [], "entries": []}'
    assert ignored_reason(beside, "g.json") == (
        "not read: AIWolf's JSON of requests: ingest the `.log` of this game"
    )
