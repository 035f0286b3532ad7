"""Common parts of all pages: their parameters, form fields, contents, links and tables.

All modules of `pipeline.pages` use it; templates call its functions that are decorated with
`pass_context`. It depends on reports and on `pipeline.render`.
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
from pipeline.errors import OtherSystemError, UsageError, known_names_hint
from pipeline.lake import StoredLake
from pipeline.metrics import DEFAULT_CONFIDENCE
from pipeline.metrics.registry import (
    highest_possible_metric_value,
    metric_names,
    metric_sql_header_with_defaults,
)
from pipeline.metrics.request import metric_row_schema
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


class PageParameters(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
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


def create_parameters_class(
    *fields: Field,
    is_of_system: bool = False,
    has_losses: bool = True,
    in_title: tuple[str, ...] = (),
    report: str = "",
) -> type[PageParameters]:
    """Create a class with one attribute for each parameter of a page.

    Args:
        fields: The parameters. A field without a help text takes the text of the report's
            parameter. The field of the edition is followed by the field for failed games.
            `SYSTEM_FIELD` comes first if `is_of_system`.
        is_of_system: Whether the page displays games of one system.
        has_losses: Whether the page depends on whether failed games count as losses.
        in_title: Names of the parameters that the title of the page contains.
        report: Name of the page's report; empty if it has none.

    Returns:
        A subclass of `PageParameters`.

    Raises:
        TypeError: If a field of the page has the name of a view option, which it would hide.
    """
    for field in fields:
        if field.name in _VIEW_FIELDS_BY_NAME and field is not _VIEW_FIELDS_BY_NAME[field.name]:
            raise TypeError(f"`{field.name}` is a view option of all pages: choose another name")
    help_texts = find_report(report).parameter_help if report else {}
    all_fields = [SYSTEM_FIELD] if is_of_system else []
    for field in fields:
        all_fields.append(replace(field, help=field.help or help_texts.get(field.name, "")))
        all_fields += [FAILURES_FIELD] if field is EDITION_FIELD else []
    parameters_class: Any = defstruct(
        "Parameters",
        [(field.name, field.kind, field.default) for field in all_fields],
        bases=(PageParameters,),
        namespace={
            "IS_OF_SYSTEM": is_of_system,
            "HAS_LOSSES": has_losses,
            "IN_TITLE": in_title,
            "FIELDS": tuple(all_fields),
        },
        frozen=True,
        kw_only=True,
    )
    return parameters_class  # type: ignore[no-any-return]


def sort_fields(default_order: Literal["up", "down"] = "up") -> tuple[Field, ...]:
    """Return the parameters `sort` (a column) and `order` of a page whose rows can be sorted."""
    return Field("sort"), Field("order", kind=Literal["up", "down"], default=default_order)


def _game_type_choices(lake: Any, parameters: Any) -> tuple[str, ...]:
    """Return `all`, the game types in the lake, and the requested game type."""
    system = getattr(parameters, "system", "")
    lake_game_types = (lake.for_system(system) if system in lake.systems else lake).game_types
    return ALL_GAME_TYPES, *(
        name for name in games.game_type_names() if name in {*lake_game_types, parameters.game_type}
    )


EDITION_FIELD = Field(
    "edition",
    "Edition",
    Edition,
    PAPER,
    values=lambda *_: EDITIONS,
    help=COMMON_OPTIONS["edition"].help,
)
FAILURES_FIELD = Field(
    "failures",
    "Failed games",
    Literal["", Failures],
    values=lambda *_: (LOSS,),
    nothing="exclude",
)
"""Whether a failed game counts as a loss; for pages whose values depend on the edition."""
SYSTEM_FIELD = Field("system")
"""The system whose games a page displays; by default the largest, or all on lists of games."""
VIEW_FIELDS = (SYSTEM_FIELD, FAILURES_FIELD)
"""The fields of the options of `LakeView`: links keep them, and an empty value is no choice."""
_VIEW_FIELDS_BY_NAME = {field.name: field for field in VIEW_FIELDS}
HIDDEN_EDITION_FIELD = Field("edition", kind=Edition, default=PAPER)
"""The edition that links keep, for a page that has the same content in all editions."""
GAME_TYPE_FIELD = Field("game_type", "Game type", default=ALL_GAME_TYPES, values=_game_type_choices)
METRIC_FIELD = Field(
    "metric",
    "Metric",
    default="win_rate",
    values=lambda _, parameters: metric_names(parameters.edition),
)
WHERE_FIELD = Field(
    "where", "Filter", hint="role = 'civilian'", size=20, help=COMMON_OPTIONS["where"].help
)
BY_FIELD = Field("by", "Group by", hint="role", size=12)
AFTER_FIELD = Field("after")
"""How many rows come before a page of a list."""


def filter_arguments(parameters: PageParameters, *names: str) -> dict[str, Any]:
    """Return the named parameters as keyword arguments; None for a parameter with its default."""
    values, defaults = structs.asdict(parameters), structs.asdict(type(parameters)())
    return {name: None if values[name] == defaults[name] else values[name] for name in names}


_PARAMETERS_NOT_DESCRIBED = (
    *("edition", *_VIEW_FIELDS_BY_NAME, "metric", "game", "beside", "roles", "kind", "table"),
    *("after", "sort", "order", "query", "x", "y"),
    *("difference", "power", "n_pairs"),  # the page of a plan has them in a sentence
)


# --- contents of pages --------------------------------------------------------------------------

Result = TypeVar("Result")
ROWS_PER_PAGE = 50
"""The number of rows on each page of a long list."""
_OFFSET = re.compile("[0-9]{0,12}")


class PageContent(Struct, frozen=True, kw_only=True):
    """Data and texts of a page.

    Attributes:
        title: Title of the page.
        rows: The main table, which CSV contains by default.
        parts: Further tables and values by name; they can be read as attributes.
        choices: Allowed values by form field.
        after: Key at which the next page of a list starts; None on the last page.
        notes: Sentences below the table.
        faults: Error messages by the parameter that caused them.
        system: System whose games are displayed; None for the one in the address, "" for several.
        systems: Number of games of each system in the lake.
        unknown: Notes on games that no metric counts because their package is not installed.
        seen_as: Merged model names and the handling of failed games, if the lake has such options.
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
        """The main table and the data frames among `parts`, by name."""
        parts = {"rows": self.rows, **self.parts}
        return {name: part for name, part in parts.items() if isinstance(part, pl.DataFrame)}

    def frame(self, name: str) -> pl.DataFrame:
        """Return the data frame with this name.

        Raises:
            UsageError: If the page has no data frame with the name.
        """
        if name not in self.frames:
            raise UsageError(
                f"this page has no frame {name}: {known_names_hint([name], self.frames)}"
            )
        return self.frames[name]

    @property
    def system_if_several(self) -> str:
        """Name of the displayed system; empty if the lake has games of only one system."""
        return self.system or "" if len(self.systems) > 1 else ""


