"""The pages of declared reports: a form of the report's parameters, its table and its notes."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal, get_args, get_origin

import polars as pl
from msgspec.structs import replace

from pipeline.answers import AnsweringLake
from pipeline.column import schema, words
from pipeline.declared import REPEATED, Parameter
from pipeline.metrics.request import check_models
from pipeline.pages.content import (
    EDITION,
    GAME_TYPE,
    METRIC,
    WHERE,
    Content,
    Faults,
    Field,
    Page,
    address,
    answered,
    models_of,
    number,
)
from pipeline.present import present
from pipeline.reports.declared import Report
from pipeline.vocabulary import ALL

_KNOWN = {one.name: one for one in (EDITION, GAME_TYPE, WHERE)}
_OF_THE_SERVER = ("engine", "master")
"""What an address does not choose."""


def page_of(report: Report) -> Page:
    """The page of a report: its parameters are the fields of the form."""
    fields = [field for one in report.parameters for field in _fields(one)]
    titled = tuple(one.name for one in fields if one.are_names)
    counts = {"is_of_system": report.is_of_system, "has_losses": report.has_losses}
    asks = address(*fields, **counts, in_title=titled, report=report.name)
    return Page(asks, partial(_content, report))


def _fields(asked: Parameter) -> Iterator[Field]:
    """The fields of a parameter: of one that takes two names, one for each."""
    name, kind, is_several, default, declared = asked
    if name in _OF_THE_SERVER:
        return
    help, label = declared.help.removesuffix(REPEATED), words(name.removeprefix("n_"))
    if name == "metric":
        nothing = "all" if is_several else None
        yield replace(METRIC, default="" if is_several else default or "", nothing=nothing)
    elif name in _KNOWN:
        yield _KNOWN[name]
    elif declared.suggested == "models":
        for one in _names(asked):
            own, of_lake = words(one).capitalize(), lambda lake, _: models_of(lake)
            yield Field(one, own, values=of_lake, nothing="any", are_names=True, help=help)
    elif kind is bool:
        yield Field(name, label, bool, default, help=help)
    elif get_origin(kind) is Literal:
        choices = get_args(kind)
        yield Field(name, label.capitalize(), values=lambda *_: choices, nothing="any", help=help)
    else:
        hint = "" if default in (None, ...) else f"{default:g}" if kind in (int, float) else default
        size = 6 if kind in (int, float) else 18
        yield Field(name, label.capitalize(), hint=hint, size=size, help=help)


def _names(asked: Parameter) -> list[str]:
    """What its values are called: `[MODEL OTHER]` takes a model and another one."""
    is_argument = asked.declared.is_argument
    return asked.declared.metavar.strip("[]").lower().split() if is_argument else [asked.name]


def _content(report: Report, lake: AnsweringLake, asked: Any) -> Content:
    """What the report answers to the address; `about` says in a sentence what it is."""
    faults, names, is_asked = Faults(), list[str](), True
    fields = {one.name: [field.name for field in _fields(one)] for one in report.parameters}
    required = [one.name for one in report.parameters if one.default is ...]
    first = fields[required[0]][-1] if required else ""
    given: dict[str, dict[str, Any]] = {first: {}}  # with all that is required
    for one in report.parameters:
        own = fields[one.name]
        said = {name: text for name in own if (text := getattr(asked, name)) not in ("", ALL)}
        names += said.values() if one.declared.suggested == "models" else ()
        for name in said if one.declared.is_argument else ():
            with faults.of(name):
                check_models(lake, (said[name],))
        is_required = one.name in required
        for field in own[-1:] if said else ():
            with faults.of(field):
                value = _value(one, [*said.values()])
                given.setdefault(first if is_required else field, {})[one.name] = value
        is_asked &= bool(said) or not is_required
    rows = None
    if is_asked and not faults:
        rows, faults = answered(getattr(lake, report.name), given)
    rows = pl.DataFrame(schema=schema(report.columns)) if rows is None or faults else rows
    options = {name: value for part in given.values() for name, value in part.items()}
    shown = present(report.name, rows, **options)
    return Content(
        title=f"{report.title} for {' and '.join(names)}" if names else report.title,
        rows=rows,
        parts={
            "about": report.help.partition("\n\n")[0].replace("\n", " "),
            "is_drawn": report.is_drawn,
            "nothing": (shown.nothing or "Nothing was found") if is_asked else "",
        },
        notes=shown.notes if rows.height else (),
        faults=faults,
    )


def _value(asked: Parameter, given: list[Any]) -> Any:
    """What the fields of a parameter say; raises UsageError for what is no number."""
    if asked.is_several:
        return asked.declared.checked(given, is_several=True, default=asked.default)
    value = next(iter(given), "")
    return number(value) if asked.kind in (int, float) else value
