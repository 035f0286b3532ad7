"""The `@report` decorator, which makes a function of a lake a method, a command and a page.

Used by all modules of `pipeline.reports`; the CLI and the pages read the `Report` of a function.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import BoundArguments, Signature, cleandoc, signature
from numbers import Real
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

from pipeline import column, games
from pipeline.errors import UsageError
from pipeline.metrics.registry import lake_method, lake_method_for_single_system
from pipeline.metrics.request import as_list, check_known_names
from pipeline.parameters import REPEATABLE_HELP, Parameter, parameters_with_specs
from pipeline.registry import load_result_function
from pipeline.vocabulary import ALL_GAME_TYPES

F = TypeVar("F", bound=Callable[..., Any])
_PYTHON_ONLY_PREFIXES = ("Raises ", ">>> ")
_TERMINAL_ONLY_PATTERN = re.compile(r"\A\x08|(^|[\s`(])--\w")
"""Matches paragraphs with a fixed layout, and paragraphs that name command-line options."""


@dataclass(frozen=True)
class Report:
    """A report: its function, its columns, and how commands and pages present it.

    Attributes:
        function: The method of a lake that returns the rows.
        columns: The columns of the rows.
        parameters: The parameters of the function that commands and pages offer.
        help: The docstring without the parts for Python only.
        title: The heading of the page.
        is_of_system: Whether the report counts the games of one system.
        has_losses: Whether the rows depend on whether failed games count as losses.
        is_for_papers: Whether the report can be written as LaTeX.
        is_drawn: Whether `pipeline.plots` has a function that draws the report.
        has_percent: Whether its values can be displayed in percent.
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
        """The name of the function, which is also the name of the command."""
        return self.function.__name__

    @property
    def parameter_help(self) -> dict[str, str]:
        """The help text of each parameter, without the hint that an option can be repeated."""
        return {
            parameter.name: parameter.spec.help.removesuffix(REPEATABLE_HELP)
            for parameter in self.parameters
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
    """Return a decorator that makes a function of a lake a report: a method, command and page.

    The docstring of the function is its help. Paragraphs that begin with `\\b` or name an option
    are displayed only in terminals, and paragraphs from `Raises` on only in Python.

    Args:
        columns: The columns of the rows.
        title: The heading of the page; by default made from the function's name.
        is_of_system: Whether the report counts only the games of one system.
        has_losses: Whether the rows depend on whether failed games count as losses.
        is_for_papers: Whether the report can be written as LaTeX.
        is_drawn: Whether `pipeline.plots` has a function that draws the report.
        has_percent: Whether its values can be displayed in percent.
        tells_system: Whether the function itself chooses the system and returns its column.

    Returns:
        The decorator. The function that it returns checks its arguments and has the `Report` as its
        attribute `report`.

    Raises:
        TypeError: If the function has no docstring (when it is decorated).
    """

    def declare(function: F) -> F:
        parameters = tuple(parameters_with_specs(function))
        if not (text := cleandoc(function.__doc__ or "")):
            raise TypeError(f"the report {function.__name__} has no docstring, which is its help")
        paragraphs = text.split("\n\n")
        python_indices = [
            index
            for index, paragraph in enumerate(paragraphs)
            if paragraph.startswith(_PYTHON_ONLY_PREFIXES)
        ]
        help_paragraphs = paragraphs[: python_indices[0]] if python_indices else paragraphs
        function.__doc__ = "\n\n".join(
            paragraph for paragraph in paragraphs if not _TERMINAL_ONLY_PATTERN.search(paragraph)
        )
        function_signature = signature(function)
        bind = partial(_bind_checked_arguments, function_signature, parameters)
        if is_of_system and not tells_system:
            has_edition = any(parameter.name == "edition" for parameter in parameters)
            decorate_per_system = lake_method_for_single_system(
                columns, has_edition=has_edition, has_losses=has_losses, bind=bind
            )
            method: Any = decorate_per_system(function)
        else:
            method = lake_method(column.add_columns_to_docstring(columns)(function), bind=bind)
        method.__signature__ = _signature_without_option_specs(function_signature)
        heading = title or column.display_name(function.__name__).capitalize()
        flags = (is_of_system, has_losses, is_for_papers, is_drawn, has_percent)
        method.report = Report(
            method, columns, parameters, "\n\n".join(help_paragraphs), heading, *flags
        )
        return cast(F, method)

    return declare


def _signature_without_option_specs(function_signature: Signature) -> Signature:
    return function_signature.replace(
        parameters=[
            parameter.replace(annotation=get_args(parameter.annotation)[0])
            if get_origin(parameter.annotation) is Annotated
            else parameter
            for parameter in function_signature.parameters.values()
        ]
    )


def _bind_checked_arguments(
    function_signature: Signature,
    parameters: Sequence[Parameter],
    /,
    *positional: Any,
    **keywords: Any,
) -> BoundArguments:
    """Bind the arguments of a call to the parameters of the signature; check and convert them."""
    bound = function_signature.bind(*positional, **keywords)
    for parameter in parameters:
        value = bound.arguments.get(parameter.name, parameter.default)
        if value is not parameter.default:
            bound.arguments[parameter.name] = _check_and_convert_value(parameter, value)
    return bound


def _check_and_convert_value(parameter: Parameter, value: Any) -> Any:
    """Return the value converted to the parameter's type; raise UsageError if it is invalid."""
    name, value_type, is_repeatable, _, spec = parameter
    if spec.suggested == "games.game_type_names":
        if isinstance(value, str | list) and value in (ALL_GAME_TYPES, [ALL_GAME_TYPES]):
            return parameter.default
        check_known_names("game type", as_list(value), games.game_type_names())
    if value_type in (int, float) and (value is not None or parameter.default is not None):
        # NumPy's numbers are valid, too. nan and infinity are numbers, but not whole numbers.
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or (value_type is int and value % 1 != 0):
            expected_type = "a whole number" if value_type is int else "a number"
            raise UsageError(f"{name} must be {expected_type}, not {value!r}")
        low, high = spec.min, spec.max
        if low is not None and value < low:
            raise UsageError(f"{name} must be {low} or more, not {value}")
        if high is not None and value > high:
            raise UsageError(f"{name} must be {high} or less, not {value}")
        return value_type(value)
    if value_type is str and not is_repeatable and not isinstance(value, str):
        raise UsageError(f"{name} must be a string, not {value!r}")
    return value


def find_report(name: str) -> Report:
    """Return the report with this name.

    Args:
        name: A name in `pipeline.registry.REPORTS`, such as `leaderboard`.

    Returns:
        The description of the report, which `@report` attached to the function of this name.
    """
    return cast(Report, load_result_function(name).report)
