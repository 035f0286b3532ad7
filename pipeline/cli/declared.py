"""A command of click, made of a function: its signature has the options, its docstring the help."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click

from pipeline.cli import suggestions
from pipeline.declared import Declared, Parameter, parameters
from pipeline.errors import EMPTY, UsageError

_NUMBERS: dict[Any, tuple[str, Any, Any]] = {
    int: ("integer", click.types.IntParamType, click.IntRange),
    float: ("number", click.types.FloatParamType, click.FloatRange),
}


def command_of(
    function: Callable[..., None], kind: type[click.Command], shared: Mapping[str, Declared]
) -> click.Command:
    """The command: a parameter of the function is an option, an argument or a flag."""
    params = [param(one) for one in parameters(function, shared)]
    text = cleandoc(function.__doc__ or "")
    return kind(function.__name__, params=params, help=text, callback=function)


def param(one: Parameter) -> click.Parameter:
    """The option, argument or flag that a parameter is on the command line."""
    name, kind, is_several, default, declared = one
    common: dict[str, Any] = {
        "type": declared.parse or _type(kind, declared),
        "metavar": declared.metavar or None,
        "help": declared.help,
        "required": default is ...,
        "callback": lambda _context, _param, value: declared.checked(
            value, is_several=is_several, default=default
        ),
    }
    if declared.suggested is not None:
        common["shell_complete"] = partial(_offered, declared.suggested)
    if default is not ... and not is_several:
        common["default"] = default
    if declared.is_argument:
        if "[" not in (shown := declared.metavar):
            common["metavar"] = (shown if default is ... else f"[{shown}]") + "..." * is_several
        return click.Argument([name], nargs=-1 if is_several else 1, **common)
    flag = f"--{name.replace('_', '-')}"
    if kind is bool:
        flag += f"/--no-{flag[2:]}" if default is True else ""
        del common["type"], common["required"]
        common["is_flag"] = True
    return click.Option(
        [name, *(declared.names or [flag])],
        multiple=is_several,
        envvar=declared.variable,
        show_envvar=declared.variable is not None,
        show_default=declared.shows_default and default is not None,
        **common,
    )


def _offered(suggested: str, context: click.Context, _param: object, incomplete: str) -> list[str]:
    """What the shell offers of what begins so."""
    module, _, name = suggested.rpartition(".")
    names: Any = getattr(import_module(f"pipeline.{module}") if module else suggestions, name)
    if callable(names):
        names = names() if module else names(context, incomplete)
    return [name for name in names if name.startswith(incomplete)]


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
