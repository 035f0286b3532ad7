"""Conversion of a game to an interchange document, which omits what `reading` can derive."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET, json
from msgspec.structs import asdict, replace

from pipeline.formats.interchange import document as parts
from pipeline.formats.interchange.document import (
    ACTS,
    GAME_TYPE_BY_OWN_TABLE,
    PLAYER_NAME_FIELDS,
    REGISTERED_FIELD,
    VERSION,
    Act,
    Document,
    End,
    Event,
)
from pipeline.formats.interchange.reading import (
    GameContext,
    default_phase_of_event,
    derive_omittable_fields,
    derive_results,
)
from pipeline.formats.record_builder import EVERYONE, MODERATOR, as_name_tuple
from pipeline.game_record import Event as Row, GameRecord, Usage
from pipeline.games import game_definition

_RowAndAct = tuple[Row, Act]


def encode_game(game: GameRecord, log_sha256: str | None = None) -> bytes:
    """Encode a game as the JSON text of an interchange document, on one line without a line break.

    Args:
        game: The game.
        log_sha256: The SHA-256 of the bytes of the log from which the game was read.
    """
    return json.encode(to_document(game, log_sha256))


def to_document(game: GameRecord, log_sha256: str | None = None) -> Document:
    """Convert a game to an interchange document.

    Args:
        game: The game.
        log_sha256: The SHA-256 of the bytes of the log from which the game was read.
    """
    events = _build_events(game)
    # In a game with sides the outcome says who won, so no seat states it.
    is_win_by_seat = {result.seat: result.is_win for result in game.results}
    has_sides = game_definition(game.game_type).has_sides
    wins = [None if has_sides else is_win_by_seat.get(n) for n in range(1, len(game.seats) + 1)]
    rounds = [event.round or 0 for event in events]
    rounds += [act.round for event in events for act in event.acts if act.round is not UNSET]
    is_derived = derive_results(game, wins) == game.results
    end = End(outcome=game.outcome, outcome_code=game.outcome_code, ended_by=game.ended_by)
    return Document(
        magic_interchange=VERSION,
        system=game.system,
        game_type=str(game.game_type),
        setting=dict(game.setting),
        is_repeatable=game.is_repeatable,
        is_finished=game.is_finished,
        end=None if end == End() else end,
        started_at=game.started_at,
        game_index=game.game_index,
        format_version=game.format_version,
        log_sha256=log_sha256,
        n_rounds=UNSET if game.n_rounds == max(rounds, default=0) else game.n_rounds,
        seats=[
            parts.Seat(
                player=seat.player,
                model=seat.model,
                role=str(seat.role),
                is_tested=UNSET if seat.is_tested == (not seat.is_bot) else seat.is_tested,
                is_bot=seat.is_bot,
                score=seat.final_score,
                is_win=is_win if is_derived else None,
                failure=game.failures.get(number),
                **asdict(usage),
            )
            for number, (seat, usage, is_win) in enumerate(
                zip(game.seats, game.usage or [Usage()] * len(wins), wins, strict=True), start=1
            )
        ],
        unseated=_names_in_actions_without_seat(game),
        events=events,
        results=UNSET
        if is_derived
        else [parts.Result(**asdict(result)) for result in game.results],
    )


def _names_in_actions_without_seat(game: GameRecord) -> tuple[str, ...]:
    """Return the names in actions, such as targets, that are not names of players."""
    values = [
        getattr(row, name)
        for table, names in PLAYER_NAME_FIELDS.items()
        for name in names
        for row in _table_rows(game, table)
    ]
    names = dict.fromkeys(name for value in values for name in as_name_tuple(value or ()))
    players = {seat.player for seat in game.seats}
    return tuple(name for name in names if name not in players)


def _build_events(game: GameRecord) -> list[Event]:
    """Build an event for each text with its actions, and for each action without a text."""
    acts_by_message, silent_acts_by_table = _actions_by_message_and_silent_actions_by_table(game)
    silent_events_by_table = {
        table: iter(
            [
                Event(actor=game.seats[row.seat - 1].player, round=row.round, acts=[act])
                for row, act in rows_and_acts
            ]
        )
        for table, rows_and_acts in silent_acts_by_table.items()
    }
    text_events = (
        _build_text_event(game, index, acts_by_message.get(index, []))
        for index in range(len(game.messages))
    )
    order = game.order or _iter_tables_of_events_in_default_order(game, silent_acts_by_table)
    return [
        next(text_events if table is None else silent_events_by_table[table]) for table in order
    ]


def _iter_tables_of_events_in_default_order(
    game: GameRecord, silent_acts_by_table: Mapping[str, Sequence[_RowAndAct]]
) -> Iterator[str | None]:
    """Yield None for each text, and the table of each action without one at its round's end."""
    rounds = game.messages.course.round
    end_index_by_round: dict[int, int] = {}
    tables_by_message_index = defaultdict(list)
    for table, rows_and_acts in silent_acts_by_table.items():
        for row, _ in rows_and_acts:
            if row.round not in end_index_by_round:
                later = (i for i, round_ in enumerate(rounds) if (round_ or 0) > row.round)
                end_index_by_round[row.round] = next(later, len(rounds))
            tables_by_message_index[end_index_by_round[row.round]].append(table)
    for index in range(len(rounds)):
        yield from (*tables_by_message_index[index], None)
    yield from tables_by_message_index[len(rounds)]