class Page(Struct, frozen=True):
    """Definition of a page.

    Attributes:
        parameters: Class of the page's parameters.
        content: Function that returns the page's content for a lake and the parameters.
        thread_pool: Name of the server's thread pool that renders the page.
        read_all_rows: Returns all rows of a table of which the page displays only some; None if
            the page displays all rows.
        frame: Name of the table whose rows `read_all_rows` returns.
    """

    parameters: type[PageParameters]
    content: Callable[[Any, Any], PageContent]
    thread_pool: str = "long"
    read_all_rows: Callable[[Any, Any], Iterable[pl.DataFrame]] | None = None
    frame: str = "rows"


def describe_filters(content: PageContent, parameters: PageParameters) -> tuple[str, ...]:
    """Return texts such as "edition paper" and "game type avalon" for what a page displays.

    Parameters with their default, and parameters that the title names, have no text.
    """
    edition = getattr(parameters, "edition", "") if parameters.IS_OF_SYSTEM else ""
    values = [("edition", edition), ("system", content.system_if_several)]
    values += [
        (display_name(field.name), getattr(parameters, field.name))
        for field in parameters.FIELDS
        if field.name not in (*_PARAMETERS_NOT_DESCRIBED, *parameters.IN_TITLE)
        if getattr(parameters, field.name) != field.default
    ]
    return tuple(
        name if value is True else f"{name} {value}"
        for name, value in values
        if value not in (None, "")
    )


class MetricDescription(Struct, frozen=True):
    """Description of a metric: name, title, highest value, meaning and source."""

    name: str
    title: str
    high: float
    row: str
    value: str
    source: str


