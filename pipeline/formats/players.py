"""The players of any game: what has to hold to tell each by its name, and who they are."""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Raw, UnsetType

from pipeline.formats.broken import broken, not_json
from pipeline.formats.rows import EVERYONE, MODERATOR
from pipeline.game import Course, Fault, GameRecord, Seat

ModelName = Annotated[str, Meta(min_length=1)]
T = TypeVar("T")
_NUMBERED = re.compile(r"Player ([1-9][0-9]{0,8})")
_MODELS = msgspec.json.Decoder(dict[str, str])

MOST_PLAYERS = 1_000
LONGEST_NAME = 1_000
NOT_NAMES = frozenset({MODERATOR, EVERYONE})
# What stands between the words of a name, or is not seen, and what an answer has around it.
_AROUND = re.compile(
    r"""[\s_\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]+|^[\s"'“”‘’`*(<\[「]+|[\s"'“”‘’`*)>\]」.。,!]+$"""
)
_HYPHENS = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2212", "-"))
# What programs write for an answer that named nobody.
_NOBODY = frozenset(
    (
        *("", "null", "none", "nil", "nan", "undefined", "n/a", "-", "-1", "nobody", "no one"),
        *("no_one", "noone", "abstain", "abstained", "skip", "pass", "no vote", "no_vote"),
        *("no lynch", "no_lynch", "no_elimination", "弃权", "棄權", "棄権", "기권"),
    )
)


@lru_cache
def player_number(name: str) -> int | None:
    """The N of a name that is just `Player N`, else None."""
    match = _NUMBERED.fullmatch(name)
    return int(match[1]) if match else None


def check_number(n_players: int, at: str, most: int = MOST_PLAYERS) -> None:
    """Raises BrokenDocument where there are more players than a table seats."""
    if n_players > most:
        raise broken(at, f"a game has at most {most:,} players", f"{n_players:,} players")


def check_players(players: Collection[str], at: str, most: int = MOST_PLAYERS) -> None:
    """Raises BrokenDocument where there are more than a table seats, or one has no name of its own.

    `at` is where the log lists them. What is made of a game grows with its players, in places with
    their square.
    """
    check_number(len(players), at, most)
    _check_each_once(players, at)
    if NOT_NAMES.isdisjoint(players) and max(map(len, players), default=0) <= LONGEST_NAME:
        return
    wrong = next(name for name in players if name in NOT_NAMES or len(name) > LONGEST_NAME)
    taken = f", which is not {' or '.join(map(repr, sorted(NOT_NAMES)))}"
    rule = f"every player has a name of at most {LONGEST_NAME:,} characters{taken}"
    raise broken(at, rule, repr(wrong[:50]))


def check_distinct(part: Raw | bytes | UnsetType, at: str) -> None:
    """Raises BrokenDocument where an object of players has a name twice: decoders keep the last."""
    listed = b"" if isinstance(part, UnsetType) else bytes(part)
    try:
        pairs = json.loads(listed, object_pairs_hook=list, parse_int=str)
    except (ValueError, RecursionError) as error:  # msgspec does not look into what it skips
        raise not_json(error, listed, at) from error
    _check_each_once([name for name, _ in pairs], at)


def _check_each_once(names: Collection[str], at: str) -> None:
    if len(set(names)) < len(names):
        alike = next(name for name, n in Counter(names).items() if n > 1)
        raise broken(at, "no two players have the same name", repr(alike[:50]))


def in_seats(players: dict[str, T]) -> dict[str, T]:
    """An object whose keys are players, in the order of their seats.

    Players that are numbered sit by their numbers, since the order of keys in JSON says nothing.
    Others sit as they are listed.
    """
    numbers = {name: player_number(name) for name in players}
    if None in numbers.values():
        return players
    return {name: players[name] for name in sorted(players, key=lambda name: numbers[name] or 0)}


def is_nobody(name: object) -> bool:
    """Whether a log writes this in the place of a player's name where there is no player."""
    is_name = isinstance(name, str | int) and not isinstance(name, bool)
    return name is None or (is_name and str(name).strip().lower() in _NOBODY)


