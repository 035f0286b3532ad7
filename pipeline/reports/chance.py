"""Judgement compared with chance: the value that random votes would have, game by game."""

import polars as pl

from pipeline.lake import StoredLake, of_one_system
from pipeline.metrics.views import views
from pipeline.warehouse import bounded, parts

_ROWS = """
    SELECT * EXCLUDE (system) FROM judgement_by_chance ORDER BY model NULLS LAST, game_type
"""


@of_one_system
def judgement_by_chance(lake: StoredLake) -> pl.DataFrame:
    """A row for each model and game type with its judgement, and the judgement of random votes.

    The game type `all` is over all types. The chance of a vote is the share of sought players among
    the players who are still in the game, without the voter. The rows are those of the view
    `judgement_by_chance`, for one system.

    Columns:

    - `model`, `game_type`: whose votes, and in which game.
    - `value`: judgement, hits / counted, in 0..1.
    - `chance`: the value that chance alone leads to, expected / counted.
    - `hits`, `expected`: right votes, and how many of them to expect by chance, the sum of the
      votes' chances; null if a vote had nobody to name.
    - `counted`, `n_games`: votes that judgement counts, and their games.

    >>> rows = lake.judgement_by_chance().filter(model="sim-atlas")
    >>> rows.select("game_type", "value", "chance").rows()[0]
    ('all', 0.5, 0.5)
    """
    with bounded(lake, views(), _ROWS) as connection:
        return pl.concat(parts(connection, _ROWS))
