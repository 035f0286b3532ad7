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
from pipeline.errors import UsageError, suggest_names
from pipeline.lake_methods import LakeWithMethods
from pipeline.metrics.completeness import unknown_game_notes
from pipeline.metrics.registry import metric_title
from pipeline.metrics.request import LOSSES_REFUSED, check_models
from pipeline.pages import list_pages, value_pages
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
    address as content_address,
    answered,
    bar,
    describe_slice,
    here,
    models_of,
    narrowed_to,
    number as content_number,
    table,
    to,
    to_model,
)
from pipeline.parameters import REPEATABLE_HELP, Parameter
from pipeline.registry import REPORTS
from pipeline.render import build_result_table, html
from pipeline.render.html import MAX_CELL_CHARACTERS
from pipeline.reports.registry import Report, find_report
from pipeline.reports.transcript_items import VISIBLE_TO_ALL, describe_hit, hit_sign, hit_style
from pipeline.serialization import escape_terminal_json, iter_json_records, iter_spreadsheet_csv
from pipeline.text_format import escape_unprintable
from pipeline.vocabulary import ALL_GAME_TYPES, EDITIONS, EXCLUDE, LOSS, PAPER, RELEASE

# Which pages there are, those of declared reports among them, and what an address says to one.

_COMMON_FIELDS = {field.name: field for field in (EDITION, GAME_TYPE, WHERE)}
_SERVER_OPTIONS = ("engine", "master")
"""What an address does not choose."""


def page_of(report: Report) -> Page:
    """Return the page of a report, whose form has a field for each parameter."""
    fields = [field for parameter in report.parameters for field in _iter_form_fields(parameter)]
    asks = content_address(
        *fields,
        is_of_system=report.is_of_system,
        has_losses=report.has_losses,
        in_title=tuple(field.name for field in fields if field.are_names),
        report=report.name,
    )
    return Page(asks, partial(_report_content, report))


def _iter_form_fields(asked: Parameter) -> Iterator[Field]:
    """Yield the form fields of a parameter; a parameter that takes two names has two fields."""
    name, kind, is_several, default, declared = asked
    if name in _SERVER_OPTIONS:
        return
    label = column_words(name.removeprefix("n_"))
    if name == "metric":
        nothing = "all" if is_several else None
        yield replace(METRIC, default="" if is_several else default or "", nothing=nothing)
    elif name in _COMMON_FIELDS:
        yield _COMMON_FIELDS[name]
    elif declared.suggested == "models":
        help = declared.help.removesuffix(REPEATABLE_HELP)
        # `[MODEL OTHER]` takes a model and another one.
        named = declared.metavar.strip("[]").lower().split()
        for field_name in named if declared.is_argument else [name]:
            field_label, of_lake = (
                column_words(field_name).capitalize(),
                lambda lake, _: models_of(lake),
            )
            yield Field(
                field_name, field_label, values=of_lake, nothing="any", are_names=True, help=help
            )
    elif kind is bool:
        yield Field(name, label, bool, default)
    elif get_origin(kind) is Literal:
        choices = get_args(kind)
        yield Field(name, label.capitalize(), values=lambda *_: choices, nothing="any")
    else:
        hint = "" if default in (None, ...) else f"{default:g}" if kind in (int, float) else default
        size = 6 if kind in (int, float) else 18
        yield Field(name, label.capitalize(), hint=hint, size=size)


