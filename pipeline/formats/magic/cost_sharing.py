"""Cost Sharing (`airportfee`): three airlines propose shares of a fee and vote until all agree."""

import re
import string
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from pipeline.formats.magic.log import (
    FORMAT,
    PGM,
    PGM_SUFFIX,
    PLAIN,
    SYSTEM,
    Log,
    Proposals,
    ProposalVotes,
    checked_result,
    decode_part_or_add_fault,
    decode_required_part,
    logged_columns,
    none_if_unset,
    to_hashable_bytes,
)
from pipeline.formats.record_builder import (
    MODERATOR,
    PUBLIC,
    LoggedColumns,
    ModelName,
    PromptedPhases,
    Timeline,
    call_cached,
    check_players,
    check_unique_keys,
    messages_from_rows,
    results_of_tested_seats,
    sort_by_player_number,
)
from pipeline.formats.sniffer import invalid_document_error
from pipeline.game_record import GameRecord, Proposal, ProposalVote, RecordError, Seat
from pipeline.thinking_text import remove_thoughts
from pipeline.vocabulary import PLAYER, GameType, Outcome, Phase

AGREE, FAIL = "agree", "fail"
PARTIES = string.ascii_uppercase
# The first player speaks for Airline A, and so on.
_SEATS = {party: number for number, party in enumerate(PARTIES, start=1)}
_PROMPTS = {
    "Now vote": Phase.PROPOSAL_VOTE,
    "Now everyone propose": Phase.PROPOSAL,
    "Please continue a new round": Phase.PROPOSAL,
}

# A share ends with its line or before the next airline. That is looked for only where it may begin,
# and once in a run of marks, and runs before a share are bounded, so that no text makes the search
# slow. Case is ignored except in the first letter, by which a text is searched fast.
_SHARE_LINE = re.compile(
    r"[Aa](?i:irline\s+([A-Z])\b)\W{0,40}?[:=]\W{0,40}?"
    r"(\S(?:[^\n \t,;*aA-]|(?![,;]?[ \t*-]*+(?i:airline\s+[A-Z]\b))(?:[ \t*-]++|.))*+)"
)
_SPACES = re.compile(r"[ \t]{2,}")
_TEMPLATE = re.compile(r"I vote for (Player \d+)")


def claims(log: Log) -> bool:
    """Return whether the log has a proposal or a negotiation turn."""
    return log.proposal is not UNSET or none_if_unset(log.nego_turn) is not None


def _phase_and_round_of_each_row(
    logged: LoggedColumns, prompted_phases: PromptedPhases
) -> Timeline:
    """Return the phase and round of each row; the moderator's prompts begin phases and rounds.

    Thoughts of a PGM player are recognized only because they are private.
    """
    timeline = Timeline([], [])
    prompts = iter(prompted_phases)
    prompted = Phase.OTHER
    spoken: set[str] = set()
    n_rounds = 0
    for player, visible_to in zip(logged.player, logged.visible_to, strict=True):
        phase: Phase = prompted
        if player == MODERATOR:
            phase = Phase.MODERATION
            if prompt := next(prompts):
                prompted = prompt
                spoken.clear()
                n_rounds += prompt is Phase.PROPOSAL
        elif visible_to not in PUBLIC:
            phase = Phase.REFLECTION
        elif player in spoken:
            phase = Phase.OTHER
        else:
            spoken.add(player)
        timeline.phase.append(phase)
        timeline.round.append(n_rounds or None)
    return timeline


def game(log: Log) -> GameRecord:
    """Return the game of a Cost Sharing log, with the proposals and votes of every round.

    Args:
        log: The log.
    """
    seats = call_cached(_build_seats, to_hashable_bytes(log.player_backends), log.test_player_name)
    ended = checked_result(log, (AGREE, FAIL))
    numbers = {seat.player: number for number, seat in enumerate(seats, start=1)}
    (tested,) = [seat for seat in seats if seat.is_tested]
    outcomes = {AGREE: Outcome.AGREED, FAIL: Outcome.NOT_AGREED, None: None}
    built = GameRecord(
        game_type=GameType.COST_SHARING,
        system=SYSTEM,
        format=FORMAT,
        format_version=PGM if (tested.model or "").endswith(PGM_SUFFIX) else PLAIN,
        setting={"topic": none_if_unset(log.topic), "tested": tested.player},
        is_repeatable=True,
        is_finished=ended is not None,
        outcome=outcomes[ended],
        n_rounds=0,
        seats=list(seats),
        messages=messages_from_rows(
            logged_columns(log), numbers, _phase_and_round_of_each_row, _PROMPTS
        ),
    )
    course = built.messages.course
    built.n_rounds = max((round_ or 0 for round_ in course.round), default=0)
    built.faults += [
        RecordError(
            f"$.history[{index}]",
            "a player speaks once when it is asked",
            repr(course.player[index]),
        )
        for index in course.message_indices(Phase.OTHER)
    ]
    built.proposals = _build_proposals(built, log, numbers)
    built.proposal_votes = _build_votes(built, log, numbers)
    agreed = None if ended is None else ended == AGREE
    first_choice = _seat_of_agreed_proposal_author(built, log, numbers) if agreed else None
    built.results = [
        replace(result_row, agreed=agreed, first_choice_seat=first_choice)
        for result_row in results_of_tested_seats(built, {numbers[tested.player]: agreed})
    ]
    return built


