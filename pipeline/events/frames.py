"""Games made into the rows of the event tables, a batch at a time and column by column.

What all events of a game or of a seat share is written down once for each, and repeated only as
numbers; what texts say is read for all of a table's texts at once.
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
    OfGame,
    PlayerRow,
    contract_without_shared_columns,
    empty_table,
    registered_roles,
    table_schema,
)
from pipeline.events.readings import (
    IS_NUMBERED,
    Setting,
    read_analyses,
    read_identifications,
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

_GAME_COLUMNS = tuple(OfGame.columns())
_PLAYER_COLUMNS = tuple(name for name in PlayerRow.columns() if name not in _GAME_COLUMNS)
_MESSAGE_COLUMNS = tuple(
    f.name for f in fields(MessageColumns) if f.name in table_schema("messages")
)
_PLAYER_ROW, _MESSAGE_ROW = "seated", "placed"
_SPEECH_COLUMNS = (GAME_ROW, "message_index", "round", "player", "content")
_STRING_LIST = pl.List(pl.String)
# Fields of events which are no columns of a table, though columns are derived from them.
_TEMPORARY_DTYPES = dict.fromkeys(("is_logged", *AnalysisKind), pl.Boolean())
_MAX_VALUE_LENGTH = 60
SEAT_RULE = "the seat of an event is 1 to the number of players"
_EMPTY_STRING_LIST = pl.lit([], _STRING_LIST)
# The only player that a vote's text names; an empty text if it decides for nobody.
_STATED_NAME = text_parsing.single_element(pl.col("stated"))
_STATED_PLAYER = pl.when(_STATED_NAME != "").then(_STATED_NAME)
_OK = pl.lit(str(ParseStatus.OK))
_OUTAGE = pl.lit(str(ParseStatus.OUTAGE))


class IdentifiedGame(Struct, frozen=True, gc=False):
    """A game with its identity and the place that it was found in."""

    game: GameRecord
    game_id: str
    game_index: int | None
    sha256: str
    content_id: str
    source: str
    path: str


class EventFrames(Struct):
    """The rows of every event table as Arrow's columns, what rows share as dictionaries.

    `broken` are the games that have a row which breaks its contract, each with its fault.
    `read_votes` are, by game, the number of votes that only a text tells, and how many of these it
    does not decide.
    """

    tables: dict[str, pa.Table]
    invalid_games: dict[str, RecordError]
    read_votes: dict[str, tuple[int, int]] = {}

    def table(self, name: str) -> pl.DataFrame:
        """One of the tables, with the columns and types of its contract."""
        return pl.DataFrame(self.tables[name]).cast(pl.Schema(table_schema(name)))


def build_event_frames(batch: Sequence[IdentifiedGame]) -> EventFrames:
    """The rows of the games, in their order."""
    rows = _Batch(batch)
    tables = {table: rows.build_table(table) for table in GAME_TABLES}
    return EventFrames(tables, rows.validation_errors(), rows.count_parsed_votes())


class _Batch:
    """The games of a batch as `tables`; each may be derived from those before it.

    Beside columns of its contract a row has `game`, the number of its game in the batch, and
    `seated`, that of its player among all players, null where it has none; a message also `placed`,
    its number among the messages of all courses.
    """

    def __init__(self, batch: Sequence[IdentifiedGame]) -> None:
        self._built_tables: dict[str, pa.Table] = {}
        self._games = [identified.game for identified in batch]
        games = _game_rows(batch)
        self._game_columns = {name: _encode_strings(games[name]) for name in _GAME_COLUMNS}
        self._game_types = games["game_type"]
        self._games_with_invalid_seats: set[int] = (
            set()
        )  # games with an event of a seat that no player has
        self._n_players = games["n_players"]
        self._first_player = _first_row_numbers(self._n_players)
        self._first_message = _first_row_numbers(games["n_messages"])
        players = self._player_rows()
        self._player_columns = {name: _encode_strings(players[name]) for name in _PLAYER_COLUMNS}
        self.seats = players.select(GAME_ROW, "player", "seat", "side", "is_sought")
        # The games whose seats are not all called `Player N`.
        self.games_with_custom_names = players.filter(~IS_NUMBERED).select(GAME_ROW).unique()
        messages = self._message_rows()
        self._content, self._message_status = messages["content"], messages["parse_status"]
        self.tables = {"games": games, "players": players, "messages": messages}
        for table, kind in _EVENT_CLASSES.items():
            # Its own field of a game, or a table of the game's kind.
            is_field = table in GameRecord.__struct_fields__
            of_games = [
                getattr(game, table) if is_field else game.events.get(table, ())
                for game in self._games
            ]
            self.tables[table] = self._event_rows(table, kind, of_games)

    def build_table(self, table: str) -> pa.Table:
        """A table with all columns of its contract."""
        if self.tables[table].is_empty():
            return arrow.to_arrow_table(empty_table(table))
        if table not in self._built_tables:
            self._built_tables[table] = self._add_shared_columns(table)
        return self._built_tables[table]

    def _add_shared_columns(self, table: str) -> pa.Table:
        rows, schema = self.tables[table], table_schema(table)
        of_course = self._message_columns if _MESSAGE_ROW in rows else {}
        own = [name for name in schema if name in rows and name not in of_course]
        own_rows = rows.select(pl.col(name).cast(schema[name]) for name in own)
        arrays = dict(zip(own, arrow.to_arrow_table(own_rows).columns, strict=True))
        # What a course tells comes first: its moderator has a name, and is no player.
        shared = {
            _MESSAGE_ROW: of_course,
            GAME_ROW: self._game_columns,
            _PLAYER_ROW: self._player_columns,
        }
        for number, columns in shared.items():
            missing = [name for name in schema if name in columns and name not in arrays]
            if missing:
                of_row = rows[number].cast(pl.UInt32)  # else each column would do so
                arrays |= {name: columns[name].gather_rows(of_row) for name in missing}
        return pa.table([arrays[name] for name in schema], names=list(schema))

    def validation_errors(self) -> dict[str, RecordError]:
        """The games that have a row which breaks its contract, each with its fault."""
        games = self.tables["games"]["game_id"]
        of_nobody = RecordError("$", SEAT_RULE, f"a row breaks {SEAT_RULE}")
        broken = dict.fromkeys(games.gather(sorted(self._games_with_invalid_seats)), of_nobody)
        for table in GAME_TABLES:
            if self.tables[table].is_empty():
                continue
            rows = self._validated_columns(table)
            if rows.select(_is_table_valid(table)).item():
                continue
            breaks = contracts.broken_rules(contract_without_shared_columns(table), rows)
            if breaks:
                whose = games.gather(rows[GAME_ROW]) if GAME_ROW in rows else rows["game_id"]
                broken |= _record_errors(table, rows, whose, breaks)
        return broken

    def count_parsed_votes(self) -> dict[str, tuple[int, int]]:
        """By game that has any, the votes read from text, and how many it does not decide."""
        read = self.tables["votes"].filter(~pl.col("is_logged"), pl.col("parse_status") != _OUTAGE)
        counts = read.group_by(GAME_ROW).agg(pl.len(), pl.col("is_correct").null_count())
        games = self.tables["games"]["game_id"].gather(counts[GAME_ROW])
        return dict(zip(games, counts.drop(GAME_ROW).iter_rows(), strict=True))

    def _validated_columns(self, table: str) -> pl.DataFrame:
        """The columns that the table's own contract is about."""
        columns = contract_without_shared_columns(table).columns()
        rows = self.tables[table]
        if GAME_ROW not in columns:
            rows = pl.DataFrame(self.build_table(table))
        return rows.select(pl.col(name).cast(column.dtype) for name, column in columns.items())

    def add_seat(self, rows: pl.DataFrame, name: str) -> pl.DataFrame:
        """The rows with `<name>_seat` of the player of their game named there, and `is_sought`."""
        named = self.seats.drop("side").rename({"player": name, "seat": f"{name}_seat"})
        return rows.join(named, on=[GAME_ROW, name], how="left", maintain_order="left")

    def message_texts(self, rows: pl.DataFrame) -> pl.Series:
        """The text of each row's message, as `text`."""
        return self._content.gather(self._message_numbers(rows)).alias("text")

    def message_answers(self, rows: pl.DataFrame, phase: Phase) -> pl.Series:
        """The answer in the text of each row's message, as one of this phase, as `answer`."""
        return text_parsing.answers_without_thoughts(self.message_texts(rows), phase).alias(
            "answer"
        )

    def message_statuses(self, rows: pl.DataFrame) -> pl.Series:
        """The parse status of each row's message, null where there is none."""
        return self._message_status.gather(self._message_numbers(rows))

    def player_values(self, rows: pl.DataFrame, name: str) -> pl.Series:
        """A column of `seats` for each row's player."""
        return self.seats[name].gather(rows[_PLAYER_ROW])

    def game_type_column(self, rows: pl.DataFrame) -> pl.Series:
        """The type of each row's game, as `game_type`."""
        return self._game_types.gather(rows[GAME_ROW]).alias("game_type")

    def messages_of_phase(self, phase: Phase) -> pl.DataFrame:
        """The messages of one phase of all games, with the answer in each as its `content`."""
        messages = self.tables["messages"].select(*_SPEECH_COLUMNS, "phase")
        of_phase = messages.filter(phase=str(phase)).cast({"message_index": pl.Int32})
        return of_phase.with_columns(
            text_parsing.answers_without_thoughts(of_phase["content"], phase)
        )

    def _message_numbers(self, rows: pl.DataFrame) -> pl.Series:
        index = rows["message_index"].cast(pl.Int64)
        return self._first_message.gather(rows[GAME_ROW]) + index

    def _event_rows(
        self, table: str, kind: type[Struct], of_games: Sequence[Sequence[Event]]
    ) -> pl.DataFrame:
        """The rows of an event table, with all that is derived."""
        if not any(of_games):
            return _empty_rows(table)
        rows = _frame_from_structs(table, kind, chain.from_iterable(of_games))
        placed = self._add_player_numbers(rows.with_columns(_group_numbers(of_games)))
        return _DERIVED.get(table, _derive_actions)(placed, self)

    def _player_rows(self) -> pl.DataFrame:
        of_games = [game.seats for game in self._games]
        rows = _frame_from_structs("players", Seat, chain.from_iterable(of_games))
        rows = rows.with_columns(_group_numbers(of_games))
        seat = pl.int_range(1, pl.len() + 1) - self._first_player.gather(rows[GAME_ROW])
        rank = pl.col("final_score").rank("min", descending=True).over(GAME_ROW)
        rows = rows.with_columns(self.game_type_column(rows), seat=seat, score_rank=rank)
        used = chain.from_iterable(
            game.usage or (Usage(),) * len(game.seats) for game in self._games
        )
        failures = [
            game.failures.get(number)
            for game in self._games
            for number in range(1, len(game.seats) + 1)
        ]
        failure = pl.Series("failure", failures, pl.String)
        return _add_side_and_competition(
            rows.with_columns(*_frame_from_structs("players", Usage, used), failure)
        )

    def _message_rows(self) -> pl.DataFrame:
        of_games = [game.messages for game in self._games]
        content = list(chain.from_iterable(map(attrgetter("content"), of_games)))
        rows = _typed_frame("messages", {"content": content}).with_columns(_group_numbers(of_games))
        index = pl.int_range(pl.len()) - self._first_message.gather(rows[GAME_ROW])
        is_outage = text_parsing.is_outage(pl.col("content"))
        status = pl.when(is_outage).then(_OUTAGE).otherwise(_OK)
        rows = rows.with_columns(message_index=index, parse_status=status)
        first_of_course, courses = _distinct_message_rows(
            [messages.course for messages in of_games]
        )
        self._message_columns = {name: _encode_strings(courses[name]) for name in _MESSAGE_COLUMNS}
        identified = first_of_course.gather(rows[GAME_ROW]) + rows["message_index"]
        rows = pl.concat([rows, courses[identified]], how="horizontal")
        return self._add_player_numbers(rows.with_columns(identified.alias(_MESSAGE_ROW)))

    def _add_player_numbers(self, rows: pl.DataFrame) -> pl.DataFrame:
        # Before the first seat and after the last are other games' players.
        last = self._n_players.gather(rows[GAME_ROW])
        seat = rows.select(pl.when(pl.col("seat").is_between(1, last)).then("seat")).to_series()
        if seat.null_count() != rows["seat"].null_count():
            self._games_with_invalid_seats |= set(
                rows.filter(seat.is_null(), pl.col("seat").is_not_null())[GAME_ROW]
            )
        seated = self._first_player.gather(rows[GAME_ROW]) + seat.cast(pl.Int64) - 1
        return rows.with_columns(seated.alias(_PLAYER_ROW))