def _report_content(report: Report, lake: LakeWithMethods, asked: Any) -> Content:
    """Return the content of a report's page for the requested parameters."""
    faults, names, is_asked = Faults(), list[str](), True
    fields = {
        parameter.name: [field.name for field in _iter_form_fields(parameter)]
        for parameter in report.parameters
    }
    required = [parameter.name for parameter in report.parameters if parameter.default is ...]
    first = fields[required[0]][-1] if required else ""
    given: dict[str, dict[str, Any]] = {first: {}}  # with all that is required
    for parameter in report.parameters:
        field_names = fields[parameter.name]
        texts_by_field = {
            name: text
            for name in field_names
            if (text := getattr(asked, name)) not in ("", ALL_GAME_TYPES)
        }
        names += texts_by_field.values() if parameter.declared.suggested == "models" else ()
        for name in texts_by_field if parameter.declared.is_argument else ():
            with faults.record(name):
                check_models(lake, (texts_by_field[name],))
        is_required = parameter.name in required
        for field in field_names[-1:] if texts_by_field else ():
            with faults.record(field):
                value = _parameter_value(parameter, [*texts_by_field.values()])
                given.setdefault(first if is_required else field, {})[parameter.name] = value
        is_asked &= bool(texts_by_field) or not is_required
    rows = None
    if is_asked and not faults:
        rows, faults = answered(getattr(lake, report.name), given)
    rows = pl.DataFrame(schema=polars_schema(report.columns)) if rows is None or faults else rows
    options = {name: value for part in given.values() for name, value in part.items()}
    shown = build_result_table(report.name, rows, **options)
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


def _parameter_value(asked: Parameter, given: list[Any]) -> Any:
    """Convert the field values of a parameter; raise UsageError for an invalid number."""
    if asked.is_several:
        return asked.declared.checked(given, is_several=True, default=asked.default)
    value = next(iter(given), "")
    return content_number(value) if asked.kind in (int, float) else value


# --- all pages ------------------------------------------------------------------------------------

_PARAMETER_IN_ERROR = re.compile(r"`\$\.(\w+)`$")
TEMPLATES = Path(__file__).parent / "templates"


PAGES = {
    **{name: page_of(find_report(name)) for name in REPORTS},
    **list_pages.OF_GAME,
    **list_pages.PAGES,
    **list_pages.LOOKUPS,
    **value_pages.PAGES,
}
NAMES = tuple(sorted(PAGES))


def page(name: str) -> Page:
    """Return the page with this name.

    Raises:
        UsageError: If no page has the name.
    """
    if name not in PAGES:
        raise UsageError(f"no page `{name}`: {suggest_names([name], NAMES)}")
    return PAGES[name]


def content(name: str, lake: Any, asked: Address) -> Content:
    """Return the content of a page for the requested parameters.

    Args:
        name: Name of the page.
        lake: The lake to display.
        asked: The parameters of the page, as returned by `parameters`.

    Raises:
        UsageError: If a parameter that the page cannot report beside its field is wrong.
    """
    seen = _lake_for_page(lake, asked)
    shown = page(name).content(seen, asked)
    listed = {field.name: field.values(seen, asked) for field in asked.FIELDS if field.values}
    choices = {field: tuple(values) for field, values in (listed | {**shown.choices}).items()}
    common = {"systems": seen.systems, "choices": choices, "seen_as": seen.view_options}
    if _is_loss_rule_refused(asked):
        common["faults"] = {**shown.faults, "failures": LOSSES_REFUSED}
    if asked.IS_OF_SYSTEM:
        system = seen.system if shown.system is None else shown.system
        common |= {
            "system": system,
            "unknown": unknown_game_notes(seen),
            "game_types": seen.game_types,
        }
    return msgspec.structs.replace(shown, **common)


def _lake_for_page(lake: Any, asked: Address) -> Any:
    """Return the lake with the system and the failure handling that the page displays."""
    failures = getattr(asked, "failures", "") or lake.failures
    has_losses = asked.HAS_LOSSES and not _is_loss_rule_refused(asked)
    lake = lake.with_failures(failures if has_losses else EXCLUDE)
    return (
        lake.for_single_system(getattr(asked, "system", "") or None) if asked.IS_OF_SYSTEM else lake
    )


def _is_loss_rule_refused(asked: Address) -> bool:
    """Return whether failed games shall count as losses in an edition that has its own rule."""
    return getattr(asked, "failures", "") == LOSS and getattr(asked, "edition", "") == RELEASE


