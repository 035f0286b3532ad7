"""What a log of multi-round Avalon holds."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

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
