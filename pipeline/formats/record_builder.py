"""Functions with which formats build the parts of a game record: messages, results, usage.

All formats use it; it depends on `pipeline.games` and `formats.sniffer`. A format whose logs state
the phase and round of each message needs only `build_messages` to store messages.
"""

import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import compress
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct, UnsetType
from msgspec.structs import astuple

from pipeline import games
from pipeline.formats.sniffer import invalid_document_error, not_json_error
from pipeline.game_record import (
    Contribution,
    GameRecord,
    MessageColumns,
    Messages,
    RecordError,
    Result,
    Seat,
    Usage,
)
from pipeline.games import Ending, GameDefinition
from pipeline.vocabulary import ParseStatus, Phase

# Messages: rows as ChatArena and MAgIC write them become typed messages.

MODERATOR = "Moderator"
EVERYONE = "all"
# The values of `visible_to` in rows that everybody, or only the moderator, sees.
PUBLIC = (EVERYONE, (EVERYONE,))
TO_MODERATOR = (MODERATOR, (MODERATOR,))

T = TypeVar("T")
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Row(Struct, gc=False):
    """One logged message. The timestamp is not read, because it is that of the writing process."""

    agent_name: str
    content: str
    turn: Int64 | None = None
    visible_to: str | tuple[str, ...] = EVERYONE
    msg_type: str | None = None


class LoggedColumns(NamedTuple):
    """The logged rows of a game, by column.

    With an empty `content`, one instance can be shared by many games.

    Attributes:
        player: Who speaks.
        content: The texts.
        turn: The turn numbers of the log.
        visible_to: The player or players who see the message.
        msg_type: The message types of the log.
    """

    player: tuple[str, ...]
    content: tuple[str, ...]
    turn: tuple[int | None, ...]
    visible_to: tuple[str | tuple[str, ...], ...]
    msg_type: tuple[str | None, ...]


class Timeline(NamedTuple):
    """The phase and round of each logged row, by column.

    Attributes:
        phase: The phases.
        round: The rounds from 1; None for messages outside any round.
    """

    phase: list[str]
    round: list[int | None]


# The phase that each of the moderator's texts begins, in order; None if it begins none.
PromptedPhases = tuple[Phase | None, ...]
TimelineBuilder = Callable[[LoggedColumns, PromptedPhases], Timeline]


def to_history(rows: Sequence[Row]) -> LoggedColumns:
    """Convert logged rows to columns; the fields of `Row` and `History` are in the same order.

    Args:
        rows: The logged rows.
    """
    return (
        LoggedColumns(*zip(*map(astuple, rows), strict=True))
        if rows
        else LoggedColumns((), (), (), (), ())
    )


def messages_from_rows(
    logged: LoggedColumns,
    seats: Iterable[str],
    timing: TimelineBuilder,
    prompts: Mapping[str, Phase] = {},
) -> Messages:
    """Build the messages of a game from logged rows.

    Args:
        logged: The logged rows, by column.
        seats: The players in the order of their seats.
        timing: The function that returns the phase and round of each row.
        prompts: The phase that each phrase in a moderator's text begins. If a text contains several
            phrases, the first one in this mapping decides.

    Returns:
        The messages with phase, round and seat.
    """
    texts = compress(logged.content, map(MODERATOR.__eq__, logged.player)) if prompts else ()
    prompted = tuple(
        next((phase for words, phase in prompts.items() if words in text), None) for text in texts
    )
    without_texts = logged._replace(content=())
    return Messages(
        _cached_message_columns(timing, without_texts, prompted, tuple(seats)), logged.content
    )


# The benchmark's 1,430 public games have only 67 different sets of columns without texts.
@lru_cache(1_000)
def _cached_message_columns(
    timing: TimelineBuilder, logged: LoggedColumns, prompted: PromptedPhases, seats: tuple[str, ...]
) -> MessageColumns:
    """Return the message columns, with private thoughts in the round that has been reached."""
    heard_rows = [
        not thought for thought in map(is_private_thought, logged.player, logged.visible_to)
    ]
    if all(heard_rows):
        return build_message_columns(logged, timing(logged, prompted), seats)
    heard = LoggedColumns._make(tuple(compress(column, heard_rows)) for column in logged)
    phases_and_rounds = zip(*timing(heard, prompted), strict=True)
    timeline, round_ = Timeline([], []), None
    for is_heard in heard_rows:
        phase, row_round = next(phases_and_rounds) if is_heard else (Phase.REFLECTION, round_)
        round_ = row_round or round_
        timeline.phase.append(phase)
        timeline.round.append(row_round)
    return build_message_columns(logged, timeline, seats)


