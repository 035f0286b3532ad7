"""CK-Arena's logs: Undercover with several undercovers, who are out one by one.

After each round of statements the players vote one of them out, in some games an audience does it
alone, and judges put out whoever makes a poor statement. What the judges score is not read.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct

from pipeline.formats.record_builder import (
    Int64,
    LoggedMessage,
    build_messages,
    check_players,
    find_player,
    find_target,
)
from pipeline.formats.sniffer import (
    DocumentSniffer,
    decode,
    invalid_document_error,
    iter_valid_entries,
)
from pipeline.game_record import Elimination, GameRecord, RecordError, Seat, Vote
from pipeline.games.magic_games import UNDERCOVER as KIND
from pipeline.vocabulary import Phase

NAME = SYSTEM = "ck_arena"
NAMES_MODELS = True

T = TypeVar("T")

RoundNumber = Annotated[int, Meta(ge=1, le=1_000_000)]
# What stands in the place of a model where a person played, and of a vote that names nobody.
HUMAN = "human"
NOBODY = 0
_SEATED = "every player named has a seat"
_OUTCOMES = {"civilian": "caught", "undercover": "parity"}


class Words(Struct):
    """The two words of a game."""

    concept_a: str
    concept_b: str


class Player(Struct):
    """A player with its role, word and model."""

    player_id: Int64
    role: Literal["civilian", "undercover"]
    llm_id: str | None = None


class Statement(Struct):
    """A player's statement in a round."""

    player_id: Int64
    content: str | None
    statement_round: RoundNumber


class Ballot(Struct):
    """A vote; the player that the voter's answer names may be any text."""

    voter_id: Any
    voted_for: Any = None


class EliminatedPlayer(Struct):
    """An elimination by the players or the audience."""

    player_id: Any


class JudgeElimination(Struct):
    """An elimination by the judges, during a round of statements."""

    player_id: Any
    elimination_round: RoundNumber


class Decision(Struct):
    """The elimination by the players' votes, or by an audience, after a round of statements.

    Of acts, here and below, each is read alone: one that is broken leaves the others.
    """

    after_statement_round: RoundNumber
    eliminated: Any = None
    votes: Any = []


class Process(Struct):
    """The course of a game: statements, votes and eliminations."""

    statements: list[Statement]
    voting_rounds: list[Decision] | None = None
    audience_decisions: list[Decision] | None = None
    metric_eliminations: Any = []


class Summary(Struct):
    """The role that won."""

    winner_role: Literal["civilian", "undercover"] | None = None


class Record(Struct):
    """The record of a game in a document."""

    topic_category: str
    concept_pair: Words
    players: list[Player]
    game_process: Process
    game_summary: Summary | None = None


_KEY = "game_record"
_AT = f"$.{_KEY}"


def claims(sniffer: DocumentSniffer) -> bool:
    """Return whether the document has a record with most parts of a game."""
    is_record = sniffer.first == "{" and _KEY in sniffer.keys
    return is_record and len(sniffer.within(_KEY) & {*Record.__struct_fields__}) >= 3


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Read the game in the document's record."""
    record = decode(Record, sniffer.top[_KEY], _AT)
    process = record.game_process
    winner = record.game_summary.winner_role if record.game_summary else None
    names = [_player_name(player.player_id) for player in record.players]
    check_players(names, f"{_AT}.players")
    seats = [
        Seat(
            name,
            None if player.llm_id == HUMAN else player.llm_id or None,
            player.role,
            is_tested=player.llm_id != HUMAN,
        )
        for name, player in zip(names, record.players, strict=True)
    ]
    spoken = [
        LoggedMessage(
            _player_name(statement.player_id),
            statement.content or "",
            Phase.CLUE,
            statement.statement_round,
        )
        for statement in process.statements
    ]
    game = GameRecord(
        game_type=KIND.name,
        system=SYSTEM,
        format=NAME,
        setting={
            "topic": record.topic_category,
            "civilian_code": record.concept_pair.concept_a,
            "undercover_code": record.concept_pair.concept_b,
            "players": len(seats),
            "undercovers": sum(seat.role == "undercover" for seat in seats),
            "decided_by": "players" if process.audience_decisions is None else "audience",
        },
        is_finished=winner is not None,
        outcome=None if winner is None else _OUTCOMES[winner],
        n_rounds=max((statement.statement_round for statement in process.statements), default=0),
        seats=seats,
        messages=build_messages(spoken, seats),
    )
    known = {player.player_id for player in record.players}
    for place, statement in enumerate(process.statements):
        if statement.player_id not in known:
            at = f"{_AT}.game_process.statements[{place}].player_id"
            raise invalid_document_error(at, _SEATED, f"player {statement.player_id}")
    acts = _Acts([player.player_id for player in record.players], game.faults)
    game.votes = list(_read_votes(process, acts))
    game.eliminations = list(_read_eliminations(process, acts))
    return game


