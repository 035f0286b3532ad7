"""Conversion of an interchange document to a game, with derived values and checks of rules."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, TypeAlias

from msgspec import UNSET
from msgspec.structs import asdict, replace

from pipeline import games
from pipeline.formats.interchange.document import (
    ACTS,
    GAME_TYPE_BY_OWN_TABLE,
    KEY_FIELDS,
    PLAYER_NAME_FIELDS,
    REGISTERED_FIELD,
    TABLE_BY_ACT_CLASS,
    TABLES,
    TABLES_WITH_NUMBER,
    Document,
    End,
    Event,
    Seat,
    check_setting_can_be_stored,
)
from pipeline.formats.record_builder import (
    EVERYONE,
    MODERATOR,
    USAGE_FIELDS,
    LoggedMessage,
    as_name_tuple,
    build_contributions_with_round_totals,
    build_messages,
    check_players,
    find_player,
    has_highest_score,
    is_private_thought,
    parse_usage_or_add_faults,
    results_by_model_and_role,
    results_of_tested_seats,
    unknown_audience_faults,
    unseated_speaker_faults,
)
from pipeline.formats.sniffer import (
    check_outcome,
    check_results_state_winners,
    check_start_time,
    invalid_document_error,
)
from pipeline.game_record import (
    OUTAGE_MARK,
    Event as GameEvent,
    GameRecord,
    RecordError,
    Result,
    Seat as PlayedSeat,
)
from pipeline.games import GameDefinition
from pipeline.vocabulary import AnalysisKind, GameType, ParseStatus, Phase

# The fields of actions that a document may omit, because they can be derived. `writing` omits the
# same fields. A row has the fields of an action by name.

Row = Mapping[str, Any]
TableRows = Sequence[Row]


class GameContext(NamedTuple):
    """The facts about a game from which omitted fields of its actions are derived.

    Attributes:
        seat_by_player: The seat number of each player.
        secret_word: The secret word in the setting; None without one.
    """

    seat_by_player: Mapping[str, int]
    secret_word: Any


def derive_omittable_fields(
    table: str, rows: TableRows, context: GameContext
) -> list[dict[str, Any]]:
    """Return for each row of a table the derived values of the fields that a document may omit.

    Args:
        table: The name of the table of actions.
        rows: The rows of this table in one game, in the order of the document.
        context: The facts about the game.
    """
    n_rows: Counter[tuple[int, int]] = Counter()
    values: list[dict[str, Any]] = []
    match table:
        case "guesses":
            status = {True: ParseStatus.OK, False: ParseStatus.UNREADABLE}
            return [
                {"parse_status": status[row["guess"] is not None]}
                | ({"secret": context.secret_word} if isinstance(context.secret_word, str) else {})
                for row in rows
            ]
        case "contributions":  # whether it is the round's smallest, and the total of the round
            amounts = [(row["seat"], row["round"], row["amount"], None) for row in rows]
            return [
                {"is_least": contribution.is_least, "round_total": contribution.round_total}
                for contribution in build_contributions_with_round_totals(
                    amounts, len(context.seat_by_player)
                )
            ]
        case "proposals":  # the position of the share in its proposal, and whether that is the last
            proposals = [(row["seat"], row["round"]) for row in rows]
            last_round_by_seat = dict(sorted(proposals))
            for row, (seat, round_) in zip(rows, proposals, strict=True):
                n_rows[seat, round_] += 1
                values.append(
                    {
                        "party_seat": context.seat_by_player.get(row["party"]),
                        "position": n_rows[seat, round_],
                        "is_last": last_round_by_seat[seat] == round_,
                    }
                )
            return values
        case "proposal_votes":
            final_round = max((row["round"] for row in rows), default=0)
            return [{"is_final_round": row["round"] == final_round} for row in rows]
        case _ if table in TABLES_WITH_NUMBER:  # the number of the action for its seat and round
            for row in rows:
                key = row["seat"], row["round"]
                n_rows[key] += 1
                values.append({"number": n_rows[key]})
            return values
    return [{} for _ in rows]


# The rows of each table. A field that the document omits is UNSET.
RowsByTable: TypeAlias = "dict[str, list[dict[str, Any]]]"
# The order of a game's events: None for an event with a text, else the table of each action.
EventOrder: TypeAlias = "list[str | None]"

FORMAT = "interchange"
# The phase of a text by which a player acts, by the class of the action.
_PHASE_BY_ACT_CLASS = {
    ACTS["votes"]: Phase.VOTE,
    ACTS["guesses"]: Phase.GUESS,
    ACTS["role_identifications"]: Phase.IDENTIFICATION,
    ACTS["role_analyses"]: Phase.ANALYSIS,
    ACTS["decisions"]: Phase.DECISION,
    ACTS["contributions"]: Phase.CONTRIBUTION,
    ACTS["proposals"]: Phase.PROPOSAL,
    ACTS["proposal_votes"]: Phase.PROPOSAL_VOTE,
}
# Constants, because the lookup of an enum's member is slow and is needed for each message.
_MODERATION, _OTHER, _THOUGHT = Phase.MODERATION, Phase.OTHER, Phase.REFLECTION
# The fields that only an event with a text may have, with their defaults.
_DEFAULTS_WITHOUT_TEXT = {"phase": UNSET, "visible_to": EVERYONE, "turn": None, "msg_type": None}
_AGREEMENTS = {"agreed": True, "not_agreed": False}
_model_role_and_seat = attrgetter("model", "role", "seat")


def build_game(document: Document) -> GameRecord:
    """Build the game record of an interchange document.

    Raises InvalidDocumentError if the document breaks a rule.
    """
    game_types = games.game_type_names()
    if document.game_type not in game_types:
        rule = (
            f"a game type is one of {', '.join(game_types)}, or of an installed package, or of a "
            "file that MAGIC_GAMES names"
        )
        raise invalid_document_error("$.game_type", rule, repr(document.game_type))
    definition = games.game_definition(document.game_type)
    check_setting_can_be_stored(document.setting)
    seats = _build_seats(document.seats, definition)
    end = document.end or End()
    if end.outcome is None and document.is_finished and len(definition.endings) == 1:
        end = replace(end, outcome=definition.endings[0].outcome)
    seat_by_player = {seat.player: number for number, seat in enumerate(seats, start=1)}
    _set_omitted_is_before_vote(document.events)
    _convert_outages_to_marked_texts(document.events)
    faults: list[RecordError] = []
    rows_by_table, order = _action_rows_by_table_and_event_order(
        document, seat_by_player, definition, faults
    )
    n_rounds = document.n_rounds
    if n_rounds is UNSET:
        rounds = (row["round"] for row in chain.from_iterable(rows_by_table.values()))
        n_rounds = max(chain((event.round or 0 for event in document.events), rounds), default=0)
    game = GameRecord(
        game_type=definition.name,
        system=document.system,
        format=FORMAT,
        format_version=document.format_version,
        setting=document.setting,
        is_repeatable=document.is_repeatable,
        is_finished=document.is_finished,
        outcome=end.outcome,
        outcome_code=end.outcome_code,
        ended_by=end.ended_by,
        n_rounds=n_rounds,
        started_at=document.started_at,
        game_index=document.game_index,
        seats=seats,
        failures={
            n: seat.failure
            for n, seat in enumerate(document.seats, 1)
            if seat.failure and seat.failure.strip()
        },
        messages=build_messages(_iter_messages(document.events), seats),
        order=order if any(order) else (),
        faults=faults,
    )
    check_start_time(game, "$.started_at")
    check_outcome(game, "$.end.outcome")
    _add_action_rows_to_game(game, rows_by_table, GameContext(seat_by_player, game.word), document)
    game.results = derive_results(
        game, _is_win_by_seat_stated_or_derived(document, game, definition)
    )
    if document.results is not UNSET:
        game.results = _check_and_build_stated_results(document.results, game, definition)
        check_results_state_winners(game, "$.results")
    audiences = [event.visible_to for event in document.events]
    game.faults += unknown_audience_faults(audiences, seat_by_player, "$.events")
    if any(getattr(seat, name) is not None for seat in document.seats for name in USAGE_FIELDS):
        usage_keys = dict(zip(USAGE_FIELDS, USAGE_FIELDS, strict=True))
        game.usage = [
            parse_usage_or_add_faults(seat, usage_keys, f"$.seats[{n}]", game.faults)
            for n, seat in enumerate(document.seats)
        ]
    text_indices = [n for n, event in enumerate(document.events) if event.text is not None]
    game.faults += unseated_speaker_faults(game.messages.course, "$.events", text_indices)
    return game


def derive_results(game: GameRecord, wins_in_seat_order: list[bool | None]) -> list[Result]:
    """Return the results of a game: from its outcome, or from the seats that won.

    Args:
        game: The game with its seats and outcome.
        wins_in_seat_order: Whether each seat won; not used if the outcome decides.
    """
    definition = games.game_definition(game.game_type)
    if definition.has_sides:
        guess_results = (guess.is_correct for guess in game.guesses)
        return results_by_model_and_role(game, definition, next(guess_results, None))
    is_agreed = _is_negotiation_agreed(game)
    is_win_by_tested_seat = {
        number: is_win if is_agreed is None else is_agreed
        for number, (seat, is_win) in enumerate(
            zip(game.seats, wins_in_seat_order, strict=True), start=1
        )
        if seat.is_tested
    }
    return [
        replace(result, agreed=is_agreed)
        for result in results_of_tested_seats(game, is_win_by_tested_seat)
    ]


def _is_negotiation_agreed(game: GameRecord) -> bool | None:
    """Return whether a Cost Sharing game ended in agreement; None for other or unfinished games."""
    is_negotiation = game.game_type == GameType.COST_SHARING
    return _AGREEMENTS.get(game.outcome or "") if is_negotiation else None


def _is_win_by_seat_stated_or_derived(
    document: Document, game: GameRecord, definition: GameDefinition
) -> list[bool | None]:
    """Return whether each seat won, as the document states or else as the highest score implies.

    Raises InvalidDocumentError if the statement contradicts the game, or if a tested seat of a
    finished game has neither.
    """
    wins = [seat.is_win for seat in document.seats]
    for number, is_win in enumerate(wins):
        if is_win is not None and (rule := _broken_rule_of_stated_win(is_win, game, definition)):
            raise invalid_document_error(f"$.seats[{number}].is_win", rule, str(is_win).lower())
    if not game.is_finished or _is_negotiation_agreed(game) is not None or definition.has_sides:
        return wins
    if definition.most_points_win:
        wins_by_score = has_highest_score([seat.score for seat in document.seats])
        wins = [
            derived_win if stated_win is None else stated_win
            for stated_win, derived_win in zip(wins, wins_by_score, strict=True)
        ]
    for number, (seat, is_win) in enumerate(zip(game.seats, wins, strict=True)):
        if is_win is None and seat.is_tested and document.results is UNSET:
            rule = "of a finished game it is known who won: each seat under test has `is_win`"
            or_scores = ", or each seat has a `score`" if definition.most_points_win else ""
            raise invalid_document_error(
                f"$.seats[{number}]", rule + or_scores, f"{seat.player!r} has none"
            )
    return wins


def _broken_rule_of_stated_win(
    is_win: bool, game: GameRecord, definition: GameDefinition
) -> str | None:
    """Return the rule that forbids the `is_win` of a seat in this game; None if it is allowed."""
    if definition.has_sides:
        return "in a game with sides, the outcome says who won"
    if not game.is_finished:
        return "nobody has won an unfinished game"
    return (
        None
        if _is_negotiation_agreed(game) in (None, is_win)
        else f"the outcome {game.outcome} says who won"
    )


def default_phase_of_event(event: Event) -> str:
    """Return the phase of an event that states none: by speaker and audience, or by its actions."""
    if event.actor is None or event.actor == MODERATOR:
        return _MODERATION
    if is_private_thought(event.actor, event.visible_to):
        return _THOUGHT
    for act in event.acts:
        if (phase := _PHASE_BY_ACT_CLASS.get(type(act))) is not None:
            return phase
    return _OTHER


def _build_seats(document_seats: list[Seat], definition: GameDefinition) -> list[PlayedSeat]:
    check_players([seat.player for seat in document_seats], "$.seats")
    roles = [role.name for role in definition.roles]
    seats = []
    for number, seat in enumerate(document_seats):
        role = roles[0] if seat.role is UNSET and len(roles) == 1 else seat.role
        if role is UNSET or role not in roles:
            rule = f"a role of {definition.name} is one of {', '.join(roles)}"
            has = "there is none" if role is UNSET else repr(role)
            raise invalid_document_error(f"$.seats[{number}].role", rule, has)
        is_tested = not seat.is_bot if seat.is_tested is UNSET else seat.is_tested
        seats.append(PlayedSeat(seat.player, seat.model, role, is_tested, seat.score, seat.is_bot))
    return seats


def _iter_messages(events: list[Event]) -> Iterator[LoggedMessage]:
    phase_names = set(games.phase_names())
    for number, event in enumerate(events):
        if event.text is None:
            continue
        phase = event.phase
        if phase is UNSET:
            phase = default_phase_of_event(event)
        elif phase not in phase_names:
            rule = f"a phase is one of {', '.join(sorted(phase_names))}"
            raise invalid_document_error(f"$.events[{number}].phase", rule, repr(phase))
        # Positional, because keyword arguments take 50% longer, and documents are mostly messages.
        yield LoggedMessage(
            MODERATOR if event.actor is None else event.actor,
            event.text,
            phase,
            event.round,
            event.visible_to,
            event.turn,
            event.msg_type,
        )


def _set_omitted_is_before_vote(events: list[Event]) -> None:
    """Set `is_before_vote` of eliminations that omit it: true if the round's votes come later."""
    rounds_with_votes = set[int | None]()
    undecided: dict[int | None, list[tuple[list[Any], int]]] = {}
    for event in events:
        for index, act in enumerate(event.acts):
            table = TABLE_BY_ACT_CLASS[type(act)]
            round_ = event.round if act.round is UNSET else act.round
            if table == "votes":
                rounds_with_votes.add(round_)
                for acts, elimination_index in undecided.pop(round_, ()):
                    elimination = acts[elimination_index]
                    acts[elimination_index] = replace(elimination, is_before_vote=True)
            elif table == "eliminations" and act.is_before_vote is UNSET:
                event.acts[index] = replace(act, is_before_vote=False)
                if round_ not in rounds_with_votes:
                    undecided.setdefault(round_, []).append((event.acts, index))