def _build_seats(backends: bytes | UnsetType, tested: str | UnsetType) -> tuple[Seat, ...]:
    models = sort_by_player_number(
        decode_required_part(backends, dict[str, ModelName], "player_backends")
    )
    check_players(models, "$.player_backends", most=len(PARTIES))
    check_unique_keys(backends, "$.player_backends")
    if tested is UNSET or tested not in models:
        raise invalid_document_error(
            "$.test_player_name", "it names a player that has a backend", repr(tested)
        )
    return tuple(
        Seat(player, model, PLAYER, is_tested=player == tested) for player, model in models.items()
    )


def _build_proposals(built: GameRecord, log: Log, numbers: Mapping[str, int]) -> list[Proposal]:
    """Return each player's proposals: the last one as logged, earlier ones parsed from texts."""
    logged = (
        decode_part_or_add_fault(log.proposal, Proposals, "proposal", built.faults) or {}
    ).copy()
    n_seats = len(built.seats)
    course, texts = built.messages.course, built.messages.content
    indices = course.message_indices(Phase.PROPOSAL)
    last = {course.seat[index]: index for index in indices}
    rows: list[Proposal] = []
    for index in indices:
        seat, round_ = course.seat[index] or 0, course.round[index] or 1
        is_last = last[seat] == index
        registered = logged.pop(course.player[index], None) if is_last else None
        if isinstance(registered, dict):
            shares = call_cached(_shares_with_seats, tuple(registered.items()), n_seats)
        else:
            shares = call_cached(_parse_shares, texts[index], n_seats)
        rows += _proposal_rows(shares, seat, round_, index, is_last=is_last)
    for player, registered in logged.items():
        # Logged, though no message of the player's is left: a history that was cut short.
        if player in numbers and isinstance(registered, dict):
            shares = _shares_with_seats(registered.items(), n_seats)
            rows += _proposal_rows(shares, numbers[player], built.n_rounds or 1, None, is_last=True)
    return rows


def _proposal_rows(
    shares: Iterable["_Share"], seat: int, round_: int, index: int | None, *, is_last: bool
) -> list[Proposal]:
    return [
        Proposal(seat, round_, index, party, party_seat, position, text, is_last)
        for party, party_seat, position, text in shares
    ]


# A party and its seat, the position of its share in the proposal, and the share as written.
_Share: TypeAlias = tuple[str, int | None, int, str | None]


def _parse_shares(text: str, n_seats: int) -> list[_Share]:
    text = remove_thoughts(text)
    if "  " in text or "\t" in text:  # rewriting costs as much as reading, and is seldom needed
        text = _SPACES.sub(" ", text)
    share_by_party: dict[str, str | None] = {
        party.upper(): share.strip() for party, share in _SHARE_LINE.findall(text)
    }
    return _shares_with_seats((share_by_party or dict.fromkeys(PARTIES[:n_seats])).items(), n_seats)


def _shares_with_seats(named: Iterable[tuple[str, str | None]], n_seats: int) -> list[_Share]:
    shares: list[_Share] = []
    for position, (name, text) in enumerate(named, start=1):
        party = name.strip("* ")
        party_seat = _SEATS.get(party, n_seats + 1)
        shares.append((party, party_seat if party_seat <= n_seats else None, position, text))
    return shares


def _build_votes(built: GameRecord, log: Log, numbers: dict[str, int]) -> list[ProposalVote]:
    """Return the votes of each round: in the final round as logged, before it from texts."""
    logged: ProposalVotes = {}
    if log.vote is not UNSET:
        logged = (
            decode_part_or_add_fault(log.vote, ProposalVotes, "vote", built.faults) or {}
        ).copy()
    course = built.messages.course
    indices = course.message_indices(Phase.PROPOSAL_VOTE)
    final = course.highest_round(Phase.PROPOSAL_VOTE)
    rows = []
    for index in indices:
        seat, round_, player = course.seat[index] or 0, course.round[index], course.player[index]
        is_final = (round_ or 0) == final
        is_logged = is_final and player in logged
        candidate = _candidate_of_logged_vote(logged.pop(player)) if is_logged else None
        rows.append(ProposalVote(seat, round_ or 1, index, candidate, is_logged, is_final))
    for player, registered in logged.items():
        # A vote of 0 without a message was never cast: the game was cut off before.
        candidate = _candidate_of_logged_vote(registered)
        if candidate and player in numbers:
            rows.append(
                ProposalVote(
                    numbers[player], final or 1, None, candidate, True, is_final_round=True
                )
            )
    return rows


def _candidate_of_logged_vote(registered: str | int) -> str | None:
    return registered or None if isinstance(registered, str) else None


def _seat_of_agreed_proposal_author(
    built: GameRecord, log: Log, numbers: Mapping[str, int]
) -> int | None:
    """Return the seat that the benchmark's script takes for the author of the agreed proposal.

    That is the choice of the first logged vote. Without logged votes, it is the player whom the
    last message but one names in the exact words of the template.
    """
    if log.vote is not UNSET:
        votes = decode_part_or_add_fault(log.vote, ProposalVotes, "vote", []) or {}
        choice = next(iter(votes.values()), None)
        return numbers.get(choice) if isinstance(choice, str) else None
    closing = built.messages.content[-2] if len(built.messages) > 1 else ""
    match = _TEMPLATE.search(closing)
    return numbers.get(match[1]) if match else None
