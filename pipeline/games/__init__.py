"""Definitions of games, discovered in the modules of this folder; there is no list to keep.

A package adds a game with an entry point of the group `magic_pipeline.games` that leads to a
`GameDefinition`. A TOML document named in the environment variable `MAGIC_GAMES` adds one without a
package. Formats, contracts, metrics and reports use the definitions.
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
    iter_plugins_with_unique_names,
    load_plugins,
)
from pipeline.vocabulary import ALL_GAME_TYPES, PLAYER, GameType, Phase, Side

__all__ = [
    "Ending",
    "EventTable",
    "GameDefinition",
    "Role",
    "game_definition",
    "game_definitions",
    "game_type_names",
]

# The definition of a game as data: roles, sides, endings, phases and tables.

# Fields of an event that name a player; the player's seat is a further column.
SEAT_COLUMNS = ("target", "leader")


class Role(Struct, frozen=True):
    """A role of a game.

    Attributes:
        name: The name of the role.
        side: The side on which the role plays.
        competition: What the role's results count for in Win Rate. Roles of one side can share a
            competition, and then win or lose together.
        is_sought: Whether votes are right if they name a player of this role.
    """

    name: str
    side: Side
    competition: str
    is_sought: bool = False


class Ending(Struct, frozen=True, forbid_unknown_fields=True):
    """One way in which a game can end.

    Attributes:
        outcome: The name of the outcome.
        hidden: The credit of the hidden side, from 0 to 1; None if points or proposals decide.
        civilian: The credit of the civilian side, from 0 to 1; None as for `hidden`.
        hidden_wins: Whether the hidden side wins; needed only if it wins with a credit below 1.
    """

    outcome: str
    hidden: float | None = None
    civilian: float | None = None
    hidden_wins: bool | None = None

    def credit_of_side(self, side: str) -> float | None:
        """Return the credit, from 0 to 1, of a side; None if the outcome does not decide it."""
        if side == Side.HIDDEN:
            return self.hidden
        return self.civilian if side == Side.CIVILIAN else None

    def is_win_of_side(self, side: str) -> bool | None:
        """Return whether a side won with this outcome; None if the outcome does not decide it."""
        if side == Side.HIDDEN and self.hidden_wins is not None:
            return self.hidden_wins
        credit = self.credit_of_side(side)
        return None if credit is None else credit == 1


class EventTable(Struct, frozen=True):
    """A table that only the games of one type have.

    A row is something that a seat did. Every such table also has columns for game, player, seat,
    round and message. From a column in `SEAT_COLUMNS`, such as `target`, a column
    `target_seat` is derived.

    Attributes:
        event: The event that a format puts into `GameRecord.events`; its fields are columns.
        row: A sentence that says what a row is.
        columns: The specification of each column of the event.
    """

    event: type[Event]
    row: str
    columns: Mapping[str, Column]


class GameDefinition(Struct, frozen=True, eq=False):
    """The definition of a game type.

    Attributes:
        name: The name of the game type.
        roles: The roles.
        endings: The ways in which a game can end.
        phases: The phases of messages that no other game has.
        tables: The tables that only this game has, by name.
        order: The turn order of a round for readers of a transcript: phases, and tables of actions
            without a message. `eliminations.vote` means the rows with this `cause` or `kind`.
            Tables that are not listed come last.
        secret_phases: The phases whose speakers reveal that they have a certain role.
        most_points_win: Whether the highest score wins, alone or tied.
    """

    name: str
    roles: tuple[Role, ...]
    endings: tuple[Ending, ...]
    phases: tuple[str, ...] = ()
    tables: Mapping[str, EventTable] = {}
    order: tuple[str, ...] = ()
    secret_phases: tuple[str, ...] = ()
    most_points_win: bool = False

    def find_role(self, name: str) -> Role | None:
        """Return the role with this name; None if the game has no such role."""
        return next((role for role in self.roles if role.name == name), None)

    def side_of_role(self, role_name: str) -> Side:
        """Return the side of the role with this name; `Side.NONE` if the game has no such role."""
        role = self.find_role(role_name)
        return role.side if role else Side.NONE

    def find_ending(self, outcome: str | None) -> Ending | None:
        """Return the ending with this outcome; None if the game has no such outcome."""
        return next((ending for ending in self.endings if ending.outcome == outcome), None)

    @property
    def competition_names(self) -> tuple[str, ...]:
        """The names under which Win Rate counts the results of the game's roles, in role order."""
        return tuple(dict.fromkeys(role.competition for role in self.roles))

    @property
    def has_sides(self) -> bool:
        """Whether the game has a hidden side, such as the werewolves, which others must find."""
        return any(role.side == Side.HIDDEN for role in self.roles)

    @property
    def has_sought_roles(self) -> bool:
        """Whether players vote to find the players of certain roles, such as the werewolves."""
        return any(role.is_sought for role in self.roles)