def _convert_outages_to_marked_texts(events: list[Event]) -> None:
    """Mark the text of each event in which a model failed to answer, by its key `outage`.

    An event without a text gets one. Raises InvalidDocumentError if an event with an outage has an
    action of another player or without `outage`.
    """
    for number, event in enumerate(events):
        if not any(act.outage for act in event.acts):
            continue
        players = {event.actor if act.player is UNSET else act.player for act in event.acts}
        if len(players) > 1 or not all(act.outage for act in event.acts):
            rule = "an outage is an event of its own, of one player: every act in it has `outage`"
            raise invalid_document_error(
                f"$.events[{number}].acts", rule, "another act is in the event"
            )
        if event.text is None:
            event.actor = players.pop()
        if event.round is None:
            event.round = next((act.round for act in event.acts if act.round is not UNSET), None)
        if not (event.text or "").startswith(OUTAGE_MARK):
            event.text = OUTAGE_MARK + (event.text or "")


def _action_rows_by_table_and_event_order(
    document: Document,
    seat_by_player: dict[str, int],
    definition: GameDefinition,
    faults: list[RecordError],
) -> tuple[RowsByTable, EventOrder]:
    """Check all actions and return their rows by table, and the order of all events.

    A second elimination of a player has no row; it adds a validation error.
    """
    rows_by_table: RowsByTable = {}
    eliminated = set[int]()
    order: EventOrder = []
    n_texts = 0
    allowed_names = {*seat_by_player, *document.unseated, None, UNSET}
    for event_index, event in enumerate(document.events):
        message_index = None
        if event.text is None:
            _check_event_without_text(event, event_index)
        else:
            message_index, n_texts = n_texts, n_texts + 1
            order.append(None)
            if event.acts and is_private_thought(event.actor or MODERATOR, event.visible_to):
                rule = (
                    "a text that nobody is shown is a thought, without acts: name who is shown it "
                    f"(the game itself is {MODERATOR}), or put the acts into an event without text"
                )
                raise invalid_document_error(
                    f"$.events[{event_index}].visible_to", rule, "nobody, and there are acts"
                )
        for action_index, act in enumerate(event.acts):
            table = TABLE_BY_ACT_CLASS[type(act)]
            json_path = _action_path(event_index, action_index)
            if (table_rows := rows_by_table.get(table)) is None:
                if GAME_TYPE_BY_OWN_TABLE.get(table, definition.name) != definition.name:
                    act_names = [
                        name
                        for name in ACTS
                        if GAME_TYPE_BY_OWN_TABLE.get(name, definition.name) == definition.name
                    ]
                    rule = f"in {definition.name} an act is one of {', '.join(act_names)}"
                    raise invalid_document_error(f"{json_path}.act", rule, repr(table))
                table_rows = rows_by_table[table] = []
            row = asdict(act)
            if row.pop("outage") and "parse_status" in row:
                row["parse_status"] = ParseStatus.OUTAGE
            player = row.pop("player")
            if player is UNSET:
                player = event.actor
            if row["round"] is UNSET:
                row["round"] = event.round
            row["seat"], row["message_index"] = seat_by_player.get(player), message_index
            if player != event.actor and message_index is not None and table != "eliminations":
                rule = (
                    "by a text, only who says it does something, though anybody can be out: "
                    "another's act is an event without a text"
                )
                raise invalid_document_error(f"{json_path}.player", rule, repr(player))
            _check_action_and_correct_names(table, row, player, allowed_names, json_path)
            if table == "eliminations":
                if row["seat"] in eliminated:
                    rule = "a player leaves the game once"
                    faults.append(RecordError(json_path, rule, f"{player!r} is out already"))
                    continue
                eliminated.add(row["seat"])
            if message_index is None:
                order.append(table)
            table_rows.append(row)
    return rows_by_table, order


