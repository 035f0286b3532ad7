"""What makes a kind of game unusable, alone or beside others, or a metric of it."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from pipeline.game import Event
from pipeline.games.kind import SEATED, Ending, EventTable, GameKind, Role
from pipeline.plugins import LETTERS, NAME, OWN, PluginError
from pipeline.vocabulary import ALL, Side

Source: TypeAlias = tuple[str, GameKind]
"""The package or the file that a kind is of, and the kind."""
_COUNTED = {
    Side.HIDDEN: "Deception, which counts its wins, is",
    Side.CIVILIAN: "Judgement, which counts its votes, is",
}
_TUPLES = {"roles": Role, "endings": Ending, "phases": str, "order": str, "secret_phases": str}


def _is_name(name: object) -> bool:
    return isinstance(name, str) and NAME.fullmatch(name) is not None


def check(kind: GameKind, package: str, others: Iterable[Source] = ()) -> None:
    """Raises PluginError for the first mistake of the kind, alone or beside others."""
    for mistake in chain(mistakes(kind), clashes(kind, others)):
        raise refusal(kind, package, mistake)


def refusal(kind: GameKind, package: str, mistake: str) -> PluginError:
    """The error for a mistake of a kind, which names it and its package."""
    of_package = "" if package == OWN else f" of the package {package}"
    return PluginError(f"the game `{kind.name}`{of_package}: {mistake}")


def mistakes(kind: GameKind) -> Iterator[str]:
    """What is wrong with a kind."""
    if not _is_name(kind.name) or kind.name == ALL:
        yield f"the name of a game has {LETTERS}, and is not `{ALL}`"
    for field, of in _TUPLES.items():
        values = getattr(kind, field)
        if not isinstance(values, tuple) or not all(isinstance(one, of) for one in values):
            yield f"`{field}` is a tuple of {of.__name__}: mind the comma in one of a single member"
    for role in kind.roles:
        texts: list[object] = [role.name, role.competition]
        if not all(isinstance(text, str) and text for text in texts):
            yield "a role has a name and a competition"
    yield from _twice("roles", "name", [role.name for role in kind.roles])
    yield from _twice("endings", "outcome", [ending.outcome for ending in kind.endings])
    for ending in kind.endings:
        for credit in (ending.hidden, ending.civilian):
            if credit is not None and not 0 <= credit <= 1:
                yield f"a credit is from 0 to 1, and one of `{ending.outcome}` is {credit}"
    for name, table in kind.tables.items():
        if not _is_name(name):
            yield f"the name of a table has {LETTERS}, and `{name}` has others"
        yield from _of_table(name, table)


def clashes(kind: GameKind, others: Iterable[Source]) -> Iterator[str]:
    """What others have already that only one game can have: its name, and its competitions."""
    for source, other in others:
        if kind.name == other.name:
            yield f"{source} has a game of this name too: rename this one, or leave it out"
        for competition in kind.competitions:
            if competition in other.competitions:
                yield (
                    f"its competition `{competition}` is one of the game `{other.name}`, and Win "
                    "Rate would count the two as one: give it another name"
                )


def gaps(kind: GameKind) -> Iterator[str]:
    """What in a kind with sides leaves a metric without a value, though nothing is wrong."""
    sides = [side for side in _COUNTED if any(role.side == side for role in kind.roles)]
    for side, of_side in _COUNTED.items() if sides else ():
        if side not in sides:
            yield f"no role is on the {side} side: {of_side} without a value"
    if sides and not kind.has_sought_roles:
        yield "no role has `is_sought = true`, so no vote is right: Judgement is without a value"
    for ending in kind.endings if kind.has_sides else ():
        for side in sides:
            if ending.credit(side) is None:
                yield (
                    f"`{ending.outcome}` does not say what the {side} side is credited with: games "
                    "that end so are refused"
                )


def _twice(what: str, their: str, names: list[str]) -> Iterator[str]:
    for place, name in enumerate(names):
        if name in names[:place]:
            yield f"no two {what} have one {their}, and two have `{name}`"


def _of_table(name: str, table: EventTable) -> Iterator[str]:
    event = table.event.__name__
    fields = [field for field in table.event.__struct_fields__ if field not in _OF_EVENT]
    derived = [f"{field}_seat" for field in SEATED if field in fields]
    for column in table.columns:
        if column not in [*fields, *derived]:
            yield f"a column of `{name}` is a field of {event}, and `{column}` is none"
    for field in fields:
        if field not in table.columns:
            yield f"a field of {event} is a column of `{name}`, and `{field}` is none"


_OF_EVENT = Event.__struct_fields__