def csv_parts(
    name: str, lake: Any, asked: Address, shown: Content | None = None
) -> Iterable[pl.DataFrame]:
    """Return all rows of a page as data frames, in parts if the table is long.

    Args:
        name: Name of the page.
        lake: The lake to display.
        asked: The parameters of the page; its `frame` selects the table.
        shown: The page's content, if it was computed already.

    Raises:
        UsageError: If a parameter is wrong.
    """
    wanted = page(name)
    if wanted.whole is not None and (asked.frame or "rows") == wanted.frame:
        return wanted.whole(_lake_for_page(lake, asked), asked)
    contents = shown or content(name, lake, asked)
    if contents.faults:
        raise UsageError("; ".join(contents.faults.values()))
    return [contents.frame(asked.frame or "rows")]


def parameters(name: str, given: Mapping[str, str]) -> Address:
    """Convert strings from an address to the typed parameters of a page, without empty ones.

    Raises:
        UsageError: If a parameter is unknown or has an invalid value.
    """
    wanted = page(name).parameters
    known = wanted.__struct_fields__
    if unknown_parameters := [parameter for parameter in given if parameter not in known]:
        names = ", ".join(known) or "none"
        raise UsageError(
            f"no parameter {', '.join(unknown_parameters)[:200]}: this page has {names}"
        )
    texts = {parameter: text for parameter, text in given.items() if text}
    try:
        return msgspec.convert(texts, wanted, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(_invalid_parameter_message(error, wanted, texts)) from None


def _invalid_parameter_message(
    error: msgspec.ValidationError, wanted: type[Address], texts: Mapping[str, str]
) -> str:
    """Return the message for an invalid parameter, with suggestions from its allowed values."""
    place = _PARAMETER_IN_ERROR.search(str(error))
    name = place[1] if place else ""
    kind = get_type_hints(wanted).get(name)
    choices = ("true", "false") if kind is bool else get_args(kind)
    known = [choice for choice in choices if isinstance(choice, str)]
    if not known:
        return f"a parameter is wrong: {error}"
    return f"no {name} `{texts[name][:200]}`: {suggest_names([texts[name]], filter(None, known))}"


Link = Callable[..., str | None]
"""The address of a page with parameters; None where the host does not have it."""
NULL = text_format.NULL_TEXT
LONG_MESSAGE = 1_200
"""A longer message is shown folded."""
LONG_ALONE = 240
"""So is a message of more characters that no other player saw: a thought, an analysis."""
LONGEST_MESSAGE = 100_000
"""Of a longer text a page shows the beginning: JSON and CSV have the whole."""
MOST_CHARACTERS = 128 * 2**20
"""An answer as CSV or JSON has at most so many characters, since it is held in memory."""


@cache
def template_environment() -> Environment:
    """Return the escaping Jinja environment with the filters and functions of all templates."""
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # A null as a dash, and no text that hides or turns another.
        finalize=lambda value: (
            NULL if value is None else escape_unprintable(value) if type(value) is str else value
        ),
    )
    templates.filters |= {
        "text": text,
        "number": lambda value, decimals=3: text_format.format_values([value], decimals)[0],
        "words": lambda value: (
            NULL if value is None else escape_unprintable(column.display_name(str(value)))
        ),
        "title_of": metric_title,
        "brief": brief,
        # Of a long text the beginning, and how long the whole is.
        "cut": lambda value, most=MAX_CELL_CHARACTERS: Markup(
            html.truncate_text(text(value), most)
        ),
        "counted": text_format.format_count,
        "settings": text_format.format_n_settings,
    }
    templates.globals |= {
        "EVERYBODY": VISIBLE_TO_ALL,
        "bar": bar,
        "ends": text_format.format_interval,
        "LONG": LONG_MESSAGE,
        "LONG_ALONE": LONG_ALONE,
        "LONGEST": LONGEST_MESSAGE,
        "NULL": NULL,
        "EDITIONS": EDITIONS,
        "here": here,
        "narrowed_to": narrowed_to,
        "table": table,
        "to": to,
        "to_model": to_model,
        "mark": mark,
        "sign": hit_sign,
        "kind_of": hit_style,
        "plot": plot,
        "slice_of": describe_slice,
    }
    return templates


