"""The kinds of games, found in the modules here. There is no list of them.

A package outside adds one by an entry point of the group `magic_pipeline.games` that leads to a
`GameKind`; a TOML document that `MAGIC_GAMES` names adds one without a package.
"""

from collections.abc import Collection, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType

from pipeline.games.kind import Ending, EventTable, GameKind, Role, Source, check, of_files, refusal
from pipeline.plugins import GAMES, OWN, PluginError, each_once, plugins
from pipeline.vocabulary import GameType, Phase

__all__ = ["Ending", "EventTable", "GameKind", "Role", "kind", "kinds", "names"]


@cache
def kinds() -> MappingProxyType[str, GameKind]:
    """The kinds by name: those of MAgIC in its order, then the others by name."""
    first = list(map(str, GameType))
    known = {name: kind for name, _, kind in _added()}
    others = sorted(known.keys() - set(first))
    return MappingProxyType({name: known[name] for name in (*first, *others)})


@cache
def _added() -> tuple[tuple[str, str, GameKind], ...]:
    """The name, package or file, and kind of each; raises PluginError for one with a mistake."""
    return tuple((kind.name, source, kind) for source, kind in (*_in_code(), *_of_files()))


def own_tables(shared: Collection[str]) -> dict[str, EventTable]:
    """The tables that only games of one kind have.

    Raises PluginError for one that has the name of another, or of a `shared` one.
    """
    packages = {name: package for name, package, _ in _added()}
    tables = [
        (table, packages[name], kind) for name, kind in kinds().items() for table in kind.tables
    ]
    for name, package, kind in tables:
        if name in shared:
            raise refusal(kind, package, f"a table of every lake is called `{name}`: rename it")
    return {name: kind.tables[name] for name, _, kind in each_once("the table", tables)}


@cache
def _in_code() -> tuple[Source, ...]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    found = (one for module in modules for one in vars(module).values())
    own = [(OWN, one) for one in found if isinstance(one, GameKind)]
    known: list[Source] = []
    for package, kind in (*own, *_of_plugins()):
        check(kind, package, known)
        known.append((package, kind))
    return tuple(known)


def _of_plugins() -> Iterator[tuple[str, GameKind]]:
    for plugin in plugins(GAMES):
        if not isinstance(plugin.value, GameKind):
            raise PluginError(f"{plugin}: it has to be a pipeline.games.GameKind")
        yield plugin.package, plugin.value


@cache
def _of_files() -> tuple[Source, ...]:
    return tuple(of_files(_in_code()))


def beside(files: Collection[str]) -> list[Source]:
    """The package or file, and kind of each game that none of these files declares."""
    places = {Path(file).resolve() for file in files}
    others = (one for one in _of_files() if Path(one[0]).resolve() not in places)
    return [*_in_code(), *others]


def in_files() -> tuple[str, ...]:
    """The game types that documents declare."""
    return tuple(kind.name for _, kind in _of_files())


def kind(name: str) -> GameKind:
    """The kind of this name; raises KeyError for an unknown one."""
    return kinds()[name]


def names() -> tuple[str, ...]:
    """The game types, in order."""
    return tuple(kinds())


def with_sides() -> tuple[str, ...]:
    """The game types in which some players are on a hidden side."""
    return tuple(name for name, one in kinds().items() if one.has_sides)


def with_sought_roles() -> tuple[str, ...]:
    """The game types in which players vote to find others."""
    return tuple(name for name, one in kinds().items() if one.has_sought_roles)


def competitions() -> tuple[str, ...]:
    """What results count for in Win Rate, of all game types."""
    return tuple(name for one in kinds().values() for name in one.competitions)


def type_of(competition: str) -> str:
    """The game type that has a competition."""
    return next(name for name, one in kinds().items() if competition in one.competitions)


def roles() -> tuple[str, ...]:
    """The names of all roles, each once."""
    return tuple(dict.fromkeys(role.name for one in kinds().values() for role in one.roles))


def outcomes() -> tuple[str, ...]:
    """The names of all outcomes, each once."""
    return tuple(dict.fromkeys(end.outcome for one in kinds().values() for end in one.endings))


@cache
def phases() -> tuple[str, ...]:
    """The phases of messages: those that games share, then those of single games."""
    own = (phase for one in kinds().values() for phase in one.phases)
    return tuple(dict.fromkeys([*map(str, Phase), *own]))
