"""Corners in which the engines or the definitions part: each a table as small as can be."""

import json

import polars as pl
import pytest
from cases import rationality
from event_tables import ENGINES, assert_same, checked, lake_of, table

from pipeline.metrics import metrics
from pipeline.metrics.registry import format_metrics_as_published_script

VOTES = """
game | seat | round | is_correct | parse_status
1    | 1    | 1     | yes        |
1    | 2    | 1     | no         | ambiguous
1    | 1    | 2     | no         |
"""
AS_CIVILIAN = {"game_type": "undercover", "role": "civilian"}
AS_CHAMELEON = {"game_type": "chameleon", "role": "chameleon"}
JUDGEMENT = {
    "results": table("results", "game\n1", **AS_CIVILIAN),
    "votes": table("votes", VOTES, player="Player 1", **AS_CIVILIAN),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("round", [(1, 1, 2), (2, 0, 1)]),
        ("seat", [(1, 1, 2), (2, 0, 1)]),
        ("player", [("Player 1", 1, 3)]),
        ("message_index", [(0, 1, 1), (1, 0, 1), (2, 0, 1)]),
        ("parse_status", [("ambiguous", 0, 1), ("ok", 1, 2)]),
    ],
)
def test_grouping_by_what_only_events_have_keeps_every_row(by, groups, engine, tmp_path):
    """(group, hits, counted): a group for each value that the votes have, and no vote lost."""
    lake = lake_of(tmp_path, JUDGEMENT)
    found = metrics(lake, metric="judgement", by=[by], engine=engine)
    assert found.select(by, "hits", "counted").rows() == groups


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("by", ["competition", "setting_id", "game_id"])
def test_a_term_that_the_groups_game_type_cannot_have_plays_no_part(by, engine, tmp_path):
    """Both sums of rationality.py, all models together: (2 + 0) of (4 + 1), (2 + 1) of (3 + 1)."""
    setting = pl.col("game_type").str.len_chars().cast(pl.String).str.pad_start(32, "0")
    game = (pl.lit("f" * 30) + setting.str.tail(2)).alias("game_id")
    tables = {
        name: rows.with_columns(setting_id=setting).with_columns([game] * (by == "game_id"))
        for name, rows in rationality.TABLES.items()
    }
    found = metrics(lake_of(tmp_path, tables), metric="rationality", by=[by], engine=engine)
    assert sorted(found["value"]) == [2 / 5, 3 / 4]


@pytest.mark.parametrize("engine", ENGINES)
def test_release_coordination_of_two_tested_negotiators(engine, tmp_path):
    """Both proposed what was chosen, so both are right: 1 of 1 each."""
    results = """
    game | model | seat | first_choice_seat
    1    | m     | 1    | 1
    1    | n     | 2    | 1
    """
    proposals = """
    game | model | seat | position | share_text
    1    | m     | 1    | 1        | 40
    1    | m     | 1    | 2        | 60
    1    | n     | 2    | 1        | 40
    1    | n     | 2    | 2        | 60
    """
    tables = {
        "results": table("results", results, game_type="cost_sharing", agreed=True),
        "proposals": table("proposals", proposals, game_type="cost_sharing"),
    }
    lake = lake_of(tmp_path, tables)
    question = {"metric": "coordination", "edition": "release", "by": ["model"]}
    found = metrics(lake, engine=engine, **question)
    assert found.select("model", "value").rows() == [("m", 1.0), ("n", 1.0)]


@pytest.mark.parametrize("engine", ENGINES)
def test_deception_of_a_side_unknown(engine, tmp_path):
    """Game 1 as chameleon is won; in game 2 the model's role is unknown: no guess is counted."""
    cells = "game | guess_is_correct\n1 | yes\n2 | no"
    results = table("results", cells, is_win=True, **AS_CHAMELEON)
    is_known = pl.col("game_index") == 1
    unknown = [pl.when(is_known).then(c).alias(c) for c in ("role", "side", "competition")]
    lake = lake_of(tmp_path, {"results": checked("results", results.with_columns(unknown))})
    found = metrics(lake, metric="deception", by=["model"], engine=engine)
    terms = [(term["term"], term["hits"], term["counted"]) for term in found["terms"][0]]
    assert terms == [("hidden_wins", 1, 1), ("wrong_guesses", 0, 0)]


def round_of(*texts: str, message_indices=(0, 1, 2)) -> dict[str, pl.DataFrame]:
    """A Public Good of one round in which Player 1 is tested."""
    rows = zip((1, 2, 3), texts, message_indices, strict=True)
    cells = "\n".join(f"1 | {seat} | {text} | {index}" for seat, text, index in rows)
    contributions = "game | seat | text | message_index\n" + cells
    return {
        "results": table("results", "game\n1", game_type="public_good"),
        "contributions": table("contributions", contributions, game_type="public_good"),
    }


def test_release_round_with_a_message_unknown(tmp_path):
    tables = round_of(
        "I contribute 3", "I contribute 4", "I contribute 5", message_indices=(5, "-", 6)
    )
    question = {"metric": "rationality", "edition": "release"}
    lake = lake_of(tmp_path, tables)
    assert_same(*(metrics(lake, engine=engine, **question) for engine in ENGINES))


@pytest.mark.parametrize("engine", ENGINES)
def test_rationality_by_text(engine, tmp_path):
    """Decisions and contributions both have a text, so that they can be grouped by it."""
    decisions = table("decisions", "game | text\n1 | So be it", game_type="prisoners_dilemma")
    results = table("results", "game\n1", game_type="prisoners_dilemma")
    lake = lake_of(tmp_path, {"results": results, "decisions": decisions})
    found = metrics(lake, metric="rationality", by=["text"], engine=engine)
    assert found["text"].to_list() == ["So be it"]


def run_of(games: range, of_type: str, role: str = "player") -> str:
    """Games of one competition, all won; every 20 of them are a run with numbers from 0."""
    return "\n".join(f"{game} | {of_type} | {role} | {game % 20} | 1" for game in games)


ONE_RUN = [
    run_of(range(20), "undercover", "undercover"),
    run_of(range(100, 110), "cost_sharing"),
    run_of(range(200, 210), "prisoners_dilemma"),
    run_of(range(300, 310), "public_good"),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_release_win_rate_of_a_repeated_run(engine, tmp_path):
    """The script divides the wins of one run by 20 games: over two runs that would be 40 of 20.

    Of the other three competitions it takes the share of all games found, so a second run of one of
    these changes no meaning.
    """
    again = run_of(range(20, 40), "undercover", "undercover")
    more = run_of(range(310, 330), "public_good")
    head = "game | game_type | role | game_index | win_credit\n"
    for name, runs in {"once": [*ONE_RUN, more], "again": [*ONE_RUN, again]}.items():
        rows = table("results", head + "\n".join(runs))
        lake = lake_of(tmp_path / name, {"results": rows})
        found = metrics(lake, metric="win_rate", edition="release", by=["model"], engine=engine)
        row = found.row(0, named=True)
        if name == "once":
            assert (row["value"], row["reason"]) == (pytest.approx(4 / 7), None)
            continue
        reason = "40 games share their number with another game: the script expects a single run"
        assert (row["value"], row["ci_low"], row["reason"]) == (None, None, reason)
        rows = metrics(lake, edition="release", engine=engine)
        assert (
            json.loads(format_metrics_as_published_script(rows))[0]["train_split"]["Win Rate"]
            is None
        )
        (undercover,) = (one for one in row["terms"] if one["term"] == "undercover_as_undercover")
        assert (undercover["hits"], undercover["value"]) == (None, None)
