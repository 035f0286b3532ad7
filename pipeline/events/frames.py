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
    contract_of_own_columns,
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

_OF_GAME = tuple(OfGame.columns())
_OF_PLAYER = tuple(name for name in PlayerRow.columns() if name not in _OF_GAME)
_OF_COURSE = tuple(f.name for f in fields(MessageColumns) if f.name in table_schema("messages"))
_PLAYER_ROW, _COURSE_ROW = "seated", "placed"
_SPOKEN = (GAME_ROW, "message_index", "round", "player", "content")
_TEXTS = pl.List(pl.String)
# Fields of events which are no columns of a table, though columns are derived from them.
_BEFORE_DERIVED = dict.fromkeys(("is_logged", *AnalysisKind), pl.Boolean())
_VALUE_LENGTH = 60
SEAT_OF_NOBODY = "the seat of an event is 1 to the number of players"
_NOBODY = pl.lit([], _TEXTS)
# The only player that a vote's text names; an empty text if it decides for nobody.
_STATED = text_parsing.only_element(pl.col("stated"))
_STATED_PLAYER = pl.when(_STATED != "").then(_STATED)
_OK = pl.lit(str(ParseStatus.OK))
_OUTAGE = pl.lit(str(ParseStatus.OUTAGE))


class IdentifiedGame(Struct, frozen=True, gc=False):
    """A game with its identity and its location."""

    game: GameRecord
    game_id: str
    game_index: int | None
    sha256: str
    content_id: str
    source: str
    path: str


class EventFrames(Struct):
    """The rows of all event tables as Arrow columns; values that rows share are dictionaries.

    `broken` are the games that have a row which breaks its contract, each with its fault.
    `read_votes` are, by game, the number of votes that only a text tells, and how many of these it
    does not decide.
    """

    tables: dict[str, pa.Table]
    invalid_games: dict[str, RecordError]
    read_votes: dict[str, tuple[int, int]] = {}

    def table(self, name: str) -> pl.DataFrame:
        """Return a table with the columns and types of its contract."""
        return pl.DataFrame(self.tables[name]).cast(pl.Schema(table_schema(name)))


def build_event_frames(batch: Sequence[IdentifiedGame]) -> EventFrames:
    """Build the rows of all event tables from games, in the order of the games."""
    rows = _Batch(batch)
    tables = {table: rows.complete_table(table) for table in GAME_TABLES}
    return EventFrames(tables, rows.games_with_broken_rows(), rows.read_votes())


