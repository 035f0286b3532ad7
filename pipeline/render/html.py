"""Tables and notes as HTML, for pages, the report and notebooks.

All texts are escaped. Used by `pipeline.render` and by the pages, which add links and drawings with
`CellDecorations`; depends on `pipeline.render.table`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any, NamedTuple

from pipeline.render.table import Cell, Estimate, Field, Table
from pipeline.text_format import NULL_TEXT, escape_unprintable, format_number_of_settings

MAX_CELL_CHARACTERS = 1_000
"""Longer texts are truncated; CSV and JSON contain them in full."""
MAX_COLUMNS = 200
MAX_TABLE_CHARACTERS = 2**20
"""Maximum number of characters in the cells of one table."""

Row = Mapping[str, Any]


class SortLink(NamedTuple):
    """The link of a column heading that sorts the table.

    Attributes:
        href: The address; None if the column cannot be sorted.
        direction: The current direction, `ascending` or `descending`; empty if not sorted by it.
    """

    href: str | None
    direction: str = ""


class CellDecorations(NamedTuple):
    """What a page adds to a table: links, content and drawings.

    Attributes:
        links: For a column, a function that returns the address of the cell in a row.
        inner: For a column, a function that returns the HTML content of the cell in a row.
        sorting: Returns the sort link of a column.
        drawing: Returns the drawing of the interval of a column's estimate in a row.
        attributes: Returns the HTML attributes of a row.
        row_heading: The column that identifies a row; `format_table` sets it.
    """

    links: Mapping[str, Callable[[Row], str | None] | None] = {}
    inner: Mapping[str, Callable[[Row], str]] = {}
    sorting: Callable[[str], SortLink] | None = None
    drawing: Callable[[str, Row], str] | None = None
    attributes: Callable[[Row], Mapping[str, str | None]] | None = None
    row_heading: str = ""


_NO_DECORATIONS = CellDecorations()
_TOO_LONG_HTML = (
    '<p class="key more">{:,} more rows and {:,} more columns are not displayed, because the page '
    "would be too long for a browser. Export the table as CSV or JSON to read them.</p>"
)
_NULL_HTML = f'<span class="none">{NULL_TEXT}</span>'
# A column is wide if its longest text is longer than the first number, and has a minimum width for
# names if it is at least as long as the second one.
_MAX_NAME_CHARACTERS, _MIN_NAME_CHARACTERS = 40, 7
# Headings of at most this length stay on one line, unless they are names of models.
_MAX_SHORT_HEADING_CHARACTERS = 14
# In a narrow window, each row of a table with more columns becomes a card with a line per column.
_MAX_COLUMNS_WITHOUT_CARDS = 3


def format_table(
    table: Table,
    decorations: CellDecorations = _NO_DECORATIONS,
    *,
    caption: str = "",
    id: str = "",
    kind: str = "",
    frame: str | None = None,
) -> str:
    """Format a table as HTML.

    Args:
        table: The table.
        decorations: The links and drawings that a page adds to cells.
        caption: The caption, which is also the label of the region; by default the table's name.
        id: The id of the table element.
        kind: The CSS class of the table element.
        frame: The value of the attribute `data-frame`, by which scripts find the table.

    Returns:
        The HTML of an element that scrolls, or a paragraph if there are no rows. At most
        `MAX_COLUMNS` columns and about `MAX_TABLE_CHARACTERS` characters are included; a paragraph
        says what is excluded.
    """
    if table.rows.is_empty():
        return '<p class="empty">No rows.</p>'
    fields = table.visible_fields[:MAX_COLUMNS]
    text_fields = [field for field in fields if not field.is_number and field.estimate is None]
    # A frame without column specs has no column that identifies its rows.
    row_heading = text_fields[0].name if text_fields and table.columns else ""
    rows = list(_iter_rows(table, fields, decorations._replace(row_heading=row_heading)))
    caption_html = _escape_text(caption or table.name)
    boost = ' hx-boost:inherited="true"' if decorations.sorting else ""
    wide = " wide" if len(fields) > 8 else ""
    attributes = {
        "id": id or None,
        "class": _class_attribute(
            {kind: bool(kind), "cards": len(fields) > _MAX_COLUMNS_WITHOUT_CARDS}
        ),
        "data-frame": frame,
    }
    lines = [
        f'<div class="scroll{wide}" role="region" tabindex="0" aria-label="{caption_html}">',
        f"<table{_format_attributes(attributes)}>",
        f'<caption class="vh">{caption_html}</caption>',
        f"<thead{boost}><tr>"
        f"{''.join(_format_heading(field, table, decorations) for field in fields)}</tr></thead>",
        "<tbody>",
        *rows,
        "</tbody></table></div>",
    ]
    n_hidden_columns = len(table.visible_fields) - len(fields)
    n_hidden_rows = table.visible_rows.height - len(rows)
    if n_hidden_columns or n_hidden_rows:
        lines.append(_TOO_LONG_HTML.format(n_hidden_rows, n_hidden_columns))
    return "\n".join(lines)


def format_notes(notes: Iterable[str]) -> str:
    """Return notes as an HTML list, or an empty string without notes."""
    list_items = "".join(f"<li>{_escape_text(note)}</li>" for note in notes)
    return f'<ul class="notes">{list_items}</ul>' if list_items else ""


def _format_heading(field: Field, table: Table, decorations: CellDecorations) -> str:
    """Return the HTML of a column heading, with the link that sorts the table by the column."""
    spec = table.columns.get(field.name)
    sorting = decorations.sorting(field.name) if decorations.sorting else SortLink(None)
    label, is_given_name = (
        _capitalize_heading_unless_name(field, table),
        _is_heading_from_data(field, table),
    )
    classes = _css_classes_of_column(field, table) | {
        "short": not is_given_name and len(label) <= _MAX_SHORT_HEADING_CHARACTERS
    }
    attributes = {
        "class": _class_attribute(classes),
        "aria-sort": sorting.direction or None,
        "title": (spec.description if spec else "") or None,
    }
    return (
        f'<th scope="col"{_format_attributes(attributes)}>'
        f"{_format_link(escape(label), sorting.href)}</th>"
    )


def _capitalize_heading_unless_name(field: Field, table: Table) -> str:
    """Return a column's heading; capitalize it unless it is a name or a symbol such as `p`."""
    is_word = not _is_heading_from_data(field, table) and field.heading[1:2].isalpha()
    return field.heading[:1].upper() + field.heading[1:] if is_word else field.heading


