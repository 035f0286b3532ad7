"""Game logs of AIWolf's contests: one event a line, `day,event,` and the event's values.

Each day begins with a line `status` for each player, and the last line is the `result`. Teams stand
where models would: each builds its agent as it likes, so the model is the name of the team. As the
server does, the team is taken for the agent's name without the digits at its end.
"""

import re
import string
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from pipeline.archives.splitting import Splitter, read_whole_file
from pipeline.formats.hidden_roles import (
    ATTACKED,
    EXECUTED,
    MAX_WEREWOLF_PLAYERS,
    WEREWOLF,
    WerewolfGameBuilder,
    parse_werewolf_role,
)
from pipeline.formats.record_builder import check_players
from pipeline.formats.sniffer import (
    DocumentSniffer,
    build_ignoring_truncated_last_line,
    decode_utf8,
)
from pipeline.game_record import GameRecord, InvalidDocumentError, RecordError, Seat

NAME = "aiwolf"
NAMES_MODELS = True
MODELS_NOTE = (
    "the models of aiwolf logs are teams: an agent's name without the digits at its end, which "
    "number the agents of a team"
)

_KEYS_BESIDE = {"game_id", "win_side", "agents", "entries"}
_BEGINNING = re.compile(rb"\s*[0-9]{1,4},status,[0-9]{1,4},[A-Z]+,")
# Before a record, or one of which a writer that was killed left only the beginning.
_NEXT_RECORD = re.compile(r"\n(?=[0-9]{1,4},[A-Za-z]+,|[0-9]{1,4}(?:,[A-Za-z]*)?\Z)")
_SPOKEN = re.compile(r"[0-9]{1,4},(?:talk|whisper),")
_SENT_AT = re.compile(r",([12][0-9]{9})\Z")
_NUMBER = re.compile(r"[0-9]{1,4}|-1")
_NOBODY = -1
# The values of a status without the player's name.
_NAMELESS = 4
# How many values each event has. The last may have commas in it.
_VALUES = {
    "status": 5,
    "talk": 4,
    "whisper": 4,
    "vote": 2,
    "attackVote": 2,
    "divine": 3,
    "guard": 3,
    "execute": 2,
    "attack": 2,
    "result": 3,
}
# What a player says or does: of one that cannot be read the game is kept.
_ACTS = frozenset({"talk", "whisper", "vote", "attackVote", "divine", "guard"})
_IS_LIVING = {"ALIVE": True, "DEAD": False}
_IS_KILLED = {"true": True, "false": False}
_FINDINGS = {"HUMAN": "human", "WEREWOLF": "werewolf"}
_OUTCOMES = {"VILLAGER": "villagers_won", "WEREWOLF": "werewolves_won", "NONE": None}


class _Line(NamedTuple):
    """A line of the log: its index from 0, its day, its event, and the event's values."""

    at: int
    day: int
    event: str
    values: list[str]

    @property
    def json_path(self) -> str:
        """The JSON path of the line, for the document as a list of lines."""
        return f"$[{self.at}]"

    def record_error(self, rule: str) -> RecordError:
        """Return the error to report if this line breaks a rule."""
        text = ",".join([str(self.day), self.event, *self.values])
        return RecordError(self.json_path, rule, f"line {self.at + 1:,}: {text[:80]!r}")

    def invalid_document_error(self, rule: str) -> InvalidDocumentError:
        """Return the exception to raise if no game can be read because of this line."""
        return InvalidDocumentError(self.record_error(rule))

    def parse_number(self, place: int) -> int:
        """Return the value at a position as a number."""
        value = self.values[place]
        if not _NUMBER.fullmatch(value):
            raise self.invalid_document_error(f"value {place + 1} of `{self.event}` is a number")
        return int(value)

    def parse_word(self, place: int, words: Collection[str]) -> str:
        """Return the value at a position, which must be one of `words`."""
        value = self.values[place]
        if value not in words:
            raise self.invalid_document_error(
                f"value {place + 1} of `{self.event}` is one of {', '.join(words)}"
            )
        return value