class _Batch:
    """The games of a batch as frames; a table may be derived from tables before it.

    Beside columns of its contract a row has `game`, the number of its game in the batch, and
    `seated`, that of its player among all players, null where it has none; a message also `placed`,
    its number among the messages of all courses.
    """

    def __init__(self, batch: Sequence[IdentifiedGame]) -> None:
        self._whole: dict[str, pa.Table] = {}
        self._games = [identified.game for identified in batch]
        games = _game_rows(batch)
        self._of_game = {name: _dictionary_encode(games[name]) for name in _OF_GAME}
        self._game_types = games["game_type"]
        self._of_nobody: set[int] = set()  # games with an event of a seat that no player has
        self._n_players = games["n_players"]
        self._first_player = _first_indices(self._n_players)
        self._first_message = _first_indices(games["n_messages"])
        players = self._player_rows()
        self._of_player = {name: _dictionary_encode(players[name]) for name in _OF_PLAYER}
        self.seats = players.select(GAME_ROW, "player", "seat", "side", "is_sought")
        # The games whose seats are not all called `Player N`.
        self.named = players.filter(~IS_NUMBERED).select(GAME_ROW).unique()
        messages = self._message_rows()
        self._content, self._status = messages["content"], messages["parse_status"]
        self.tables = {"games": games, "players": players, "messages": messages}
        for table, kind in _EVENTS.items():
            # Its own field of a game, or a table of the game's kind.
            is_field = table in GameRecord.__struct_fields__
            of_games = [
                getattr(game, table) if is_field else game.events.get(table, ())
                for game in self._games
            ]
            self.tables[table] = self._event_rows(table, kind, of_games)

    def complete_table(self, table: str) -> pa.Table:
        """Return a table with all columns of its contract."""
        if self.tables[table].is_empty():
            return arrow.to_arrow_table(empty_table(table))
        if table not in self._whole:
            self._whole[table] = self._completed(table)
        return self._whole[table]

    def _completed(self, table: str) -> pa.Table:
        rows, schema = self.tables[table], table_schema(table)
        of_course = self._of_course if _COURSE_ROW in rows else {}
        own = [name for name in schema if name in rows and name not in of_course]
        own_rows = rows.select(pl.col(name).cast(schema[name]) for name in own)
        arrays = dict(zip(own, arrow.to_arrow_table(own_rows).columns, strict=True))
        # What a course tells comes first: its moderator has a name, and is no player.
        shared = {_COURSE_ROW: of_course, GAME_ROW: self._of_game, _PLAYER_ROW: self._of_player}
        for number, columns in shared.items():
            missing = [name for name in schema if name in columns and name not in arrays]
            if missing:
                of_row = rows[number].cast(pl.UInt32)  # else each column would do so
                arrays |= {name: columns[name].values_for_rows(of_row) for name in missing}
        return pa.table([arrays[name] for name in schema], names=list(schema))

    def games_with_broken_rows(self) -> dict[str, RecordError]:
        """Return the games with a row that breaks its contract, and the error of each."""
        games = self.tables["games"]["game_id"]
        of_nobody = RecordError("$", SEAT_OF_NOBODY, f"a row breaks {SEAT_OF_NOBODY}")
        broken = dict.fromkeys(games.gather(sorted(self._of_nobody)), of_nobody)
        for table in GAME_TABLES:
            if self.tables[table].is_empty():
                continue
            rows = self._own_columns(table)
            if rows.select(_satisfies_contract(table)).item():
                continue
            breaks = contracts.broken_rules(contract_of_own_columns(table), rows)
            if breaks:
                whose = games.gather(rows[GAME_ROW]) if GAME_ROW in rows else rows["game_id"]
                broken |= _errors_by_game(table, rows, whose, breaks)
        return broken

    def read_votes(self) -> dict[str, tuple[int, int]]:
        """Return, for each game, the votes parsed from text and the number of undecided texts."""
        read = self.tables["votes"].filter(~pl.col("is_logged"), pl.col("parse_status") != _OUTAGE)
        counts = read.group_by(GAME_ROW).agg(pl.len(), pl.col("is_correct").null_count())
        games = self.tables["games"]["game_id"].gather(counts[GAME_ROW])
        return dict(zip(games, counts.drop(GAME_ROW).iter_rows(), strict=True))

    def _own_columns(self, table: str) -> pl.DataFrame:
        """Return the columns that only the table's own contract defines."""
        columns = contract_of_own_columns(table).columns()
        rows = self.tables[table]
        if GAME_ROW not in columns:
            rows = pl.DataFrame(self.complete_table(table))
        return rows.select(pl.col(name).cast(column.dtype) for name, column in columns.items())

    def add_seat(self, rows: pl.DataFrame, name: str) -> pl.DataFrame:
        """Add `<name>_seat`, the seat of the player named in a column, and `is_sought`."""
        named = self.seats.drop("side").rename({"player": name, "seat": f"{name}_seat"})
        return rows.join(named, on=[GAME_ROW, name], how="left", maintain_order="left")

    def add_text(self, rows: pl.DataFrame) -> pl.Series:
        """Add `text`, the text of each row's message."""
        return self._content.gather(self._message(rows)).alias("text")

    def add_answer(self, rows: pl.DataFrame, phase: Phase) -> pl.Series:
        """Add `answer`, the answer in each row's message, parsed as a message of this phase."""
        return text_parsing.remove_thoughts_before_answers(self.add_text(rows), phase).alias(
            "answer"
        )

    def parse_status_of_message(self, rows: pl.DataFrame) -> pl.Series:
        """Return the parse status of each row's message, or null."""
        return self._status.gather(self._message(rows))

    def player_column(self, rows: pl.DataFrame, name: str) -> pl.Series:
        """Return a column of `seats` for each row's player."""
        return self.seats[name].gather(rows[_PLAYER_ROW])

    def add_game_type(self, rows: pl.DataFrame) -> pl.Series:
        """Add `game_type`, the type of each row's game."""
        return self._game_types.gather(rows[GAME_ROW]).alias("game_type")

    def messages_of_phase(self, phase: Phase) -> pl.DataFrame:
        """Return the messages of one phase of all games, with each answer as `content`."""
        messages = self.tables["messages"].select(*_SPOKEN, "phase")
        of_phase = messages.filter(phase=str(phase)).cast({"message_index": pl.Int32})
        return of_phase.with_columns(
            text_parsing.remove_thoughts_before_answers(of_phase["content"], phase)
        )

    def _message(self, rows: pl.DataFrame) -> pl.Series:
        index = rows["message_index"].cast(pl.Int64)
        return self._first_message.gather(rows[GAME_ROW]) + index

    def _event_rows(
        self, table: str, kind: type[Struct], of_games: Sequence[Sequence[Event]]
    ) -> pl.DataFrame:
        """Return the rows of an event table with all derived columns."""
        if not any(of_games):
            return _no_rows(table)
        rows = _typed_columns(table, kind, chain.from_iterable(of_games))
        placed = self._add_seats(rows.with_columns(_group_numbers(of_games)))
        return _DERIVED.get(table, _action_rows)(placed, self)

    def _player_rows(self) -> pl.DataFrame:
        of_games = [game.seats for game in self._games]
        rows = _typed_columns("players", Seat, chain.from_iterable(of_games))
        rows = rows.with_columns(_group_numbers(of_games))
        seat = pl.int_range(1, pl.len() + 1) - self._first_player.gather(rows[GAME_ROW])
        rank = pl.col("final_score").rank("min", descending=True).over(GAME_ROW)
        rows = rows.with_columns(self.add_game_type(rows), seat=seat, score_rank=rank)
        used = chain.from_iterable(
            game.usage or (Usage(),) * len(game.seats) for game in self._games
        )
        failures = [
            game.failures.get(number)
            for game in self._games
            for number in range(1, len(game.seats) + 1)
        ]
        failure = pl.Series("failure", failures, pl.String)
        return _add_role_columns(
            rows.with_columns(*_typed_columns("players", Usage, used), failure)
        )

    def _message_rows(self) -> pl.DataFrame:
        of_games = [game.messages for game in self._games]
        content = list(chain.from_iterable(map(attrgetter("content"), of_games)))
        rows = _cast_to_contract("messages", {"content": content}).with_columns(
            _group_numbers(of_games)
        )
        index = pl.int_range(pl.len()) - self._first_message.gather(rows[GAME_ROW])
        is_outage = text_parsing.is_outage(pl.col("content"))
        status = pl.when(is_outage).then(_OUTAGE).otherwise(_OK)
        rows = rows.with_columns(message_index=index, parse_status=status)
        first_of_course, courses = _course_rows([messages.course for messages in of_games])
        self._of_course = {name: _dictionary_encode(courses[name]) for name in _OF_COURSE}
        identified = first_of_course.gather(rows[GAME_ROW]) + rows["message_index"]
        rows = pl.concat([rows, courses[identified]], how="horizontal")
        return self._add_seats(rows.with_columns(identified.alias(_COURSE_ROW)))

    def _add_seats(self, rows: pl.DataFrame) -> pl.DataFrame:
        # Before the first seat and after the last are other games' players.
        last = self._n_players.gather(rows[GAME_ROW])
        seat = rows.select(pl.when(pl.col("seat").is_between(1, last)).then("seat")).to_series()
        if seat.null_count() != rows["seat"].null_count():
            self._of_nobody |= set(
                rows.filter(seat.is_null(), pl.col("seat").is_not_null())[GAME_ROW]
            )
        seated = self._first_player.gather(rows[GAME_ROW]) + seat.cast(pl.Int64) - 1
        return rows.with_columns(seated.alias(_PLAYER_ROW))