def _check_action_and_correct_names(
    table: str,
    row: dict[str, Any],
    player: str | None,
    allowed_names: set[Any],
    json_path: str,
) -> None:
    """Check an action's player and round, and replace similar names by the names of players.

    Raises InvalidDocumentError if one is missing, or if a name is not similar to an allowed name.
    """
    if row["seat"] is None:
        raise invalid_document_error(json_path, "an act is by a player at the table", repr(player))
    if row["round"] is None:
        rule = "an act has a round, its own or its event's"
        raise invalid_document_error(json_path, rule, "neither has one")
    for name in PLAYER_NAME_FIELDS[table]:
        if row[name] in allowed_names:
            continue
        row[name] = (
            find_player(row[name], {name: name for name in allowed_names if isinstance(name, str)})
            or row[name]
        )
        if unknown_names := set(as_name_tuple(row[name])) - allowed_names:
            rule = "whoever is named has a seat, or is listed in `unseated`"
            message = ", ".join(map(repr, sorted(unknown_names)))
            raise invalid_document_error(f"{json_path}.{name}", rule, message)


def _action_path(event_index: int, action_index: int) -> str:
    return f"$.events[{event_index}].acts[{action_index}]"


def _action_path_of_row(events: list[Event], table: str, row_index: int) -> str:
    paths = (
        _action_path(event_index, action_index)
        for event_index, event in enumerate(events)
        for action_index, act in enumerate(event.acts)
        if TABLE_BY_ACT_CLASS[type(act)] == table
    )
    return next(islice(paths, row_index, None))


