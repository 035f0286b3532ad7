"""Win Rate: how much of what could be won was won, the mean over competitions."""

import polars as pl

from pipeline.games import competitions, game_type_of_competition
from pipeline.metrics.registry import Combine, Metric, Rows, Term
from pipeline.vocabulary import HIDDEN_ROLE_GAMES

MOST_GAMES = 20
# The competitions of the published script, whatever games are added since.
_OF_SCRIPT = (
    "chameleon_as_chameleon",
    "chameleon_as_non_chameleon",
    "undercover_as_undercover",
    "undercover_as_civilian",
    "cost_sharing",
    "prisoners_dilemma",
    "public_good",
)


def _games_expected(num_of_game: int) -> int:
    # The script divides by 20 however many games there are, so absent ones score 0.
    return min(num_of_game, MOST_GAMES)


_CREDIT = pl.col("win_credit")
_OF_RUN = ("model", "competition", "game_index")
# The script reads a run: one file for each number. Over several, its fixed 20 games mean nothing.
_IS_REPEATED = pl.col("game_type").is_in(HIDDEN_ROLE_GAMES) & (
    pl.col("game_id").min().over(_OF_RUN) != pl.col("game_id").max().over(_OF_RUN)
)
RESULT_NAMES = ("won", "lost", "shared")
RESULT_EXPRESSION = (
    pl.when(_CREDIT == 1)
    .then(pl.lit("won"))
    .when(_CREDIT == 0)
    .then(pl.lit("lost"))
    .when(_CREDIT > 0)
    .then(pl.lit("shared"))
)
"""The word for a result, by its credit; null if the game is unfinished."""

PAPER = Metric(
    terms=tuple(Term(name, (game_type_of_competition(name),)) for name in competitions()),
    rows=(
        Rows(
            "results",
            term=pl.col("competition"),
            what=RESULT_EXPRESSION,
            hit=_CREDIT,
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
            fixed_count=_games_expected
            if game_type_of_competition(name) in HIDDEN_ROLE_GAMES
            else None,
        )
        for name in _OF_SCRIPT
    ),
    rows=(
        Rows(
            "results",
            term=pl.col("competition"),
            what=RESULT_EXPRESSION,
            hit=pl.when(~_IS_REPEATED).then(_CREDIT.fill_null(0.0)),
            where=pl.col("competition").is_in(_OF_SCRIPT),
            counted=pl.lit(value=True),
            spans_games=True,
        ),
    ),
    unknown="{} games share their number with another game: the script expects a single run",
    # 21 games all won are 42 points of 40 in each of four competitions of seven.
    high=(4 * 21 / 20 + 3) / 7,
)