@cache
def _satisfies_contract(table: str) -> pl.Expr:
    return contracts.satisfies_contract(contract_of_own_columns(table))


def _errors_by_game(
    table: str, rows: pl.DataFrame, whose: pl.Series, breaks: Mapping[str, pl.Series]
) -> dict[str, RecordError]:
    """Return, for each game with invalid rows, the broken rules and a value that breaks each."""
    columns = contracts.columns_by_rule(contract_of_own_columns(table))
    contract = f"the contract of {table}"
    faults = {}
    is_invalid = pl.select(pl.any_horizontal(*breaks.values())).to_series()
    for game_id in whose.filter(is_invalid).unique():
        of_game = {rule: rows.filter(breaks[rule] & (whose == game_id)) for rule in breaks}
        examples = {
            rule: f"{rule} ({_example_values(invalid, columns[rule])})"
            for rule, invalid in of_game.items()
            if invalid.height
        }
        message = f"a row breaks {contract}: {'; '.join(examples.values())}"
        faults[game_id] = RecordError("$", f"{contract}: {'; '.join(examples)}", message)
    return faults


def _example_values(rows: pl.DataFrame, names: Sequence[str]) -> str:
    """Return the values of the first row, and the number of rows."""
    values = [f"{name} {_shorten(rows[name].item(0))}" for name in names if name != GAME_ROW]
    return f"{', '.join(values)} in {rows.height:,} row{'s' if rows.height > 1 else ''}"


