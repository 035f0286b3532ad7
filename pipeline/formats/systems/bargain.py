"""Logs of joie-zhang/bargain: agents divide items, each by proposals on which all vote.

See docs/formats/bargain.md, also for facts that the logs lack. Every agent accepts or rejects every
proposal. The agents agree on the first proposal that all accept. Single votes are not logged, but
everyone voted for a proposal that all accepted. Only the oldest games log single votes: there,
everyone votes on the first proposal of the round only.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from pipeline.formats.record_builder import (
    EVERYONE,
    MODERATOR,
    LoggedMessage,
    build_messages,
    check_players,
    parse_amount_or_add_fault,
    parse_usage_or_add_faults,
    results_of_tested_seats,
    unseated_speaker_faults,
)
from pipeline.formats.sniffer import DocumentSniffer, decode, invalid_document_error
from pipeline.game_record import GameRecord, Proposal, ProposalVote, RecordError, Seat, Usage
from pipeline.vocabulary import PLAYER, GameType, Outcome, Phase

NAME = SYSTEM = "bargain"
NAMES_MODELS = True
WITHOUT_TALLY, WITH_TALLY = "1", "2"

_KEYS = {
    *("config", "consensus_reached", "conversation_logs"),
    *("agent_performance", "final_round", "final_utilities"),
}
_USED = {"seconds": "avg_response_time", "cost": "total_cost"}
_PHASES: dict[str, str] = {
    "discussion": "talk",
    "proposal": Phase.PROPOSAL,
    "proposal_enumeration": Phase.MODERATION,
    "voting": Phase.PROPOSAL_VOTE,
    "vote_tabulation": Phase.MODERATION,
    "individual_reflection": Phase.REFLECTION,
}
SYSTEM_NAME = "system"
ROWS = "$.conversation_logs"
_TALLY = re.compile(r"^Proposal #(\d{1,6}): (\d{1,6}) accept, (\d{1,6}) reject\s*$", re.MULTILINE)

Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Instant = Annotated[float, Meta(ge=0, le=2**32)]


class Item(Struct, gc=False):
    """An item to divide."""

    name: str


class Experiment(Struct, gc=False):
    """The start time of the game."""

    start_time: Instant | None = None


class Config(Struct, gc=False):
    """The settings of a game; older games do not list agents and items here."""

    n_agents: Count
    m_items: Count
    t_rounds: Count
    gamma_discount: float | None = None
    competition_level: float | None = None
    agents: list[str] | None = None
    items: list[Item] | None = None
    start_time: Instant | None = None
    experiment_metadata: Experiment | None = None


class Performance(Struct, gc=False):
    """The final facts about an agent; older games name its model in `model_type`."""

    model: str | None = None
    model_type: str | None = None
    final_utility: float | None = None
    total_cost: Any = None
    avg_response_time: Any = None
    total_requests: Any = None


class Proposed(Struct, gc=False):
    """The items that each agent would get, by their numbers from 0 if the agent used them."""

    allocation: dict[str, Any] | None
    reasoning: str | None = None


class Enumerated(Struct, gc=False):
    """A proposal's number and author."""

    proposal_number: int
    proposer: str


class Ballot(Struct, gc=False):
    """An agent's vote on the proposals."""

    vote: str | None


class Row(Struct, gc=False):
    """A row of the conversation. `reflection_content` is the full text of a private reflection."""

    phase: str
    round: Count
    content: str | None
    player: str = field(name="from")
    to: str | None = None
    reflection_content: str | None = None
    proposal: Proposed | None = None
    enumerated_proposals: Sequence[Enumerated] = ()
    vote: Ballot | None = None


