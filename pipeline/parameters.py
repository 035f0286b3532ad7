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

    def validated_value(self, value: Any, *, is_several: bool, default: object) -> Any:
        """Return the checked value of an option or form field, or its default if it has no value.

        Args:
            value: The value, or the sequence of values of a repeatable parameter.
            is_several: Whether the parameter is repeatable.
            default: The value if a repeatable parameter has no values.
        """
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
    value_type: Any
    is_repeatable: bool
    default: Any
    spec: ParameterSpec


def parameters_with_specs(
    function: Callable[..., Any], command_specs: Mapping[str, ParameterSpec] | None = None
) -> list[Parameter]:
    """Return the parameters of a function that users can set by options or form fields.

    The specification of a parameter is in its annotation or is its default value; otherwise it is
    looked up by name in `COMMON_OPTIONS` and `command_specs`. A parameter without a specification,
    such as the lake, is excluded, because only Python code passes it.

    Args:
        function: The report or command.
        command_specs: Further specifications by name, for parameters that only commands have.
    """
    specs = {**COMMON_OPTIONS, **(command_specs or {})}
    return [
        parameter
        for signature in inspect.signature(function).parameters.values()
        # A positional parameter without a default is the lake or another object of the program.
        if signature.kind is signature.KEYWORD_ONLY
        or signature.default is not signature.empty
        or get_origin(signature.annotation) is Annotated
        if (parameter := _parameter_if_it_has_spec(signature, specs)) is not None
    ]


def _parameter_if_it_has_spec(
    signature: inspect.Parameter, specs: Mapping[str, ParameterSpec]
) -> Parameter | None:
    value_type, spec, default = signature.annotation, signature.default, signature.default
    if get_origin(value_type) is Annotated:
        value_type, spec = get_args(value_type)
    elif isinstance(spec, ParameterSpec):
        default = spec.default
    elif signature.name in specs:
        spec = specs[signature.name]
    else:
        return None
    union = get_args(value_type) if get_origin(value_type) in (Union, UnionType) else (value_type,)
    types = [member for member in union if member is not NoneType]
    list_type = next((member for member in types if get_origin(member) in (list, Sequence)), None)
    value_type = types[0] if list_type is None else get_args(list_type)[0]
    default = ... if default is signature.empty else default
    return Parameter(signature.name, value_type, list_type is not None, default, spec)


def option_spec(
    metavar: str, help_text: str, *option_names: str, default: Any = None, **spec_fields: Any
) -> Any:
    """Return the specification of a command-line option that takes a value, such as `--by COLUMN`.

    Args:
        metavar: The placeholder for the value in the help text, such as `COLUMN`.
        help_text: The help text.
        option_names: The names of the option; by default `--` and the parameter's name.
        default: The default value.
        spec_fields: Further fields of `ParameterSpec`.
    """
    return ParameterSpec(help_text, metavar, option_names, default, **spec_fields)


def argument_spec(
    metavar: str,
    help_text: str,
    suggested: str | None = None,
    default: Any = None,
    **spec_fields: Any,
) -> Any:
    """Return the specification of a positional argument; a default of `...` makes it required."""
    return ParameterSpec(
        help_text, metavar, (), default, is_argument=True, suggested=suggested, **spec_fields
    )


def flag_spec(option_name: str, help_text: str, *, default: bool = False) -> Any:
    """Return the specification of an option without a value, such as `--percent`.

    The flag has a form that turns it off only if `option_name` contains both, as in `--x/--no-x`.
    """
    return ParameterSpec(help_text, names=(option_name,), default=default)


def repeatable_option_spec(
    metavar: str, help_text: str, suggested: str | None = None, **spec_fields: Any
) -> Any:
    """Return the specification of an option that may be repeated, with several values."""
    return option_spec(metavar, help_text + REPEATABLE_HELP, suggested=suggested, **spec_fields)


GAME_TYPES_OPTION = repeatable_option_spec(
    "TYPE", "Only this game type; `all` for all types together", "game_types"
)
"""For results that also have rows for all game types together."""


def split_names(values: Iterable[str] | None) -> list[str]:
    """Return the names in strings of comma-separated names, without surrounding blanks."""
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