def _shorten(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= _VALUE_LENGTH else f"{text[:_VALUE_LENGTH]}..."


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
    rows = _cast_to_contract("games", columns).hstack(settings)
    return rows.with_row_index(GAME_ROW).cast({GAME_ROW: pl.Int64})


def _setting_rows(batch: Sequence[IdentifiedGame]) -> pl.DataFrame:
    """Return the setting of each game; many games of a batch have the same setting."""
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
    return _cast_to_contract("games", columns)[number]


def _course_rows(courses: Sequence[MessageColumns]) -> tuple[pl.Series, pl.DataFrame]:
    """Return the rows of all distinct turn orders, and the first row of each given turn order."""
    numbers: dict[MessageColumns, int] = {}
    number = [numbers.setdefault(course, len(numbers)) for course in courses]
    columns = {
        name: list(chain.from_iterable(map(attrgetter(name), numbers))) for name in _OF_COURSE
    }
    is_question = pl.col("msg_type").str.starts_with(QUESTION_MARK)
    shown = pl.when(is_question).then(_NOBODY).otherwise("visible_to")
    sizes = pl.Series([len(course.player) for course in numbers], dtype=pl.Int64)
    first = _first_indices(sizes).gather(number)
    return first, _cast_to_contract("messages", columns).with_columns(visible_to=shown)


def _vote_rows(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = _add_stated_players(rows, batch)
    rows = rows.with_columns(
        _single_player("target"), _vote_status("target"), stated_target=_STATED_PLAYER
    )
    # Of a vote that nobody registered, and whose text does not decide, nothing is known.
    known = pl.when(pl.col("is_logged") | _STATED.is_not_null())
    is_valid = pl.col("target_seat") != pl.col("seat")
    rows = batch.add_seat(rows, "target").with_columns(
        is_correct=known.then(pl.col("is_sought").fill_null(value=False)),
        is_valid=known.then(is_valid.fill_null(value=False)),
    )
    return _invalidate_votes_for_eliminated(rows, batch)


def _invalidate_votes_for_eliminated(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Mark votes as invalid if their target was eliminated before."""
    eliminations = batch.tables["eliminations"]
    if eliminations.is_empty():
        return rows
    first_without = pl.col("round") + (~pl.col("is_before_vote")).cast(pl.Int32)
    out = eliminations.select(GAME_ROW, target_seat="seat", first_without=first_without)
    rows = rows.join(out, on=[GAME_ROW, "target_seat"], how="left", maintain_order="left")
    is_out = (pl.col("first_without") <= pl.col("round")).fill_null(value=False)
    return rows.with_columns(is_valid=pl.col("is_valid") & ~is_out)


def _proposal_vote_rows(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = _add_stated_players(rows, batch)
    rows = rows.with_columns(_single_player("candidate"), _vote_status("candidate"))
    return batch.add_seat(rows, "candidate")


def _add_stated_players(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Add `stated`, the players that the texts name."""
    rows = rows.with_columns(
        batch.add_answer(rows, Phase.VOTE), batch.player_column(rows, "player")
    )
    rows = _add_parsed_columns(rows, ["answer", "player"], stated=text_parsing.stated_players)
    return rows if batch.named.is_empty() else _resolve_seat_names(rows, batch)


def _add_parsed_columns(
    rows: pl.DataFrame, of: list[str], **read: pl.Expr | Callable[[pl.DataFrame], pl.Series]
) -> pl.DataFrame:
    """Add parsed columns; equal texts are parsed once.

    Votes and amounts are said in the same few words again and again.
    """
    alike = rows.select(of).unique()
    columns = {name: one(alike) if callable(one) else one for name, one in read.items()}
    alike = alike.with_columns(**columns)
    return rows.join(alike, on=of, how="left", nulls_equal=True, maintain_order="left")


def _resolve_seat_names(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Replace, in games whose seats have names, the stated players by those that the names mean."""
    rows = rows.with_row_index("row")
    asked = rows.join(batch.named, on=GAME_ROW, how="semi").rename({"answer": "text"})
    if asked.is_empty():
        return rows
    seats = batch.seats.join(batch.named, on=GAME_ROW, how="semi")
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


def _single_player(name: str) -> pl.Expr:
    return pl.when("is_logged").then(name).otherwise(_STATED_PLAYER).alias(name)


def _vote_status(name: str) -> pl.Expr:
    """Return how clearly the text states the registered target, or names one if none is logged."""
    registered = pl.col(name)
    is_lost = pl.col("answer").is_null() & registered.is_not_null()
    is_other = pl.col("is_logged") & (registered.fill_null("") != _STATED)
    status = (
        pl.when(is_lost)
        .then(_OK)  # no text contradicts the log
        .when(is_other)
        .then(pl.lit(str(ParseStatus.AMBIGUOUS)))
        .otherwise(text_parsing.match_status(pl.col("stated")))
    )
    return text_parsing.outage_or(pl.col("answer"), status).alias("parse_status")


def _action_rows(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Add the parse status, and the seats of the players that columns name."""
    rows = _answer_rows(rows, batch)
    for name in [name for name in rows.columns if name in SEAT_COLUMNS]:
        rows = batch.add_seat(rows, name)
    return rows


def _answer_rows(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    # An answer counts as the game logged it, also where a strict reading of the text differs.
    return rows.with_columns(batch.parse_status_of_message(rows).fill_null(str(ParseStatus.OK)))


def _identification_rows(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = _answer_rows(rows, batch)
    asked = rows.with_columns(
        batch.player_column(rows, "player"),
        batch.player_column(rows, "side"),
        batch.add_game_type(rows),
    )
    read = read_identifications(asked, batch.messages_of_phase(Phase.IDENTIFICATION))
    return rows.with_columns(read["claimed_role"], read["is_correct_as_read"])


def _analysis_rows(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = _answer_rows(rows, batch).with_columns(
        kind=pl.lit(list(AnalysisKind), _TEXTS), is_correct=pl.concat_list(*AnalysisKind)
    )
    rows = rows.explode("kind", "is_correct").filter(pl.col("is_correct").is_not_null())
    asked = rows.with_columns(
        batch.player_column(rows, "player"),
        batch.add_game_type(rows),
        batch.player_column(rows, "side"),
    )
    read = read_analyses(asked, batch.messages_of_phase(Phase.ANALYSIS), batch.seats)
    return rows.with_columns(read["is_own_view_stated"], read["is_correct_as_read"])


def _decision_rows(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = rows.with_columns(batch.add_text(rows), batch.add_answer(rows, Phase.DECISION))
    answer = pl.col("answer")
    status = text_parsing.choice_status(answer, pl.col("choice"))
    return rows.with_columns(
        parse_status=_status_unless_silent("choice", text_parsing.outage_or(answer, status))
    )


def _contribution_rows(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    answer = pl.col("answer")
    rows = rows.with_columns(batch.add_text(rows), batch.add_answer(rows, Phase.CONTRIBUTION))
    rows = rows.with_columns(own=readings.remove_contributions_of_others(rows["answer"]))
    written = pl.when(~text_parsing.is_outage(answer)).then(
        readings.find_written_amount(pl.col("own"))
    )
    rows = _add_parsed_columns(rows, ["answer", "own"], written=written)
    rows = _add_parsed_columns(
        rows, ["written"], stated_amount=readings.parse_amount(pl.col("written"))
    )
    status = text_parsing.amount_status(
        pl.col("amount"), pl.col("written"), pl.col("stated_amount")
    )
    return rows.with_columns(
        parse_status=_status_unless_silent("amount", text_parsing.outage_or(answer, status))
    )


def _status_unless_silent(registered: str, status: pl.Expr) -> pl.Expr:
    """Return the status of a text; a registered value without a text is not contradicted."""
    is_silent = pl.col("answer").is_null() & pl.col(registered).is_not_null()
    return pl.when(is_silent).then(_OK).otherwise(status)


def _proposal_rows(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    rows = rows.with_columns(
        batch.parse_status_of_message(rows).alias("spoken"),
        numbers=text_parsing.written_numbers(pl.col("share_text")),
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


def _result_rows(rows: pl.DataFrame, batch: _Batch) -> pl.DataFrame:
    """Add whether the tested seat proposed what was agreed.

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
    return _add_role_columns(
        rows.with_columns(
            batch.add_game_type(rows),
            is_tested=True,
            round=pl.lit(None, pl.Int32),
            parse_status=_OK,
            proposed_agreement=pl.when("agreed").then(pl.col("author") == pl.col("seat")),
        )
    )


# What is derived for all rows of an event table at once, and not by `_acts`.
_DERIVED: dict[str, Callable[[pl.DataFrame, _Batch], pl.DataFrame]] = {
    "votes": _vote_rows,
    "guesses": lambda rows, _: rows,
    "role_identifications": _identification_rows,
    "role_analyses": _analysis_rows,
    "decisions": _decision_rows,
    "contributions": _contribution_rows,
    "proposals": _proposal_rows,
    "proposal_votes": _proposal_vote_rows,
    "results": _result_rows,
}


# What the rows of each event table are made of: eliminations first, and results last, since others
# are derived from those, and these from others.
_EVENTS: dict[str, type[Struct]] = {
    "eliminations": ACTION_TABLES["eliminations"].event,
    **{name: table.event for name, table in (ACTION_TABLES | GAME_TYPE_TABLES).items()},
    "results": Result,
}


def _typed_columns(table: str, kind: type[Struct], rows: Iterable[Struct]) -> pl.DataFrame:
    """Return the fields of rows as columns with the types of the table's contract."""
    names = kind.__struct_fields__
    columns = list(zip(*map(astuple, rows), strict=True)) or [()] * len(names)
    return _cast_to_contract(table, dict(zip(names, columns, strict=True)))


def _cast_to_contract(table: str, columns: Mapping[str, Sequence[object]]) -> pl.DataFrame:
    schema = {**table_schema(table), **_BEFORE_DERIVED}
    return pl.DataFrame([_typed_series(n, values, schema[n]) for n, values in columns.items()])


def _typed_series(name: str, values: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    """Create a column; in a column of string lists, a string means a list of that string."""
    if dtype != _TEXTS:
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
def _no_rows(table: str) -> pl.DataFrame:
    return pl.DataFrame(schema={**table_schema(table), GAME_ROW: pl.Int64(), **_BEFORE_DERIVED})


def _first_indices(sizes: pl.Series) -> pl.Series:
    """Return the index of the first row of each group of consecutive rows."""
    return (sizes.cum_sum() - sizes).cast(pl.Int64)


def _group_numbers(groups: Sequence[Sized]) -> pl.Series:
    """Return the group number of each member of each group, as `game`."""
    sizes = np.fromiter(map(len, groups), np.int64, len(groups))
    numbers = np.repeat(np.arange(len(groups), dtype=np.int64), sizes)
    # Of an array of numpy's, polars loads numpy.ma first, and Arrow pandas: 10 ms in each worker.
    buffers = [None, pa.py_buffer(numbers)]
    return arrow.series_from_arrow(
        GAME_ROW, pa.Array.from_buffers(pa.int64(), len(numbers), buffers)
    )


class _RepeatedColumn(NamedTuple):
    """A column of values to repeat; strings are stored once, with their numbers."""

    values: pl.Series
    texts: pa.Array | None

    def values_for_rows(self, rows: pl.Series) -> pa.Array:
        """Return the values for the rows; null for the moderator, a team, or nobody."""
        taken = self.values[rows]
        if self.texts is None:
            return arrow.to_arrow_array(
                taken.fill_null(value=False) if taken.dtype == pl.Boolean else taken
            )
        texts = self.texts
        if len(rows) < len(self.values):  # what hardly any row needs is not to be written with them
            taken, texts = _dictionary_encode(arrow.series_from_arrow("", texts)[taken])
        return pa.DictionaryArray.from_arrays(arrow.to_arrow_array(taken), texts)


def _dictionary_encode(column: pl.Series) -> _RepeatedColumn:
    if column.dtype != pl.String:
        return _RepeatedColumn(column, None)
    encoded = arrow.to_arrow_array(column.cast(pl.Categorical(pl.Categories.random())))
    return _RepeatedColumn(
        arrow.series_from_arrow(column.name, encoded.indices), encoded.dictionary
    )


def _add_role_columns(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of each row's role: its side, and its competition if it is tested."""
    known = registered_roles()
    is_tested = pl.col("is_tested")
    rows = rows.join(known, on=["game_type", "role"], how="left", maintain_order="left")
    return rows.with_columns(competition=pl.when(is_tested).then("competition"))