def add_missing_group_columns(rows: pl.DataFrame, group_columns: Sequence[str]) -> pl.DataFrame:
    """Return the rows with a column of nulls for each grouping column that they lack."""
    return rows.with_columns(
        pl.lit(None, pl.String).alias(name) for name in group_columns if name not in rows.columns
    )


def describe_metric(name: str, edition: Edition, game_types: Sequence[str]) -> MetricDescription:
    """Return the title, the meaning and the highest value of a metric in games of these types.

    Raises:
        UsageError: If no metric has the name.
    """
    highest = highest_possible_metric_value(name, edition, game_types)
    texts = {
        key: " ".join(lines)
        for key, lines in metric_sql_header_with_defaults(name, edition).items()
    }
    return MetricDescription(
        name, texts["title"], highest, texts["row"], texts["value"], texts["source"]
    )


class FormErrors(dict[str, str]):
    """Error messages of a request, by the form field that displays them."""

    @contextmanager
    def catch_usage_error(self, field: str) -> Iterator[None]:
        """Catch a UsageError of the block, and store its message unless a field has it already."""
        try:
            yield
        except UsageError as error:
            # A page has links where the message of a command names an option.
            message = (
                f"{error.problem}: choose that system, above"
                if isinstance(error, OtherSystemError)
                else str(error)
            )
            if message not in self.values():
                self.setdefault(field, message)


def long_list_content(
    parameters: Any,
    columns: Mapping[str, Column],
    read_rows: Callable[..., pl.DataFrame],
    filter_names: Sequence[str],
    *,
    title: str,
    first_arguments: Mapping[str, Any] = {},
    last_arguments: Mapping[str, Any] = {},
) -> PageContent:
    """Return one page of a long list; the parameter `after` is the number of rows before it.

    `read_rows` is called with the parameters in `filter_names`, with `offset` and `limit`, and for
    a sortable page with `sort` and `descending`. `first_arguments` and `last_arguments` are further
    arguments by form field, see `call_without_invalid_arguments`. If a parameter is invalid, the
    page has an error message and no rows.
    """
    errors, page_rows, next_key = FormErrors(), pl.DataFrame(schema=polars_schema(columns)), None
    sort = {"sort": sort_arguments(parameters)} if hasattr(parameters, "sort") else {}
    filters = {name: filter_arguments(parameters, name) for name in filter_names}
    with errors.catch_usage_error("after"):
        if not _OFFSET.fullmatch(parameters.after):
            raise UsageError(
                f"`after` is a number of rows, not {parameters.after}: start at the first page"
            )
        offset = int(parameters.after or 0)
        rows, read_errors = call_without_invalid_arguments(
            partial(read_rows, offset=offset, limit=ROWS_PER_PAGE + 1),
            {**first_arguments, **filters, **sort, **last_arguments},
        )
        errors |= read_errors
        if rows is not None and not read_errors:
            page_rows = rows.head(ROWS_PER_PAGE)
            next_key = str(offset + ROWS_PER_PAGE) if rows.height > ROWS_PER_PAGE else None
    return PageContent(title=title, rows=page_rows, after=next_key, faults=errors)


def sort_arguments(parameters: Any) -> dict[str, Any]:
    """Return the sort column and direction as keyword arguments for a method of the lake."""
    return {"sort": parameters.sort or None, "descending": parameters.order == "down"}


def call_without_invalid_arguments(
    function: Callable[..., Result], arguments_by_field: Mapping[str, Mapping[str, Any]]
) -> tuple[Result | None, FormErrors]:
    """Call a function; if it raises a UsageError, call it again without the invalid arguments.

    Args:
        function: The function to call.
        arguments_by_field: Keyword arguments of the function, grouped by the form field that
            displays their errors. An error in the first group can depend on the other groups.

    Returns:
        The result, which is None if the first group is invalid, and the error messages by field.
    """
    errors, result, (first_field, *_) = FormErrors(), None, arguments_by_field
    groups = arguments_by_field.values()
    with suppress(UsageError):
        return function(**{name: group[name] for group in groups for name in group}), errors
    valid_arguments = {**arguments_by_field[first_field]}
    # Each group is added to the valid groups before it, so that an error is that of its field.
    for field, arguments in arguments_by_field.items():
        with errors.catch_usage_error(field):
            result = function(**{**valid_arguments, **arguments})
            valid_arguments |= arguments
            errors.pop(first_field, None)
    return result, errors