def game_without_roles(
    name: str,
    *endings: Ending,
    phases: tuple[str, ...] = (),
    order: tuple[str, ...] = (),
    most_points_win: bool = False,
) -> GameDefinition:
    """Return the definition of a game in which all players have the same role and play alone.

    Args:
        name: The name of the game type. Win Rate counts its results under this name.
        *endings: The ways in which a game can end.
        phases: The phases that no other game has.
        order: The turn order of a round.
        most_points_win: Whether the highest score wins.
    """
    roles = (Role(PLAYER, Side.NONE, name),)
    return GameDefinition(
        name, roles, endings, phases, order=order, most_points_win=most_points_win
    )


# Checks of a definition, and of its names against the names of other definitions.

SourcedDefinition: TypeAlias = tuple[str, GameDefinition]
"""The package or file of a definition, and the definition."""
_METRIC_BY_SIDE = {
    Side.HIDDEN: "Deception, which counts its wins, is",
    Side.CIVILIAN: "Judgement, which counts its votes, is",
}
_TUPLE_FIELDS = {
    "roles": Role,
    "endings": Ending,
    "phases": str,
    "order": str,
    "secret_phases": str,
}


def _is_name(name: object) -> bool:
    return isinstance(name, str) and NAME_PATTERN.fullmatch(name) is not None


def check_definition(
    definition: GameDefinition, package: str, other_definitions: Iterable[SourcedDefinition] = ()
) -> None:
    """Raise PluginError if a definition has a mistake or a name of another definition.

    Args:
        definition: The definition.
        package: The name of the package that contains the definition.
        other_definitions: The definitions with which it must share no name.
    """
    for message in chain(
        iter_mistake_messages(definition),
        iter_name_conflict_messages(definition, other_definitions),
    ):
        raise definition_error(definition, package, message)


def definition_error(definition: GameDefinition, package: str, mistake: str) -> PluginError:
    """Return the error for a mistake of a definition; it names the game and the package.

    Args:
        definition: The definition.
        package: The name of the package that contains the definition.
        mistake: The message about the mistake.
    """
    of_package = "" if package == OWN_PACKAGE else f" of the package {package}"
    return PluginError(f"the game `{definition.name}`{of_package}: {mistake}")


def iter_mistake_messages(definition: GameDefinition) -> Iterator[str]:
    """Yield an error message for each invalid name, field, credit or column of a definition.

    Args:
        definition: The definition.
    """
    if not _is_name(definition.name) or definition.name == ALL_GAME_TYPES:
        yield f"the name of a game has {NAME_RULE}, and is not `{ALL_GAME_TYPES}`"
    for field, item_type in _TUPLE_FIELDS.items():
        values = getattr(definition, field)
        if not isinstance(values, tuple) or not all(
            isinstance(entry, item_type) for entry in values
        ):
            yield (
                f"`{field}` is not a tuple of {item_type.__name__}: a tuple with a single member "
                "needs a comma, as in `(member,)`"
            )
    for role in definition.roles:
        texts: list[object] = [role.name, role.competition]
        if not all(isinstance(text, str) and text for text in texts):
            yield "a role has a name and a competition"
    yield from _iter_repeated_name_messages(
        "roles", "name", [role.name for role in definition.roles]
    )
    yield from _iter_repeated_name_messages(
        "endings", "outcome", [ending.outcome for ending in definition.endings]
    )
    for ending in definition.endings:
        for credit in (ending.hidden, ending.civilian):
            if credit is not None and not 0 <= credit <= 1:
                yield f"a credit is from 0 to 1, but a credit of `{ending.outcome}` is {credit}"
    for name, table in definition.tables.items():
        if not _is_name(name):
            yield f"the name of a table has {NAME_RULE}, but `{name}` has other characters"
        event = table.event.__name__
        fields = [
            entry for entry in table.event.__struct_fields__ if entry not in Event.__struct_fields__
        ]
        derived = [f"{entry}_seat" for entry in SEAT_COLUMNS if entry in fields]
        for column in table.columns:
            if column not in [*fields, *derived]:
                yield f"the column `{column}` of `{name}` is not a field of {event}"
        for entry in fields:
            if entry not in table.columns:
                yield f"the field `{entry}` of {event} is not a column of `{name}`"


def iter_name_conflict_messages(
    definition: GameDefinition, other_definitions: Iterable[SourcedDefinition]
) -> Iterator[str]:
    """Yield an error message for each game name or competition that another definition also has.

    Args:
        definition: The definition.
        other_definitions: The definitions with which it is compared.
    """
    for source, other_definition in other_definitions:
        if definition.name == other_definition.name:
            yield f"{source} has a game of this name too: rename this one, or leave it out"
        for competition in definition.competition_names:
            if competition in other_definition.competition_names:
                yield (
                    f"the game `{other_definition.name}` also has the competition `{competition}`, "
                    "so Win Rate would count their results together: rename the competition"
                )


