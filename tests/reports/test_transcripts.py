"""A transcript has what was done in its place, in a line an act, whatever system ran the game."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.api import Game, Lake, open_lake
from pipeline.reports.transcript_items import (
    Action,
    ActionLine,
    TranscriptItem,
    format_action,
    format_action_lines,
    player_table,
    rounds_started_by_items,
    transcript_items as parts_of,
)


@pytest.fixture(scope="module")
def lake(lake_of_formats: Path) -> Lake:
    return open_lake(lake_of_formats)


def game(lake: Lake, path: str) -> Game:
    return lake.game(path)


def parts(lake: Lake, path: str) -> list[TranscriptItem]:
    return game(lake, path).items


def outline(lake: Lake, path: str) -> list[str]:
    """A message as who speaks in which phase, acts without words as their table."""
    heads = []
    for part in parts(lake, path):
        heads += [] if part.started_round is None else [f"Round {part.started_round}"]
        phase = part.phase_and_round.partition(",")[0]
        heads.append(f"{part.title} {phase}" if part.message else part.title)
    return heads


def done(lake: Lake, path: str, head: str) -> list[list[str]]:
    """The lines of the acts of each part whose heading begins so, with what was counted in them."""
    return [
        ["  ".join(text for text, _ in item) for item in list(part.items)[: len(part.actions)]]
        for part in parts(lake, path)
        if part.heading.startswith(head)
    ]


def test_a_day_of_werewolf_goes_as_it_was_played(lake: Lake) -> None:
    """The vote ends the day; whispers, abilities and the attack are of the night after it."""
    assert outline(lake, "aiwolf/1.log") == [
        *("Round 0", "Ida whisper", "Bo whisper", "樹 talk"),
        *("Round 1", "Finn talk", "votes", "eliminations", "Ida whisper", "abilities"),
        *("Round 2", "Åse talk", "votes", "eliminations", "abilities"),
        *("Round 3", "votes", "eliminations", "abilities", "eliminations"),
        "the game as a whole",
    ]
    assert done(lake, "aiwolf/1.log", "eliminations") == [
        *(["Bo: by vote"], ["Finn: by vote"], ["Åse: by vote"], ["Gro: by attack"])
    ]
    assert done(lake, "aiwolf/1.log", "votes")[1] == [
        "Ida → Finn, wrong",
        'Zoë "the Owl" → Finn, wrong  ✗ judgement: Finn',
        'Åse → Zoë "the Owl", wrong  ✗ judgement: Zoë "the Owl"',
        "樹 → Finn, wrong  ✗ judgement: Finn",
        "Finn → Ida, right  ✓ judgement: Ida",
        "Gro → Bo, right, not valid  ✓ judgement: Bo",
    ]
    assert done(lake, "aiwolf/0.log", "abilities")[0] == [
        "Agent[02] divine → Agent[04], finding werewolf"
    ]


def test_quests_are_played_before_merlin_is_sought(lake: Lake) -> None:
    assert outline(lake, "avalon/0.json")[-5:] == [
        *("Eve team_vote", "quest plays: quest succeeded"),
        *("Di assassination", "Eve assassination", "Di assassination"),
    ]
    assert done(lake, "avalon/0.json", "quest plays")[-1] == ["Ann: success", "Bo: success"]
    assert done(lake, "avalon/0.json", "41  Di") == [["assassinations → Ann, right"]]
    assert done(lake, "avalon/0.json", "16  Bo") == [
        ["team proposals: attempt 1, team Di, Eve, rejected"]
    ]
    assert done(lake, "avalon/0.json", "17  Ann") == [["team votes: for the team"]]


def test_votes_and_eliminations_of_each_round_of_undercover(lake: Lake) -> None:
    """Player_5 is out by its statement, and Player_3, who votes for nobody, by the vote."""
    assert done(lake, "ck_arena/0.json", "2  Player_5") == [
        ["eliminations: by metric, before the vote"]
    ]
    assert done(lake, "ck_arena/0.json", "votes") == [
        [
            "Player_1 → Player_3, wrong  ✗ judgement: Player_3",
            "Player_2 → Player_5, right, not valid  ✓ judgement: Player_5",
            "Player_3 → nobody, wrong, not valid  ✗ judgement: nobody",
            "Player_4 → Player_3, wrong  ✗ judgement: Player_3",
            "Player_6 → Player_3, wrong",
        ],
        [
            "Player_1 → Player_6, right  ✓ judgement: Player_6",
            "Player_2 → Player_3, wrong, not valid  ✗ judgement: Player_3",
            "Player_4 → Player_6, right  ✓ judgement: Player_6",
            "Player_6 → Player_1, wrong",
        ],
    ]
    assert done(lake, "ck_arena/0.json", "eliminations") == [
        ["Player_3: by vote"],
        ["Player_6: by vote"],
    ]
    (end,) = [one for one in parts(lake, "ck_arena/0.json") if one.title == "the game as a whole"]
    marks = [(mark.hit, mark.text_with_sign) for mark in end.marks]
    assert (0.0, "✗ win_rate: lost (Player_5)") in marks
    assert (1.0, "✓ win_rate: won (civilian, model-a)") in marks
    out = player_table(game(lake, "ck_arena/0.json").tables)
    assert out.filter(pl.col("out_by").is_not_null()).select(
        "seat", "out_in_round", "out_by"
    ).rows() == [*((3, 1, "vote"), (5, 1, "metric"), (6, 2, "vote"))]


def test_points_given_and_taken(lake: Lake) -> None:
    """What all acts of a round share is said once; a game of one round has no heading for it."""
    assert outline(lake, "pgg_bench/0.jsonl") == [
        *("P2 talk", "P1 talk", "contributions: round total 18", "transfers: punishment"),
        "the game as a whole",
    ]
    assert done(lake, "pgg_bench/0.jsonl", "contributions") == [
        [
            "P1: amount 4, the least  ✓ rationality: least",
            "P2: amount 4, the least  ✓ rationality: least",
            "P3: amount 10  ✗ rationality: not least",
        ]
    ]
    assert done(lake, "pgg_bench/0.jsonl", "transfers") == [
        ["P1 → P2, amount -1.5000, cost 0.5000", "P3 → P1, amount -6, cost 2"]
    ]


def test_a_proposal_is_one_line_and_its_votes_come_before_reflections(lake: Lake) -> None:
    assert done(lake, "bargain/0.json", "8  alpha_1") == [
        ["proposals: alpha_1: share 0.7500; beta_2: share 0.2500, last proposal"]
    ]
    assert done(lake, "bargain/0.json", "proposal votes") == [
        ["alpha_1 → beta_2, final round", "beta_2 → beta_2, final round"]
    ]
    found = game(lake, "bargain/0.json")
    messages = found.messages
    thought = messages.tail(1).with_columns(
        round=pl.lit(2, pl.Int32), phase=pl.lit("reflection"), message_index=pl.lit(12, pl.Int32)
    )
    tables = found.tables | {"messages": pl.concat([messages, thought])}
    heads = [part.heading for part in parts_of(tables, found.counted, found.sources)]
    place = heads.index("proposal votes")
    assert heads[place - 1 : place + 2] == [
        *("11  Moderator → all", "proposal votes", "12  Moderator → all")
    ]


def test_without_messages_a_game_has_its_rounds(lake: Lake) -> None:
    heads = outline(lake, "goods/0.jsonl")
    rounds = game(lake, "goods/0.jsonl").tables["contributions"]["round"].unique().sort().to_list()
    assert [head for head in heads if head.startswith("Round")] == [f"Round {n}" for n in rounds]
    assert len([head for head in heads if head.startswith("contributions")]) == len(rounds)


@pytest.mark.slow
def test_every_act_and_every_counted_row_stands_once(lake: Lake) -> None:
    """In every game of every format; what a metric counted says its act where it was read."""
    for game_id in lake.games()["game_id"]:
        found = lake.game(game_id)
        shown = found.items
        marks = [mark for part in shown for mark in part.marks]
        marks += [mark for part in shown for one in part.actions for mark in one.marks]
        assert len(marks) == found.counted.height
        n_silent = sum(
            rows["message_index"].is_null().sum()
            for name, rows in found.tables.items()
            if "message_index" in rows.columns and name not in ("results", "messages")
        )
        silent = [part for part in shown if part.phase_and_round.startswith("without words")]
        assert sum(len(part.actions) for part in silent) == n_silent


def act(table: str, **facts: object) -> Action:
    return Action(table, "P1", 1, tuple(facts.items()))


@pytest.mark.parametrize(
    ("done", "expected"),
    [
        (act("votes", target_seat=2, target="P2", is_valid=True, stated_target="P2"), "P1 → P2"),
        (
            act("votes", target=None, is_correct=False, is_valid=False),
            "P1 → nobody, wrong, not valid",
        ),
        (act("votes", target=None), "P1 → unknown"),
        (act("votes", target="P2", stated_target="P3"), "P1 → P2, the text says P3"),
        (act("abilities", kind="attack_vote", target=None), "P1 attack vote → nobody"),
        (act("decisions", choice="defect", payoff=3.0), "P1: defect, payoff 3"),
        (act("hares", is_white=True, is_old=False, weight=2), "P1: white, not old, weight 2"),
        (act("eliminations", is_before_vote=False), "P1"),
        (
            act("role_identifications", is_correct=False, is_correct_as_read=True),
            "P1: wrong, right as read",
        ),
        (act("role_analyses", is_correct=True, is_correct_as_read=True), "P1: right"),
    ],
)
def test_an_act_in_a_line(done: Action, expected: str) -> None:
    assert format_action(done) == expected


def test_what_acts_of_a_message_share_is_said_once() -> None:
    first = act("proposals", party_seat=1, party="A", position=1, share=0.25, is_last=True)
    other = act("proposals", party_seat=2, party="B", position=2, share=0.75, is_last=True)
    assert format_action_lines([first, other], "P1") == [
        ActionLine("proposals", "A: share 0.2500; B: share 0.7500, last proposal")
    ]
    assert format_action_lines([first], "P2") == [
        ActionLine("proposals", "P1 A: share 0.2500, last proposal")
    ]


def test_a_round_begins_once() -> None:
    assert list(rounds_started_by_items([None, 1, None, 2, 1, 3])) == [None, 1, None, 2, None, 3]
    assert list(rounds_started_by_items([None, 1, 1])) == [None, None, None]
