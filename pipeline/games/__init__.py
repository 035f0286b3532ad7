"""The kinds of games, found in the modules here. There is no list of them.

A package outside adds one by an entry point of the group `magic_pipeline.games` that leads to a
`GameKind`; a TOML document that `MAGIC_GAMES` names adds one without a package.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TypeAlias

import msgspec
from msgspec import Struct

from pipeline.column import Column
from pipeline.game_record import Event, find_type_errors
from pipeline.plugins import (
    GAMES,
    NAME_PATTERN,
    NAME_RULE,
    OWN_PACKAGE,
    PluginError,
    check_unique_names,
    load_plugins,
)
from pipeline.vocabulary import ALL_GAME_TYPES, PLAYER, GameType, Phase, Side

# What a kind of game is, as data: its roles and sides, how it ends, what is done in it.

# Fields of an event that name a player, whose seat is another column.
SEAT_COLUMNS = ("target", "leader")


class Role(Struct, frozen=True):
    """A role of a game, and the side that it is on.

    `competition` is what its results count for in Win Rate; roles can share one, and a side then
    wins or loses as a whole. `is_sought` says that votes are right if they name a player of this
    role.
    """

    name: str
    side: Side
    competition: str
    is_sought: bool = False


class Ending(Struct, frozen=True, forbid_unknown_fields=True):
    """One way in which a game ends, and what each side is credited with for it (0..1).

    Null is for games in which points or proposals decide who won. `hidden_wins` is needed only
    where a credit of less than 1 is a win of the hidden side.
    """

    outcome: str
    hidden: float | None = None
    civilian: float | None = None
    hidden_wins: bool | None = None

    def credit(self, side: str) -> float | None:
        """What the side is credited with."""
        if side == Side.HIDDEN:
            return self.hidden
        return self.civilian if side == Side.CIVILIAN else None

    def is_win(self, side: str) -> bool | None:
        """Whether the side won."""
        if side == Side.HIDDEN and self.hidden_wins is not None:
            return self.hidden_wins
        credit = self.credit(side)
        return None if credit is None else credit == 1


class EventTable(Struct, frozen=True):
    """A table that only games of one kind have: what a row is, and its own columns.

    A row is something that a seat did, an `event` that a format puts into `GameRecord.events`. Its
    fields are columns; those of game, player, seat, round and message come with every such table.
    Of a column in `SEATED`, such as `target`, the column `target_seat` is derived.
    """

    event: type[Event]
    row: str
    columns: Mapping[str, Column]


class GameDefinition(Struct, frozen=True, eq=False):
    """A kind of game. `phases` are those of its messages that no other game has.

    `order` is how a round goes, for readers of a transcript: phases, and the tables of acts that
    have no message. `eliminations.vote` are the rows of a table of that `cause` or `kind`. What it
    leaves out comes last, in the order of the tables. In a phase of `secret_phases`, whoever speaks
    has a certain role. `most_points_win` says that the highest score wins, also a shared one.
    """

    name: str
    roles: tuple[Role, ...]
    endings: tuple[Ending, ...]
    phases: tuple[str, ...] = ()
    tables: Mapping[str, EventTable] = {}
    order: tuple[str, ...] = ()
    secret_phases: tuple[str, ...] = ()
    most_points_win: bool = False

    def role(self, name: str) -> Role | None:
        """The role of this name, None if the game has no such role."""
        return next((role for role in self.roles if role.name == name), None)

    def side(self, role: str) -> Side:
        """The side that a role is on, `Side.NONE` for a role that the game does not have."""
        found = self.role(role)
        return found.side if found else Side.NONE

    def ending(self, outcome: str | None) -> Ending | None:
        """The ending of this outcome, None if no game of the kind ends so."""
        return next((ending for ending in self.endings if ending.outcome == outcome), None)

    @property
    def competitions(self) -> tuple[str, ...]:
        """What results of the game count for, in the order of its roles."""
        return tuple(dict.fromkeys(role.competition for role in self.roles))

    @property
    def has_sides(self) -> bool:
        """Whether some players are on a hidden side, and the others do not know who."""
        return any(role.side == Side.HIDDEN for role in self.roles)

    @property
    def has_sought_roles(self) -> bool:
        """Whether players vote to find others."""
        return any(role.is_sought for role in self.roles)


def of_players(
    name: str,
    *endings: Ending,
    phases: tuple[str, ...] = (),
    order: tuple[str, ...] = (),
    most_points_win: bool = False,
) -> GameDefinition:
    """A game without roles: each player plays for itself, and all compete in one."""
    roles = (Role(PLAYER, Side.NONE, name),)
    return GameDefinition(
        name, roles, endings, phases, order=order, most_points_win=most_points_win
    )


# What makes a kind of game unusable, alone or beside others, or a metric of it.

Source: TypeAlias = tuple[str, GameDefinition]
"""The package or the file that a kind is of, and the kind."""
_COUNTED = {
    Side.HIDDEN: "Deception, which counts its wins, is",
    Side.CIVILIAN: "Judgement, which counts its votes, is",
}
_TUPLES = {"roles": Role, "endings": Ending, "phases": str, "order": str, "secret_phases": str}


def _is_name(name: object) -> bool:
    return isinstance(name, str) and NAME_PATTERN.fullmatch(name) is not None


def check(kind: GameDefinition, package: str, others: Iterable[Source] = ()) -> None:
    """Raises PluginError for the first mistake of the kind, alone or beside others."""
    for mistake in chain(mistakes(kind), clashes(kind, others)):
        raise refusal(kind, package, mistake)


def refusal(kind: GameDefinition, package: str, mistake: str) -> PluginError:
    """The error for a mistake of a kind, which names it and its package."""
    of_package = "" if package == OWN_PACKAGE else f" of the package {package}"
    return PluginError(f"the game `{kind.name}`{of_package}: {mistake}")


def mistakes(kind: GameDefinition) -> Iterator[str]:
    """What is wrong with a kind."""
    if not _is_name(kind.name) or kind.name == ALL_GAME_TYPES:
        yield f"the name of a game has {NAME_RULE}, and is not `{ALL_GAME_TYPES}`"
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
            yield f"the name of a table has {NAME_RULE}, and `{name}` has others"
        event = table.event.__name__
        fields = [
            one for one in table.event.__struct_fields__ if one not in Event.__struct_fields__
        ]
        derived = [f"{one}_seat" for one in SEAT_COLUMNS if one in fields]
        for column in table.columns:
            if column not in [*fields, *derived]:
                yield f"a column of `{name}` is a field of {event}, and `{column}` is none"
        for one in fields:
            if one not in table.columns:
                yield f"a field of {event} is a column of `{name}`, and `{one}` is none"


def clashes(kind: GameDefinition, others: Iterable[Source]) -> Iterator[str]:
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


def missing_for_metrics(kind: GameDefinition) -> Iterator[str]:
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


# Kinds of games as data: TOML documents that the environment variable `MAGIC_GAMES` names.
#
# Such a game has roles, sides, endings and phases; what is done in it is told by the tables that
# all games share. It has to be named whenever its lake is asked, as a package has to be installed.

VARIABLE = "MAGIC_GAMES"


class _Role(Struct, forbid_unknown_fields=True):
    """A role; those of one side count for one competition, unless they name another."""

    name: str
    side: Side = Side.NONE
    competition: str = ""
    is_sought: bool = False


class _Game(Struct, forbid_unknown_fields=True):
    name: str
    roles: list[_Role]
    endings: tuple[Ending, ...]
    phases: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    secret_phases: tuple[str, ...] = ()
    most_points_win: bool = False


def of_files(others: Iterable[Source]) -> Iterator[Source]:
    """Each file that the variable names, with its game; several are separated as in PATH.

    Raises PluginError for a file that is named twice, and for a game that cannot be used, alone or
    beside those of the other files and `others`.
    """
    known, places = [*others], set()
    for name in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        if (place := Path(name).resolve()) in places:
            raise PluginError(f"{VARIABLE} names the file {name} twice: leave one out")
        places.add(place)
        known.append((name, load_game_definition(Path(name), known)))
        yield known[-1]


def load_game_definition(file: Path, others: Iterable[Source] = ()) -> GameDefinition:
    """The game in a file; raises PluginError with what is wrong, and at which place of it.

    So it does where one of the `others` has its name or a competition of it.
    """
    try:
        # Some editors begin a file with a byte order mark.
        document = msgspec.toml.decode(file.read_bytes().decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise PluginError(f"{file}: it cannot be read as a game: {error}") from None
    if faults := find_type_errors(document, _Game):
        sides = f"; choose a side from {', '.join(Side)}"
        told = "; ".join(
            f"{fault.json_path}: {fault.message}{sides * fault.json_path.endswith('.side')}"
            for fault in faults
        )
        raise PluginError(f"{file}: it cannot be read as a game: {told}")
    game = msgspec.convert(document, _Game)
    roles = tuple(
        Role(
            role.name,
            role.side,
            role.competition
            or (game.name if role.side == Side.NONE else f"{game.name}_as_{role.side}"),
            role.is_sought,
        )
        for role in game.roles
    )
    kind = GameDefinition(**msgspec.structs.asdict(game) | {"roles": roles})
    if found := [*mistakes(kind), *clashes(kind, others)]:
        raise PluginError(f"{file}: the game `{kind.name}`: {'; '.join(found)}")
    return kind


__all__ = [
    "Ending",
    "EventTable",
    "GameDefinition",
    "Role",
    "game_definition",
    "game_definitions",
    "game_type_names",
]


@cache
def game_definitions() -> MappingProxyType[str, GameDefinition]:
    """The kinds by name: those of MAgIC in its order, then the others by name."""
    first = list(map(str, GameType))
    known = {name: kind for name, _, kind in _added()}
    others = sorted(known.keys() - set(first))
    return MappingProxyType({name: known[name] for name in (*first, *others)})


@cache
def _added() -> tuple[tuple[str, str, GameDefinition], ...]:
    """The name, package or file, and kind of each; raises PluginError for one with a mistake."""
    return tuple((kind.name, source, kind) for source, kind in (*_in_code(), *_of_files()))


def game_type_tables(shared: Collection[str]) -> dict[str, EventTable]:
    """The tables that only games of one kind have.

    Raises PluginError for one that has the name of another, or of a `shared` one.
    """
    packages = {name: package for name, package, _ in _added()}
    tables = [
        (table, packages[name], kind)
        for name, kind in game_definitions().items()
        for table in kind.tables
    ]
    for name, package, kind in tables:
        if name in shared:
            raise refusal(kind, package, f"a table of every lake is called `{name}`: rename it")
    return {name: kind.tables[name] for name, _, kind in check_unique_names("the table", tables)}


@cache
def _in_code() -> tuple[Source, ...]:
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    found = (one for module in modules for one in vars(module).values())
    own = [(OWN_PACKAGE, one) for one in found if isinstance(one, GameDefinition)]
    known: list[Source] = []
    for package, kind in (*own, *_of_plugins()):
        check(kind, package, known)
        known.append((package, kind))
    return tuple(known)


def _of_plugins() -> Iterator[tuple[str, GameDefinition]]:
    for plugin in load_plugins(GAMES):
        if not isinstance(plugin.value, GameDefinition):
            raise PluginError(f"{plugin}: it has to be a pipeline.games.GameDefinition")
        yield plugin.package, plugin.value


@cache
def _of_files() -> tuple[Source, ...]:
    return tuple(of_files(_in_code()))


def game_types_outside_files(files: Collection[str]) -> list[Source]:
    """The package or file, and kind of each game that none of these files declares."""
    places = {Path(file).resolve() for file in files}
    others = (one for one in _of_files() if Path(one[0]).resolve() not in places)
    return [*_in_code(), *others]


def game_types_in_files() -> tuple[str, ...]:
    """The game types that documents declare."""
    return tuple(kind.name for _, kind in _of_files())


def game_definition(name: str) -> GameDefinition:
    """The kind of this name; raises KeyError for an unknown one."""
    return game_definitions()[name]


def game_type_names() -> tuple[str, ...]:
    """The game types, in order."""
    return tuple(game_definitions())


def game_types_with_sides() -> tuple[str, ...]:
    """The game types in which some players are on a hidden side."""
    return tuple(name for name, one in game_definitions().items() if one.has_sides)


def game_types_with_sought_roles() -> tuple[str, ...]:
    """The game types in which players vote to find others."""
    return tuple(name for name, one in game_definitions().items() if one.has_sought_roles)


def competitions() -> tuple[str, ...]:
    """What results count for in Win Rate, of all game types."""
    return tuple(name for one in game_definitions().values() for name in one.competitions)


def game_type_of_competition(competition: str) -> str:
    """The game type that has a competition."""
    return next(name for name, one in game_definitions().items() if competition in one.competitions)


def role_names() -> tuple[str, ...]:
    """The names of all roles, each once."""
    return tuple(
        dict.fromkeys(role.name for one in game_definitions().values() for role in one.roles)
    )


def outcome_names() -> tuple[str, ...]:
    """The names of all outcomes, each once."""
    return tuple(
        dict.fromkeys(end.outcome for one in game_definitions().values() for end in one.endings)
    )


@cache
def phase_names() -> tuple[str, ...]:
    """The phases of messages: those that games share, then those of single games."""
    own = (phase for one in game_definitions().values() for phase in one.phases)
    return tuple(dict.fromkeys([*map(str, Phase), *own]))
