"""What all pages have in common: what an address can say to one, and what it shows."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import polars as pl
from msgspec import Meta, Struct, defstruct, structs
from msgspec.structs import replace

from pipeline import games
from pipeline.column import Column, schema, words
from pipeline.declared import SHARED, names_in
from pipeline.errors import OtherSystemError, UsageError, choose
from pipeline.lake import StoredLake
from pipeline.metrics.known import header, highest_value, names
from pipeline.reports.declared import found
from pipeline.vocabulary import ALL, EDITIONS, LOSS, PAPER, Edition, Failures


class Field(Struct, frozen=True):
    """A parameter of a page, and with a `label` a field of its form.

    `values` are what can be chosen, by the lake and the address, and `nothing` is how to choose
    none of them; our own words unless `are_names`. Without them it is a text with a `hint`, so many
    signs wide, or a tick. Who points at it reads its `help`.
    """

    name: str
    label: str = ""
    kind: Any = str
    default: Any = ""
    values: Callable[[Any, Any], Iterable[str]] | None = None
    nothing: str | None = None
    are_names: bool = False
    hint: str = ""
    size: int = 18
    help: str = ""

    @property
    def is_tick(self) -> bool:
        return self.kind is bool


class Address(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What an address can say to a page: texts, numbers and words, each with a default.

    `seen` is how many rows the pages before this one of a list had, as its links count them.
    `frame` is which of the page's frames CSV has; by default its rows.
    `IS_OF_SYSTEM` says that the page counts: games of one `system`, by default the largest.
    `HAS_LOSSES` says that what it shows depends on whether failures are losses.
    `IN_TITLE` are the parameters that the title of the page names, and `FIELDS` all of its own.
    """

    IS_OF_SYSTEM: ClassVar[bool] = False
    HAS_LOSSES: ClassVar[bool] = True
    IN_TITLE: ClassVar[tuple[str, ...]] = ()
    FIELDS: ClassVar[tuple[Field, ...]] = ()

    frame: str = ""
    seen: Annotated[int, Meta(ge=0, le=10**12)] = 0


def address(
    *fields: Field,
    is_of_system: bool = False,
    has_losses: bool = True,
    in_title: tuple[str, ...] = (),
    report: str = "",
) -> type[Address]:
    """The addresses of a page with these parameters, and a `system` if it counts.

    Fields without a help have that of the parameter of their name, if the page is of a `report`.
    """
    listed = [more for one in fields for more in ((one, FAILURES) if one is EDITION else (one,))]
    known = found()[report].helps if report else {}
    listed = [replace(one, help=one.help or known.get(one.name, "")) for one in listed]
    own = (*([Field("system")] if is_of_system else []), *listed)
    declared: Any = defstruct(
        "Parameters",
        [(one.name, one.kind, one.default) for one in own],
        bases=(Address,),
        namespace={
            "IS_OF_SYSTEM": is_of_system,
            "HAS_LOSSES": has_losses,
            "IN_TITLE": in_title,
            "FIELDS": own,
        },
        frozen=True,
        kw_only=True,
    )
    return declared  # type: ignore[no-any-return]


def sorting(order: Literal["up", "down"] = "up") -> tuple[Field, ...]:
    """What a list is sorted by."""
    return Field("sort"), Field("order", kind=Literal["up", "down"], default=order)


def _types(lake: Any, asked: Any) -> tuple[str, ...]:
    """The game types to choose from: those of the lake's games, and the one asked for."""
    system = getattr(asked, "system", "")
    offered = (lake.of_system(system) if system in lake.systems else lake).game_types
    return ALL, *(name for name in games.names() if name in {*offered, asked.game_type})


EDITION = Field(
    "edition",
    "Edition",
    Edition,
    PAPER,
    values=lambda *_: EDITIONS,
    help=SHARED["edition"].help,
)
FAILURES = Field(
    "failures",
    "Failed games",
    Literal["", Failures],
    values=lambda *_: (LOSS,),
    nothing="left out",
)
"""Of pages that count in an edition: what a game is to the model that failed it."""
SAME_EDITION = Field("edition", kind=Edition, default=PAPER)
"""That of the links, on a page which is the same in all editions."""
GAME_TYPE = Field("game_type", "Game type", default=ALL, values=_types)
METRIC = Field("metric", "Metric", default="win_rate", values=lambda _, asked: names(asked.edition))
WHERE = Field(
    "where", "Only rows where", hint="role = 'civilian'", size=26, help=SHARED["where"].help
)
BY = Field("by", "Also by", hint="role", size=12)
AFTER = Field("after")
"""How many rows come before a page of a list."""


