"""The reference of the Python interface, from its signatures and docstrings."""

import inspect
import re
from collections.abc import Callable
from enum import Enum
from functools import cached_property
from typing import Any

from plain import escaped, fence

import pipeline
from pipeline import errors
from pipeline.pages.report import RenderedPage
from pipeline.render import ResultTable
from pipeline.reports.cite import Citation
from pipeline.reports.documents import SearchResult
from pipeline.reports.transcript import Transcript
from pipeline.verify import Verification

INTRODUCTION = """# Python API

Everything here is public. What is not on this page may change without notice.
[Use it from Python](howto/python.md) shows how to begin.
"""
WIDTH = 88
# What methods return that is no DataFrame.
RETURNED = (Citation, SearchResult, ResultTable, RenderedPage, Transcript, Verification)
BOUND = ("self", "lake")
FIRST = ("open_lake", "Lake")


def text() -> str:
    """The page: the public names of the package, the lake's methods, the errors."""
    names = [name for name in pipeline.__all__ if not name.startswith("__")]
    names = [*FIRST, *(name for name in names if name not in FIRST)]
    public = {name: getattr(pipeline, name) for name in names}
    parts = [INTRODUCTION, *(part for name in names for part in section(name, public[name]))]
    parts += [part for kind in RETURNED for part in section(kind.__name__, kind)]
    parts.append("## Errors")
    parts.append("Each derives from `pipeline.errors.PipelineError`.")
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    parts.append("\n".join(f"- `{kind.__name__}`: {first_line(kind)}" for kind in kinds))
    return "\n\n".join(parts) + "\n"


def section(name: str, value: Any) -> list[str]:
    """A public name, and if it is a class what its objects have."""
    if inspect.ismodule(value):
        return []
    if not inspect.isclass(value):
        signed = [fence("python", signature(f"pipeline.{name}", value))] if callable(value) else []
        return [f"## `{name}`", *signed, prose(value)]
    parts = [f"## `{name}`", prose(value), *fields(value)]
    for member, found in sorted(members(value).items()):
        label = member if name != "Lake" else f"lake.{member}"
        parts.append(f"### `{label}`")
        if callable(found):
            parts.append(fence("python", signature(label, found)))
        parts.append(prose(found))
    return parts


def fields(kind: Any) -> list[str]:
    """What an object is made of: the fields of a struct, or the values of an enum."""
    if issubclass(kind, Enum):
        return ["Values: " + ", ".join(f"`{one.value}`" for one in kind)]
    names = getattr(kind, "__struct_fields__", ())
    signed = inspect.signature(kind).parameters if names else {}
    return (
        [fence("python", "\n".join(shortened(str(signed[name])) for name in names))]
        if names
        else []
    )


def members(kind: type) -> dict[str, Any]:
    """The public methods and properties of a class that have a docstring."""
    found = {name: inspect.getattr_static(kind, name) for name in dir(kind) if name[0] != "_"}
    own = (property, cached_property, classmethod, staticmethod)
    values = {name: getattr(kind, name) for name in found}
    return {
        name: values[name] if callable(values[name]) else value
        for name, value in found.items()
        if (isinstance(value, own) or inspect.isfunction(value)) and is_ours(value)
    }


def is_ours(value: Any) -> bool:
    """Whether a method or property has a docstring and was not inherited from a library."""
    wrapped = (getattr(value, name, None) for name in ("fget", "func", "__func__"))
    function = next(filter(None, wrapped), value)
    module = getattr(function, "__module__", None) or ""
    return module.startswith("pipeline") and bool(inspect.getdoc(function))


def signature(name: str, function: Callable[..., Any]) -> str:
    """The call with its parameters and what it returns, without `self`; a line each if long."""
    signed = inspect.signature(function)
    first = next(iter(signed.parameters), None)
    given = [one for one in signed.parameters.values() if one.name != first or first not in BOUND]
    line = name + shortened(str(signed.replace(parameters=given)))
    if len(line) <= WIDTH:
        return line
    head, _, rest = line.partition("(")
    inner, _, result = rest.rpartition(")")
    return f"{head}(\n" + "".join(f"    {one},\n" for one in split(inner)) + f"){result}"


def shortened(signed: str) -> str:
    """A signature without the modules and quotes of its types, and without places in memory."""
    signed = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signed)
    signed = re.sub(r"<(\w+\.\w+): [^>]*>", r"\1", signed)
    signed = re.sub(r"\*<class '(?:\w+\.)*(\w+)'>", r"Unpack[\1]", signed)
    signed = re.sub(r"<[^<>]* at 0x\w+>", "…", signed)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", signed)


def split(inner: str) -> list[str]:
    """The parameters between commas that are in no bracket."""
    parts, depth, begin = [], 0, 0
    for place, sign in enumerate(inner):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append(inner[begin:place].strip())
            begin = place + 1
    return [*parts, inner[begin:].strip()]


def first_line(kind: type) -> str:
    """Return the first line of a class's docstring as markdown."""
    return escaped((inspect.getdoc(kind) or "").partition("\n")[0])


def prose(value: Any) -> str:
    """A docstring as markdown; its examples as code."""
    paragraphs = (inspect.getdoc(value) or "").split("\n\n")
    return "\n\n".join(
        fence("pycon", text) if text.startswith(">>> ") else escaped(text) for text in paragraphs
    )