@cache
def _is_table_valid(table: str) -> pl.Expr:
    return contracts.are_kept(contract_without_shared_columns(table))


def _record_errors(
    table: str, rows: pl.DataFrame, whose: pl.Series, breaks: Mapping[str, pl.Series]
) -> dict[str, RecordError]:
    """By game that has rows which break rules: these rules, and a value that breaks each."""
    columns = contracts.columns_by_rule(contract_without_shared_columns(table))
    contract = f"the contract of {table}"
    faults = {}
    is_invalid = pl.select(pl.any_horizontal(*breaks.values())).to_series()
    for game_id in whose.filter(is_invalid).unique():
        of_game = {rule: rows.filter(breaks[rule] & (whose == game_id)) for rule in breaks}
        examples = {
            rule: f"{rule} ({_format_example(invalid, columns[rule])})"
            for rule, invalid in of_game.items()
            if invalid.height
        }
        message = f"a row breaks {contract}: {'; '.join(examples.values())}"
        faults[game_id] = RecordError("$", f"{contract}: {'; '.join(examples)}", message)
    return faults


def _format_example(rows: pl.DataFrame, names: Sequence[str]) -> str:
    """The values of the first row, and how many rows there are."""
    values = [
        f"{name} {_format_short_value(rows[name].item(0))}" for name in names if name != GAME_ROW
    ]
    return f"{', '.join(values)} in {rows.height:,} row{'s' if rows.height > 1 else ''}"