def _check_event_without_text(event: Event, event_index: int) -> None:
    """Check that an event without a text has an action, and no field that belongs to a text."""
    if not event.acts:
        raise invalid_document_error(
            f"$.events[{event_index}]", "an event has a text, or acts, or both", "neither"
        )
    for name, default in _DEFAULTS_WITHOUT_TEXT.items():
        if getattr(event, name) != default:
            rule = f"only an event with a text has {', '.join(_DEFAULTS_WITHOUT_TEXT)}"
            raise invalid_document_error(f"$.events[{event_index}].{name}", rule, "it has no text")


def _add_action_rows_to_game(
    game: GameRecord, rows_by_table: RowsByTable, context: GameContext, document: Document
) -> None:
    """Set the omitted fields of all rows, check the rows, and add them to the game as events."""
    n_seats = len(context.seat_by_player)
    for table, rows in sorted(rows_by_table.items()):
        for row, values in zip(rows, derive_omittable_fields(table, rows, context), strict=True):
            for name, value in values.items():
                if row[name] is UNSET:
                    row[name] = value
        _check_no_repeated_action(table, rows, document.events)
        for row_index, row in enumerate(rows if table == "proposals" else ()):
            if (row["party_seat"] or 0) > n_seats:
                json_path = f"{_action_path_of_row(document.events, table, row_index)}.party_seat"
                raise invalid_document_error(
                    json_path, f"a seat is one of {n_seats}", str(row["party_seat"])
                )
        events = [_build_event(table, row) for row in rows]
        if table in GAME_TYPE_BY_OWN_TABLE:
            game.events[table] = events
        else:
            getattr(game, table).extend(events)