def _is_heading_from_data(field: Field, table: Table) -> bool:
    """Return whether the heading is a name from the data, such as that of a model."""
    return field.name not in table.columns or field.name in table.headings


def _iter_rows(table: Table, fields: list[Field], decorations: CellDecorations) -> Iterator[str]:
    """Yield the HTML of each row, and stop before the table has too many characters.

    The functions in `decorations` get rows with complete ids and texts.
    """
    n_characters = 0
    cell_attributes = [
        {
            "class": _class_attribute(_css_classes_of_cells(field, table)),
            "data-title": _capitalize_heading_unless_name(field, table),
        }
        for field in fields
    ]
    row_pairs = zip(
        table.visible_rows.iter_rows(named=True), table.rows.iter_rows(named=True), strict=True
    )
    for index, (displayed_row, complete_row) in enumerate(row_pairs):
        row = displayed_row | complete_row
        row_cells = [field.cells[index] for field in fields]
        n_characters += sum(min(len(cell.text), MAX_CELL_CHARACTERS) for cell in row_cells)
        if index and n_characters > MAX_TABLE_CHARACTERS:
            return
        cells = (
            _format_cell(field, cell, row, decorations, field_attributes)
            for field, cell, field_attributes in zip(
                fields, row_cells, cell_attributes, strict=True
            )
        )
        attributes = decorations.attributes(row) if decorations.attributes else {}
        yield f"<tr{_format_attributes(attributes)}>{''.join(cells)}</tr>"


