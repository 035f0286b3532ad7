"""What a game's own rules say against its log: for each kind of audit, small games worked by hand.

All games are documents of interchange JSON of one system that no rule knows, in one lake.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline import games, sql_files
from pipeline.events.contracts import TABLES
from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.reports.audit import audit, findings
from pipeline.verify import verify
from pipeline.warehouse import connect_with_memory_limit

Game = dict[str, Any]
Event = dict[str, Any]
# Seat, round, what is logged, and what follows.
Row = tuple[int | None, int | None, str, str]


def game(
    game_type: str, roles: str, outcome: str, *events: Event, points: str = "", **more: Any
) -> Game:
    """A finished game of players A, B, C, …, whose roles are given, or their points.

    Points are written `5+ 3`: a plus is for who has won, in a game of points.
    """
    seats: list[dict[str, Any]] = [{"role": role} for role in roles.split()]
    for seat, score in zip(seats, points.split(), strict=False):
        seat |= {"is_win": score.endswith("+"), "score": float(score.strip("+"))}
    for place, seat in enumerate(seats):
        seat |= {"player": "ABCDEFGH"[place], "model": f"m{place}"}
    return {
        "magic_interchange": 1,
        "system": "lab",
        "game_type": game_type,
        "setting": {},
        "is_finished": True,
        "end": {"outcome": outcome},
        "seats": seats,
        "events": list(events),
    } | more


def act(actor: str, table: str, round_: int = 1, **fields: Any) -> Event:
    return {"actor": actor, "round": round_, "acts": [{"act": table, **fields}]}


def votes(ballots: str, round_: int = 1) -> list[Event]:
    """Votes in one round: `AB CB` is A's for B, and C's for B; `A-` is A's for nobody."""
    return [
        act(pair[0], "votes", round_, target=None if pair[1] == "-" else pair[1])
        for pair in ballots.split()
    ]


def out(players: str, round_: int = 1, cause: str = "vote", **more: Any) -> list[Event]:
    fields = {"cause": cause, "is_before_vote": False} | more
    return [act(player, "eliminations", round_, **fields) for player in players]


def choices(rounds: str, *paid: str) -> list[Event]:
    """Choices by round: `cd dd` is two rounds of two players; `paid` are the points likewise."""
    payoffs = [[float(one) for one in points.split()] for points in paid]
    words = {"c": "cooperate", "d": "defect"}
    return [
        act(
            "ABC"[seat],
            "decisions",
            number + 1,
            choice=words[letter],
            payoff=payoffs[number][seat] if payoffs else None,
        )
        for number, letters in enumerate(rounds.split())
        for seat, letter in enumerate(letters)
    ]


def puts(*rounds: str) -> list[Event]:
    """Contributions of each seat by round."""
    return [
        act("ABC"[seat], "contributions", number, amount=float(amount))
        for number, amounts in enumerate(rounds, start=1)
        for seat, amount in enumerate(amounts.split())
    ]


def offers(*shares: str, round_: int = 1) -> list[Event]:
    """A proposal of each seat, with the shares of all of them."""
    return [
        act("ABC"[seat], "proposals", round_, party=party, share=float(share))
        for seat, of_all in enumerate(shares)
        for party, share in zip("ABC", of_all.split(), strict=True)
    ]


def ballots(candidates: str, round_: int = 1) -> list[Event]:
    return [
        act("ABC"[seat], "proposal_votes", round_, candidate=one)
        for seat, one in enumerate(candidates)
    ]


def quest(
    round_: int, fails: str, *, is_failed: bool | None = None, team: str = "AB"
) -> list[Event]:
    """A team that all five are for, and what its players play: of `sf` the second fails it."""
    failed = "f" in fails if is_failed is None else is_failed
    of_team = {"attempt": 1, "team": list(team), "is_approved": True}
    return [
        act("A", "team_proposals", round_, is_voted_on=True, is_quest_failed=failed, **of_team),
        *(
            act(player, "team_votes", round_, leader="A", approves=True, **of_team)
            for player in "ABCDE"
        ),
        *(
            act(player, "quest_plays", round_, is_fail=play == "f", is_quest_failed=failed)
            for player, play in zip(team, fails, strict=True)
        ),
    ]


