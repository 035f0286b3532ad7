"""Find the formats, games and metrics that other packages define as entry points.

`docs/plugins.md` shows such a package. `pipeline.formats`, `pipeline.games` and
`pipeline.metrics.registry` use this module.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from pipeline.errors import MissingExtraError, PipelineError, known_names_hint, one_line_message

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# Optional dependencies (extras): their names, and how to install them.

DISTRIBUTION = "magic-benchmark-pipeline"
"""The name of the distribution; `magic-pipeline` is the name of a different project."""


def install_command(extra: str) -> str:
    """Return the `pip install` command that installs an optional dependency group (extra).

    pip keeps the installed version, also one from a checkout, and adds the missing packages.
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def check_extra_is_installed(feature: str, extra: str, modules: tuple[str, ...]) -> None:
    """Raise MissingExtraError if a module that an optional feature needs is not installed.

    Args:
        feature: The feature, as the subject of the message.
        extra: The extra that installs the modules.
        modules: The names of the needed modules.

    Raises:
        MissingExtraError: With the command to run.
    """
    if missing := [name for name in modules if find_spec(name) is None]:
        command = install_command(extra)
        raise MissingExtraError(f"{feature} needs {', '.join(missing)}: run `{command}`")


FORMATS, GAMES, METRICS = GROUPS = (
    "magic_pipeline.formats",
    "magic_pipeline.games",
    "magic_pipeline.metrics",
)
_GROUP_PREFIX = b"magic_pipeline."


NAME_PATTERN = re.compile("[a-z][a-z0-9_]{0,62}")
NAME_RULE = "small letters, digits and underscores"
"""The rule for names, which are also names of folders and SQL views."""
OWN_PACKAGE = "magic"
"""The package name of formats, games and metrics that magic itself defines."""

T = TypeVar("T")


class PluginError(PipelineError):
    """An installed package adds a format, game or metric that cannot be used."""


class Plugin(NamedTuple):
    """A loaded entry point.

    Attributes:
        name: The name of the entry point.
        package: The package that defines it.
        value: The loaded object.
    """

    name: str
    package: str
    value: object

    def __str__(self) -> str:
        """Return the plugin's name with the package that provides it."""
        return f"{self.name} of the package {self.package}"


@cache
def load_plugins(group: str) -> tuple[Plugin, ...]:
    """Import and return the objects that installed packages define in an entry-point group.

    Args:
        group: One of `GROUPS`.

    Returns:
        The plugins, sorted by name.

    Raises:
        PluginError: If an import fails; the message names the package.
    """
    plugins = []
    for point in magic_entry_points():
        if point.group != group:
            continue
        try:
            plugins.append(Plugin(point.name, package_name(point), point.load()))
        except (Exception, SystemExit) as error:
            raise PluginError(
                f"the package {package_name(point)} cannot be used: `{point.value}` ({group}) "
                f"fails with {type(error).__name__}: {one_line_message(error)}; fix or uninstall "
                "the package"
            ) from error
    return tuple(plugins)


@cache
def magic_entry_points() -> tuple["EntryPoint", ...]:
    """Return the entry points that installed packages define for magic, without importing them."""
    if not _is_any_plugin_installed():
        return ()
    from importlib.metadata import entry_points

    installed = entry_points()
    for group in sorted(installed.groups):
        if group.startswith(_GROUP_PREFIX.decode()) and group not in GROUPS:
            (first, *_) = installed.select(group=group)
            raise PluginError(
                f"the package {package_name(first)} has entry points of the group `{group}`: "
                f"{known_names_hint([group], GROUPS)}"
            )
    return tuple(
        sorted(
            (point for group in GROUPS for point in installed.select(group=group)),
            key=lambda point: (point.group, point.name, point.value, package_name(point)),
        )
    )


def package_name(point: "EntryPoint") -> str:
    """Return the name of the package that defines an entry point, or "?" if it is unknown."""
    return point.dist.name if point.dist else "?"


def iter_plugins_with_unique_names(
    noun: str, plugins: Iterable[tuple[str, str, T]]
) -> Iterator[tuple[str, str, T]]:
    """Yield the plugins unchanged, and raise PluginError if two of them have the same name.

    Args:
        noun: The noun for the message: "format", "game" or "metric".
        plugins: The name, package and object of each plugin.
    """
    packages: dict[str, str] = {}
    for name, package, value in plugins:
        if name in packages:
            first = packages[name]
            subject = (
                f"{first} and {package} both have" if first != package else f"{package} twice has"
            )
            raise PluginError(f"{subject} {noun} `{name}`: uninstall one of them")
        packages[name] = package
        yield name, package, value


@cache
def _is_any_plugin_installed() -> bool:
    """Return whether any installed package defines formats, games or metrics for magic.

    It reads the files itself, because `importlib.metadata` takes a tenth of a short command's time.
    """
    return any(
        _GROUP_PREFIX in file.read_bytes()
        for folder in map(Path, dict.fromkeys(sys.path))
        for file in folder.glob("*.*-info/entry_points.txt")
    )
