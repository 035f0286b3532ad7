"""One game, typed: what every log format is decoded into, and what the tables are made of.

The fields of an event are the columns of its table by the same name (`pipeline.events.contracts`);
what all events of a game share (ids, models, roles) is in `Game` and `Seat` and joined on later.
Seats and rounds count from 1, message indices from 0.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct, field

from pipeline.vocabulary import (
    AnalysisKind,
    Choice,
    GameType,
    Outcome,
    ParseStatus,
    Phase,
    Role,
)

JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"


class Fault(Struct, frozen=True, gc=False):
    """A document, or a part of one, that cannot be used, and the rule that it breaks."""

    json_path: str
    rule: str
    message: str


class BrokenDocument(Exception):
    """Raised by a format for a document that is one of its games and breaks a rule."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class Seat(Struct, frozen=True):
    """One player; its seat is its place in `Game.seats`, counted from 1."""

    player: str
    model: str | None
    role: Role
    is_tested: bool
    final_score: float | None = None


class Message(Struct, frozen=True):
    """One message; its place in `Game.messages` is its index. Seat is null for the moderator."""

    seat: int | None
    player: str
    round: int | None
    phase: Phase
    turn: int | None
    visible_to: list[str]
    content: str
    msg_type: str | None
    parse_status: ParseStatus = ParseStatus.OK


class Event(Struct, frozen=True, kw_only=True):
    """What every event has: who, when, the message that it was read from, and how surely."""

    seat: int
    round: int
    message_index: int | None
    parse_status: ParseStatus = ParseStatus.OK


class Result(Struct, frozen=True, kw_only=True):
    """What the game came to for one tested side; `seat` is null where it stands for several."""

    model: str | None
    role: Role
    seat: int | None
    round: int | None = None
    message_index: int | None = None
    parse_status: ParseStatus = ParseStatus.OK
    opponent: str | None = None
    is_win: bool | None = None
    win_credit: float | None = None
    guess_is_correct: bool | None = None
    agreed: bool | None = None
    proposed_agreement: bool | None = None
    first_choice_seat: int | None = None
    outcome_code: int | None = None


class Vote(Event, frozen=True, kw_only=True):
    target: str | None
    target_seat: int | None
    is_correct: bool
    is_valid: bool
    stated_target: str | None


class Guess(Event, frozen=True, kw_only=True):
    guess: str | None
    secret: str
    is_correct: bool | None


class RoleIdentification(Event, frozen=True, kw_only=True):
    is_correct: bool


class RoleAnalysis(Event, frozen=True, kw_only=True):
    kind: AnalysisKind
    is_correct: bool


class Decision(Event, frozen=True, kw_only=True):
    choice: Choice
    text: str
    payoff: float | None


class Contribution(Event, frozen=True, kw_only=True):
    amount: float | None
    stated_amount: float | None
    text: str
    is_least: bool | None
    round_total: float | None


class Proposal(Event, frozen=True, kw_only=True):
    party: str
    position: int
    share: float | None
    share_text: str | None
    is_last: bool


class ProposalVote(Event, frozen=True, kw_only=True):
    candidate: str | None
    candidate_seat: int | None
    is_final_round: bool


class Game(Struct, kw_only=True):
    """One game as its log tells it.

    `setting` holds what was fixed before play and no model's name; games of equal settings are
    equal there. `faults` are the parts of the log that could not be used. `assigned_model` is the
    one that whoever ingested the log gave, where the log itself names none.
    """

    game_type: GameType
    system: str
    format: str
    format_version: str
    setting: Mapping[str, JsonValue]
    is_finished: bool
    outcome: Outcome | None
    outcome_code: int | None = None
    n_rounds: int
    started_at: datetime | None = None
    assigned_model: str | None = None
    seats: list[Seat]
    messages: list[Message]
    results: list[Result] = field(default_factory=list)
    votes: list[Vote] = field(default_factory=list)
    guesses: list[Guess] = field(default_factory=list)
    role_identifications: list[RoleIdentification] = field(default_factory=list)
    role_analyses: list[RoleAnalysis] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    contributions: list[Contribution] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)
    proposal_votes: list[ProposalVote] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