def is_private_thought(player: str, visible_to: str | tuple[str, ...]) -> bool:
    """Return whether nobody sees a message, so that it is neither an action nor a turn in the game.

    Args:
        player: Who writes the message.
        visible_to: The player or players who see it; empty names are nobody.
    """
    # The first reader is checked separately, because this function runs for each message.
    is_heard = visible_to and (visible_to[0] or any(visible_to))
    return not is_heard and player != MODERATOR


def build_message_columns(
    logged: LoggedColumns, timeline: Timeline, seats: Iterable[str]
) -> MessageColumns:
    """Build message columns from logged rows and their phases and rounds, with the speakers' seats.

    Args:
        logged: The logged rows, by column.
        timeline: The phase and round of each row.
        seats: The players in the order of their seats.
    """
    phases, rounds = timeline
    numbers = {player: number for number, player in enumerate(seats, start=1)}
    spoken: defaultdict[str, list[int]] = defaultdict(list)
    answers: defaultdict[str, defaultdict[str, list[int]]]
    answers = defaultdict(partial(defaultdict, list))
    for index, (player, phase) in enumerate(zip(logged.player, phases, strict=True)):
        if player == MODERATOR:
            continue
        if player in numbers:
            spoken[phase].append(index)
        answers[phase][player].append(index)
    return MessageColumns(
        player=logged.player,
        seat=tuple(map(numbers.get, logged.player)),
        round=tuple(rounds),
        phase=tuple(phases),
        turn=logged.turn,
        visible_to=logged.visible_to,
        msg_type=logged.msg_type,
        spoken=spoken,
        answers=answers,
    )


@lru_cache(10_000)
def call_cached(function: Callable[..., T], *arguments: Hashable) -> T:
    """Return the cached result of a function for values that many games share.

    Args:
        function: The function, whose result must never be changed.
        *arguments: Its hashable arguments.
    """
    return function(*arguments)


def clear_cache() -> None:
    """Empty the caches of this module, so that they never outgrow one batch of documents."""
    _cached_message_columns.cache_clear()
    call_cached.cache_clear()


# Players: checks of their names, and how values of a log are matched with them.

ModelName = Annotated[str, Meta(min_length=1)]
_NUMBERED = re.compile(r"Player ([1-9][0-9]{0,8})")

MAX_PLAYERS = 1_000
MAX_NAME_LENGTH = 1_000
RESERVED_NAMES = frozenset({MODERATOR, EVERYONE})
# Whitespace, invisible characters, and punctuation that answers put around a name.
_IGNORED_AROUND_NAMES = re.compile(
    r"""[\s_\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]+|^[\s"'“”‘’`*(<\[「]+|[\s"'“”‘’`*)>\]」.。,!]+$"""
)
_HYPHENS = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"))
# What programs write for an answer that names nobody.
_WORDS_FOR_NOBODY = frozenset(
    (
        *("", "null", "none", "nil", "nan", "undefined", "n/a", "-", "-1", "nobody", "no one"),
        *("no_one", "noone", "abstain", "abstained", "skip", "pass", "no vote", "no_vote"),
        *("no lynch", "no_lynch", "no_elimination", "弃权", "棄權", "棄権", "기권"),
    )
)


@lru_cache
def player_number(name: str) -> int | None:
    """Return N for a player named `Player N`, and None for any other name.

    Args:
        name: The name of the player.
    """
    match = _NUMBERED.fullmatch(name)
    return int(match[1]) if match else None


def check_number_of_players(n_players: int, json_path: str, most: int = MAX_PLAYERS) -> None:
    """Check that a game has at most `most` players.

    Args:
        n_players: The number of players.
        json_path: The JSON path of the players in the document.
        most: The maximum.

    Raises:
        InvalidDocumentError: If there are more.
    """
    if n_players > most:
        raise invalid_document_error(
            json_path, f"a game has at most {most:,} players", f"{n_players:,} players"
        )


