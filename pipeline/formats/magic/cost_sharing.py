"""MAgIC logs of Cost Sharing, in which airlines propose shares of a fee and vote on them."""

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
    decode_required,
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
    build_messages_from_columns,
    call_cached,
    check_players,
    check_unique_keys,
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

# A share ends at the end of its line or before the next airline. No text can make the search slow:
# the next airline is searched only at possible beginnings and once in a run of marks, and the runs
# before a share are bounded. The case of the first letter counts, because that search is faster.
_SHARE_LINE = re.compile(
    r"[Aa](?i:irline\s+([A-Z])\b)\W{0,40}?[:=]\W{0,40}?"
    r"(\S(?:[^\n \t,;*aA-]|(?![,;]?[ \t*-]*+(?i:airline\s+[A-Z]\b))(?:[ \t*-]++|.))*+)"
)
_SPACES = re.compile(r"[ \t]{2,}")
_TEMPLATE = re.compile(r"I vote for (Player \d+)")


def claims(log: Log) -> bool:
    """Return whether the log has a proposal or a negotiation turn, so that it is Cost Sharing."""
    return log.proposal is not UNSET or none_if_unset(log.nego_turn) is not None


def _phase_and_round_of_each_row(
    logged_columns: LoggedColumns, prompted_phases: PromptedPhases
) -> Timeline:
    """Return the phase and round of each message; the moderator's prompts begin phases and rounds.

    A message that is not public is a thought of a player who uses MAgIC's graphical model (PGM).
    """
    timeline = Timeline([], [])
    next_phases = iter(prompted_phases)
    prompted_phase = Phase.OTHER
    speakers: set[str] = set()
    n_rounds = 0
    for player, visible_to in zip(logged_columns.player, logged_columns.visible_to, strict=True):
        phase: Phase = prompted_phase
        if player == MODERATOR:
            phase = Phase.MODERATION
            if next_phase := next(next_phases):
                prompted_phase = next_phase
                speakers.clear()
                n_rounds += next_phase is Phase.PROPOSAL
        elif visible_to not in PUBLIC:
            phase = Phase.REFLECTION
        elif player in speakers:
            phase = Phase.OTHER
        else:
            speakers.add(player)
        timeline.phase.append(phase)
        timeline.round.append(n_rounds or None)
    return timeline


def game(log: Log) -> GameRecord:
    """Read the game in a Cost Sharing log, with the proposals and votes of every round.

    Args:
        log: The log.
    """
    seats = call_cached(_build_seats, to_hashable_bytes(log.player_backends), log.test_player_name)
    result = checked_result(log, (AGREE, FAIL))
    seat_by_player = {seat.player: number for number, seat in enumerate(seats, start=1)}
    (tested_seat,) = [seat for seat in seats if seat.is_tested]
    outcomes = {AGREE: Outcome.AGREED, FAIL: Outcome.NOT_AGREED, None: None}
    game_record = GameRecord(
        game_type=GameType.COST_SHARING,
        system=SYSTEM,
        format=FORMAT,
        format_version=PGM if (tested_seat.model or "").endswith(PGM_SUFFIX) else PLAIN,
        setting={"topic": none_if_unset(log.topic), "tested": tested_seat.player},
        is_repeatable=True,
        is_finished=result is not None,
        outcome=outcomes[result],
        n_rounds=0,
        seats=list(seats),
        messages=build_messages_from_columns(
            logged_columns(log), seat_by_player, _phase_and_round_of_each_row, _PROMPTS
        ),
    )
    columns = game_record.messages.course
    game_record.n_rounds = max((round_ or 0 for round_ in columns.round), default=0)
    game_record.faults += [
        RecordError(
            f"$.history[{index}]",
            "a player speaks once when it is asked",
            repr(columns.player[index]),
        )
        for index in columns.message_indices(Phase.OTHER)
    ]
    game_record.proposals = _build_proposals(game_record, log, seat_by_player)
    game_record.proposal_votes = _build_votes(game_record, log, seat_by_player)
    is_agreed = None if result is None else result == AGREE
    author_seat = (
        _seat_of_agreed_proposal_author(game_record, log, seat_by_player) if is_agreed else None
    )
    game_record.results = [
        replace(result_row, agreed=is_agreed, first_choice_seat=author_seat)
        for result_row in results_of_tested_seats(
            game_record, {seat_by_player[tested_seat.player]: is_agreed}
        )
    ]
    return game_record


def _build_seats(
    player_backends: bytes | UnsetType, tested_player: str | UnsetType
) -> tuple[Seat, ...]:
    models = sort_by_player_number(
        decode_required(player_backends, dict[str, ModelName], "player_backends")
    )
    check_players(models, "$.player_backends", max_players=len(PARTIES))
    check_unique_keys(player_backends, "$.player_backends")
    if tested_player is UNSET or tested_player not in models:
        raise invalid_document_error(
            "$.test_player_name", "it names a player that has a backend", repr(tested_player)
        )
    return tuple(
        Seat(player, model, PLAYER, is_tested=player == tested_player)
        for player, model in models.items()
    )


