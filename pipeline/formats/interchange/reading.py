"""A document made into a game: rows of acts completed by what is derived, and rules checked."""

from collections.abc import Iterator
from functools import cache
from itertools import compress
from operator import attrgetter, ne
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict

from pipeline import games
from pipeline.formats.broken import broken
from pipeline.formats.building import Spoken, messages, results, team_results
from pipeline.formats.interchange.acts import ACTS, EVENTS, OWN_TABLES, REGISTERED, TABLE_OF
from pipeline.formats.interchange.derived import Around, derived
from pipeline.formats.interchange.document import Document, End, Event, Seat
from pipeline.formats.interchange.setting import check_setting
from pipeline.formats.players import check_players, unseated
from pipeline.formats.rows import EVERYONE, MODERATOR
from pipeline.game import Event as Row
from pipeline.game import GameRecord, Result
from pipeline.game import Seat as PlayedSeat
from pipeline.games.kind import GameKind
from pipeline.vocabulary import GameType, Phase

# Each table's rows, their fields by name, UNSET where the document leaves one out.
Rows: TypeAlias = "dict[str, list[dict[str, Any]]]"

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
_MODERATION, _OTHER = Phase.MODERATION, Phase.OTHER
# What is said of a text, with the values of an event that does not say it.
_OF_TEXT = {"phase": UNSET, "visible_to": EVERYONE, "turn": None, "msg_type": None}
_of_text, _UNSAID = attrgetter(*_OF_TEXT), tuple(_OF_TEXT.values())
_AGREEMENTS = {"agreed": True, "not_agreed": False}


def game_of(document: Document) -> GameRecord:
    """The game of a document; raises BrokenDocument where it breaks a rule."""
    kind = _kind(document.game_type)
    check_setting(document.setting)
    seats = _seats(document.seats, kind)
    end = document.end or End()
    if end.outcome is not None and kind.ending(end.outcome) is None:
        known = ", ".join(ending.outcome for ending in kind.endings)
        raise broken("$.end.outcome", f"an outcome of {kind.name} is one of {known}", end.outcome)
    numbers = {seat.player: number for number, seat in enumerate(seats, start=1)}
    rows = _rows(document.events, numbers, kind)
    n_rounds = document.n_rounds
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
        n_rounds=_last_round(document.events, rows) if n_rounds is UNSET else n_rounds,
        started_at=document.started_at,
        game_index=document.game_index,
        seats=seats,
        messages=messages(_spoken(document.events), seats),
    )
    _add_rows(game, rows, Around(numbers, game.word))
    given = document.results
    wins = [seat.is_win for seat in document.seats]
    game.results = derived_results(game, wins) if given is UNSET else _stated(given, game, kind)
    at_event = [number for number, event in enumerate(document.events) if event.text is not None]
    game.faults += unseated(game.messages.course, "$.events", at_event)
    return game


def derived_results(game: GameRecord, wins: list[bool | None]) -> list[Result]:
    """The results that follow from how the game ended and, without sides, from who won."""
    kind = games.kind(game.game_type)
    if kind.has_sides:
        truths = (guess.is_correct for guess in game.guesses)
        return team_results(game, kind, guess_is_correct=next(truths, None))
    agreed = None
    if game.game_type == GameType.COST_SHARING:
        agreed = _AGREEMENTS.get(game.outcome or "")
        wins = [agreed] * len(wins)
    tested = {n: wins[n - 1] for n, seat in enumerate(game.seats, start=1) if seat.is_tested}
    return [msgspec.structs.replace(one, agreed=agreed) for one in results(game, tested)]


def phase_of(event: Event) -> str:
    """What an event's text is if it does not say so: what its first act is."""
    if event.actor is None or event.actor == MODERATOR:
        return _MODERATION
    for act in event.acts:
        if (phase := _PHASE_OF.get(type(act))) is not None:
            return phase
    return _OTHER


def _kind(game_type: str) -> GameKind:
    known = games.names()
    if game_type not in known:
        rule = f"a game type is one of {', '.join(known)}, or of an installed package"
        raise broken("$.game_type", rule, repr(game_type))
    return games.kind(game_type)


def _seats(given: list[Seat], kind: GameKind) -> list[PlayedSeat]:
    check_players([seat.player for seat in given], "$.seats")
    roles = [role.name for role in kind.roles]
    seats = []
    for number, seat in enumerate(given):
        role = roles[0] if seat.role is UNSET and len(roles) == 1 else seat.role
        if role is UNSET or role not in roles:
            rule = f"a role of {kind.name} is one of {', '.join(roles)}"
            has = "there is none" if role is UNSET else repr(role)
            raise broken(f"$.seats[{number}].role", rule, has)
        if seat.is_win is not None and kind.has_sides:
            rule = "in a game with sides, the outcome says who won"
            raise broken(f"$.seats[{number}].is_win", rule, "a seat has it")
        is_tested = not seat.is_bot if seat.is_tested is UNSET else seat.is_tested
        played = PlayedSeat(seat.player, seat.model, role, is_tested, seat.score, seat.is_bot)
        seats.append(played)
    return seats