def rejected(
    attempt: int, *, n_for: int = 2, is_approved: bool = False, round_: int = 1
) -> list[Event]:
    of_team = {"attempt": attempt, "team": ["A", "B"], "is_approved": is_approved}
    return [
        act("A", "team_proposals", round_, is_voted_on=True, is_quest_failed=None, **of_team),
        *(
            act(player, "team_votes", round_, leader="A", approves=place < n_for, **of_team)
            for place, player in enumerate("ABCDE")
        ),
    ]


CHAMELEON = "chameleon non_chameleon non_chameleon"
UNDERCOVER = "undercover civilian civilian civilian"
SIX = "undercover undercover civilian civilian civilian civilian"
WOLVES = "werewolf villager villager seer"
TWO_WOLVES = "werewolf werewolf villager villager seer possessed villager"
AVALON = "assassin minion merlin percival servant"
TWO, THREE = "player player", "player player player"
PAYOFFS = {"payoffs": {"cooperate": 3, "defect": 1, "one_defect": 5}}
WORD = {"setting": {"code": "tea"}}
FAILED = [*quest(1, "sf"), *quest(2, "sf"), *quest(3, "sf")]
SUCCEEDED = [*quest(1, "ss"), *quest(2, "ss"), *quest(3, "ss")]


def kill(is_correct: bool) -> Event:
    return act("A", "assassinations", 3, target="C" if is_correct else "D", is_correct=is_correct)


def guess(is_correct: bool) -> Event:
    return act("A", "guesses", guess="tea", secret="tea", is_correct=is_correct)


def all_of(logged: str, says: str, n: int) -> list[Row]:
    """A row for each of the sides of a game, which have a seat each: these are of n models."""
    return [(seat, None, logged, says) for seat in range(1, n + 1)]