def check_players(players: Collection[str], json_path: str, most: int = MAX_PLAYERS) -> None:
    """Check the number of players, and that each has a unique and valid name.

    The number is limited because the rows of a game grow with the players, some with their square.

    Args:
        players: The names of the players.
        json_path: The JSON path of the players in the document.
        most: The maximum number of players.

    Raises:
        InvalidDocumentError: If there are too many players, or a name is repeated, reserved or too
            long.
    """
    check_number_of_players(len(players), json_path, most)
    _check_unique_player_names(players, json_path)
    if RESERVED_NAMES.isdisjoint(players) and max(map(len, players), default=0) <= MAX_NAME_LENGTH:
        return
    invalid_name = next(
        name for name in players if name in RESERVED_NAMES or len(name) > MAX_NAME_LENGTH
    )
    reserved_names = f", which is not {' or '.join(map(repr, sorted(RESERVED_NAMES)))}"
    rule = f"every player has a name of at most {MAX_NAME_LENGTH:,} characters{reserved_names}"
    raise invalid_document_error(json_path, rule, repr(invalid_name[:50]))


def check_unique_keys(part: Raw | bytes | UnsetType, json_path: str) -> None:
    """Check that a JSON object has no key twice, because decoders keep only the last value.

    Args:
        part: The undecoded object; a missing one is an error.
        json_path: The JSON path of the object.

    Raises:
        InvalidDocumentError: If a key is repeated or the object is not JSON.
    """
    object_json = b"" if isinstance(part, UnsetType) else bytes(part)
    try:
        pairs = json.loads(object_json, object_pairs_hook=list, parse_int=str)
    except (ValueError, RecursionError) as error:  # msgspec does not check the values that it skips
        raise not_json_error(error, object_json, json_path) from error
    _check_unique_player_names([name for name, _ in pairs], json_path)


def _check_unique_player_names(names: Collection[str], json_path: str) -> None:
    if len(set(names)) < len(names):
        repeated_name = next(name for name, n in Counter(names).items() if n > 1)
        raise invalid_document_error(
            json_path, "no two players have the same name", repr(repeated_name[:50])
        )


def sort_by_player_number(players: dict[str, T]) -> dict[str, T]:
    """Return a mapping of players in the order of their seats.

    Args:
        players: Values by player. Players named `Player N` are sorted by number, because the order
            of keys in JSON has no meaning. With other names the order stays.
    """
    numbers = {name: player_number(name) for name in players}
    if None in numbers.values():
        return players
    return {name: players[name] for name in sorted(players, key=lambda name: numbers[name] or 0)}


def means_nobody(name: object) -> bool:
    """Return whether a logged value in the place of a player's name means that there is no player.

    Args:
        name: The logged value.
    """
    is_name = isinstance(name, str | int) and not isinstance(name, bool)
    return name is None or (is_name and str(name).strip().lower() in _WORDS_FOR_NOBODY)