def _check_no_repeated_action(
    table: str, table_rows: list[dict[str, Any]], events: list[Event]
) -> None:
    """Raise InvalidDocumentError if two rows have the same key, such as seat and round."""
    names, row_groups = KEY_FIELDS[table], [table_rows]
    if table == "role_analyses":  # the two measures of an analysis are stored in separate rows
        row_groups = [
            [row for row in table_rows if row[measure] is not None] for measure in AnalysisKind
        ]
    for rows in row_groups:
        keys = list(map(itemgetter(*names), rows))
        if len(set(keys)) < len(keys):
            repeated_row = rows[next(n for n, key in enumerate(keys) if key in keys[:n])]
            rule = f"no two rows have one {', '.join(names)}"
            message = f"{rule} ({', '.join(f'{name} {repeated_row[name]}' for name in names)})"
            if "round" in names:
                message += (
                    ": if the game repeated it, as in a run-off, state the last, which the game "
                    "counted, or give the others a round of their own"
                )
            row_index = next(n for n, row in enumerate(table_rows) if row is repeated_row)
            json_path = _action_path_of_row(events, table, row_index)
            raise invalid_document_error(json_path, f"the contract of {table}: {rule}", message)


def _build_event(table: str, row: dict[str, Any]) -> GameEvent:
    if table in REGISTERED_FIELD:
        field = REGISTERED_FIELD[table]
        row["is_logged"] = row[field] is not UNSET
        if not row["is_logged"]:
            row[field] = None
    elif row.get("secret") is UNSET:
        rule = "a guess has its secret, or the setting has the word"
        raise invalid_document_error("$.setting.code", rule, "neither has it")
    return TABLES[table].event(**row)


