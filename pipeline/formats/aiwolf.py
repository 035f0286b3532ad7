"""Game logs of AIWolf's contests: one event a line, `day,event,` and the event's values.

Each day begins with a line `status` for each player, and the last line is the `result`. Teams stand
where models would: each builds its agent as it likes, so the model is the name of the team.
"""

import re
import sys
from collections.abc import Callable

from pipeline.archives.splitting import Splitter, whole
from pipeline.formats.aiwolf_log import ACTS, NAMELESS, NOBODY, Line, lines_of, text_of
from pipeline.formats.broken import but_for_a_cut_line
from pipeline.formats.look import Look
from pipeline.formats.players import check_players
from pipeline.formats.village import (
    ATTACKED,
    EXECUTED,
    KNOWN_ROLE,
    MOST_PLAYERS,
    Village,
    role_of,
)
from pipeline.game import BrokenDocument, Fault, GameRecord, Seat

NAME = SYSTEM = "aiwolf"
VERSION = "1"
NAMES_MODELS = True

_BEGINNING = re.compile(rb"\s*[0-9]{1,4},status,[0-9]{1,4},[A-Z]+,")
_IS_LIVING = {"ALIVE": True, "DEAD": False}
_IS_KILLED = {"true": True, "false": False}
_FINDINGS = {"HUMAN": "human", "WEREWOLF": "werewolf"}
_OUTCOMES = {"VILLAGER": "villagers_won", "WEREWOLF": "werewolves_won", "NONE": None}


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
        self.village.vote(self.actor(line), self.target(line), line.day)

    def attack_vote(self, line: Line) -> None:
        self.village.use(self.actor(line), "attack_vote", self.target(line), line.day)

    def divine(self, line: Line) -> None:
        finding = _FINDINGS[line.word(2, _FINDINGS)]
        self.village.use(self.actor(line), "divine", self.target(line), line.day, finding)

    def guard(self, line: Line) -> None:
        """Adds a guard; the role is the log's remark, which the bodyguard does not learn."""
        self.village.use(self.actor(line), "guard", self.target(line), line.day)

    def execute(self, line: Line) -> None:
        self.executed[line.day] = self.actor(line)
        self.eliminate(line, EXECUTED)

    def attack(self, line: Line) -> None:
        is_killed = _IS_KILLED[line.word(1, _IS_KILLED)]
        target = self.player(line, 0)
        if target is not None:
            self.village.attack(target, line.day, line.json_path)
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
        self.village.eliminate(self.actor(line), line.day, cause, line.json_path)

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

    def act(self, line: Line) -> None:
        """Adds what a player says or does; where the line cannot be read, a fault in its place."""
        try:
            _EVENTS[line.event](self, line)
        except BrokenDocument as error:
            self.village.faults.append(error.fault)

    def target(self, line: Line) -> str | None:
        """The player at whom an act is aimed; None for nobody, also where that cannot be read."""
        try:
            return self.player(line, 1)
        except BrokenDocument as error:
            self.village.faults.append(error.fault)
            return None

    def player(self, line: Line, place: int) -> str | None:
        """The player whose seat is the value at a place; None for nobody."""
        number = line.number(place)
        if number == NOBODY:
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


_EVENTS: dict[str, Callable[[_Play, Line], None]] = {
    "status": _Play.status,
    "talk": _Play.talk,
    "whisper": _Play.whisper,
    "vote": _Play.vote,
    "attackVote": _Play.attack_vote,
    "divine": _Play.divine,
    "guard": _Play.guard,
    "execute": _Play.execute,
    "attack": _Play.attack,
    "result": _Play.result,
}


def splitter(path: str, head: bytes) -> Splitter | None:
    """A file is one game."""
    return whole if _BEGINNING.match(head) else None


def claims(look: Look) -> bool:
    return _BEGINNING.match(look.data) is not None


def read(look: Look, model: str | None) -> GameRecord:
    """The game; without a result it is unfinished."""
    game, cut = but_for_a_cut_line(_played, look.data)
    game.faults += cut
    return game


def _played(data: bytes) -> GameRecord:
    faults: list[Fault] = []
    lines = list(lines_of(text_of(data), faults))
    play = _Play(_seats(lines))
    play.village.faults += faults
    unknown: set[str] = set()
    for line in lines:
        if line.event in ACTS:
            play.act(line)
        elif line.event in _EVENTS:
            _EVENTS[line.event](play, line)
        elif line.event not in unknown:
            unknown.add(line.event)
            play.doubt(line, f"an event is one of {', '.join(_EVENTS)}")
    play.identify()
    origin = sys.modules[__name__]
    return play.village.game(
        origin, outcome=play.outcome, n_rounds=play.last_day, ended_by=play.ended_by
    )


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
        name = [*line.values[NAMELESS:], f"Agent[{len(seats) + 1:02}]"][0]
        seats.append(Seat(name, line.values[3] or None, role, is_tested=True))
    check_players([seat.player for seat in seats], "$", MOST_PLAYERS)
    if len(seats) == len(lines):
        raise lines[-1].broken("a log goes on after its players")
    return seats
