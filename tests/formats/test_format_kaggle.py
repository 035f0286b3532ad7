"""Episodes of Kaggle's Werewolf: small ones entry by entry, and games that its own engine plays."""

import json
import os
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from logs.kaggle import BROKEN_OFF, VILLAGERS_WIN, WEREWOLVES_WIN, event
from rawlogs import encode, fault_of, record_of

from pipeline.formats import read_game
from pipeline.game_record import GameRecord
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.metrics import metrics
from pipeline.verify import verify

Log = dict[str, Any]
PLAYS = Path(__file__).resolve().parents[1] / "kaggle_games.py"


def test_players_and_setting() -> None:
    game = record_of(VILLAGERS_WIN)
    assert [(s.player, s.model, s.role, s.is_tested, s.is_bot) for s in game.seats][:3] == [
        ("Ann", "alpha", "werewolf", True, False),
        ("Bo", "beta", "villager", True, False),
        ("Cy", "alpha", "seer", True, False),
    ]
    assert game.setting == {
        "roles": {"doctor": 1, "seer": 1, "villager": 3, "werewolf": 1},
        "discussion_protocol": {"name": "RoundRobinDiscussion", "params": {"max_rounds": 1}},
        "day_exile_reveal_level": "role",
    }


def test_an_agent_without_a_name_is_its_language_model() -> None:
    log = deepcopy(VILLAGERS_WIN)
    agents = [player["agent"] for player in log["info"]["GAME_END"]["all_players"]]
    agents[0] |= {"display_name": "", "llms": [{"model_name": "m"}]}
    agents[1] |= {"display_name": "", "llms": [{"model_name": "m"}, {"model_name": "n"}]}
    agents[2] |= {"agent_id": "random"}
    seats = record_of(log).seats
    assert [(s.model, s.is_tested, s.is_bot) for s in seats][:3] == [
        ("m", True, False),
        (None, True, False),
        ("alpha", False, True),
    ]


def test_talk_votes_and_abstentions() -> None:
    game = record_of(VILLAGERS_WIN)
    assert list(zip(game.messages.course.player, game.messages.content, strict=True)) == [
        ("Cy", 'Ann is "it".'),
        ("Ann", "Vote for Cy; not for me."),
    ]
    assert [(v.round, v.seat, v.target) for v in game.votes] == [
        (1, 1, "Cy"),
        (1, 2, "Ann"),
        (1, 3, "Ann"),
        (1, 4, None),
        (1, 5, "Ann"),
        (1, 6, "Cy"),
    ]


@pytest.mark.parametrize("target", ["-1", -1, None, "", "skip", "no_lynch", "No one", "弃权", "-"])
def test_a_vote_for_nobody(target: object) -> None:
    game = record_of(aimed_at(target))
    assert game.votes[3].target is None
    assert (len(game.votes), game.faults) == (6, [])


@pytest.mark.parametrize("target", ["Player 9", "ann lee", 0, ["Ann"], True])
def test_a_vote_for_no_player_is_a_fault(target: object) -> None:
    game = record_of(aimed_at(target))
    assert game.votes[3].target is None
    (fault,) = game.faults
    assert (fault.rule, fault.message) == (
        "an act is aimed at a player, or at nobody",
        repr(target),
    )


def aimed_at(target: object) -> Log:
    """The villagers' game with this target of the vote of Dee, who abstains."""
    log = deepcopy(VILLAGERS_WIN)
    for entries in log["info"]["MODERATOR_OBSERVATION"]:
        for entry in entries:
            entry["json_str"] = entry["json_str"].replace('"-1"', json.dumps(target))
    return log


def test_nights() -> None:
    def used(game: GameRecord) -> list[tuple[int, int, str, str | None, str | None]]:
        return [(a.round, a.seat, a.kind, a.target, a.finding) for a in game.abilities]

    assert used(record_of(VILLAGERS_WIN)) == [
        (0, 3, "inspect", "Ann", "werewolf"),
        (0, 4, "heal", "Cy", None),
        (0, 1, "attack_vote", "Cy", None),
        (0, 1, "attack", "Cy", None),
    ]
    game = record_of(WEREWOLVES_WIN)
    # Where the moderator reveals no role, the seer learns the team.
    assert used(game)[0] == (0, 3, "inspect", "Bo", "villagers")
    assert [(e.round, e.seat, e.cause) for e in game.eliminations] == [
        (0, 4, "attack"),
        (1, 2, "vote"),
        (1, 3, "attack"),
        (2, 6, "attack"),
    ]
    assert (game.outcome, game.n_rounds) == ("werewolves_won", 2)