@cache
def _phases() -> frozenset[str]:
    return frozenset(map(str, games.phases()))


def _spoken(events: list[Event]) -> Iterator[Spoken]:
    known = _phases()
    for number, event in enumerate(events):
        if event.text is None:
            continue
        phase = event.phase
        if phase is UNSET:
            phase = phase_of(event)
        elif phase not in known:
            rule = f"a phase is one of {', '.join(sorted(known))}"
            raise broken(f"$.events[{number}].phase", rule, repr(phase))
        # By place: a document is made of these, and by name they take half as long again.
        yield Spoken(
            MODERATOR if event.actor is None else event.actor,
            event.text,
            phase,
            event.round,
            event.visible_to,
            event.turn,
            event.msg_type,
        )


def _rows(events: list[Event], numbers: dict[str, int], kind: GameKind) -> Rows:
    """The rows that acts are, by table, as far as they are stated."""
    rows: Rows = {}
    n_texts = 0
    for number, event in enumerate(events):
        index = None
        if event.text is None:
            _check_silent(event, number)
        else:
            index, n_texts = n_texts, n_texts + 1
        for place, act in enumerate(event.acts):
            table = TABLE_OF[type(act)]
            if (of_table := rows.get(table)) is None:
                _check_table(table, kind, _at(number, place))
                of_table = rows[table] = []
            row = asdict(act)
            player = row.pop("player")
            if player is UNSET:
                player = event.actor
            if (seat := numbers.get(player)) is None:
                raise broken(_at(number, place), "an act is by a player at the table", repr(player))
            if row["round"] is UNSET:
                row["round"] = event.round
            if row["round"] is None:
                rule = "an act has a round, its own or its event's"
                raise broken(_at(number, place), rule, "neither has one")
            row["seat"], row["message_index"] = seat, index
            of_table.append(row)
    return rows


def _check_table(table: str, kind: GameKind, at: str) -> None:
    """Raises BrokenDocument for a table that only games of another kind have."""
    if OWN_TABLES.get(table, kind.name) != kind.name:
        rule = f"an act is one of {kind.name}, or of all games"
        raise broken(f"{at}.act", rule, repr(table))


def _last_round(events: list[Event], rows: Rows) -> int:
    rounds = [event.round or 0 for event in events]
    for of_table in rows.values():
        rounds += [row["round"] for row in of_table]
    return max(rounds, default=0)


def _at(event: int, act: int) -> str:
    return f"$.events[{event}].acts[{act}]"


def _check_silent(event: Event, number: int) -> None:
    """Raises BrokenDocument for an event that says of a text what there is no text to say it of."""
    if not event.acts:
        raise broken(f"$.events[{number}]", "an event has a text, or acts, or both", "neither")
    said = _of_text(event)
    if said != _UNSAID:
        names = compress(_OF_TEXT, map(ne, said, _UNSAID))
        rule = f"only an event with a text has {', '.join(_OF_TEXT)}"
        raise broken(f"$.events[{number}].{next(names)}", rule, "it has no text")


def _add_rows(game: GameRecord, rows: Rows, around: Around) -> None:
    """Puts the rows into the game, each with what is derived for it."""
    for table, of_table in sorted(rows.items()):
        for row, values in zip(of_table, derived(table, of_table, around), strict=True):
            for name, value in values.items():
                if row[name] is UNSET:
                    row[name] = value
        made = [_event(table, row) for row in of_table]
        if table in OWN_TABLES:
            game.events[table] = made
        else:
            getattr(game, table).extend(made)


def _event(table: str, row: dict[str, Any]) -> Row:
    if table in REGISTERED:
        named = REGISTERED[table]
        row["is_logged"] = row[named] is not UNSET
        if not row["is_logged"]:
            row[named] = None
    elif row.get("secret") is UNSET:
        rule = "a guess has its secret, or the setting has the word"
        raise broken("$.setting.code", rule, "neither has it")
    return EVENTS[table](**row)


def _stated(given: list[Any], game: GameRecord, kind: GameKind) -> list[Result]:
    for number, one in enumerate(given):
        at = f"$.results[{number}]"
        if kind.role(one.role) is None:
            raise broken(f"{at}.role", f"the role is one of {kind.name}", repr(one.role))
        for name in ("seat", "first_choice_seat"):
            if (getattr(one, name) or 0) > len(game.seats):
                rule = f"a seat is one of {len(game.seats)}"
                raise broken(f"{at}.{name}", rule, str(getattr(one, name)))
        if (one.message_index or 0) >= max(len(game.messages), 1):
            raise broken(f"{at}.message_index", "it is that of a text", str(one.message_index))
    return [Result(**asdict(one)) for one in given]
