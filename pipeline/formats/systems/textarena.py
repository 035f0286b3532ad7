"""TextArena's logs of Avalon: who sat where, the result, and every row that the engine wrote.

Who did what is read from the rows: the moderator writes the state of the game before each phase.
`vote_events` is not read: it was sampled, so that most of its entries repeat an older vote under a
newer team or mission. What is played on quests, and who guessed Merlin, is secret.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct, field

from pipeline.formats.record_builder import (
    EVERYONE,
    MODERATOR,
    Int64,
    LoggedMessage,
    build_messages,
    check_number_of_players,
)
from pipeline.formats.sniffer import DocumentSniffer, decode, invalid_document_error
from pipeline.game_record import Event, GameRecord, RecordError, Seat
from pipeline.games.other_games import AVALON as KIND, TeamProposal, TeamVote
from pipeline.thinking_text import remove_thoughts
from pipeline.vocabulary import Phase, Side

NAME = SYSTEM = "textarena"
NAMES_MODELS = True

_KEYS = {"agent", "game_info", "logs"}
_NAME = re.compile(rb'"([A-Za-z0-9_-]{1,60})"')
# Agents that follow rules: what they say is one of four lines.
BOTS = frozenset({"deeprole", "deeprole-llm"})
# What stands for the agent of a table at which several sit.
MIXED = "mixed"
# How evil won, by what the reason begins with.
_HOW = {"3 missions failed": "quests_failed", "Evil correctly guessed Merlin": "merlin_found"}
_INVALID = re.compile(r"attempted an invalid move\. Reason: (.+?)(?: Please resubmit|$)")
ENGINE = -1
_PHASES = {
    "Discussion": "talk",
    "Team-Proposal": "team",
    "Voting": "team_vote",
    "Guess-Merlin": "assassination",
}
_QUESTS = {"Mission Failed": True, "Mission Succeeded": False}
_WRITTEN = re.compile(r"<game_state>(.*)</game_state>", re.DOTALL)
_VOTE = re.compile(r"<vote>\s*(approve|reject)\s*</vote>", re.IGNORECASE)
_OWN = re.compile(r'<player_state>\{"pid": (\d{1,3}),|Player (\d{1,3}) attempted an invalid move')


class Row(Struct):
    """A row of the log: sender, recipient and message."""

    sender: Int64 = field(name="from")
    logged: str | None = field(name="message", default=None)

    @property
    def message(self) -> str:
        """The text of the row."""
        return self.logged or ""


class State(Struct):
    """The moderator's record of the game before a phase."""

    phase: str
    mission_index: Annotated[int, Meta(ge=0, le=1_000_000)]
    leader_pid: int
    team_proposal: list[int]
    consecutive_failed_team_proposals: Annotated[int, Meta(ge=0, le=1_000_000)]
    votes: dict[str, str]
    num_discussion_rounds: Int64 | None = None

    @property
    def round(self) -> int:
        """The number of the quest."""
        return self.mission_index + 1

    @property
    def attempt(self) -> int:
        """The number of the proposal in the quest."""
        return self.consecutive_failed_team_proposals + 1


class Moment(NamedTuple):
    """A row with its index, and the states before and after it."""

    place: int
    row: Row
    state: State | None
    later: State | None


class Info(Struct):
    """A player's role, and whether its invalid move ended the game."""

    role: Literal["Merlin", "Percival", "Servant", "Minion", "Morgana", "Mordred", "Oberon"]
    invalid_move: bool = False
    reason: str | None = None


class Log(Struct):
    """The document of a game."""

    game_info: dict[str, Info]
    logs: list[Row]
    agent: str | None = None
    seat_agents: list[str | None] | None = None
    rewards: dict[str, float] | None = None
    special_roles: list[str] | None = None
    seed: Int64 | None = None


def claims(sniffer: DocumentSniffer) -> bool:
    # TextArena has other environments.
    """Return whether the document is a TextArena log of a supported environment."""
    return _environment(sniffer).startswith(b'"Avalon')


