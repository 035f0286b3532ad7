"""Convert an interchange document to a game: derive omitted values, check rules."""

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
    KEYS,
    NAMING,
    OWN_TABLES,
    REGISTERED,
    TABLE_OF,
    TABLES,
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
    add_round_totals,
    as_name_tuple,
    build_messages,
    check_players,
    find_player,
    has_highest_score,
    is_private_thought,
    parse_usage,
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

# What acts need not state, since it follows from others: the same for reading and writing.
#
# Rows are those of one table of one game, in the document's order, as their fields by name.

Row = Mapping[str, Any]
TableRows = Sequence[Row]


class GameContext(NamedTuple):
    """The facts of a game from which fields of its actions are derived.

    Attributes:
        seats: The seat numbers by player.
        word: The secret word of the setting, if there is one.
    """

    seats: Mapping[str, int]
    word: Any


def derive_omittable_fields(
    table: str, rows: TableRows, around: GameContext
) -> list[dict[str, Any]]:
    """Return for each row of a table the values of the fields that a document may leave out."""
    n_rows: Counter[tuple[int, int]] = Counter()
    values: list[dict[str, Any]] = []
    match table:
        case "guesses":
            status = {True: ParseStatus.OK, False: ParseStatus.UNREADABLE}
            return [
                {"parse_status": status[row["guess"] is not None]}
                | ({"secret": around.word} if isinstance(around.word, str) else {})
                for row in rows
            ]
        case "contributions":  # the least and the total of each round with all amounts
            puts = [(row["seat"], row["round"], row["amount"], None) for row in rows]
            of_rows = add_round_totals(puts, len(around.seats))
            return [
                {"is_least": amount.is_least, "round_total": amount.round_total}
                for amount in of_rows
            ]
        case "proposals":  # the place of each share in its proposal, and whether that is the last
            proposals = [(row["seat"], row["round"]) for row in rows]
            last = dict(sorted(proposals))
            for row, (seat, round_) in zip(rows, proposals, strict=True):
                n_rows[seat, round_] += 1
                party, position = around.seats.get(row["party"]), n_rows[seat, round_]
                is_last = last[seat] == round_
                values.append({"party_seat": party, "position": position, "is_last": is_last})
            return values
        case "proposal_votes":
            final = max((row["round"] for row in rows), default=0)
            return [{"is_final_round": row["round"] == final} for row in rows]
        case "transfers" | "abilities":  # the number among those of the seat in the round
            for row in rows:
                key = row["seat"], row["round"]
                n_rows[key] += 1
                values.append({"number": n_rows[key]})
            return values
    return [{} for _ in rows]


# Each table's rows, their fields by name, UNSET where the document leaves one out.
RowsByTable: TypeAlias = "dict[str, list[dict[str, Any]]]"
# A null for each text, and for each act without one the name of its table.
EventOrder: TypeAlias = "list[str | None]"

FORMAT = "interchange"
# What a text is by which somebody does this.
_PHASE_OF = {
    ACTS["votes"]: Phase.VOTE,
    ACTS["guesses"]: Phase.GUESS,
    ACTS["role_identifications"]: Phase.IDENTIFICATION,
    ACTS["role_analyses"]: Phase.ANALYSIS,
    ACTS["decisions"]: Phase.DECISION,
    ACTS["contributions"]: Phase.CONTRIBUTION,
    ACTS["proposals"]: Phase.PROPOSAL,
    ACTS["proposal_votes"]: Phase.PROPOSAL_VOTE,
}
# Their class looks a phase up by a function, and this is asked of each message.
_MODERATION, _OTHER, _THOUGHT = Phase.MODERATION, Phase.OTHER, Phase.REFLECTION
# What is said of a text, with the values of an event that does not say it.
_OF_TEXT = {"phase": UNSET, "visible_to": EVERYONE, "turn": None, "msg_type": None}
_AGREEMENTS = {"agreed": True, "not_agreed": False}
_side = attrgetter("model", "role", "seat")