def concat_first_parts(parts: Iterable[pl.DataFrame], max_rows: int) -> pl.DataFrame:
    """Concatenate the first parts of a table, until they have more than `max_rows` rows."""
    first_parts: list[pl.DataFrame] = []
    for part in parts:
        first_parts.append(part)
        if sum(rows.height for rows in first_parts) > max_rows:
            break
    return pl.concat(first_parts)


def tested_model_names(lake: StoredLake) -> tuple[str, ...]:
    """Return the sorted names of the tested models in the lake; each lake object caches them."""
    return lake.compute_once(_read_tested_model_names)


def _read_tested_model_names(lake: StoredLake) -> tuple[str, ...]:
    models = lake.table("results").filter("is_tested").select("model").collect()["model"]
    return tuple(models.drop_nulls().unique().sort().to_list())


def parse_number_field(text: str) -> float | None:
    """Parse the number in a form field; return None for an empty text.

    Raises:
        UsageError: If the text is not a number.
    """
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError(f"not a number, such as 0.05: {text}") from None


def split_distinct_names(text: str) -> tuple[str, ...]:
    """Split a comma-separated text into names, without repetitions."""
    return tuple(dict.fromkeys(split_names([text])))


# Tables on pages, whose cells have links and drawings of intervals.

RowLink = Callable[[Row], str | None]


@pass_context
def link_to(
    context: Context,
    page: str,
    *columns: str,
    when: str = "",
    unless: str = "",
    **parameters: object,
) -> RowLink:
    """Return a function that links a row to a page, with columns of the row as parameters.

    Returns:
        A function from a row to the address, or to None if any of the `columns` is null, if the
        column `when` is empty, or if the column `unless` is not empty.
    """
    link: Callable[..., str | None] = context["link"]

    def row_link(row: Row) -> str | None:
        row_parameters = {name: row[name] for name in columns}
        has_link = (not when or row[when]) and not (unless and row[unless])
        if None in row_parameters.values() or not has_link:
            return None
        return link(page, **row_parameters, **parameters)

    return row_link


@pass_context
def current_page_link(context: Context, element_id: str = "", **changes: object) -> str | None:
    """Return the address of the current page with changed parameters, at its first row."""
    kept = {
        name: value
        for name, value in msgspec.to_builtins(context["parameters"]).items()
        if name not in ("frame", "after", "seen")
    }
    link: Callable[..., str | None] = context["link"]
    return link(context["name"], **kept | changes, element_id=element_id)


@pass_context
def filtered_page_link(
    context: Context, *columns: str, element_id: str = "", **changes: object
) -> RowLink:
    """Return a function that links a row to the current page, filtered by the row's `columns`."""
    return lambda row: current_page_link(
        context, element_id, **{name: row[name] for name in columns}, **changes
    )


@pass_context
def link_to_model(context: Context, model: str | None, system: str | None = None) -> str | None:
    """Return the address of a model's page in a system; None if the model is None.

    On a page with games of several systems, a model without a system is linked to its games.
    """
    if model is None:
        return None
    link: Callable[..., str | None] = context["link"]
    parameters = context["parameters"]
    if len(getattr(context.get("page"), "systems", ())) <= 1:
        return link("model", model=model)
    if system:
        return link("model", model=model, system=system)
    has_one_system = parameters.IS_OF_SYSTEM or getattr(parameters, "system", "")
    return link("model" if has_one_system else "games", model=model)