def iter_missing_metric_messages(definition: GameDefinition) -> Iterator[str]:
    """Yield a warning for each missing side, sought role or credit that leaves a metric empty.

    Args:
        definition: A valid definition. A game without sides needs none of these.
    """
    sides = [
        side for side in _METRIC_BY_SIDE if any(role.side == side for role in definition.roles)
    ]
    for side, metric in _METRIC_BY_SIDE.items() if sides else ():
        if side not in sides:
            yield f"no role is on the {side} side: {metric} without a value"
    if sides and not definition.has_sought_roles:
        yield "no role has `is_sought = true`, so no vote is right: Judgement is without a value"
    for ending in definition.endings if definition.has_sides else ():
        for side in sides:
            if ending.credit_of_side(side) is None:
                yield (
                    f"`{ending.outcome}` does not say the credit of the {side} side: games with "
                    "this outcome are rejected"
                )


def _iter_repeated_name_messages(plural: str, attribute: str, names: list[str]) -> Iterator[str]:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield f"several {plural} have the {attribute} `{name}`"


# Definitions in TOML documents that the environment variable `MAGIC_GAMES` names.
#
# Such a game has roles, sides, endings and phases, and uses only the tables that all games share.
# The variable must also be set when its lake is read, as a package must be installed.

GAMES_VARIABLE = "MAGIC_GAMES"


class _RoleInFile(Struct, forbid_unknown_fields=True):
    """A role in a TOML document; by default the roles of a side share a competition."""

    name: str
    side: Side = Side.NONE
    competition: str = ""
    is_sought: bool = False


class _GameInFile(Struct, forbid_unknown_fields=True):
    """A game in a TOML document."""

    name: str
    roles: list[_RoleInFile]
    endings: tuple[Ending, ...]
    phases: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    secret_phases: tuple[str, ...] = ()
    most_points_win: bool = False


def iter_definitions_from_environment_files(
    other_definitions: Iterable[SourcedDefinition],
) -> Iterator[SourcedDefinition]:
    """Yield the file name and the definition in each file that `MAGIC_GAMES` names.

    The variable separates files as PATH does. Raises PluginError if a file is named twice, if a
    definition is invalid, or if it conflicts with another definition.

    Args:
        other_definitions: The definitions with which the files must share no name.
    """
    definitions, paths = [*other_definitions], set()
    for name in filter(None, os.environ.get(GAMES_VARIABLE, "").split(os.pathsep)):
        if (path := Path(name).resolve()) in paths:
            raise PluginError(f"{GAMES_VARIABLE} names the file {name} twice: leave one out")
        paths.add(path)
        definitions.append((name, load_game_definition(Path(name), definitions)))
        yield definitions[-1]


