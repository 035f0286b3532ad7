"""Game logs of AIWolf's contests: one event a line, `day,event,` and the event's values.

Each day begins with a line `status` for each player, and the last line is the `result`. A player's
model is the name of its team, because each team builds its own agent. As for the server, the team
is the agent's name without the digits at its end.
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

_REQUEST_KEYS = {"game_id", "win_side", "agents", "entries"}
_BEGINNING = re.compile(rb"\s*[0-9]{1,4},status,[0-9]{1,4},[A-Z]+,")
# The line break before a record, which is incomplete if its writer was killed.
_NEXT_RECORD = re.compile(r"\n(?=[0-9]{1,4},[A-Za-z]+,|[0-9]{1,4}(?:,[A-Za-z]*)?\Z)")
_SPOKEN = re.compile(r"[0-9]{1,4},(?:talk|whisper),")
_SENT_AT = re.compile(r",([12][0-9]{9})\Z")
_NUMBER = re.compile(r"[0-9]{1,4}|-1")
_NO_SEAT = -1
# The number of values of a `status` line without the player's name.
_N_VALUES_WITHOUT_NAME = 4
# The number of values of each event. The last value can contain commas.
_N_VALUES = {
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
# What a player says or does. A game is kept if one of these lines cannot be read.
_ACTION_EVENTS = frozenset({"talk", "whisper", "vote", "attackVote", "divine", "guard"})
_IS_LIVING = {"ALIVE": True, "DEAD": False}
_IS_KILLED = {"true": True, "false": False}
_FINDINGS = {"HUMAN": "human", "WEREWOLF": "werewolf"}
_OUTCOMES = {"VILLAGER": "villagers_won", "WEREWOLF": "werewolves_won", "NONE": None}


class _LogLine(NamedTuple):
    """A line of the log: its index from 0, its day, its event, and the event's values."""

    line_index: int
    day: int
    event: str
    values: list[str]

    @property
    def json_path(self) -> str:
        """The JSON path of this line, as if the log were a JSON list of its lines."""
        return f"$[{self.line_index}]"

    def record_error(self, rule: str) -> RecordError:
        """Return an error with the position and text of this line, which breaks `rule`."""
        text = ",".join([str(self.day), self.event, *self.values])
        return RecordError(self.json_path, rule, f"line {self.line_index + 1:,}: {text[:80]!r}")

    def invalid_document_error(self, rule: str) -> InvalidDocumentError:
        """Return the exception that rejects the whole log because this line breaks `rule`."""
        return InvalidDocumentError(self.record_error(rule))

    def parse_integer(self, value_index: int) -> int:
        """Return a value of the line as an integer; raise InvalidDocumentError if it is none."""
        value = self.values[value_index]
        if not _NUMBER.fullmatch(value):
            raise self.invalid_document_error(
                f"value {value_index + 1} of `{self.event}` is a number"
            )
        return int(value)

    def parse_word_in(self, value_index: int, allowed_words: Collection[str]) -> str:
        """Return a value of the line; raise InvalidDocumentError if it is not an allowed word."""
        value = self.values[value_index]
        if value not in allowed_words:
            raise self.invalid_document_error(
                f"value {value_index + 1} of `{self.event}` is one of {', '.join(allowed_words)}"
            )
        return value


