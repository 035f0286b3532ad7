"""Render page contents as HTML fragments, JSON, CSV and images.

`pages.PAGES` lists all pages: those of reports and those with their own content functions. The
server and the notebook display put a fragment into a frame and pass `link` for its links.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints
from urllib.parse import urlencode

import msgspec
import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from msgspec.structs import replace

from pipeline import column, plots, text_format
from pipeline.column import display_name as column_words, polars_schema
from pipeline.errors import UsageError, known_names_hint
from pipeline.lake_methods import LakeWithMethods
from pipeline.metrics.completeness import unknown_or_changed_game_notes
from pipeline.metrics.registry import metric_title
from pipeline.metrics.request import LOSSES_REFUSED, check_models_are_tested
from pipeline.pages import list_pages, value_pages
from pipeline.pages.content import (
    EDITION_FIELD,
    GAME_TYPE_FIELD,
    METRIC_FIELD,
    SYSTEM_FIELD,
    VIEW_FIELDS,
    WHERE_FIELD,
    Field,
    FormErrors,
    Page,
    PageContent,
    PageParameters,
    call_without_invalid_arguments,
    create_parameters_class,
    current_page_link,
    describe_filters,
    filtered_page_link,
    interval_svg,
    link_to,
    link_to_model,
    parse_number_field,
    render_table,
    tested_model_names,
)
from pipeline.parameters import REPEATABLE_HELP, Parameter
from pipeline.registry import REPORTS
from pipeline.render import build_result_table, html
from pipeline.render.html import MAX_CELL_CHARACTERS
from pipeline.reports.registry import Report, find_report
from pipeline.reports.transcript_items import VISIBLE_TO_ALL, describe_hit, hit_sign, hit_style
from pipeline.serialization import escape_terminal_json, iter_json_records, iter_spreadsheet_csv
from pipeline.text_format import escape_unprintable
from pipeline.vocabulary import ALL_GAME_TYPES, EDITIONS, EXCLUDE, LOSS, RELEASE

# Pages of reports, whose forms have a field for each parameter of the report.

_SHARED_FIELDS = {field.name: field for field in (EDITION_FIELD, GAME_TYPE_FIELD, WHERE_FIELD)}
_SERVER_OPTIONS = ("engine", "master")
"""Parameters of reports that pages do not have."""


def create_report_page(report: Report) -> Page:
    """Create the page of a report, with a form field for each parameter of the report."""
    fields = [field for parameter in report.parameters for field in _iter_form_fields(parameter)]
    parameters_class = create_parameters_class(
        *fields,
        is_of_system=report.is_of_system,
        has_losses=report.has_losses,
        in_title=tuple(field.name for field in fields if field.are_names),
        report=report.name,
    )
    return Page(parameters_class, partial(_compute_report_content, report))


def _iter_form_fields(parameter: Parameter) -> Iterator[Field]:
    """Yield the form fields of a report's parameter: two for an argument that takes two models."""
    name, value_type, is_repeatable, default, spec = parameter
    if name in _SERVER_OPTIONS:
        return
    label = column_words(name.removeprefix("n_"))
    if name == "metric":
        yield replace(
            METRIC_FIELD,
            default="" if is_repeatable else default or "",
            nothing="all" if is_repeatable else None,
        )
    elif name in _SHARED_FIELDS:
        yield _SHARED_FIELDS[name]
    elif spec.suggested == "models":
        # The argument `[MODEL OTHER]` has a field `model` and a field `other`.
        field_names = spec.metavar.strip("[]").lower().split() if spec.is_argument else [name]
        for field_name in field_names:
            yield Field(
                field_name,
                column_words(field_name).capitalize(),
                values=lambda lake, _: tested_model_names(lake),
                nothing="any",
                are_names=True,
                help=spec.help.removesuffix(REPEATABLE_HELP),
            )
    elif value_type is bool:
        yield Field(name, label, bool, default)
    elif get_origin(value_type) is Literal:
        choices = get_args(value_type)
        yield Field(name, label.capitalize(), values=lambda *_: choices, nothing="any")
    else:
        is_number = value_type in (int, float)
        hint = "" if default in (None, ...) else f"{default:g}" if is_number else default
        yield Field(name, label.capitalize(), hint=hint, size=6 if is_number else 18)


