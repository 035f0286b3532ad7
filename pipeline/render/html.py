"""Tables and notes in HTML, for pages, the report and notebooks: texts are escaped, none runs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any, NamedTuple

from pipeline.render.table import Cell, Estimate, Field, Table
from pipeline.text_format import NULL_TEXT, escape_unprintable, format_n_settings

MAX_CELL_CHARACTERS = 1_000
"""Of a longer text the beginning is shown: CSV and JSON have the whole."""
MOST_COLUMNS = 200
MOST_CHARACTERS = 2**20
"""So many characters at most are in the cells of one table."""

Row = Mapping[str, Any]


class SortLink(NamedTuple):
    """Where a heading leads to, and how the rows are sorted by it, if they are."""

    href: str | None
    direction: str = ""


class CellDecorations(NamedTuple):
    """What a page has around a table's cells, each a function of a column's name or of a row.

    `links` are the addresses of cells, `inner` writes what is in a cell of its column, `drawing` is
    the picture of an estimate's interval, `attributes` are those of a row; the table itself sets
    `row_heading`, the column that names it.
    """

    links: Mapping[str, Callable[[Row], str | None] | None] = {}
    inner: Mapping[str, Callable[[Row], str]] = {}
    sorting: Callable[[str], SortLink] | None = None
    drawing: Callable[[str, Row], str] | None = None
    attributes: Callable[[Row], Mapping[str, str | None]] | None = None
    row_heading: str = ""


_NOTHING = CellDecorations()
_TOO_LONG = (
    '<p class="key more">{:,} more rows and {:,} more columns make this page too long for a '
    "browser: read them as CSV or JSON.</p>"
)
_NONE = f'<span class="none">{NULL_TEXT}</span>'
# A column of longer texts is wide, one of texts that are no word is not too narrow for a name.
_LONG, _NAME = 40, 7
# A heading of so many characters at most stays on one line; models, which are headings too, do not.
_SHORT = 14
# In a narrow window each row of a table with more columns is a card, a line a column.
_BESIDE = 3


def format_table(
    shown: Table,
    around: CellDecorations = _NOTHING,
    *,
    caption: str = "",
    id: str = "",
    kind: str = "",
    frame: str | None = None,
) -> str:
    """The table in a region that scrolls; `kind` is its class, `frame` a name for copies of it."""
    if shown.rows.is_empty():
        return '<p class="empty">No rows.</p>'
    fields = shown.visible_fields[:MOST_COLUMNS]
    texts = [one for one in fields if not one.is_number and one.estimate is None]
    # A frame that nothing declares has no column that names its rows.
    first = texts[0].name if texts and shown.columns else ""
    rows = list(_rows(shown, fields, around._replace(row_heading=first)))
    name = _text(caption or shown.name)
    boost = ' hx-boost:inherited="true"' if around.sorting else ""
    wide = " wide" if len(fields) > 8 else ""
    kind = " ".join(filter(None, [kind, "cards" if len(fields) > _BESIDE else ""]))
    lines = [
        f'<div class="scroll{wide}" role="region" tabindex="0" aria-label="{name}">',
        f"<table{_attributes({'id': id or None, 'class': kind or None, 'data-frame': frame})}>",
        f'<caption class="vh">{name}</caption>',
        f"<thead{boost}><tr>{''.join(_heading(one, shown, around) for one in fields)}</tr></thead>",
        "<tbody>",
        *rows,
        "</tbody></table></div>",
    ]
    n_columns, n_rows = (
        len(shown.visible_fields) - len(fields),
        shown.visible_rows.height - len(rows),
    )
    if n_columns or n_rows:
        lines.append(_TOO_LONG.format(n_rows, n_columns))
    return "\n".join(lines)


def items(notes: Iterable[str]) -> str:
    """Notes as a list."""
    listed = "".join(f"<li>{_text(note)}</li>" for note in notes)
    return f'<ul class="notes">{listed}</ul>' if listed else ""


def _heading(one: Field, shown: Table, around: CellDecorations) -> str:
    declared = shown.columns.get(one.name)
    sorting = around.sorting(one.name) if around.sorting else SortLink(None)
    label, is_name = _label(one, shown), _is_name(one, shown)
    kinds = _kinds(one, shown) | {"short": not is_name and len(label) <= _SHORT}
    attributes = {
        "class": _class(kinds),
        "aria-sort": sorting.direction or None,
        "title": (declared.description if declared else "") or None,
    }
    return f'<th scope="col"{_attributes(attributes)}>{_linked(escape(label), sorting.href)}</th>'


def _label(one: Field, shown: Table) -> str:
    """A column's heading with a capital, unless it begins with a sign such as p."""
    is_word = not _is_name(one, shown) and one.heading[1:2].isalpha()
    return one.heading[:1].upper() + one.heading[1:] if is_word else one.heading