def given(asked: Address, *names: str) -> dict[str, Any]:
    """These parameters as a method of a lake takes them: defaults choose nothing."""
    values, defaults = structs.asdict(asked), structs.asdict(type(asked)())
    return {name: None if values[name] == defaults[name] else values[name] for name in names}


_NO_SLICE = (
    *("edition", "system", "failures", "metric", "game", "beside", "roles", "kind", "table"),
    *("after", "sort", "order", "query", "x", "y"),
    *("difference", "power", "n_pairs"),  # the sentence of a plan says them
)


def slice_words(asked: Address) -> list[str]:
    """Which rows of the lake a page shows, each part in words; not what its title names."""
    known = [one for one in asked.FIELDS if one.name not in (*_NO_SLICE, *asked.IN_TITLE)]
    values = {one.name: getattr(asked, one.name) for one in known}
    return [
        words(one.name) + ("" if values[one.name] is True else f" {values[one.name]}")
        for one in known
        if values[one.name] not in (one.default, None, "")
    ]


# --- what an address can say ----------------------------------------------------------------------

Answer = TypeVar("Answer")
ROWS = 50
"""A page of a long list has so many rows."""
_OFFSET = re.compile("[0-9]{0,12}")


class Content(Struct, frozen=True, kw_only=True):
    """What a page shows: `rows` is the frame that `.csv` gives.

    `parts` are what else a page shows, by name; they read as attributes. `choices` are the values
    to choose from, by the field of the form, `after` is the key of the next page of a list, and
    `faults` are the errors of the request, each beside the field that it is about. `systems` are
    all of the lake with their games, and `system` is the one that a page counts games of, by
    default that of the address; "" if it compares two.
    `unknown` says what nothing counts, since a package is not installed, and `seen_as` how the lake
    is seen: which names of models are counted as one, and whether failures are losses.
    `game_types` are those of the games that a page counts.
    """

    title: str
    rows: pl.DataFrame
    parts: Mapping[str, Any] = {}
    choices: Mapping[str, Sequence[str]] = {}
    after: str | None = None
    notes: Sequence[str] = ()
    faults: Mapping[str, str] = {}
    system: str | None = None
    systems: Mapping[str, int] = {}
    unknown: Sequence[str] = ()
    seen_as: Mapping[str, str] = {}
    game_types: Sequence[str] = ()

    def __getattr__(self, name: str) -> Any:
        if name in self.parts:
            return self.parts[name]
        raise AttributeError(name)

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """All frames by name."""
        named = {"rows": self.rows, **self.parts}
        return {name: one for name, one in named.items() if isinstance(one, pl.DataFrame)}

    def frame(self, name: str) -> pl.DataFrame:
        """One of its frames; raises UsageError for a name that none has."""
        if name not in self.frames:
            raise UsageError(f"this page has no frame {name}: {choose([name], self.frames)}")
        return self.frames[name]

    @property
    def one_of_several(self) -> str:
        """The system, if the lake has several: pages that show all systems are led to this one."""
        return self.system or "" if len(self.systems) > 1 else ""


class Page(Struct, frozen=True):
    """A page: what an address can say to it, and what it shows of a lake to one who asks so.

    `lane` says which threads make it: see `pipeline.server`. A page that shows a part
    of its rows has `whole` besides: all of them, some at a time. They are those of its `frame`.
    """

    parameters: type[Address]
    content: Callable[[Any, Any], Content]
    lane: str = "long"
    whole: Callable[[Any, Any], Iterable[pl.DataFrame]] | None = None
    frame: str = "rows"


def slice_of(content: Content, asked: Address) -> tuple[str, ...]:
    """What of the lake a page shows, each part in words: its edition, system, and which rows."""
    known = {"edition": getattr(asked, "edition", "") if asked.IS_OF_SYSTEM else ""}
    known["system"] = content.one_of_several
    return (*(f"{name} {one}" for name, one in known.items() if one), *slice_words(asked))


