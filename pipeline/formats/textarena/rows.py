"""The rows of a TextArena log: what they are by the state of the game that the moderator logs."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Struct

from pipeline.formats.broken import broken, decode
from pipeline.formats.building import Spoken
from pipeline.formats.rows import EVERYONE, MODERATOR, Int64
from pipeline.game import Event, Fault, Seat
from pipeline.games.avalon import KIND, TeamProposal, TeamVote
from pipeline.thoughts import answer
from pipeline.vocabulary import Phase, Side

ENGINE = -1

_PHASES = {
    "Discussion": "talk",
    "Team-Proposal": "team",
    "Voting": "team_vote",
    "Guess-Merlin": "assassination",
}
_QUESTS = {"Mission Failed": True, "Mission Succeeded": False}
_STATE = re.compile(r"<game_state>(.*)</game_state>", re.DOTALL)
_VOTE = re.compile(r"<vote>\s*(approve|reject)\s*</vote>", re.IGNORECASE)
_OWN = re.compile(r'<player_state>\{"pid": (\d{1,3}),|Player (\d{1,3}) attempted an invalid move')


class Row(Struct):
    sender: Int64 = msgspec.field(name="from")
    logged: str | None = msgspec.field(name="message", default=None)

    @property
    def message(self) -> str:
        return self.logged or ""


class State(Struct):
    """The game as the moderator writes it down, before a phase begins."""

    phase: str
    mission_index: Annotated[int, Meta(ge=0, le=1_000_000)]
    leader_pid: int
    team_proposal: list[int]
    consecutive_failed_team_proposals: Annotated[int, Meta(ge=0, le=1_000_000)]
    votes: dict[str, str]
    num_discussion_rounds: Int64 | None = None

    @property
    def round(self) -> int:
        return self.mission_index + 1

    @property
    def attempt(self) -> int:
        return self.consecutive_failed_team_proposals + 1


class Moment(NamedTuple):
    """A row with its place, the state that holds then, and the one that follows it."""

    place: int
    row: Row
    state: State | None
    later: State | None


_STATES = msgspec.json.Decoder(State)


def name(number: int) -> str:
    """A player's name, as the moderator writes it."""
    return f"Player {number}"


def check_senders(rows: Sequence[Row], n_players: int) -> None:
    for place, row in enumerate(rows):
        if not ENGINE <= row.sender < n_players:
            rule = "every row is from a player, or from the moderator, -1"
            raise broken(f"$.logs[{place}].from", rule, str(row.sender))


def moments(rows: Sequence[Row]) -> list[Moment]:
    """Each row with what surrounds it."""
    states = [_state(place, row) for place, row in enumerate(rows)]
    before = list(accumulate(states, _last_known))
    after = [*accumulate(reversed(states), _last_known)][::-1]
    # What follows a row is not a state that the row itself gives.
    later = [*after, None][1:]
    around = zip(rows, before, later, strict=True)
    return [Moment(place, *each) for place, each in enumerate(around)]


def _last_known(known: State | None, state: State | None) -> State | None:
    return known if state is None else state


def _state(place: int, row: Row) -> State | None:
    """The state in a row of the moderator, None if it has none."""
    match = _STATE.fullmatch(row.message) if row.sender == ENGINE else None
    if match is None:
        return None
    return decode(_STATES, match[1].encode(), f"$.logs[{place}].message")


def spoken(moment: Moment, seats: Sequence[Seat]) -> Spoken:
    row, state = moment.row, moment.state
    if row.sender == ENGINE:
        shown_to = _shown_to(moment, seats)
        return Spoken(MODERATOR, row.message, Phase.MODERATION, visible_to=shown_to)
    phase = _PHASES.get(state.phase, Phase.OTHER) if state else Phase.OTHER
    return Spoken(name(row.sender), row.message, phase, state.round if state else None)


def _shown_to(moment: Moment, seats: Sequence[Seat]) -> str | tuple[str, ...]:
    """Whom the moderator addresses: the log does not say it, but its texts do.

    The first rows are each player's instructions, in order; Merlin's are empty.
    """
    text, state = moment.row.message, moment.state
    if moment.place < len(seats):
        return seats[moment.place].player
    if own := _OWN.match(text):
        return name(int(own[1] or own[2]))
    if state and "\nYou are the leader" in text:
        return name(state.leader_pid)
    if state and "\nYou are on the mission team" in text:
        return tuple(map(name, state.team_proposal))
    if "\nEvil team, you have one chance" in text:
        return tuple(seat.player for seat in seats if is_evil(seat.role))
    return EVERYONE


def is_evil(role: str) -> bool:
    known = KIND.role(role)
    return known is not None and known.side == Side.HIDDEN


def proposals(moments: Sequence[Moment]) -> Iterator[Event]:
    """The leaders' teams, as the state after them has it: without one, the log is cut off."""
    approved = dict(_decided(moments))
    failed = dict(_quests(moments))
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
            tuple(map(name, later.team_proposal)),
            is_voted_on,
            is_approved,
            failed.get(state.round) if is_approved else None,
        )


def _decided(moments: Sequence[Moment]) -> Iterator[tuple[tuple[int, int], bool]]:
    """By round and attempt, whether the vote was for the team: its players then play."""
    for _, row, state, later in moments:
        if row.sender != ENGINE and state and state.phase == "Voting" and later:
            yield (state.round, state.attempt), later.phase == "Mission"


def _quests(moments: Sequence[Moment]) -> Iterator[tuple[int, bool]]:
    """By round, whether the quest failed."""
    for _, row, state, _ in moments:
        if row.sender == ENGINE and state:
            for begin, has_failed in _QUESTS.items():
                if row.message.startswith(begin):
                    yield state.round, has_failed


def votes(players: Sequence[Moment], faults: list[Fault]) -> Iterator[Event]:
    """The votes: as the state after them has it, or as they say where the log is cut off."""
    for place, row, state, later in players:
        if state is None or state.phase != "Voting":
            continue
        stated = _VOTE.search(answer(row.message))
        vote = later.votes.get(str(row.sender)) if later else stated and stated[1].lower()
        if vote not in ("approve", "reject"):
            rule = "a vote is registered as `approve` or `reject`"
            faults.append(Fault(f"$.logs[{place}]", rule, repr(vote)))
            continue
        yield TeamVote(
            row.sender + 1,
            state.round,
            place,
            state.attempt,
            name(state.leader_pid),
            tuple(map(name, state.team_proposal)),
            vote == "approve",
            later.phase == "Mission" if later else None,
        )