CASES: dict[str, dict[str, tuple[Game, list[Row]]]] = {
    "outcomes": {
        # Chameleon: two of three votes name A, who guesses.
        "caught": (
            game("chameleon", CHAMELEON, "guessed_wrong", *votes("AB BA CA"), guess(False), **WORD),
            [],
        ),
        "guessed after all": (
            game("chameleon", CHAMELEON, "guessed_wrong", *votes("AB BA CA"), guess(True), **WORD),
            all_of("guessed_wrong", "guessed_right", 3),
        ),
        "caught and no guess": (
            game("chameleon", CHAMELEON, "voted_wrong", *votes("AB BA CA")),
            all_of("voted_wrong", "guessed_right or guessed_wrong", 3),
        ),
        "B was voted out": (
            game("chameleon", CHAMELEON, "tie", *votes("AB BA CB")),
            all_of("tie", "voted_wrong", 3),
        ),
        "a tie": (
            game("chameleon", CHAMELEON, "voted_wrong", *votes("AB BC CA")),
            all_of("voted_wrong", "tie", 3),
        ),
        "the third vote may have been for anybody": (
            game("chameleon", CHAMELEON, "tie", *votes("AB BA C-")),
            [],
        ),
        "nobody could change it": (
            game("chameleon", CHAMELEON, "tie", *votes("AB B- CB")),
            all_of("tie", "voted_wrong", 3),
        ),
        "the last round decides": (
            game(
                "undercover",
                UNDERCOVER,
                "voted_wrong",
                *votes("AB BA CA DA"),
                *votes("AB BA CB DB", 2),
            ),
            [],
        ),
        "the last round decides otherwise": (
            game(
                "undercover",
                UNDERCOVER,
                "voted_wrong",
                *votes("AB BA CB DB"),
                *votes("AB BA CA DA", 2),
            ),
            all_of("voted_wrong", "caught", 4),
        ),
        # Undercover with players out: who is left decides.
        "both undercovers out": (
            game("undercover", SIX, "caught", *out("A"), *out("B", 2)),
            [],
        ),
        "one undercover is left": (
            game("undercover", SIX, "caught", *out("A")),
            all_of("caught", "voted_wrong or tie or survived", 6),
        ),
        "one undercover survived": (game("undercover", SIX, "survived", *out("A")), []),
        "none survived": (
            game("undercover", SIX, "survived", *out("A"), *out("B", 2)),
            all_of("survived", "caught", 6),
        ),
        "two against two": (
            game("undercover", SIX, "caught", *out("C"), *out("D", 2)),
            all_of("caught", "parity or voted_wrong or survived", 6),
        ),
        # Scores that are a little off are a tie.
        "sums of decimals": (
            game("public_good", "player player", "completed", points="0.30000000000000004+ 0.3+"),
            [],
        ),
        # Werewolf.
        "the werewolf is out": (game("werewolf", WOLVES, "villagers_won", *out("A")), []),
        "the werewolf is out, and won": (
            game("werewolf", WOLVES, "werewolves_won", *out("A")),
            all_of("werewolves_won", "villagers_won", 4),
        ),
        "one against one": (
            game("werewolf", WOLVES, "villagers_won", *out("B"), *out("C", 1, "attack")),
            all_of("villagers_won", "werewolves_won", 4),
        ),
        "one against two": (
            game("werewolf", WOLVES, "werewolves_won", *out("B")),
            all_of("werewolves_won", "nobody has won", 4),
        ),
        "the possessed is one of the others": (
            game(
                "werewolf",
                TWO_WOLVES,
                "werewolves_won",
                *out("C"),
                *out("D", 1, "attack"),
                *out("E", 2),
            ),
            [],
        ),
        "all are dead": (
            game("werewolf", WOLVES, "werewolves_won", *out("ABCD")),
            all_of("werewolves_won", "nobody has won", 4),
        ),
        "a draw of one against two": (game("werewolf", WOLVES, "draw", *out("B")), []),
        "a draw of the dead": (game("werewolf", WOLVES, "draw", *out("ABCD")), []),
        "a draw without a werewolf": (
            game("werewolf", WOLVES, "draw", *out("A")),
            all_of("draw", "villagers_won", 4),
        ),
        "nobody is known to be out": (
            game("werewolf", WOLVES, "villagers_won", *votes("AB BA")),
            [],
        ),
        # Avalon.
        "three failed quests": (game("avalon", AVALON, "quests_failed", *FAILED), []),
        "three failed quests, somehow": (game("avalon", AVALON, "evil_won", *FAILED), []),
        "good with three failed quests": (
            game("avalon", AVALON, "good_won", *FAILED),
            all_of("good_won", "quests_failed or evil_won", 5),
        ),
        "Merlin was found": (
            game("avalon", AVALON, "good_won", *SUCCEEDED, kill(True)),
            all_of("good_won", "merlin_found or evil_won", 5),
        ),
        "Merlin was not found": (
            game("avalon", AVALON, "merlin_found", *SUCCEEDED, kill(False)),
            all_of("merlin_found", "good_won", 5),
        ),
        "nobody knows whom the assassin chose": (
            game("avalon", AVALON, "merlin_found", *SUCCEEDED),
            [],
        ),
        "two quests": (
            game("avalon", AVALON, "good_won", *SUCCEEDED[:16]),
            all_of("good_won", "nobody has won", 5),
        ),
        "five rejected teams": (
            game(
                "avalon", AVALON, "good_won", *(event for n in range(1, 6) for event in rejected(n))
            ),
            all_of("good_won", "teams_rejected or evil_won", 5),
        ),
        # Cost Sharing: B and C make the same proposal.
        "all for the same": (
            game(
                "cost_sharing", THREE, "agreed", *offers("1 0 0", "0 1 0", "0 1 0"), *ballots("BBC")
            ),
            [],
        ),
        "all for the same, and not agreed": (
            game(
                "cost_sharing",
                THREE,
                "not_agreed",
                *offers("1 0 0", "0 1 0", "0 1 0"),
                *ballots("BBC"),
            ),
            all_of("not_agreed", "agreed", 3),
        ),
        "not all for the same": (
            game(
                "cost_sharing", THREE, "agreed", *offers("1 0 0", "0 1 0", "0 1 0"), *ballots("ABC")
            ),
            all_of("agreed", "not_agreed", 3),
        ),
        "a vote is missing": (
            game(
                "cost_sharing",
                THREE,
                "not_agreed",
                *offers("1 0 0", "0 1 0", "0 1 0"),
                *ballots("BB"),
            ),
            [],
        ),
        # Games of points.
        "the most points": (
            game("prisoners_dilemma", TWO, "completed", *choices("dc"), points="5+ 0"),
            [],
        ),
        "the least points": (
            game("prisoners_dilemma", TWO, "completed", *choices("dc"), points="5 0+"),
            [(1, None, "lost", "won"), (2, None, "won", "lost")],
        ),
        "both have the most": (
            game("public_good", TWO, "completed", *puts("1 1"), points="5+ 5"),
            [],
        ),
        "neither of the most": (
            game("public_good", TWO, "completed", *puts("1 1"), points="5 5"),
            [],
        ),
    },
    "scores": {
        "by the setting": (
            game(
                "prisoners_dilemma",
                TWO,
                "completed",
                *choices("cc dd"),
                points="4+ 4+",
                setting=PAYOFFS,
            ),
            [],
        ),
        "not by the setting": (
            game(
                "prisoners_dilemma",
                TWO,
                "completed",
                *choices("cc dd"),
                points="4 6+",
                setting=PAYOFFS,
            ),
            [(2, None, "6.0", "4.0")],
        ),
        "not as paid": (
            game("prisoners_dilemma", TWO, "completed", *choices("dc", "5 0"), points="7+ 0"),
            [(1, None, "7.0", "5.0")],
        ),
        "paid otherwise than the setting says": (
            game(
                "prisoners_dilemma",
                TWO,
                "completed",
                *choices("cc", "3 2"),
                points="3+ 3+",
                setting=PAYOFFS,
            ),
            [(2, None, "2.0", "3.0")],
        ),
        "what nobody knows": (
            game(
                "prisoners_dilemma",
                TWO,
                "completed",
                *choices("dc"),
                points="5+ 2",
                setting=PAYOFFS,
            ),
            [],
        ),
        # Three have 20 each, and get 2 · 30 / 3.
        "a share for all": (
            game("public_good", THREE, "completed", *puts("0 10 20"), points="40+ 30 20"),
            [],
        ),
        "another share for one": (
            game("public_good", THREE, "completed", *puts("0 10 20"), points="40+ 35 20"),
            [(2, None, "35.0", "30.0")],
        ),
        "the same for all, but not by the setting": (
            game(
                "public_good",
                THREE,
                "completed",
                *puts("0 10 20"),
                points="90+ 80 70",
                setting={"multiplier": 2, "endowment": 20},
            ),
            [(1, None, "90.0", "40.0"), (2, None, "80.0", "30.0"), (3, None, "70.0", "20.0")],
        ),
        "an endowment in each round": (
            game(
                "public_good",
                TWO,
                "completed",
                *puts("0 10", "10 10"),
                points="40+ 30",
                setting={"multiplier": 2, "endowment": 10},
            ),
            [],
        ),
        "a punishment": (
            game(
                "public_good",
                TWO,
                "completed",
                *puts("5 5"),
                act("A", "transfers", target="B", kind="punishment", amount=-3, cost=1),
                points="9+ 7",
            ),
            [],
        ),
    },
    "rounds": {
        "as many as fixed": (
            game(
                "prisoners_dilemma",
                TWO,
                "completed",
                *choices("cc dd"),
                setting={"rounds": 2},
                points="1+ 1+",
            ),
            [],
        ),
        "more than fixed": (
            game(
                "prisoners_dilemma",
                TWO,
                "completed",
                *choices("cc dd"),
                setting={"rounds": 1},
                points="1+ 1+",
            ),
            [(None, 2, "round 2", "1 rounds")],
        ),
        "fewer than fixed": (
            game(
                "prisoners_dilemma",
                TWO,
                "completed",
                *choices("cc"),
                setting={"rounds": 3},
                points="1+ 1+",
            ),
            [(None, 1, "round 1", "3 rounds")],
        ),
        "a choice is missing": (
            game("prisoners_dilemma", TWO, "completed", *choices("cc d"), points="1+ 1+"),
            [(None, 2, "round 2", "1 decisions of 2 players")],
        ),
        "a contribution is missing": (
            game("public_good", THREE, "completed", *puts("1 1", "1 1 1"), points="1+ 1 1"),
            [(None, 1, "round 1", "2 decisions of 3 players")],
        ),
        "a leap": (
            game("werewolf", WOLVES, "villagers_won", *out("B", 0, "night"), *out("A", 99)),
            [(None, 99, "round 99", "nothing in 98 rounds before")],
        ),
        "a day of talk": (
            game(
                "werewolf",
                WOLVES,
                "villagers_won",
                {"actor": "B", "round": 1, "phase": "talk", "text": "Hm."},
                *votes("BA CA", 2),
                *out("A", 2),
            ),
            [],
        ),
        "beyond the last": (
            game("werewolf", WOLVES, "villagers_won", *votes("BA"), *out("A", 2), n_rounds=1),
            [(None, 2, "round 2", "1 rounds")],
        ),
    },
    "players_out": {
        "by most votes": (
            game("werewolf", WOLVES, "villagers_won", *votes("AB BA CA DA"), *out("A")),
            [],
        ),
        "one of those with most votes": (
            game("werewolf", WOLVES, "villagers_won", *votes("AB BA CA DB"), *out("A")),
            [],
        ),
        "by fewer votes": (
            game(
                "werewolf",
                WOLVES,
                "villagers_won",
                *votes("AB BA CB DB"),
                *out("A", cause="execution"),
            ),
            [(1, 1, "out by execution", "1 votes, of 3 for another")],
        ),
        "perhaps by a vote that nobody could read": (
            game("werewolf", WOLVES, "villagers_won", *votes("AB BA CB D-"), *out("A")),
            [],
        ),
        "votes for who is out do not count": (
            game(
                "werewolf",
                TWO_WOLVES,
                "villagers_won",
                *votes("CA DA"),
                *out("A"),
                *votes("CA DA EB", 2),
                *out("B", 2),
            ),
            [],
        ),
        "after the last werewolf": (
            game(
                "werewolf",
                WOLVES,
                "villagers_won",
                *votes("BA CA"),
                *out("A"),
                *out("B", 2, "attack"),
            ),
            [(2, 2, "out by attack", "left are 0 of those sought, 3 others")],
        ),
        "after parity": (
            game("undercover", SIX, "parity", *out("C"), *out("D", 2), *out("E", 3)),
            [(5, 3, "out by vote", "left are 2 of those sought, 2 others")],
        ),
        "a werewolf in the night": (
            game("werewolf", WOLVES, "villagers_won", *out("A", 1, "attack")),
            [(1, 1, "out by attack", "a werewolf, who attack others")],
        ),
    },
    "acts_after_out": {
        "in the next round": (
            game(
                "werewolf",
                TWO_WOLVES,
                "villagers_won",
                *votes("CA DA"),
                *out("A"),
                *votes("AC CB", 2),
                act("A", "abilities", 2, kind="attack", target="C"),
                *out("B", 2),
            ),
            [
                (1, 2, "a vote", "out since round 1 by vote"),
                (1, 2, "attack", "out since round 1 by vote"),
            ],
        ),
        "its own last vote": (
            game("werewolf", WOLVES, "villagers_won", *votes("AB BA CA"), *out("A")),
            [],
        ),
        "out before the votes": (
            game(
                "werewolf",
                TWO_WOLVES,
                "werewolves_won",
                *out("C", 1, "attack", is_before_vote=True),
                *votes("CA DA"),
            ),
            [(3, 1, "a vote", "out since round 1 by attack")],
        ),
        "out by the order of events": (
            game(
                "werewolf",
                WOLVES,
                "villagers_won",
                act("A", "eliminations", cause="vote"),
                *votes("BA CA AB"),
            ),
            [(1, 1, "a vote", "out since round 1 by vote")],
        ),
        "last words": (
            game(
                "werewolf",
                WOLVES,
                "villagers_won",
                *votes("BA CA"),
                *out("A"),
                {"actor": "A", "round": 1, "phase": "talk", "text": "Well played."},
            ),
            [],
        ),
        "talk of the dead": (
            game(
                "werewolf",
                WOLVES,
                "villagers_won",
                *out("B", 0, "attack"),
                {"actor": "B", "round": 1, "phase": "talk", "text": "Boo."},
                *votes("CA DA"),
                *out("A"),
            ),
            [(2, 1, "talk", "out since round 0 by attack")],
        ),
    },
    "invalid_votes": {
        "for itself": (
            game("undercover", UNDERCOVER, "caught", *votes("AB BB CA DA")),
            [(2, 1, "B", "the voter itself")],
        ),
        "for who is out": (
            game(
                "undercover",
                SIX,
                "caught",
                *votes("CA DA"),
                *out("A"),
                *votes("CB DA", 2),
                *out("B", 2),
            ),
            [(4, 2, "A", "out since round 1 by vote")],
        ),
    },
    "quests": {
        "as voted and played": (
            game("avalon", AVALON, "quests_failed", *FAILED, *rejected(1, round_=4)),
            [],
        ),
        "against the votes": (
            game("avalon", AVALON, "evil_won", *rejected(1, n_for=3)),
            [(1, 1, "rejected", "approved, by 3 of 5")],
        ),
        "for a team that two are for": (
            game("avalon", AVALON, "evil_won", *rejected(1, is_approved=True)),
            [(1, 1, "approved", "rejected, by 2 of 5")],
        ),
        "failed without a fail": (
            game("avalon", AVALON, "evil_won", *quest(1, "ss", is_failed=True)),
            [(n, 1, "quest failed", "quest succeeded, with 0 fails") for n in (1, 2)],
        ),
        "a fail that failed nothing": (
            game("avalon", AVALON, "evil_won", *quest(1, "sf", is_failed=False)),
            [(n, 1, "quest succeeded", "quest failed, with 1 fails") for n in (1, 2)],
        ),
        "the fourth quest of seven players": (
            game(
                "avalon",
                f"{AVALON} servant minion",
                "evil_won",
                *quest(4, "sf", is_failed=False)[-2:],
            ),
            [],
        ),
        "Merlin fails a quest": (
            game("avalon", AVALON, "evil_won", *quest(1, "sf", team="AC")),
            [(3, 1, "quest failed", "good players fail no quest, with 1 fails")],
        ),
        "Merlin is another player": (
            game(
                "avalon",
                AVALON,
                "evil_won",
                act("A", "assassinations", target="D", is_correct=True),
            ),
            [(1, 1, "Merlin", "not Merlin")],
        ),
        "not on the team": (
            game(
                "avalon",
                AVALON,
                "evil_won",
                *quest(1, "ss"),
                act("E", "quest_plays", is_fail=False, is_quest_failed=False),
            ),
            [(5, 1, "quest succeeded", "the player is not on the team, with 0 fails")],
        ),
    },
    "shares": {
        "all of it": (game("cost_sharing", THREE, "not_agreed", *offers("0.33 0.33 0.33")), []),
        "more than all": (
            game("cost_sharing", THREE, "not_agreed", *offers("0.5 0.5 0.2")),
            [(1, 1, "1", "1.2")],
        ),
        "less": (
            game("cost_sharing", THREE, "not_agreed", *offers("0.5 0.2 0.2")),
            [(1, 1, "1", "0.9")],
        ),
    },
    "overspending": {
        "all of it at once": (
            game(
                "public_good",
                TWO,
                "completed",
                *puts("20 10"),
                setting={"endowment": 20},
                points="1+ 1+",
            ),
            [],
        ),
        "more than there was": (
            game(
                "public_good",
                TWO,
                "completed",
                *puts("25 10"),
                setting={"endowment": 20},
                points="1+ 1+",
            ),
            [(1, 1, "25.0", "20.0")],
        ),
        "what was won before": (
            game(
                "public_good",
                TWO,
                "completed",
                *puts("20 20", "60 0"),
                setting={"endowment": 20, "multiplier": 2},
                points="1+ 1+",
            ),
            [],
        ),
    },
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> StoredLake:
    """All games of all kinds, each in a file of the kind's folder."""
    top = tmp_path_factory.mktemp("rules")
    for kind, cases in CASES.items():
        (top / "logs" / kind).mkdir(parents=True)
        for name, (document, _) in cases.items():
            (top / "logs" / kind / f"{name}.json").write_text(json.dumps(document))
    ingest(top / "logs", top / "lake", jobs=1)
    return open_lake(top / "lake")


def test_every_document_is_read(lake: StoredLake) -> None:
    assert lake.table("quarantine").collect().is_empty()
    assert lake.table("games").collect().height == sum(map(len, CASES.values()))


@pytest.mark.parametrize("kind", CASES)
def test_what_the_rules_say(kind: str, lake: StoredLake) -> None:
    paths = dict(lake.table("games").select("game_id", "path").collect().iter_rows())
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in CASES[kind]}
    for game_id, *row in (
        findings(lake, kind).select("game_id", "seat", "round", "logged", "says").iter_rows()
    ):
        folder, _, name = paths[game_id].rpartition("/")
        if folder == kind:
            found[name.removesuffix(".json")].append(tuple(row))
    expected = {name: sorted(rows, key=repr) for name, (_, rows) in CASES[kind].items()}
    assert {name: sorted(rows, key=repr) for name, rows in found.items()} == expected
    assert audit(lake, kind=kind)["checked"].sum() >= len(CASES[kind])