class Log(Struct, gc=False):
    """The document of a game."""

    config: Config
    consensus_reached: bool
    final_round: Annotated[int, Meta(ge=0, le=1_000_000)]
    conversation_logs: list[Row]
    agent_performance: dict[str, Performance]
    final_utilities: dict[str, float] = {}


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether the document has the keys of a bargaining log."""
    return sniffer.has_keys(_KEYS, 4)


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Return the game of a log; raise InvalidDocumentError if its content is not valid."""
    log = decode(Log, sniffer.data)
    seats = _seats_of_agents(log)
    is_finished = log.consensus_reached or log.final_round >= log.config.t_rounds
    agreed = log.consensus_reached if is_finished else None
    outcomes = {True: Outcome.AGREED, False: Outcome.NOT_AGREED, None: None}
    seat_numbers = {seat.player: number for number, seat in enumerate(seats, start=1)}
    faults: list[RecordError] = []
    config = log.config
    experiment = config.experiment_metadata or Experiment()
    seconds = experiment.start_time if config.start_time is None else config.start_time
    built = GameRecord(
        game_type=GameType.COST_SHARING,
        system=SYSTEM,
        format=NAME,
        format_version=WITHOUT_TALLY if config.agents is None else WITH_TALLY,
        setting={
            "rounds": config.t_rounds,
            "agents": config.n_agents,
            "items": config.m_items,
            "item_names": None if config.items is None else [item.name for item in config.items],
            "gamma_discount": config.gamma_discount,
            "competition_level": config.competition_level,
        },
        is_finished=is_finished,
        outcome=outcomes[agreed],
        n_rounds=log.final_round,
        started_at=None if seconds is None else datetime.fromtimestamp(seconds, UTC),
        seats=seats,
        messages=build_messages(_iter_messages(log), seats),
        proposals=_proposal_rows_by_agent(log, seat_numbers, faults),
        proposal_votes=_acceptance_votes(log, seat_numbers),
        usage=_usages_of_seats(log, seats, faults),
        faults=faults,
    )
    built.results = [
        replace(result, agreed=agreed)
        for result in results_of_tested_seats(built, dict.fromkeys(seat_numbers.values(), agreed))
    ]
    built.faults += unseated_speaker_faults(built.messages.course, ROWS)
    first_indices: dict[str, int] = {}
    for index, row in enumerate(log.conversation_logs):
        if row.phase not in _PHASES:
            first_indices.setdefault(row.phase, index)
    rule = f"a phase is one of {', '.join(_PHASES)}"
    built.faults += [
        RecordError(f"{ROWS}[{index}].phase", rule, repr(phase))
        for phase, index in first_indices.items()
    ]
    return built


def _seats_of_agents(log: Log) -> list[Seat]:
    """Return the agents with their models; the model is None if the log does not name it."""
    names = list(log.agent_performance) if log.config.agents is None else log.config.agents
    json_path = "$.agent_performance" if log.config.agents is None else "$.config.agents"
    check_players(names, json_path)
    if SYSTEM_NAME in names:
        raise invalid_document_error(
            json_path, "no agent is called as the system is", repr(SYSTEM_NAME)
        )
    if len(names) != log.config.n_agents:
        rule = "there are as many agents as the settings say"
        raise invalid_document_error(
            json_path, rule, f"{len(names)} agents, and not {log.config.n_agents}"
        )
    performances = [log.agent_performance.get(name, Performance()) for name in names]
    return [
        Seat(
            player=name,
            model=performance.model or performance.model_type or None,
            role=PLAYER,
            is_tested=True,
            final_score=log.final_utilities.get(name, performance.final_utility),
        )
        for name, performance in zip(names, performances, strict=True)
    ]


def _usages_of_seats(log: Log, seats: list[Seat], faults: list[RecordError]) -> list[Usage]:
    """Return the total cost and the total seconds of each agent.

    The log has the mean seconds per request, so they are multiplied by the number of requests.
    """
    usages = []
    for seat in seats:
        performance = log.agent_performance.get(seat.player)
        json_path = f"$.agent_performance.{seat.player}"
        usage = (
            parse_usage_or_add_faults(performance, _USED, json_path, faults)
            if performance
            else Usage()
        )
        n_requests = parse_amount_or_add_fault(
            performance and performance.total_requests, f"{json_path}.total_requests", faults
        )
        is_known = None not in (usage.seconds, n_requests)
        usages.append(replace(usage, seconds=usage.seconds * n_requests if is_known else None))
    return usages


def _iter_messages(log: Log) -> Iterator[LoggedMessage]:
    """Yield each row as a message with the same index.

    A row with a recipient, or a reflection, is visible to one agent only.
    """
    for row in log.conversation_logs:
        is_system = row.player == SYSTEM_NAME
        reader = row.to if row.reflection_content is None else row.player
        yield LoggedMessage(
            player=MODERATOR if is_system else row.player,
            content=row.reflection_content or row.content or "",
            phase=_PHASES.get(row.phase, Phase.OTHER),
            round=None if is_system else row.round,
            visible_to=EVERYONE if reader is None else reader,
            msg_type=row.phase,
        )