def _check_and_build_stated_results(
    stated_results: list[Any], game: GameRecord, definition: GameDefinition
) -> list[Result]:
    """Build the results that the document states, after checking them against the game.

    There must be one result for each tested model and role, or for each tested seat.
    """
    for number, result in enumerate(stated_results):
        json_path = f"$.results[{number}]"
        if definition.find_role(result.role) is None:
            raise invalid_document_error(
                f"{json_path}.role", f"the role is one of {definition.name}", repr(result.role)
            )
        for name in ("seat", "first_choice_seat"):
            if (getattr(result, name) or 0) > len(game.seats):
                rule = f"a seat is one of {len(game.seats)}"
                raise invalid_document_error(
                    f"{json_path}.{name}", rule, str(getattr(result, name))
                )
        if (result.message_index or 0) >= max(len(game.messages), 1):
            raise invalid_document_error(
                f"{json_path}.message_index", "it is that of a text", str(result.message_index)
            )
    stated_sides, derived_sides = (
        Counter(map(_model_role_and_seat, results)) for results in (stated_results, game.results)
    )
    if stated_sides != derived_sides:
        rule = "there is one result for each side under test, by model, role and seat"
        missing = ", ".join(map(str, derived_sides - stated_sides)) or "none"
        surplus = ", ".join(map(str, stated_sides - derived_sides)) or "none"
        raise invalid_document_error("$.results", rule, f"missing: {missing}; surplus: {surplus}")
    return [Result(**asdict(result)) for result in stated_results]
