"""Build the event tables of a batch of games.

Tables are built one column at a time, and all texts of a table are parsed at once. Values that the
rows of a game or player share are stored once; rows refer to them by number until the Arrow tables
are built.

Used by the ingest, `pipeline.conversion` and `pipeline.testing`; depends on
`pipeline.events.readings` and `pipeline.events.text_parsing`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import astuple, fields

from pipeline.action_tables import ACTION_TABLES
from pipeline.events import arrow, contracts, readings, text_parsing
from pipeline.events.contracts import (
    GAME_ROW,
    GAME_TABLES,
    GAME_TYPE_TABLES,
    GameRow,
    PlayerRow,
    contract_without_shared_columns,
    empty_table,
    registered_roles,
    table_schema,
)
from pipeline.events.readings import (
    IS_NUMBERED,
    Setting,
    judge_role_analyses_by_text,
    judge_role_identifications_by_text,
    setting_with_id,
)
from pipeline.game_record import (
    FIXED_SETTING_KEYS,
    QUESTION_MARK,
    Event,
    GameRecord,
    MessageColumns,
    RecordError,
    Result,
    Seat,
    Usage,
)
from pipeline.games import SEAT_COLUMNS
from pipeline.vocabulary import AnalysisKind, ParseStatus, Phase

_GAME_COLUMNS = tuple(GameRow.columns())
_PLAYER_COLUMNS = tuple(name for name in PlayerRow.columns() if name not in _GAME_COLUMNS)
_MESSAGE_COLUMNS = tuple(
    field.name for field in fields(MessageColumns) if field.name in table_schema("messages")
)
_PLAYER_ROW, _MESSAGE_ROW = "player_row", "message_row"
_SPEECH_COLUMNS = (GAME_ROW, "message_index", "round", "player", "content")
_STRING_LIST = pl.List(pl.String)
# Fields of events from which columns are derived, but which are not columns themselves.
_TEMPORARY_DTYPES = dict.fromkeys(("is_logged", *AnalysisKind), pl.Boolean())
_MAX_VALUE_LENGTH = 60
SEAT_RULE = "the seat of an event is 1 to the number of players"
_EMPTY_STRING_LIST = pl.lit([], _STRING_LIST)
# The only player that the text of a vote names; an empty string if it is a vote for nobody.
_STATED_NAME = text_parsing.only_element_or_null(pl.col("stated"))
_STATED_PLAYER = pl.when(_STATED_NAME != "").then(_STATED_NAME)
_OK = pl.lit(str(ParseStatus.OK))
_OUTAGE = pl.lit(str(ParseStatus.OUTAGE))


class IdentifiedGame(Struct, frozen=True, gc=False):
    """A game with its identity and the location of its document.

    Attributes:
        game: The parsed game.
        game_id: The game's id, a hash.
        game_index: The game's number in its competition; None if unknown.
        sha256: The hash of the document.
        content_id: The hash of the parsed content.
        source: The folder or archive that contains the document.
        path: The path of the document within the source.
    """

    game: GameRecord
    game_id: str
    game_index: int | None
    sha256: str
    content_id: str
    source: str
    path: str


class ParsedVoteCounts(NamedTuple):
    """Counts of the votes of a game that the log contains only as text.

    Attributes:
        n_parsed: Number of these votes.
        n_undecided: Number of those among them whose text names no single player.
    """

    n_parsed: int = 0
    n_undecided: int = 0


class EventFrames(Struct):
    """The event tables of a batch of games, and the games that break a contract.

    Attributes:
        tables: The Arrow tables by name. Values that rows share are dictionary-encoded.
        invalid_games: The error of each game that has an invalid row, by game id.
        parsed_votes: By game id, the counts of votes that the log contains only as text.
    """

    tables: dict[str, pa.Table]
    invalid_games: dict[str, RecordError]
    parsed_votes: dict[str, ParsedVoteCounts] = {}

    def table(self, name: str) -> pl.DataFrame:
        """Return one of the tables as a polars frame, with the types of its contract.

        Args:
            name: The name of the table.

        Returns:
            The rows of the table.
        """
        return pl.DataFrame(self.tables[name]).cast(pl.Schema(table_schema(name)))


def build_event_frames(batch: Sequence[IdentifiedGame]) -> EventFrames:
    """Build the event tables of a batch of games, and validate the rows.

    Args:
        batch: The games; their order is the order of the rows.

    Returns:
        The tables, the error of each game with invalid rows, and counts of parsed votes.
    """
    builder = _Batch(batch)
    tables = {table: builder.build_table(table) for table in GAME_TABLES}
    return EventFrames(tables, builder.validation_errors(), builder.count_parsed_votes())


class _Batch:
    """Builds the tables of a batch of games.

    Tables are built in order, because some depend on previous ones. Besides the columns of its
    contract, a row has `game`, the number of its game in the batch, and `player_row`, the number of
    its player among all players of the batch (null if it has none). A message also has
    `message_row`, its number among the distinct rows of message columns.
    """

    def __init__(self, batch: Sequence[IdentifiedGame]) -> None:
        self._built_tables: dict[str, pa.Table] = {}
        self._games = [identified.game for identified in batch]
        games = _game_rows(batch)
        self._game_columns = {name: _encode_strings(games[name]) for name in _GAME_COLUMNS}
        self._game_types = games["game_type"]
        # The numbers of the games that have an event of a seat that does not exist.
        self._games_with_invalid_seats: set[int] = set()
        self._n_players = games["n_players"]
        self._first_player = _first_row_numbers_of_groups(self._n_players)
        self._first_message = _first_row_numbers_of_groups(games["n_messages"])
        players = self._build_player_rows()
        self._player_columns = {name: _encode_strings(players[name]) for name in _PLAYER_COLUMNS}
        self.seats = players.select(GAME_ROW, "player", "seat", "side", "is_sought")
        # The games in which not all players are called `Player N`.
        self.games_with_custom_names = players.filter(~IS_NUMBERED).select(GAME_ROW).unique()
        messages = self._build_message_rows()
        self._content, self._message_status = messages["content"], messages["parse_status"]
        self.tables = {"games": games, "players": players, "messages": messages}
        for table, event_class in _EVENT_CLASSES.items():
            # The events are a field of the record, or belong to a table of the game type.
            is_record_field = table in GameRecord.__struct_fields__
            events_by_game = [
                getattr(game, table) if is_record_field else game.events.get(table, ())
                for game in self._games
            ]
            self.tables[table] = self._build_event_rows(table, event_class, events_by_game)

    def build_table(self, table: str) -> pa.Table:
        """Return a table as Arrow data with all columns of its contract; it is built only once."""
        if self.tables[table].is_empty():
            return arrow.to_arrow_table(empty_table(table))
        if table not in self._built_tables:
            self._built_tables[table] = self._arrow_table_with_shared_columns(table)
        return self._built_tables[table]

    def _arrow_table_with_shared_columns(self, table: str) -> pa.Table:
        """Return a table with the columns of each row's message, game and player."""
        rows, schema = self.tables[table], table_schema(table)
        message_columns = self._message_columns if _MESSAGE_ROW in rows else {}
        row_columns = [name for name in schema if name in rows and name not in message_columns]
        unshared_rows = rows.select(pl.col(name).cast(schema[name]) for name in row_columns)
        arrays = dict(zip(row_columns, arrow.to_arrow_table(unshared_rows).columns, strict=True))
        # Columns of messages come first, because the moderator has a name but is not a player.
        shared_columns = {
            _MESSAGE_ROW: message_columns,
            GAME_ROW: self._game_columns,
            _PLAYER_ROW: self._player_columns,
        }
        for row_number, columns in shared_columns.items():
            missing_names = [name for name in schema if name in columns and name not in arrays]
            if missing_names:
                row_numbers = rows[row_number].cast(pl.UInt32)  # cast once for all columns
                arrays |= {name: columns[name].gather_rows(row_numbers) for name in missing_names}
        return pa.table([arrays[name] for name in schema], names=list(schema))

    def validation_errors(self) -> dict[str, RecordError]:
        """Return the error of each game that has an invalid row, by game id."""
        all_game_ids = self.tables["games"]["game_id"]
        errors = dict.fromkeys(
            all_game_ids.gather(sorted(self._games_with_invalid_seats)),
            RecordError("$", SEAT_RULE, f"a row breaks {SEAT_RULE}"),
        )
        for table in GAME_TABLES:
            if self.tables[table].is_empty():
                continue
            rows = self._columns_to_validate(table)
            if rows.select(_table_validity_expression(table)).item():
                continue
            violations = contracts.broken_rules(contract_without_shared_columns(table), rows)
            if violations:
                game_ids = (
                    all_game_ids.gather(rows[GAME_ROW]) if GAME_ROW in rows else rows["game_id"]
                )
                errors |= _errors_of_invalid_games(table, rows, game_ids, violations)
        return errors

    def count_parsed_votes(self) -> dict[str, ParsedVoteCounts]:
        """Count the votes whose text was parsed because the log does not register them."""
        parsed_votes = self.tables["votes"].filter(
            ~pl.col("is_logged"), pl.col("parse_status") != _OUTAGE
        )
        counts = parsed_votes.group_by(GAME_ROW).agg(pl.len(), pl.col("is_correct").null_count())
        game_ids = self.tables["games"]["game_id"].gather(counts[GAME_ROW])
        return {
            game_id: ParsedVoteCounts(*vote_counts)
            for game_id, *vote_counts in zip(game_ids, *counts.drop(GAME_ROW), strict=True)
        }

    def _columns_to_validate(self, table: str) -> pl.DataFrame:
        """Return the columns of a table that differ from row to row, which are validated."""
        columns = contract_without_shared_columns(table).columns()
        rows = self.tables[table]
        if GAME_ROW not in columns:
            rows = pl.DataFrame(self.build_table(table))
        return rows.select(pl.col(name).cast(column.dtype) for name, column in columns.items())

    def add_seat_and_is_sought(self, rows: pl.DataFrame, player_column: str) -> pl.DataFrame:
        """Join `<player_column>_seat` and `is_sought` of the player that a column names."""
        seats = self.seats.drop("side").rename(
            {"player": player_column, "seat": f"{player_column}_seat"}
        )
        return rows.join(seats, on=[GAME_ROW, player_column], how="left", maintain_order="left")

    def texts_of_messages(self, rows: pl.DataFrame) -> pl.Series:
        return self._content.gather(self._message_positions_in_batch(rows)).alias("text")

    def message_texts_without_thoughts(self, rows: pl.DataFrame, phase: Phase) -> pl.Series:
        """Return the text of each row's message, without the model's thoughts, as `answer`."""
        return text_parsing.remove_thoughts_before_answers(
            self.texts_of_messages(rows), phase
        ).alias("answer")

    def parse_statuses_of_messages(self, rows: pl.DataFrame) -> pl.Series:
        """Return the parse status of each row's message, or null if the row has no message."""
        return self._message_status.gather(self._message_positions_in_batch(rows))

    def seat_values_of_players(self, rows: pl.DataFrame, column_name: str) -> pl.Series:
        """Return the value that the player of each row has in a column of `seats`."""
        return self.seats[column_name].gather(rows[_PLAYER_ROW])

    def game_types_of_rows(self, rows: pl.DataFrame) -> pl.Series:
        """Return the type of each row's game as the Series `game_type`."""
        return self._game_types.gather(rows[GAME_ROW]).alias("game_type")

    def messages_of_phase_without_thoughts(self, phase: Phase) -> pl.DataFrame:
        """Return all messages of a phase; `content` omits the thoughts of the model."""
        messages_of_phase = (
            self.tables["messages"]
            .select(*_SPEECH_COLUMNS, "phase")
            .filter(phase=str(phase))
            .cast({"message_index": pl.Int32})
        )
        return messages_of_phase.with_columns(
            text_parsing.remove_thoughts_before_answers(messages_of_phase["content"], phase)
        )

    def _message_positions_in_batch(self, rows: pl.DataFrame) -> pl.Series:
        """Return the number of each row's message among all messages of the batch."""
        index = rows["message_index"].cast(pl.Int64)
        return self._first_message.gather(rows[GAME_ROW]) + index

    def _build_event_rows(
        self, table: str, event_class: type[Struct], events_by_game: Sequence[Sequence[Event]]
    ) -> pl.DataFrame:
        """Build the rows of an event table, including the columns that are parsed from text."""
        if not any(events_by_game):
            return _empty_table_before_derivation(table)
        rows = _frame_from_structs(table, event_class, chain.from_iterable(events_by_game))
        located_rows = self._add_player_row_numbers(
            rows.with_columns(_group_number_of_each_member(events_by_game))
        )
        return _COLUMN_DERIVATIONS.get(table, _derive_action_columns)(located_rows, self)

    def _build_player_rows(self) -> pl.DataFrame:
        """Build the rows of `players` from the seats of the games."""
        seats_by_game = [game.seats for game in self._games]
        rows = _frame_from_structs("players", Seat, chain.from_iterable(seats_by_game))
        rows = rows.with_columns(_group_number_of_each_member(seats_by_game))
        seat = pl.int_range(1, pl.len() + 1) - self._first_player.gather(rows[GAME_ROW])
        rank = pl.col("final_score").rank("min", descending=True).over(GAME_ROW)
        rows = rows.with_columns(self.game_types_of_rows(rows), seat=seat, score_rank=rank)
        usage = chain.from_iterable(
            game.usage or (Usage(),) * len(game.seats) for game in self._games
        )
        failures = [
            game.failures.get(number)
            for game in self._games
            for number in range(1, len(game.seats) + 1)
        ]
        failure = pl.Series("failure", failures, pl.String)
        return _add_side_and_competition(
            rows.with_columns(*_frame_from_structs("players", Usage, usage), failure)
        )

    def _build_message_rows(self) -> pl.DataFrame:
        """Build the rows of `messages`; store columns that games share in `_message_columns`."""
        messages_by_game = [game.messages for game in self._games]
        content = list(chain.from_iterable(map(attrgetter("content"), messages_by_game)))
        rows = _typed_frame("messages", {"content": content}).with_columns(
            _group_number_of_each_member(messages_by_game)
        )
        index = pl.int_range(pl.len()) - self._first_message.gather(rows[GAME_ROW])
        status = (
            pl.when(text_parsing.is_outage_message(pl.col("content"))).then(_OUTAGE).otherwise(_OK)
        )
        rows = rows.with_columns(message_index=index, parse_status=status)
        first_rows, distinct_rows = _first_row_of_games_and_distinct_message_rows(
            [messages.course for messages in messages_by_game]
        )
        self._message_columns = {
            name: _encode_strings(distinct_rows[name]) for name in _MESSAGE_COLUMNS
        }
        message_row = first_rows.gather(rows[GAME_ROW]) + rows["message_index"]
        rows = pl.concat([rows, distinct_rows[message_row]], how="horizontal")
        return self._add_player_row_numbers(rows.with_columns(message_row.alias(_MESSAGE_ROW)))

    def _add_player_row_numbers(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Add `player_row`; record the games of rows with a seat that does not exist."""
        # Numbers of seats that do not exist would refer to players of other games.
        n_players = self._n_players.gather(rows[GAME_ROW])
        seat = rows.select(
            pl.when(pl.col("seat").is_between(1, n_players)).then("seat")
        ).to_series()
        if seat.null_count() != rows["seat"].null_count():
            self._games_with_invalid_seats |= set(
                rows.filter(seat.is_null(), pl.col("seat").is_not_null())[GAME_ROW]
            )
        player_row = self._first_player.gather(rows[GAME_ROW]) + seat.cast(pl.Int64) - 1
        return rows.with_columns(player_row.alias(_PLAYER_ROW))


@cache
def _table_validity_expression(table: str) -> pl.Expr:
    """Return an expression that is true only if all rows of a table are valid."""
    return contracts.certainly_satisfies_contract(contract_without_shared_columns(table))


def _errors_of_invalid_games(
    table: str, rows: pl.DataFrame, game_ids: pl.Series, violations: Mapping[str, pl.Series]
) -> dict[str, RecordError]:
    """Return an error for each game with invalid rows, with an example of each broken rule."""
    columns = contracts.columns_by_rule(contract_without_shared_columns(table))
    contract_name = f"the contract of {table}"
    errors = {}
    is_invalid = pl.select(pl.any_horizontal(*violations.values())).to_series()
    for game_id in game_ids.filter(is_invalid).unique():
        rows_by_rule = {
            rule: rows.filter(violations[rule] & (game_ids == game_id)) for rule in violations
        }
        examples = {
            rule: f"{rule} ({_format_first_row_and_count(invalid, columns[rule])})"
            for rule, invalid in rows_by_rule.items()
            if invalid.height
        }
        message = f"a row breaks {contract_name}: {'; '.join(examples.values())}"
        errors[game_id] = RecordError("$", f"{contract_name}: {'; '.join(examples)}", message)
    return errors


def _format_first_row_and_count(rows: pl.DataFrame, columns: Sequence[str]) -> str:
    """Format the values of the first row, and the number of rows."""
    values = [
        f"{name} {_format_short_value(rows[name].item(0))}" for name in columns if name != GAME_ROW
    ]
    return f"{', '.join(values)} in {rows.height:,} row{'s' if rows.height > 1 else ''}"


def _format_short_value(value: object) -> str:
    """Format a value, truncated to `_MAX_VALUE_LENGTH` characters."""
    text = "null" if value is None else repr(value)
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[:_MAX_VALUE_LENGTH]}..."


def _game_rows(batch: Sequence[IdentifiedGame]) -> pl.DataFrame:
    """Build the rows of `games`."""
    games = [identified.game for identified in batch]
    columns: dict[str, Sequence[object]] = {
        "n_players": [len(game.seats) for game in games],
        "n_messages": [len(game.messages) for game in games],
    }
    identity_fields = [name for name in IdentifiedGame.__struct_fields__ if name != "game"]
    columns |= {name: list(map(attrgetter(name), batch)) for name in identity_fields}
    settings = _setting_columns(batch)
    copied_fields = [
        name for name in table_schema("games") if name not in columns and name not in settings
    ]
    columns |= {name: list(map(attrgetter(name), games)) for name in copied_fields}
    rows = _typed_frame("games", columns).hstack(settings)
    return rows.with_row_index(GAME_ROW).cast({GAME_ROW: pl.Int64})


def _setting_columns(batch: Sequence[IdentifiedGame]) -> pl.DataFrame:
    """Return the columns of `games` that depend only on the fixed conditions of the game.

    They are computed once for all games with equal conditions.
    """
    games = [identified.game for identified in batch]
    settings = [setting_with_id(game.game_type, game.setting) for game in games]
    # If a game cannot be repeated, no other game has its setting, which gets the game's id.
    settings = [
        setting
        if game_with_id.game.is_repeatable
        else setting._replace(setting_id=game_with_id.game_id)
        for setting, game_with_id in zip(settings, batch, strict=True)
    ]
    number_by_setting: dict[Setting, int] = {}
    row_numbers = [
        number_by_setting.setdefault(setting, len(number_by_setting)) for setting in settings
    ]
    example_games = dict(zip(row_numbers, games, strict=True)).values()
    columns: dict[str, Sequence[object]] = {
        name: list(map(attrgetter(name), number_by_setting)) for name in Setting._fields
    }
    columns |= {
        name: [game.setting_value_for_column(name) for game in example_games]
        for name in FIXED_SETTING_KEYS
    }
    return _typed_frame("games", columns)[row_numbers]


def _first_row_of_games_and_distinct_message_rows(
    columns_by_game: Sequence[MessageColumns],
) -> tuple[pl.Series, pl.DataFrame]:
    """Return the distinct rows of message columns, and the number of the first row of each game.

    Games of equal course share these rows.
    """
    number_by_columns: dict[MessageColumns, int] = {}
    row_numbers = [
        number_by_columns.setdefault(message_columns, len(number_by_columns))
        for message_columns in columns_by_game
    ]
    columns = {
        name: list(chain.from_iterable(map(attrgetter(name), number_by_columns)))
        for name in _MESSAGE_COLUMNS
    }
    visible_to = (
        pl.when(pl.col("msg_type").str.starts_with(QUESTION_MARK))
        .then(_EMPTY_STRING_LIST)
        .otherwise("visible_to")
    )
    sizes = pl.Series(
        [len(message_columns.player) for message_columns in number_by_columns], dtype=pl.Int64
    )
    first_rows = _first_row_numbers_of_groups(sizes).gather(row_numbers)
    return first_rows, _typed_frame("messages", columns).with_columns(visible_to=visible_to)


def _derive_vote_columns(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Add the target of each vote, and whether the vote is correct and valid."""
    rows = _add_players_named_in_text(rows, batch)
    rows = rows.with_columns(
        _logged_player_or_only_named_player("target"),
        _vote_parse_status("target"),
        stated_target=_STATED_PLAYER,
    )
    # If a vote is not logged and its text is undecided, its correctness is unknown.
    if_decided = pl.when(pl.col("is_logged") | _STATED_NAME.is_not_null())
    is_valid = pl.col("target_seat") != pl.col("seat")
    rows = batch.add_seat_and_is_sought(rows, "target").with_columns(
        is_correct=if_decided.then(pl.col("is_sought").fill_null(value=False)),
        is_valid=if_decided.then(is_valid.fill_null(value=False)),
    )
    return _invalidate_votes_for_eliminated_players(rows, batch)


def _invalidate_votes_for_eliminated_players(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    eliminations = batch.tables["eliminations"]
    if eliminations.is_empty():
        return rows
    first_round_out = pl.col("round") + (~pl.col("is_before_vote")).cast(pl.Int32)
    first_rounds = eliminations.select(
        GAME_ROW, target_seat="seat", first_round_without=first_round_out
    )
    rows = rows.join(first_rounds, on=[GAME_ROW, "target_seat"], how="left", maintain_order="left")
    is_out = (pl.col("first_round_without") <= pl.col("round")).fill_null(value=False)
    return rows.with_columns(is_valid=pl.col("is_valid") & ~is_out)


def _derive_proposal_vote_columns(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Add the player whose proposal each vote is for, and the parse status."""
    rows = _add_players_named_in_text(rows, batch)
    rows = rows.with_columns(
        _logged_player_or_only_named_player("candidate"), _vote_parse_status("candidate")
    )
    return batch.add_seat_and_is_sought(rows, "candidate")


def _add_players_named_in_text(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Add the list `stated` of the players that each vote's text names."""
    rows = rows.with_columns(
        batch.message_texts_without_thoughts(rows, Phase.VOTE),
        batch.seat_values_of_players(rows, "player"),
    )
    rows = _add_columns_per_distinct_row(
        rows, ["answer", "player"], stated=text_parsing.parse_numbered_players_in_votes
    )
    return (
        rows if batch.games_with_custom_names.is_empty() else _add_custom_names_in_text(rows, batch)
    )


def _add_columns_per_distinct_row(
    rows: pl.DataFrame,
    columns: list[str],
    **new_columns: pl.Expr | Callable[[pl.DataFrame], pl.Series],
) -> pl.DataFrame:
    """Add columns that depend only on some columns, computed once for equal values.

    This is faster because players repeat the same short votes and amounts.
    """
    distinct_rows = rows.select(columns).unique()
    computed_columns = {
        name: expression(distinct_rows) if callable(expression) else expression
        for name, expression in new_columns.items()
    }
    distinct_rows = distinct_rows.with_columns(**computed_columns)
    return rows.join(distinct_rows, on=columns, how="left", nulls_equal=True, maintain_order="left")


def _add_custom_names_in_text(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Replace `stated` in games whose players have names other than `Player N`."""
    rows = rows.with_row_index("row")
    rows_to_parse = rows.join(batch.games_with_custom_names, on=GAME_ROW, how="semi").rename(
        {"answer": "text"}
    )
    if rows_to_parse.is_empty():
        return rows
    seats = batch.seats.join(batch.games_with_custom_names, on=GAME_ROW, how="semi")
    stated_seats = rows_to_parse.select(
        "row",
        GAME_ROW,
        number=text_parsing.parse_seats_of_custom_names_in_votes(rows_to_parse, seats),
    )
    names = seats.select(GAME_ROW, pl.col("seat").cast(pl.String).alias("number"), name="player")
    # The seats of an ambiguous name have no player, but they count as stated names.
    stated_names = (
        stated_seats.explode("number", empty_as_null=True)
        .join(names, on=[GAME_ROW, "number"], how="left")
        .with_columns(pl.coalesce("name", "number").alias("name"))
        .group_by("row")
        .agg(named=pl.col("name").drop_nulls())
    )
    rows = rows.join(stated_names, on="row", how="left", maintain_order="left")
    return rows.with_columns(stated=pl.coalesce("named", "stated"))


def _logged_player_or_only_named_player(player_column: str) -> pl.Expr:
    """Return the player of a vote in the log, or else the only one that its text names."""
    return pl.when("is_logged").then(player_column).otherwise(_STATED_PLAYER).alias(player_column)


def _vote_parse_status(player_column: str) -> pl.Expr:
    """Return how clearly a vote's text names the logged player, or any player if none is logged."""
    registered = pl.col(player_column)
    is_text_missing = pl.col("answer").is_null() & registered.is_not_null()
    is_contradicted = pl.col("is_logged") & (registered.fill_null("") != _STATED_NAME)
    status = (
        pl.when(is_text_missing)
        .then(_OK)  # No text contradicts the log.
        .when(is_contradicted)
        .then(pl.lit(str(ParseStatus.AMBIGUOUS)))
        .otherwise(text_parsing.parse_status_by_value_count(pl.col("stated")))
    )
    return text_parsing.outage_else_parse_status(pl.col("answer"), status).alias("parse_status")


def _derive_action_columns(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Add the parse status, and the seat of each player that a column names."""
    rows = _add_parse_status_of_message(rows, batch)
    for player_column in [
        player_column for player_column in rows.columns if player_column in SEAT_COLUMNS
    ]:
        rows = batch.add_seat_and_is_sought(rows, player_column)
    return rows


def _add_parse_status_of_message(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Add the parse status of each row's message."""
    # An answer counts as logged, even if a strict parse of the text gives another result.
    return rows.with_columns(batch.parse_statuses_of_messages(rows).fill_null(str(ParseStatus.OK)))


def _derive_identification_columns(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Add the role that each player claims, and whether the claim is correct."""
    rows = _add_parse_status_of_message(rows, batch)
    rows_to_parse = rows.with_columns(
        batch.seat_values_of_players(rows, "player"),
        batch.seat_values_of_players(rows, "side"),
        batch.game_types_of_rows(rows),
    )
    parsed = judge_role_identifications_by_text(
        rows_to_parse, batch.messages_of_phase_without_thoughts(Phase.IDENTIFICATION)
    )
    return rows.with_columns(parsed["claimed_role"], parsed["is_correct_as_read"])


def _derive_analysis_rows(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Make a row for each kind of analysis, and add whether its text is correct."""
    rows = _add_parse_status_of_message(rows, batch).with_columns(
        kind=pl.lit(list(AnalysisKind), _STRING_LIST), is_correct=pl.concat_list(*AnalysisKind)
    )
    rows = rows.explode("kind", "is_correct").filter(pl.col("is_correct").is_not_null())
    rows_to_parse = rows.with_columns(
        batch.seat_values_of_players(rows, "player"),
        batch.game_types_of_rows(rows),
        batch.seat_values_of_players(rows, "side"),
    )
    parsed = judge_role_analyses_by_text(
        rows_to_parse, batch.messages_of_phase_without_thoughts(Phase.ANALYSIS), batch.seats
    )
    return rows.with_columns(parsed["is_own_view_stated"], parsed["is_correct_as_read"])


def _derive_decision_columns(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Add the parse status of each decision to cooperate or defect."""
    rows = rows.with_columns(
        batch.texts_of_messages(rows), batch.message_texts_without_thoughts(rows, Phase.DECISION)
    )
    answer = pl.col("answer")
    status = text_parsing.choice_parse_status(answer, pl.col("choice"))
    return rows.with_columns(
        parse_status=_ok_if_text_missing_else_status(
            "choice", text_parsing.outage_else_parse_status(answer, status)
        )
    )


def _derive_contribution_columns(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Add the amount that each contribution's text states, and the parse status."""
    answer = pl.col("answer")
    rows = rows.with_columns(
        batch.texts_of_messages(rows),
        batch.message_texts_without_thoughts(rows, Phase.CONTRIBUTION),
    )
    rows = rows.with_columns(
        speaker_text=readings.remove_amounts_not_contributed_by_speaker(rows["answer"])
    )
    written = pl.when(~text_parsing.is_outage_message(answer)).then(
        readings.extract_contributed_number_as_written(pl.col("speaker_text"))
    )
    rows = _add_columns_per_distinct_row(rows, ["answer", "speaker_text"], written=written)
    rows = _add_columns_per_distinct_row(
        rows, ["written"], stated_amount=readings.parse_written_number(pl.col("written"))
    )
    status = text_parsing.amount_parse_status(
        pl.col("amount"), pl.col("written"), pl.col("stated_amount")
    )
    return rows.with_columns(
        parse_status=_ok_if_text_missing_else_status(
            "amount", text_parsing.outage_else_parse_status(answer, status)
        )
    )


def _ok_if_text_missing_else_status(registered_column: str, status: pl.Expr) -> pl.Expr:
    """Return the status, or `ok` if the log registers a value and there is no text."""
    is_text_missing = pl.col("answer").is_null() & pl.col(registered_column).is_not_null()
    return pl.when(is_text_missing).then(_OK).otherwise(status)


def _derive_proposal_columns(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Add the proposed share and the parse status."""
    rows = rows.with_columns(
        batch.parse_statuses_of_messages(rows).alias("message_status"),
        numbers=text_parsing.extract_numbers_as_written(pl.col("share_text")),
    )
    rows = rows.with_columns(
        share=pl.when("is_logged")
        .then("share")
        .otherwise(text_parsing.parse_percent_share(pl.col("numbers")))
    )
    status = (
        pl.when(pl.col("message_status") == _OUTAGE)
        .then(_OUTAGE)
        .when("is_logged", pl.col("share").is_not_null())
        .then(_OK)
        .when("is_logged")
        .then(pl.lit(str(ParseStatus.UNREADABLE)))
        .otherwise(text_parsing.share_parse_status(pl.col("numbers"), pl.col("share")))
    )
    return rows.with_columns(parse_status=status)


def _derive_result_columns(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Add whether the tested player proposed the agreement, and its side and competition.

    The proposer is the seat that most votes of the final round name. If votes are tied, the
    earliest voter decides; votes that name no player do not count.
    """
    author = (
        batch.tables["proposal_votes"]
        .filter("is_final_round", pl.col("candidate_seat").is_not_null())
        .group_by(GAME_ROW, "candidate_seat", maintain_order=True)
        .len()
        .sort("len", descending=True, maintain_order=True)
        .unique(GAME_ROW, keep="first", maintain_order=True)
        .select(GAME_ROW, author="candidate_seat")
    )
    rows = rows.join(author, on=GAME_ROW, how="left", maintain_order="left")
    return _add_side_and_competition(
        rows.with_columns(
            batch.game_types_of_rows(rows),
            is_tested=True,
            round=pl.lit(None, pl.Int32),
            parse_status=_OK,
            proposed_agreement=pl.when("agreed").then(pl.col("author") == pl.col("seat")),
        )
    )


# The functions that derive the columns of an event table, if it is not `_derive_action_columns`.
_COLUMN_DERIVATIONS: dict[str, Callable[[pl.DataFrame, _Batch], pl.DataFrame]] = {
    "votes": _derive_vote_columns,
    "guesses": lambda rows, _: rows,
    "role_identifications": _derive_identification_columns,
    "role_analyses": _derive_analysis_rows,
    "decisions": _derive_decision_columns,
    "contributions": _derive_contribution_columns,
    "proposals": _derive_proposal_columns,
    "proposal_votes": _derive_proposal_vote_columns,
    "results": _derive_result_columns,
}


# The class of the events in each table. Eliminations come first because votes depend on them, and
# results come last because they depend on other tables.
_EVENT_CLASSES: dict[str, type[Struct]] = {
    "eliminations": ACTION_TABLES["eliminations"].event,
    **{name: table.event for name, table in (ACTION_TABLES | GAME_TYPE_TABLES).items()},
    "results": Result,
}


def _frame_from_structs(
    table: str, struct_class: type[Struct], structs: Iterable[Struct]
) -> pl.DataFrame:
    """Convert structs to a frame with one column per field, with the types of a table."""
    field_names = struct_class.__struct_fields__
    columns = list(zip(*map(astuple, structs), strict=True)) or [()] * len(field_names)
    return _typed_frame(table, dict(zip(field_names, columns, strict=True)))


def _typed_frame(table: str, columns: Mapping[str, Sequence[object]]) -> pl.DataFrame:
    """Build a frame with the column types of a table."""
    schema = {**table_schema(table), **_TEMPORARY_DTYPES}
    return pl.DataFrame(
        [_typed_series(name, values, schema[name]) for name, values in columns.items()]
    )


def _typed_series(name: str, values: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    """Build a Series; for lists of strings, a single string counts as a list of one."""
    if dtype != _STRING_LIST:
        return pl.Series(name, values, dtype=dtype)
    lists = [(value,) if isinstance(value, str) else value for value in values]
    texts = pl.Series(list(chain.from_iterable(lists)), dtype=pl.String)
    ends = pl.Series([0, *map(len, lists)], dtype=pl.Int64).cum_sum()
    # polars would build a Series for each list, and Arrow would import pandas if it is installed.
    return arrow.series_from_arrow(
        name, pa.LargeListArray.from_arrays(*map(arrow.to_arrow_array, (ends, texts)))
    )


# Cached, because most games have no rows in most tables.
@cache
def _empty_table_before_derivation(table: str) -> pl.DataFrame:
    """Return an empty frame with the columns that a table has before columns are derived."""
    return pl.DataFrame(schema={**table_schema(table), GAME_ROW: pl.Int64(), **_TEMPORARY_DTYPES})


def _first_row_numbers_of_groups(sizes: pl.Series) -> pl.Series:
    """Return the number of the first row of each group from the sizes of the groups."""
    return (sizes.cum_sum() - sizes).cast(pl.Int64)


def _group_number_of_each_member(groups: Sequence[Sized]) -> pl.Series:
    """Return the number of its group for each member of all groups, as the Series `game`."""
    sizes = np.fromiter(map(len, groups), np.int64, len(groups))
    group_numbers = np.repeat(np.arange(len(groups), dtype=np.int64), sizes)
    # To convert a numpy array, polars loads numpy.ma and Arrow loads pandas: 10 ms per worker.
    buffers = [None, pa.py_buffer(group_numbers)]
    return arrow.series_from_arrow(
        GAME_ROW, pa.Array.from_buffers(pa.int64(), len(group_numbers), buffers)
    )


class _SharedColumn(NamedTuple):
    """The distinct values of a column that many rows share.

    Attributes:
        values: The values, or for strings their indices in `texts`.
        texts: The distinct strings; None if the column has another type.
    """

    values: pl.Series
    texts: pa.Array | None

    def gather_rows(self, rows: pl.Series) -> pa.Array:
        """Return the values at row numbers; null numbers give null, or False for booleans."""
        gathered = self.values[rows]
        if self.texts is None:
            return arrow.to_arrow_array(
                gathered.fill_null(value=False) if gathered.dtype == pl.Boolean else gathered
            )
        texts = self.texts
        if len(rows) < len(self.values):  # Omit strings that no row has.
            gathered, texts = _encode_strings(arrow.series_from_arrow("", texts)[gathered])
        return pa.DictionaryArray.from_arrays(arrow.to_arrow_array(gathered), texts)


def _encode_strings(column: pl.Series) -> _SharedColumn:
    """Replace the strings of a column by indices of distinct strings; keep other types."""
    if column.dtype != pl.String:
        return _SharedColumn(column, None)
    encoded = arrow.to_arrow_array(column.cast(pl.Categorical(pl.Categories.random())))
    return _SharedColumn(arrow.series_from_arrow(column.name, encoded.indices), encoded.dictionary)


def _add_side_and_competition(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the side of each row's role, and the competition if the player is tested."""
    rows = rows.join(
        registered_roles(), on=["game_type", "role"], how="left", maintain_order="left"
    )
    return rows.with_columns(competition=pl.when(pl.col("is_tested")).then("competition"))