class _Play:
    """The game, built line by line."""

    def __init__(self, seats: list[Seat]) -> None:
        self.seats = seats
        self.village = WerewolfGameBuilder(seats)
        self.last_day = 0
        self.started_at: datetime | None = None
        self.outcome: str | None = None
        self.ended_by: str | None = None

    def add_line(self, line: _Line) -> None:
        """Add the content of a line; raise InvalidDocumentError if it cannot be read."""
        village, day = self.village, line.day
        match line.event:
            case "status":  # what it says of a player is compared with what happened so far
                is_living = _IS_LIVING.get(line.values[2])
                if is_living is None:
                    self.add_error(line, "a status is ALIVE or DEAD")
                elif is_living is not village.is_in_game(self.parse_actor(line)):
                    self.add_error(
                        line, "a player is DEAD once executed or attacked, and ALIVE before"
                    )
            case "talk" | "whisper":
                # Some servers add the time in seconds: the first is when the game started.
                text, *sent_at = _SENT_AT.split(line.values[3])[:2]
                if sent_at and self.started_at is None:
                    self.started_at = datetime.fromtimestamp(int(sent_at[0]), UTC)
                player, turn = self.parse_actor(line, 2), line.parse_number(1)
                village.add_message(player, text, day, turn, is_whisper=line.event == "whisper")
            case "vote":
                village.vote(self.parse_actor(line), self.parse_target(line), day)
            case "attackVote" | "divine" | "guard":
                # The role that a guard protects is the log's remark: nobody learns it.
                finding = (
                    _FINDINGS[line.parse_word(2, _FINDINGS)] if line.event == "divine" else None
                )
                kind = "attack_vote" if line.event == "attackVote" else line.event
                village.use(self.parse_actor(line), kind, self.parse_target(line), day, finding)
            case "execute":
                self.add_elimination(line, EXECUTED)
            case "attack":
                is_killed = _IS_KILLED[line.parse_word(1, _IS_KILLED)]
                target = self.parse_player(line, 0)
                if target is not None:
                    village.attack(target, day, line.json_path)
                    if is_killed:
                        self.add_elimination(line, ATTACKED)
            case "result":
                winner = line.parse_word(2, _OUTCOMES)
                self.outcome = _OUTCOMES[winner]
                self.ended_by = None if self.outcome else winner
                n_wolves = len(village.living(WEREWOLF))
                n_others = len(self.seats) - len(village.eliminations) - n_wolves
                if [line.parse_number(0), line.parse_number(1)] != [n_others, n_wolves]:
                    self.add_error(line, f"{n_others} villagers and {n_wolves} werewolves are left")

    def add_elimination(self, line: _Line, cause: str) -> None:
        if not self.village.is_in_game(self.parse_actor(line)):
            raise line.invalid_document_error("a player is executed or attacked once")
        self.village.eliminate(self.parse_actor(line), line.day, cause, line.json_path)

    def add_identification(self) -> None:
        """Add what a medium learns at dawn: whether the executed player was a werewolf.

        The log has no line for it, and the server tells it to every medium still in the game.
        """
        last = self.last_day
        out = {one.seat: one.round for one in self.village.eliminations}
        executed = {
            one.round: one.seat for one in self.village.eliminations if one.cause == EXECUTED
        }
        for day, number in executed.items():
            target = self.seats[number - 1]
            finding = "werewolf" if target.role == "werewolf" else "human"
            for medium, seat in enumerate(self.seats, start=1):
                if seat.role == "medium" and day < min(out.get(medium, last), last):
                    self.village.use(seat.player, "identify", target.player, day, finding)

    def add_error(self, line: _Line, rule: str) -> None:
        self.village.faults.append(line.record_error(rule))

    def parse_target(self, line: _Line) -> str | None:
        """Return the target of an action, or None if there is none or it cannot be read."""
        try:
            return self.parse_player(line, 1)
        except InvalidDocumentError as error:
            self.village.faults.append(error.fault)
            return None

    def parse_player(self, line: _Line, place: int) -> str | None:
        """Return the player whose seat number is at a position, or None for nobody."""
        number = line.parse_number(place)
        if number == _NOBODY:
            return None
        if not 1 <= number <= len(self.seats):
            raise line.invalid_document_error(f"a seat is a number from 1 to {len(self.seats)}")
        return self.seats[number - 1].player

    def parse_actor(self, line: _Line, place: int = 0) -> str:
        """Return the player who acts, or to whom the event happens."""
        player = self.parse_player(line, place)
        if player is None:
            raise line.invalid_document_error(
                f"value {place + 1} of `{line.event}` is a player's seat"
            )
        return player