def find_player(value: object, players_by_name: Mapping[Any, str]) -> str | None:
    """Return the player that a logged value names; None if it names no player.

    Args:
        value: The logged value.
        players_by_name: The player for each name or number that a log may use.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    exact_match = players_by_name.get(value)
    return (
        _find_only_player_with_similar_name(value, players_by_name)
        if exact_match is None and isinstance(value, str)
        else exact_match
    )


def _find_only_player_with_similar_name(
    value: str, players_by_name: Mapping[Any, str]
) -> str | None:
    """Return the only player with an equal normalized name; None if there is none or several."""
    normalized_value = _normalize_player_name(value)
    players = {
        player
        for name, player in players_by_name.items()
        if _normalize_player_name(str(name)) == normalized_value
    }
    return players.pop() if normalized_value and len(players) == 1 else None


@lru_cache(4_096)
def _normalize_player_name(name: str) -> str:
    """Return a name without differences of case, hyphens, whitespace and surrounding marks."""
    return _IGNORED_AROUND_NAMES.sub(
        "", unicodedata.normalize("NFKC", name).translate(_HYPHENS)
    ).casefold()


def find_target(
    value: object, players_by_name: Mapping[Any, str], json_path: str, faults: list[RecordError]
) -> str | None:
    """Return the player at whom an action is aimed; None for nobody.

    Args:
        value: The logged target.
        players_by_name: The player for each name or number that a log may use.
        json_path: The JSON path of the target.
        faults: The list to which a fault is added if the value means neither a player nor nobody.
    """
    player = find_player(value, players_by_name)
    if player is None and not means_nobody(value):
        faults.append(
            RecordError(json_path, "an act is aimed at a player, or at nobody", repr(value)[:50])
        )
    return player


def unseated_speaker_faults(
    course: MessageColumns, json_path: str = "$.history", places: Sequence[int] | None = None
) -> list[RecordError]:
    """Return one fault for each player who speaks without a seat, at the player's first message.

    The message is stored, but not what the player does in it.

    Args:
        course: The messages of the game, by column.
        json_path: The JSON path of the list of messages.
        places: The index of each message in that list, if the list has other entries too.
    """
    if course.seat.count(None) == course.player.count(MODERATOR):
        return []
    first_message_by_player: dict[str, int] = {}
    for index, (player, seat) in enumerate(zip(course.player, course.seat, strict=True)):
        if seat is None and player != MODERATOR:
            first_message_by_player.setdefault(player, index)
    rule = "every player who speaks has a seat"
    places = range(len(course.player)) if places is None else places
    return [
        RecordError(f"{json_path}[{places[i]}]", rule, repr(player))
        for player, i in first_message_by_player.items()
    ]


def unknown_audience_faults(
    audiences: Sequence[str | tuple[str, ...]], seat_names: Collection[str], json_path: str
) -> list[RecordError]:
    """Return one fault for each name in a text's audience that no seat has, at the first such text.

    Args:
        audiences: The readers of each text.
        seat_names: The names of the seats.
        json_path: The JSON path of the list of texts.
    """
    names = {name for readers in set(audiences) for name in as_name_tuple(readers)}
    rule = f"a text is shown to players who have seats, or to {' or '.join(sorted(RESERVED_NAMES))}"
    faults = []
    for name in sorted(names.difference(seat_names, RESERVED_NAMES, {""})):
        first_text = next(
            n for n, readers in enumerate(audiences) if name in as_name_tuple(readers)
        )
        faults.append(RecordError(f"{json_path}[{first_text}].visible_to", rule, repr(name)))
    return faults


def as_name_tuple(named: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return one name or several names as a tuple.

    Args:
        named: The name or names.
    """
    return (named,) if isinstance(named, str) else named


def faults_if_no_player_is_tested(game: GameRecord) -> list[RecordError]:
    """Return a fault if no player of the game is tested, because no metric counts such a game.

    Args:
        game: The game.
    """
    if any(seat.is_tested for seat in game.seats):
        return []
    rule = "at least one player is tested"
    return [
        RecordError(
            "$", rule, f"none of {len(game.seats)} players is tested, so no metric counts the game"
        )
    ]


def joined_opponent_models(seats: Iterable[Seat]) -> str | None:
    """Return the models of the seats that are not tested; None if all seats are tested.

    Args:
        seats: The seats of a game.

    Returns:
        The models, sorted and joined with ", ". A seat without a model is "?".
    """
    models = {seat.model or "?" for seat in seats if not seat.is_tested}
    return ", ".join(sorted(models)) or None


def assign_models(players: Collection[str], models_text: str | None) -> dict[str, str | None]:
    """Return the model of each player of a log that names no models.

    Args:
        players: The players of the log.
        models_text: The model of all players, or a JSON object with a model for each player, as
            named at ingest; None if unknown.

    Returns:
        The model by player, in the order of `players`.

    Raises:
        InvalidDocumentError: If the JSON object lacks a player.
    """
    try:
        is_object = models_text is not None and models_text.startswith("{")
        model_by_player = (
            msgspec.json.decode(models_text or "", type=dict[str, str]) if is_object else None
        )
    except (
        msgspec.DecodeError,
        RecursionError,
        UnicodeError,
    ):  # the name of a model that begins with a brace
        model_by_player = None
    if model_by_player is None:
        return dict.fromkeys(players, models_text)
    if players_without_model := [player for player in players if player not in model_by_player]:
        rule = "the log or --models-from names each player's model"
        raise invalid_document_error(
            "$", rule, f"nothing names that of {', '.join(players_without_model)[:200]}"
        )
    return {player: model_by_player[player] for player in players}


# A constant, because the lookup of an enum's member is slow and is needed for each message.
_PRIVATE_THOUGHT_PHASE = Phase.REFLECTION
USAGE_FIELDS = Usage.__struct_fields__


