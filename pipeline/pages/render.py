"""Contents as HTML, JSON and CSV.

A page of HTML is a fragment: its host puts it into a frame of its own, and says by `link` where
other pages are.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec
import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pipeline import cells, column
from pipeline.cells import printable
from pipeline.errors import UsageError
from pipeline.metrics.known import title
from pipeline.pages.content import Address, Content, slice_of
from pipeline.pages.linked import bar, here, narrowed_to, table, to, to_model
from pipeline.pages.page import NAMES, TEMPLATES, page
from pipeline.present import html
from pipeline.present.html import LONGEST_CELL
from pipeline.reports.parts import EVERYBODY, result, sign, style
from pipeline.vocabulary import EDITIONS, PAPER
from pipeline.written import json_texts, safe_csv_texts, safe_json

if TYPE_CHECKING:
    from pipeline import plots

Link = Callable[..., str | None]
"""The address of a page with parameters; None where the host does not have it."""
NULL = cells.NULL
LONG_MESSAGE = 1_200
"""A longer message is shown folded."""
LONG_ALONE = 240
"""So is a message of more characters that no other player saw: a thought, an analysis."""
LONGEST_MESSAGE = 100_000
"""Of a longer text a page shows the beginning: JSON and CSV have the whole."""
MOST_CHARACTERS = 128 * 2**20
"""An answer as CSV or JSON has at most so many characters, since it is held in memory."""


@cache
def environment() -> Environment:
    """The templates, with what they can call. Everything that they insert is escaped."""
    templates = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    templates.filters |= {
        "text": text,
        "number": number,
        "words": words,
        "title_of": title,
        "brief": brief,
        "cut": cut,
        "counted": cells.counted,
        "settings": cells.settings,
    }
    templates.globals |= {
        "EVERYBODY": EVERYBODY,
        "bar": bar,
        "ends": cells.ends,
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
        "sign": sign,
        "kind_of": style,
        "plot": plot,
        "slice_of": slice_of,
    }
    return templates


_CARRIED = {"edition": PAPER, "system": "", "failures": ""}
_SEEN_AS = {
    "joined_names": "Names of models that are joined: {}",
    "failures": "A game counts as a loss of the model that failed it",
}


def carrying(link: Link, asked: Mapping[str, object]) -> Link:
    """The links of a page: they lead on in its edition, system and choice of failures,
    wherever a page has these.

    `asked` are the page's own parameters.
    """
    chosen = {
        name: asked[name]
        for name, default in _CARRIED.items()
        if asked.get(name, default) != default
    }

    def carried(name: str, **parameters: object) -> str | None:
        known = page(name).parameters.__struct_fields__ if chosen else ()
        own = {key: value for key, value in chosen.items() if key in known}
        return link(name, **own | parameters)

    return carried


def fragment(name: str, content: Content, asked: Address, link: Link, **more: object) -> Markup:
    """The page as HTML, without a frame.

    `more` can say the `level` of its heading (1), whether it `is_interactive`, so that it has forms
    (true), `prefix_of`, the beginning of the ids in a game by the game and its place, and
    `picture_at`, the address of the page's plot by its form.
    """
    template = environment().select_template([f"{name}.html", "reported.html"])
    link = carrying(link, msgspec.structs.asdict(asked))
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
    seen = (_SEEN_AS[name].format(printable(text)) for name, text in content.seen_as.items())
    lines = [*content.unknown, *seen]
    said = [Markup('<p class="key">{}.</p>\n').format(line) for line in lines]
    return Markup(template.render(context | more)) + Markup("").join(said)


def query_of(asked: Mapping[str, object] | Address) -> str:
    """The parameters as the query of an address; those without a value are left out."""
    values = msgspec.to_builtins(asked) if isinstance(asked, Address) else asked
    given = {name: one for name, one in values.items() if one is not None and one != ""}
    return urlencode({name: _word(one) for name, one in given.items()})


def address(name: str, parameters: Mapping[str, object]) -> str:
    """Return the address of a page."""
    query = query_of(parameters)
    return f"/{name}" + (f"?{query}" if query else "")


def page_link(name: str, at: str = "", **parameters: object) -> str | None:
    """Return the address of a page, `at` one of its places; None for a page that is not there."""
    if name not in NAMES:
        return None
    return address(name, parameters) + (f"#{at}" if at else "")


def as_json(content: Content, asked: Address, state: int) -> str:
    """The content as one JSON object, with the number of the lake's last ingest.

    Raises UsageError where it is too long for one answer.
    """
    fields = msgspec.structs.asdict(content)
    fields |= fields.pop("parts") | fields.pop("seen_as")
    fields = {"ingest": state, "parameters": msgspec.to_builtins(asked)} | fields
    return _within_limit("JSON", chain(_object(fields, ",\n"), ["\n"]))


def as_csv(parts: Iterable[pl.DataFrame]) -> str:
    """The rows, without anything that a spreadsheet would run.

    Raises UsageError where they are too many for one answer: nothing is cut in silence.
    """
    return _within_limit("CSV", safe_csv_texts(parts))


def _within_limit(form: str, texts: Iterable[str]) -> str:
    """The texts as one; raises UsageError as soon as they are too long."""
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


def _json(value: object) -> Iterator[str]:
    """The value as JSON, some rows of a frame at a time."""
    if isinstance(value, pl.DataFrame):
        yield from json_texts([value])
    elif isinstance(value, msgspec.Struct):
        yield from _object({name: getattr(value, name) for name in value.__struct_fields__})
    elif isinstance(value, Mapping):
        yield from _object(value)
    elif isinstance(value, (tuple, list)):
        yield "["
        for at, item in enumerate(value):
            yield ", " if at else ""
            yield from _json(item)
        yield "]"
    else:
        yield safe_json(cells.as_json(value))


def _object(fields: Mapping[Any, object], between: str = ", ") -> Iterator[str]:
    for at, (name, value) in enumerate(fields.items()):
        yield f"{between if at else '{'}{safe_json(cells.as_json(str(name)))}: "
        yield from _json(value)
    yield "}" if fields else "{}"


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- what templates call ------------------------------------------------------------------------


def _finalized(value: object) -> object:
    """What is inserted: a null as a dash, and no text that hides or turns another."""
    if value is None:
        return NULL
    return printable(value) if type(value) is str else value


def text(value: object) -> str:
    """A cell of any type as text."""
    return cells.texts([value])[0]


def number(value: float | None, decimals: int = 3) -> str:
    """A number with so many decimals."""
    return cells.texts([value], decimals)[0]


def brief(value: str | None, n_signs: int) -> str:
    """The beginning of a text, on one line."""
    line = " ".join((value or "").split())
    return printable(line if len(line) <= n_signs else line[: n_signs - 1] + "…")


def mark(hit: float | None) -> Markup:
    """A hit, a miss, or how much of a hit, as a sign and in words."""
    label = result(hit) if hit is None else f"{sign(hit)} {result(hit)}"
    return Markup(f'<span class="result {style(hit)}">{label}</span>')


def chart(kind: str, rows: pl.DataFrame, *more: object, **options: object) -> "plots.Chart | None":
    """A plot of `pipeline.plots`; None where there is nothing to draw."""
    value = "area" if kind == "radar" else "value"
    if value in rows.columns and rows[value].is_null().all():
        return None
    from pipeline import plots

    return getattr(plots, f"plot_{kind}")(rows, *more, **options)  # type: ignore[no-any-return]


def plot(
    kind: str, rows: pl.DataFrame, *more: object, prefix: str = "", **options: object
) -> Markup:
    """The plot as SVG; nothing where there is nothing to draw."""
    drawn = chart(kind, rows, *more, **options)
    if drawn is None:
        return Markup("")
    from pipeline import plots

    # Marks of ours, with texts that the library escapes.
    return Markup(plots.svg(drawn, prefix=prefix or f"plot-{kind}"))


def picture(name: str, content: Content, asked: Address, form: str) -> bytes:
    """The plot of a page as a file: `svg` or `png`; raises UsageError for a page without one."""
    from pipeline import plots

    drawn: list[plots.Chart] = []

    def keep(
        kind: str, rows: pl.DataFrame, *more: object, prefix: str = "", **options: object
    ) -> str:
        drawn.extend(filter(None, [chart(kind, rows, *more, **options)]))
        return ""

    fragment(name, content, asked, lambda *_, **__: None, plot=keep)
    if not drawn:
        raise UsageError(f"the page {name} has no plot here: choose one that shows a plot")
    return plots.file(drawn[0], form)


def cut(value: object, most: int = LONGEST_CELL) -> Markup:
    """A cell of any type as text; of a long one the beginning, and how long the whole is."""
    return Markup(html.beginning(text(value), most))


def words(value: object) -> str:
    """A name of ours as words: `win_rate` as `win rate`."""
    return NULL if value is None else printable(column.words(str(value)))