def _format_cell(
    field: Field,
    cell: Cell,
    row: Row,
    decorations: CellDecorations,
    field_attributes: Mapping[str, str | None],
) -> str:
    tag, scope = ("th", "row") if field.name == decorations.row_heading else ("td", None)
    metric = (
        row.get("metric", field.name) if field.estimate and field.estimate.has_evidence else None
    )
    attributes = _format_attributes({"scope": scope, **field_attributes, "data-metric": metric})
    return f"<{tag}{attributes}>{_format_cell_content(field, cell, row, decorations)}</{tag}>"


def _format_cell_content(field: Field, cell: Cell, row: Row, decorations: CellDecorations) -> str:
    if field.name in decorations.inner:
        return decorations.inner[field.name](row).strip() or _NULL_HTML
    get_address = decorations.links.get(field.name)
    href = get_address(row) if get_address else None
    if field.estimate and field.estimate.value:
        drawing = decorations.drawing(field.name, row) if decorations.drawing else ""
        return _format_estimate(field.estimate, cell, row, href, drawing)
    mark = _format_mark(cell)
    if cell.text == NULL_TEXT:
        return f"{_NULL_HTML}{mark}"
    if field.estimate:
        return _format_interval(field.estimate, cell, row)
    exact_value = row.get(field.name) if href is None else None
    return _format_link(_format_plain_value(exact_value, cell.text), href) + mark


def _format_plain_value(exact_value: object, text: str) -> str:
    """Return the formatted text of a cell as HTML; a number also has its exact value."""
    if isinstance(exact_value, int | float) and not isinstance(exact_value, bool):
        return f'<data value="{exact_value!r}">{escape(text)}</data>'
    # A path or a name without spaces can break after `/` and `_`, but not within a word.
    breakable = escape(text).replace("/", "/<wbr>").replace("_", "_<wbr>")
    return breakable if len(text) <= MAX_CELL_CHARACTERS else escape_and_truncate_text(text)


def escape_and_truncate_text(text: str, max_characters: int = MAX_CELL_CHARACTERS) -> str:
    """Escape a text for HTML; if it is too long, truncate it and say how long it is.

    Args:
        text: The text, not escaped.
        max_characters: The maximum number of characters of the text.

    Returns:
        The HTML.
    """
    if len(text) <= max_characters:
        return escape(text)
    remark = f"… the first {max_characters:,} of {len(text):,} characters"
    return f'{escape(text[:max_characters])} <span class="none">{remark}</span>'


def _format_estimate(
    estimate: Estimate, cell: Cell, row: Row, href: str | None, drawing: str
) -> str:
    """Return the HTML of a value with its interval, marks and drawing, and counts as a tooltip."""
    value, mark = row.get(estimate.value or ""), _format_mark(cell)
    if value is None:
        reason = _escape_text(row.get(estimate.reason or "") or "no value")
        hidden_reason = f'<span class="vh"> {reason}</span>'
        return f'<span class="none" title="{reason}">{NULL_TEXT}{hidden_reason}</span>{mark}'
    interval = f' <span class="interval">({_format_interval(estimate, cell, row)})</span>'
    counts = _describe_counts_and_missing_games(estimate, row, _format_data_element)
    text = f"<b>{escape(cell.text)}</b>" if cell.is_best else escape(cell.text)
    content = "".join(
        [
            f'<span><data class="value" value="{value!r}">{text}</data>{mark}</span>',
            drawing,
            interval if cell.interval_text else "",
            f'<span class="vh">; {counts}</span>' if counts else "",
        ]
    )
    plain_counts = _describe_counts_and_missing_games(estimate, row, lambda _, value: str(value))
    title = f"{cell.interval_text} {plain_counts}".strip()
    attributes = {
        "class": "cell thin" if cell.mark else "cell",
        "href": href,
        "title": title or None,
    }
    tag = "span" if href is None else "a"
    return f"<{tag}{_format_attributes(attributes)}>{content}</{tag}>"


