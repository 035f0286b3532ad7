"""Functions with which log formats build the parts of a game record: messages, results, usage.

A format whose logs state the phase and round of each message builds the messages with
`build_messages`. The other formats use `messages_from_rows`.
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

# Messages: the message rows of ChatArena and MAgIC logs are converted to typed messages.

MODERATOR = "Moderator"
EVERYONE = "all"
# The values of `visible_to` in rows that everybody, or only the moderator, sees.
PUBLIC = (EVERYONE, (EVERYONE,))
TO_MODERATOR = (MODERATOR, (MODERATOR,))

T = TypeVar("T")
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Row(Struct, gc=False):
    """One logged message. Its timestamp is not read: it is the time of writing the log."""

    agent_name: str
    content: str
    turn: Int64 | None = None
    visible_to: str | tuple[str, ...] = EVERYONE
    msg_type: str | None = None


class LoggedColumns(NamedTuple):
    """The logged messages of a game, by column.

    Games whose messages differ only in their texts share one instance, with an empty `content`.

    Attributes:
        player: The speakers.
        content: The texts.
        turn: The turn numbers of the log.
        visible_to: The player or players who see each message.
        msg_type: The message types of the log.
    """

    player: tuple[str, ...]
    content: tuple[str, ...]
    turn: tuple[int | None, ...]
    visible_to: tuple[str | tuple[str, ...], ...]
    msg_type: tuple[str | None, ...]


class Timeline(NamedTuple):
    """The phase and round of each logged message, by column.

    Attributes:
        phase: The phases.
        round: The rounds, from 1; None for a message outside any round.
    """

    phase: list[str]
    round: list[int | None]


# The phase that each text of the moderator begins, in order; None if it begins no phase.
PromptedPhases = tuple[Phase | None, ...]
TimelineBuilder = Callable[[LoggedColumns, PromptedPhases], Timeline]


def rows_to_columns(rows: Sequence[Row]) -> LoggedColumns:
    """Convert logged messages from rows to columns.

    Args:
        rows: The logged messages.
    """
    # The fields of both classes are in the same order.
    return (
        LoggedColumns(*zip(*map(astuple, rows), strict=True))
        if rows
        else LoggedColumns((), (), (), (), ())
    )


def build_messages_from_columns(
    logged_columns: LoggedColumns,
    players: Iterable[str],
    build_timeline: TimelineBuilder,
    phase_by_prompt: Mapping[str, Phase] = {},
) -> Messages:
    """Build the messages of a game from logged messages that state no phase and no round.

    Args:
        logged_columns: The logged messages, by column.
        players: The players in the order of their seats.
        build_timeline: The function that determines the phase and round of each message.
        phase_by_prompt: The phase that begins when the moderator's text contains a phrase. If a
            text contains several phrases, the first one in this mapping decides.

    Returns:
        The messages with phase, round and seat.
    """
    texts = (
        compress(logged_columns.content, map(MODERATOR.__eq__, logged_columns.player))
        if phase_by_prompt
        else ()
    )
    prompted_phases = tuple(
        next((phase for prompt, phase in phase_by_prompt.items() if prompt in text), None)
        for text in texts
    )
    columns_without_texts = logged_columns._replace(content=())
    return Messages(
        _build_message_columns_cached(
            build_timeline, columns_without_texts, prompted_phases, tuple(players)
        ),
        logged_columns.content,
    )


# The benchmark's 1,430 public games have only 67 different sets of columns without texts.
@lru_cache(1_000)
def _build_message_columns_cached(
    build_timeline: TimelineBuilder,
    logged_columns: LoggedColumns,
    prompted_phases: PromptedPhases,
    players: tuple[str, ...],
) -> MessageColumns:
    """Build message columns; a private thought gets the round of the message before it."""
    heard_rows = [
        not is_thought
        for is_thought in map(is_private_thought, logged_columns.player, logged_columns.visible_to)
    ]
    if all(heard_rows):
        timeline = build_timeline(logged_columns, prompted_phases)
        return build_message_columns(logged_columns, timeline, players)
    heard_columns = LoggedColumns._make(
        tuple(compress(column, heard_rows)) for column in logged_columns
    )
    phases_and_rounds = zip(*build_timeline(heard_columns, prompted_phases), strict=True)
    timeline, round_ = Timeline([], []), None
    for is_heard in heard_rows:
        phase, row_round = next(phases_and_rounds) if is_heard else (Phase.REFLECTION, round_)
        round_ = row_round or round_
        timeline.phase.append(phase)
        timeline.round.append(row_round)
    return build_message_columns(logged_columns, timeline, players)


def is_private_thought(player: str, visible_to: str | tuple[str, ...]) -> bool:
    """Return whether no player and no moderator sees a message, so that it is a private thought.

    Args:
        player: The player who writes the message.
        visible_to: The player or players who see it; an empty name is nobody.
    """
    # The first reader is checked separately, because this function runs for each message.
    is_heard = visible_to and (visible_to[0] or any(visible_to))
    return not is_heard and player != MODERATOR


def build_message_columns(
    logged_columns: LoggedColumns, timeline: Timeline, players: Iterable[str]
) -> MessageColumns:
    """Build message columns from logged messages and their timeline, with the speakers' seats.

    Args:
        logged_columns: The logged messages, by column.
        timeline: The phase and round of each message.
        players: The players in the order of their seats.
    """
    phases, rounds = timeline
    seat_by_player = {player: number for number, player in enumerate(players, start=1)}
    spoken: defaultdict[str, list[int]] = defaultdict(list)
    answers: defaultdict[str, defaultdict[str, list[int]]]
    answers = defaultdict(partial(defaultdict, list))
    for index, (player, phase) in enumerate(zip(logged_columns.player, phases, strict=True)):
        if player == MODERATOR:
            continue
        if player in seat_by_player:
            spoken[phase].append(index)
        answers[phase][player].append(index)
    return MessageColumns(
        player=logged_columns.player,
        seat=tuple(map(seat_by_player.get, logged_columns.player)),
        round=tuple(rounds),
        phase=tuple(phases),
        turn=logged_columns.turn,
        visible_to=logged_columns.visible_to,
        msg_type=logged_columns.msg_type,
        spoken=spoken,
        answers=answers,
    )


@lru_cache(10_000)
def call_cached(function: Callable[..., T], *arguments: Hashable) -> T:
    """Return the cached result of a function, or call the function and cache its result.

    Args:
        function: The function. Its results are shared by many games, so they must not be changed.
        *arguments: Its hashable arguments.
    """
    return function(*arguments)


def clear_cache() -> None:
    """Empty the caches of this module; an ingest does this after each batch of documents."""
    _build_message_columns_cached.cache_clear()
    call_cached.cache_clear()


# Players: checks of their names, and the lookup of the player that a logged value names.

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
# Words that programs log if an answer names nobody.
_WORDS_FOR_NOBODY = frozenset(
    (
        *("", "null", "none", "nil", "nan", "undefined", "n/a", "-", "-1", "nobody", "no one"),
        *("no_one", "noone", "abstain", "abstained", "skip", "pass", "no vote", "no_vote"),
        *("no lynch", "no_lynch", "no_elimination", "弃权", "棄權", "棄権", "기권"),
    )
)


@lru_cache
def number_in_player_name(name: str) -> int | None:
    """Return the number N in a name of the form `Player N`; None for any other name.

    Args:
        name: The name of the player.
    """
    match = _NUMBERED.fullmatch(name)
    return int(match[1]) if match else None


def check_player_count(n_players: int, json_path: str, max_players: int = MAX_PLAYERS) -> None:
    """Check that a game has at most `max_players` players.

    Args:
        n_players: The number of players.
        json_path: The JSON path of the players in the document.
        max_players: The maximum number of players.

    Raises:
        InvalidDocumentError: If there are more players.
    """
    if n_players > max_players:
        raise invalid_document_error(
            json_path, f"a game has at most {max_players:,} players", f"{n_players:,} players"
        )


def check_players(players: Collection[str], json_path: str, max_players: int = MAX_PLAYERS) -> None:
    """Check that there are not too many players, and that each name is unique and valid.

    The number of players is limited, because some tables have a row for each pair of players.

    Args:
        players: The names of the players.
        json_path: The JSON path of the players in the document.
        max_players: The maximum number of players.

    Raises:
        InvalidDocumentError: If there are too many players, or a name is repeated, reserved or too
            long.
    """
    check_player_count(len(players), json_path, max_players)
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
    """Check that the keys of an undecoded JSON object, which are player names, are unique.

    A decoder would keep only the last value of a repeated key.

    Args:
        part: The JSON text of the object. If it is missing, it is invalid.
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


