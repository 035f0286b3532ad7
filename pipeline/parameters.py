"""What a report or a command declares of its parameters, besides their names and types.

A report is a function of a lake that is declared once: it is a method, its signature has the
options of its command and the fields of its page, and its docstring is the help of all three.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

REPEATABLE_HELP = "; may be repeated."


@dataclass(frozen=True)
class ParameterSpec:
    """What a parameter is besides its type; a `default` of `...` is none."""

    help: str
    metavar: str = ""
    names: tuple[str, ...] = ()
    default: Any = ...
    is_argument: bool = False
    suggested: str | None = None
    """What the shell offers: a function of `cli.suggestions`, or a place such as `games.names`."""
    check: Callable[[Any], Any] | None = None
    """Gives the value, or raises click.BadParameter."""
    parse: Callable[[Any], Any] | None = None
    """Makes the value of a text, in place of the type."""
    min: float | None = None
    max: float | None = None
    variable: str | None = None
    """The environment variable that can give the value."""
    shows_default: bool = True

    def checked(self, value: Any, *, is_several: bool, default: object) -> Any:
        """The value as the function takes it: several as a list, the default where none is."""
        if is_several:
            value = [*value] or (None if default is ... else default)
        return value if self.check is None else self.check(value)


class Parameter(NamedTuple):
    """A parameter of a report or command. Of several texts, the `kind` is that of one."""

    name: str
    kind: Any
    is_several: bool
    default: Any
    declared: ParameterSpec


def function_parameters(
    function: Callable[..., Any], shared: Mapping[str, ParameterSpec] | None = None
) -> list[Parameter]:
    """The parameters of the function, without the lake or what else it begins with.

    What one means stands beside its type or is its default, or else is that of its name in
    `SHARED`, or in `shared` for those that only commands have. One that none of these knows is for
    Python alone.
    """
    known = {**COMMON_OPTIONS, **(shared or {})}
    return [
        one
        for given in inspect.signature(function).parameters.values()
        # It is no lake and nothing else that the function begins with.
        if given.kind is given.KEYWORD_ONLY
        or given.default is not given.empty
        or get_origin(given.annotation) is Annotated
        if (one := _parameter(given, known)) is not None
    ]


def _parameter(given: inspect.Parameter, known: Mapping[str, ParameterSpec]) -> Parameter | None:
    kind, declared, default = given.annotation, given.default, given.default
    if get_origin(kind) is Annotated:
        kind, declared = get_args(kind)
    elif isinstance(declared, ParameterSpec):
        default = declared.default
    elif given.name in known:
        declared = known[given.name]
    else:
        return None
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    wanted = [one for one in kinds if one is not NoneType]
    several = next((one for one in wanted if get_origin(one) in (list, Sequence)), None)
    kind = wanted[0] if several is None else get_args(several)[0]
    default = ... if default is given.empty else default
    return Parameter(given.name, kind, several is not None, default, declared)


def option_spec(metavar: str, meaning: str, *names: str, default: Any = None, **more: Any) -> Any:
    """An option with a value; `more` are fields of `Declared`."""
    return ParameterSpec(meaning, metavar, names, default, **more)


def argument_spec(
    metavar: str, meaning: str, suggested: str | None = None, default: Any = None, **more: Any
) -> Any:
    """An argument, required if the default is `...`; `more` are fields of `Declared`."""
    return ParameterSpec(
        meaning, metavar, (), default, is_argument=True, suggested=suggested, **more
    )


def flag_spec(name: str, meaning: str, *, default: bool = False) -> Any:
    """An option without a value; without `--no-`, unless the name has both."""
    return ParameterSpec(meaning, names=(name,), default=default)


def repeatable_option_spec(
    metavar: str, meaning: str, suggested: str | None = None, **more: Any
) -> Any:
    """An option that may be repeated; `more` are fields of `Declared`."""
    return option_spec(metavar, meaning + REPEATABLE_HELP, suggested=suggested, **more)


GAME_TYPES_OPTION = repeatable_option_spec(
    "TYPE", "Only this game type; `all` for all types together", "game_types"
)
"""Of values, which are there for all game types together, too."""


def split_names(texts: Iterable[str] | None) -> list[str]:
    """The names in all texts together, each of which can have several, separated by commas."""
    names = (name.strip() for text in texts or () for name in text.split(","))
    return [name for name in names if name]


COMMON_OPTIONS: Mapping[str, ParameterSpec] = {
    "edition": option_spec(
        "EDITION",
        "paper: the formulas as published; release: as the published script computes them; "
        "audited: the formulas as published, with answers judged by their texts.",
    ),
    "engine": option_spec("ENGINE", "The engine that computes: polars, duckdb or spark."),
    "master": option_spec(
        "URL", "With --engine spark: the cluster; default: $SPARK_MASTER, else this machine."
    ),
    "expected": option_spec(
        "N",
        "Expect N games of each model in each competition; default: of every setting that any "
        "model played, as many as others finished.",
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
    "margin": option_spec("D", "Also test whether models are alike: they differ by less than D."),
    "confidence": option_spec("SHARE", "Confidence level, between 0 and 1."),
}
"""What a parameter of a report with this name means, unless the report says otherwise."""