def _build_text_event(game: GameRecord, index: int, acts: list[_RowAndAct]) -> Event:
    columns = game.messages.course
    player = columns.player[index]
    event = Event(
        actor=None if player == MODERATOR else player,
        # msgspec omits a default only if the value is the same object.
        visible_to=EVERYONE if columns.visible_to[index] == EVERYONE else columns.visible_to[index],
        round=columns.round[index],
        turn=columns.turn[index],
        msg_type=columns.msg_type[index],
        text=game.messages.content[index],
        # An action states its player and its round only if they differ from those of its message.
        acts=[
            replace(
                act,
                player=UNSET if (actor := game.seats[row.seat - 1].player) == player else actor,
                round=UNSET if row.round == columns.round[index] else row.round,
            )
            for row, act in acts
        ],
    )
    if default_phase_of_event(event) != columns.phase[index]:
        event.phase = str(columns.phase[index])
    return event


def _actions_by_message_and_silent_actions_by_table(
    game: GameRecord,
) -> tuple[dict[int, list[_RowAndAct]], dict[str, list[_RowAndAct]]]:
    """Return the actions with a message, by its index, and the actions without one, by table."""
    context = GameContext({seat.player: n for n, seat in enumerate(game.seats, start=1)}, game.word)
    acts_by_message, silent_acts_by_table = (
        defaultdict[int, list[_RowAndAct]](list),
        defaultdict[str, list[_RowAndAct]](list),
    )
    for table in ACTS:
        rows = (
            _table_rows(game, table)
            if game.order
            else _sort_rows_by_message(_table_rows(game, table))
        )
        fields = list(map(asdict, rows))
        for row, act_fields in zip(
            rows, _iter_underivable_fields(table, fields, context), strict=True
        ):
            acts = (
                silent_acts_by_table[table]
                if row.message_index is None
                else acts_by_message[row.message_index]
            )
            acts.append((row, ACTS[table](**act_fields)))
    return acts_by_message, silent_acts_by_table


def _table_rows(game: GameRecord, table: str) -> list[Any]:
    return game.events.get(table, []) if table in GAME_TYPE_BY_OWN_TABLE else getattr(game, table)


def _sort_rows_by_message(rows: list[Row]) -> list[Row]:
    """Return rows in the order of their messages; rows without a message come last."""
    return sorted(rows, key=lambda row: (row.message_index is None, row.message_index or 0))


def _iter_underivable_fields(
    table: str, rows: list[dict[str, Any]], context: GameContext
) -> Iterator[dict[str, Any]]:
    """Yield for each row the fields that its action must state, as they cannot be derived."""
    for row, values in zip(rows, derive_omittable_fields(table, rows, context), strict=True):
        act_fields = {
            name: value for name, value in row.items() if name in ACTS[table].__struct_fields__
        }
        del act_fields["round"]
        if table in REGISTERED_FIELD and not row["is_logged"]:
            del act_fields[REGISTERED_FIELD[table]]
        yield {n: value for n, value in act_fields.items() if n not in values or values[n] != value}