def sort_by_player_number(value_by_player: dict[str, T]) -> dict[str, T]:
    """Sort values by the number N of their player if all players are named `Player N`.

    The order of keys in a JSON object has no meaning, so it is used only for other names.

    Args:
        value_by_player: The value of each player.
    """
    numbers = {name: number_in_player_name(name) for name in value_by_player}
    if None in numbers.values():
        return value_by_player
    names = sorted(value_by_player, key=lambda name: numbers[name] or 0)
    return {name: value_by_player[name] for name in names}


def is_word_for_nobody(name: object) -> bool:
    """Return whether a value logged as a player's name means nobody, such as null or "none".

    Args:
        name: The logged value.
    """
    is_name = isinstance(name, str | int) and not isinstance(name, bool)
    return name is None or (is_name and str(name).strip().lower() in _WORDS_FOR_NOBODY)


def find_player(value: object, players_by_name: Mapping[Any, str]) -> str | None:
    """Return the player that a logged value names; None if it names no player.

    A name may differ from the player's name in case, spaces, hyphens and quotes.

    Args:
        value: The logged value.
        players_by_name: The player for each name or number that the log may use.
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
    normalized_value = _normalize_player_name(value)
    players = {
        player
        for name, player in players_by_name.items()
        if _normalize_player_name(str(name)) == normalized_value
    }
    return players.pop() if normalized_value and len(players) == 1 else None


@lru_cache(4_096)
def _normalize_player_name(name: str) -> str:
    """Return a name in lower case, with plain hyphens, without spaces and surrounding quotes."""
    return _IGNORED_AROUND_NAMES.sub(
        "", unicodedata.normalize("NFKC", name).translate(_HYPHENS)
    ).casefold()


def find_target_or_add_fault(
    value: object, players_by_name: Mapping[Any, str], json_path: str, faults: list[RecordError]
) -> str | None:
    """Return the player that an action's logged target names; add an error if it is unknown.

    Args:
        value: The logged target. The result is None for nobody or an unknown name.
        players_by_name: The player for each name or number that the log may use.
        json_path: The JSON path of the target.
        faults: The list to which a validation error is added if the name is unknown.
    """
    player = find_player(value, players_by_name)
    if player is None and not is_word_for_nobody(value):
        faults.append(
            RecordError(json_path, "an act is aimed at a player, or at nobody", repr(value)[:50])
        )
    return player


def unseated_speaker_faults(
    message_columns: MessageColumns,
    json_path: str = "$.history",
    list_indices: Sequence[int] | None = None,
) -> list[RecordError]:
    """Return a validation error for each speaker without a seat, at the speaker's first message.

    The messages of such a speaker are stored, but no actions are read from them.

    Args:
        message_columns: The messages of the game, by column.
        json_path: The JSON path of the list that contains the messages.
        list_indices: The index of each message in that list, if not all entries are messages.
    """
    if message_columns.seat.count(None) == message_columns.player.count(MODERATOR):
        return []
    first_message_by_player: dict[str, int] = {}
    players_and_seats = zip(message_columns.player, message_columns.seat, strict=True)
    for index, (player, seat) in enumerate(players_and_seats):
        if seat is None and player != MODERATOR:
            first_message_by_player.setdefault(player, index)
    rule = "every player who speaks has a seat"
    indices = list_indices or range(len(message_columns.player))
    return [
        RecordError(f"{json_path}[{indices[i]}]", rule, repr(player))
        for player, i in first_message_by_player.items()
    ]


def unknown_audience_faults(
    audiences: Sequence[str | tuple[str, ...]], seat_names: Collection[str], json_path: str
) -> list[RecordError]:
    """Return a validation error for each name to which a text is shown and that no seat has.

    The error is at the first text that is shown to this name.

    Args:
        audiences: The name or names to which each text is shown.
        seat_names: The names of the players who have seats.
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


