"""Games made into the rows of the event tables, a batch at a time and column by column.

What all events of a game or of a seat share is written down once for each, and gathered; what
texts say is read for all of a table's texts at once.
"""

from collections.abc import Callable, Iterable, Sequence, Sized
from itertools import chain
from operator import attrgetter

import polars as pl
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import fields

from pipeline.events import prose
from pipeline.events.contracts import GAME_ROW, own_contract, polars_schema
from pipeline.events.identity import setting_id
from pipeline.game import (
    Contribution,
    Decision,
    Game,
    Guess,
    Messages,
    Proposal,
    ProposalVote,
    Result,
    RoleAnalysis,
    RoleIdentification,
    Seat,
    Vote,
)
from pipeline.vocabulary import SIDE_OF_ROLE, GameType, ParseStatus, Role, Side, competition

_OF_GAME = ("game_id", "game_type", "system", "setting_id", "game_index", "is_finished")
_OF_PLAYER = ("player", "model", "role", "side", "is_tested", "competition")
_SIDES = {str(role): str(side) for role, side in SIDE_OF_ROLE.items()}
_COMPETITIONS = {
    f"{game_type}/{role}": competition(game_type, role) for game_type in GameType for role in Role
}
_OK = pl.lit(str(ParseStatus.OK))
_OUTAGE = pl.lit(str(ParseStatus.OUTAGE))


class Placed(Struct, frozen=True, gc=False):
    """A game with its identity and the place that it was found in."""

    game: Game
    game_id: str
    game_index: int | None
    sha256: str
    source: str
    path: str


class Frames(Struct):
    """The rows of every event table, as the contracts have them.

    `broken` are the games that have a row which breaks its contract, with the rules.
    """

    tables: dict[str, pl.DataFrame]
    broken: dict[str, str]


def frames(batch: Sequence[Placed]) -> Frames:
    """The rows of the games, in their order."""
    tables = {
        table: frame.select(
            GAME_ROW, *(pl.col(name).cast(dtype) for name, dtype in polars_schema(table).items())
        )
        for table, frame in _Batch(batch).tables.items()
    }
    return Frames(
        {table: frame.drop(GAME_ROW) for table, frame in tables.items()},
        {batch[game].game_id: rule for game, rule in _broken(tables).items()},
    )


def _broken(tables: dict[str, pl.DataFrame]) -> dict[int, str]:
    """The games that have a row which breaks its contract, by number, with the rules."""
    broken: dict[int, str] = {}
    for table, frame in tables.items():
        failure = own_contract(table).filter(frame).failure
        if not len(failure):
            continue
        rules = f"the contract of {table}: {', '.join(failure.counts())}"
        invalid = failure.invalid()
        key = GAME_ROW if GAME_ROW in invalid.columns else "game_id"
        of_rows = frame.join(invalid, on=key, how="semi")
        broken |= dict.fromkeys(of_rows[GAME_ROW], rules)
    return broken