def _is_name(one: Field, shown: Table) -> bool:
    """Whether a heading is a name of somebody's own, which is left as it is."""
    return one.name not in shown.columns or one.name in shown.headings


def _rows(shown: Table, fields: list[Field], around: CellDecorations) -> Iterator[str]:
    """Each row, as many as a browser shows without effort; links and the like get it in full."""
    n_characters = 0
    kinds = [
        {"class": _class(_kinds_of_cells(one, shown)), "data-title": _label(one, shown)}
        for one in fields
    ]
    both = zip(
        shown.visible_rows.iter_rows(named=True), shown.rows.iter_rows(named=True), strict=True
    )
    for at, (seen, whole) in enumerate(both):
        row = seen | whole
        own = [one.cells[at] for one in fields]
        n_characters += sum(min(len(cell.text), MAX_CELL_CHARACTERS) for cell in own)
        if at and n_characters > MOST_CHARACTERS:
            return
        cells = (
            _cell(one, cell, row, around, kind)
            for one, cell, kind in zip(fields, own, kinds, strict=True)
        )
        attributes = around.attributes(row) if around.attributes else {}
        yield f"<tr{_attributes(attributes)}>{''.join(cells)}</tr>"


def _cell(
    one: Field, cell: Cell, row: Row, around: CellDecorations, kind: Mapping[str, str | None]
) -> str:
    tag, scope = ("th", "row") if one.name == around.row_heading else ("td", None)
    metric = row.get("metric", one.name) if one.estimate and one.estimate.has_evidence else None
    attributes = _attributes({"scope": scope, **kind, "data-metric": metric})
    return f"<{tag}{attributes}>{_content(one, cell, row, around)}</{tag}>"


def _content(one: Field, cell: Cell, row: Row, around: CellDecorations) -> str:
    if one.name in around.inner:
        return around.inner[one.name](row).strip() or _NONE
    address = around.links.get(one.name)
    href = address(row) if address else None
    if one.estimate and one.estimate.value:
        drawing = around.drawing(one.name, row) if around.drawing else ""
        return _estimate(one.estimate, cell, row, href, drawing)
    mark = _mark(cell)
    if cell.text == NULL_TEXT:
        return f"{_NONE}{mark}"
    if one.estimate:
        return _ends(one.estimate, cell, row)
    value = row.get(one.name) if href is None else None
    return _linked(_value(value, cell.text), href) + mark