def _build_proposals(
    game_record: GameRecord, log: Log, seat_by_player: Mapping[str, int]
) -> list[Proposal]:
    """Build each player's proposals; the last one is logged, the earlier ones are in the texts."""
    logged_proposals = (
        decode_part_or_add_fault(log.proposal, Proposals, "proposal", game_record.faults) or {}
    ).copy()
    n_seats = len(game_record.seats)
    columns, texts = game_record.messages.course, game_record.messages.content
    indices = columns.message_indices(Phase.PROPOSAL)
    last_index_by_seat = {columns.seat[index]: index for index in indices}
    rows: list[Proposal] = []
    for index in indices:
        seat, round_ = columns.seat[index] or 0, columns.round[index] or 1
        is_last = last_index_by_seat[seat] == index
        logged_shares = logged_proposals.pop(columns.player[index], None) if is_last else None
        if isinstance(logged_shares, dict):
            shares = call_cached(_shares_with_seats, tuple(logged_shares.items()), n_seats)
        else:
            shares = call_cached(_parse_shares, texts[index], n_seats)
        rows += _proposal_rows(shares, seat, round_, index, is_last=is_last)
    # Proposals are logged without a message if the history of the log is truncated.
    for player, logged_shares in logged_proposals.items():
        if player in seat_by_player and isinstance(logged_shares, dict):
            shares = _shares_with_seats(logged_shares.items(), n_seats)
            rows += _proposal_rows(
                shares, seat_by_player[player], game_record.n_rounds or 1, None, is_last=True
            )
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
    if "  " in text or "\t" in text:  # a replacement is slow and seldom needed
        text = _SPACES.sub(" ", text)
    share_by_party: dict[str, str | None] = {
        party.upper(): share.strip() for party, share in _SHARE_LINE.findall(text)
    }
    return _shares_with_seats((share_by_party or dict.fromkeys(PARTIES[:n_seats])).items(), n_seats)


def _shares_with_seats(
    parties_and_shares: Iterable[tuple[str, str | None]], n_seats: int
) -> list[_Share]:
    shares: list[_Share] = []
    for position, (name, text) in enumerate(parties_and_shares, start=1):
        party = name.strip("* ")
        party_seat = _SEATS.get(party, n_seats + 1)
        shares.append((party, party_seat if party_seat <= n_seats else None, position, text))
    return shares


def _build_votes(
    game_record: GameRecord, log: Log, seat_by_player: dict[str, int]
) -> list[ProposalVote]:
    """Build the votes of all rounds; the candidates of the last round are logged."""
    logged_votes: ProposalVotes = {}
    if log.vote is not UNSET:
        logged_votes = (
            decode_part_or_add_fault(log.vote, ProposalVotes, "vote", game_record.faults) or {}
        ).copy()
    columns = game_record.messages.course
    indices = columns.message_indices(Phase.PROPOSAL_VOTE)
    final_round = columns.highest_round(Phase.PROPOSAL_VOTE)
    rows = []
    for index in indices:
        seat, round_, player = columns.seat[index] or 0, columns.round[index], columns.player[index]
        is_final = (round_ or 0) == final_round
        is_logged = is_final and player in logged_votes
        candidate = _candidate_of_logged_vote(logged_votes.pop(player)) if is_logged else None
        rows.append(ProposalVote(seat, round_ or 1, index, candidate, is_logged, is_final))
    for player, logged_vote in logged_votes.items():
        # The vote 0 without a message was never cast, because the game was stopped before.
        candidate = _candidate_of_logged_vote(logged_vote)
        if candidate and player in seat_by_player:
            rows.append(
                ProposalVote(
                    *(seat_by_player[player], final_round or 1, None, candidate, True),
                    is_final_round=True,
                )
            )
    return rows


def _candidate_of_logged_vote(logged_vote: str | int) -> str | None:
    return logged_vote or None if isinstance(logged_vote, str) else None


def _seat_of_agreed_proposal_author(
    game_record: GameRecord, log: Log, seat_by_player: Mapping[str, int]
) -> int | None:
    """Return the seat whose proposal was agreed on, as the benchmark's script determines it.

    That is the candidate of the first logged vote. If no votes are logged, it is the player named
    after "I vote for" in the last message but one. None if there is no such name.
    """
    if log.vote is not UNSET:
        votes = decode_part_or_add_fault(log.vote, ProposalVotes, "vote", []) or {}
        candidate = next(iter(votes.values()), None)
        return seat_by_player.get(candidate) if isinstance(candidate, str) else None
    last_text_but_one = game_record.messages.content[-2] if len(game_record.messages) > 1 else ""
    match = _TEMPLATE.search(last_text_but_one)
    return seat_by_player.get(match[1]) if match else None