class LoggedMessage(Struct, frozen=True, gc=False):
    """One message of a log with its phase and round, for `build_messages`.

    Attributes:
        player: Who speaks; `MODERATOR` for the moderator.
        content: The text.
        phase: The phase of the game.
        round: The round from 1; None for the moderator.
        visible_to: The player or players who see the message.
        turn: The turn number of the log.
        msg_type: The message type of the log.
    """

    player: str
    content: str
    phase: str
    round: int | None = None
    visible_to: str | tuple[str, ...] = EVERYONE
    turn: int | None = None
    msg_type: str | None = None


def build_messages(logged_messages: Iterable[LoggedMessage], seats: Iterable[Seat]) -> Messages:
    """Build the messages of a game in the given order; events refer to a message by its index.

    Args:
        logged_messages: The messages with their phases and rounds.
        seats: The seats of the game.
    """
    rows = list(logged_messages)
    logged = LoggedColumns(
        player=tuple([row.player for row in rows]),
        content=tuple([row.content for row in rows]),
        turn=tuple([row.turn for row in rows]),
        visible_to=tuple([row.visible_to for row in rows]),
        msg_type=tuple([row.msg_type for row in rows]),
    )
    phases = [
        _PRIVATE_THOUGHT_PHASE if is_private_thought(row.player, row.visible_to) else row.phase
        for row in rows
    ]
    timeline = Timeline(phases, [row.round for row in rows])
    players = [seat.player for seat in seats]
    return Messages(build_message_columns(logged, timeline, players), logged.content)


# One contribution: seat, round, amount and the index of the message that states it, or None if no
# message does. It is a plain tuple, because games of this kind contain little else.
ContributedAmount: TypeAlias = tuple[int, int, float | None, int | None]


def build_contributions(game: GameRecord, amounts: Sequence[float | None]) -> list[Contribution]:
    """Build the contributions of a game from amounts read from its contribution messages.

    Args:
        game: The game with its messages.
        amounts: The amount in each contribution message, in order; None if it is unknown.

    Returns:
        One row per message, with the smallest amount and the total of its round.
    """
    course = game.messages.course
    indices = course.message_indices(Phase.CONTRIBUTION)
    contributed_amounts = [
        (course.seat[index] or 0, course.round[index] or 1, amount, index)
        for index, amount in zip(indices, amounts, strict=True)
    ]
    return add_round_totals(contributed_amounts, len(game.seats))


def add_round_totals(
    contributed_amounts: Sequence[ContributedAmount], n_seats: int
) -> list[Contribution]:
    """Build contributions with the total of their round and whether each is the round's smallest.

    Args:
        contributed_amounts: Seat, round, amount and message index of each contribution.
        n_seats: The number of seats. A round with fewer known amounts has no minimum and no total.
    """
    amounts_by_round: defaultdict[int, list[float]] = defaultdict(list)
    for _, round_, amount, _ in contributed_amounts:
        if amount is not None:
            amounts_by_round[round_].append(amount)
    minimum_and_total_by_round = {
        round_: (min(amounts), sum(amounts))
        for round_, amounts in amounts_by_round.items()
        if len(amounts) == n_seats
    }
    rows, unknown = [], (None, None)
    for seat, round_, amount, index in contributed_amounts:
        minimum, total = minimum_and_total_by_round.get(round_, unknown)
        is_least = None if minimum is None else amount == minimum
        rows.append(Contribution(seat, round_, index, amount, is_least, total))
    return rows


def results_by_model_and_role(
    game: GameRecord, kind: GameDefinition, guess_is_correct: bool | None = None
) -> list[Result]:
    """Return the results of a game with sides: one for each tested model and role.

    Args:
        game: The game with its seats, messages and outcome.
        kind: The definition of the game.
        guess_is_correct: Whether the guess of the game was right; None if there was none.
    """
    sides, opponents = call_cached(_tested_models_with_roles_and_opponents, tuple(game.seats))
    # `is_win` is None if no game of this type ends with the outcome.
    ending = kind.ending(game.outcome if game.is_finished else None) or Ending("")
    message_index = _last_message_index(game)
    return [
        Result(
            model=model,
            role=role,
            seat=seat,
            message_index=message_index,
            opponent=opponents,
            is_win=ending.is_win(side := kind.side(role)),
            win_credit=ending.credit(side),
            guess_is_correct=guess_is_correct,
            outcome_code=game.outcome_code,
        )
        for model, role, seat in sides
    ]


