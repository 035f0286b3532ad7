"""The lines of a log of `goods` or `pgg_bench`: an event each, of one game of the Public Good.

A position such as `$[3].round` is in the line of that number, counted from 0 without blank lines.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar, cast, get_args

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from pipeline.archives.splitting import Splitter, is_spread, lines, values, whole
from pipeline.formats.broken import broken, decode
from pipeline.formats.look import Look, begun
from pipeline.formats.players import check_players, target
from pipeline.game import Fault

Round = Annotated[int, Meta(ge=1, le=1_000_000)]
Tokens = Any  # `tokens` reads it: of an act that it cannot read the game is kept


class Settings(Struct, gc=False, kw_only=True):
    """What is fixed before play, by the names that `games.setting` has."""

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
    short_label: str
    model_name: str | None = None

    @property
    def balance_key(self) -> str:
        """What its model is called where balances are logged, as JSON has no key null."""
        return "null" if self.model_name is None else self.model_name


class Line(Struct, gc=False, kw_only=True, tag_field="type"):
    game_id: int | str


class Init(Line, gc=False, tag="init"):
    settings: Settings
    short_name_map: dict[str, Player]


class Message(Line, gc=False, tag="public_message"):
    round: Round
    player_id: str
    message: str | None
    response_time_s: Any = None


class Contribution(Line, gc=False, tag="contribution"):
    round: Round
    player_id: str
    contribution: Tokens = None
    response_time_s: Any = None


class Punishment(Line, gc=False, tag="punishment"):
    round: Round
    punisher_id: str
    target_id: Any = None
    punisher_spend: Tokens = None
    target_damage: Tokens = None
    response_time_s: Any = None


class Final(Line, gc=False, tag="final"):
    final_tokens: dict[str, float]


class Distribution(Line, gc=False, tag="fund_distribution"):
    """What it says follows from contributions."""


class RoundEnd(Line, gc=False, tag="round_end"):
    """What it says follows from all other lines."""


class _Type(Struct, gc=False):
    type: str


T = TypeVar("T", bound=Line)

_KEY = "short_name_map"
# Three letters of the key, which are found eight times as fast as all, in every file there is; and
# how each escape of one of its letters begins.
_OF_KEY = (b"t_n", b"\\u00")
_INIT = Raw(b'"init"')
_HEAD_BYTES = 1 << 12
_TOO_MANY = 1e300
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_UNDECODABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_TYPE = msgspec.json.Decoder(_Type)
_Event = Init | Message | Contribution | Punishment | Final | Distribution | RoundEnd
_EVENT: msgspec.json.Decoder[Line] = msgspec.json.Decoder(_Event)
_KINDS = tuple(str(kind.__struct_config__.tag) for kind in get_args(_Event))


def opens(look: Look, *, punishes: bool) -> bool:
    """Whether the first line is that of a game with, or without, a setting for punishments."""
    if look.first != "{" or _KEY not in look.keys or not {"type", "settings"} & look.keys:
        return False
    if look.top.get("type", _INIT) != _INIT:
        return False
    return ("enable_punishments" in look.within("settings")) == punishes


def splitter(path: str, head: bytes) -> Splitter | None:
    """The whole file, of either system: known by what its first line begins with.

    An escaped key is looked for in this line alone: nobody escapes letters and spreads the object.
    """
    written, escaped = _OF_KEY
    is_written = written in head and _KEY.encode() in head
    if not is_written and head.find(escaped, 0, head.find(b"\n")) < 0:
        return None
    first = begun(head)
    is_init = _KEY in first and not first.keys().isdisjoint({"type", "settings"})
    return whole if is_init and first.get("type") in ("init", None) else None


class Log:
    """The events of a document that `opens` so. Raises BrokenDocument for a broken line."""

    def __init__(self, data: bytes) -> None:
        self.faults: list[Fault] = []
        lines = self._read(data)
        self._events = events = defaultdict[type, list[tuple[int, Line | None]]](list)
        for number, line in enumerate(lines):
            events[type(line)].append((number, line))
        self.init = self._one_init()
        _check_one_game(lines, self.init.game_id)
        # By their labels, P1 before P10, as the keys of an object have no order.
        listed = sorted(self.init.short_name_map.items(), key=_by_label)
        self.players = [player for _, player in listed]
        # The seats and labels of players by their ids.
        self.seats = {name: number for number, (name, _) in enumerate(listed, 1)}
        self.labels = {name: player.short_label for name, player in listed}
        self._check_players()
        if len(lines) == 1:
            rule = "a log goes on after its `init`, which is the first line of its file"
            raise broken(at(0), rule, "nothing follows it in this document")

    def of(self, kind: type[T]) -> list[tuple[int, T]]:
        """The events of one type in their order, each with the number of its line."""
        return cast("list[tuple[int, T]]", self._events.get(kind, []))

    def seat(self, player: str, number: int, name: str = "player_id") -> int:
        """The seat of a player by its id, a field of a line. Raises BrokenDocument for no seat."""
        seat = self.seats.get(player)
        if seat is None:
            raise broken(at(number, name), "every player who acts has a seat", repr(player))
        return seat

    def label(self, player: str, number: int) -> str:
        """What players call a player who acts, such as `P1`. Raises BrokenDocument for no seat."""
        return self.players[self.seat(player, number) - 1].short_label

    def target(self, player: Any, number: int) -> str | None:
        """What players call the player whom a line aims at; null, and a fault, for no player."""
        return target(player, self.labels, at(number, "target_id"), self.faults)

    def tokens(self, value: Any, number: int, name: str) -> float | None:
        """A number of tokens, a field of a line; null, and a fault, for what is none."""
        if type(value) in (int, float) and 0 <= value < _TOO_MANY:
            return float(value)
        rule = "an amount is a number of tokens, 0 or more"
        self.faults.append(Fault(at(number, name), rule, repr(value)[:50]))
        return None

    def _read(self, data: bytes) -> Sequence[Line | None]:
        """The lines that are not blank, null for one of an unknown type."""
        try:
            events = _EVENT.decode_lines(data)
        except _UNDECODABLE:
            events = []
        # All at once is quicker; but it takes an object in several lines for one, too.
        cut = values if is_spread(data[:_HEAD_BYTES]) else lines
        if (events and cut is values) or len(events) == data.count(b"\n") + (data[-1:] != b"\n"):
            return events
        parts = enumerate(cut(iter((data,)), len(data)))
        return [self._event(part.data or b"", number) for number, part in parts]

    def _event(self, line: bytes, number: int) -> Line | None:
        kind = decode(_TYPE, line, at(number)).type
        if kind in _KINDS:
            if line.count(b'"type"') > 1:
                # Of a key that comes twice the last counts, but a decoder of types refuses it.
                line = msgspec.json.encode(decode(_OBJECT, line, at(number)))
            return decode(_EVENT, line, at(number))
        rule = f"an event is one of {', '.join(_KINDS)}"
        self.faults.append(Fault(at(number, "type"), rule, repr(kind)))
        return None

    def _one_init(self) -> Init:
        (_, first), *others = self.of(Init)
        if others:
            raise broken(at(others[0][0]), "a log is of one game", "a second `init`")
        return first

    def _check_players(self) -> None:
        where, n_players = at(0, "short_name_map"), len(self.players)
        check_players([player.short_label for player in self.players], where)
        if n_players != self.init.settings.players:
            rule = "there are as many players as the settings say"
            raise broken(where, rule, f"{n_players} players")


def _by_label(listed: tuple[str, Player]) -> tuple[int, str]:
    label = listed[1].short_label
    return len(label), label


def _check_one_game(lines: Sequence[Line | None], game_id: int | str) -> None:
    """Raises BrokenDocument for a line of another game."""
    for number, line in enumerate(lines):
        if line is not None and line.game_id != game_id:
            raise broken(at(number, "game_id"), "a log is of one game", repr(line.game_id))


def at(number: int, name: str = "") -> str:
    """The position of a line, or of a field of it."""
    return f"$[{number}].{name}" if name else f"$[{number}]"
