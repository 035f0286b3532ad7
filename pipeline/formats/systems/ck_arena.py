"""CK-Arena's logs: Undercover with several undercovers, who are out one by one.

After each round of statements, the players or, in some games, an audience vote a player out. Judges
eliminate players for poor statements. The scores of the judges are not read.
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
    find_target_or_add_fault,
)
from pipeline.formats.sniffer import (
    DocumentSniffer,
    decode,
    invalid_document_error,
    iter_valid_entries_and_add_faults,
)
from pipeline.game_record import Elimination, GameRecord, RecordError, Seat, Vote
from pipeline.games.magic_games import UNDERCOVER as KIND
from pipeline.vocabulary import Phase

NAME = SYSTEM = "ck_arena"
NAMES_MODELS = True

T = TypeVar("T")

RoundNumber = Annotated[int, Meta(ge=1, le=1_000_000)]
# The model of a human player, and the target of a vote for nobody.
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
    """A vote; `voted_for` is parsed from an answer of the voter, so it can be any value."""

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

    An invalid vote or elimination does not affect other ones: each is decoded alone.
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
    """Return whether the document has a `game_record` with at least three parts of a game."""
    is_record = sniffer.first == "{" and _KEY in sniffer.keys
    return is_record and len(sniffer.within(_KEY) & {*Record.__struct_fields__}) >= 3


def read(sniffer: DocumentSniffer, model: str | None) -> GameRecord:
    """Return the game of a log; raise InvalidDocumentError if its content is not valid."""
    record = decode(Record, sniffer.top[_KEY], _AT)
    process = record.game_process
    winner = record.game_summary.winner_role if record.game_summary else None
    names = [_player_name_from_id(player.player_id) for player in record.players]
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
    logged_messages = [
        LoggedMessage(
            _player_name_from_id(statement.player_id),
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
        messages=build_messages(logged_messages, seats),
    )
    player_ids = [player.player_id for player in record.players]
    for index, statement in enumerate(process.statements):
        if statement.player_id not in player_ids:
            json_path = f"{_AT}.game_process.statements[{index}].player_id"
            raise invalid_document_error(json_path, _SEATED, f"player {statement.player_id}")
    parser = _ActionParser(player_ids, game.faults)
    game.votes = list(_iter_votes(process, parser))
    game.eliminations = list(_iter_eliminations(process, parser))
    return game


def _player_name_from_id(player_id: int) -> str:
    """Return the name by which the other players know a player, for example `Player_3`."""
    return f"Player_{player_id}"


class _ActionParser:
    """Parses the votes and eliminations of a log, and collects errors for invalid ones."""

    def __init__(self, player_ids: list[int], faults: list[RecordError]) -> None:
        self.names_by_reference: dict[int | str, str] = {
            reference: _player_name_from_id(player_id)
            for player_id in player_ids
            for reference in (player_id, str(player_id), _player_name_from_id(player_id))
        }
        self.seat_numbers = {
            _player_name_from_id(player_id): number
            for number, player_id in enumerate(player_ids, start=1)
        }
        self.faults = faults

    def iter_paths_seats_and_actions(
        self, actions: Any, action_type: type[T], player_field: str, process_path: str
    ) -> Iterator[tuple[str, int, T]]:
        """Yield the JSON path, the player's seat number and the content of each action in a list.

        An entry that is no valid action of a known player is skipped and reported in `faults`.
        """
        for json_path, action in iter_valid_entries_and_add_faults(
            actions, action_type, f"{_AT}.game_process.{process_path}", self.faults
        ):
            player = getattr(action, player_field)
            if name := find_player(player, self.names_by_reference):
                yield json_path, self.seat_numbers[name], action
            else:
                self.faults.append(
                    RecordError(f"{json_path}.{player_field}", _SEATED, repr(player)[:50])
                )


def _iter_votes(process: Process, parser: _ActionParser) -> Iterator[Vote]:
    """Yield the votes, without messages; a vote has the round of the statements before it."""
    for index, decision in enumerate(process.voting_rounds or ()):
        for json_path, voter, ballot in parser.iter_paths_seats_and_actions(
            decision.votes, Ballot, "voter_id", f"voting_rounds[{index}].votes"
        ):
            target = find_target_or_add_fault(
                None if ballot.voted_for == NOBODY else ballot.voted_for,
                parser.names_by_reference,
                f"{json_path}.voted_for",
                parser.faults,
            )
            yield Vote(voter, decision.after_statement_round, None, target)


def _iter_eliminations(process: Process, parser: _ActionParser) -> Iterator[Elimination]:
    """Yield the eliminations with their cause: `vote`, `audience`, or `metric` for the judges."""
    for cause, key, decisions in (
        ("vote", "voting_rounds", process.voting_rounds),
        ("audience", "audience_decisions", process.audience_decisions),
    ):
        for index, decision in enumerate(decisions or ()):
            for _, seat_number, _ in parser.iter_paths_seats_and_actions(
                decision.eliminated, EliminatedPlayer, "player_id", f"{key}[{index}].eliminated"
            ):
                yield Elimination(seat_number, decision.after_statement_round, None, cause)
    statement_indices: dict[tuple[str | None, int], int] = {
        (_player_name_from_id(statement.player_id), statement.statement_round): index
        for index, statement in enumerate(process.statements)
    }
    for _, seat_number, elimination in parser.iter_paths_seats_and_actions(
        process.metric_eliminations, JudgeElimination, "player_id", "metric_eliminations"
    ):
        name = find_player(elimination.player_id, parser.names_by_reference)
        round_number = elimination.elimination_round
        message_index = statement_indices.get((name, round_number))
        yield Elimination(seat_number, round_number, message_index, "metric", is_before_vote=True)