def named(value: object, known: Mapping[Any, str]) -> str | None:
    """The player that a value names, by all that a log may call players; None for no player."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    player = known.get(value)
    return _alike(value, known) if player is None and isinstance(value, str) else player


def _alike(value: str, known: Mapping[Any, str]) -> str | None:
    """The only player whose name differs in form: capitals, blanks, hyphens, what is around."""
    plain = _plain(value)
    players = {player for name, player in known.items() if _plain(str(name)) == plain}
    return players.pop() if plain and len(players) == 1 else None


@lru_cache(4_096)
def _plain(name: str) -> str:
    return _AROUND.sub("", unicodedata.normalize("NFKC", name).translate(_HYPHENS)).casefold()


def target(value: object, known: Mapping[Any, str], at: str, faults: list[Fault]) -> str | None:
    """The player at whom an act is aimed, by all that a log may call players; None for nobody.

    For a value that is neither there is a fault: the act is for nobody, and the game is kept.
    """
    player = named(value, known)
    if player is None and not is_nobody(value):
        faults.append(Fault(at, "an act is aimed at a player, or at nobody", repr(value)[:50]))
    return player


def unseated(
    course: Course, at: str = "$.history", places: Sequence[int] | None = None
) -> list[Fault]:
    """A fault for each player who speaks and has no seat, at the first message in the list `at`.

    The message is in the tables, and what the player does in it is not. `places` are the messages'
    own in the list, where it has more than them.
    """
    if course.seat.count(None) == course.player.count(MODERATOR):
        return []
    first: dict[str, int] = {}
    for index, (player, seat) in enumerate(zip(course.player, course.seat, strict=True)):
        if seat is None and player != MODERATOR:
            first.setdefault(player, index)
    rule = "every player who speaks has a seat"
    places = range(len(course.player)) if places is None else places
    return [Fault(f"{at}[{places[i]}]", rule, repr(player)) for player, i in first.items()]


def unshown(shown: Sequence[str | tuple[str, ...]], known: Collection[str], at: str) -> list[Fault]:
    """A fault for each name that a text is shown to and nobody has, at the first such text.

    `shown` are the readers of each text in the list `at`, `known` the names of the seats.
    """
    names = {name for readers in set(shown) for name in names_in(readers)}
    rule = f"a text is shown to players who have seats, or to {' or '.join(sorted(NOT_NAMES))}"
    faults = []
    for name in sorted(names.difference(known, NOT_NAMES, {""})):
        first = next(n for n, readers in enumerate(shown) if name in names_in(readers))
        faults.append(Fault(f"{at}[{first}].visible_to", rule, repr(name)))
    return faults


def names_in(named: str | tuple[str, ...]) -> tuple[str, ...]:
    """One name or several, as several."""
    return (named,) if isinstance(named, str) else named


def untested(game: GameRecord) -> list[Fault]:
    """A fault for a game in which nobody is tested: its rows are kept, but count nowhere."""
    if any(seat.is_tested for seat in game.seats):
        return []
    rule = "at least one player is tested"
    return [
        Fault(
            "$", rule, f"none of {len(game.seats)} players is tested, so no metric counts the game"
        )
    ]


def opponents(seats: Iterable[Seat]) -> str | None:
    """The models of the seats not tested, sorted and joined with ', '; None where all are."""
    models = {seat.model or "?" for seat in seats if not seat.is_tested}
    return ", ".join(sorted(models)) or None


def models_of(players: Collection[str], given: str | None) -> dict[str, str | None]:
    """Each player's model, in their order, in a log that names none.

    Whoever ingests it gives the name of a model, which all players are, or a JSON object of players
    and their models. Raises BrokenDocument where only some are given one.
    """
    try:
        by_player = _MODELS.decode(given) if given and given.startswith("{") else None
    except (msgspec.DecodeError, RecursionError, UnicodeError):  # a name that begins so
        by_player = None
    if by_player is None:
        return dict.fromkeys(players, given)
    if without := [player for player in players if player not in by_player]:
        rule = "the log or --models-from names each player's model"
        raise broken("$", rule, f"nothing names that of {', '.join(without)[:200]}")
    return {player: by_player[player] for player in players}
