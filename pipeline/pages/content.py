"""What the contents of all pages have in common."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, Literal

import polars as pl
from msgspec import Meta, Struct, structs

from pipeline import games
from pipeline.column import Column, schema, words
from pipeline.errors import OtherSystemError, UsageError, choose
from pipeline.lake.lake import StoredLake
from pipeline.metrics.known import header, metric
from pipeline.metrics.paging import last_key, order_by
from pipeline.vocabulary import Edition

ROWS = 50
"""A page of a long list has so many rows."""


class Address(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an address can say to a page: texts, numbers and words, each with a default.

    `seen` is how many rows the pages before this one of a list had, as its links count them.
    `frame` is which of the page's frames CSV has; by default its rows.
    `IS_OF_SYSTEM` says that the page counts: games of one `system`, by default the largest.
    `IN_TITLE` are the parameters that the title of the page names.
    """

    IS_OF_SYSTEM: ClassVar[bool] = False
    IN_TITLE: ClassVar[tuple[str, ...]] = ()

    frame: str = ""
    seen: Annotated[int, Meta(ge=0, le=10**12)] = 0


Order = Literal["up", "down"]


class Sorted(Address, frozen=True, kw_only=True):
    """The address of a page of a long list: what it is sorted by, and the key it begins after."""

    sort: str = ""
    order: Order = "up"
    after: str = ""


def choices(asked: Address, *names: str) -> dict[str, Any]:
    """These parameters and the order as a method of a lake takes them: defaults choose nothing."""
    values, defaults = structs.asdict(asked), structs.asdict(type(asked)())
    chosen = {name: None if values[name] == defaults[name] else values[name] for name in names}
    if isinstance(asked, Sorted):
        chosen |= {"sort": asked.sort or None, "descending": asked.order == "down"}
    return chosen


class OfSystem(Address, frozen=True, kw_only=True):
    """The address of a page that counts."""

    IS_OF_SYSTEM: ClassVar[bool] = True

    system: str = ""


class Content(Struct, frozen=True, kw_only=True):
    """What a page shows: `rows` is the frame that `.csv` gives.

    `faults` are the errors of the request, each beside the field that it is about. `systems` are
    all of the lake with their games, and `system` is the one that a page counts games of.
    `unknown` says what nothing counts, since a package is not installed.
    """

    title: str
    rows: pl.DataFrame
    notes: Sequence[str] = ()
    faults: Mapping[str, str] = {}
    system: str | None = None
    systems: Mapping[str, int] = {}
    unknown: Sequence[str] = ()

    def frame(self, name: str) -> pl.DataFrame:
        """One of its frames; raises UsageError for a name that none has."""
        values = {one: getattr(self, one) for one in self.__struct_fields__}
        frames = {one: value for one, value in values.items() if isinstance(value, pl.DataFrame)}
        if name not in frames:
            raise UsageError(f"this page has no frame {name}: {choose([name], frames)}")
        return frames[name]

    @property
    def one_of_several(self) -> str:
        """The system, if the lake has several: pages that show all systems are led to this one."""
        return self.system or "" if len(self.systems) > 1 else ""


_NO_SLICE = (
    *("edition", "system", "metric", "game", "beside", "roles", "kind", "table"),
    *("frame", "after", "seen", "sort", "order", "query", "x", "y"),
)


def slice_of(content: Content, asked: Address) -> tuple[str, ...]:
    """What of the lake a page shows, each part in words: its edition, system, and which rows.

    What the title names is not said again.
    """
    edition = getattr(asked, "edition", "") if asked.IS_OF_SYSTEM else ""
    parts = {"edition": edition, "system": content.one_of_several}
    given, defaults = structs.asdict(asked), structs.asdict(type(asked)())
    parts |= {
        name: value
        for name, value in given.items()
        if name not in (*_NO_SLICE, *asked.IN_TITLE) and value not in (defaults[name], None)
    }
    return tuple(
        words(name) + ("" if value is True else f" {value}")
        for name, value in parts.items()
        if value != ""
    )


def paged(
    rows: pl.DataFrame, order: Sequence[str], after: Sequence[object] | None
) -> tuple[pl.DataFrame, str | None]:
    """The page after a key, and the text of the next page's key if there are more rows.

    The rows are one more than a page, if there are so many, and in this order.
    """
    shown = rows.head(ROWS)
    return shown, json.dumps(last_key(shown, order, after)) if rows.height > ROWS else None