def as_name_tuple(names: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return a tuple of names unchanged, and a single name as a tuple of one name.

    Args:
        names: The name or names.
    """
    return (names,) if isinstance(names, str) else names


def faults_if_no_player_is_tested(game: GameRecord) -> list[RecordError]:
    """Return a list with a validation error if no player of the game is tested; else empty.

    Metrics count only tested players.

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
    """Return the models of all untested seats, joined with ", "; None if all seats are tested.

    Args:
        seats: The seats of a game.

    Returns:
        The sorted models as one string, in which "?" is a seat whose model is unknown.
    """
    models = {seat.model or "?" for seat in seats if not seat.is_tested}
    return ", ".join(sorted(models)) or None


def assign_models(players: Collection[str], models_text: str | None) -> dict[str, str | None]:
    """Return the model of each player of a log that names no models, from the user's option.

    Args:
        players: The players of the log.
        models_text: The model of all players, or a JSON object with a model for each player; None
            if the user named none.

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
    """One logged message whose phase and round are known, for `build_messages`.

    Attributes:
        player: The speaker; `MODERATOR` for the moderator.
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
    """Build the messages of a game from logged messages with their phases and rounds.

    Args:
        logged_messages: The messages in the order of the game.
        seats: The seats of the game.
    """
    rows = list(logged_messages)
    columns = LoggedColumns(
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
    return Messages(build_message_columns(columns, timeline, players), columns.content)


# One contribution: seat, round, amount, and the index of the message that states it, or None. It is
# a plain tuple for speed, because some games contain little else.
ContributedAmount: TypeAlias = tuple[int, int, float | None, int | None]


def build_contributions(game: GameRecord, amounts: Sequence[float | None]) -> list[Contribution]:
    """Build one contribution for each contribution message of a game.

    Args:
        game: The game with its messages.
        amounts: The amount in each of these messages, in order; None if it is unknown.

    Returns:
        The contributions, with the total of their round and whether the amount is the smallest.
    """
    columns = game.messages.course
    indices = columns.message_indices(Phase.CONTRIBUTION)
    contributed_amounts = [
        (columns.seat[index] or 0, columns.round[index] or 1, amount, index)
        for index, amount in zip(indices, amounts, strict=True)
    ]
    return build_contributions_with_round_totals(contributed_amounts, len(game.seats))


def build_contributions_with_round_totals(
    contributed_amounts: Sequence[ContributedAmount], n_seats: int
) -> list[Contribution]:
    """Build contributions with the total of their round and whether the amount is the smallest.

    Args:
        contributed_amounts: Seat, round, amount and message index of each contribution.
        n_seats: The number of seats. A round with fewer known amounts has no minimum and total.
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
    game: GameRecord, definition: GameDefinition, guess_is_correct: bool | None = None
) -> list[Result]:
    """Return one result for each tested model and role of a game that is won by a side.

    Args:
        game: The game with its seats, messages and outcome.
        definition: The definition of the game.
        guess_is_correct: Whether the guess of the secret word was right; None without a guess.
    """
    tested_models, opponents = call_cached(
        _tested_models_with_roles_and_opponents, tuple(game.seats)
    )
    # `is_win` is None if no game of this type ends with the outcome.
    ending = definition.find_ending(game.outcome if game.is_finished else None) or Ending("")
    message_index = _last_message_index(game)
    return [
        Result(
            model=model,
            role=role,
            seat=seat,
            message_index=message_index,
            opponent=opponents,
            is_win=ending.is_win_of_side(side := definition.side_of_role(role)),
            win_credit=ending.credit_of_side(side),
            guess_is_correct=guess_is_correct,
            outcome_code=game.outcome_code,
        )
        for model, role, seat in tested_models
    ]


def results_if_game_has_sides(game: GameRecord) -> list[Result]:
    """Return the results that follow from the outcome; empty if the game type has no sides.

    A format calls this only for games whose logs state no results.

    Args:
        game: The game with its seats, messages and outcome.
    """
    definition = games.game_definition(game.game_type)
    if not definition.has_sides:
        return []
    # If the model failed to answer, it did not guess, even if the game counted it as a guess.
    guess_results = [
        None if guess.parse_status is ParseStatus.OUTAGE else guess.is_correct
        for guess in game.guesses
    ]
    return results_by_model_and_role(
        game, definition, guess_results[0] if len(guess_results) == 1 else None
    )


# A model, its role, and the number of the seat if only one seat has this model and role.
_ModelRoleAndSeat: TypeAlias = tuple[str | None, str, int | None]


def _tested_models_with_roles_and_opponents(
    seats: tuple[Seat, ...],
) -> tuple[list[_ModelRoleAndSeat], str | None]:
    """Return the models and roles of the tested seats, and the models of the untested seats."""
    seats_by_model_and_role: dict[tuple[str | None, str], list[int]] = {}
    for number, seat in enumerate(seats, start=1):
        if seat.is_tested:
            seats_by_model_and_role.setdefault((seat.model, seat.role), []).append(number)
    tested_models = [
        (model, role, numbers[0] if len(numbers) == 1 else None)
        for (model, role), numbers in seats_by_model_and_role.items()
    ]
    return tested_models, joined_opponent_models(seats)


def results_of_tested_seats(
    game: GameRecord, is_win_by_seat: Mapping[int, bool | None]
) -> list[Result]:
    """Return one result for each tested seat of a game in which each player plays alone.

    Args:
        game: The game with its seats and messages.
        is_win_by_seat: Whether each tested seat won, by seat number; None in an unfinished game.
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
        for number, won in is_win_by_seat.items()
    ]


def has_highest_score(scores: Sequence[float | None]) -> list[bool | None]:
    """Return for each seat whether it has the highest score, alone or tied.

    Args:
        scores: The final score of each seat. If one is unknown, all results are None.
    """
    known_scores = [score for score in scores if score is not None]
    if len(known_scores) < len(scores):
        return [None] * len(scores)
    highest = max(known_scores, default=0)
    # Scores that differ only by rounding errors are equal, as in audit/scores.sql.
    return [highest - score < 1e-6 for score in known_scores]


def _last_message_index(game: GameRecord) -> int | None:
    return len(game.messages) - 1 if game.messages.content else None


def parse_usage_or_add_faults(
    log_part: Struct,
    key_by_usage_field: Mapping[str, str],
    json_path: str,
    faults: list[RecordError],
) -> Usage:
    """Return the tokens, seconds and cost that a part of a log states.

    An invalid value becomes None, and a validation error is added. It does not reject the game,
    because nothing else depends on it.

    Args:
        log_part: The part of the log.
        key_by_usage_field: The field of `log_part` for each field of `Usage`.
        json_path: The JSON path of the part.
        faults: The list to which validation errors are added.
    """
    amounts = {
        name: parse_amount_or_add_fault(
            getattr(log_part, key), f"{json_path}.{key}", faults, is_whole=name.endswith("_tokens")
        )
        for name, key in key_by_usage_field.items()
    }
    return Usage(**amounts)


def parse_amount_or_add_fault(
    value: Any, json_path: str, faults: list[RecordError], *, is_whole: bool = False
) -> Any:
    """Return a logged number of tokens, seconds or dollars; add an error if it is invalid.

    Args:
        value: The logged value. The result is None if it is missing or invalid.
        json_path: The JSON path of the value.
        faults: The list to which a validation error is added.
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
    """Return the sum of usages, field by field; a field is None if any usage lacks it.

    Args:
        calls: The usage of each call. Without calls all fields are None.
    """
    columns: Sequence[tuple[Any, ...]] = list(zip(*map(astuple, calls), strict=True))
    return Usage(*(None if None in column else sum(column) for column in columns))