def _proposal_rows_by_agent(
    log: Log, seat_numbers: Mapping[str, int], faults: list[RecordError]
) -> list[Proposal]:
    """Return a row for each agent of each proposal, with its share of all items."""
    proposals: dict[tuple[int, int], tuple[int, Proposed]] = {}
    for index, row in enumerate(log.conversation_logs):
        if row.phase != "proposal" or row.player not in seat_numbers:
            continue
        key = seat_numbers[row.player], row.round
        if key in proposals:
            raise invalid_document_error(
                f"{ROWS}[{index}]", "an agent proposes once a round", f"round {row.round}"
            )
        if row.proposal is None or row.proposal.allocation is None:
            faults.append(
                RecordError(
                    f"{ROWS}[{index}].proposal", "a proposal says who gets what", "it is missing"
                )
            )
            continue
        proposals[key] = index, row.proposal
    # A later round replaces an earlier one of the same seat.
    last_rounds = dict(sorted(proposals))
    return [
        Proposal(
            seat_number,
            round_number,
            index,
            agent,
            seat_numbers.get(agent),
            position,
            share_text=None if items is None else str(items),
            is_last=round_number == last_rounds[seat_number],
            share=_share_of_items(proposal, items, log.config.m_items),
            is_logged=True,
        )
        for (seat_number, round_number), (index, proposal) in proposals.items()
        for position, (agent, items) in enumerate((proposal.allocation or {}).items(), start=1)
    ]


def _share_of_items(proposal: Proposed, items: object, n_items: int) -> float | None:
    """Return how large a part of all items an agent would get; None if `items` is not valid.

    Valid items are a list of distinct numbers from 0 to `n_items - 1`. A proposal that the system
    made because it could not read the agent's answer is not valid.
    """
    # Such proposals begin with this text.
    is_fallback = (proposal.reasoning or "").startswith("Failed to parse")
    if is_fallback or not isinstance(items, list) or any(type(item) is not int for item in items):
        return None
    is_valid = len(set(items)) == len(items) and all(0 <= item < n_items for item in items)
    return len(items) / n_items if is_valid else None


def _acceptance_votes(log: Log, seat_numbers: Mapping[str, int]) -> list[ProposalVote]:
    """Return the votes that accept a proposal; rejections are not returned.

    If the agents agreed, everyone accepted the agreed proposal. Only the oldest games log single
    votes, each for the first proposal of its round.
    """
    rounds: dict[int, list[Row]] = {}
    for row in log.conversation_logs:
        rounds.setdefault(row.round, []).append(row)
    final_rows = rounds.get(log.final_round, [])
    author = _author_of_first_accepted_proposal(final_rows, len(seat_numbers))
    if log.consensus_reached and author in seat_numbers:
        return [
            ProposalVote(seat_number, log.final_round, None, author, True, is_final_round=True)
            for seat_number in seat_numbers.values()
        ]
    first_authors = {
        round_number: next((row.player for row in rows if row.proposal), None)
        for round_number, rows in rounds.items()
    }
    last_round = max((row.round for row in log.conversation_logs if row.vote), default=0)
    votes: dict[tuple[int, int], ProposalVote] = {}
    for index, row in enumerate(log.conversation_logs):
        author = first_authors[row.round]
        if (
            not row.vote
            or row.vote.vote != "accept"
            or row.player not in seat_numbers
            or not author
        ):
            continue
        seat_number = seat_numbers[row.player]
        votes[seat_number, row.round] = ProposalVote(
            seat_number, row.round, index, author, True, is_final_round=row.round == last_round
        )
    return list(votes.values())


def _author_of_first_accepted_proposal(rows: Sequence[Row], n_agents: int) -> str | None:
    """Return the author of the first proposal that all agents accepted; None if there is none.

    The last line of the tally is not used, because it always names the last proposal.
    """
    proposers = {
        proposal.proposal_number: proposal.proposer
        for row in rows
        for proposal in row.enumerated_proposals
    }
    tallies = [row.content or "" for row in rows if row.phase == "vote_tabulation"]
    accepted_numbers = [
        int(number)
        for tally in tallies
        for number, accepts, rejects in _TALLY.findall(tally)
        if int(accepts) == n_agents and int(rejects) == 0
    ]
    return proposers.get(accepted_numbers[0]) if accepted_numbers else None