def _format_short_value(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[:_MAX_VALUE_LENGTH]}..."


def _game_rows(batch: Sequence[IdentifiedGame]) -> pl.DataFrame:
    games = [identified.game for identified in batch]
    columns: dict[str, Sequence[object]] = {
        "n_players": [len(game.seats) for game in games],
        "n_messages": [len(game.messages) for game in games],
    }
    own = [name for name in IdentifiedGame.__struct_fields__ if name != "game"]
    columns |= {name: list(map(attrgetter(name), batch)) for name in own}
    settings = _setting_rows(batch)
    unchanged = [n for n in table_schema("games") if n not in columns and n not in settings]
    columns |= {name: list(map(attrgetter(name), games)) for name in unchanged}
    rows = _typed_frame("games", columns).hstack(settings)
    return rows.with_row_index(GAME_ROW).cast({GAME_ROW: pl.Int64})


def _setting_rows(batch: Sequence[IdentifiedGame]) -> pl.DataFrame:
    """What the setting of each game fixes; games of one setting come by the hundred."""
    games = [identified.game for identified in batch]
    settings = [setting_with_id(game.game_type, game.setting) for game in games]
    # A game that nobody can repeat has a setting of its own, which has its id.
    settings = [
        setting if one.game.is_repeatable else setting._replace(setting_id=one.game_id)
        for setting, one in zip(settings, batch, strict=True)
    ]
    numbers: dict[Setting, int] = {}
    number = [numbers.setdefault(setting, len(numbers)) for setting in settings]
    one_of_each = dict(zip(number, games, strict=True)).values()
    columns: dict[str, Sequence[object]] = {
        name: list(map(attrgetter(name), numbers)) for name in Setting._fields
    }
    columns |= {
        name: [game.setting_value(name) for game in one_of_each] for name in FIXED_SETTING_KEYS
    }
    return _typed_frame("games", columns)[number]