def key(text: str) -> list[object] | None:
    """The key of a page, from the text of an address."""
    if not text:
        return None
    try:
        parts = json.loads(text)
    except ValueError:
        parts = None
    if not isinstance(parts, list) or not all(isinstance(one, str | int | None) for one in parts):
        raise UsageError(
            "the key of the page is not one that a page gives: start at the first page"
        )
    return parts


class Head(Struct, frozen=True):
    """A metric: its name, title and greatest value, what it counts, and where it is from."""

    name: str
    title: str
    high: float
    row: str
    value: str
    source: str


def grouped(rows: pl.DataFrame, groups: Sequence[str]) -> pl.DataFrame:
    """The rows with a column for each group, also where they could not be grouped by it."""
    missing = [pl.lit(None, pl.String).alias(one) for one in groups if one not in rows.columns]
    return rows.with_columns(missing)


def head(name: str, edition: Edition) -> Head:
    """What the metric is; raises UsageError for an unknown name."""
    declared = metric(name, edition)
    texts = {key: " ".join(lines) for key, lines in header(name, edition).items()}
    of_header = [texts[part] for part in ("row", "value", "source")]
    return Head(name, texts["title"], declared.high, *of_header)


def _said(error: UsageError) -> str:
    """What a page says of an error: it has links where commands have options."""
    if isinstance(error, OtherSystemError):
        return f"{error.what}: choose that system, above"
    return str(error)


class Faults(dict[str, str]):
    """The errors of a request, by field."""

    @contextmanager
    def of(self, field: str) -> Iterator[None]:
        """Keeps a UsageError as the field's."""
        try:
            yield
        except UsageError as error:
            self.setdefault(field, _said(error))


def listing(
    asked: Any,
    field: str,
    columns: Mapping[str, Column],
    order: Sequence[str],
    rows_after: Callable[[Sequence[object] | None, int], pl.DataFrame],
) -> dict[str, Any]:
    """The `rows` of a page of a long list, the key `after` it if there are more, and `faults`.

    `rows_after` returns the rows after a key, at most so many; an error in it is that of the field.
    """
    faults, rows, after = Faults(), pl.DataFrame(schema=schema(columns)), None
    with faults.of(field):
        after = key(asked.after)
        rows = rows_after(after, ROWS + 1)
    shown, next_key = paged(rows, order_by(asked.sort, order), after)
    return {"rows": shown, "after": next_key, "faults": faults}


def answered(
    ask: Callable[..., pl.DataFrame], fields: Mapping[str, Any]
) -> tuple[pl.DataFrame | None, Faults]:
    """What is answered without the fields that are wrong, and the faults of these.

    `fields` are the arguments by the field that an error in them is about. Without the first there
    is no answer.
    """
    faults, rows = Faults(), None
    right: dict[str, Any] = {}
    try:
        return ask(
            **{name: value for part in fields.values() for name, value in part.items()}
        ), faults
    except UsageError:
        pass
    # Each is tried after those before it, so that an error is that of its field.
    for field, part in fields.items():
        try:
            rows = ask(**right, **part)
            right |= part
        except UsageError as error:
            faults[field] = _said(error)
            if rows is None:
                break
    return rows, faults


def first_rows(parts: Iterable[pl.DataFrame], most: int) -> pl.DataFrame:
    """The rows of the parts up to the one that makes them more than `most`."""
    taken: list[pl.DataFrame] = []
    for part in parts:
        taken.append(part)
        if sum(rows.height for rows in taken) > most:
            break
    return pl.concat(taken)


def tested_models(models: pl.Series) -> tuple[str, ...]:
    """The names in a column of models, sorted; a nameless one is left out."""
    return tuple(models.drop_nulls().unique().sort().to_list())


def listed(text: str) -> tuple[str, ...]:
    """The different names in a text, separated by commas."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def game_types(lake: StoredLake, asked: str) -> tuple[str, ...]:
    """The game types to choose from: those of the lake's games, and the one asked for."""
    offered = {*lake.game_types, asked}
    return tuple(name for name in games.names() if name in offered)
