"""What a log of multi-round Avalon holds, and whom it names."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from pipeline.formats.broken import broken
from pipeline.formats.players import ModelName
from pipeline.formats.rows import Int64


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
    content: str | None


class Ballot(Struct):
    player: str
    vote: Any
    comment: str | None = None


class Proposal(Struct):
    leader: str
    team_members: list[str]
    vote_result: Literal["approved", "rejected"]
    votes: list[Ballot]
    reasoning: str | None = None


class Play(Struct):
    player: str
    action: Any


class Mission(Struct):
    mission_number: Annotated[int, Meta(ge=1, le=1_000_000)]
    discussion: list[Speech]
    proposals: list[Proposal]
    quest_actions: list[Play] | None = None
    mission_result: Literal["success", "fail"] | None = None


class Choice(Struct):
    assassin: str
    evil_discussion: list[Speech]
    guess: Any
    correct: bool
    reasoning: str | None = None


class Log(Struct):
    config: Config
    players: list[Player]
    missions: list[Mission]
    winner: Literal["good", "evil"] | None = None
    assassin_phase: Choice | None = None


def check_names(log: Log, known: set[str]) -> None:
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