def _value(value: object, text: str) -> str:
    """A number also for programs; of a long text the beginning, and how long the whole is."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'<data value="{value!r}">{escape(text)}</data>'
    # A path or a name, which has no spaces, breaks after its `/` and `_`, not within a word.
    breakable = escape(text).replace("/", "/<wbr>").replace("_", "_<wbr>")
    return breakable if len(text) <= MAX_CELL_CHARACTERS else truncate_text(text)


def truncate_text(text: str, most: int = MAX_CELL_CHARACTERS) -> str:
    """The text; of a long one the beginning, and how long the whole is."""
    if len(text) <= most:
        return escape(text)
    more = f"… the first {most:,} of {len(text):,} characters"
    return f'{escape(text[:most])} <span class="none">{more}</span>'


def _estimate(estimate: Estimate, cell: Cell, row: Row, href: str | None, drawing: str) -> str:
    """A value with its interval, its mark and what was counted, as text, picture and on hover."""
    value, mark = row.get(estimate.value or ""), _mark(cell)
    if value is None:
        why = _text(row.get(estimate.reason or "") or "no value")
        hidden = f'<span class="vh"> {why}</span>'
        return f'<span class="none" title="{why}">{NULL_TEXT}{hidden}</span>{mark}'
    interval = f' <span class="interval">({_ends(estimate, cell, row)})</span>'
    counts = _counts(estimate, row, _named)
    text = f"<b>{escape(cell.text)}</b>" if cell.is_best else escape(cell.text)
    inner = "".join(
        [
            f'<span><data class="value" value="{value!r}">{text}</data>{mark}</span>',
            drawing,
            interval if cell.interval else "",
            f'<span class="vh">; {counts}</span>' if counts else "",
        ]
    )
    title = f"{cell.interval} {_counts(estimate, row, lambda _, value: str(value))}".strip()
    attributes = {
        "class": "cell thin" if cell.mark else "cell",
        "href": href,
        "title": title or None,
    }
    tag = "span" if href is None else "a"
    return f"<{tag}{_attributes(attributes)}>{inner}</{tag}>"


def _mark(cell: Cell) -> str:
    return f' <span class="mark">{escape(cell.mark)}</span>' if cell.mark else ""


def _ends(estimate: Estimate, cell: Cell, row: Row) -> str:
    """The ends of an interval as they are written, each also for programs."""
    if not cell.low:
        return ""
    ends = (("low", estimate.low, cell.low), ("high", estimate.high, cell.high))
    one, other = (
        f'<data class="{end}" value="{row[name or ""]!r}">{text}</data>' for end, name, text in ends
    )
    return f"{one} to {other}"


def _counts(estimate: Estimate, row: Row, written: Callable[[str, object], str]) -> str:
    """What was counted, in how many games, which terms are thin, and what it lacks."""
    counted, games = row.get(estimate.counted or ""), row.get(estimate.games or "")
    parts = [] if counted is None else [f"{written('counted', counted)} row{_s(counted)} counted"]
    parts += [] if games is None else [f"in {written('games', games)} game{_s(games)}"]
    terms = [
        f"{written('term', term['term'] or 'in all')} has {format_n_settings(term['n_effective'])}"
        for name in estimate.thin
        for term in row.get(name) or ()
    ]
    thin = [f"thin: {', '.join(terms)}"] if terms else []
    lacking = row.get(estimate.lacks or "") or ()
    lacks = [f"lacks what other models have: {_text(', '.join(lacking))}"] if lacking else []
    missing, expected = map(row.get, estimate.missing or ("", ""))
    gone = [f"{missing:,} of {expected:,} games missing, by competition"] if missing else []
    n = row.get(estimate.undecided or "")
    unread = [f"{written('counted', n)} row{_s(n)} not decided"] if n else []
    return "; ".join(filter(None, [" ".join(parts), *thin, *lacks, *gone, *unread]))


def _s(n: object) -> str:
    return "" if n == 1 else "s"


def _named(kind: str, value: object) -> str:
    text = _text(value)
    return text if kind == "term" else f'<data class="{kind}" value="{text}">{text}</data>'


def _text(value: object) -> str:
    """A text that no browser obeys, without what hides or turns another."""
    return escape(escape_unprintable(str(value)))


def _kinds(one: Field, shown: Table) -> dict[str, bool]:
    """The classes of a column."""
    is_number = one.is_number or one.estimate is not None
    return {"n": is_number, "aside": one.name in shown.asides}


def _kinds_of_cells(one: Field, shown: Table) -> dict[str, bool]:
    """The classes of a column's cells: also whether they are ids, names or longer texts."""
    declared, kinds = shown.columns.get(one.name), _kinds(one, shown)
    is_text = not any(kinds.values())
    length = max((len(cell.text) for cell in one.cells), default=0) if is_text else 0
    return kinds | {
        "letters": one.name == "letters",
        "id": declared is not None and declared.regex is not None,
        "name": _NAME <= length <= _LONG,
        "said": length > _LONG,
    }


def _class(kinds: Mapping[str, bool]) -> str | None:
    return " ".join(name for name, is_so in kinds.items() if is_so) or None


def _linked(inner: str, href: str | None) -> str:
    return inner if href is None else f'<a href="{escape(href)}">{inner}</a>'


def _attributes(given: Mapping[str, str | None]) -> str:
    return "".join(
        f' {name}="{_text(value)}"' for name, value in given.items() if value is not None
    )