def _distinct_message_rows(courses: Sequence[MessageColumns]) -> tuple[pl.Series, pl.DataFrame]:
    """The rows of all different courses, and for each one given the number of its first row."""
    numbers: dict[MessageColumns, int] = {}
    number = [numbers.setdefault(course, len(numbers)) for course in courses]
    columns = {
        name: list(chain.from_iterable(map(attrgetter(name), numbers))) for name in _MESSAGE_COLUMNS
    }
    is_question = pl.col("msg_type").str.starts_with(QUESTION_MARK)
    shown = pl.when(is_question).then(_EMPTY_STRING_LIST).otherwise("visible_to")
    sizes = pl.Series([len(course.player) for course in numbers], dtype=pl.Int64)
    first = _first_row_numbers(sizes).gather(number)
    return first, _typed_frame("messages", columns).with_columns(visible_to=shown)


def _derive_votes(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = _add_stated_players(rows, batch)
    rows = rows.with_columns(
        _registered_or_stated_player("target"), _vote_status("target"), stated_target=_STATED_PLAYER
    )
    # Of a vote that nobody registered, and whose text does not decide, nothing is known.
    known = pl.when(pl.col("is_logged") | _STATED_NAME.is_not_null())
    is_valid = pl.col("target_seat") != pl.col("seat")
    rows = batch.add_seat(rows, "target").with_columns(
        is_correct=known.then(pl.col("is_sought").fill_null(value=False)),
        is_valid=known.then(is_valid.fill_null(value=False)),
    )
    return _invalidate_votes_for_eliminated(rows, batch)


def _invalidate_votes_for_eliminated(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """The votes, none of them valid if its target was out of the game by then."""
    eliminations = batch.tables["eliminations"]
    if eliminations.is_empty():
        return rows
    first_without = pl.col("round") + (~pl.col("is_before_vote")).cast(pl.Int32)
    out = eliminations.select(GAME_ROW, target_seat="seat", first_without=first_without)
    rows = rows.join(out, on=[GAME_ROW, "target_seat"], how="left", maintain_order="left")
    is_out = (pl.col("first_without") <= pl.col("round")).fill_null(value=False)
    return rows.with_columns(is_valid=pl.col("is_valid") & ~is_out)


def _derive_proposal_votes(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = _add_stated_players(rows, batch)
    rows = rows.with_columns(_registered_or_stated_player("candidate"), _vote_status("candidate"))
    return batch.add_seat(rows, "candidate")


def _add_stated_players(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """The rows with the players that their texts name, as `stated`."""
    rows = rows.with_columns(
        batch.message_answers(rows, Phase.VOTE), batch.player_values(rows, "player")
    )
    rows = _add_columns_per_distinct_row(
        rows, ["answer", "player"], stated=text_parsing.stated_players
    )
    return (
        rows if batch.games_with_custom_names.is_empty() else _add_stated_custom_names(rows, batch)
    )


def _add_columns_per_distinct_row(
    rows: pl.DataFrame, of: list[str], **read: pl.Expr | Callable[[pl.DataFrame], pl.Series]
) -> pl.DataFrame:
    """The rows with what is read of some of their columns, once for those that are alike there.

    Votes and amounts are said in the same few words again and again.
    """
    alike = rows.select(of).unique()
    columns = {name: one(alike) if callable(one) else one for name, one in read.items()}
    alike = alike.with_columns(**columns)
    return rows.join(alike, on=of, how="left", nulls_equal=True, maintain_order="left")


def _add_stated_custom_names(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """The rows, those of games whose seats have names of their own with the names they state."""
    rows = rows.with_row_index("row")
    asked = rows.join(batch.games_with_custom_names, on=GAME_ROW, how="semi").rename(
        {"answer": "text"}
    )
    if asked.is_empty():
        return rows
    seats = batch.seats.join(batch.games_with_custom_names, on=GAME_ROW, how="semi")
    found = asked.select("row", GAME_ROW, number=text_parsing.stated_seats(asked, seats))
    names = seats.select(GAME_ROW, pl.col("seat").cast(pl.String).alias("number"), name="player")
    # Nobody has the seats of a name in doubt, but they count among the names that are stated.
    named = (
        found.explode("number", empty_as_null=True)
        .join(names, on=[GAME_ROW, "number"], how="left")
        .with_columns(pl.coalesce("name", "number").alias("name"))
        .group_by("row")
        .agg(named=pl.col("name").drop_nulls())
    )
    rows = rows.join(named, on="row", how="left", maintain_order="left")
    return rows.with_columns(stated=pl.coalesce("named", "stated"))


def _registered_or_stated_player(name: str) -> pl.Expr:
    return pl.when("is_logged").then(name).otherwise(_STATED_PLAYER).alias(name)


def _vote_status(name: str) -> pl.Expr:
    """How clearly the text says what was registered or, where nothing is logged, who is named."""
    registered = pl.col(name)
    is_lost = pl.col("answer").is_null() & registered.is_not_null()
    is_other = pl.col("is_logged") & (registered.fill_null("") != _STATED_NAME)
    status = (
        pl.when(is_lost)
        .then(_OK)  # no text contradicts the log
        .when(is_other)
        .then(pl.lit(str(ParseStatus.AMBIGUOUS)))
        .otherwise(text_parsing.status_by_count(pl.col("stated")))
    )
    return text_parsing.status_unless_outage(pl.col("answer"), status).alias("parse_status")


def _derive_actions(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """The rows with their status, and the seat of whoever a column names that has such a column."""
    rows = _add_message_status(rows, batch)
    for name in [name for name in rows.columns if name in SEAT_COLUMNS]:
        rows = batch.add_seat(rows, name)
    return rows


def _add_message_status(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    # An answer counts as the game logged it, also where a strict reading of the text differs.
    return rows.with_columns(batch.message_statuses(rows).fill_null(str(ParseStatus.OK)))


def _derive_identifications(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = _add_message_status(rows, batch)
    asked = rows.with_columns(
        batch.player_values(rows, "player"),
        batch.player_values(rows, "side"),
        batch.game_type_column(rows),
    )
    read = read_identifications(asked, batch.messages_of_phase(Phase.IDENTIFICATION))
    return rows.with_columns(read["claimed_role"], read["is_correct_as_read"])


def _derive_analyses(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = _add_message_status(rows, batch).with_columns(
        kind=pl.lit(list(AnalysisKind), _STRING_LIST), is_correct=pl.concat_list(*AnalysisKind)
    )
    rows = rows.explode("kind", "is_correct").filter(pl.col("is_correct").is_not_null())
    asked = rows.with_columns(
        batch.player_values(rows, "player"),
        batch.game_type_column(rows),
        batch.player_values(rows, "side"),
    )
    read = read_analyses(asked, batch.messages_of_phase(Phase.ANALYSIS), batch.seats)
    return rows.with_columns(read["is_own_view_stated"], read["is_correct_as_read"])


def _derive_decisions(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = rows.with_columns(batch.message_texts(rows), batch.message_answers(rows, Phase.DECISION))
    answer = pl.col("answer")
    status = text_parsing.choice_status(answer, pl.col("choice"))
    return rows.with_columns(
        parse_status=_status_unless_text_missing(
            "choice", text_parsing.status_unless_outage(answer, status)
        )
    )


def _derive_contributions(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    answer = pl.col("answer")
    rows = rows.with_columns(
        batch.message_texts(rows), batch.message_answers(rows, Phase.CONTRIBUTION)
    )
    rows = rows.with_columns(own=readings.remove_other_amounts(rows["answer"]))
    written = pl.when(~text_parsing.is_outage(answer)).then(
        readings.extract_written_amount(pl.col("own"))
    )
    rows = _add_columns_per_distinct_row(rows, ["answer", "own"], written=written)
    rows = _add_columns_per_distinct_row(
        rows, ["written"], stated_amount=readings.parse_amount(pl.col("written"))
    )
    status = text_parsing.amount_status(
        pl.col("amount"), pl.col("written"), pl.col("stated_amount")
    )
    return rows.with_columns(
        parse_status=_status_unless_text_missing(
            "amount", text_parsing.status_unless_outage(answer, status)
        )
    )


def _status_unless_text_missing(registered: str, status: pl.Expr) -> pl.Expr:
    """The status of what a text says; what was registered without one, nothing contradicts."""
    is_silent = pl.col("answer").is_null() & pl.col(registered).is_not_null()
    return pl.when(is_silent).then(_OK).otherwise(status)


def _derive_proposals(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = rows.with_columns(
        batch.message_statuses(rows).alias("spoken"),
        numbers=text_parsing.extract_numbers(pl.col("share_text")),
    )
    stated = text_parsing.parse_share(pl.col("numbers"))
    rows = rows.with_columns(share=pl.when("is_logged").then("share").otherwise(stated))
    status = (
        pl.when(pl.col("spoken") == _OUTAGE)
        .then(_OUTAGE)
        .when("is_logged", pl.col("share").is_not_null())
        .then(_OK)
        .when("is_logged")
        .then(pl.lit(str(ParseStatus.UNREADABLE)))
        .otherwise(text_parsing.share_status(pl.col("numbers"), pl.col("share")))
    )
    return rows.with_columns(parse_status=status)


def _derive_results(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Adds whether the tested seat is the author of what was agreed.

    That is the seat which most of the final round's voters named; a tie goes to the earliest
    voter's choice, votes that name no player are left out.
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
            batch.game_type_column(rows),
            is_tested=True,
            round=pl.lit(None, pl.Int32),
            parse_status=_OK,
            proposed_agreement=pl.when("agreed").then(pl.col("author") == pl.col("seat")),
        )
    )


# What is derived for all rows of an event table at once, and not by `_acts`.
_DERIVED: dict[str, Callable[[pl.DataFrame, _Batch], pl.DataFrame]] = {
    "votes": _derive_votes,
    "guesses": lambda rows, _: rows,
    "role_identifications": _derive_identifications,
    "role_analyses": _derive_analyses,
    "decisions": _derive_decisions,
    "contributions": _derive_contributions,
    "proposals": _derive_proposals,
    "proposal_votes": _derive_proposal_votes,
    "results": _derive_results,
}


# What the rows of each event table are made of: eliminations first, and results last, since others
# are derived from those, and these from others.
_EVENT_CLASSES: dict[str, type[Struct]] = {
    "eliminations": ACTION_TABLES["eliminations"].event,
    **{name: table.event for name, table in (ACTION_TABLES | GAME_TYPE_TABLES).items()},
    "results": Result,
}


def _frame_from_structs(table: str, kind: type[Struct], rows: Iterable[Struct]) -> pl.DataFrame:
    """The rows' own fields as columns, typed by the table's contract."""
    names = kind.__struct_fields__
    columns = list(zip(*map(astuple, rows), strict=True)) or [()] * len(names)
    return _typed_frame(table, dict(zip(names, columns, strict=True)))


def _typed_frame(table: str, columns: Mapping[str, Sequence[object]]) -> pl.DataFrame:
    schema = {**table_schema(table), **_TEMPORARY_DTYPES}
    return pl.DataFrame([_typed_series(n, values, schema[n]) for n, values in columns.items()])


def _typed_series(name: str, values: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    """A column; in one of lists of texts, a text stands for a list of itself."""
    if dtype != _STRING_LIST:
        return pl.Series(name, values, dtype=dtype)
    lists = [(value,) if isinstance(value, str) else value for value in values]
    texts = pl.Series(list(chain.from_iterable(lists)), dtype=pl.String)
    ends = pl.Series([0, *map(len, lists)], dtype=pl.Int64).cum_sum()
    # Of Python's lists polars makes a Series each, and Arrow imports pandas, where it is there.
    return arrow.series_from_arrow(
        name, pa.LargeListArray.from_arrays(*map(arrow.to_arrow_array, (ends, texts)))
    )


# Most games have rows in few tables, and a table without rows has nothing to derive.
@cache
def _empty_rows(table: str) -> pl.DataFrame:
    return pl.DataFrame(schema={**table_schema(table), GAME_ROW: pl.Int64(), **_TEMPORARY_DTYPES})


def _first_row_numbers(sizes: pl.Series) -> pl.Series:
    """The number of the first row of each group, where the groups' rows follow one another."""
    return (sizes.cum_sum() - sizes).cast(pl.Int64)


def _group_numbers(groups: Sequence[Sized]) -> pl.Series:
    """For each member of each group, the group's number, as `game`."""
    sizes = np.fromiter(map(len, groups), np.int64, len(groups))
    numbers = np.repeat(np.arange(len(groups), dtype=np.int64), sizes)
    # Of an array of numpy's, polars loads numpy.ma first, and Arrow pandas: 10 ms in each worker.
    buffers = [None, pa.py_buffer(numbers)]
    return arrow.series_from_arrow(
        GAME_ROW, pa.Array.from_buffers(pa.int64(), len(numbers), buffers)
    )


class _SharedColumn(NamedTuple):
    """A column to be repeated; of one of texts their numbers, and the texts without repetition."""

    values: pl.Series
    texts: pa.Array | None

    def gather_rows(self, rows: pl.Series) -> pa.Array:
        """The rows of the column; one of nobody's, the moderator's or a whole team's, is null."""
        taken = self.values[rows]
        if self.texts is None:
            return arrow.to_arrow_array(
                taken.fill_null(value=False) if taken.dtype == pl.Boolean else taken
            )
        texts = self.texts
        if len(rows) < len(self.values):  # what hardly any row needs is not to be written with them
            taken, texts = _encode_strings(arrow.series_from_arrow("", texts)[taken])
        return pa.DictionaryArray.from_arrays(arrow.to_arrow_array(taken), texts)


def _encode_strings(column: pl.Series) -> _SharedColumn:
    if column.dtype != pl.String:
        return _SharedColumn(column, None)
    encoded = arrow.to_arrow_array(column.cast(pl.Categorical(pl.Categories.random())))
    return _SharedColumn(arrow.series_from_arrow(column.name, encoded.indices), encoded.dictionary)


def _add_side_and_competition(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with what their role is in their game: its side, and the competition if tested."""
    known = registered_roles()
    is_tested = pl.col("is_tested")
    rows = rows.join(known, on=["game_type", "role"], how="left", maintain_order="left")
    return rows.with_columns(competition=pl.when(is_tested).then("competition"))
