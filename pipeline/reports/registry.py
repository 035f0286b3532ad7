"""Reports that are declared once: a function of a lake is a method, a command and a page."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import BoundArguments, Signature, cleandoc, signature
from numbers import Real
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

from pipeline import column, games
from pipeline.errors import UsageError
from pipeline.metrics.registry import lake_method, per_system
from pipeline.metrics.request import as_list, check_words
from pipeline.parameters import REPEATABLE_HELP, Parameter, function_parameters
from pipeline.registry import load_result
from pipeline.vocabulary import ALL_GAME_TYPES

F = TypeVar("F", bound=Callable[..., Any])
_FOR_PYTHON = ("Raises ", ">>> ")
_FOR_TERMINALS = re.compile(r"\A\x08|(^|[\s`(])--\w")
"""Paragraphs as they are laid out, and those that name options."""


@dataclass(frozen=True)
class Report:
    """A report: its function, the columns of its rows, and how commands and pages offer it.

    `help` is its docstring without what is for Python alone. `title` heads its page. One that
    `is_of_system` counts the games of one system; one without `has_losses` is the same whether
    failures are losses or not. What `is_for_papers` has LaTeX too, and what `is_drawn` a picture,
    by the function of `pipeline.plots` of its name. What `has_percent` can be shown in percent.
    """

    function: Callable[..., Any]
    columns: Mapping[str, column.Column]
    parameters: tuple[Parameter, ...]
    help: str
    title: str
    is_of_system: bool
    has_losses: bool
    is_for_papers: bool
    is_drawn: bool
    has_percent: bool

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def parameter_help(self) -> dict[str, str]:
        """What each of its parameters means, to one who gives it one value."""
        return {
            one.name: one.declared.help.removesuffix(REPEATABLE_HELP) for one in self.parameters
        }


def report(
    *,
    columns: Mapping[str, column.Column],
    title: str = "",
    is_of_system: bool = True,
    has_losses: bool = True,
    is_for_papers: bool = False,
    is_drawn: bool = False,
    has_percent: bool = False,
    tells_system: bool = False,
) -> Callable[[F], F]:
    """Declares a function of a lake as a report, which `pipeline.registry` lists.

    It has the parameters that it names: see `pipeline.parameters`. Its docstring is the help;
    paragraphs that begin with `\\b` or name an option are for terminals alone, those after
    `Raises` for Python. One that `tells_system` finds the system whose games it counts itself, and
    `columns` has it.
    """

    def declare(function: F) -> F:
        own = tuple(function_parameters(function))
        if not (text := cleandoc(function.__doc__ or "")):
            raise TypeError(f"the report {function.__name__} has no docstring, which is its help")
        parts = text.split("\n\n")
        of_python = [n for n, part in enumerate(parts) if part.startswith(_FOR_PYTHON)]
        shown = parts[: of_python[0]] if of_python else parts
        function.__doc__ = "\n\n".join(one for one in parts if not _FOR_TERMINALS.search(one))
        known = signature(function)
        bind = partial(_bound, known, own)
        if is_of_system and not tells_system:
            has_edition = any(one.name == "edition" for one in own)
            counted = per_system(columns, has_edition=has_edition, has_losses=has_losses, bind=bind)
            made: Any = counted(function)
        else:
            made = lake_method(column.document_columns(columns)(function), bind=bind)
        made.__signature__ = _plain(known)
        heading = title or column.display_name(function.__name__).capitalize()
        more = (is_of_system, has_losses, is_for_papers, is_drawn, has_percent)
        made.report = Report(made, columns, own, "\n\n".join(shown), heading, *more)
        return cast(F, made)

    return declare


def _plain(shown: Signature) -> Signature:
    """The signature as Python shows it: with the types alone."""
    return shown.replace(
        parameters=[
            one.replace(annotation=get_args(one.annotation)[0])
            if get_origin(one.annotation) is Annotated
            else one
            for one in shown.parameters.values()
        ]
    )


def _bound(
    known: Signature, own: Sequence[Parameter], /, *given: Any, **options: Any
) -> BoundArguments:
    """Return the arguments, of which the report declares all values, whichever way it is asked."""
    asked = known.bind(*given, **options)
    for one in own:
        value = asked.arguments.get(one.name, one.default)
        if value is not one.default:
            asked.arguments[one.name] = _checked(one, value)
    return asked


def _checked(asked: Parameter, value: Any) -> Any:
    """A value of a parameter; raises UsageError for one that it cannot have."""
    name, kind, is_several, _, declared = asked
    if declared.suggested == "games.game_type_names":
        if isinstance(value, str | list) and value in (ALL_GAME_TYPES, [ALL_GAME_TYPES]):
            return asked.default
        check_words("game type", as_list(value), games.game_type_names())
    if kind in (int, float) and (value is not None or asked.default is not None):
        # NumPy's numbers are some too; nan and infinity are, but not whole.
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or (kind is int and value % 1 != 0):
            whole = "a whole number" if kind is int else "a number"
            raise UsageError(f"{name} must be {whole}, not {value!r}")
        low, high = declared.min, declared.max
        if low is not None and value < low:
            raise UsageError(f"{name} must be {low} or more, not {value}")
        if high is not None and value > high:
            raise UsageError(f"{name} must be {high} or less, not {value}")
        return kind(value)
    if kind is str and not is_several and not isinstance(value, str):
        raise UsageError(f"{name} must be a text, not {value!r}")
    return value


def find_report(name: str) -> Report:
    """Return the report of this name, one of `registry.REPORTS`."""
    return cast(Report, load_result(name).report)
