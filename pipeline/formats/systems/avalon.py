"""Logs of the multi-round Avalon agents: games of five to ten players of one model, in JSON.

What players think back on after a game, for the next, is not read. One fail is enough to fail any
quest, also the fourth of seven players.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from pipeline.formats.record_builder import (
    EVERYONE,
    Int64,
    LoggedMessage,
    build_messages,
    check_players,
    find_target,
)
from pipeline.formats.sniffer import DocumentSniffer, decode
from pipeline.game_record import Event, GameRecord, RecordError, Seat
from pipeline.games.other_games import (
    AVALON as KIND,
    Assassination,
    QuestPlay,
    TeamProposal,
    TeamVote,
)
from pipeline.vocabulary import Side

NAME = "avalon"
SYSTEM = "multi_round_avalon"
NAMES_MODELS = True

# All but one, as logs of other systems have players, missions and a winner, too.
_KEYS = {"config", "players", "missions", "winner", "assassin_phase"}
# The log's words for roles that have another name here.
_ROLES = {"good": "servant", "evil": "minion"}
_VOTES, _PLAYS = ("approve", "reject"), ("success", "fail")


class Config(Struct, frozen=True):
    """The settings of a game: the model, team sizes, and numbers of messages."""

    model: str | None = None
    mission_team_sizes: list[Int64] | None = None
    num_messages_per_player: Int64 | None = None
    reasoning_effort: str | None = None


class Player(Struct):
    """A player with its role and model."""

    name: str
    role: Literal["assassin", "morgana", "mordred", "oberon", "evil", "merlin", "percival", "good"]


class Speech(Struct):
    """What a player said in a discussion."""

    player: str
    content: str | None


class Ballot(Struct):
    """A player's vote for or against a proposed team."""

    player: str
    vote: Any
    comment: str | None = None


class Proposal(Struct):
    """A leader's proposal of a team, with the discussion and the votes."""

    leader: str
    team_members: list[str]
    vote_result: Literal["approved", "rejected"] | None = None
    votes: list[Ballot] | None = None
    reasoning: str | None = None


class Play(Struct):
    """The choice of a team member in a quest."""

    player: str
    action: Any


class Mission(Struct):
    """A quest: its discussion, proposals and choices."""

    mission_number: Annotated[int, Meta(ge=1, le=1_000_000)]
    discussion: list[Speech] | None = None
    proposals: list[Proposal] | None = None
    quest_actions: list[Play] | None = None
    mission_result: Literal["success", "fail"] | None = None


class Choice(Struct):
    """The assassination: the assassin, its guess, and whether the guess was correct."""

    assassin: str
    correct: bool
    evil_discussion: list[Speech] | None = None
    guess: Any = None
    reasoning: str | None = None


class Log(Struct):
    """The document of a game."""

    players: list[Player]
    missions: list[Mission]
    config: Config = Config()
    winner: Literal["good", "evil"] | None = None
    assassin_phase: Choice | None = None


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether the document has the keys of an Avalon log."""
    return sniffer.has_keys(_KEYS, len(_KEYS) - 1)


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Read the game of a document; a file with all games of a tournament has other keys."""
    log = decode(Log, sniffer.data)
    names = [player.name for player in log.players]
    check_players(names, "$.players")
    seats = [
        Seat(
            player.name,
            log.config.model or None,
            _ROLES.get(player.role, player.role),
            is_tested=True,
        )
        for player in log.players
    ]
    sizes = log.config.mission_team_sizes
    acts = _GameEvents(seats)
    for place, mission in enumerate(log.missions):
        acts.add_mission(mission, f"$.missions[{place}]")
    n_rounds = max((mission.mission_number for mission in log.missions), default=0)
    if log.assassin_phase is not None:
        acts.add_assassination(log.assassin_phase, max(n_rounds, 1))
    return GameRecord(
        game_type=KIND.name,
        system=SYSTEM,
        format=NAME,
        setting={
            "players": len(seats),
            "roles": [*sorted(seat.role for seat in seats)],
            "team_sizes": [*sizes] if sizes else None,
            "messages_per_player": log.config.num_messages_per_player,
            "reasoning_effort": log.config.reasoning_effort,
        },
        is_finished=log.winner is not None,
        outcome=_read_outcome(log),
        n_rounds=n_rounds,
        seats=seats,
        messages=build_messages(acts.spoken, seats),
        events=acts.events,
        faults=acts.faults,
    )


def _read_outcome(log: Log) -> str | None:
    """Return how the game ended: evil wins by an assassination or three failed quests."""
    if log.winner != "evil":
        return None if log.winner is None else "good_won"
    if log.assassin_phase is not None and log.assassin_phase.correct:
        return "merlin_found"
    n_failed = sum(mission.mission_result == "fail" for mission in log.missions)
    return "quests_failed" if n_failed >= 3 else "evil_won"


