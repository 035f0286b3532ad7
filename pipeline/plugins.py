"""What other packages add by entry points: formats, kinds of games, metrics.

`docs/plugins.md` shows such a package.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pipeline.errors import MissingExtraError, PipelineError, one_line_message, suggest_names

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# The optional parts of an installation: what they are called and how to get them.

DISTRIBUTION = "magic-benchmark-pipeline"
"""The name on the package index, where `magic-pipeline` is a different project."""


def install_command(extra: str) -> str:
    """The command that adds an extra to the installation.

    pip takes an installed project as it is, also one from a checkout, and adds what is missing.
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def check_extra(what: str, extra: str, modules: tuple[str, ...]) -> None:
    """Raises MissingExtraError with the command to run if a module of the extra is missing."""
    if missing := [name for name in modules if find_spec(name) is None]:
        command = install_command(extra)
        raise MissingExtraError(f"{what} needs {', '.join(missing)}: run `{command}`")


FORMATS, GAMES, METRICS = GROUPS = (
    "magic_pipeline.formats",
    "magic_pipeline.games",
    "magic_pipeline.metrics",
)
_BEGIN = b"magic_pipeline."


NAME_PATTERN = re.compile("[a-z][a-z0-9_]{0,62}")
NAME_RULE = "small letters, digits and underscores"
"""What can name a folder, a view and a word of SQL."""
OWN_PACKAGE = "magic"
"""What stands for a package where magic itself has something."""

T = TypeVar("T")


class PluginError(PipelineError):
    """A package adds something that cannot be used."""


class Plugin(NamedTuple):
    """What an entry point leads to: its name there, the package that has it, and the object."""

    name: str
    package: str
    value: object

    def __str__(self) -> str:
        return f"{self.name} of the package {self.package}"


@cache
def load_plugins(group: str) -> tuple[Plugin, ...]:
    """What installed packages add to the group, by name.

    Raises PluginError, which names the package, where an import fails.
    """
    added = []
    for point in entry_points():
        if point.group != group:
            continue
        try:
            added.append(Plugin(point.name, package_name(point), point.load()))
        except (Exception, SystemExit) as error:
            raise PluginError(
                f"the package {package_name(point)} cannot be used: `{point.value}` ({group}) "
                "fails "
                f"with {type(error).__name__}: {one_line_message(error)}; mend or uninstall the "
                "package"
            ) from error
    return tuple(added)


@cache
def entry_points() -> tuple["EntryPoint", ...]:
    """The entry points of our groups, none of them loaded, in one order on every machine."""
    if not _any_is_installed():
        return ()
    from importlib.metadata import entry_points

    installed = entry_points()
    for group in sorted(installed.groups):
        if group.startswith(_BEGIN.decode()) and group not in GROUPS:
            (first, *_) = installed.select(group=group)
            raise PluginError(
                f"the package {package_name(first)} has entry points of the group `{group}`: "
                f"{suggest_names([group], GROUPS)}"
            )
    all_points = [point for group in GROUPS for point in installed.select(group=group)]
    return tuple(
        sorted(
            all_points,
            key=lambda point: (point.group, point.name, point.value, package_name(point)),
        )
    )


def package_name(point: "EntryPoint") -> str:
    """The name of the package that has the entry point."""
    return point.dist.name if point.dist else "?"


def check_unique_names(
    what: str, added: Iterable[tuple[str, str, T]]
) -> Iterator[tuple[str, str, T]]:
    """The name, package and object of each; raises PluginError where two have one name."""
    packages: dict[str, str] = {}
    for name, package, value in added:
        if name in packages:
            first = packages[name]
            by = f"{first} and {package} both have" if first != package else f"{package} twice has"
            raise PluginError(f"{by} {what} `{name}`: uninstall one of them")
        packages[name] = package
        yield name, package, value


@cache
def _any_is_installed() -> bool:
    """Whether a package on the path has an entry point of ours.

    To ask `importlib.metadata` takes a tenth of the time of a short command.
    """
    return any(
        _BEGIN in file.read_bytes()
        for folder in map(Path, dict.fromkeys(sys.path))
        for file in folder.glob("*.*-info/entry_points.txt")
    )