@pass_context
def render_table(
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
    links: Mapping[str, RowLink | None] | None = None,
    inner: Mapping[str, Callable[[Row], str]] | None = None,
    game_query: Mapping[str, object] | None = None,
    groups: Sequence[str] = (),
    frame: str | None = None,
    sorts: bool = False,
    percent: bool = False,
) -> Markup:
    """Return a data frame as an HTML table with links and drawings of intervals.

    Columns in `also` are displayed as well, `without` are omitted, and `always` are displayed even
    if they are empty. `groups` are the grouping columns. `ticks` contains the values of all models
    by metric. `inner` contains macros that render the cells of a column, and `game_query` further
    parameters for links to games. `frame` is the name of the table among the page's data frames.
    With `sorts`, headings link to the sorted page. `percent` displays percentages.
    """
    parameters = context["parameters"]
    value_column = getattr(parameters, "columns", None)
    table = Table("", rows)
    if name:
        table = build_result_table(name, rows, percent=percent, columns=value_column)
    table = table.with_optional_columns(*also) if "is_interactive" in context else table
    table = dataclasses_replace(
        table,
        hidden=[*table.hidden, *without],
        optional=[name for name in table.optional if name not in always],
        headings={**table.headings, **(headings or {})},
    )
    metric_of_all_rows = parameters.metric if value_column else ""
    is_sortable = sorts and context["is_interactive"]
    decorations = CellDecorations(
        links=_cell_links_by_column(table, context, groups, game_query or {}) | dict(links or {}),
        inner=inner or {},
        sorting=_create_sort_link_function(table, context) if is_sortable else None,
        drawing=_create_interval_drawing_function(table, context, ticks or {}, metric_of_all_rows),
        attributes=_row_attributes,
    )
    frames = getattr(context.get("page"), "frames", {})
    frame = frame or next((name for name, part in frames.items() if part is rows), None)
    # All texts in it are escaped.
    return Markup(
        html.format_table(table, decorations, caption=caption, id=id, kind=kind, frame=frame)
    )


def _cell_links_by_column(
    table: Table, context: Context, groups: Sequence[str], game_query: Mapping[str, object]
) -> dict[str, RowLink]:
    """Return functions that link a row's model, metric, setting, game and values to pages."""
    parameters = context["parameters"]
    link: Callable[..., str | None] = context["link"]
    where = getattr(parameters, "where", "")
    game_type = getattr(parameters, "game_type", ALL_GAME_TYPES)
    # A leaderboard can have one column for each value of this column.
    value_column = getattr(parameters, "columns", "") if table.name == "leaderboard" else ""

    def game_link(row: Row) -> str | None:
        """Return the link to the game, at the message or the round of the row."""
        elements = {"m": row.get("message_index"), "r": row.get("round")}
        ids = (f"{prefix}{index}" for prefix, index in elements.items() if index is not None)
        game = row.get("game_id")
        if game is None:
            return None
        return link("game", game=game, element_id=next(ids, ""), **game_query)

    def evidence_link_of_column(name: str) -> RowLink:
        def evidence_link(row: Row) -> str | None:
            values = {"metric": name, "game_type": game_type, **row}
            if value_column:  # The heading is a value of this column.
                values["metric"] = parameters.metric
                values[value_column] = _parse_displayed_value(parameters.metric, value_column, name)
            group_columns = [*groups, value_column] if value_column else groups
            return link(
                "evidence",
                metric=values["metric"],
                model=values.get("model"),
                game_type=values["game_type"],
                where=combine_filter_with_group_values(where, group_columns, values),
            )

        return evidence_link

    links: dict[str, RowLink] = {
        "model": lambda row: link_to_model(context, row["model"]),
        "metric": link_to(context, "metric", "metric"),
        "setting_id": link_to(context, "games", "setting_id"),
        "game_id": game_link,
        "message_index": game_link,
    }
    if table.name == "leaderboard":
        links["n_missing"] = link_to(context, "missing", "model", when="n_missing")
    return {name: row_link for name, row_link in links.items() if name in table.rows.columns} | {
        estimate.value: evidence_link_of_column(estimate.value)
        for estimate in table.estimates
        if estimate.has_evidence and estimate.value
    }


def _create_sort_link_function(table: Table, context: Context) -> Callable[[str], SortLink]:
    """Return a function from a column to the link that sorts by it, numbers descending first."""
    parameters = context["parameters"]
    number_columns = {
        field.name for field in table.visible_fields if field.is_number or field.estimate
    } - {"rank"}

    def sort_link(name: str) -> SortLink:
        if table.rows.schema.get(name, pl.List).is_nested():
            return SortLink(None)
        if parameters.sort != name:
            order = "down" if name in number_columns else "up"
            return SortLink(current_page_link(context, sort=name, order=order), "")
        is_descending = parameters.order == "down"
        return SortLink(
            current_page_link(context, sort=name, order="up" if is_descending else "down"),
            "descending" if is_descending else "ascending",
        )

    return sort_link


