"""Which pages there are, those of declared reports among them, and what an address says to one."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import polars as pl
from msgspec.structs import replace

from pipeline.answers import AnsweringLake
from pipeline.column import schema, words
from pipeline.declared import REPEATED, Parameter
from pipeline.errors import UsageError, choose
from pipeline.metrics.request import NO_LOSSES, check_models
from pipeline.pages import game, lists, lookups, values
from pipeline.pages.content import (
    EDITION,
    GAME_TYPE,
    METRIC,
    WHERE,
    Address,
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
from pipeline.reports.declared import Report, found
from pipeline.reports.tables import unknown_notes
from pipeline.vocabulary import ALL, EXCLUDE, LOSS, RELEASE

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
    label = words(name.removeprefix("n_"))
    if name == "metric":
        nothing = "all" if is_several else None
        yield replace(METRIC, default="" if is_several else default or "", nothing=nothing)
    elif name in _KNOWN:
        yield _KNOWN[name]
    elif declared.suggested == "models":
        help = declared.help.removesuffix(REPEATED)
        for one in _names(asked):
            own, of_lake = words(one).capitalize(), lambda lake, _: models_of(lake)
            yield Field(one, own, values=of_lake, nothing="any", are_names=True, help=help)
    elif kind is bool:
        yield Field(name, label, bool, default)
    elif get_origin(kind) is Literal:
        choices = get_args(kind)
        yield Field(name, label.capitalize(), values=lambda *_: choices, nothing="any")
    else:
        hint = "" if default in (None, ...) else f"{default:g}" if kind in (int, float) else default
        size = 6 if kind in (int, float) else 18
        yield Field(name, label.capitalize(), hint=hint, size=size)


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


# --- all pages ------------------------------------------------------------------------------------

_PLACE = re.compile(r"`\$\.(\w+)`$")
TEMPLATES = Path(__file__).parent / "templates"
# The order in the menu; other reports follow, and other pages are reached by links.
_MENU = (
    *("leaderboard", "radar", "metric", "model", "compare", "ratings", "games", "search"),
    *("completeness", "audit", "usage", "documents", "tables", "sql"),
)
_BY_LINKS = ("plan", "models", "diff")


PAGES = {
    **{name: page_of(one) for name, one in found().items()},
    **game.PAGES,
    **lists.PAGES,
    **lookups.PAGES,
    **values.PAGES,
}
NAMES = tuple(sorted(PAGES))
MENU = (
    *_MENU,
    *(
        one.name
        for one in found().values()
        if one.is_command and one.name not in (*_MENU, *_BY_LINKS)
    ),
)


def page(name: str) -> Page:
    """The page of this name; raises UsageError if there is none."""
    if name not in PAGES:
        raise UsageError(f"no page `{name}`: {choose([name], NAMES)}")
    return PAGES[name]


def content(name: str, lake: Any, asked: Address) -> Content:
    """What a page shows of the lake; raises UsageError for what is wrong with the request."""
    seen = _seen(lake, asked)
    shown = page(name).content(seen, asked)
    listed = {one.name: one.values(seen, asked) for one in asked.FIELDS if one.values}
    choices = {field: tuple(values) for field, values in (listed | {**shown.choices}).items()}
    common = {"systems": seen.systems, "choices": choices, "seen_as": seen.seen_as}
    if _is_refused(asked):
        common["faults"] = {**shown.faults, "failures": NO_LOSSES}
    if asked.IS_OF_SYSTEM:
        system = seen.system if shown.system is None else shown.system
        common |= {"system": system, "unknown": unknown_notes(seen), "game_types": seen.game_types}
    return msgspec.structs.replace(shown, **common)


def _seen(lake: Any, asked: Address) -> Any:
    """The lake as the page sees it: one that counts sees one system, and failures as it says."""
    failures = getattr(asked, "failures", "") or lake.failures
    has_losses = asked.HAS_LOSSES and not _is_refused(asked)
    lake = lake.with_failures(failures if has_losses else EXCLUDE)
    return lake.of_one_system(getattr(asked, "system", "") or None) if asked.IS_OF_SYSTEM else lake


def _is_refused(asked: Address) -> bool:
    """Whether failures are to count as losses in an edition that has its own rule."""
    return getattr(asked, "failures", "") == LOSS and getattr(asked, "edition", "") == RELEASE


def csv_parts(
    name: str, lake: Any, asked: Address, shown: Content | None = None
) -> Iterable[pl.DataFrame]:
    """All rows of a page, some at a time; raises UsageError for what is wrong with the request.

    `shown` is the page's content where it is there already.
    """
    wanted = page(name)
    if wanted.whole is not None and (asked.frame or "rows") == wanted.frame:
        return wanted.whole(_seen(lake, asked), asked)
    contents = shown or content(name, lake, asked)
    if contents.faults:
        raise UsageError("; ".join(contents.faults.values()))
    return [contents.frame(asked.frame or "rows")]


def parameters(name: str, given: Mapping[str, str]) -> Address:
    """The page's parameters as typed values; empty texts are left out.

    Raises UsageError for an unknown parameter, or for a value that it cannot have.
    """
    wanted = page(name).parameters
    known = wanted.__struct_fields__
    if strangers := [one for one in given if one not in known]:
        names = ", ".join(known) or "none"
        raise UsageError(f"no parameter {', '.join(strangers)[:200]}: this page has {names}")
    texts = {one: text for one, text in given.items() if text}
    try:
        return msgspec.convert(texts, wanted, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(_why_wrong(error, wanted, texts)) from None


def _why_wrong(
    error: msgspec.ValidationError, wanted: type[Address], texts: Mapping[str, str]
) -> str:
    """What is wrong with a parameter; of one that is a choice, what can be chosen."""
    place = _PLACE.search(str(error))
    name = place[1] if place else ""
    kind = get_type_hints(wanted).get(name)
    choices = ("true", "false") if kind is bool else get_args(kind)
    known = [one for one in choices if isinstance(one, str)]
    if not known:
        return f"a parameter is wrong: {error}"
    return f"no {name} `{texts[name][:200]}`: {choose([texts[name]], filter(None, known))}"
