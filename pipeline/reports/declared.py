"""Reports that are declared once: a function of a lake is a method, a command and a page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import cleandoc
from pkgutil import iter_modules
from typing import Any, TypeVar, cast

from pipeline import column, reports
from pipeline.column import Column
from pipeline.declared import Parameter, parameters
from pipeline.metrics.results import counted_in

F = TypeVar("F", bound=Callable[..., Any])
_FOR_PYTHON = ("Raises ", ">>> ")
_FOR_TERMINALS = "\b"


@dataclass(frozen=True)
class Report:
    """A report: its function, the columns of its rows, and how commands and pages offer it.

    `help` is its docstring without what is for Python alone. `title` heads its page. One that
    `is_of_system` counts the games of one system. What `is_for_papers` has LaTeX too, and what
    `is_drawn` a picture, by the function of `pipeline.plots` of its name. What `has_percent` can be
    shown in percent.
    """

    function: Callable[..., Any]
    columns: Mapping[str, Column]
    parameters: tuple[Parameter, ...]
    help: str
    title: str
    is_of_system: bool
    is_for_papers: bool
    is_drawn: bool
    has_percent: bool

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def place(self) -> str:
        """Where it is, such as `reports.ratings.ratings`."""
        return f"{self.function.__module__}.{self.name}".partition(".")[2]


REPORTS: dict[str, Report] = {}
"""The reports of the modules that are imported, by name."""


def report(
    task: str,
    *,
    columns: Mapping[str, Column],
    title: str = "",
    is_of_system: bool = True,
    is_for_papers: bool = False,
    is_drawn: bool = False,
    has_percent: bool = False,
) -> Callable[[F], F]:
    """Declares a function of a lake as a report; `task` is where `magic --help` lists it.

    It has the parameters that it names: see `pipeline.declared`. Its docstring is the help;
    paragraphs that begin with `\\b` are for terminals alone, those after `Raises` for Python.
    """

    def declare(function: F) -> F:
        own = tuple(parameters(function))
        parts = cleandoc(function.__doc__ or "").split("\n\n")
        of_python = [n for n, part in enumerate(parts) if part.startswith(_FOR_PYTHON)]
        shown = parts[: of_python[0]] if of_python else parts
        function.__doc__ = "\n\n".join(one for one in parts if not one.startswith(_FOR_TERMINALS))
        if is_of_system:
            has_edition = any(one.name == "edition" for one in own)
            made: Any = counted_in(columns, has_edition=has_edition)(function)
        else:
            made = column.listed(columns)(function)
        heading = title or column.words(function.__name__).capitalize()
        more = (is_of_system, is_for_papers, is_drawn, has_percent)
        REPORTS[made.__name__] = Report(made, columns, own, "\n\n".join(shown), heading, *more)
        return cast(F, made)

    return declare


@cache
def found() -> Mapping[str, Report]:
    """All reports, by name: those that the modules of `pipeline.reports` declare."""
    for one in iter_modules(reports.__path__):
        import_module(f"{reports.__name__}.{one.name}")
    return REPORTS
