"""TextArena's logs of Avalon: who sat where, the result, and every row that the engine wrote.

Actions are read from the rows, as the moderator writes the state of the game before each phase.
`vote_events` is not read: it was sampled, so most of its entries repeat an older vote for a newer
team or mission. Actions on quests are secret, and so is the player who guessed Merlin.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, count
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct, field

from pipeline.formats.record_builder import (
    EVERYONE,
    MODERATOR,
    Int64,
    LoggedMessage,
    build_messages,
    check_player_count,
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
# Agents that follow rules, and say one of four lines.
BOTS = frozenset({"deeprole", "deeprole-llm"})
# The agent that a log names if its players have different agents.
MIXED = "mixed"
# How evil won, by the beginning of the reason.
_EVIL_OUTCOMES = {
    "3 missions failed": "quests_failed",
    "Evil correctly guessed Merlin": "merlin_found",
}
_INVALID = re.compile(r"attempted an invalid move\. Reason: (.+?)(?: Please resubmit|$)")
ENGINE = -1
_PHASES = {
    "Discussion": "talk",
    "Team-Proposal": "team",
    "Voting": "team_vote",
    "Guess-Merlin": "assassination",
}
_QUEST_RESULTS = {"Mission Failed": True, "Mission Succeeded": False}
_GAME_STATE = re.compile(r"<game_state>(.*)</game_state>", re.DOTALL)
_VOTE = re.compile(r"<vote>\s*(approve|reject)\s*</vote>", re.IGNORECASE)
_ADDRESSED_PLAYER = re.compile(
    r'<player_state>\{"pid": (\d{1,3}),|Player (\d{1,3}) attempted an invalid move'
)


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
    def quest_number(self) -> int:
        """The number of the quest, from 1."""
        return self.mission_index + 1

    @property
    def proposal_number(self) -> int:
        """The number of the team proposal within the quest, from 1."""
        return self.consecutive_failed_team_proposals + 1


class RowInGame(NamedTuple):
    """A row with its index, the last state until this row, and the next state after it."""

    row_index: int
    row: Row
    state_before: State | None
    state_after: State | None


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
    """Return whether the document is a TextArena log of a supported environment."""
    return _environment_name_json(sniffer).startswith(b'"Avalon')


def describes(sniffer: DocumentSniffer) -> str | None:
    """Return a description of a TextArena log of an unsupported environment; None otherwise."""
    name = _NAME.fullmatch(_environment_name_json(sniffer))
    return f"a TextArena log of {name[1].decode()}" if name else None


def _environment_name_json(sniffer: DocumentSniffer) -> bytes:
    """Return the name of the environment as a JSON string; empty if it is no TextArena log."""
    return bytes(sniffer.top.get("env_id", b"")) if sniffer.has_keys(_KEYS, len(_KEYS) - 1) else b""


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Return the game of a log of the environment Avalon."""
    log = decode(Log, sniffer.data)
    seats = list(_iter_seats(log))
    for index, row in enumerate(log.logs):
        if not ENGINE <= row.sender < len(seats):
            rule = "every row is from a player, or from the moderator, -1"
            raise invalid_document_error(f"$.logs[{index}].from", rule, str(row.sender))
    rows = _pair_rows_with_states_before_and_after(log.logs)
    player_rows = [row for row in rows if row.row.sender != ENGINE]
    first_state = next((row.state_before for row in rows if row.state_before), None)
    faults: list[RecordError] = []
    return GameRecord(
        game_type=KIND.name,
        system=SYSTEM,
        format=NAME,
        setting={
            "players": len(seats),
            "special_roles": [*sorted(role.lower() for role in log.special_roles or ())],
            "discussion_rounds": first_state.num_discussion_rounds if first_state else None,
            "seed": log.seed,
        },
        is_finished=_outcome_name(log) is not None,
        outcome=_outcome_name(log),
        ended_by=_reason_of_early_end(log),
        n_rounds=max(
            (row.state_before.quest_number for row in player_rows if row.state_before), default=0
        ),
        seats=seats,
        messages=build_messages((_logged_message(row, seats) for row in rows), seats),
        events={
            "team_proposals": list(_iter_team_proposals(rows)),
            "team_votes": list(_iter_team_votes(player_rows, faults)),
        },
        faults=faults,
    )


def _iter_seats(log: Log) -> Iterator[Seat]:
    """Yield the players by seat.

    A model is unknown if the log names no agent, or several agents. Known bots are not tested.
    """
    check_player_count(len(log.game_info), "$.game_info")
    agents = log.seat_agents or [log.agent] * len(log.game_info)
    if len(agents) != len(log.game_info):
        raise invalid_document_error(
            "$.seat_agents", "every player has an agent", f"{len(agents)} agents"
        )
    for player_number, agent in enumerate(agents):
        info = log.game_info.get(str(player_number))
        if info is None:
            raise invalid_document_error(
                "$.game_info", "players are numbered from 0", f"there is no {player_number}"
            )
        is_known = bool(agent) and agent != MIXED
        yield Seat(
            _player_name_from_number(player_number),
            agent if is_known else None,
            info.role.lower(),
            is_tested=is_known and agent not in BOTS,
            is_bot=agent in BOTS if is_known else None,
        )


def _outcome_name(log: Log) -> str | None:
    """Return the outcome of the game, such as `good_won`; None if nobody won.

    Rewards tell who won, and the engine's reason tells how evil won.
    """
    rewards = log.rewards or {}
    are_winners_evil = {
        KIND.side_of_role(info.role.lower()) is Side.HIDDEN
        for key, info in log.game_info.items()
        if rewards.get(key, 0) > 0
    }
    if len(are_winners_evil) != 1:
        return None
    if are_winners_evil == {False}:
        return "good_won"
    outcomes = [
        outcome
        for beginning, outcome in _EVIL_OUTCOMES.items()
        if (_engine_reason(log) or "").startswith(beginning)
    ]
    return outcomes[0] if outcomes else "evil_won"