class _Batch:
    """The games of a batch as `tables`, each of which may be derived from those before it.

    Beside its columns a row has `game`, the number of its game in the batch, and may have more.
    """

    def __init__(self, batch: Sequence[Placed]) -> None:
        self._games = [placed.game for placed in batch]
        self.tables = {"games": _game_rows(batch)}
        self._first_player = _firsts(self.tables["games"]["n_players"])
        self._first_message = _firsts(self.tables["games"]["n_messages"])
        self.tables["players"] = self._player_rows()
        self._seats = self.tables["players"].select(GAME_ROW, "player", "seat", "side")
        self.tables["messages"] = self._message_rows()
        for table, (kind, derive) in _EVENTS.items():
            self.tables[table] = derive(self._event_rows(table, kind), self)

    def _event_rows(self, table: str, kind: type[Struct]) -> pl.DataFrame:
        of_games = list(map(attrgetter(table), self._games))
        events = list(chain.from_iterable(of_games))
        names = [field.name for field in fields(kind)]
        schema = polars_schema(table) | _LOGGED_ALONE
        own = pl.DataFrame(
            [_series(name, map(attrgetter(name), events), schema[name]) for name in names]
        )
        game = _group_of_each(of_games)
        message = self._first_message.gather(game) + own["message_index"].cast(pl.Int64)
        text = self.tables["messages"]["content"].gather(message)
        return self._with_player(own.with_columns(game, text=text))

    def seat_of(self, rows: pl.DataFrame, name: str) -> pl.DataFrame:
        """The rows with `<name>_seat` and `<name>_side` of the player of their game named there."""
        named = self._seats.rename({"player": name, "seat": f"{name}_seat", "side": f"{name}_side"})
        return rows.join(named, on=[GAME_ROW, name], how="left", maintain_order="left")

    def _player_rows(self) -> pl.DataFrame:
        seats = [game.seats for game in self._games]
        game = _group_of_each(seats)
        own = _columns("players", Seat, chain.from_iterable(seats)).with_columns(game)
        return (
            own.hstack(self.tables["games"].select(_OF_GAME)[game])
            .with_columns(
                seat=(pl.int_range(1, pl.len() + 1) - self._first_player.gather(game)).cast(
                    pl.Int32
                ),
                score_rank=pl.col("final_score").rank("min", descending=True).over(GAME_ROW),
            )
            .with_columns(_side(), _competition())
        )

    def _message_rows(self) -> pl.DataFrame:
        spoken = [game.messages for game in self._games]
        schema = polars_schema("messages")
        own = pl.DataFrame(
            [
                _series(
                    field.name,
                    chain.from_iterable(map(attrgetter(field.name), spoken)),
                    schema[field.name],
                )
                for field in fields(Messages)
            ]
        )
        game = _group_of_each(spoken)
        index = pl.int_range(pl.len()) - self._first_message.gather(game)
        is_outage = prose.is_outage(pl.col("content"))
        return self._with_player(
            own.with_columns(
                game,
                message_index=index,
                parse_status=pl.when(is_outage).then(_OUTAGE).otherwise(_OK),
            )
        )

    def _with_player(self, own: pl.DataFrame) -> pl.DataFrame:
        """The rows with what their game and their player share."""
        player = self._first_player.gather(own[GAME_ROW]) + own["seat"].cast(pl.Int64) - 1
        # A row of nobody's, the moderator's or a whole team's, gathers nulls.
        shared = [name for name in _OF_PLAYER if name not in own.columns]
        of_player = self.tables["players"].select(pl.col(shared).gather(player))
        return (
            own.hstack(self.tables["games"].select(_OF_GAME)[own[GAME_ROW]])
            .hstack(of_player)
            .with_columns(pl.col("is_tested").fill_null(value=False))
        )


def _game_rows(batch: Sequence[Placed]) -> pl.DataFrame:
    games = [placed.game for placed in batch]
    identity = [field.name for field in fields(Placed) if field.name != "game"]
    columns: dict[str, Sequence[object]] = {
        "setting_id": [setting_id(game.game_type, game.setting) for game in games],
        "n_players": [len(game.seats) for game in games],
        "n_messages": [len(game.messages) for game in games],
    }
    columns |= {name: list(map(attrgetter(name), batch)) for name in identity}
    as_told = [name for name in polars_schema("games") if name not in columns]
    columns |= {name: list(map(attrgetter(name), games)) for name in as_told}
    columns[GAME_ROW] = range(len(games))
    return pl.DataFrame(columns, schema_overrides=polars_schema("games"))


# What a vote has besides its columns: whether the log itself says whom it was for.
_LOGGED_ALONE: dict[str, pl.DataType] = {"is_logged": pl.Boolean()}


