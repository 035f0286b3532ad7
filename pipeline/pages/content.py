"""Common parts of all pages: their parameters, form fields, contents, links and tables.

All modules of `pipeline.pages` use it; templates call its functions `here`, `narrowed_to`,
`table`, `to` and `to_model`. It depends on reports and on `pipeline.render`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace as dataclasses_replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import msgspec
import polars as pl
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from msgspec import Meta, Struct, defstruct, structs
from msgspec.structs import replace

from pipeline import games
from pipeline.column import Column, display_name, polars_schema
from pipeline.errors import OtherSystemError, UsageError, suggest_names
from pipeline.lake import StoredLake
from pipeline.metrics import DEFAULT_CONFIDENCE
from pipeline.metrics.registry import highest_value, metric_names, sql_header
from pipeline.metrics.request import common_row_schema
from pipeline.parameters import COMMON_OPTIONS, split_names
from pipeline.render import build_result_table, html
from pipeline.render.html import CellDecorations, Row, SortLink
from pipeline.render.table import Table
from pipeline.reports.registry import find_report
from pipeline.sql_files import quote_identifier, quote_literal
from pipeline.statistics.comparison import is_significant
from pipeline.text_format import EMPTY_TEXT, NULL_TEXT
from pipeline.vocabulary import ALL_GAME_TYPES, EDITIONS, LOSS, PAPER, Edition, Failures


class Field(Struct, frozen=True):
    """Parameter of a page; with a label, it is also a field of the page's form.

    Attributes:
        name: Name of the parameter in the address.
        label: Label of the form field; empty if the form has no such field.
        kind: Python type of the value.
        default: Value if the address does not contain the parameter.
        values: Returns the allowed values from the lake and the address; None for free text.
        nothing: Label of the choice without a value; None if a value is required.
        are_names: Whether the values are names from logs, which are displayed unchanged.
        hint: Placeholder of an empty text field.
        size: Width of the text field in characters.
        help: Tooltip of the field.
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
        """Whether the field is a checkbox."""
        return self.kind is bool


