"""Games made into the rows of the event tables, a batch at a time and column by column.

What all events of a game or of a seat share is written down once for each, and gathered.
"""

from collections.abc import Iterable, Sequence

import polars as pl
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import astuple, fields

from pipeline.events.contracts import polars_schema
from pipeline.events.identity import setting_id
from pipeline.game import (
    Contribution,
    Decision,
    Game,
    Guess,
    Message,
    Proposal,
    ProposalVote,
    Result,
    RoleAnalysis,
    RoleIdentification,
    Seat,
    Vote,
)
from pipeline.vocabulary import SIDE_OF_ROLE, GameType, Role, competition

EVENTS: dict[str, type[Struct]] = {
    "results": Result,
    "messages": Message,
    "votes": Vote,
    "guesses": Guess,
    "role_identifications": RoleIdentification,
    "role_analyses": RoleAnalysis,
    "decisions": Decision,
    "contributions": Contribution,
    "proposals": Proposal,
    "proposal_votes": ProposalVote,
}
_OF_GAME = ("game_id", "game_type", "system", "setting_id", "game_index", "is_finished")
_OF_PLAYER = ("player", "model", "role", "side", "is_tested", "competition")
_SIDES = {str(role): str(side) for role, side in SIDE_OF_ROLE.items()}
_COMPETITIONS = {
    f"{game_type}/{role}": competition(game_type, role) for game_type in GameType for role in Role
}


class Placed(Struct, frozen=True):
    """A game with its identity and the place that it was found in."""

    game: Game
    game_id: str
    game_index: int | None
    sha256: str
    source: str
    path: str


def frames(batch: Sequence[Placed]) -> dict[str, pl.DataFrame]:
    """The rows of every event table, as the contracts have them, in the games' order."""
    games = _games(batch)
    players = _players(batch, games)
    tables = {"games": games, "players": players}
    for table, kind in EVENTS.items():
        tables[table] = _events(table, kind, batch, games, players)
    return {
        table: rows.select(pl.col(name).cast(dtype) for name, dtype in polars_schema(table).items())
        for table, rows in tables.items()
    }


def _games(batch: Sequence[Placed]) -> pl.DataFrame:
    games = [placed.game for placed in batch]
    identity = [name for name in fields_of(Placed) if name != "game"]
    columns = {
        "setting_id": [setting_id(game.game_type, game.setting) for game in games],
        "n_players": [len(game.seats) for game in games],
        "n_messages": [len(game.messages) for game in games],
    }
    columns |= {name: [getattr(placed, name) for placed in batch] for name in identity}
    as_told = [name for name in polars_schema("games") if name not in columns]
    columns |= {name: [getattr(game, name) for game in games] for name in as_told}
    return pl.DataFrame(columns, schema_overrides=polars_schema("games"))


def _players(batch: Sequence[Placed], games: pl.DataFrame) -> pl.DataFrame:
    seats = [placed.game.seats for placed in batch]
    own = _columns("players", Seat, (seat for of_game in seats for seat in of_game))
    ranked = pl.col("final_score").rank("min", descending=True).over("game_id")
    return (
        own.hstack(games.select(_OF_GAME)[_row_of_each(seats)])
        .with_columns(
            pl.int_range(1, pl.len() + 1).over("game_id").alias("seat"),
            ranked.alias("score_rank"),
        )
        .with_columns(_side(), _competition())
    )


def _events(
    table: str,
    kind: type[Struct],
    batch: Sequence[Placed],
    games: pl.DataFrame,
    players: pl.DataFrame,
) -> pl.DataFrame:
    events = [getattr(placed.game, table) for placed in batch]
    own = _columns(table, kind, (event for of_game in events for event in of_game))
    game_row = _row_of_each(events)
    player_row = (
        (games["n_players"].cum_sum() - games["n_players"]).gather(game_row) + own["seat"] - 1
    )
    of_game = games.select(_OF_GAME)[game_row]
    # A row of nobody's, the moderator's or a whole team's, gathers nulls.
    of_player = players.select(pl.col(_OF_PLAYER).gather(player_row))
    told = [name for name in _OF_PLAYER if name in own.columns]
    rows = own.hstack(of_game).hstack(of_player.drop(told))
    if table == "messages":
        rows = rows.with_columns(pl.int_range(pl.len()).over("game_id").alias("message_index"))
    if table == "results":
        rows = rows.with_columns(is_tested=True).with_columns(_side(), _competition())
    return rows.with_columns(pl.col("is_tested").fill_null(value=False))


def _columns(table: str, kind: type[Struct], rows: Iterable[Struct]) -> pl.DataFrame:
    """The rows' own fields as columns, typed by the table's contract."""
    names = fields_of(kind)
    schema = polars_schema(table)
    columns = list(zip(*map(astuple, rows), strict=True)) or [()] * len(names)
    return pl.DataFrame(
        [_series(name, values, schema[name]) for name, values in zip(names, columns, strict=True)]
    )


def _series(name: str, values: Sequence[object], dtype: pl.DataType) -> pl.Series:
    if isinstance(dtype, pl.List):
        # polars makes a Series of each list; Arrow does not.
        return pl.Series(name, pa.array(values, pa.list_(pa.string())), dtype=dtype)
    return pl.Series(name, values, dtype=dtype)


def fields_of(kind: type[Struct]) -> list[str]:
    """The names of a struct's fields, in order."""
    return [field.name for field in fields(kind)]


def _row_of_each(groups: Sequence[Sequence[Struct]]) -> pl.Series:
    """For each member of each group, the group's number."""
    numbers = pl.Series(range(len(groups)), dtype=pl.Int64)
    sizes = pl.Series([len(group) for group in groups], dtype=pl.Int64)
    return numbers.repeat_by(sizes).explode().drop_nulls()


def _side() -> pl.Expr:
    return pl.col("role").replace_strict(_SIDES, return_dtype=pl.String).alias("side")


def _competition() -> pl.Expr:
    played = pl.concat_str("game_type", pl.lit("/"), "role")
    return (
        pl.when("is_tested")
        .then(played.replace_strict(_COMPETITIONS, default=None, return_dtype=pl.String))
        .alias("competition")
    )
