"""The columns of a game that its rows can be grouped and chosen by, besides their own.

A column that `games` has is the game's, even where the rows have one of that name.
"""

from collections.abc import Sequence

import polars as pl

from pipeline.events.contracts import polars_schema
from pipeline.metrics.declaration import Tables

_OF_EVERY_ROW = polars_schema("players")
GAME_COLUMNS: dict[str, pl.DataType] = {
    name: dtype for name, dtype in polars_schema("games").items() if name not in _OF_EVERY_ROW
} | {"opponent": pl.String()}
"""The columns of a game that its rows do not repeat; `opponent` as in `results`."""


def with_game(rows: pl.LazyFrame, tables: Tables, columns: Sequence[str]) -> pl.LazyFrame:
    """The rows with these columns of their game."""
    if not columns:
        return rows
    games = tables("games")
    if "opponent" in columns:
        opponents = tables("results").group_by("game_id").agg(pl.col("opponent").min())
        games = games.join(opponents, on="game_id", how="left")
    of_game = games.select("game_id", *columns)
    return rows.drop(columns, strict=False).join(of_game, on="game_id", how="left")
