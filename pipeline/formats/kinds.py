"""What a format gives held against the kind of its game: roles, outcome and tables of its own.

Contracts allow the words of all games in a column; a game is held to those of its own kind. Whether
it ended is said in several places, which agree.
"""

from collections.abc import Iterable
from datetime import UTC

from pipeline.formats.broken import broken
from pipeline.game import BrokenDocument, GameRecord
from pipeline.games import kinds

_DECIDED = "a result of a finished game has `is_win` and `win_credit`"
_UNDECIDED = "a result of an unfinished game has neither `is_win` nor `win_credit`"


def check_kind(game: GameRecord) -> None:
    """Raises BrokenDocument for a role, an outcome or a table that games of this kind lack."""
    kind = kinds().get(game.game_type)
    if kind is None:
        raise broken("$", "the kind of game is known", repr(game.game_type))
    roles = {role.name for role in kind.roles}
    for seat in game.seats:
        if seat.role not in roles:
            raise _refused("a role", seat.role, roles, game)
    for table in game.events:
        if table not in kind.tables:
            raise _refused("a table", table, kind.tables, game)
    check_start(game)
    check_end(game)
    check_winners(game)


def check_start(game: GameRecord, at: str = "$") -> None:
    """Raises BrokenDocument for a start, which the document has at `at`, that no column holds."""
    try:
        _ = game.started_at and game.started_at.astimezone(UTC)
    except OverflowError as error:
        rule = "a time in UTC is of one of the years 1 to 9999"
        raise broken(at, rule, str(game.started_at)) from error


def check_end(game: GameRecord, at: str = "$") -> None:
    """Raises BrokenDocument unless the outcome is one of its kind, and there where it is finished.

    `at` is where the document has its outcome.
    """
    outcome = game.outcome
    if outcome is not None and not game.is_finished:
        raise broken(at, "an unfinished game has no outcome", repr(str(outcome)))
    outcomes = {ending.outcome for ending in kinds()[game.game_type].endings}
    if game.is_finished and outcome not in outcomes:
        raise _refused("an outcome", outcome, outcomes, game, at)


def check_winners(game: GameRecord, at: str = "$") -> None:
    """Raises BrokenDocument unless each result says who won if the game is finished, and only then.

    `at` is where the document has its results.
    """
    for one in game.results:
        if {one.is_win is not None, one.win_credit is not None} != {game.is_finished}:
            rule = _DECIDED if game.is_finished else _UNDECIDED
            has = f"is_win {one.is_win}, win_credit {one.win_credit} ({one.role}, seat {one.seat})"
            raise broken(at, rule, has)


def _refused(
    what: str, word: str | None, known: Iterable[str], game: GameRecord, at: str = "$"
) -> BrokenDocument:
    rule = f"{what} of {game.game_type} is one of: {', '.join(sorted(known)) or 'none'}"
    return broken(
        at, rule, "there is none, and the game is finished" if word is None else repr(str(word))
    )