class Address(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base class for the typed parameters of a page.

    Attributes:
        IS_OF_SYSTEM: Whether the page displays games of one system, by default the largest.
        HAS_LOSSES: Whether the page depends on whether failed games count as losses.
        IN_TITLE: Names of the parameters that the title of the page contains.
        FIELDS: All parameters of this page.
        frame: Name of the table that the CSV file contains; empty for the table `rows`.
        seen: Number of rows on the previous pages of a long list.
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
    """Create the class for the parameters of a page.

    Args:
        fields: The parameters. A field without help text takes that of the report's parameter.
        is_of_system: Whether the page displays games of one system.
        has_losses: Whether the page depends on whether failed games count as losses.
        in_title: Names of the parameters that the title of the page contains.
        report: Name of the page's report; empty if it has none.

    Returns:
        A subclass of `Address` with one attribute per parameter.
    """
    listed = [
        more for field in fields for more in ((field, FAILURES) if field is EDITION else (field,))
    ]
    known = find_report(report).parameter_help if report else {}
    listed = [replace(field, help=field.help or known.get(field.name, "")) for field in listed]
    own = (*([Field("system")] if is_of_system else []), *listed)
    declared: Any = defstruct(
        "Parameters",
        [(field.name, field.kind, field.default) for field in own],
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
    """Return the parameters `sort` and `order` of a sortable list."""
    return Field("sort"), Field("order", kind=Literal["up", "down"], default=order)


def _game_type_choices(lake: Any, asked: Any) -> tuple[str, ...]:
    """Return the game types to choose from: those of the lake, and the requested one."""
    system = getattr(asked, "system", "")
    offered = (lake.for_system(system) if system in lake.systems else lake).game_types
    return ALL_GAME_TYPES, *(
        name for name in games.game_type_names() if name in {*offered, asked.game_type}
    )


EDITION = Field(
    "edition",
    "Edition",
    Edition,
    PAPER,
    values=lambda *_: EDITIONS,
    help=COMMON_OPTIONS["edition"].help,
)
FAILURES = Field(
    "failures",
    "Failed games",
    Literal["", Failures],
    values=lambda *_: (LOSS,),
    nothing="exclude",
)
"""Of pages that count in an edition: what a game is to the model that failed it."""
SAME_EDITION = Field("edition", kind=Edition, default=PAPER)
"""That of the links, on a page which is the same in all editions."""
GAME_TYPE = Field("game_type", "Game type", default=ALL_GAME_TYPES, values=_game_type_choices)
METRIC = Field(
    "metric", "Metric", default="win_rate", values=lambda _, asked: metric_names(asked.edition)
)
WHERE = Field(
    "where", "Filter", hint="role = 'civilian'", size=20, help=COMMON_OPTIONS["where"].help
)
BY = Field("by", "Group by", hint="role", size=12)
AFTER = Field("after")
"""How many rows come before a page of a list."""


def given(asked: Address, *names: str) -> dict[str, Any]:
    """Return parameters as arguments for a method of the lake, without a filter for defaults."""
    values, defaults = structs.asdict(asked), structs.asdict(type(asked)())
    return {name: None if values[name] == defaults[name] else values[name] for name in names}


_NO_SLICE = (
    *("edition", "system", "failures", "metric", "game", "beside", "roles", "kind", "table"),
    *("after", "sort", "order", "query", "x", "y"),
    *("difference", "power", "n_pairs"),  # the sentence of a plan says them
)


# --- what an address can say ----------------------------------------------------------------------

Answer = TypeVar("Answer")
ROWS_PER_PAGE = 50
"""A page of a long list has so many rows."""
_OFFSET = re.compile("[0-9]{0,12}")


class Content(Struct, frozen=True, kw_only=True):
    """Data and texts of a page.

    Attributes:
        title: Title of the page.
        rows: The main table, which CSV contains by default.
        parts: Further tables and values by name; they can be read as attributes.
        choices: Allowed values by form field.
        after: Key at which the next page of a list starts; None on the last page.
        notes: Sentences below the table.
        faults: Error messages by the parameter that caused them.
        system: System whose games are displayed; None for that of the address, "" for several.
        systems: Number of games of each system in the lake.
        unknown: Notes on games that no metric counts because a package is not installed.
        seen_as: Merged model names and failure handling of the lake, if they differ from defaults.
        game_types: Types of the displayed games.
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
        """Return an entry of `parts` as an attribute."""
        if name in self.parts:
            return self.parts[name]
        raise AttributeError(name)

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """All data frames of the page by name."""
        named = {"rows": self.rows, **self.parts}
        return {name: part for name, part in named.items() if isinstance(part, pl.DataFrame)}

    def frame(self, name: str) -> pl.DataFrame:
        """Return the data frame with this name.

        Raises:
            UsageError: If the page has no data frame of this name.
        """
        if name not in self.frames:
            raise UsageError(f"this page has no frame {name}: {suggest_names([name], self.frames)}")
        return self.frames[name]

    @property
    def one_of_several(self) -> str:
        """Name of the displayed system if the lake has several systems, otherwise empty."""
        return self.system or "" if len(self.systems) > 1 else ""


class Page(Struct, frozen=True):
    """Definition of a page.

    Attributes:
        parameters: Class of the page's parameters.
        content: Function that returns the page's content for a lake and the parameters.
        lane: Name of the server's thread pool that renders the page.
        whole: Function that yields all rows of a page that displays only some; None otherwise.
        frame: Name of the table whose rows `whole` yields.
    """

    parameters: type[Address]
    content: Callable[[Any, Any], Content]
    lane: str = "long"
    whole: Callable[[Any, Any], Iterable[pl.DataFrame]] | None = None
    frame: str = "rows"


def describe_slice(content: Content, asked: Address) -> tuple[str, ...]:
    """Return descriptions of the edition, system and filters that the title does not name."""
    known = {"edition": getattr(asked, "edition", "") if asked.IS_OF_SYSTEM else ""}
    known["system"] = content.one_of_several
    values = (
        (display_name(field.name), getattr(asked, field.name))
        for field in asked.FIELDS
        if field.name not in (*_NO_SLICE, *asked.IN_TITLE)
        if getattr(asked, field.name) not in (field.default, None, "")
    )
    parts = (name if value is True else f"{name} {value}" for name, value in values)
    return (*(f"{name} {value}" for name, value in known.items() if value), *parts)


class Head(Struct, frozen=True):
    """Description of a metric: name, title, highest value, meaning and source."""

    name: str
    title: str
    high: float
    row: str
    value: str
    source: str


def grouped(rows: pl.DataFrame, groups: Sequence[str]) -> pl.DataFrame:
    """Return the rows with all grouping columns; add those that are absent as nulls."""
    missing = [
        pl.lit(None, pl.String).alias(group) for group in groups if group not in rows.columns
    ]
    return rows.with_columns(missing)


def head(name: str, edition: Edition, game_types: Sequence[str]) -> Head:
    """Return the description of a metric for games of these types.

    Raises:
        UsageError: If no metric has the name.
    """
    high = highest_value(name, edition, game_types)
    texts = {key: " ".join(lines) for key, lines in sql_header(name, edition).items()}
    about = [texts[part] for part in ("row", "value", "source")]
    return Head(name, texts["title"], high, *about)


def _page_error_message(error: UsageError) -> str:
    """Return the message of an error for a page, which has links in place of command options."""
    if isinstance(error, OtherSystemError):
        return f"{error.problem}: choose that system, above"
    return str(error)


class Faults(dict[str, str]):
    """Error messages of a request by form field."""

    @contextmanager
    def record(self, field: str) -> Iterator[None]:
        """Catch a UsageError in the block and store its message under the field."""
        try:
            yield
        except UsageError as error:
            said = _page_error_message(error)
            if said not in self.values():  # what is wrong is said once
                self.setdefault(field, said)


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
    """Return one page of a long list, from the row that the address selects.

    The page is empty if any parameter is wrong. `ask` is called with the `conditions` from the
    address, `offset`, `limit` and, if the page can be sorted, the sort column and direction.
    `first` and `last` are further arguments, see `answered`.
    """
    faults, shown, next_key = Faults(), pl.DataFrame(schema=polars_schema(columns)), None
    sort = {"sort": sort_of(asked)} if hasattr(asked, "sort") else {}
    fields = {**first, **{name: given(asked, name) for name in conditions}, **sort, **last}
    with faults.record("after"):
        if not _OFFSET.fullmatch(asked.after):
            raise UsageError(
                f"`after` is a number of rows, not {asked.after}: start at the first page"
            )
        first_row = int(asked.after or 0)
        rows, wrong = answered(partial(ask, offset=first_row, limit=ROWS_PER_PAGE + 1), fields)
        faults |= wrong
        if rows is not None and not wrong:
            shown = rows.head(ROWS_PER_PAGE)
            next_key = str(first_row + ROWS_PER_PAGE) if rows.height > ROWS_PER_PAGE else None
    return Content(title=title, rows=shown, after=next_key, faults=faults)


def sort_of(asked: Any) -> dict[str, Any]:
    """Return how a list is sorted, as arguments for a method of the lake."""
    return {"sort": asked.sort or None, "descending": asked.order == "down"}


def answered(ask: Callable[..., Answer], fields: Mapping[str, Any]) -> tuple[Answer | None, Faults]:
    """Call a function without its invalid arguments, and return the result with the error messages.

    Args:
        ask: The function to call.
        fields: Arguments of the function, grouped by the form field that displays their errors. An
            error in the first group can depend on the other groups.

    Returns:
        The result, which is None if the first group is invalid, and the error messages by field.
    """
    faults, rows, (first, *_) = Faults(), None, fields
    with suppress(UsageError):
        return ask(
            **{name: value for part in fields.values() for name, value in part.items()}
        ), faults
    right = {**fields[first]}
    # Each is tried after those before it, so that an error is that of its field.
    for field, part in fields.items():
        with faults.record(field):
            rows = ask(**{**right, **part})
            right |= part
            faults.pop(first, None)
    return rows, faults


def first_rows(parts: Iterable[pl.DataFrame], most: int) -> pl.DataFrame:
    """Concatenate parts of a table up to the first part with which they exceed `most` rows."""
    taken: list[pl.DataFrame] = []
    for part in parts:
        taken.append(part)
        if sum(rows.height for rows in taken) > most:
            break
    return pl.concat(taken)


def models_of(lake: StoredLake) -> tuple[str, ...]:
    """Return the names of the tested models in the lake; they are cached for each lake."""
    return lake.compute_once(_tested)


def _tested(lake: StoredLake) -> tuple[str, ...]:
    models = lake.table("results").filter("is_tested").select("model").collect()["model"]
    return tuple(models.drop_nulls().unique().sort().to_list())


def number(text: str) -> float | None:
    """Parse the number in a form field; return None if the field is empty.

    Raises:
        UsageError: If the text is not a number.
    """
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError(f"not a number, such as 0.05: {text}") from None


def listed(text: str) -> tuple[str, ...]:
    """Split a comma-separated text into distinct names."""
    return tuple(dict.fromkeys(split_names([text])))


# Tables on pages: each with links to what is behind its cells, and drawings of its intervals.

LinkedAddress = Callable[[Row], str | None]


@pass_context
def to(
    context: Context,
    page: str,
    *columns: str,
    when: str = "",
    unless: str = "",
    **parameters: object,
) -> LinkedAddress:
    """Return the address of a page whose parameters are columns of the current row.

    Returns:
        The address; None if any of the `columns` is null, if the column `when` is empty, or if the
        column `unless` is not empty.
    """
    link: Callable[..., str | None] = context["link"]

    def address(row: Row) -> str | None:
        own = {name: row[name] for name in columns}
        is_led = None not in own.values() and (not when or row[when])
        is_led = is_led and not (unless and row[unless])
        return link(page, **own, **parameters) if is_led else None

    return address


@pass_context
def here(context: Context, at: str = "", **changes: object) -> str | None:
    """Return the address of the current page with changed parameters, starting at its first row."""
    given = msgspec.to_builtins(context["asked"])
    own = {name: value for name, value in given.items() if name not in ("frame", "after", "seen")}
    address: str | None = context["link"](context["name"], **own | changes, at=at)
    return address


@pass_context
def narrowed_to(context: Context, *columns: str, at: str = "", **changes: object) -> LinkedAddress:
    """Return the address of the current page, filtered by the values of the row in `columns`."""
    return lambda row: here(context, at, **{name: row[name] for name in columns}, **changes)


@pass_context
def to_model(context: Context, model: str | None, system: str | None = None) -> str | None:
    """Return the address of a model's page in the given system; None without a model.

    If rows of several systems do not name their system, the system of the model's games is used.
    """
    if model is None:
        return None
    link: Callable[..., str | None] = context["link"]
    asked = context["asked"]
    if len(getattr(context.get("page"), "systems", ())) <= 1:
        return link("model", model=model)
    if system:
        return link("model", model=model, system=system)
    is_of_one = asked.IS_OF_SYSTEM or getattr(asked, "system", "")
    return link("model" if is_of_one else "games", model=model)


@pass_context
def table(
    context: Context,
    name: str,
    rows: pl.DataFrame,
    caption: str = "",
    *,
    id: str = "",
    kind: str = "",
    headings: Mapping[str, str] | None = None,
    also: Sequence[str] = (),
    without: Sequence[str] = (),
    always: Sequence[str] = (),
    ticks: Mapping[str, Sequence[float]] | None = None,
    links: Mapping[str, LinkedAddress | None] | None = None,
    inner: Mapping[str, Callable[[Row], str]] | None = None,
    game_query: Mapping[str, object] | None = None,
    groups: Sequence[str] = (),
    frame: str | None = None,
    sorts: bool = False,
    percent: bool = False,
) -> Markup:
    """Return a data frame as an HTML table.

    Columns in `also` are displayed as well, `without` are omitted, and `always` are displayed even
    if they are empty. `groups` are the grouping columns. `ticks` contains the values of other
    models by metric. `inner` contains macros that render the cells of a column, and `game_query`
    further parameters for links to games. `frame` is the name of the table among the page's
    data frames. With `sorts`, headings link to the sorted page. `percent` displays percentages.
    """
    asked = context["asked"]
    columns = getattr(asked, "columns", None)
    shown = (
        build_result_table(name, rows, percent=percent, columns=columns)
        if name
        else Table("", rows)
    )
    shown = shown.with_optional_columns(*also) if "is_interactive" in context else shown
    shown = dataclasses_replace(
        shown,
        hidden=[*shown.hidden, *without],
        optional=[name for name in shown.optional if name not in always],
        headings={**shown.headings, **(headings or {})},
    )
    around = CellDecorations(
        links=_cell_links(shown, context, groups, game_query or {}) | dict(links or {}),
        inner=inner or {},
        sorting=_heading_sort_link(shown, context) if sorts and context["is_interactive"] else None,
        drawing=_interval_drawing(shown, context, ticks or {}, asked.metric if columns else ""),
        attributes=_row_attributes,
    )
    frames = getattr(context.get("page"), "frames", {})
    frame = frame or next((name for name, part in frames.items() if part is rows), None)
    # All texts in it are escaped.
    return Markup(html.format_table(shown, around, caption=caption, id=id, kind=kind, frame=frame))


def _cell_links(
    shown: Table, context: Context, groups: Sequence[str], game_query: Mapping[str, object]
) -> dict[str, LinkedAddress]:
    """Return a function that links names to their pages, and values to their evidence."""
    asked = context["asked"]
    link: Callable[..., str | None] = context["link"]
    where, game_type = getattr(asked, "where", ""), getattr(asked, "game_type", ALL_GAME_TYPES)
    columns = getattr(asked, "columns", "") if shown.name == "leaderboard" else ""

    def to_game(row: Row) -> str | None:
        """The game, at the message or else the round that the row is about."""
        places = {"m": row.get("message_index"), "r": row.get("round")}
        at = next((f"{sign}{place}" for sign, place in places.items() if place is not None), "")
        game = row.get("game_id")
        return None if game is None else link("game", game=game, at=at, **game_query)

    def to_evidence(name: str) -> LinkedAddress:
        def address(row: Row) -> str | None:
            whole = {"metric": name, "game_type": game_type, **row}
            own = groups
            if columns:  # named by its value
                own = [*groups, columns]
                whole |= {
                    "metric": asked.metric,
                    columns: _parse_displayed_value(asked.metric, columns, name),
                }
            return link(
                "evidence",
                metric=whole["metric"],
                model=whole.get("model"),
                game_type=whole["game_type"],
                where=narrowed(where, own, whole),
            )

        return address

    own = {
        "model": lambda row: to_model(context, row["model"]),
        "metric": to(context, "metric", "metric"),
        "setting_id": to(context, "games", "setting_id"),
        "game_id": to_game,
        "message_index": to_game,
    }
    if shown.name == "leaderboard":
        own["n_missing"] = to(context, "missing", "model", when="n_missing")
    there = {name: address for name, address in own.items() if name in shown.rows.columns}
    values = [
        estimate.value for estimate in shown.estimates if estimate.has_evidence and estimate.value
    ]
    return there | {name: to_evidence(name) for name in values}


def _heading_sort_link(shown: Table, context: Context) -> Callable[[str], SortLink]:
    """Return a function that gives the sort link of a heading; numbers first sort descending."""
    asked = context["asked"]
    numbers = {
        field.name for field in shown.visible_fields if field.is_number or field.estimate
    } - {"rank"}

    def sorting(name: str) -> SortLink:
        if shown.rows.schema.get(name, pl.List).is_nested():
            return SortLink(None)
        is_on = asked.sort == name
        first = "down" if name in numbers else "up"
        order = ("up" if asked.order == "down" else "down") if is_on else first
        direction = "descending" if asked.order == "down" else "ascending"
        return SortLink(here(context, sort=name, order=order), direction if is_on else "")

    return sorting


def _interval_drawing(
    shown: Table, context: Context, ticks: Mapping[str, Sequence[float]], of: str
) -> Callable[[str, Row], str]:
    """Return a function that draws an interval on the range of the row's metric.

    If `of` is not empty, it is the metric of all rows.
    """
    edition: Edition = getattr(context["asked"], "edition", PAPER)
    there = metric_names(edition)
    source = context.get("page") or context["report"]
    game_types = source.game_types
    by_value = {estimate.value: estimate for estimate in shown.estimates if estimate.low}

    def drawing(name: str, row: Row) -> str:
        metric_name = str({"metric": of or name, **row}["metric"])
        estimate = by_value.get(name)
        if estimate is None or metric_name not in there:
            return ""
        highest = highest_value(
            metric_name, edition, game_types, row.get("game_type") or ALL_GAME_TYPES
        )
        ends = row.get(estimate.low or ""), row.get(estimate.high or "")
        if name == "difference":
            return str(bar(row[name], *ends, (-highest, highest), field=[0.0]))
        field = ticks.get(metric_name, ())
        return str(bar(row[name], *ends, (0.0, highest), field=field))

    return drawing


def _row_attributes(row: Row) -> dict[str, str | None]:
    p_holm = row.get("p_holm")
    kinds = {
        "incomplete": row.get("is_complete") is False and "metric" not in row,
        "differs": p_holm is not None and is_significant(p_holm, DEFAULT_CONFIDENCE),
    }
    n_missing, n_expected = row.get("n_missing"), row.get("n_expected", row.get("expected"))
    by = "" if "competition" in row else ", by competition"
    return {
        "class": " ".join(kind for kind, is_so in kinds.items() if is_so) or None,
        "title": f"{n_missing:,} of {n_expected:,} games missing{by}"
        if kinds["incomplete"] and n_missing and n_expected
        else None,
        "data-metric": row.get("metric"),
    }


def narrowed(where: str, groups: Sequence[str], row: Row) -> str:
    """Return the filter condition of a group: the page's filter and the group's values."""
    own = [name for name in groups if name not in ("model", "game_type")]
    asked = [f"({where})"] if where else []
    parts = [*asked, *(f"{quote_identifier(name)} {_equal_to(row[name])}" for name in own)]
    return " AND ".join(parts) if own else where


def _parse_displayed_value(metric: str, column: str, text: str) -> object:
    """Parse the displayed value of a column of the metric's rows."""
    dtype = common_row_schema(metric).get(column, pl.String())
    if text == NULL_TEXT:
        return None
    if text == EMPTY_TEXT:
        return ""
    return msgspec.json.decode(text) if dtype.is_numeric() or dtype == pl.Boolean else text


def _equal_to(value: object) -> str:
    if value is None:
        return "IS NULL"
    if isinstance(value, bool):
        return f"= {str(value).lower()}"
    return f"= {value if isinstance(value, int | float) else quote_literal(str(value))}"


# --- the small drawing of an interval in a cell, as SVG without any style of its own ------------

_WIDTH, _HEIGHT, _EDGE = 88, 12, 3
_MIDDLE = _HEIGHT / 2


def bar(
    value: float | None,
    low: float | None,
    high: float | None,
    bounds: tuple[float, float],
    *,
    field: Sequence[float] = (),
) -> Markup:
    """Return SVG with the confidence interval and the value on the range of the metric."""
    if value is None or bounds[0] >= bounds[1]:
        return Markup("")
    marks = [_svg_line("axis", _EDGE, _WIDTH - _EDGE, _MIDDLE, _MIDDLE)]
    places = [_horizontal_position(other, bounds) for other in field]
    marks += [_svg_line("tick", x, x, 1, _HEIGHT - 1) for x in places]
    if low is not None and high is not None:
        start, end = _horizontal_position(low, bounds), _horizontal_position(high, bounds)
        marks.append(
            f'<rect class="interval" x="{start:.1f}" y="{_MIDDLE - 2}" '
            f'width="{max(end - start, 1):.1f}" height="4" rx="2"/>'
        )
    marks.append(
        f'<circle class="dot" cx="{_horizontal_position(value, bounds):.1f}" cy="{_MIDDLE}" r="3"/>'
    )
    # All of it is made of numbers.
    return Markup(
        f'<svg class="bar" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'aria-hidden="true" focusable="false">{"".join(marks)}</svg>'
    )


def _horizontal_position(value: float, bounds: tuple[float, float]) -> float:
    """Return the horizontal position of a value; values beyond the range are moved to its end."""
    low, high = bounds
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    return _EDGE + share * (_WIDTH - 2 * _EDGE)


def _svg_line(kind: str, left: float, right: float, top: float, bottom: float) -> str:
    return f'<line class="{kind}" x1="{left:.1f}" x2="{right:.1f}" y1="{top}" y2="{bottom}"/>'