def test_a_game_with_a_failed_agent_is_unfinished() -> None:
    game = record_of(BROKEN_OFF)
    assert (game.is_finished, game.outcome, game.ended_by) == (False, None, "agent error")
    assert [(s.player, s.model, s.role) for s in game.seats][:2] == [
        ("Ann", "alpha", "werewolf"),
        ("Bo", "beta", "villager"),
    ]


def test_without_an_end_shuffled_names_have_no_model() -> None:
    log = deepcopy(BROKEN_OFF)
    log["configuration"]["randomize_ids"] = True
    assert {seat.model for seat in record_of(log).seats} == {None}


@pytest.mark.parametrize(
    ("kind", "data", "rule"),
    [
        ("DayExileElectedDataEntry", {"elected_player_id": "Ann"}, "whoever leaves the game is"),
        ("WerewolfNightEliminationDataEntry", {"eliminated_player_id": "X"}, "whoever leaves the"),
    ],
)
def test_an_entry_that_breaks_a_rule_is_refused(kind: str, data: Log, rule: str) -> None:
    log = deepcopy(VILLAGERS_WIN)
    log["info"]["MODERATOR_OBSERVATION"].append([event(kind, 2, **data)])
    fault = fault_of(log)
    assert fault.json_path.startswith("$.info.MODERATOR_OBSERVATION[3][0].json_str")
    assert fault.rule.startswith(rule)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("ChatDataEntry", {"actor_id": "Gus", "message": "?"}),
        ("DayExileVoteDataEntry", {"target_id": "Ann"}),
        ("SeerInspectResultDataEntry", {"actor_id": "Gus", "target_id": "Ann"}),
    ],
)
def test_what_somebody_without_a_seat_does_is_a_fault(kind: str, data: Log) -> None:
    log = deepcopy(VILLAGERS_WIN)
    log["info"]["MODERATOR_OBSERVATION"].append([event(kind, 1, **data)])
    game, whole = record_of(log), record_of(VILLAGERS_WIN)
    (fault,) = game.faults
    assert fault.rule == "whoever acts is a player"
    assert fault.json_path.startswith("$.info.MODERATOR_OBSERVATION[3][0].json_str")
    assert (game.votes, game.abilities) == (whole.votes, whole.abilities)
    assert len(game.messages) == len(whole.messages)


def test_a_winner_of_another_game_is_refused() -> None:
    log = deepcopy(VILLAGERS_WIN)
    log["info"]["GAME_END"]["winner_team"] = "Foxes"
    assert fault_of(log).json_path == "$.info.GAME_END.winner_team"


def test_episodes_of_other_games_are_no_logs() -> None:
    assert read_game(encode(VILLAGERS_WIN | {"name": "connectx"})) is None


# Games that the package plays


def test_games_that_the_package_plays(tmp_path: Path) -> None:
    """Judgement is what its evaluator calls IRP: votes for a werewolf, of all by villagers."""
    if "KAGGLE_PYTHON" not in os.environ:
        pytest.skip("no kaggle-environments: name a Python that has it in $KAGGLE_PYTHON")
    (tmp_path / "logs").mkdir()
    command = [os.environ["KAGGLE_PYTHON"], str(PLAYS), str(tmp_path / "logs")]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    told = json.loads(printed.splitlines()[-1])
    ingest(tmp_path / "logs", tmp_path / "lake", jobs=1)
    lake = open_lake(tmp_path / "lake")
    assert verify(lake.path).faults.is_empty()
    assert lake.table("quarantine").collect().is_empty()
    games = lake.table("games").collect()
    words = {"Villagers": "villagers_won", "Werewolves": "werewolves_won"}
    of_wolves = games.filter(game_type="werewolf").sort("game_index")
    assert of_wolves["outcome"].to_list() == [words[winner] for winner in told["winners"]]
    rates = metrics(lake, metric=["judgement"], by=["model", "game_type"], confidence=None)
    rates = rates.filter(game_type="werewolf").select("model", "hits", "counted")
    assert {model: [hits, n] for model, hits, n in rates.iter_rows()} == told["irp"]
    others = games.filter(pl.col("game_type") != "werewolf")
    assert dict(others.select("path", "ended_by").iter_rows()) == told["ended_by"]
    scores = lake.table("players").collect().join(others, on="game_id").sort("seat")
    found = dict(scores.group_by("path", maintain_order=True).agg("final_score").iter_rows())
    assert found == told["scores"]
