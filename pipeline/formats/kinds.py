"""What a format gives held against the kind of its game: roles, outcome and tables of its own.

Contracts allow the words of all games in a column; a game is held to those of its own kind.
"""

from functools import cache
from typing import NamedTuple

from pipeline.formats.broken import broken
from pipeline.game import GameRecord
from pipeline.games import kinds


class _Words(NamedTuple):
    roles: frozenset[str]
    outcomes: frozenset[str | None]
    tables: frozenset[str]


@cache
def _words(game_type: str) -> _Words | None:
    kind = kinds().get(game_type)
    if kind is None:
        return None
    return _Words(
        roles=frozenset(role.name for role in kind.roles),
        outcomes=frozenset([None, *(ending.outcome for ending in kind.endings)]),
        tables=frozenset(kind.tables),
    )


def check_kind(game: GameRecord) -> None:
    """Raises BrokenDocument for a role, an outcome or a table that games of this kind lack."""
    words = _words(game.game_type)
    if words is None:
        raise broken("$", "the kind of game is known", repr(game.game_type))
    for seat in game.seats:
        if seat.role not in words.roles:
            _refuse("role", seat.role, words.roles, game)
    if game.outcome not in words.outcomes:
        _refuse("outcome", game.outcome, words.outcomes, game)
    for table in game.events:
        if table not in words.tables:
            _refuse("table", table, words.tables, game)


def _refuse(what: str, word: object, known: frozenset[str | None], game: GameRecord) -> None:
    listed = ", ".join(sorted(filter(None, known))) or "none"
    article = "an" if what == "outcome" else "a"
    raise broken("$", f"{article} {what} of {game.game_type} is one of: {listed}", repr(str(word)))