def _player_name(player_id: int) -> str:
    """Return a player's name, as the other players saw it before its statements."""
    return f"Player_{player_id}"


class _Acts:
    """Parses actions by all names that a log uses for players; invalid actions become errors."""

    def __init__(self, players: list[int], faults: list[RecordError]) -> None:
        self.known: dict[int | str, str] = {}
        for player in players:
            self.known |= dict.fromkeys(
                (player, str(player), _player_name(player)), _player_name(player)
            )
        self.seats = {_player_name(player): seat for seat, player in enumerate(players, start=1)}
        self.faults = faults

    def iter_actions(
        self, listed: Any, kind: type[T], key: str, at: str
    ) -> Iterator[tuple[str, int, T]]:
        """Yield each action in the list `at`, with its position and the seat of its player."""
        for place, act in iter_valid_entries(listed, kind, f"{_AT}.game_process.{at}", self.faults):
            player = getattr(act, key)
            if name := find_player(player, self.known):
                yield place, self.seats[name], act
            else:
                self.faults.append(RecordError(f"{place}.{key}", _SEATED, repr(player)[:50]))


def _read_votes(process: Process, acts: _Acts) -> Iterator[Vote]:
    """Return the votes; they have no message, and the round of the statements before them."""
    for number, decision in enumerate(process.voting_rounds or ()):
        listed = acts.iter_actions(
            decision.votes, Ballot, "voter_id", f"voting_rounds[{number}].votes"
        )
        for at, voter, ballot in listed:
            of = None if ballot.voted_for == NOBODY else ballot.voted_for
            voted_for = find_target(of, acts.known, f"{at}.voted_for", acts.faults)
            yield Vote(voter, decision.after_statement_round, None, voted_for)


def _read_eliminations(process: Process, acts: _Acts) -> Iterator[Elimination]:
    """Return who was eliminated by the players' `vote`, the `audience`, or the judges' `metric`."""
    for cause, key, decisions in (
        ("vote", "voting_rounds", process.voting_rounds),
        ("audience", "audience_decisions", process.audience_decisions),
    ):
        for number, decision in enumerate(decisions or ()):
            at = f"{key}[{number}].eliminated"
            for _, seat, _ in acts.iter_actions(
                decision.eliminated, EliminatedPlayer, "player_id", at
            ):
                yield Elimination(seat, decision.after_statement_round, None, cause)
    spoken: dict[tuple[str | None, int], int] = {
        (_player_name(statement.player_id), statement.statement_round): index
        for index, statement in enumerate(process.statements)
    }
    listed = acts.iter_actions(
        process.metric_eliminations, JudgeElimination, "player_id", "metric_eliminations"
    )
    for _, seat, vetting in listed:
        index = spoken.get((find_player(vetting.player_id, acts.known), vetting.elimination_round))
        yield Elimination(seat, vetting.elimination_round, index, "metric", is_before_vote=True)
