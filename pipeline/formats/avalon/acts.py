"""What is said and done in a game of multi-round Avalon, in its order."""

from pipeline.formats.avalon.log import Choice, Mission, Proposal
from pipeline.formats.building import Spoken
from pipeline.formats.rows import EVERYONE
from pipeline.game import Event, Seat
from pipeline.games.avalon import KIND, Assassination, QuestPlay, TeamProposal, TeamVote
from pipeline.vocabulary import Side


class Acts:
    """The messages of a game, as `spoken`, and its events by table."""

    def __init__(self, seats: list[Seat]) -> None:
        sides = {role.name: role.side for role in KIND.roles}
        self.spoken: list[Spoken] = []
        self.events: dict[str, list[Event]] = {name: [] for name in KIND.tables}
        self._numbers = {seat.player: number for number, seat in enumerate(seats, start=1)}
        self._evil = tuple(seat.player for seat in seats if sides[seat.role] == Side.HIDDEN)

    def add_mission(self, mission: Mission) -> None:
        """A quest: all discuss once, leaders propose teams until one goes, its players play."""
        number = mission.mission_number
        has_failed = None if mission.mission_result is None else mission.mission_result == "fail"
        self.spoken += [
            Spoken(said.player, said.content, "talk", number) for said in mission.discussion
        ]
        for attempt, proposal in enumerate(mission.proposals, start=1):
            self._add_proposal(proposal, number, attempt, has_failed)
        self.events["quest_plays"] += [
            QuestPlay(self._numbers[play.player], number, None, play.action == "fail", has_failed)
            for play in mission.quest_actions or ()
        ]

    def _add_proposal(
        self, proposal: Proposal, number: int, attempt: int, has_failed: bool | None
    ) -> None:
        leader, team = proposal.leader, tuple(proposal.team_members)
        is_approved = proposal.vote_result == "approved"
        index = self._say(leader, proposal.reasoning, "team", number)
        self.events["team_proposals"].append(
            TeamProposal(
                self._numbers[leader],
                number,
                index,
                attempt,
                team,
                is_voted_on=bool(proposal.votes),
                is_approved=is_approved,
                is_quest_failed=has_failed if is_approved else None,
            )
        )
        for ballot in proposal.votes:
            # What a vote was given for is shown to nobody else.
            index = self._say(ballot.player, ballot.comment, "team_vote", number, ballot.player)
            seat, approves = self._numbers[ballot.player], ballot.vote == "approve"
            vote = TeamVote(seat, number, index, attempt, leader, team, approves, is_approved)
            self.events["team_votes"].append(vote)

    def add_assassination(self, choice: Choice, number: int) -> None:
        """After the last quest, the evil players discuss, and the assassin chooses."""
        for said in choice.evil_discussion:
            self._say(said.player, said.content, "assassination", number, self._evil)
        assassin = choice.assassin
        index = self._say(assassin, choice.reasoning, "assassination", number, assassin)
        target = choice.guess if choice.guess in self._numbers else None
        self.events["assassinations"].append(
            Assassination(self._numbers[assassin], number, index, target, choice.correct)
        )

    def _say(
        self,
        player: str,
        text: str | None,
        phase: str,
        number: int,
        visible_to: str | tuple[str, ...] = EVERYONE,
    ) -> int | None:
        """Adds a message, and returns its index; None where the act has no words."""
        if text is None:
            return None
        self.spoken.append(Spoken(player, text, phase, number, visible_to))
        return len(self.spoken) - 1