def _compute_report_content(report: Report, lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Compute a report with the parameters in the address; it is empty if one is missing."""
    errors, model_names, is_complete = FormErrors(), list[str](), True
    fields = {
        parameter.name: [field.name for field in _iter_form_fields(parameter)]
        for parameter in report.parameters
    }
    required = [parameter.name for parameter in report.parameters if parameter.default is ...]
    # The field that displays errors of all required parameters.
    first_field = fields[required[0]][-1] if required else ""
    arguments_by_field: dict[str, dict[str, Any]] = {first_field: {}}
    for parameter in report.parameters:
        field_names = fields[parameter.name]
        texts_by_field = {
            name: text
            for name in field_names
            if (text := getattr(parameters, name)) not in ("", ALL_GAME_TYPES)
        }
        texts = [*texts_by_field.values()]
        model_names += texts if parameter.spec.suggested == "models" else []
        for name in texts_by_field if parameter.spec.is_argument else ():
            with errors.catch_usage_error(name):
                check_models_are_tested(lake, (texts_by_field[name],))
        is_required = parameter.name in required
        for field in field_names[-1:] if texts else ():
            with errors.catch_usage_error(field):
                value = _convert_field_texts(parameter, texts)
                arguments = arguments_by_field.setdefault(first_field if is_required else field, {})
                arguments[parameter.name] = value
        is_complete &= bool(texts) or not is_required
    rows = None
    if is_complete and not errors:
        rows, errors = call_without_invalid_arguments(
            getattr(lake, report.name), arguments_by_field
        )
    rows = pl.DataFrame(schema=polars_schema(report.columns)) if rows is None or errors else rows
    groups = arguments_by_field.values()
    options = {name: value for arguments in groups for name, value in arguments.items()}
    table = build_result_table(report.name, rows, **options)
    return PageContent(
        title=f"{report.title} for {' and '.join(model_names)}" if model_names else report.title,
        rows=rows,
        parts={
            "about": report.help.partition("\n\n")[0].replace("\n", " "),
            "is_drawn": report.is_drawn,
            "nothing": (table.nothing or "Nothing was found") if is_complete else "",
        },
        notes=table.notes if rows.height else (),
        faults=errors,
    )


def _convert_field_texts(parameter: Parameter, texts: list[Any]) -> Any:
    """Convert the texts of a parameter's form fields; raise UsageError for an invalid number."""
    if parameter.is_repeatable:
        return parameter.spec.validated_value(texts, is_several=True, default=parameter.default)
    return parse_number_field(texts[0]) if parameter.value_type in (int, float) else texts[0]


# --- all pages ------------------------------------------------------------------------------------

_PARAMETER_IN_ERROR = re.compile(r"`\$\.(\w+)`$")
TEMPLATES = Path(__file__).parent / "templates"


PAGES = {
    **{name: create_report_page(find_report(name)) for name in REPORTS},
    **list_pages.GAME_PAGES,
    **list_pages.LIST_PAGES,
    **list_pages.LOOKUP_PAGES,
    **value_pages.VALUE_PAGES,
}
NAMES = tuple(sorted(PAGES))


def page_definition(name: str) -> Page:
    """Return the definition of the page with this name.

    Raises:
        UsageError: If no page has the name.
    """
    if name not in PAGES:
        raise UsageError(f"no page `{name}`: {known_names_hint([name], NAMES)}")
    return PAGES[name]


def compute_page_content(name: str, lake: Any, parameters: PageParameters) -> PageContent:
    """Compute the data and texts of a page.

    Args:
        name: Name of the page.
        lake: The lake to display.
        parameters: The parameters of the page.

    Raises:
        UsageError: If a parameter is invalid and no form field displays its error.
    """
    page_lake = _lake_for_page(lake, parameters)
    page_content = page_definition(name).content(page_lake, parameters)
    choices = {
        field.name: tuple(field.values(page_lake, parameters))
        for field in parameters.FIELDS
        if field.values
    }
    choices |= {field: tuple(values) for field, values in page_content.choices.items()}
    changes = {
        "systems": page_lake.systems,
        "choices": choices,
        "seen_as": page_lake.view_options,
    }
    if _requests_losses_in_release_edition(parameters):
        changes["faults"] = {**page_content.faults, "failures": LOSSES_REFUSED}
    if parameters.IS_OF_SYSTEM:
        changes |= {
            "system": page_lake.system if page_content.system is None else page_content.system,
            "unknown": unknown_or_changed_game_notes(page_lake),
            "game_types": page_lake.game_types,
        }
    return replace(page_content, **changes)


def _lake_for_page(lake: Any, parameters: PageParameters) -> Any:
    """Return the lake with the view options that a page requests."""
    options = {
        field.name: value
        for field in VIEW_FIELDS
        if field is not SYSTEM_FIELD and (value := getattr(parameters, field.name, ""))
    }
    if not parameters.HAS_LOSSES or _requests_losses_in_release_edition(parameters):
        options["failures"] = EXCLUDE
    lake = lake.with_view(**options)
    system = getattr(parameters, "system", "") or None
    return lake.for_single_system(system) if parameters.IS_OF_SYSTEM else lake


def _requests_losses_in_release_edition(parameters: PageParameters) -> bool:
    return (
        getattr(parameters, "failures", "") == LOSS
        and getattr(parameters, "edition", "") == RELEASE
    )


def all_rows_in_parts(
    name: str, lake: Any, parameters: PageParameters, page_content: PageContent | None = None
) -> Iterable[pl.DataFrame]:
    """Return all rows of one table of a page as data frames, in parts if the table is long.

    Args:
        name: Name of the page.
        lake: The lake to display.
        parameters: The parameters of the page; `frame` is the name of the table.
        page_content: The page's content, if it was computed already.

    Raises:
        UsageError: If a parameter is invalid.
    """
    definition, frame = page_definition(name), parameters.frame or "rows"
    if definition.read_all_rows is not None and frame == definition.frame:
        return definition.read_all_rows(_lake_for_page(lake, parameters), parameters)
    page_content = page_content or compute_page_content(name, lake, parameters)
    if page_content.faults:
        raise UsageError("; ".join(page_content.faults.values()))
    return [page_content.frame(frame)]


def parse_page_parameters(name: str, texts: Mapping[str, str]) -> PageParameters:
    """Convert strings from a URL query to the typed parameters of a page.

    A parameter with an empty string has its default.

    Raises:
        UsageError: If a parameter is unknown or has an invalid value.
    """
    parameters_class = page_definition(name).parameters
    names = parameters_class.__struct_fields__
    if unknown_parameters := [parameter for parameter in texts if parameter not in names]:
        raise UsageError(
            f"no parameter {', '.join(unknown_parameters)[:200]}: this page has "
            f"{', '.join(names) or 'none'}"
        )
    values = {parameter: text for parameter, text in texts.items() if text}
    try:
        return msgspec.convert(values, parameters_class, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(_invalid_parameter_message(error, parameters_class, values)) from None


def _invalid_parameter_message(
    error: msgspec.ValidationError,
    parameters_class: type[PageParameters],
    texts: Mapping[str, str],
) -> str:
    """Return the message for an invalid parameter, with suggestions from its allowed values."""
    match = _PARAMETER_IN_ERROR.search(str(error))
    name = match[1] if match else ""
    value_type = get_type_hints(parameters_class).get(name)
    choices = ("true", "false") if value_type is bool else get_args(value_type)
    allowed_texts = [choice for choice in choices if isinstance(choice, str)]
    if not allowed_texts:
        return f"a parameter is wrong: {error}"
    suggestions = known_names_hint([texts[name]], filter(None, allowed_texts))
    return f"no {name} `{texts[name][:200]}`: {suggestions}"


Link = Callable[..., str | None]
"""Returns the address of a page with parameters; None if there is no such page."""
NULL = text_format.NULL_TEXT
COLLAPSED_MESSAGE_LENGTH = 1_200
"""A message with more characters is collapsed."""
COLLAPSED_PRIVATE_MESSAGE_LENGTH = 240
"""The same limit for a message that no other player saw, such as a thought."""
MAX_MESSAGE_CHARACTERS = 100_000
"""A text with more characters is truncated on the page; JSON and CSV contain all of it."""
MAX_RESPONSE_CHARACTERS = 128 * 2**20
"""The largest number of characters of a page as CSV or JSON, which is held in memory."""


@cache
def template_environment() -> Environment:
    """Return the Jinja environment, which escapes HTML, with the functions of all templates."""
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # None becomes a dash, and characters are escaped that hide or reverse other text.
        finalize=lambda value: (
            NULL if value is None else escape_unprintable(value) if type(value) is str else value
        ),
    )
    templates.filters |= {
        "text": format_cell,
        "number": lambda value, decimals=3: text_format.format_values([value], decimals)[0],
        "words": lambda value: (
            NULL if value is None else escape_unprintable(column.display_name(str(value)))
        ),
        "title_of": metric_title,
        "brief": shorten_to_one_line,
        # The beginning of a long text, and the number of its characters.
        "cut": lambda value, max_characters=MAX_CELL_CHARACTERS: Markup(
            html.escape_and_truncate_text(format_cell(value), max_characters)
        ),
        "counted": text_format.format_count,
        "settings": text_format.format_number_of_settings,
    }
    templates.globals |= {
        "EVERYBODY": VISIBLE_TO_ALL,
        "interval_svg": interval_svg,
        "format_interval": text_format.format_interval,
        "LONG": COLLAPSED_MESSAGE_LENGTH,
        "LONG_ALONE": COLLAPSED_PRIVATE_MESSAGE_LENGTH,
        "LONGEST": MAX_MESSAGE_CHARACTERS,
        "NULL": NULL,
        "EDITIONS": EDITIONS,
        "current_page_link": current_page_link,
        "filtered_page_link": filtered_page_link,
        "table": render_table,
        "link_to": link_to,
        "link_to_model": link_to_model,
        "hit_mark": hit_mark,
        "hit_sign": hit_sign,
        "hit_style": hit_style,
        "plot_svg": plot_svg,
        "describe_filters": describe_filters,
    }
    return templates


_KEPT_PARAMETER_DEFAULTS = {field.name: field.default for field in (EDITION_FIELD, *VIEW_FIELDS)}
_VIEW_OPTION_TEXTS = {
    "joined_names": "Names of models that are joined: {}",
    "failures": "A game counts as a loss of the model that failed it",
}


def link_function_with_current_options(link: Link, parameters: Mapping[str, object]) -> Link:
    """Return a function like `link` that adds the current edition, system and `failures`.

    A parameter is added if the linked page has it and the current page has not its default.

    Args:
        link: Function that returns the address of a page.
        parameters: The parameters of the current page.
    """
    kept = {
        name: parameters[name]
        for name, default in _KEPT_PARAMETER_DEFAULTS.items()
        if parameters.get(name, default) != default
    }

    def link_with_options(name: str, **changes: object) -> str | None:
        names = page_definition(name).parameters.__struct_fields__ if kept else ()
        return link(name, **{key: kept[key] for key in kept if key in names} | changes)

    return link_with_options


def render_page_fragment(
    name: str, content: PageContent, parameters: PageParameters, link: Link, **variables: object
) -> Markup:
    """Render a page as HTML without `<html>` and `<body>`, for a frame of the caller.

    Args:
        name: Name of the page; it selects the template.
        content: The content to render.
        parameters: The parameters of the page.
        link: Function that returns the address of a page.
        variables: Further template variables. `level` is the level of the heading (1);
            `is_interactive` says whether to render forms (True); `prefix_of` returns the prefix of
            element ids from a game and its index; `picture_at` returns the address of the plot as
            "svg" or "png".
    """
    template = template_environment().select_template([f"{name}.html", "reported.html"])
    link = link_function_with_current_options(link, msgspec.structs.asdict(parameters))
    context: dict[str, object] = {
        "page": content,
        "parameters": parameters,
        "name": name,
        "link": link,
        "level": 1,
        "is_interactive": True,
        "prefix_of": lambda _, game_index: "b-" if game_index else "",
        "picture_at": None,
    }
    view_options = (
        _VIEW_OPTION_TEXTS[name].format(escape_unprintable(text))
        for name, text in content.seen_as.items()
    )
    notes = [
        Markup('<p class="key">{}.</p>\n').format(note)
        for note in (*content.unknown, *view_options)
    ]
    return Markup(template.render(context | variables)) + Markup("").join(notes)


def encode_query(parameters: Mapping[str, object] | PageParameters) -> str:
    """Encode parameters as a URL query string, without those that are None or empty."""
    values = (
        msgspec.to_builtins(parameters) if isinstance(parameters, PageParameters) else parameters
    )
    return urlencode(
        {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in values.items()
            if value is not None and value != ""
        }
    )


def page_address(name: str, parameters: Mapping[str, object]) -> str:
    """Return the address of a page with its parameters, such as `/games?model=gpt-4`."""
    query = encode_query(parameters)
    return f"/{name}" + (f"?{query}" if query else "")


def page_link(name: str, element_id: str = "", **parameters: object) -> str | None:
    """Return the address of a page or of an element in it; None if no page has the name."""
    if name not in NAMES:
        return None
    return page_address(name, parameters) + (f"#{element_id}" if element_id else "")


def as_json(content: PageContent, parameters: PageParameters, ingest_id: int) -> str:
    """Return the content of a page as a JSON object, with its parameters and the ingest id.

    Raises:
        UsageError: If the text is longer than `MAX_RESPONSE_CHARACTERS`.
    """
    fields = msgspec.structs.asdict(content)
    fields |= fields.pop("parts") | fields.pop("seen_as")
    fields = {"ingest": ingest_id, "parameters": msgspec.to_builtins(parameters)} | fields
    return _join_within_limit("JSON", chain(_iter_object_text(fields, ",\n"), ["\n"]))


def as_csv(parts: Iterable[pl.DataFrame]) -> str:
    """Return the rows as CSV in which spreadsheet programs execute no formula.

    Raises:
        UsageError: If the text is longer than `MAX_RESPONSE_CHARACTERS`; it is never truncated.
    """
    return _join_within_limit("CSV", iter_spreadsheet_csv(parts))


def _join_within_limit(form: str, texts: Iterable[str]) -> str:
    """Join the strings; raise UsageError as soon as they exceed `MAX_RESPONSE_CHARACTERS`."""
    first_texts, n_left = [], MAX_RESPONSE_CHARACTERS
    for text in texts:
        first_texts.append(text)
        n_left -= len(text)
        if n_left < 0:
            raise UsageError(
                f"the {form} has more than {MAX_RESPONSE_CHARACTERS // 2**20} MiB: ask for less, "
                f"or use the command line, such as `magic evidence --format {form.lower()}`"
            )
    return "".join(first_texts)


def _iter_json_text(value: object) -> Iterator[str]:
    """Yield the JSON text of a value in pieces; a data frame becomes a list of records."""
    if isinstance(value, pl.DataFrame):
        yield from iter_json_records([value])
    elif isinstance(value, msgspec.Struct):
        yield from _iter_object_text(
            {name: getattr(value, name) for name in value.__struct_fields__}
        )
    elif isinstance(value, Mapping):
        yield from _iter_object_text(value)
    elif isinstance(value, (tuple, list)):
        yield "["
        for index, item in enumerate(value):
            yield ", " if index else ""
            yield from _iter_json_text(item)
        yield "]"
    else:
        yield escape_terminal_json(text_format.to_json_text(value))


def _iter_object_text(fields: Mapping[Any, object], between: str = ", ") -> Iterator[str]:
    """Yield the JSON text of an object in pieces, with `between` as the separator of its fields."""
    for index, (name, value) in enumerate(fields.items()):
        key = escape_terminal_json(text_format.to_json_text(str(name)))
        yield f"{between if index else '{'}{key}: "
        yield from _iter_json_text(value)
    yield "}" if fields else "{}"


# --- what templates call ------------------------------------------------------------------------


def format_cell(value: object) -> str:
    """Format the value of a table cell as text."""
    return text_format.format_values([value])[0]


def shorten_to_one_line(text: str | None, max_characters: int) -> str:
    """Replace line breaks by spaces, and truncate the text to a number of characters."""
    line = " ".join((text or "").split())
    is_short = len(line) <= max_characters
    return escape_unprintable(line if is_short else line[: max_characters - 1] + "…")


def hit_mark(hit: float | None) -> Markup:
    """Return HTML with the symbol and the name of a hit, a miss or a partial hit."""
    label = describe_hit(hit) if hit is None else f"{hit_sign(hit)} {describe_hit(hit)}"
    return Markup(f'<span class="result {hit_style(hit)}">{label}</span>')


def create_chart(
    kind: str, rows: pl.DataFrame, *arguments: object, **options: object
) -> "plots.Chart | None":
    """Call the function `plot_{kind}` of `pipeline.plots`; return None if all values are null."""
    value = "area" if kind == "radar" else "value"
    if value in rows.columns and rows[value].is_null().all():
        return None
    return getattr(plots, f"plot_{kind}")(rows, *arguments, **options)  # type: ignore[no-any-return]


def plot_svg(
    kind: str, rows: pl.DataFrame, *arguments: object, prefix: str = "", **options: object
) -> Markup:
    """Return a plot as SVG, or an empty text if all values are null."""
    drawing = create_chart(kind, rows, *arguments, **options)
    if drawing is None:
        return Markup("")
    # The plotting library escapes the texts in it.
    return Markup(plots.chart_to_svg(drawing, prefix=prefix or f"plot-{kind}"))


def export_page_plot(
    name: str, content: PageContent, parameters: PageParameters, form: str
) -> bytes:
    """Return the first plot of a page as the bytes of an SVG or PNG file.

    Args:
        name: Name of the page.
        content: The content of the page.
        parameters: The parameters of the page.
        form: "svg" or "png".

    Raises:
        UsageError: If the page has no plot.
    """
    charts: list[plots.Chart] = []

    def collect_chart(
        kind: str, rows: pl.DataFrame, *arguments: object, prefix: str = "", **options: object
    ) -> str:
        charts.extend(filter(None, [create_chart(kind, rows, *arguments, **options)]))
        return ""

    render_page_fragment(name, content, parameters, lambda *_, **__: None, plot_svg=collect_chart)
    if not charts:
        raise UsageError(f"the page {name} has no plot here: choose one that shows a plot")
    return plots.export_chart(charts[0], form)