def describes(sniffer: DocumentSniffer) -> str | None:
    """Describe a log of an environment that is not supported; None for other documents."""
    name = _NAME.fullmatch(_environment(sniffer))
    return f"a TextArena log of {name[1].decode()}" if name else None


def _environment(sniffer: DocumentSniffer) -> bytes:
    """Return the log's environment as JSON with quotes; empty for other documents."""
    return bytes(sniffer.top.get("env_id", b"")) if sniffer.has_keys(_KEYS, len(_KEYS) - 1) else b""


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Read the game of a log of the environment Avalon."""
    log = decode(Log, sniffer.data)
    seats = list(_read_seats(log))
    for place, row in enumerate(log.logs):
        if not ENGINE <= row.sender < len(seats):
            rule = "every row is from a player, or from the moderator, -1"
            raise invalid_document_error(f"$.logs[{place}].from", rule, str(row.sender))
    moments = _rows_with_states(log.logs)
    players = [moment for moment in moments if moment.row.sender != ENGINE]
    first = next((moment.state for moment in moments if moment.state), None)
    faults: list[RecordError] = []
    return GameRecord(
        game_type=KIND.name,
        system=SYSTEM,
        format=NAME,
        setting={
            "players": len(seats),
            "special_roles": [*sorted(role.lower() for role in log.special_roles or ())],
            "discussion_rounds": first.num_discussion_rounds if first else None,
            "seed": log.seed,
        },
        is_finished=_read_outcome(log) is not None,
        outcome=_read_outcome(log),
        ended_by=_invalid_move(log),
        n_rounds=max((moment.state.round for moment in players if moment.state), default=0),
        seats=seats,
        messages=build_messages((_read_message(moment, seats) for moment in moments), seats),
        events={
            "team_proposals": list(_read_proposals(moments)),
            "team_votes": list(_read_votes(players, faults)),
        },
        faults=faults,
    )


def _read_seats(log: Log) -> Iterator[Seat]:
    """Return the seats.

    An agent is a model unless it is a known bot, or has several names or none.
    """
    check_number_of_players(len(log.game_info), "$.game_info")
    agents = log.seat_agents or [log.agent] * len(log.game_info)
    if len(agents) != len(log.game_info):
        raise invalid_document_error(
            "$.seat_agents", "every player has an agent", f"{len(agents)} agents"
        )
    for number, agent in enumerate(agents):
        info = log.game_info.get(str(number))
        if info is None:
            raise invalid_document_error(
                "$.game_info", "players are numbered from 0", f"there is no {number}"
            )
        is_known = bool(agent) and agent != MIXED
        yield Seat(
            _player_name(number),
            agent if is_known else None,
            info.role.lower(),
            is_tested=is_known and agent not in BOTS,
            is_bot=agent in BOTS if is_known else None,
        )


def _read_outcome(log: Log) -> str | None:
    """Return how the game ended.

    Rewards give the winner, the reason the way; None if nobody won.
    """
    rewards = log.rewards or {}
    won = {
        KIND.side(info.role.lower()) is Side.HIDDEN
        for key, info in log.game_info.items()
        if rewards.get(key, 0) > 0
    }
    if len(won) != 1:
        return None
    if won == {False}:
        return "good_won"
    how = [word for begin, word in _HOW.items() if (_reason(log) or "").startswith(begin)]
    return how[0] if how else "evil_won"


def _reason(log: Log) -> str | None:
    return log.game_info["0"].reason if log.game_info else None


def _invalid_move(log: Log) -> str | None:
    """Return why the game ended early: the invalid move, or else the engine's reason."""
    if not any(info.invalid_move for info in log.game_info.values()):
        return None if _read_outcome(log) else _reason(log)
    moderated = (row.message for row in log.logs if row.sender == ENGINE)
    why = next(filter(None, map(_INVALID.search, moderated)), None)
    return f"invalid move: {why[1]}" if why else "invalid move"


def _player_name(number: int) -> str:
    """Return a player's name as the moderator writes it."""
    return f"Player {number}"


