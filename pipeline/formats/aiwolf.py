"""Game logs of AIWolf's contests: one event a line, `day,event,` and the event's values.

Each day begins with a line `status` for each player, and the last line is the `result`. Teams stand
where models would: each builds its agent as it likes, so the model is the name of the team.
"""

import re
import sys
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from pipeline.archives.splitting import Splitter, whole
from pipeline.formats.broken import broken
from pipeline.formats.look import Look
from pipeline.formats.players import check_players
from pipeline.formats.village import ATTACKED, EXECUTED, KNOWN_ROLE, Village, role_of
from pipeline.game import BrokenDocument, Fault, Game, Seat

NAME = "aiwolf"
SYSTEM = "aiwolf"
VERSION = "1"
NAMES_MODELS = True

# Whispers are stored with those who hear them. The largest contest has 13 players.
MOST_PLAYERS = 100
_BEGINNING = re.compile(rb"[0-9]{1,4},status,[0-9]{1,4},[A-Z]+,")
_NUMBER = re.compile(r"[0-9]{1,4}|-1")
_NOBODY = -1
# A status without the player's name.
_NAMELESS = 4
_IS_LIVING = {"ALIVE": True, "DEAD": False}
_IS_KILLED = {"true": True, "false": False}
_FINDINGS = {"HUMAN": "human", "WEREWOLF": "werewolf"}
_OUTCOMES = {"VILLAGER": "villagers_won", "WEREWOLF": "werewolves_won", "NONE": None}


class Line(NamedTuple):
    """One line: its place from 0, its day, its event, and the event's values."""

    at: int
    day: int
    event: str
    values: list[str]

    def fault(self, rule: str) -> Fault:
        """What to report where this line breaks a rule, or cannot be used."""
        text = ",".join([str(self.day), self.event, *self.values])
        return Fault(f"$[{self.at}]", rule, f"line {self.at + 1:,}: {text[:80]!r}")

    def broken(self, rule: str) -> BrokenDocument:
        """The error to raise where no game can be read because of this line."""
        return BrokenDocument(self.fault(rule))

    def number(self, place: int) -> int:
        """The value at a place, a number."""
        value = self.values[place]
        if not _NUMBER.fullmatch(value):
            raise self.broken(f"value {place + 1} of `{self.event}` is a number")
        return int(value)

    def word(self, place: int, words: Collection[str]) -> str:
        """The value at a place, one of some words."""
        value = self.values[place]
        if value not in words:
            raise self.broken(f"value {place + 1} of `{self.event}` is one of {', '.join(words)}")
        return value


class _Play:
    """A game line by line: a method for each event."""

    def __init__(self, seats: list[Seat]) -> None:
        self.seats = seats
        self.village = Village(seats)
        self.executed: dict[int, str] = {}
        self.last_day = 0
        self.outcome: str | None = None
        self.ended_by: str | None = None

    def status(self, line: Line) -> None:
        """Compares what the log says of a player with what happened so far."""
        is_living = _IS_LIVING.get(line.values[2])
        if is_living is None:
            self.doubt(line, "a status is ALIVE or DEAD")
        elif is_living is not self.village.is_in(self.actor(line)):
            self.doubt(line, "a player is DEAD once executed or attacked, and ALIVE before")

    def talk(self, line: Line) -> None:
        self.last_day = max(self.last_day, line.day)
        self.village.say(self.actor(line, 2), line.values[3], line.day, line.number(1))

    def whisper(self, line: Line) -> None:
        self.village.whisper(self.actor(line, 2), line.values[3], line.day, line.number(1))

    def vote(self, line: Line) -> None:
        self.last_day = max(self.last_day, line.day)
        self.village.vote(self.actor(line), self.player(line, 1), line.day)

    def attack_vote(self, line: Line) -> None:
        self.village.use(self.actor(line), "attack_vote", self.player(line, 1), line.day)

    def divine(self, line: Line) -> None:
        finding = _FINDINGS[line.word(2, _FINDINGS)]
        self.village.use(self.actor(line), "divine", self.player(line, 1), line.day, finding)

    def guard(self, line: Line) -> None:
        """Adds a guard; the role is the log's remark, which the bodyguard does not learn."""
        self.village.use(self.actor(line), "guard", self.player(line, 1), line.day)

    def execute(self, line: Line) -> None:
        self.executed[line.day] = self.actor(line)
        self.eliminate(line, EXECUTED)

    def attack(self, line: Line) -> None:
        is_killed = _IS_KILLED[line.word(1, _IS_KILLED)]
        target = self.player(line, 0)
        if target is not None:
            self.village.attack(target, line.day)
            if is_killed:
                self.eliminate(line, ATTACKED)

    def result(self, line: Line) -> None:
        winner = line.word(2, _OUTCOMES)
        self.outcome = _OUTCOMES[winner]
        self.ended_by = None if self.outcome else winner
        living = [self.village.n_living(wolves=wolves) for wolves in (False, True)]
        if [line.number(0), line.number(1)] != living:
            self.doubt(line, f"{living[0]} villagers and {living[1]} werewolves are left")

    def eliminate(self, line: Line, cause: str) -> None:
        if not self.village.is_in(self.actor(line)):
            raise line.broken("a player is executed or attacked once")
        self.village.eliminate(self.actor(line), line.day, cause)

    def identify(self) -> None:
        """Adds what a medium learns as the next day breaks: whether the executed was a werewolf.

        The log has no line for it, and the server tells it to every medium still in the game.
        """
        out = {self.seats[one.seat - 1].player: one.round for one in self.village.eliminations}
        roles = {seat.player: seat.role for seat in self.seats}
        for day, executed in self.executed.items():
            finding = "werewolf" if roles[executed] == "werewolf" else "human"
            for player, role in roles.items():
                if role == "medium" and day < min(out.get(player, self.last_day), self.last_day):
                    self.village.use(player, "identify", executed, day, finding)

    def doubt(self, line: Line, rule: str) -> None:
        self.village.faults.append(line.fault(rule))

    def player(self, line: Line, place: int) -> str | None:
        """The player whose seat is the value at a place; None for nobody."""
        number = line.number(place)
        if number == _NOBODY:
            return None
        if not 1 <= number <= len(self.seats):
            raise line.broken(f"a seat is a number from 1 to {len(self.seats)}")
        return self.seats[number - 1].player

    def actor(self, line: Line, place: int = 0) -> str:
        """The player who does what the line says, or to whom it happens."""
        player = self.player(line, place)
        if player is None:
            raise line.broken(f"value {place + 1} of `{line.event}` is a player's seat")
        return player