class _GameFromLines:
    """Collects the events of a game, line by line."""

    def __init__(self, seats: list[Seat]) -> None:
        self.seats = seats
        self.village = WerewolfGameBuilder(seats)
        self.last_day = 0
        self.started_at: datetime | None = None
        self.outcome: str | None = None
        self.ended_by: str | None = None

    def add_line_to_game(self, line: _LogLine) -> None:
        """Add the event of a line to the game; raise InvalidDocumentError if it cannot be read."""
        village, day = self.village, line.day
        match line.event:
            case "status":  # compared with the events so far
                is_living = _IS_LIVING.get(line.values[2])
                if is_living is None:
                    self.add_error(line, "a status is ALIVE or DEAD")
                elif is_living is not village.is_still_in_game(self.parse_player_name(line)):
                    self.add_error(
                        line, "a player is DEAD once executed or attacked, and ALIVE before"
                    )
            case "talk" | "whisper":
                # Some servers add the time in seconds. The first time is the start of the game.
                text, *sent_at = _SENT_AT.split(line.values[3])[:2]
                if sent_at and self.started_at is None:
                    self.started_at = datetime.fromtimestamp(int(sent_at[0]), UTC)
                player, turn = self.parse_player_name(line, 2), line.parse_integer(1)
                village.add_message(player, text, day, turn, is_whisper=line.event == "whisper")
            case "vote":
                village.set_vote(
                    self.parse_player_name(line), self.parse_target_or_record_error(line), day
                )
            case "attackVote" | "divine" | "guard":
                # The log notes the role that a guard protects, but no player learns it.
                finding = (
                    _FINDINGS[line.parse_word_in(2, _FINDINGS)] if line.event == "divine" else None
                )
                kind = "attack_vote" if line.event == "attackVote" else line.event
                village.add_ability_use(
                    self.parse_player_name(line),
                    kind,
                    self.parse_target_or_record_error(line),
                    day,
                    finding,
                )
            case "execute":
                self.add_elimination(line, EXECUTED)
            case "attack":
                is_killed = _IS_KILLED[line.parse_word_in(1, _IS_KILLED)]
                target = self.parse_player_or_nobody(line, 0)
                if target is not None:
                    village.add_attack_by_all_werewolves(target, day, line.json_path)
                    if is_killed:
                        self.add_elimination(line, ATTACKED)
            case "result":
                winner = line.parse_word_in(2, _OUTCOMES)
                self.outcome = _OUTCOMES[winner]
                self.ended_by = None if self.outcome else winner
                n_wolves = len(village.players_in_game_with_role(WEREWOLF))
                n_others = len(self.seats) - len(village.eliminations) - n_wolves
                if [line.parse_integer(0), line.parse_integer(1)] != [n_others, n_wolves]:
                    self.add_error(line, f"{n_others} villagers and {n_wolves} werewolves are left")

    def add_elimination(self, line: _LogLine, cause: str) -> None:
        if not self.village.is_still_in_game(self.parse_player_name(line)):
            raise line.invalid_document_error("a player is executed or attacked once")
        self.village.eliminate_player(self.parse_player_name(line), line.day, cause, line.json_path)

    def add_findings_of_mediums(self) -> None:
        """Add that each living medium learns whether an executed player was a werewolf.

        The log has no line for it. The server tells it to every medium who is still in the game.
        """
        elimination_days = {
            elimination.seat: elimination.round for elimination in self.village.eliminations
        }
        executed_seats = {
            elimination.round: elimination.seat
            for elimination in self.village.eliminations
            if elimination.cause == EXECUTED
        }
        for day, executed_seat in executed_seats.items():
            target = self.seats[executed_seat - 1]
            finding = "werewolf" if target.role == "werewolf" else "human"
            for seat_number, seat in enumerate(self.seats, start=1):
                last_day = min(elimination_days.get(seat_number, self.last_day), self.last_day)
                if seat.role == "medium" and day < last_day:
                    self.village.add_ability_use(
                        seat.player, "identify", target.player, day, finding
                    )

    def add_error(self, line: _LogLine, rule: str) -> None:
        self.village.faults.append(line.record_error(rule))

    def parse_target_or_record_error(self, line: _LogLine) -> str | None:
        """Return the name of an action's target; None if it has none or an unreadable one."""
        try:
            return self.parse_player_or_nobody(line, 1)
        except InvalidDocumentError as error:
            self.village.faults.append(error.fault)
            return None

    def parse_player_or_nobody(self, line: _LogLine, value_index: int) -> str | None:
        """Return the name of the player whose seat number is a value; None if the value is -1."""
        seat_number = line.parse_integer(value_index)
        if seat_number == _NO_SEAT:
            return None
        if not 1 <= seat_number <= len(self.seats):
            raise line.invalid_document_error(f"a seat is a number from 1 to {len(self.seats)}")
        return self.seats[seat_number - 1].player

    def parse_player_name(self, line: _LogLine, value_index: int = 0) -> str:
        """Return the name of the player whose seat number is a value of the line."""
        player = self.parse_player_or_nobody(line, value_index)
        if player is None:
            raise line.invalid_document_error(
                f"value {value_index + 1} of `{line.event}` is a player's seat"
            )
        return player