def splitter(path: str, head: bytes) -> Splitter | None:
    """Return the splitter of a file that contains one game."""
    return read_whole_file if _BEGINNING.match(head) else None


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether the document is an AIWolf log."""
    return _BEGINNING.match(sniffer.data) is not None


def describes(sniffer: DocumentSniffer) -> str | None:
    """Describe the server's JSON file of a game. It lies beside the log; None for other files."""
    is_beside = sniffer.has_keys(_KEYS_BESIDE, len(_KEYS_BESIDE))
    return "AIWolf's JSON of requests: ingest the `.log` of this game" if is_beside else None


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Read the game; a game without a result is unfinished."""
    return build_ignoring_truncated_last_line(_play_lines, sniffer.data)


def _play_lines(data: bytes) -> GameRecord:
    faults: list[RecordError] = []
    lines = list(
        _parse_lines(decode_utf8(data, "the document is text in UTF-8", may_be_cut=True), faults)
    )
    play = _Play(_read_seats(lines))
    play.village.faults += faults
    unknown: set[str] = set()
    for line in lines:
        if line.event not in _VALUES and line.event not in unknown:
            unknown.add(line.event)
            play.add_error(line, f"an event is one of {', '.join(_VALUES)}")
        if line.event in ("talk", "vote"):
            play.last_day = max(play.last_day, line.day)
        try:
            play.add_line(line)
        except InvalidDocumentError as error:
            if line.event not in _ACTS:
                raise
            play.village.faults.append(error.fault)
    play.add_identification()
    game = play.village.build_game(
        NAME, outcome=play.outcome, n_rounds=play.last_day, ended_by=play.ended_by
    )
    game.started_at = play.started_at
    return game


def _parse_lines(text: str, faults: list[RecordError]) -> Iterator[_Line]:
    """Parse the lines; lines of actions without a value are errors and left out."""
    for at, written in _iter_records(text):
        day, event, rest, *_ = [*written.split(",", 2), "", ""]
        n_values = _VALUES.get(event, 1)
        values = rest.split(",", n_values - 1)
        line = _Line(at, int(day) if _NUMBER.fullmatch(day) else _NOBODY, event, values)
        if line.day < 0 or not event:
            raise line.invalid_document_error("every line begins with a day and an event")
        if len(values) >= n_values or (event, len(values)) == ("status", _NAMELESS):
            yield line
        elif event in _ACTS:
            faults.append(line.record_error(f"`{event}` has {n_values} values"))
        else:
            raise line.invalid_document_error(f"`{event}` has {n_values} values")


def _iter_records(text: str) -> Iterator[tuple[int, str]]:
    """Yield each record with its line number, from 0.

    What a player says can have line breaks, and signs that Python takes for such.
    """
    at = 0
    for block in _NEXT_RECORD.split(text):
        is_one = _SPOKEN.match(block)
        for n, written in enumerate([block] if is_one else block.split("\n")):
            if written.strip():
                yield at + n, written.rstrip("\r\n").replace("\r\n", "\n")
        at += block.count("\n") + 1


def _read_seats(lines: list[_Line]) -> list[Seat]:
    """Return the players that the lines at the start of the first day list."""
    seats: list[Seat] = []
    for line in lines:
        if (line.day, line.event) != (lines[0].day, "status"):
            break
        if line.parse_number(0) != len(seats) + 1:
            raise line.invalid_document_error("the players' seats are 1, 2, 3 and so on")
        try:
            role = parse_werewolf_role(line.values[1], line.json_path)
        except InvalidDocumentError as error:
            raise line.invalid_document_error(error.fault.rule) from error
        # Players without a name are called by their seats.
        name = [*line.values[_NAMELESS:], f"Agent[{len(seats) + 1:02}]"][0]
        agent = line.values[3]
        team = agent.rstrip(string.digits) or agent
        seats.append(Seat(name, team or None, role, is_tested=True))
    check_players([seat.player for seat in seats], "$", MAX_WEREWOLF_PLAYERS)
    if len(seats) == len(lines):
        raise lines[-1].invalid_document_error("a log goes on after its players")
    return seats