class _GameEvents:
    """The messages of a game, as `spoken`, and its events by table."""

    def __init__(self, seats: list[Seat]) -> None:
        self.spoken: list[LoggedMessage] = []
        self.events: dict[str, list[Event]] = {name: [] for name in KIND.tables}
        self._numbers = {seat.player: number for number, seat in enumerate(seats, start=1)}
        self.faults: list[RecordError] = []
        self._evil = tuple(seat.player for seat in seats if KIND.side(seat.role) is Side.HIDDEN)

    def add_mission(self, mission: Mission, at: str) -> None:
        """Add a quest.

        It is a discussion, proposed teams until one is accepted, and the team's choices.
        """
        number = mission.mission_number
        has_failed = None if mission.mission_result is None else mission.mission_result == "fail"
        self._discuss(mission.discussion, "talk", number, EVERYONE, f"{at}.discussion")
        for attempt, proposal in enumerate(mission.proposals or (), start=1):
            path = f"{at}.proposals[{attempt - 1}]"
            if self._is_seated(proposal.leader, f"{path}.leader"):
                self._add_proposal(proposal, number, attempt, path, has_failed=has_failed)
        for place, play in enumerate(mission.quest_actions or ()):
            path = f"{at}.quest_actions[{place}]"
            is_read = self._is_read(play.action, _PLAYS, f"{path}.action")
            if self._is_seated(play.player, f"{path}.player") and is_read:
                seat, is_fail = self._numbers[play.player], play.action == "fail"
                self.events["quest_plays"].append(
                    QuestPlay(seat, number, None, is_fail, has_failed)
                )

    def _discuss(
        self,
        speeches: Sequence[Speech] | None,
        phase: str,
        number: int,
        visible_to: str | tuple[str, ...],
        at: str,
    ) -> None:
        for place, said in enumerate(speeches or ()):
            if self._is_seated(said.player, f"{at}[{place}].player"):
                self._say(said.player, said.content or "", phase, number, visible_to)

    def _is_seated(self, name: str, at: str) -> bool:
        """Return whether the named player has a seat, and record an error if not."""
        if name not in self._numbers:
            self.faults.append(RecordError(at, "every player named has a seat", repr(name[:50])))
        return name in self._numbers

    def _is_read(self, word: object, words: tuple[str, ...], at: str) -> bool:
        """Return whether an action is one of these words, and record an error if not."""
        if word not in words:
            self.faults.append(RecordError(at, f"it is {' or '.join(words)}", repr(word)[:50]))
        return word in words

    def _add_proposal(
        self, proposal: Proposal, number: int, attempt: int, at: str, *, has_failed: bool | None
    ) -> None:
        leader, named = proposal.leader, proposal.team_members
        team = tuple(one for one in named if self._is_seated(one, f"{at}.team_members"))
        result = proposal.vote_result
        is_approved = None if result is None else result == "approved"
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
        for place, ballot in enumerate(proposal.votes or ()):
            if not self._is_seated(ballot.player, f"{at}.votes[{place}].player"):
                continue
            # What a vote was given for is shown to nobody else.
            index = self._say(ballot.player, ballot.comment, "team_vote", number, ballot.player)
            if not self._is_read(ballot.vote, _VOTES, f"{at}.votes[{place}].vote"):
                continue
            seat, approves = self._numbers[ballot.player], ballot.vote == "approve"
            vote = TeamVote(seat, number, index, attempt, leader, team, approves, is_approved)
            self.events["team_votes"].append(vote)

    def add_assassination(self, choice: Choice, number: int) -> None:
        """Add the evil players' discussion after the last quest, and the assassin's choice."""
        at, phase = "$.assassin_phase", "assassination"
        self._discuss(choice.evil_discussion, phase, number, self._evil, f"{at}.evil_discussion")
        assassin = choice.assassin
        if not self._is_seated(assassin, f"{at}.assassin"):
            return
        index = self._say(assassin, choice.reasoning, phase, number, assassin)
        chosen = find_target(
            choice.guess, {name: name for name in self._numbers}, f"{at}.guess", self.faults
        )
        self.events["assassinations"].append(
            Assassination(self._numbers[assassin], number, index, chosen, choice.correct)
        )

    def _say(
        self,
        player: str,
        text: str | None,
        phase: str,
        number: int,
        visible_to: str | tuple[str, ...] = EVERYONE,
    ) -> int | None:
        """Add a message and return its index; None for an action without words."""
        if text is None:
            return None
        self.spoken.append(LoggedMessage(player, text, phase, number, visible_to))
        return len(self.spoken) - 1
