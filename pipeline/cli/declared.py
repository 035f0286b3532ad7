"""A command of click, made of a function: its signature has the options, its docstring the help."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, cleandoc, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import click

from pipeline.cli.suggestions import Suggested
from pipeline.errors import EMPTY, UsageError

_NUMBERS: dict[Any, tuple[str, Any, Any]] = {
    int: ("integer", click.types.IntParamType, click.IntRange),
    float: ("number", click.types.FloatParamType, click.FloatRange),
}


@dataclass(frozen=True)
class Declared:
    """What a parameter of a command is besides its type; a `default` of `...` is none."""

    help: str
    metavar: str = ""
    names: tuple[str, ...] = ()
    default: Any = ...
    is_argument: bool = False
    suggested: Suggested | str | None = None
    """What the shell offers; a text is a place of names, or of what returns them."""
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

    def offered(self, context: click.Context, _param: object, incomplete: str) -> list[str]:
        """What the shell offers of what begins so."""
        names: Any = self.suggested
        if isinstance(names, str):
            module, _, name = names.rpartition(".")
            names = getattr(import_module(f"pipeline.{module}"), name)
            names = names() if callable(names) else names
        elif names is not None:
            names = names(context, incomplete)
        return [name for name in names or () if name.startswith(incomplete)]


def command_of(
    function: Callable[..., None], kind: type[click.Command], shared: Mapping[str, Declared]
) -> click.Command:
    """The command: a parameter of the function is an option, an argument or a flag.

    One that has to be named, that is: a command of a report begins with what is asked of it. One
    that is not declared as its own default is declared in `shared`, by its name.
    """
    known = signature(function).parameters.values()
    params = [_param(one, shared) for one in known if one.kind is Parameter.KEYWORD_ONLY]
    text = cleandoc(function.__doc__ or "")
    return kind(function.__name__, params=params, help=text, callback=function)


def _param(parameter: Parameter, shared: Mapping[str, Declared]) -> click.Parameter:
    annotation, declared = parameter.annotation, parameter.default
    if isinstance(declared, Declared):
        default = declared.default
    else:
        default = ... if declared is Parameter.empty else declared
        declared = shared[parameter.name]
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    kind = next(one for one in kinds if one is not NoneType)
    is_several = get_origin(kind) is list
    common: dict[str, Any] = {
        "type": declared.parse or _type(get_args(kind)[0] if is_several else kind, declared),
        "metavar": declared.metavar or None,
        "help": declared.help,
        "required": default is ...,
        "callback": lambda _context, _param, value: declared.checked(
            value, is_several=is_several, default=default
        ),
    }
    if declared.suggested is not None:
        common["shell_complete"] = declared.offered
    if default is not ... and not is_several:
        common["default"] = default
    if declared.is_argument:
        if "[" not in (name := declared.metavar):
            common["metavar"] = (name if default is ... else f"[{name}]") + "..." * is_several
        return click.Argument([parameter.name], nargs=-1 if is_several else 1, **common)
    if kind is bool:
        del common["type"], common["required"]
        common["is_flag"] = True
    return click.Option(
        [parameter.name, *(declared.names or [f"--{parameter.name.replace('_', '-')}"])],
        multiple=is_several,
        envvar=declared.variable,
        show_envvar=declared.variable is not None,
        show_default=declared.shows_default and default is not None,
        **common,
    )


class PathType(click.ParamType[Any]):
    """A path, or a URL for a text; an empty one would be the current folder."""

    name = "path"

    def __init__(self, kind: type[str] | type[Path]) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            raise UsageError(f"the path of {param and param.opts[-1]} {EMPTY}")
        return self._kind(value)


def _type(kind: Any, declared: Declared) -> Any:
    if get_origin(kind) is tuple:
        return tuple(_type(one, declared) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if declared.metavar in ("DIR", "FILE") and not declared.is_argument:
        return PathType(kind)
    if kind not in _NUMBERS:
        return click.STRING
    name, anything, of_range = _NUMBERS[kind]
    is_bounded = declared.min is not None or declared.max is not None
    numbers = of_range(declared.min, declared.max) if is_bounded else anything()
    numbers.name = name  # for messages about what is no number at all
    return numbers
