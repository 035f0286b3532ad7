"""Kinds of games as data: TOML documents that the environment variable `MAGIC_GAMES` names.

Such a game has roles, sides, endings and phases; what is done in it is told by the tables that all
games share. It has to be named whenever its lake is asked, as a package has to be installed.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from pipeline.games.kind import Ending, GameKind, Role
from pipeline.games.mistakes import Source, clashes, mistakes
from pipeline.plugins import PluginError
from pipeline.vocabulary import Side

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
        known.append((name, kind_in(Path(name), known)))
        yield known[-1]


def kind_in(file: Path, others: Iterable[Source] = ()) -> GameKind:
    """The game in a file; raises PluginError with what is wrong, and at which place of it.

    So it does where one of the `others` has its name or a competition of it.
    """
    try:
        # Some editors begin a file with a byte order mark.
        game = msgspec.toml.decode(file.read_bytes().decode("utf-8-sig"), type=_Game)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        sides = f"; choose a side from {', '.join(Side)}" if "enum value" in str(error) else ""
        raise PluginError(f"{file}: it cannot be read as a game: {error}{sides}") from None
    roles = tuple(_role(game.name, role) for role in game.roles)
    kind = GameKind(**msgspec.structs.asdict(game) | {"roles": roles})
    if found := [*mistakes(kind), *clashes(kind, others)]:
        raise PluginError(f"{file}: the game `{kind.name}`: {'; '.join(found)}")
    return kind


def _role(game: str, role: _Role) -> Role:
    of_side = game if role.side == Side.NONE else f"{game}_as_{role.side}"
    return Role(role.name, role.side, role.competition or of_side, role.is_sought)