def results_if_game_has_sides(game: GameRecord) -> list[Result]:
    """Return the results of a game whose format states none; empty if its type has no sides.

    Args:
        game: The game with its seats, messages and outcome.
    """
    definition = games.game_definition(game.game_type)
    if not definition.has_sides:
        return []
    # An outage in place of the guess is no guess, even if the game counted it as one.
    are_correct = [
        None if guess.parse_status is ParseStatus.OUTAGE else guess.is_correct
        for guess in game.guesses
    ]
    return results_by_model_and_role(
        game, definition, are_correct[0] if len(are_correct) == 1 else None
    )


def _tested_models_with_roles_and_opponents(
    seats: tuple[Seat, ...],
) -> tuple[list[tuple[str | None, str, int | None]], str | None]:
    """Return the tested models and roles, with the seat if only one has them; and the opponents."""
    seat_numbers_by_side: dict[tuple[str | None, str], list[int]] = {}
    for number, seat in enumerate(seats, start=1):
        if seat.is_tested:
            seat_numbers_by_side.setdefault((seat.model, seat.role), []).append(number)
    sides = [
        (model, role, numbers[0] if len(numbers) == 1 else None)
        for (model, role), numbers in seat_numbers_by_side.items()
    ]
    return sides, joined_opponent_models(seats)


def results_of_tested_seats(game: GameRecord, is_win: Mapping[int, bool | None]) -> list[Result]:
    """Return the results of tested seats in a game in which each player plays alone.

    Args:
        game: The game with its seats and messages.
        is_win: Whether each tested seat won, by seat number; None if the game is unfinished.
    """
    message_index, opponents = _last_message_index(game), joined_opponent_models(game.seats)
    return [
        Result(
            model=(seat := game.seats[number - 1]).model,
            role=seat.role,
            seat=number,
            message_index=message_index,
            opponent=opponents,
            is_win=won,
            win_credit=None if won is None else float(won),
        )
        for number, won in is_win.items()
    ]


def has_highest_score(scores: Sequence[float | None]) -> list[bool | None]:
    """Return for each score whether it is the highest; all None if a score is unknown.

    Args:
        scores: The final score of each seat. Tied highest scores are all highest.
    """
    known_scores = [score for score in scores if score is not None]
    if len(known_scores) < len(scores):
        return [None] * len(scores)
    highest = max(known_scores, default=0)
    # Scores that differ only by rounding errors are equal, as in audit/scores.sql.
    return [highest - score < 1e-6 for score in known_scores]


def _last_message_index(game: GameRecord) -> int | None:
    """Return the index of the last message; None if the game has no messages."""
    return len(game.messages) - 1 if game.messages.content else None


def parse_usage(
    part: Struct, keys: Mapping[str, str], json_path: str, faults: list[RecordError]
) -> Usage:
    """Return the usage of model calls that a part of a log states.

    An invalid value becomes None and a fault, because nothing else in the game depends on it.

    Args:
        part: The part of the log.
        keys: The field of `part` for each field of `Usage`.
        json_path: The JSON path of the part.
        faults: The list to which faults are added.
    """
    amounts = {
        name: parse_amount(
            getattr(part, key), f"{json_path}.{key}", faults, is_whole=name.endswith("_tokens")
        )
        for name, key in keys.items()
    }
    return Usage(**amounts)


def parse_amount(
    value: Any, json_path: str, faults: list[RecordError], *, is_whole: bool = False
) -> Any:
    """Return a logged amount of tokens, seconds or cost; None, and a fault, for an invalid value.

    Args:
        value: The logged value.
        json_path: The JSON path of the value.
        faults: The list to which a fault is added.
        is_whole: Whether the amount must be an integer.
    """
    if value is None:
        return None
    # Larger amounts than a trillion are impossible, and their sums would overflow the column.
    if type(value) in (int, float) and 0 <= value <= 10**12 and not (is_whole and value % 1):
        return int(value) if is_whole else float(value)
    rule = f"what is used is {'a whole' if is_whole else 'a'} number from 0 to a trillion"
    faults.append(RecordError(json_path, rule, repr(value)[:50]))
    return None


def sum_usages(calls: Iterable[Usage]) -> Usage:
    """Return the summed usage of several calls; a field that any call lacks is None.

    Args:
        calls: The usage of each call. Without calls all fields are None.
    """
    columns: Sequence[tuple[Any, ...]] = list(zip(*map(astuple, calls), strict=True))
    return Usage(*(None if None in column else sum(column) for column in columns))