def _rows_with_states(rows: Sequence[Row]) -> list[Moment]:
    """Return each row with the states before and after it."""
    states: list[State | None] = []
    for place, row in enumerate(rows):
        match = _WRITTEN.fullmatch(row.message) if row.sender == ENGINE else None
        at = f"$.logs[{place}].message"
        states.append(decode(State, match[1].encode(), at) if match else None)
    # A row without a state has that of the row before it, or behind it.
    before = list(accumulate(states, _last_known))
    after = [*accumulate(reversed(states), _last_known)][::-1]
    # What follows a row is not a state that the row itself gives.
    later = [*after, None][1:]
    around = zip(rows, before, later, strict=True)
    return [Moment(place, *each) for place, each in enumerate(around)]


def _last_known(known: State | None, state: State | None) -> State | None:
    return state or known


def _read_message(moment: Moment, seats: Sequence[Seat]) -> LoggedMessage:
    row, state = moment.row, moment.state
    if row.sender == ENGINE:
        shown_to = _recipients(moment, seats)
        return LoggedMessage(MODERATOR, row.message, Phase.MODERATION, visible_to=shown_to)
    phase = _PHASES.get(state.phase, Phase.OTHER) if state else Phase.OTHER
    return LoggedMessage(
        _player_name(row.sender), row.message, phase, state.round if state else None
    )


def _recipients(moment: Moment, seats: Sequence[Seat]) -> str | tuple[str, ...]:
    """Return whom the moderator addresses, which only the texts tell.

    The first rows are each player's instructions, in order; Merlin's are empty.
    """
    text, state = moment.row.message, moment.state
    if moment.place < len(seats):
        return seats[moment.place].player
    if own := _OWN.match(text):
        return _player_name(int(own[1] or own[2]))
    if state and "\nYou are the leader" in text:
        return _player_name(state.leader_pid)
    if state and "\nYou are on the mission team" in text:
        return tuple(map(_player_name, state.team_proposal))
    if "\nEvil team, you have one chance" in text:
        return tuple(seat.player for seat in seats if KIND.side(seat.role) is Side.HIDDEN)
    return EVERYONE


def _read_proposals(moments: Sequence[Moment]) -> Iterator[Event]:
    """Return the leaders' teams, from the states after them.

    A proposal without a later state is left out.
    """
    # By round and attempt, whether the vote was for the team, whose players then play.
    approved = {
        (state.round, state.attempt): later.phase == "Mission"
        for _, row, state, later in moments
        if row.sender != ENGINE and state and state.phase == "Voting" and later
    }
    # By round, whether the quest failed.
    failed = {
        state.round: has_failed
        for _, row, state, _ in moments
        for begin, has_failed in _QUESTS.items()
        if row.sender == ENGINE and state and row.message.startswith(begin)
    }
    for place, row, state, later in moments:
        if row.sender == ENGINE or not state or state.phase != "Team-Proposal" or not later:
            continue
        is_voted_on = later.phase == "Voting"
        is_approved = approved.get((state.round, state.attempt)) if is_voted_on else True
        yield TeamProposal(
            row.sender + 1,
            state.round,
            place,
            state.attempt,
            tuple(map(_player_name, later.team_proposal)),
            is_voted_on,
            is_approved,
            failed.get(state.round) if is_approved else None,
        )


def _read_votes(players: Sequence[Moment], faults: list[RecordError]) -> Iterator[Event]:
    """Return the votes from the states after them, or from the texts if the log is truncated."""
    for place, row, state, later in players:
        if state is None or state.phase != "Voting":
            continue
        stated = _VOTE.search(remove_thoughts(row.message))
        vote = later.votes.get(str(row.sender)) if later else stated and stated[1].lower()
        if vote not in ("approve", "reject"):
            rule = "a vote is registered as `approve` or `reject`"
            faults.append(RecordError(f"$.logs[{place}]", rule, repr(vote)))
            continue
        yield TeamVote(
            row.sender + 1,
            state.round,
            place,
            state.attempt,
            _player_name(state.leader_pid),
            tuple(map(_player_name, state.team_proposal)),
            vote == "approve",
            later.phase == "Mission" if later else None,
        )
