"""Who accepted whose proposal in a game of `bargain`, as far as its log says so.

Every agent accepts or rejects every proposal; one that all accept is agreed, the first if there are
several. Single votes are not logged, but a proposal that all accepted has the vote of each. The
oldest games log them: there all vote on the first proposal of the round, and on no other.
"""

import re
from collections.abc import Mapping, Sequence

from pipeline.formats.bargain_log import Log, Row
from pipeline.game import ProposalVote

ACCEPT = "accept"
_TALLY = re.compile(r"^Proposal #(\d{1,6}): (\d{1,6}) accept, (\d{1,6}) reject\s*$", re.MULTILINE)


def votes(log: Log, seats: Mapping[str, int]) -> list[ProposalVote]:
    """The votes for a proposal; a rejection is none."""
    rounds: dict[int, list[Row]] = {}
    for row in log.conversation_logs:
        rounds.setdefault(row.round, []).append(row)
    final = rounds.get(log.final_round, [])
    author = _agreed(final, len(seats)) if log.consensus_reached else None
    if author in seats:
        return [
            ProposalVote(seat, log.final_round, None, author, True, is_final_round=True)
            for seat in seats.values()
        ]
    return _logged(log, seats, {number: _first_proposer(rows) for number, rows in rounds.items()})


def _agreed(rows: Sequence[Row], n_agents: int) -> str | None:
    """Whose proposal all accepted by the tally, the first in it.

    The tally's last line names the last proposal, whichever was accepted.
    """
    proposers = {
        one.proposal_number: one.proposer for row in rows for one in row.enumerated_proposals
    }
    tallies = [row.content or "" for row in rows if row.phase == "vote_tabulation"]
    accepted = [
        int(number)
        for tally in tallies
        for number, accepts, rejects in _TALLY.findall(tally)
        if int(accepts) == n_agents and int(rejects) == 0
    ]
    return proposers.get(accepted[0]) if accepted else None


def _logged(
    log: Log, seats: Mapping[str, int], first: Mapping[int, str | None]
) -> list[ProposalVote]:
    """The single votes of the oldest games, each for the first proposal of its round."""
    last = max((row.round for row in log.conversation_logs if row.vote), default=0)
    cast: dict[tuple[int, int], ProposalVote] = {}
    for index, row in enumerate(log.conversation_logs):
        candidate = first[row.round]
        if not row.vote or row.vote.vote != ACCEPT or row.player not in seats or not candidate:
            continue
        seat = seats[row.player]
        cast[seat, row.round] = ProposalVote(
            seat, row.round, index, candidate, True, is_final_round=row.round == last
        )
    return list(cast.values())


def _first_proposer(rows: Sequence[Row]) -> str | None:
    return next((row.player for row in rows if row.proposal), None)
