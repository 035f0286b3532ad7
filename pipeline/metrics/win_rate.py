"""Win Rate: the mean over competitions of the share of wins."""

import polars as pl

from pipeline.games import game_type_of_competition, win_rate_competition_names
from pipeline.metrics.registry import Combine, Metric, Rows, Term
from pipeline.vocabulary import HIDDEN_ROLE_GAMES

MAX_FIXED_GAMES = 20
# The competitions of the published script; games that were added later do not change them.
_COMPETITIONS_OF_SCRIPT = (
    "chameleon_as_chameleon",
    "chameleon_as_non_chameleon",
    "undercover_as_undercover",
    "undercover_as_civilian",
    "cost_sharing",
    "prisoners_dilemma",
    "public_good",
)


def _fixed_game_count(num_of_game: int) -> int:
    # The published script always divides by 20, so missing games count as lost.
    return min(num_of_game, MAX_FIXED_GAMES)


_WIN_CREDIT = pl.col("win_credit")
_RUN_KEYS = ("model", "competition", "game_index")
# The published script reads a single run, with one file per game number. Its fixed number of 20
# games has no meaning for several runs.
_HAS_SEVERAL_RUNS = pl.col("game_type").is_in(HIDDEN_ROLE_GAMES) & (
    pl.col("game_id").min().over(_RUN_KEYS) != pl.col("game_id").max().over(_RUN_KEYS)
)
RESULT_NAMES = ("won", "lost", "shared")
RESULT_EXPRESSION = (
    pl.when(_WIN_CREDIT == 1)
    .then(pl.lit("won"))
    .when(_WIN_CREDIT == 0)
    .then(pl.lit("lost"))
    .when(_WIN_CREDIT > 0)
    .then(pl.lit("shared"))
)
"""The result of a game as a word, from its credit; null if the game is unfinished."""

PAPER = Metric(
    terms=tuple(
        Term(name, (game_type_of_competition(name),)) for name in win_rate_competition_names()
    ),
    rows=(
        Rows(
            "results",
            term=pl.col("competition"),
            what=RESULT_EXPRESSION,
            hit=_WIN_CREDIT,
        ),
    ),
    combine=Combine.MEAN,
)
RELEASE = Metric(
    terms=tuple(
        Term(
            name,
            (game_type_of_competition(name),),
            weight=1 / 7,
            fixed_count=_fixed_game_count
            if game_type_of_competition(name) in HIDDEN_ROLE_GAMES
            else None,
        )
        for name in _COMPETITIONS_OF_SCRIPT
    ),
    rows=(
        Rows(
            "results",
            term=pl.col("competition"),
            what=RESULT_EXPRESSION,
            hit=pl.when(~_HAS_SEVERAL_RUNS).then(_WIN_CREDIT.fill_null(0.0)),
            where=pl.col("competition").is_in(_COMPETITIONS_OF_SCRIPT),
            counted=pl.lit(value=True),
            spans_games=True,
        ),
    ),
    unknown="{} games share their number with another game: the script expects a single run",
    # 21 games all won are 42 points of 40 in each of four competitions of seven.
    high=(4 * 21 / 20 + 3) / 7,
)