def load_game_definition(
    file: Path, other_definitions: Iterable[SourcedDefinition] = ()
) -> GameDefinition:
    """Load a game definition from a TOML document.

    Args:
        file: The path of the document.
        other_definitions: The definitions with which it must share no name.

    Returns:
        The definition.

    Raises:
        PluginError: If the document is invalid, or if another definition has its name or one of its
            competitions. The message lists all mistakes.
    """
    try:
        # Some editors begin a file with a byte order mark.
        document = msgspec.toml.decode(file.read_bytes().decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise PluginError(f"{file}: it cannot be read as a game: {error}") from None
    if faults := find_type_errors(document, _GameInFile):
        sides = f"; choose a side from {', '.join(Side)}"
        fault_list = "; ".join(
            f"{fault.json_path}: {fault.message}{sides * fault.json_path.endswith('.side')}"
            for fault in faults
        )
        raise PluginError(f"{file}: it cannot be read as a game: {fault_list}")
    game = msgspec.convert(document, _GameInFile)
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
    definition = GameDefinition(**msgspec.structs.asdict(game) | {"roles": roles})
    if problems := [
        *iter_mistake_messages(definition),
        *iter_name_conflict_messages(definition, other_definitions),
    ]:
        raise PluginError(f"{file}: the game `{definition.name}`: {'; '.join(problems)}")
    return definition


# All definitions, from this folder, from packages and from the environment, and their names.


@cache
def game_definitions() -> MappingProxyType[str, GameDefinition]:
    """Return all game definitions by game type, those of MAgIC first and then by name."""
    magic_games = list(map(str, GameType))
    definitions = {definition.name: definition for _, definition in _all_sourced_definitions()}
    other_games = sorted(definitions.keys() - set(magic_games))
    return MappingProxyType({name: definitions[name] for name in (*magic_games, *other_games)})


@cache
def _all_sourced_definitions() -> tuple[SourcedDefinition, ...]:
    return (*_built_in_and_plugin_definitions(), *_definitions_from_environment())


def tables_of_single_game_types(shared_table_names: Collection[str]) -> dict[str, EventTable]:
    """Return all tables that only the games of one type have, by table name.

    Args:
        shared_table_names: The names of the tables that every lake has.

    Raises:
        PluginError: If two tables have the same name, or a table has the name of a shared table.
    """
    sources = {definition.name: source for source, definition in _all_sourced_definitions()}
    tables = [
        (table, sources[game_type], definition)
        for game_type, definition in game_definitions().items()
        for table in definition.tables
    ]
    for table, package, definition in tables:
        if table in shared_table_names:
            raise definition_error(
                definition, package, f"a table of every lake is called `{table}`: rename it"
            )
    return {
        table: definition.tables[table]
        for table, _, definition in iter_plugins_with_unique_names("the table", tables)
    }


@cache
def _built_in_and_plugin_definitions() -> tuple[SourcedDefinition, ...]:
    """Load and check the definitions in this folder and in plugins."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    values = (value for module in modules for value in vars(module).values())
    built_in = [(OWN_PACKAGE, value) for value in values if isinstance(value, GameDefinition)]
    definitions: list[SourcedDefinition] = []
    for package, definition in (*built_in, *_iter_plugin_definitions()):
        check_definition(definition, package, definitions)
        definitions.append((package, definition))
    return tuple(definitions)


def _iter_plugin_definitions() -> Iterator[SourcedDefinition]:
    for plugin in load_plugins(GAMES):
        if not isinstance(plugin.value, GameDefinition):
            raise PluginError(f"{plugin}: a game must be a pipeline.games.GameDefinition")
        yield plugin.package, plugin.value


@cache
def _definitions_from_environment() -> tuple[SourcedDefinition, ...]:
    return tuple(iter_definitions_from_environment_files(_built_in_and_plugin_definitions()))


def definitions_outside_files(excluded_files: Collection[str]) -> list[SourcedDefinition]:
    """Return the definitions of all games, except those that these TOML documents define.

    Args:
        excluded_files: The paths of the documents.

    Returns:
        The package or file of each definition, and the definition.
    """
    excluded_paths = {Path(file).resolve() for file in excluded_files}
    definitions_in_other_files = (
        (file, definition)
        for file, definition in _definitions_from_environment()
        if Path(file).resolve() not in excluded_paths
    )
    return [*_built_in_and_plugin_definitions(), *definitions_in_other_files]


def game_types_in_environment_files() -> tuple[str, ...]:
    """Return the names of the game types that the files named in `MAGIC_GAMES` define."""
    return tuple(definition.name for _, definition in _definitions_from_environment())


def game_definition(name: str) -> GameDefinition:
    """Return the definition of a game type.

    Args:
        name: The name of the game type.

    Raises:
        KeyError: If there is no game type with this name.
    """
    return game_definitions()[name]


def game_type_names() -> tuple[str, ...]:
    """Return the names of all game types, those of MAgIC first."""
    return tuple(game_definitions())


def game_types_with_hidden_side() -> tuple[str, ...]:
    """Return the names of the game types with a hidden side, such as werewolf or Chameleon."""
    return tuple(name for name, definition in game_definitions().items() if definition.has_sides)


def game_types_with_sought_roles() -> tuple[str, ...]:
    """Return the names of the game types in which players vote to find the players of a role."""
    return tuple(
        name for name, definition in game_definitions().items() if definition.has_sought_roles
    )


def win_rate_competition_names() -> tuple[str, ...]:
    """Return the names of all competitions, under which the metric Win Rate counts results.

    A competition is a game type, or the roles of a game type that win together.
    """
    return tuple(
        name for definition in game_definitions().values() for name in definition.competition_names
    )


def game_type_of_competition(competition: str) -> str:
    """Return the name of the game type to which a competition of the metric Win Rate belongs.

    Args:
        competition: The name of the competition.
    """
    return next(
        name
        for name, definition in game_definitions().items()
        if competition in definition.competition_names
    )


def role_names() -> tuple[str, ...]:
    """Return the names of the roles of all game types, each once."""
    return tuple(
        dict.fromkeys(
            role.name for definition in game_definitions().values() for role in definition.roles
        )
    )


def outcome_names() -> tuple[str, ...]:
    """Return the names of the outcomes of all game types, each once."""
    return tuple(
        dict.fromkeys(
            ending.outcome
            for definition in game_definitions().values()
            for ending in definition.endings
        )
    )


@cache
def phase_names() -> tuple[str, ...]:
    """Return the names of all phases of messages, those that several game types have first."""
    game_phases = (
        phase for definition in game_definitions().values() for phase in definition.phases
    )
    return tuple(dict.fromkeys([*map(str, Phase), *game_phases]))