def splitter(path: str, head: bytes) -> Splitter | None:
    """Return the function that reads a file as one game; None if the file is no AIWolf log."""
    return read_whole_file if _BEGINNING.match(head) else None


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether the document is an AIWolf log."""
    return _BEGINNING.match(sniffer.data) is not None


def describes(sniffer: DocumentSniffer) -> str | None:
    """Return a hint if the document is the JSON that the server writes beside a log, else None."""
    is_request_json = sniffer.has_keys(_REQUEST_KEYS, len(_REQUEST_KEYS))
    return "AIWolf's JSON of requests: ingest the `.log` of this game" if is_request_json else None


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Return the game of a log; it is unfinished if the log has no result."""
    return build_ignoring_truncated_last_line(_game_from_log, sniffer.data)


def _game_from_log(data: bytes) -> GameRecord:
    faults: list[RecordError] = []
    text = decode_utf8(data, "the document is text in UTF-8", may_be_cut=True)
    lines = list(_iter_log_lines(text, faults))
    game = _GameFromLines(_seats_from_status_lines(lines))
    game.village.faults += faults
    unknown: set[str] = set()
    for line in lines:
        if line.event not in _N_VALUES and line.event not in unknown:
            unknown.add(line.event)
            game.add_error(line, f"an event is one of {', '.join(_N_VALUES)}")
        if line.event in ("talk", "vote"):
            game.last_day = max(game.last_day, line.day)
        try:
            game.add_line_to_game(line)
        except InvalidDocumentError as error:
            if line.event not in _ACTION_EVENTS:
                raise
            game.village.faults.append(error.fault)
    game.add_findings_of_mediums()
    game_record = game.village.build_game(
        NAME, outcome=game.outcome, n_rounds=game.last_day, ended_by=game.ended_by
    )
    game_record.started_at = game.started_at
    return game_record


def _iter_log_lines(text: str, faults: list[RecordError]) -> Iterator[_LogLine]:
    """Yield the parsed lines of a log.

    An action that lacks values is skipped and reported in `faults`. Any other line without values
    raises InvalidDocumentError.
    """
    for index, record in _iter_records_with_line_index(text):
        day, event, rest, *_ = [*record.split(",", 2), "", ""]
        n_values = _N_VALUES.get(event, 1)
        values = rest.split(",", n_values - 1)
        line = _LogLine(index, int(day) if _NUMBER.fullmatch(day) else _NO_SEAT, event, values)
        if line.day < 0 or not event:
            raise line.invalid_document_error("every line begins with a day and an event")
        if len(values) >= n_values or (event, len(values)) == ("status", _N_VALUES_WITHOUT_NAME):
            yield line
        elif event in _ACTION_EVENTS:
            faults.append(line.record_error(f"`{event}` has {n_values} values"))
        else:
            raise line.invalid_document_error(f"`{event}` has {n_values} values")


def _iter_records_with_line_index(text: str) -> Iterator[tuple[int, str]]:
    """Yield each record with the index of its first line, from 0.

    A record can have several lines, because what a player says can have line breaks.
    """
    block_index = 0
    for block in _NEXT_RECORD.split(text):
        records = [block] if _SPOKEN.match(block) else block.split("\n")
        for index, record in enumerate(records, start=block_index):
            if record.strip():
                yield index, record.rstrip("\r\n").replace("\r\n", "\n")
        block_index += block.count("\n") + 1


def _seats_from_status_lines(lines: list[_LogLine]) -> list[Seat]:
    """Return the players in the `status` lines with which the log begins."""
    seats: list[Seat] = []
    for line in lines:
        if (line.day, line.event) != (lines[0].day, "status"):
            break
        if line.parse_integer(0) != len(seats) + 1:
            raise line.invalid_document_error("the players' seats are 1, 2, 3 and so on")
        try:
            role = parse_werewolf_role(line.values[1], line.json_path)
        except InvalidDocumentError as error:
            raise line.invalid_document_error(error.fault.rule) from error
        # A player without a name is named by its seat.
        agent, *names = line.values[_N_VALUES_WITHOUT_NAME - 1 :]
        name = names[0] if names else f"Agent[{len(seats) + 1:02}]"
        team = agent.rstrip(string.digits) or agent or None
        seats.append(Seat(name, team, role, is_tested=True))
    check_players([seat.player for seat in seats], "$", MAX_WEREWOLF_PLAYERS)
    if len(seats) == len(lines):
        raise lines[-1].invalid_document_error("a log goes on after its players")
    return seats