def test_a_score_that_follows_from_the_decisions_leaves_who_won(
    lake: StoredLake, sample_lake: Path
) -> None:
    """Where nothing is found, the hits as read are those as logged: in ties, too. Where a tie is
    found, the log says who has won, and in MAgIC all have.

    4 and 6 points are logged, where the payoffs say 4 for both: only the second has won.
    """
    scores = sql_files.read_select_with_shared_files("audit/scores")
    outcomes = sql_files.read_select_with_shared_files("audit/outcomes")
    others = f"""SELECT * FROM ({scores}) WHERE hit_read IS DISTINCT FROM hit_logged
        AND game_id NOT IN (SELECT game_id FROM ({scores}) WHERE is_found)
        AND game_id NOT IN (SELECT game_id FROM ({outcomes}) WHERE is_found)"""
    for one in (lake, open_lake(sample_lake)):
        with connect_with_memory_limit(one, {}, " ".join(TABLES)) as connection:
            assert connection.sql(others).fetchall() == []
    tie = lake.table("games").filter(path="scores/not by the setting.json").collect()["game_id"]
    with connect_with_memory_limit(lake, {}, " ".join(TABLES)) as connection:
        hits = connection.sql(f"SELECT game_id, seat, hit_read FROM ({scores})").fetchall()
    assert {row[1:] for row in hits if row[0] == tie.item()} == {(1, 0.0), (2, 1.0)}


@pytest.mark.slow
def test_a_log_against_itself_is_no_damage(lake: StoredLake) -> None:
    verified = verify(lake.path, limit=1)
    of_audit = {
        f"audit.{kind}"
        for kind in CASES
        if "severity" in sql_files.read_comment_header(f"audit/{kind}")
    }
    assert verified.is_whole
    assert set(verified.faults["check"]) == of_audit


def test_credits_are_those_of_the_games(lake: StoredLake) -> None:
    """SQL has its own table of what an outcome is worth."""
    with connect_with_memory_limit(lake, {}, "") as connection:
        rows = set(connection.sql(sql_files.read_sql_file("shared/credits")).fetchall())
    assert rows == {
        (
            kind.name,
            ending.outcome,
            ending.hidden if kind.has_sides else None,
            ending.civilian if kind.has_sides else float(ending.outcome == "agreed"),
            ending.is_win_of_side("hidden") if kind.has_sides else None,
        )
        for kind in games.game_definitions().values()
        for ending in kind.endings
        # Whoever agrees in other negotiations has a score of its own.
        if kind.has_sides or kind.name == "cost_sharing"
    }
