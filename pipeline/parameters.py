"""Specifications of the parameters of reports and commands: help text, option name, limits.

A report is one function of a lake. Its signature defines the method, the options of its command
and the fields of its page, and its docstring is the help text of all three.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

REPEATABLE_HELP = "; may be repeated."


@dataclass(frozen=True)
class ParameterSpec:
    """Everything about a parameter that its name and type do not say.

    Attributes:
        help: The help text of the option or argument.
        metavar: The placeholder for its value in the help text.
        names: The names of the option; by default `--` and the parameter's name.
        default: The default value; `...` means that the parameter has none.
        is_argument: Whether it is a positional argument of its command.
        suggested: What shell completion offers: a function of `cli.options` or a path such as
            `games.game_type_names`.
        check: Returns the value to use, or raises click.BadParameter.
        parse: Converts a string to the value, in place of the type.
        min: The smallest allowed value.
        max: The largest allowed value.
        variable: The environment variable that sets the value.
        shows_default: Whether the help text shows the default.
    """

    help: str
    metavar: str = ""
    names: tuple[str, ...] = ()
    default: Any = ...
    is_argument: bool = False
    suggested: str | None = None
    check: Callable[[Any], Any] | None = None
    parse: Callable[[Any], Any] | None = None
    min: float | None = None
    max: float | None = None
    variable: str | None = None
    shows_default: bool = True

    def checked(self, value: Any, *, is_several: bool, default: object) -> Any:
        """Return the value to pass to the function; repeated values are a list, or the default."""
        if is_several:
            value = [*value] or (None if default is ... else default)
        return value if self.check is None else self.check(value)


class Parameter(NamedTuple):
    """A parameter of a report or command.

    Attributes:
        name: The name in the function's signature.
        kind: The type of a value; of a repeatable parameter, the type of one element.
        is_several: Whether the parameter is repeatable.
        default: The default value, or `...`.
        declared: Its specification.
    """

    name: str
    kind: Any
    is_several: bool
    default: Any
    declared: ParameterSpec


def function_parameters(
    function: Callable[..., Any], shared: Mapping[str, ParameterSpec] | None = None
) -> list[Parameter]:
    """Return the parameters of a function that become options, arguments and fields.

    The specification of a parameter is in its annotation or is its default value; otherwise it is
    looked up by name in `COMMON_OPTIONS` and `shared`. A parameter without a specification, such as
    the lake, is left out, because only Python code passes it.

    Args:
        function: The report or command.
        shared: Further specifications by name, for parameters that only commands have.
    """
    specs = {**COMMON_OPTIONS, **(shared or {})}
    return [
        parameter
        for signature in inspect.signature(function).parameters.values()
        # A positional parameter without a default is the lake or another object of the program.
        if signature.kind is signature.KEYWORD_ONLY
        or signature.default is not signature.empty
        or get_origin(signature.annotation) is Annotated
        if (parameter := _find_parameter(signature, specs)) is not None
    ]


def _find_parameter(
    signature: inspect.Parameter, specs: Mapping[str, ParameterSpec]
) -> Parameter | None:
    """Return the parameter with its type and specification, or None if it has none."""
    kind, declared, default = signature.annotation, signature.default, signature.default
    if get_origin(kind) is Annotated:
        kind, declared = get_args(kind)
    elif isinstance(declared, ParameterSpec):
        default = declared.default
    elif signature.name in specs:
        declared = specs[signature.name]
    else:
        return None
    union = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    types = [member for member in union if member is not NoneType]
    list_type = next((member for member in types if get_origin(member) in (list, Sequence)), None)
    kind = types[0] if list_type is None else get_args(list_type)[0]
    default = ... if default is signature.empty else default
    return Parameter(signature.name, kind, list_type is not None, default, declared)


def option_spec(metavar: str, meaning: str, *names: str, default: Any = None, **more: Any) -> Any:
    """Return the specification of an option with a value; `more` are fields of `ParameterSpec`."""
    return ParameterSpec(meaning, metavar, names, default, **more)


def argument_spec(
    metavar: str, meaning: str, suggested: str | None = None, default: Any = None, **more: Any
) -> Any:
    """Return the specification of an argument; a default of `...` makes it required."""
    return ParameterSpec(
        meaning, metavar, (), default, is_argument=True, suggested=suggested, **more
    )


def flag_spec(name: str, meaning: str, *, default: bool = False) -> Any:
    """Return the specification of a flag; it has a `--no-` form only if `name` contains both."""
    return ParameterSpec(meaning, names=(name,), default=default)


def repeatable_option_spec(
    metavar: str, meaning: str, suggested: str | None = None, **more: Any
) -> Any:
    """Return the specification of an option that may be repeated."""
    return option_spec(metavar, meaning + REPEATABLE_HELP, suggested=suggested, **more)


GAME_TYPES_OPTION = repeatable_option_spec(
    "TYPE", "Only this game type; `all` for all types together", "game_types"
)
"""For results that also have rows for all game types together."""


def split_names(values: Iterable[str] | None) -> list[str]:
    """Split each value at its commas, and return all names without surrounding blanks."""
    names = (name.strip() for value in values or () for name in value.split(","))
    return [name for name in names if name]


COMMON_OPTIONS: Mapping[str, ParameterSpec] = {
    "edition": option_spec(
        "EDITION",
        "paper: the formulas as published; release: as the published script computes them; "
        "audited: as paper, but three metrics are computed from the texts of answers.",
    ),
    "engine": option_spec("ENGINE", "The engine that computes: polars, duckdb or spark."),
    "master": option_spec(
        "URL", "With --engine spark: the cluster; default: $SPARK_MASTER, else this machine."
    ),
    "expected": option_spec(
        "N",
        "Expect N games of each model in each competition; default: in each setting that any "
        "model played, the median over the models.",
        min=1,
    ),
    "num_of_game": option_spec(
        "N", "With --edition release: count only games numbered below N.", min=1
    ),
    "model": repeatable_option_spec("MODEL", "Only this model", "models"),
    "metric": repeatable_option_spec("METRIC", "Only this metric", "metrics"),
    "game_type": repeatable_option_spec("TYPE", "Only this game type", "games.game_type_names"),
    "where": option_spec(
        "SQL",
        "Only rows that meet this condition, such as \"role = 'civilian' AND round > 1\", or "
        "\"setting.KEY = 'x'\" for a key of what was fixed before play.",
    ),
    "margin": option_spec(
        "D", "Also test for equivalence: whether the models differ by less than D."
    ),
    "confidence": option_spec("SHARE", "Confidence level, between 0 and 1."),
}
"""Specifications by parameter name; a report can replace them in its own signature."""