def build_game(document: Document) -> GameRecord:
    """Build the game of a document; raise InvalidDocumentError if it breaks a rule."""
    game_types = games.game_type_names()
    if document.game_type not in game_types:
        rule = (
            f"a game type is one of {', '.join(game_types)}, or of an installed package, or of a "
            "file that MAGIC_GAMES names"
        )
        raise invalid_document_error("$.game_type", rule, repr(document.game_type))
    kind = games.game_definition(document.game_type)
    check_setting_can_be_stored(document.setting)
    seats = _build_seats(document.seats, kind)
    end = document.end or End()
    if end.outcome is None and document.is_finished and len(kind.endings) == 1:
        end = replace(end, outcome=kind.endings[0].outcome)
    numbers = {seat.player: number for number, seat in enumerate(seats, start=1)}
    _set_omitted_is_before_vote(document.events)
    _convert_outages_to_marked_texts(document.events)
    faults: list[RecordError] = []
    rows, order = _action_rows_by_table_and_event_order(document, numbers, kind, faults)
    n_rounds = document.n_rounds
    if n_rounds is UNSET:
        of_rows = (row["round"] for row in chain.from_iterable(rows.values()))
        n_rounds = max(chain((event.round or 0 for event in document.events), of_rows), default=0)
    game = GameRecord(
        game_type=kind.name,
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
    _add_action_rows_to_game(game, rows, GameContext(numbers, game.word), document)
    game.results = derive_results(game, _is_win_by_seat_stated_or_derived(document, game, kind))
    if document.results is not UNSET:
        game.results = _check_and_build_stated_results(document.results, game, kind)
        check_results_state_winners(game, "$.results")
    audiences = [event.visible_to for event in document.events]
    game.faults += unknown_audience_faults(audiences, numbers, "$.events")
    # Nothing where no seat says it.
    if any(getattr(seat, name) is not None for seat in document.seats for name in USAGE_FIELDS):
        keys = dict(zip(USAGE_FIELDS, USAGE_FIELDS, strict=True))
        game.usage = [
            parse_usage(seat, keys, f"$.seats[{n}]", game.faults)
            for n, seat in enumerate(document.seats)
        ]
    at_event = [number for number, event in enumerate(document.events) if event.text is not None]
    game.faults += unseated_speaker_faults(game.messages.course, "$.events", at_event)
    return game


def derive_results(game: GameRecord, wins: list[bool | None]) -> list[Result]:
    """Return the results that follow from the outcome or, without sides, from who won."""
    kind = games.game_definition(game.game_type)
    if kind.has_sides:
        truths = (guess.is_correct for guess in game.guesses)
        return results_by_model_and_role(game, kind, guess_is_correct=next(truths, None))
    agreed = _is_negotiation_agreed(game)
    wins = wins if agreed is None else [agreed] * len(wins)
    tested = {n: wins[n - 1] for n, seat in enumerate(game.seats, start=1) if seat.is_tested}
    return [replace(result, agreed=agreed) for result in results_of_tested_seats(game, tested)]


def _is_negotiation_agreed(game: GameRecord) -> bool | None:
    """Return whether a negotiation ended in agreement; None for other or unfinished games."""
    is_negotiation = game.game_type == GameType.COST_SHARING
    return _AGREEMENTS.get(game.outcome or "") if is_negotiation else None


def _is_win_by_seat_stated_or_derived(
    document: Document, game: GameRecord, kind: GameDefinition
) -> list[bool | None]:
    """Return by seat who won: as stated, else by the scores or the outcome.

    Raises InvalidDocumentError if a statement is not allowed, or if nothing says who won.
    """
    wins = [seat.is_win for seat in document.seats]
    is_stated = wins.count(None) < len(wins)
    for number, is_win in enumerate(wins if is_stated else ()):
        if is_win is not None and (rule := _broken_rule_of_stated_win(is_win, game, kind)):
            raise invalid_document_error(f"$.seats[{number}].is_win", rule, str(is_win).lower())
    if not game.is_finished or _is_negotiation_agreed(game) is not None or kind.has_sides:
        return wins
    if kind.most_points_win:
        by_score = has_highest_score([seat.score for seat in document.seats])
        wins = [
            derived_win if stated_win is None else stated_win
            for stated_win, derived_win in zip(wins, by_score, strict=True)
        ]
    for number, (seat, is_win) in enumerate(zip(game.seats, wins, strict=True)):
        if is_win is None and seat.is_tested and document.results is UNSET:
            rule = "of a finished game it is known who won: each seat under test has `is_win`"
            or_scores = ", or each seat has a `score`" if kind.most_points_win else ""
            raise invalid_document_error(
                f"$.seats[{number}]", rule + or_scores, f"{seat.player!r} has none"
            )
    return wins


def _broken_rule_of_stated_win(is_win: bool, game: GameRecord, kind: GameDefinition) -> str | None:
    """Return the rule that a seat with a stated win breaks; None if it breaks none."""
    if kind.has_sides:
        return "in a game with sides, the outcome says who won"
    if not game.is_finished:
        return "nobody has won an unfinished game"
    return (
        None
        if _is_negotiation_agreed(game) in (None, is_win)
        else f"the outcome {game.outcome} says who won"
    )


def default_phase_of_event(event: Event) -> str:
    """Return the default phase of an event's text, which is that of its first action."""
    if event.actor is None or event.actor == MODERATOR:
        return _MODERATION
    if is_private_thought(event.actor, event.visible_to):
        return _THOUGHT
    for act in event.acts:
        if (phase := _PHASE_OF.get(type(act))) is not None:
            return phase
    return _OTHER


def _build_seats(document_seats: list[Seat], kind: GameDefinition) -> list[PlayedSeat]:
    check_players([seat.player for seat in document_seats], "$.seats")
    roles = [role.name for role in kind.roles]
    seats = []
    for number, seat in enumerate(document_seats):
        role = roles[0] if seat.role is UNSET and len(roles) == 1 else seat.role
        if role is UNSET or role not in roles:
            rule = f"a role of {kind.name} is one of {', '.join(roles)}"
            has = "there is none" if role is UNSET else repr(role)
            raise invalid_document_error(f"$.seats[{number}].role", rule, has)
        is_tested = not seat.is_bot if seat.is_tested is UNSET else seat.is_tested
        played = PlayedSeat(seat.player, seat.model, role, is_tested, seat.score, seat.is_bot)
        seats.append(played)
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
        # By place: a document is made of these, and by name they take half as long again.
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
    """Set for each elimination that does not state it whether it comes before its round's votes."""
    voted = set[int | None]()
    waiting: dict[int | None, list[tuple[list[Any], int]]] = {}
    for event in events:
        for place, act in enumerate(event.acts):
            table = TABLE_OF[type(act)]
            round_ = event.round if act.round is UNSET else act.round
            if table == "votes":
                voted.add(round_)
                for acts, before in waiting.pop(round_, ()):
                    acts[before] = replace(acts[before], is_before_vote=True)
            elif table == "eliminations" and act.is_before_vote is UNSET:
                event.acts[place] = replace(act, is_before_vote=False)
                if round_ not in voted:
                    waiting.setdefault(round_, []).append((event.acts, place))


def _convert_outages_to_marked_texts(events: list[Event]) -> None:
    """Convert each outage to a text of its player that begins like one of the benchmark's logs.

    Raises InvalidDocumentError for an event that also has other actions.
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
    document: Document, numbers: dict[str, int], kind: GameDefinition, faults: list[RecordError]
) -> tuple[RowsByTable, EventOrder]:
    """Return the stated rows of all actions by table, and the order of all events.

    A second elimination of a player is a fault, not a row.
    """
    rows: RowsByTable = {}
    eliminated = set[int]()
    order: EventOrder = []
    n_texts = 0
    allowed_names = {*numbers, *document.unseated, None, UNSET}
    for number, event in enumerate(document.events):
        index = None
        if event.text is None:
            _check_event_without_text(event, number)
        else:
            index, n_texts = n_texts, n_texts + 1
            order.append(None)
            if event.acts and is_private_thought(event.actor or MODERATOR, event.visible_to):
                rule = (
                    "a text that nobody is shown is a thought, without acts: name who is shown it "
                    f"(the game itself is {MODERATOR}), or put the acts into an event without text"
                )
                raise invalid_document_error(
                    f"$.events[{number}].visible_to", rule, "nobody, and there are acts"
                )
        for place, act in enumerate(event.acts):
            table = TABLE_OF[type(act)]
            if (of_table := rows.get(table)) is None:
                if OWN_TABLES.get(table, kind.name) != kind.name:
                    act_names = [
                        name for name in ACTS if OWN_TABLES.get(name, kind.name) == kind.name
                    ]
                    rule = f"in {kind.name} an act is one of {', '.join(act_names)}"
                    raise invalid_document_error(
                        f"{_action_path(number, place)}.act", rule, repr(table)
                    )
                of_table = rows[table] = []
            row = asdict(act)
            if row.pop("outage") and "parse_status" in row:
                row["parse_status"] = ParseStatus.OUTAGE
            player = row.pop("player")
            if player is UNSET:
                player = event.actor
            if row["round"] is UNSET:
                row["round"] = event.round
            row["seat"], row["message_index"] = numbers.get(player), index
            if player != event.actor and index is not None and table != "eliminations":
                rule = (
                    "by a text, only who says it does something, though anybody can be out: "
                    "another's act is an event without a text"
                )
                raise invalid_document_error(
                    f"{_action_path(number, place)}.player", rule, repr(player)
                )
            _check_action_and_correct_names(table, row, player, allowed_names, (number, place))
            if table == "eliminations":
                if row["seat"] in eliminated:
                    rule = "a player leaves the game once"
                    faults.append(
                        RecordError(_action_path(number, place), rule, f"{player!r} is out already")
                    )
                    continue
                eliminated.add(row["seat"])
            if index is None:
                order.append(table)
            of_table.append(row)
    return rows, order


def _check_action_and_correct_names(
    table: str,
    row: dict[str, Any],
    player: str | None,
    allowed_names: set[Any],
    place: tuple[int, int],
) -> None:
    """Raise an error for an action without a player or round, or with an unknown name."""
    if row["seat"] is None:
        raise invalid_document_error(
            _action_path(*place), "an act is by a player at the table", repr(player)
        )
    if row["round"] is None:
        rule = "an act has a round, its own or its event's"
        raise invalid_document_error(_action_path(*place), rule, "neither has one")
    for name in NAMING[table]:
        if row[name] in allowed_names:
            continue
        row[name] = (
            find_player(row[name], {name: name for name in allowed_names if isinstance(name, str)})
            or row[name]
        )
        if strangers := set(as_name_tuple(row[name])) - allowed_names:
            rule = "whoever is named has a seat, or is listed in `unseated`"
            listed = ", ".join(map(repr, sorted(strangers)))
            raise invalid_document_error(f"{_action_path(*place)}.{name}", rule, listed)


def _action_path(event: int, act: int) -> str:
    return f"$.events[{event}].acts[{act}]"


def _action_path_of_row(events: list[Event], table: str, number: int) -> str:
    """Return the JSON path of the action that is the row of this number in its table."""
    acts = (
        (n, place, act) for n, event in enumerate(events) for place, act in enumerate(event.acts)
    )
    paths = (_action_path(n, place) for n, place, act in acts if TABLE_OF[type(act)] == table)
    return next(islice(paths, number, None))


def _check_event_without_text(event: Event, number: int) -> None:
    """Raise an error if an event without a text has no action, or has fields of a text."""
    if not event.acts:
        raise invalid_document_error(
            f"$.events[{number}]", "an event has a text, or acts, or both", "neither"
        )
    for name, unsaid in _OF_TEXT.items():
        if getattr(event, name) != unsaid:
            rule = f"only an event with a text has {', '.join(_OF_TEXT)}"
            raise invalid_document_error(f"$.events[{number}].{name}", rule, "it has no text")


def _add_action_rows_to_game(
    game: GameRecord, rows: RowsByTable, around: GameContext, document: Document
) -> None:
    """Add the rows to the game, with their derived values."""
    for table, of_table in sorted(rows.items()):
        for row, values in zip(
            of_table, derive_omittable_fields(table, of_table, around), strict=True
        ):
            for name, value in values.items():
                if row[name] is UNSET:
                    row[name] = value
        _check_no_repeated_action(table, of_table, document.events)
        for number, row in enumerate(of_table if table == "proposals" else ()):
            if (row["party_seat"] or 0) > len(around.seats):
                json_path = f"{_action_path_of_row(document.events, table, number)}.party_seat"
                raise invalid_document_error(
                    json_path, f"a seat is one of {len(around.seats)}", str(row["party_seat"])
                )
        made = [_build_event(table, row) for row in of_table]
        if table in OWN_TABLES:
            game.events[table] = made
        else:
            getattr(game, table).extend(made)


def _check_no_repeated_action(
    table: str, of_table: list[dict[str, Any]], events: list[Event]
) -> None:
    """Raise InvalidDocumentError if a player repeats an action in the same round."""
    names, parts = KEYS[table], [of_table]
    if table == "role_analyses":  # each measure of an act is a row of its own
        parts = [[row for row in of_table if row[kind] is not None] for kind in AnalysisKind]
    for rows in parts:
        keys = list(map(itemgetter(*names), rows))
        if len(set(keys)) < len(keys):
            second = rows[next(n for n, key in enumerate(keys) if key in keys[:n])]
            rule = f"no two rows have one {', '.join(names)}"
            has = f"{rule} ({', '.join(f'{name} {second[name]}' for name in names)})"
            if "round" in names:
                has += (
                    ": if the game repeated it, as in a run-off, state the last, which the game "
                    "counted, or give the others a round of their own"
                )
            number = next(n for n, row in enumerate(of_table) if row is second)
            raise invalid_document_error(
                _action_path_of_row(events, table, number), f"the contract of {table}: {rule}", has
            )


def _build_event(table: str, row: dict[str, Any]) -> GameEvent:
    if table in REGISTERED:
        registered = REGISTERED[table]
        row["is_logged"] = row[registered] is not UNSET
        if not row["is_logged"]:
            row[registered] = None
    elif row.get("secret") is UNSET:
        rule = "a guess has its secret, or the setting has the word"
        raise invalid_document_error("$.setting.code", rule, "neither has it")
    return TABLES[table].event(**row)


def _check_and_build_stated_results(
    stated_results: list[Any], game: GameRecord, kind: GameDefinition
) -> list[Result]:
    """Return the stated results; raise an error unless they cover the sides under test."""
    for number, result in enumerate(stated_results):
        json_path = f"$.results[{number}]"
        if kind.role(result.role) is None:
            raise invalid_document_error(
                f"{json_path}.role", f"the role is one of {kind.name}", repr(result.role)
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
        Counter(map(_side, results)) for results in (stated_results, game.results)
    )
    if stated_sides != derived_sides:
        rule = "there is one result for each side under test, by model, role and seat"
        missing = ", ".join(map(str, derived_sides - stated_sides)) or "none"
        surplus = ", ".join(map(str, stated_sides - derived_sides)) or "none"
        raise invalid_document_error("$.results", rule, f"missing: {missing}; surplus: {surplus}")
    return [Result(**asdict(result)) for result in stated_results]
