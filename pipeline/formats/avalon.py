"""Logs of the multi-round Avalon agents: games of five to ten players of one model, in JSON.

What players think back on after a game, for the next, is not read. One fail is enough to fail any
quest, also the fourth of seven players.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from pipeline.formats.broken import broken, decode
from pipeline.formats.building import Spoken, messages, team_results
from pipeline.formats.look import Look
from pipeline.formats.players import ModelName, check_players
from pipeline.formats.rows import Int64
from pipeline.game import Event, Game, Seat
from pipeline.games.avalon import KIND, Assassination, QuestPlay, TeamProposal, TeamVote
from pipeline.vocabulary import Side

NAME = "avalon"
SYSTEM = "multi_round_avalon"
VERSION = "1"
NAMES_MODELS = True

_KEYS = {"players", "missions", "winner"}
# The log's words for roles that have another name here.
_ROLES = {"good": "servant", "evil": "minion"}
_FAILED = 3  # quests by which evil wins


class Config(Struct):
    model: ModelName
    mission_team_sizes: list[Int64] | None = None
    num_messages_per_player: Int64 | None = None
    reasoning_effort: str | None = None


class Player(Struct):
    name: str
    role: Literal["assassin", "morgana", "mordred", "oberon", "evil", "merlin", "percival", "good"]


class Speech(Struct):
    player: str
    content: str


class Ballot(Struct):
    player: str
    vote: Literal["approve", "reject"]
    comment: str | None = None


class Proposal(Struct):
    leader: str
    team_members: list[str]
    vote_result: Literal["approved", "rejected"]
    votes: list[Ballot]
    reasoning: str | None = None


class Play(Struct):
    player: str
    action: Literal["success", "fail"]


class Mission(Struct):
    mission_number: Annotated[int, Meta(ge=1, le=1_000_000)]
    discussion: list[Speech]
    proposals: list[Proposal]
    quest_actions: list[Play] | None = None
    mission_result: Literal["success", "fail"] | None = None


class Choice(Struct):
    assassin: str
    evil_discussion: list[Speech]
    guess: str
    correct: bool
    reasoning: str | None = None


class Log(Struct):
    config: Config
    players: list[Player]
    missions: list[Mission]
    winner: Literal["good", "evil"] | None = None
    assassin_phase: Choice | None = None


_LOG = msgspec.json.Decoder(Log)


def claims(look: Look) -> bool:
    return look.first == "{" and look.keys >= _KEYS


def read(look: Look, model: str | None) -> Game:
    """The game in a document of its own; a file of all games of a tournament has other keys."""
    return _game(decode(_LOG, look.data))


def _game(log: Log) -> Game:
    names = [player.name for player in log.players]
    check_players(names, "$.players")
    _check_names(log, set(names))
    seats = [
        Seat(player.name, log.config.model, _ROLES.get(player.role, player.role), is_tested=True)
        for player in log.players
    ]
    sizes = log.config.mission_team_sizes
    acts = _Acts(seats)
    for mission in log.missions:
        acts.add_mission(mission)
    n_rounds = max((mission.mission_number for mission in log.missions), default=0)
    if log.assassin_phase is not None:
        acts.add_assassination(log.assassin_phase, max(n_rounds, 1))
    game = Game(
        game_type=KIND.name,
        system=SYSTEM,
        format=NAME,
        format_version=VERSION,
        setting={
            "players": len(seats),
            "roles": [*sorted(seat.role for seat in seats)],
            "team_sizes": [*sizes] if sizes else None,
            "messages_per_player": log.config.num_messages_per_player,
            "reasoning_effort": log.config.reasoning_effort,
        },
        is_finished=log.winner is not None,
        outcome=_outcome(log),
        n_rounds=n_rounds,
        seats=seats,
        messages=messages(acts.spoken, seats),
        events=acts.events,
    )
    game.results = team_results(game, KIND)
    return game


def _outcome(log: Log) -> str | None:
    """How the game ended: evil wins by an assassination or by quests that failed."""
    if log.winner != "evil":
        return None if log.winner is None else "good_won"
    if log.assassin_phase is not None and log.assassin_phase.correct:
        return "merlin_found"
    n_failed = sum(mission.mission_result == "fail" for mission in log.missions)
    return "quests_failed" if n_failed >= _FAILED else "evil_won"


class _Acts:
    """What is said and done in a game, in its order: messages, and events by table."""

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
        visible_to: str | tuple[str, ...] = "all",
    ) -> int | None:
        """Adds a message, and returns its index; None where the act has no words."""
        if text is None:
            return None
        self.spoken.append(Spoken(player, text, phase, number, visible_to))
        return len(self.spoken) - 1


def _check_names(log: Log, known: set[str]) -> None:
    """Raises BrokenDocument for a name that no player has."""
    for at, name in _named(log):
        if name not in known:
            raise broken(at, "every player named has a seat", repr(name[:50]))


def _named(log: Log) -> Iterator[tuple[str, str]]:
    """Every name of somebody who does something, and where it stands."""
    for place, mission in enumerate(log.missions):
        at = f"$.missions[{place}]"
        for number, said in enumerate(mission.discussion):
            yield f"{at}.discussion[{number}].player", said.player
        for number, play in enumerate(mission.quest_actions or ()):
            yield f"{at}.quest_actions[{number}].player", play.player
        for number, proposal in enumerate(mission.proposals):
            yield f"{at}.proposals[{number}].leader", proposal.leader
            for member in proposal.team_members:
                yield f"{at}.proposals[{number}].team_members", member
            for vote, ballot in enumerate(proposal.votes):
                yield f"{at}.proposals[{number}].votes[{vote}].player", ballot.player
    if log.assassin_phase is not None:
        yield "$.assassin_phase.assassin", log.assassin_phase.assassin
        for number, said in enumerate(log.assassin_phase.evil_discussion):
            yield f"$.assassin_phase.evil_discussion[{number}].player", said.player