def _create_interval_drawing_function(
    table: Table,
    context: Context,
    ticks: Mapping[str, Sequence[float]],
    metric_of_all_rows: str,
) -> Callable[[str, Row], str]:
    """Return a function from a column and a row to the drawing of the value's interval.

    The drawing shows the range of the row's metric; it is an empty text for other columns.
    """
    edition: Edition = getattr(context["parameters"], "edition", PAPER)
    metrics = metric_names(edition)
    game_types = (context.get("page") or context["report"]).game_types
    estimates = {estimate.value: estimate for estimate in table.estimates if estimate.low}

    def draw_interval(name: str, row: Row) -> str:
        metric = str({"metric": metric_of_all_rows or name, **row}["metric"])
        estimate = estimates.get(name)
        if estimate is None or metric not in metrics:
            return ""
        highest = highest_possible_metric_value(
            metric, edition, game_types, row.get("game_type") or ALL_GAME_TYPES
        )
        interval = row.get(estimate.low or ""), row.get(estimate.high or "")
        if name == "difference":
            return str(interval_svg(row[name], *interval, (-highest, highest), ticks=[0.0]))
        return str(interval_svg(row[name], *interval, (0.0, highest), ticks=ticks.get(metric, ())))

    return draw_interval


def _row_attributes(row: Row) -> dict[str, str | None]:
    p_holm = row.get("p_holm")
    classes = {
        "incomplete": row.get("is_complete") is False and "metric" not in row,
        "differs": p_holm is not None and is_significant(p_holm, DEFAULT_CONFIDENCE),
    }
    n_missing, n_expected = row.get("n_missing"), row.get("n_expected", row.get("expected"))
    hint = "" if "competition" in row else ", by competition"
    return {
        "class": " ".join(name for name, is_applied in classes.items() if is_applied) or None,
        "title": f"{n_missing:,} of {n_expected:,} games missing{hint}"
        if classes["incomplete"] and n_missing and n_expected
        else None,
        "data-metric": row.get("metric"),
    }


def combine_filter_with_group_values(where: str, group_columns: Sequence[str], row: Row) -> str:
    """Return an SQL condition: the filter of the page AND the row's value of each group column.

    The columns `model` and `game_type` are omitted, because pages have parameters for them.
    """
    conditions = [
        f"{quote_identifier(name)} {_sql_equality(row[name])}"
        for name in group_columns
        if name not in ("model", "game_type")
    ]
    if not where or not conditions:
        return where or " AND ".join(conditions)
    return " AND ".join([f"({where})", *conditions])


def _parse_displayed_value(metric: str, column: str, text: str) -> object:
    """Convert the text of a table cell back to a value of the column in the metric's rows."""
    dtype = metric_row_schema(metric).get(column, pl.String())
    if text == NULL_TEXT:
        return None
    if text == EMPTY_TEXT:
        return ""
    return msgspec.json.decode(text) if dtype.is_numeric() or dtype == pl.Boolean else text


def _sql_equality(value: object) -> str:
    if value is None:
        return "IS NULL"
    if isinstance(value, bool):
        return f"= {str(value).lower()}"
    return f"= {value if isinstance(value, int | float) else quote_literal(str(value))}"


# --- the small drawing of an interval in a cell, as SVG without any style of its own ------------

_WIDTH, _HEIGHT, _EDGE = 88, 12, 3
_MIDDLE = _HEIGHT / 2


def interval_svg(
    value: float | None,
    low: float | None,
    high: float | None,
    bounds: tuple[float, float],
    *,
    ticks: Sequence[float] = (),
) -> Markup:
    """Return SVG that draws a value, its confidence interval and ticks between the bounds."""
    if value is None or bounds[0] >= bounds[1]:
        return Markup("")
    marks = [_svg_line("axis", _EDGE, _WIDTH - _EDGE, _MIDDLE, _MIDDLE)]
    for tick in ticks:
        x = _horizontal_position(tick, bounds)
        marks.append(_svg_line("tick", x, x, 1, _HEIGHT - 1))
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
    low, high = bounds
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    return _EDGE + share * (_WIDTH - 2 * _EDGE)


def _svg_line(css_class: str, left: float, right: float, top: float, bottom: float) -> str:
    return f'<line class="{css_class}" x1="{left:.1f}" x2="{right:.1f}" y1="{top}" y2="{bottom}"/>'
