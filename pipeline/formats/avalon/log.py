"""What a log of multi-round Avalon holds, and whom it names."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from pipeline.formats.broken import broken
from pipeline.formats.rows import Int64


class Config(Struct, frozen=True):
    model: str | None = None
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
    vote_result: Literal["approved", "rejected"] | None = None
    votes: list[Ballot] | None = None
    reasoning: str | None = None


class Play(Struct):
    player: str
    action: Any


class Mission(Struct):
    mission_number: Annotated[int, Meta(ge=1, le=1_000_000)]
    discussion: list[Speech] | None = None
    proposals: list[Proposal] | None = None
    quest_actions: list[Play] | None = None
    mission_result: Literal["success", "fail"] | None = None


class Choice(Struct):
    assassin: str
    correct: bool
    evil_discussion: list[Speech] | None = None
    guess: Any = None
    reasoning: str | None = None


class Log(Struct):
    players: list[Player]
    missions: list[Mission]
    config: Config = Config()
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
        for number, said in enumerate(mission.discussion or ()):
            yield f"{at}.discussion[{number}].player", said.player
        for number, play in enumerate(mission.quest_actions or ()):
            yield f"{at}.quest_actions[{number}].player", play.player
        for number, proposal in enumerate(mission.proposals or ()):
            yield f"{at}.proposals[{number}].leader", proposal.leader
            for member in proposal.team_members:
                yield f"{at}.proposals[{number}].team_members", member
            for vote, ballot in enumerate(proposal.votes or ()):
                yield f"{at}.proposals[{number}].votes[{vote}].player", ballot.player
    if log.assassin_phase is not None:
        yield "$.assassin_phase.assassin", log.assassin_phase.assassin
        for number, said in enumerate(log.assassin_phase.evil_discussion or ()):
            yield f"$.assassin_phase.evil_discussion[{number}].player", said.player