_KEPT_PARAMETER_DEFAULTS = {"edition": PAPER, "system": "", "failures": ""}
_VIEW_OPTION_TEXTS = {
    "joined_names": "Names of models that are joined: {}",
    "failures": "A game counts as a loss of the model that failed it",
}


def bind_links(link: Link, asked: Mapping[str, object]) -> Link:
    """Return a link function that keeps the current edition, system and failure handling.

    Args:
        link: Function that returns the address of a page.
        asked: The parameters of the current page.
    """
    chosen = {
        name: asked[name]
        for name, default in _KEPT_PARAMETER_DEFAULTS.items()
        if asked.get(name, default) != default
    }

    def carried(name: str, **parameters: object) -> str | None:
        known = page(name).parameters.__struct_fields__ if chosen else ()
        own = {key: value for key, value in chosen.items() if key in known}
        return link(name, **own | parameters)

    return carried


def fragment(name: str, content: Content, asked: Address, link: Link, **more: object) -> Markup:
    """Render a page as an HTML fragment without a frame.

    Args:
        name: Name of the page; it selects the template.
        content: The content to render.
        asked: The parameters of the page.
        link: Function that returns the address of a page.
        more: Further template variables. `level` is the level of the heading (1); `is_interactive`
            says whether to render forms (True); `prefix_of` returns the prefix of element ids from
            a game and its index; `picture_at` returns the address of the plot as "svg" or "png".
    """
    template = template_environment().select_template([f"{name}.html", "reported.html"])
    link = bind_links(link, msgspec.structs.asdict(asked))
    context: dict[str, object] = {
        "page": content,
        "asked": asked,
        "name": name,
        "link": link,
        "level": 1,
        "is_interactive": True,
        "prefix_of": lambda _, place: "b-" if place else "",
        "picture_at": None,
    }
    seen = (
        _VIEW_OPTION_TEXTS[name].format(escape_unprintable(text))
        for name, text in content.seen_as.items()
    )
    lines = [*content.unknown, *seen]
    said = [Markup('<p class="key">{}.</p>\n').format(line) for line in lines]
    return Markup(template.render(context | more)) + Markup("").join(said)


def query_of(asked: Mapping[str, object] | Address) -> str:
    """Encode parameters as a URL query string; parameters without a value are omitted."""
    values = msgspec.to_builtins(asked) if isinstance(asked, Address) else asked
    return urlencode(
        {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in values.items()
            if value is not None and value != ""
        }
    )


def address(name: str, parameters: Mapping[str, object]) -> str:
    """Return the address of a page."""
    query = query_of(parameters)
    return f"/{name}" + (f"?{query}" if query else "")


def page_link(name: str, at: str = "", **parameters: object) -> str | None:
    """Return the address of a page, optionally of its element `at`; None for an unknown page."""
    if name not in NAMES:
        return None
    return address(name, parameters) + (f"#{at}" if at else "")


def as_json(content: Content, asked: Address, state: int) -> str:
    """Return the content as a JSON object with its parameters and the number of the last ingest.

    Raises:
        UsageError: If the text is longer than `MOST_CHARACTERS`.
    """
    fields = msgspec.structs.asdict(content)
    fields |= fields.pop("parts") | fields.pop("seen_as")
    fields = {"ingest": state, "parameters": msgspec.to_builtins(asked)} | fields
    return _join_within_limit("JSON", chain(_iter_object_text(fields, ",\n"), ["\n"]))