def _engine_reason(log: Log) -> str | None:
    return log.game_info["0"].reason if log.game_info else None


def _reason_of_early_end(log: Log) -> str | None:
    """Return why the game ended early: an invalid move, or else the engine's reason."""
    if not any(info.invalid_move for info in log.game_info.values()):
        return None if _outcome_name(log) else _engine_reason(log)
    texts = (row.message for row in log.logs if row.sender == ENGINE)
    match = next(filter(None, map(_INVALID.search, texts)), None)
    return f"invalid move: {match[1]}" if match else "invalid move"


def _player_name_from_number(player_number: int) -> str:
    """Return the name by which the moderator calls a player, for example `Player 0`."""
    return f"Player {player_number}"


def _pair_rows_with_states_before_and_after(rows: Sequence[Row]) -> list[RowInGame]:
    states: list[State | None] = []
    for index, row in enumerate(rows):
        match = _GAME_STATE.fullmatch(row.message) if row.sender == ENGINE else None
        states.append(
            decode(State, match[1].encode(), f"$.logs[{index}].message") if match else None
        )
    # A state that is written in a row itself counts as the state before it.
    states_before = accumulate(states, _state_or_previous)
    states_from = [*accumulate(reversed(states), _state_or_previous)][::-1]
    states_after = [*states_from, None][1:]
    return list(map(RowInGame, count(), rows, states_before, states_after))


def _state_or_previous(previous: State | None, state: State | None) -> State | None:
    return state or previous


def _logged_message(row_in_game: RowInGame, seats: Sequence[Seat]) -> LoggedMessage:
    row, state = row_in_game.row, row_in_game.state_before
    if row.sender == ENGINE:
        recipients = _recipients_of_moderator_message(row_in_game, seats)
        return LoggedMessage(MODERATOR, row.message, Phase.MODERATION, visible_to=recipients)
    phase = _PHASES.get(state.phase, Phase.OTHER) if state else Phase.OTHER
    return LoggedMessage(
        _player_name_from_number(row.sender),
        row.message,
        phase,
        state.quest_number if state else None,
    )


def _recipients_of_moderator_message(
    row_in_game: RowInGame, seats: Sequence[Seat]
) -> str | tuple[str, ...]:
    """Return the name or names of the players who see a message of the moderator.

    The first rows are the instructions of each player, in the order of the seats, because Merlin's
    are empty. In later rows, only the text tells who sees it.
    """
    text, state = row_in_game.row.message, row_in_game.state_before
    if row_in_game.row_index < len(seats):
        return seats[row_in_game.row_index].player
    if match := _ADDRESSED_PLAYER.match(text):
        return _player_name_from_number(int(match[1] or match[2]))
    if state and "\nYou are the leader" in text:
        return _player_name_from_number(state.leader_pid)
    if state and "\nYou are on the mission team" in text:
        return tuple(map(_player_name_from_number, state.team_proposal))
    if "\nEvil team, you have one chance" in text:
        return tuple(seat.player for seat in seats if KIND.side_of_role(seat.role) is Side.HIDDEN)
    return EVERYONE


def _iter_team_proposals(rows: Sequence[RowInGame]) -> Iterator[Event]:
    """Yield the proposed teams, which the next state of the game contains.

    A proposal after the last state is skipped.
    """
    # By round and attempt: whether the team was approved, because its players then play.
    approvals = {
        (state.quest_number, state.proposal_number): next_state.phase == "Mission"
        for _, row, state, next_state in rows
        if row.sender != ENGINE and state and state.phase == "Voting" and next_state
    }
    # By round: whether the quest failed.
    failures = {
        state.quest_number: has_failed
        for _, row, state, _ in rows
        for beginning, has_failed in _QUEST_RESULTS.items()
        if row.sender == ENGINE and state and row.message.startswith(beginning)
    }
    for index, row, state, next_state in rows:
        if row.sender == ENGINE or not state or state.phase != "Team-Proposal" or not next_state:
            continue
        is_voted_on = next_state.phase == "Voting"
        is_approved = (
            approvals.get((state.quest_number, state.proposal_number)) if is_voted_on else True
        )
        yield TeamProposal(
            row.sender + 1,
            state.quest_number,
            index,
            state.proposal_number,
            tuple(map(_player_name_from_number, next_state.team_proposal)),
            is_voted_on,
            is_approved,
            failures.get(state.quest_number) if is_approved else None,
        )


def _iter_team_votes(
    player_rows: Sequence[RowInGame], faults: list[RecordError]
) -> Iterator[Event]:
    """Yield the votes in the next state, or in the texts if the log is truncated."""
    for index, row, state, next_state in player_rows:
        if state is None or state.phase != "Voting":
            continue
        match = _VOTE.search(remove_thoughts(row.message))
        vote = next_state.votes.get(str(row.sender)) if next_state else match and match[1].lower()
        if vote not in ("approve", "reject"):
            rule = "a vote is registered as `approve` or `reject`"
            faults.append(RecordError(f"$.logs[{index}]", rule, repr(vote)))
            continue
        yield TeamVote(
            row.sender + 1,
            state.quest_number,
            index,
            state.proposal_number,
            _player_name_from_number(state.leader_pid),
            tuple(map(_player_name_from_number, state.team_proposal)),
            vote == "approve",
            next_state.phase == "Mission" if next_state else None,
        )