# Each event's values, and what is made of them. The last value may have commas in it.
_EVENTS: dict[str, tuple[int, Callable[[_Play, Line], None]]] = {
    "status": (5, _Play.status),
    "talk": (4, _Play.talk),
    "whisper": (4, _Play.whisper),
    "vote": (2, _Play.vote),
    "attackVote": (2, _Play.attack_vote),
    "divine": (3, _Play.divine),
    "guard": (3, _Play.guard),
    "execute": (2, _Play.execute),
    "attack": (2, _Play.attack),
    "result": (3, _Play.result),
}


def splitter(path: str, head: bytes) -> Splitter | None:
    """A file is one game."""
    return whole if _BEGINNING.match(head) else None


def claims(look: Look) -> bool:
    return _BEGINNING.match(look.data) is not None


def read(look: Look, model: str | None) -> Game:
    """The game; without a result it is unfinished."""
    lines = list(_lines(_text(look.data)))
    play = _Play(_seats(lines))
    unknown: set[str] = set()
    for line in lines:
        if line.event in _EVENTS:
            _EVENTS[line.event][1](play, line)
        elif line.event not in unknown:
            unknown.add(line.event)
            play.doubt(line, f"an event is one of {', '.join(_EVENTS)}")
    play.identify()
    origin = sys.modules[__name__]
    return play.village.game(
        origin, outcome=play.outcome, n_rounds=play.last_day, ended_by=play.ended_by
    )


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        where = f"byte 0x{data[error.start]:02x} at position {error.start:,} is not UTF-8"
        raise broken("$", "the document is text in UTF-8", where) from error


def _lines(text: str) -> Iterator[Line]:
    """The lines, without empty ones. Texts can hold signs that Python takes for ends of lines."""
    for at, row in enumerate(text.split("\n")):
        if not (row := row.removesuffix("\r")):
            continue
        day, _, rest = row.partition(",")
        event, _, rest = rest.partition(",")
        n_values = _EVENTS[event][0] if event in _EVENTS else 1
        values = rest.split(",", n_values - 1)
        line = Line(at, int(day) if _NUMBER.fullmatch(day) else _NOBODY, event, values)
        if line.day < 0 or not event:
            raise line.broken("every line begins with a day and an event")
        if len(values) < n_values and (event, len(values)) != ("status", _NAMELESS):
            raise line.broken(f"`{event}` has {n_values} values")
        yield line


def _seats(lines: list[Line]) -> list[Seat]:
    """The players, as the lines with which the first day begins list them."""
    seats: list[Seat] = []
    for line in lines:
        if (line.day, line.event) != (lines[0].day, "status"):
            break
        if line.number(0) != len(seats) + 1:
            raise line.broken("the players' seats are 1, 2, 3 and so on")
        role = role_of(line.values[1])
        if role is None:
            raise line.broken(KNOWN_ROLE)
        # Players without a name are called by their seats.
        name = [*line.values[_NAMELESS:], f"Agent[{len(seats) + 1:02}]"][0]
        seats.append(Seat(name, line.values[3] or None, role, is_tested=True))
    check_players([seat.player for seat in seats], "$", MOST_PLAYERS)
    if len(seats) == len(lines):
        raise lines[-1].broken("a log goes on after its players")
    return seats
