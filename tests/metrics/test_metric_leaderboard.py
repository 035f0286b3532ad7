"""The leaderboard: the metrics' values over all, a row for each model, ranked by win rate."""

import polars as pl
import pytest
from event_tables import ENGINES, lake_of, table

from pipeline.metrics import ALL_GAME_TYPES, NAMES, compute_metrics
from pipeline.metrics.completeness import leaderboard_counts_by_model
from pipeline.metrics.request import Request
from pipeline.reports.ranking import leaderboard, rank_models

RESULTS = """
game | model           | win_credit | is_finished
1    | m               | 1          |
2    | m               | 0          |
3    | Zoë's "7B" chat | 1          |
4    | loser           | 0          |
5    | n               | 1/2        |
6    | unfinished      | -          | no
7    | -               | 1/2        |
"""
RANKED = [
    (1, """Zoë's "7B" chat""", 1, 1.0),
    (2, "m", 2, 0.5),
    (2, "n", 1, 0.5),
    (4, "loser", 1, 0.0),
    (None, None, 1, 0.5),
    (None, "unfinished", 0, None),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_ties_share_the_better_rank_and_no_win_rate_is_last(engine, tmp_path):
    lake = lake_of(tmp_path, {"results": table("results", RESULTS, game_type="public_good")})
    answer = compute_metrics(lake, Request(game_types=(ALL_GAME_TYPES,)), engine=engine)
    rows = rank_models(answer.rows, leaderboard_counts_by_model(lake, "paper"))
    ends = ("", "_low", "_high", "_small_sample_terms", "_undecided")
    beside = [f"{name}{end}" for name in NAMES for end in ends]
    counts = ["n_games", "n_missing", "n_expected", "n_self_play", "n_replays", "n_repeats"]
    counts += ["is_complete"]
    assert rows.columns == ["rank", "model", *counts, *beside, "missing_competitions", "reasons"], (
        "name a new column in `counts` above; docs/adding.md says where a column of the "
        "leaderboard is declared"
    )
    assert rows.select("rank", "model", "n_games", "win_rate").rows() == RANKED
    for reasons, win_rate in rows.select("reasons", "win_rate").iter_rows():
        missing = [reason.partition(":")[0] for reason in reasons]
        assert missing == [name for name in NAMES if name != "win_rate" or win_rate is None]


def test_equal_means_of_fractions_tie(tmp_path):
    """1/5 and 2/5 are 0/5 and 3/5, though not to the last digit."""
    parts = []
    for game_type, of_models in {
        "public_good": {"a": "1 0 0 0 0", "b": "0 0 0 0 0"},
        "prisoners_dilemma": {"a": "1 1 0 0 0", "b": "1 1 1 0 0"},
    }.items():
        text = ["game | model | win_credit"]
        for model, credits in of_models.items():
            place = 10 * len(parts) + 5 * (model == "b")
            numbered = enumerate(credits.split(), start=place)
            text += [f"{number} | {model} | {credit}" for number, credit in numbered]
        parts.append(table("results", "\n".join(text), game_type=game_type))
    board = leaderboard(lake_of(tmp_path, {"results": pl.concat(parts)}))
    assert board["win_rate"].n_unique() == 2
    assert board.select("rank", "model").rows() == [(1, "a"), (1, "b")]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_lake_without_games_ranks_nobody(engine, tmp_path):
    played = {"results": table("results", RESULTS, game_type="public_good")}
    some, none = (
        leaderboard(lake_of(tmp_path / name, tables), engine=engine)
        for name, tables in (("some", played), ("none", {}))
    )
    assert none.is_empty()
    assert none.schema == some.schema