def as_csv(parts: Iterable[pl.DataFrame]) -> str:
    """Return the rows as CSV in which spreadsheet programs execute no formula.

    Raises:
        UsageError: If the text is longer than `MOST_CHARACTERS`; it is never truncated.
    """
    return _join_within_limit("CSV", iter_spreadsheet_csv(parts))


def _join_within_limit(form: str, texts: Iterable[str]) -> str:
    """Join the strings; raise UsageError as soon as they exceed `MOST_CHARACTERS`."""
    taken, n_left = [], MOST_CHARACTERS
    for text in texts:
        taken.append(text)
        n_left -= len(text)
        if n_left < 0:
            raise UsageError(
                f"the {form} has more than {MOST_CHARACTERS // 2**20} MiB: ask for less, or use "
                f"the command line, such as `magic evidence --format {form.lower()}`"
            )
    return "".join(taken)


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
        for at, item in enumerate(value):
            yield ", " if at else ""
            yield from _iter_json_text(item)
        yield "]"
    else:
        yield escape_terminal_json(text_format.to_json_text(value))


def _iter_object_text(fields: Mapping[Any, object], between: str = ", ") -> Iterator[str]:
    """Yield the JSON text of an object in pieces, with the separator `between` its fields."""
    for at, (name, value) in enumerate(fields.items()):
        key = escape_terminal_json(text_format.to_json_text(str(name)))
        yield f"{between if at else '{'}{key}: "
        yield from _iter_json_text(value)
    yield "}" if fields else "{}"


# --- what templates call ------------------------------------------------------------------------


def text(value: object) -> str:
    """Format a table cell of any type as text."""
    return text_format.format_values([value])[0]


def brief(value: str | None, n_signs: int) -> str:
    """Return the text on one line, truncated to `n_signs` characters."""
    line = " ".join((value or "").split())
    return escape_unprintable(line if len(line) <= n_signs else line[: n_signs - 1] + "…")


def mark(hit: float | None) -> Markup:
    """Return HTML with a symbol and a label for a hit, a miss or a partial hit."""
    label = describe_hit(hit) if hit is None else f"{hit_sign(hit)} {describe_hit(hit)}"
    return Markup(f'<span class="result {hit_style(hit)}">{label}</span>')


def chart(kind: str, rows: pl.DataFrame, *more: object, **options: object) -> "plots.Chart | None":
    """Return a plot of `pipeline.plots`; None if all values are null."""
    value = "area" if kind == "radar" else "value"
    if value in rows.columns and rows[value].is_null().all():
        return None
    return getattr(plots, f"plot_{kind}")(rows, *more, **options)  # type: ignore[no-any-return]


def plot(
    kind: str, rows: pl.DataFrame, *more: object, prefix: str = "", **options: object
) -> Markup:
    """Return a plot as SVG; an empty text if all values are null."""
    drawn = chart(kind, rows, *more, **options)
    # Marks of ours, with texts that the library escapes.
    return Markup(
        "" if drawn is None else plots.chart_to_svg(drawn, prefix=prefix or f"plot-{kind}")
    )


def picture(name: str, content: Content, asked: Address, form: str) -> bytes:
    """Return the first plot of a page as the content of an image file.

    Args:
        name: Name of the page.
        content: The content of the page.
        asked: The parameters of the page.
        form: "svg" or "png".

    Raises:
        UsageError: If the page has no plot.
    """
    drawn: list[plots.Chart] = []

    def keep(
        kind: str, rows: pl.DataFrame, *more: object, prefix: str = "", **options: object
    ) -> str:
        drawn.extend(filter(None, [chart(kind, rows, *more, **options)]))
        return ""

    fragment(name, content, asked, lambda *_, **__: None, plot=keep)
    if not drawn:
        raise UsageError(f"the page {name} has no plot here: choose one that shows a plot")
    return plots.export_chart(drawn[0], form)
