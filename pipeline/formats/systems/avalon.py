"""Logs of the multi-round Avalon agents: games of five to ten players of one model, in JSON.

Reflections after a game, which players use in the next game, are not read. One fail is enough to
fail any quest, also the fourth quest of seven players.
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
    find_target_or_add_fault,
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

# Logs of other systems have players, missions and a winner, too, so only one key may be missing.
_KEYS = {"config", "players", "missions", "winner", "assassin_phase"}
# Our names of roles, by their names in the log.
_ROLES = {"good": "servant", "evil": "minion"}
_VOTES, _QUEST_ACTIONS = ("approve", "reject"), ("success", "fail")


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


class AssassinPhase(Struct):
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
    assassin_phase: AssassinPhase | None = None


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether the document has the keys of an Avalon log."""
    return sniffer.has_keys(_KEYS, len(_KEYS) - 1)


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Return the game of a log; raise InvalidDocumentError if its content is not valid."""
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
    game_events = _GameEvents(seats)
    for index, mission in enumerate(log.missions):
        game_events.add_quest_events(mission, f"$.missions[{index}]")
    n_rounds = max((mission.mission_number for mission in log.missions), default=0)
    if log.assassin_phase is not None:
        game_events.add_assassination_events(log.assassin_phase, max(n_rounds, 1))
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
        outcome=_outcome_name(log),
        n_rounds=n_rounds,
        seats=seats,
        messages=build_messages(game_events.logged_messages, seats),
        events=game_events.events,
        faults=game_events.faults,
    )


def _outcome_name(log: Log) -> str | None:
    """Return the outcome of the game, such as `good_won`; None if it has no winner.

    Evil wins by an assassination or by three failed quests.
    """
    if log.winner != "evil":
        return None if log.winner is None else "good_won"
    if log.assassin_phase is not None and log.assassin_phase.correct:
        return "merlin_found"
    n_failed = sum(mission.mission_result == "fail" for mission in log.missions)
    return "quests_failed" if n_failed >= 3 else "evil_won"


class _GameEvents:
    """Collects the messages of a game, and its events by the name of their table."""

    def __init__(self, seats: list[Seat]) -> None:
        self.logged_messages: list[LoggedMessage] = []
        self.events: dict[str, list[Event]] = {name: [] for name in KIND.tables}
        self._seat_numbers = {seat.player: number for number, seat in enumerate(seats, start=1)}
        self.faults: list[RecordError] = []
        self._evil = tuple(
            seat.player for seat in seats if KIND.side_of_role(seat.role) is Side.HIDDEN
        )

    def add_quest_events(self, mission: Mission, json_path: str) -> None:
        """Add the discussion, team proposals, team votes and actions of a quest."""
        quest_number = mission.mission_number
        has_quest_failed = (
            None if mission.mission_result is None else mission.mission_result == "fail"
        )
        self._add_discussion(
            mission.discussion, "talk", quest_number, EVERYONE, f"{json_path}.discussion"
        )
        for attempt, proposal in enumerate(mission.proposals or (), start=1):
            item_path = f"{json_path}.proposals[{attempt - 1}]"
            if self._is_seated_or_record_error(proposal.leader, f"{item_path}.leader"):
                self._add_proposal(
                    proposal, quest_number, attempt, item_path, has_quest_failed=has_quest_failed
                )
        for index, play in enumerate(mission.quest_actions or ()):
            item_path = f"{json_path}.quest_actions[{index}]"
            is_valid = self._is_allowed_or_record_error(
                play.action, _QUEST_ACTIONS, f"{item_path}.action"
            )
            if self._is_seated_or_record_error(play.player, f"{item_path}.player") and is_valid:
                seat, is_fail = self._seat_numbers[play.player], play.action == "fail"
                self.events["quest_plays"].append(
                    QuestPlay(seat, quest_number, None, is_fail, has_quest_failed)
                )

    def _add_discussion(
        self,
        speeches: Sequence[Speech] | None,
        phase: str,
        quest_number: int,
        visible_to: str | tuple[str, ...],
        json_path: str,
    ) -> None:
        for index, speech in enumerate(speeches or ()):
            if self._is_seated_or_record_error(speech.player, f"{json_path}[{index}].player"):
                self._add_message(
                    speech.player, speech.content or "", phase, quest_number, visible_to
                )

    def _is_seated_or_record_error(self, player: str, json_path: str) -> bool:
        """Return whether a player takes part in the game; add an error to `faults` if not."""
        if player not in self._seat_numbers:
            self.faults.append(
                RecordError(json_path, "every player named has a seat", repr(player[:50]))
            )
        return player in self._seat_numbers

    def _is_allowed_or_record_error(
        self, action: object, allowed_actions: tuple[str, ...], json_path: str
    ) -> bool:
        """Return whether an action is an allowed one; add an error to `faults` if not."""
        if action not in allowed_actions:
            self.faults.append(
                RecordError(json_path, f"it is {' or '.join(allowed_actions)}", repr(action)[:50])
            )
        return action in allowed_actions

    def _add_proposal(
        self,
        proposal: Proposal,
        quest_number: int,
        attempt: int,
        json_path: str,
        *,
        has_quest_failed: bool | None,
    ) -> None:
        leader = proposal.leader
        team = tuple(
            member
            for member in proposal.team_members
            if self._is_seated_or_record_error(member, f"{json_path}.team_members")
        )
        result = proposal.vote_result
        is_approved = None if result is None else result == "approved"
        message_index = self._add_message(leader, proposal.reasoning, "team", quest_number)
        self.events["team_proposals"].append(
            TeamProposal(
                self._seat_numbers[leader],
                quest_number,
                message_index,
                attempt,
                team,
                is_voted_on=bool(proposal.votes),
                is_approved=is_approved,
                is_quest_failed=has_quest_failed if is_approved else None,
            )
        )
        for index, ballot in enumerate(proposal.votes or ()):
            if not self._is_seated_or_record_error(
                ballot.player, f"{json_path}.votes[{index}].player"
            ):
                continue
            # Only the voter sees its reason.
            message_index = self._add_message(
                ballot.player, ballot.comment, "team_vote", quest_number, ballot.player
            )
            if not self._is_allowed_or_record_error(
                ballot.vote, _VOTES, f"{json_path}.votes[{index}].vote"
            ):
                continue
            self.events["team_votes"].append(
                TeamVote(
                    self._seat_numbers[ballot.player],
                    quest_number,
                    message_index,
                    attempt,
                    leader,
                    team,
                    ballot.vote == "approve",
                    is_approved,
                )
            )

    def add_assassination_events(self, assassin_phase: AssassinPhase, quest_number: int) -> None:
        """Add the evil players' discussion after the last quest, and the assassin's choice."""
        json_path, phase = "$.assassin_phase", "assassination"
        self._add_discussion(
            assassin_phase.evil_discussion,
            phase,
            quest_number,
            self._evil,
            f"{json_path}.evil_discussion",
        )
        assassin = assassin_phase.assassin
        if not self._is_seated_or_record_error(assassin, f"{json_path}.assassin"):
            return
        message_index = self._add_message(
            assassin, assassin_phase.reasoning, phase, quest_number, assassin
        )
        target = find_target_or_add_fault(
            assassin_phase.guess,
            {name: name for name in self._seat_numbers},
            f"{json_path}.guess",
            self.faults,
        )
        self.events["assassinations"].append(
            Assassination(
                self._seat_numbers[assassin],
                quest_number,
                message_index,
                target,
                assassin_phase.correct,
            )
        )

    def _add_message(
        self,
        player: str,
        text: str | None,
        phase: str,
        quest_number: int,
        visible_to: str | tuple[str, ...] = EVERYONE,
    ) -> int | None:
        """Add a message and return its index; add nothing and return None if `text` is None."""
        if text is None:
            return None
        self.logged_messages.append(LoggedMessage(player, text, phase, quest_number, visible_to))
        return len(self.logged_messages) - 1
