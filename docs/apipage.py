"""The reference of the Python interface, from its signatures and docstrings."""

import inspect
import re
from collections.abc import Callable
from enum import Enum
from functools import cached_property
from typing import Any

from plain import escape_markdown, fence

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
    """Return the page: the package's public names, the methods of a lake, and the errors."""
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
    """Return the section of a public name; that of a class includes its fields and members."""
    if inspect.ismodule(value):
        return []
    if not inspect.isclass(value):
        signed = [fence("python", signature(f"pipeline.{name}", value))] if callable(value) else []
        return [f"## `{name}`", *signed, prose(value)]
    parts = [f"## `{name}`", prose(value), *fields(value)]
    for member, value_of_member in sorted(members(value).items()):
        label = member if name != "Lake" else f"lake.{member}"
        parts.append(f"### `{label}`")
        if callable(value_of_member):
            parts.append(fence("python", signature(label, value_of_member)))
        parts.append(prose(value_of_member))
    return parts


def fields(kind: Any) -> list[str]:
    """Return a code block of a struct's fields, or the line of an enum's values."""
    if issubclass(kind, Enum):
        return ["Values: " + ", ".join(f"`{member.value}`" for member in kind)]
    names = getattr(kind, "__struct_fields__", ())
    signed = inspect.signature(kind).parameters if names else {}
    return (
        [fence("python", "\n".join(shorten_signature(str(signed[name])) for name in names))]
        if names
        else []
    )


def members(kind: type) -> dict[str, Any]:
    """Return the public methods and properties of a class that have a docstring."""
    attributes = {name: inspect.getattr_static(kind, name) for name in dir(kind) if name[0] != "_"}
    descriptors = (property, cached_property, classmethod, staticmethod)
    values = {name: getattr(kind, name) for name in attributes}
    return {
        name: values[name] if callable(values[name]) else value
        for name, value in attributes.items()
        if (isinstance(value, descriptors) or inspect.isfunction(value)) and is_ours(value)
    }


def is_ours(value: Any) -> bool:
    """Return whether a method or property has a docstring and was not inherited from a library."""
    wrapped = (getattr(value, name, None) for name in ("fget", "func", "__func__"))
    function = next(filter(None, wrapped), value)
    module = getattr(function, "__module__", None) or ""
    return module.startswith("pipeline") and bool(inspect.getdoc(function))


def signature(name: str, function: Callable[..., Any]) -> str:
    """Return a function's signature without `self`, with a line for each parameter if long."""
    signed = inspect.signature(function)
    first = next(iter(signed.parameters), None)
    parameters = [
        parameter
        for parameter in signed.parameters.values()
        if parameter.name != first or first not in BOUND
    ]
    line = name + shorten_signature(str(signed.replace(parameters=parameters)))
    if len(line) <= WIDTH:
        return line
    head, _, rest = line.partition("(")
    inner, _, result = rest.rpartition(")")
    return f"{head}(\n" + "".join(f"    {part},\n" for part in split(inner)) + f"){result}"


def shorten_signature(signed: str) -> str:
    """Remove the modules and quotes of types, and memory addresses, from a signature."""
    signed = re.sub(r"(: |-> )'([^']*)'", r"\1\2", signed)
    signed = re.sub(r"<(\w+\.\w+): [^>]*>", r"\1", signed)
    signed = re.sub(r"\*<class '(?:\w+\.)*(\w+)'>", r"Unpack[\1]", signed)
    signed = re.sub(r"<[^<>]* at 0x\w+>", "…", signed)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", signed)


def split(inner: str) -> list[str]:
    """Split a parameter list at the commas outside of brackets."""
    parts, depth, begin = [], 0, 0
    for place, sign in enumerate(inner):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            parts.append(inner[begin:place].strip())
            begin = place + 1
    return [*parts, inner[begin:].strip()]


def first_line(kind: type) -> str:
    """Return the first line of a class's docstring as markdown."""
    return escape_markdown((inspect.getdoc(kind) or "").partition("\n")[0])


def prose(value: Any) -> str:
    """Return a docstring as markdown, with its examples as code blocks."""
    paragraphs = (inspect.getdoc(value) or "").split("\n\n")
    return "\n\n".join(
        fence("pycon", text) if text.startswith(">>> ") else escape_markdown(text)
        for text in paragraphs
    )
