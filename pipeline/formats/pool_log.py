"""The lines of a log of `goods` or `pgg_bench`: an event each, of one game of the Public Good.

A position such as `$[3].round` is in the line of that number, counted from 0 without blank lines.
"""

import re
from collections.abc import Iterator
from typing import Annotated, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from pipeline.archives.splitting import Splitter, whole
from pipeline.formats.broken import broken, decode
from pipeline.formats.look import Look
from pipeline.formats.players import ModelName, check_players
from pipeline.game import Fault

Round = Annotated[int, Meta(ge=1, le=1_000_000)]
Tokens = Annotated[float, Meta(ge=0)]


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
    model_name: ModelName


class Line(Struct, gc=False, kw_only=True):
    game_id: int | str


class Init(Line, gc=False):
    settings: Settings
    short_name_map: dict[str, Player]


class Message(Line, gc=False):
    round: Round
    player_id: str
    message: str


class Contribution(Line, gc=False):
    round: Round
    player_id: str
    contribution: Tokens


class Punishment(Line, gc=False):
    round: Round
    punisher_id: str
    target_id: str
    punisher_spend: Tokens
    target_damage: Tokens


class Final(Line, gc=False):
    final_tokens: dict[str, float]


class _Type(Struct, gc=False):
    type: str


T = TypeVar("T", bound=Line)

_INIT = Raw(b'"init"')
_HEAD = re.compile(rb"\s{0,99}\{\"game_id\": ?[^,{}]{1,99}, ?\"type\": ?\"init\"")
_SETTINGS = msgspec.json.Decoder(dict[str, Raw])
_UNDECODABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_TYPE = msgspec.json.Decoder(_Type)
_KINDS: dict[str, type[Line]] = {
    "init": Init,
    "public_message": Message,
    "contribution": Contribution,
    "punishment": Punishment,
    "final": Final,
    # What these say follows from the others.
    "fund_distribution": Line,
    "round_end": Line,
}
_DECODERS = {name: msgspec.json.Decoder(kind) for name, kind in _KINDS.items()}


def opens(look: Look, *, punishes: bool) -> bool:
    """Whether the first line is that of a game with, or without, a setting for punishments."""
    top = look.top
    if "short_name_map" not in top or top.get("type") != _INIT:
        return False
    try:
        settings = _SETTINGS.decode(top.get("settings", Raw(b"{}")))
    except _UNDECODABLE:
        return False
    return ("enable_punishments" in settings) == punishes


def splitter(path: str, head: bytes) -> Splitter | None:
    """The whole file, of either system: known by how its first line begins."""
    return whole if _HEAD.match(head) else None


class Log:
    """The events of a document that `opens` so. Raises BrokenDocument for a broken line."""

    def __init__(self, data: bytes) -> None:
        self.faults: list[Fault] = []
        self._events: dict[type[Line], list[tuple[str, Line]]] = {}
        for at, line in self._read(data):
            self._events.setdefault(type(line), []).append((at, line))
        self.init = self._one_init()
        self.players = list(self.init.short_name_map.values())
        self._seats = {name: number for number, name in enumerate(self.init.short_name_map, 1)}
        self._check_players()

    def of(self, kind: type[T]) -> list[tuple[str, T]]:
        """The events of one type in their order, each with its position."""
        return [(at, line) for at, line in self._events.get(kind, []) if isinstance(line, kind)]

    def seat(self, player: str, at: str) -> int:
        """The seat of a player by its id. Raises BrokenDocument where it has none."""
        if player not in self._seats:
            raise broken(at, "every player who acts has a seat", repr(player))
        return self._seats[player]

    def label(self, player: str, at: str) -> str:
        """What players call a player in the game, such as `P1`."""
        return self.players[self.seat(player, at) - 1].short_label

    def _read(self, data: bytes) -> Iterator[tuple[str, Line]]:
        lines = filter(None, map(bytes.strip, data.split(b"\n")))
        for number, line in enumerate(lines):
            at = f"$[{number}]"
            kind = decode(_TYPE, line, at).type
            if kind in _DECODERS:
                yield at, decode(_DECODERS[kind], line, at)
            else:
                rule = f"an event is one of {', '.join(_DECODERS)}"
                self.faults.append(Fault(f"{at}.type", rule, repr(kind)))

    def _one_init(self) -> Init:
        (_, first), *others = self.of(Init)
        if others:
            raise broken(others[0][0], "a log is of one game", "a second `init`")
        for events in self._events.values():
            for at, line in events:
                if line.game_id != first.game_id:
                    raise broken(f"{at}.game_id", "a log is of one game", repr(line.game_id))
        return first

    def _check_players(self) -> None:
        at, n_players = "$[0].short_name_map", len(self.players)
        check_players([player.short_label for player in self.players], at)
        if n_players != self.init.settings.players:
            rule = "there are as many players as the settings say"
            raise broken(at, rule, f"{n_players} players")