def offset(text: str) -> int:
    """How many rows come before a page, from the text of an address."""
    if not _OFFSET.fullmatch(text):
        raise UsageError(f"`after` is a number of rows, not {text}: start at the first page")
    return int(text or 0)


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


def head(name: str, edition: Edition, game_types: Sequence[str]) -> Head:
    """What the metric is in games of these types; raises UsageError for an unknown name."""
    high = highest_value(name, edition, game_types)
    texts = {key: " ".join(lines) for key, lines in header(name, edition).items()}
    about = [texts[part] for part in ("row", "value", "source")]
    return Head(name, texts["title"], high, *about)


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
    columns: Mapping[str, Column],
    ask: Callable[..., pl.DataFrame],
    conditions: Sequence[str],
    *,
    title: str,
    first: Mapping[str, Any] = {},
    last: Mapping[str, Any] = {},
) -> Content:
    """A page of a long list: the rows from the address' on; none if anything is wrong.

    `ask` is called with the `conditions` as they are asked, an `offset`, a `limit`, and how the
    rows are sorted, if the page is. `first` and `last` are more arguments: see `answered`.
    """
    faults, shown, next_key = Faults(), pl.DataFrame(schema=schema(columns)), None
    sort = {"sort": sort_of(asked)} if hasattr(asked, "sort") else {}
    fields = {**first, **{name: given(asked, name) for name in conditions}, **sort, **last}
    with faults.of("after"):
        first_row = offset(asked.after)
        rows, wrong = answered(partial(ask, offset=first_row, limit=ROWS + 1), fields)
        faults |= wrong
        if rows is not None and not wrong:
            shown = rows.head(ROWS)
            next_key = str(first_row + ROWS) if rows.height > ROWS else None
    return Content(title=title, rows=shown, after=next_key, faults=faults)


def sort_of(asked: Any) -> dict[str, Any]:
    """How a list is sorted, as a method of a lake takes it."""
    return {"sort": asked.sort or None, "descending": asked.order == "down"}


def answered(ask: Callable[..., Answer], fields: Mapping[str, Any]) -> tuple[Answer | None, Faults]:
    """What is answered without the fields that are wrong, and the faults of these.

    `fields` are the arguments by the field that an error in them is about. Without the first there
    is no answer; what is wrong with it can be put right by the others.
    """
    faults, rows, first = Faults(), None, next(iter(fields))
    right = {**fields[first]}
    try:
        return ask(
            **{name: value for part in fields.values() for name, value in part.items()}
        ), faults
    except UsageError:
        pass
    # Each is tried after those before it, so that an error is that of its field.
    for field, part in fields.items():
        try:
            rows = ask(**{**right, **part})
            right |= part
            faults.pop(first, None)
        except UsageError as error:
            if _said(error) not in faults.values():
                faults[field] = _said(error)
    return rows, faults


def first_rows(parts: Iterable[pl.DataFrame], most: int) -> pl.DataFrame:
    """The rows of the parts up to the one that makes them more than `most`."""
    taken: list[pl.DataFrame] = []
    for part in parts:
        taken.append(part)
        if sum(rows.height for rows in taken) > most:
            break
    return pl.concat(taken)


def models_of(lake: StoredLake) -> tuple[str, ...]:
    """The models that the lake's games test, which are looked for once."""
    return lake.once(_tested)


def _tested(lake: StoredLake) -> tuple[str, ...]:
    models = lake.table("results").filter("is_tested").select("model").collect()["model"]
    return tuple(models.drop_nulls().unique().sort().to_list())


def number(text: str) -> float | None:
    """The number in a field, null for an empty one; raises UsageError for another text."""
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError(f"not a number, such as 0.05: {text}") from None


def without_games(values: pl.DataFrame) -> pl.DataFrame:
    """The rows that stand for no game at all, and say why; a model without a name has games."""
    nameless = values.filter(pl.col("model").is_null())
    return nameless.clear() if nameless["n_games"].sum() else nameless


def listed(text: str) -> tuple[str, ...]:
    """The different names in a text, separated by commas."""
    return tuple(dict.fromkeys(names_in([text])))