def _format_mark(cell: Cell) -> str:
    return f' <span class="mark">{escape(cell.mark)}</span>' if cell.mark else ""


def _format_interval(estimate: Estimate, cell: Cell, row: Row) -> str:
    """Return the HTML of an interval, whose bounds also have their exact values."""
    if not cell.low:
        return ""
    bounds = (("low", estimate.low, cell.low), ("high", estimate.high, cell.high))
    low, high = (
        f'<data class="{bound}" value="{row[column or ""]!r}">{text}</data>'
        for bound, column, text in bounds
    )
    return f"{low} to {high}"


def _describe_counts_and_missing_games(
    estimate: Estimate, row: Row, format_number: Callable[[str, object], str]
) -> str:
    """Say how many rows and games a value counts, and in what its data are incomplete."""
    counted, games = row.get(estimate.counted or ""), row.get(estimate.games or "")
    count_texts = (
        []
        if counted is None
        else [f"{format_number('counted', counted)} row{_plural_suffix(counted)} counted"]
    )
    count_texts += (
        [] if games is None else [f"in {format_number('games', games)} game{_plural_suffix(games)}"]
    )
    term_texts = [
        f"{format_number('term', term['term'] or 'in all')} has "
        f"{format_number_of_settings(term['n_effective'])}"
        for column in estimate.small_sample_terms
        for term in row.get(column) or ()
    ]
    small_samples = [f"small sample: {', '.join(term_texts)}"] if term_texts else []
    missing_competitions = row.get(estimate.missing_competitions or "") or ()
    competition_texts = (
        [f"missing competitions: {_escape_text(', '.join(missing_competitions))}"]
        if missing_competitions
        else []
    )
    missing, expected = map(row.get, estimate.missing or ("", ""))
    missing_game_texts = (
        [f"{missing:,} of {expected:,} games missing, by competition"] if missing else []
    )
    n_undecided = row.get(estimate.undecided or "")
    undecided_texts = (
        [f"{format_number('counted', n_undecided)} row{_plural_suffix(n_undecided)} not decided"]
        if n_undecided
        else []
    )
    return "; ".join(
        filter(
            None,
            [
                " ".join(count_texts),
                *small_samples,
                *competition_texts,
                *missing_game_texts,
                *undecided_texts,
            ],
        )
    )


def _plural_suffix(count: object) -> str:
    return "" if count == 1 else "s"


def _format_data_element(css_class: str, value: object) -> str:
    text = _escape_text(value)
    return (
        text if css_class == "term" else f'<data class="{css_class}" value="{text}">{text}</data>'
    )


def _escape_text(value: object) -> str:
    """Escape a value for HTML, and make invisible characters visible."""
    return escape(escape_unprintable(str(value)))


def _css_classes_of_column(field: Field, table: Table) -> dict[str, bool]:
    """Return for each CSS class whether the heading and the cells of a column have it."""
    return {
        "n": field.is_number or field.estimate is not None,
        "aside": field.name in table.secondary_columns,
    }


def _css_classes_of_cells(field: Field, table: Table) -> dict[str, bool]:
    """Return for each CSS class whether the cells of a column have it."""
    spec, classes = table.columns.get(field.name), _css_classes_of_column(field, table)
    is_text = not any(classes.values())
    length = max((len(cell.text) for cell in field.cells), default=0) if is_text else 0
    return classes | {
        "letters": field.name == "group_letters",
        "id": spec is not None and spec.regex is not None,
        "name": _MIN_NAME_CHARACTERS <= length <= _MAX_NAME_CHARACTERS,
        "said": length > _MAX_NAME_CHARACTERS,
    }


def _class_attribute(classes: Mapping[str, bool]) -> str | None:
    return " ".join(name for name, applies in classes.items() if applies) or None


def _format_link(content: str, href: str | None) -> str:
    return content if href is None else f'<a href="{escape(href)}">{content}</a>'


def _format_attributes(attributes: Mapping[str, str | None]) -> str:
    return "".join(
        f' {name}="{_escape_text(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
