"""Which pages there are, and what an address says to one."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import polars as pl

from pipeline.errors import UsageError, choose
from pipeline.metrics.request import NO_LOSSES
from pipeline.pages import game, lists, lookups, reported, values
from pipeline.pages.content import Address, Content, Page
from pipeline.reports.declared import found
from pipeline.reports.tables import unknown_notes
from pipeline.vocabulary import EXCLUDE, LOSS, RELEASE

_PLACE = re.compile(r"`\$\.(\w+)`$")
TEMPLATES = Path(__file__).parent / "templates"
# The order in the menu; other reports follow, and other pages are reached by links.
_MENU = (
    *("leaderboard", "radar", "metric", "model", "compare", "ratings", "games", "search"),
    *("completeness", "audit", "models", "documents", "tables", "sql"),
)
_BY_LINKS = ("plan", "usage", "diff")


PAGES = {
    **{name: reported.page_of(one) for name, one in found().items()},
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
        common |= {"system": system, "unknown": unknown_notes(seen)}
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