def _votes(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = rows.with_columns(
        stated=prose.stated_players(pl.col("text"), pl.col("player"))
    ).with_columns(stated_target=prose.only(pl.col("stated")))
    rows = rows.with_columns(_chosen("target", "stated_target"))
    rows = batch.seat_of(rows.with_columns(_vote_status("target")), "target")
    return rows.with_columns(
        is_correct=(pl.col("target_side") == str(Side.HIDDEN)).fill_null(value=False),
        is_valid=(pl.col("target_seat") != pl.col("seat")).fill_null(value=False),
    )


def _proposal_votes(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = rows.with_columns(stated=prose.stated_players(pl.col("text"), pl.col("player")))
    rows = rows.with_columns(_chosen("candidate", prose.only(pl.col("stated"))))
    return batch.seat_of(rows.with_columns(_vote_status("candidate")), "candidate")


def _chosen(name: str, stated: str | pl.Expr) -> pl.Expr:
    return pl.when("is_logged").then(name).otherwise(stated).alias(name)


def _vote_status(name: str) -> pl.Expr:
    # What the game registered counts as it stands, whatever a strict reading makes of the text.
    logged = pl.when(pl.col(name).is_not_null()).then(_OK).otherwise(_UNREADABLE)
    status = pl.when("is_logged").then(logged).otherwise(prose.surely(pl.col("stated")))
    return prose.outage_or(pl.col("text"), status).alias("parse_status")


def _answers(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    # An answer counts as the game logged it, whatever a strict reading would make of the text.
    return rows.with_columns(parse_status=prose.outage_or(pl.col("text"), _OK))


def _decisions(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    text = pl.col("text")
    status = prose.choice_status(text, pl.col("choice"))
    return rows.with_columns(parse_status=prose.outage_or(text, status))


def _contributions(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    text = pl.col("text")
    rows = rows.with_columns(stated_amount=prose.stated_amount(text))
    status = prose.amount_status(pl.col("amount"), pl.col("stated_amount"))
    return rows.with_columns(parse_status=prose.outage_or(text, status))


def _proposals(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = rows.with_columns(numbers=prose.numbers(pl.col("share_text")))
    rows = rows.with_columns(share=prose.share(pl.col("numbers")))
    status = prose.share_status(pl.col("numbers"), pl.col("share"))
    return rows.with_columns(parse_status=prose.outage_or(pl.col("text"), status))


def _results(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Adds whether the tested seat is the author of what was agreed.

    That is the seat which most of the final round's voters named; a tie goes to the earliest
    voter's choice, votes that name no player are left out.
    """
    votes = batch.tables["proposal_votes"]
    author = (
        votes.filter("is_final_round", pl.col("candidate_seat").is_not_null())
        .group_by(GAME_ROW, "candidate_seat", maintain_order=True)
        .len()
        .sort("len", descending=True, maintain_order=True)
        .unique(GAME_ROW, keep="first", maintain_order=True)
        .select(GAME_ROW, author="candidate_seat")
    )
    rows = rows.join(author, on=GAME_ROW, how="left", maintain_order="left")
    # A whole team's row has no player to gather these from.
    return rows.with_columns(is_tested=True).with_columns(
        _side(),
        _competition(),
        round=pl.lit(None, pl.Int32),
        parse_status=_OK,
        proposed_agreement=pl.when("agreed").then(pl.col("author") == pl.col("seat")),
    )


_UNREADABLE = pl.lit(str(ParseStatus.UNREADABLE))

# The event tables: what their rows are made of, and what is derived for all rows at once.
_Derive = Callable[[pl.DataFrame, _Batch], pl.DataFrame]
_EVENTS: dict[str, tuple[type[Struct], _Derive]] = {
    "votes": (Vote, _votes),
    "guesses": (Guess, lambda rows, _: rows),
    "role_identifications": (RoleIdentification, _answers),
    "role_analyses": (RoleAnalysis, _answers),
    "decisions": (Decision, _decisions),
    "contributions": (Contribution, _contributions),
    "proposals": (Proposal, _proposals),
    "proposal_votes": (ProposalVote, _proposal_votes),
    "results": (Result, _results),
}


def _columns(table: str, kind: type[Struct], rows: Iterable[Struct]) -> pl.DataFrame:
    """The rows' own fields as columns, typed by the table's contract."""
    schema = polars_schema(table) | _LOGGED_ALONE
    rows = list(rows)
    return pl.DataFrame(
        [
            _series(field.name, map(attrgetter(field.name), rows), schema[field.name])
            for field in fields(kind)
        ]
    )


def _series(name: str, values: Iterable[object], dtype: pl.DataType) -> pl.Series:
    if isinstance(dtype, pl.List):
        # polars makes a Series of each list; Arrow does not.
        return pl.Series(name, pa.array(list(values), pa.list_(pa.string())), dtype=dtype)
    return pl.Series(name, list(values), dtype=dtype)


def _firsts(sizes: pl.Series) -> pl.Series:
    """The number of the first row of each group, where the groups' rows follow one another."""
    return (sizes.cum_sum() - sizes).cast(pl.Int64)


def _group_of_each(groups: Sequence[Sized]) -> pl.Series:
    """For each member of each group, the group's number, as `game`."""
    numbers = pl.Series(GAME_ROW, range(len(groups)), dtype=pl.Int64)
    sizes = pl.Series(list(map(len, groups)), dtype=pl.Int64)
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
