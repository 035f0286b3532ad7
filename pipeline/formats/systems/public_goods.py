"""Logs of lechmazur's `goods` and `pgg_bench`: an event a line, of one game of the Public Good.

In `goods` nobody says a word; in `pgg_bench` players talk and punish one another. Players put in by
a number alone, so contributions and punishments have no messages. See docs/formats/goods.md and
docs/formats/pgg_bench.md. A position such as `$[3].round` is in the line of that number, counted
from 0 without blank lines.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from math import floor
from typing import Annotated, Any, NamedTuple, TypeVar, cast, get_args

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field
from msgspec.structs import asdict

from pipeline.archives.splitting import (
    Splitter,
    is_multiline_json,
    iter_json_values,
    iter_lines,
    read_whole_file,
)
from pipeline.formats.record_builder import (
    ContributedAmount,
    LoggedMessage,
    add_round_totals,
    build_messages,
    check_players,
    find_target,
    has_highest_score,
    parse_usage,
    results_of_tested_seats,
    sum_usages,
)
from pipeline.formats.sniffer import (
    UNDECODABLE,
    DocumentSniffer,
    build_ignoring_truncated_last_line,
    decode,
    invalid_document_error,
    parse_truncated_object,
)
from pipeline.game_record import GameRecord, JsonValue, RecordError, Seat, Transfer, Usage
from pipeline.vocabulary import PLAYER, GameType, Outcome

TALK = "talk"


Round = Annotated[int, Meta(ge=1, le=1_000_000)]
Tokens = Any  # `tokens` reads it: of an act that it cannot read the game is kept


class Settings(Struct, gc=False, kw_only=True):
    """The values that are fixed before play, with the names of `games.setting`."""

    rounds: Round = field(name="total_rounds")
    players: Annotated[int, Meta(ge=1)] = field(name="num_players")
    multiplier: float
    starting_amount: float
    version: str | UnsetType = UNSET
    enable_public_messages: bool | UnsetType = UNSET
    enable_punishments: bool | UnsetType = UNSET
    anonymous_punishments: bool | UnsetType = UNSET
    punish_ratio: float | UnsetType = UNSET
    punish_max_spend: float | UnsetType = UNSET
    punish_max_fraction: float | UnsetType = UNSET
    punish_max_absolute: float | UnsetType = UNSET


class Player(Struct, gc=False):
    """A player of a game."""

    short_label: str
    model_name: str | None = None


class Line(Struct, gc=False, kw_only=True, tag_field="type"):
    """A line of the log, with its type."""

    game_id: int | str


class Init(Line, gc=False, tag="init"):
    """The line with the settings and the players."""

    settings: Settings
    short_name_map: dict[str, Player]


class Message(Line, gc=False, tag="public_message"):
    """A message of a player."""

    round: Round
    player_id: str
    message: str | None
    response_time_s: Any = None


class Contribution(Line, gc=False, tag="contribution"):
    """A contribution of a player in a round."""

    round: Round
    player_id: str
    contribution: Tokens = None
    response_time_s: Any = None


class Punishment(Line, gc=False, tag="punishment"):
    """A punishment of a player by another player."""

    round: Round
    punisher_id: str
    target_id: Any = None
    punisher_spend: Tokens = None
    target_damage: Tokens = None
    response_time_s: Any = None


class Final(Line, gc=False, tag="final"):
    """The line with the final balances."""

    final_tokens: dict[str, float]


class Distribution(Line, gc=False, tag="fund_distribution"):
    """A line with values that follow from contributions."""


class RoundEnd(Line, gc=False, tag="round_end"):
    """A line with values that follow from all other lines."""


class _Type(Struct, gc=False):
    """The type of a line."""

    type: str


T = TypeVar("T", bound=Line)

_KEY = "short_name_map"
_INIT = Raw(b'"init"')
_Event = Init | Message | Contribution | Punishment | Final | Distribution | RoundEnd
_EVENT: msgspec.json.Decoder[Line] = msgspec.json.Decoder(_Event)
_KINDS = tuple(str(kind.__struct_config__.tag) for kind in get_args(_Event))


class _System(NamedTuple):
    """One of the two formats, which differ in whether the log has a setting for punishments."""

    NAME: str
    punishes: bool
    splitter: Callable[[str, bytes], Splitter | None] | None
    NAMES_MODELS: bool = True

    def claims(self, sniffer: DocumentSniffer) -> bool:
        """Return whether the first line is that of a game of this system."""
        if (
            sniffer.first != "{"
            or _KEY not in sniffer.keys
            or not {"type", "settings"} & sniffer.keys
        ):
            return False
        if sniffer.top.get("type", _INIT) != _INIT:
            return False
        return ("enable_punishments" in sniffer.within("settings")) == self.punishes

    def read(self, sniffer: DocumentSniffer, model: str | None) -> GameRecord:
        """Read the game; raise InvalidDocumentError if it breaks a rule."""
        # What is wrong with the game, as two ends, is no line that was cut.
        return _read_game(build_ignoring_truncated_last_line(Log, sniffer.data), self.NAME)


def _splitter(path: str, head: bytes) -> Splitter | None:
    """Return the splitter for a whole file of either system, known by its first line."""
    first = parse_truncated_object(head) if _KEY.encode() in head else {}
    is_init = _KEY in first and not first.keys().isdisjoint({"type", "settings"})
    return read_whole_file if is_init and first.get("type") in ("init", None) else None


# Only one format may ask for a file, so one does it for both.
FORMATS = (_System("goods", False, _splitter), _System("pgg_bench", True, None))


class Log:
    """The events of a claimed document; raises InvalidDocumentError for an invalid line."""

    def __init__(self, data: bytes) -> None:
        self.faults: list[RecordError] = []
        lines = self._parse_lines(data)
        self._events = events = defaultdict[type, list[tuple[int, Line | None]]](list)
        for number, line in enumerate(lines):
            events[type(line)].append((number, line))
        (_, self.init), *others = self.events_of_type(Init)
        if others:
            raise invalid_document_error(
                json_path(others[0][0]), "a log is of one game", "a second `init`"
            )
        for number, line in enumerate(lines):
            if line is not None and line.game_id != self.init.game_id:
                raise invalid_document_error(
                    json_path(number, "game_id"), "a log is of one game", repr(line.game_id)
                )
        # By their labels, P1 before P10, as the keys of an object have no order.
        listed = sorted(
            self.init.short_name_map.items(),
            key=lambda one: (len(one[1].short_label), one[1].short_label),
        )
        self.players = [player for _, player in listed]
        # The seats and labels of players by their ids.
        self.seats = {name: number for number, (name, _) in enumerate(listed, 1)}
        self.labels = {name: player.short_label for name, player in listed}
        where, n_players = json_path(0, _KEY), len(listed)
        check_players([player.short_label for player in self.players], where)
        if n_players != self.init.settings.players:
            rule = "there are as many players as the settings say"
            raise invalid_document_error(where, rule, f"{n_players} players")
        if len(lines) == 1:
            rule = "a log goes on after its `init`, which is the first line of its file"
            raise invalid_document_error(json_path(0), rule, "nothing follows it in this document")

    def events_of_type(self, kind: type[T]) -> list[tuple[int, T]]:
        """Return the events of one type in order, each with its line number."""
        return cast("list[tuple[int, T]]", self._events.get(kind, []))

    def parse_seat(self, player: str, number: int, name: str = "player_id") -> int:
        """Return the seat of the player whose id is in a field of a line.

        Raises InvalidDocumentError for a player without a seat.
        """
        seat = self.seats.get(player)
        if seat is None:
            raise invalid_document_error(
                json_path(number, name), "every player who acts has a seat", repr(player)
            )
        return seat

    def parse_tokens(self, value: Any, number: int, name: str) -> float | None:
        """Return the number of tokens in a field; None, and an error, for an invalid number."""
        if type(value) in (int, float) and 0 <= value < 1e300:
            return float(value)
        rule = "an amount is a number of tokens, 0 or more"
        self.faults.append(RecordError(json_path(number, name), rule, repr(value)[:50]))
        return None

    def _parse_lines(self, data: bytes) -> Sequence[Line | None]:
        """Return the lines that are not blank; None for a line of unknown type."""
        try:
            events = _EVENT.decode_lines(data)
        except UNDECODABLE:
            events = []
        # All at once is quicker; but it takes an object in several lines for one, too.
        cut = iter_json_values if is_multiline_json(data[: 1 << 12]) else iter_lines
        if (events and cut is iter_json_values) or len(events) == data.count(b"\n") + (
            data[-1:] != b"\n"
        ):
            return events
        parts = enumerate(cut(iter((data,)), len(data)))
        return [self._parse_event(part.data or b"", number) for number, part in parts]

    def _parse_event(self, line: bytes, number: int) -> Line | None:
        kind = decode(_Type, line, json_path(number)).type
        if kind in _KINDS:
            return decode(_EVENT, line, json_path(number))
        rule = f"an event is one of {', '.join(_KINDS)}"
        self.faults.append(RecordError(json_path(number, "type"), rule, repr(kind)))
        return None


def json_path(number: int, name: str = "") -> str:
    """Return the JSON path of a line, or of a field of it."""
    return f"$[{number}].{name}" if name else f"$[{number}]"


def _read_game(log: Log, system: str) -> GameRecord:
    puts, transfers = _read_contributions(log), list(_read_punishments(log))
    scores = _final_scores(log, puts, transfers)
    of_seats: Sequence[float | None] = scores or [None] * len(log.players)
    spoken = [
        LoggedMessage(
            log.players[log.parse_seat(line.player_id, number) - 1].short_label,
            line.message or "",
            TALK,
            line.round,
            msg_type="public_message",
        )
        for number, line in log.events_of_type(Message)
    ]
    setting: dict[str, JsonValue] = {
        name: value for name, value in asdict(log.init.settings).items() if value is not UNSET
    }
    seats = [
        Seat(
            player.short_label,
            player.model_name or None,
            PLAYER,
            is_tested=True,
            final_score=score,
        )
        for player, score in zip(log.players, of_seats, strict=True)
    ]
    # The seconds that each seat took to talk, to put in and to punish.
    calls: dict[int, list[Usage]] = {number: [] for number in log.seats.values()}
    for player, number, line in (
        *((line.player_id, n, line) for n, line in log.events_of_type(Message)),
        *((line.player_id, n, line) for n, line in log.events_of_type(Contribution)),
        *((line.punisher_id, n, line) for n, line in log.events_of_type(Punishment)),
    ):
        used = parse_usage(line, {"seconds": "response_time_s"}, json_path(number), log.faults)
        calls[log.seats[player]].append(used)
    built = GameRecord(
        game_type=GameType.PUBLIC_GOOD,
        system=system,
        format=system,
        setting=setting,
        is_finished=scores is not None,
        outcome=None if scores is None else Outcome.COMPLETED,
        n_rounds=log.init.settings.rounds,
        seats=seats,
        messages=build_messages(spoken, seats),
        contributions=add_round_totals(puts, len(seats)),
        transfers=transfers,
        usage=[sum_usages(of_seat) for of_seat in calls.values()],
        faults=log.faults,
    )
    wins = has_highest_score([seat.final_score for seat in seats])
    built.results = results_of_tested_seats(built, dict(enumerate(wins, start=1)))
    return built


def _final_scores(
    log: Log, puts: list[ContributedAmount], transfers: list[Transfer]
) -> list[float] | None:
    """Return the final balance of each seat, or None if one is unknown, as in an unfinished game.

    Balances are logged by model, of several seats of one model the last. Those of a game with such
    seats are worked out, and known if the log says the same as far as it goes.
    """
    finals = log.events_of_type(Final)
    if not finals:
        return None
    (number, final), *others = finals
    if others:
        raise invalid_document_error(
            json_path(others[0][0]), "a game ends once", "a second `final`"
        )
    # JSON has no key null, so that it has the name of one.
    models = ["null" if one.model_name is None else one.model_name for one in log.players]
    logged = final.final_tokens
    if logged.keys() != set(models):
        rule = "each player's model has a balance"
        raise invalid_document_error(json_path(number, "final_tokens"), rule, ", ".join(logged))
    if len(logged) == len(models):
        return [logged[model] for model in models]
    balances = _final_balances(log, puts, transfers)
    if balances and set(zip(models, balances, strict=True)) >= set(logged.items()):
        return balances
    rule = "balances of several players of one model follow from what each put in"
    log.faults.append(
        RecordError(json_path(number, "final_tokens"), rule, "they do not: who won is not known")
    )
    return None


def _final_balances(
    log: Log, puts: list[ContributedAmount], transfers: list[Transfer]
) -> list[float] | None:
    """Return each seat's balance at the end, or None if an amount is missing.

    The pool is multiplied, and each gets the same whole number of it; the rest stays in it.
    """
    settings, left = log.init.settings, 0.0
    held = [settings.starting_amount] * len(log.players)
    for round_ in range(1, settings.rounds + 1):
        amounts = {seat: amount for seat, of, amount, _ in puts if of == round_}
        if len(amounts) < len(held) or None in amounts.values():
            return None
        put_in = [amounts[seat] or 0 for seat in range(1, len(held) + 1)]
        each, left = divmod(floor((left + sum(put_in)) * settings.multiplier), len(held))
        held = [tokens - amount + each for tokens, amount in zip(held, put_in, strict=True)]
    seats = {player.short_label: number for number, player in enumerate(log.players)}
    for transfer in transfers:
        if None in (transfer.amount, transfer.cost, transfer.target):
            return None
        held[transfer.seat - 1] -= transfer.cost or 0
        held[seats[transfer.target or ""]] += transfer.amount or 0
    return held


def _read_contributions(log: Log) -> list[ContributedAmount]:
    lines, seats = log.events_of_type(Contribution), log.seats
    puts: list[ContributedAmount] = [
        (
            seats.get(put.player_id) or log.parse_seat(put.player_id, n),
            put.round,
            log.parse_tokens(put.contribution, n, "contribution"),
            None,
        )
        for n, put in lines
    ]
    if len({put[:2] for put in puts}) < len(puts):
        known = set[tuple[int, int]]()
        for (number, _), (seat, round_, *_) in zip(lines, puts, strict=True):
            if (seat, round_) in known:
                raise invalid_document_error(
                    json_path(number), "a player puts in once a round", f"round {round_}, again"
                )
            known.add((seat, round_))
    return puts


def _read_punishments(log: Log) -> Iterator[Transfer]:
    """Return the punishments: points that a seat takes from another at a cost of its own."""
    numbers: defaultdict[tuple[int, int], int] = defaultdict(int)
    for number, line in log.events_of_type(Punishment):
        seat = log.parse_seat(line.punisher_id, number, "punisher_id")
        numbers[seat, line.round] += 1
        damage = log.parse_tokens(line.target_damage, number, "target_damage")
        yield Transfer(
            seat,
            line.round,
            None,
            number=numbers[seat, line.round],
            target=find_target(
                line.target_id, log.labels, json_path(number, "target_id"), log.faults
            ),
            kind="punishment",
            amount=None if damage is None else -damage,
            cost=log.parse_tokens(line.punisher_spend, number, "punisher_spend"),
        )
