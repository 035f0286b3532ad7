"""Tables on pages: each with links to what is behind its cells, and drawings of its intervals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec
import polars as pl
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from pipeline.cells import EMPTY_TEXT, NULL
from pipeline.metrics import DEFAULT_CONFIDENCE
from pipeline.metrics.known import highest_value, names
from pipeline.metrics.request import row_schema
from pipeline.present import html, present
from pipeline.present.html import Around, Row, Sorting
from pipeline.present.table import Table
from pipeline.sqlfiles import identifier, literal
from pipeline.statistics.families import reaches
from pipeline.vocabulary import ALL, PAPER, Edition

Address = Callable[[Row], str | None]


@pass_context
def to(
    context: Context,
    page: str,
    *columns: str,
    when: str = "",
    unless: str = "",
    **parameters: object,
) -> Address:
    """The address of a page for a row: its parameters are the row's `columns`, and the others.

    A row with a null in one of the columns has none, nor one without anything in the column `when`,
    or with something in `unless`.
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
    """The address of this page from its first row on, with these parameters changed."""
    given = msgspec.to_builtins(context["asked"])
    own = {name: value for name, value in given.items() if name not in ("frame", "after", "seen")}
    address: str | None = context["link"](context["name"], **own | changes, at=at)
    return address


@pass_context
def narrowed_to(context: Context, *columns: str, at: str = "", **changes: object) -> Address:
    """The address of this page for a row: its parameters with the row's `columns` and changes."""
    return lambda row: here(context, at, **{name: row[name] for name in columns}, **changes)


@pass_context
def to_model(context: Context, model: str | None, system: str | None = None) -> str | None:
    """The address of a model's page, None for no model: of the system, if it is known.

    Where rows are of several systems, and do not say of which, it is that of the model's games.
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
    links: Mapping[str, Address | None] | None = None,
    inner: Mapping[str, Callable[[Row], str]] | None = None,
    game_query: Mapping[str, object] | None = None,
    groups: Sequence[str] = (),
    frame: str | None = None,
    sorts: bool = False,
    percent: bool = False,
) -> Markup:
    """A result as `present` shows it, or any frame; `also` are shown, `without` are left
    out, and `always` are shown even if no row has anything in them.

    A page, unlike a report, shows what is `also` there.
    `groups` are the columns that the rows are grouped by. By metric, `ticks` are the values of
    others. `inner` are macros that write what is in a column's cells, and `game_query` what
    links to games have besides. `frame` is its name among the page's frames. With `sorts`, headings
    lead to the page sorted by them. Shares can be shown in `percent`.
    """
    asked = context["asked"]
    columns = getattr(asked, "columns", None)
    shown = present(name, rows, percent=percent, columns=columns) if name else Table("", rows)
    shown = shown.with_also(*also) if "is_interactive" in context else shown
    shown = replace(
        shown,
        hidden=[*shown.hidden, *without],
        optional=[name for name in shown.optional if name not in always],
        headings={**shown.headings, **(headings or {})},
    )
    around = Around(
        links=_links(shown, context, groups, game_query or {}) | dict(links or {}),
        inner=inner or {},
        sorting=_sorting(shown, context) if sorts and context["is_interactive"] else None,
        drawing=_drawing(shown, context, ticks or {}, asked.metric if columns else ""),
        attributes=_attributes,
    )
    frames = getattr(context.get("page"), "frames", {})
    frame = frame or next((name for name, one in frames.items() if one is rows), None)
    # All texts in it are escaped.
    return Markup(html.table(shown, around, caption=caption, id=id, kind=kind, frame=frame))


def _links(
    shown: Table, context: Context, groups: Sequence[str], game_query: Mapping[str, object]
) -> dict[str, Address]:
    """Where the cells of each column lead: what names something to its page, values to evidence."""
    asked = context["asked"]
    link: Callable[..., str | None] = context["link"]
    where, game_type = getattr(asked, "where", ""), getattr(asked, "game_type", ALL)
    columns = getattr(asked, "columns", "") if shown.name == "leaderboard" else ""

    def to_game(row: Row) -> str | None:
        """The game, at the message or else the round that the row is about."""
        places = {"m": row.get("message_index"), "r": row.get("round")}
        at = next((f"{sign}{one}" for sign, one in places.items() if one is not None), "")
        game = row.get("game_id")
        return None if game is None else link("game", game=game, at=at, **game_query)

    def to_evidence(name: str) -> Address:
        def address(row: Row) -> str | None:
            whole = {"metric": name, "game_type": game_type, **row}
            own = groups
            if columns:  # named by its value
                own = [*groups, columns]
                whole |= {"metric": asked.metric, columns: _value(asked.metric, columns, name)}
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
    values = [one.value for one in shown.estimates if one.counted and one.value]
    return there | {name: to_evidence(name) for name in values}


def _sorting(shown: Table, context: Context) -> Callable[[str], Sorting]:
    """The link of a heading: numbers from above first, a second click turns the order."""
    asked = context["asked"]
    numbers = {one.name for one in shown.fields if one.is_number or one.estimate} - {"rank"}

    def sorting(name: str) -> Sorting:
        if shown.rows.schema.get(name, pl.List).is_nested():
            return Sorting(None)
        is_on = asked.sort == name
        first = "down" if name in numbers else "up"
        order = ("up" if asked.order == "down" else "down") if is_on else first
        direction = "descending" if asked.order == "down" else "ascending"
        return Sorting(here(context, sort=name, order=order), direction if is_on else "")

    return sorting


def _drawing(
    shown: Table, context: Context, ticks: Mapping[str, Sequence[float]], of: str
) -> Callable[[str, Row], str]:
    """The picture of an interval on the range that its metric has in the games of the row.

    The metric is `of` for all rows, if it is not empty.
    """
    edition: Edition = getattr(context["asked"], "edition", PAPER)
    there = names(edition)
    source = context.get("page") or context["report"]
    game_types = source.game_types
    by_value = {one.value: one for one in shown.estimates if one.low}

    def drawing(name: str, row: Row) -> str:
        metric_name = str({"metric": of or name, **row}["metric"])
        estimate = by_value.get(name)
        if estimate is None or metric_name not in there:
            return ""
        highest = highest_value(metric_name, edition, game_types, row.get("game_type") or ALL)
        ends = row.get(estimate.low or ""), row.get(estimate.high or "")
        if name == "difference":
            return str(bar(row[name], *ends, (-highest, highest), field=[0.0]))
        field = ticks.get(metric_name, ())
        return str(bar(row[name], *ends, (0.0, highest), field=field))

    return drawing


def _attributes(row: Row) -> dict[str, str | None]:
    p_holm = row.get("p_holm")
    kinds = {
        "incomplete": row.get("is_complete") is False and "metric" not in row,
        "differs": p_holm is not None and reaches(p_holm, DEFAULT_CONFIDENCE),
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
    """The condition of a group: what was asked, and the values of the columns grouped by."""
    own = [name for name in groups if name not in ("model", "game_type")]
    asked = [f"({where})"] if where else []
    parts = [*asked, *(f"{identifier(name)} {_equal_to(row[name])}" for name in own)]
    return " AND ".join(parts) if own else where


def _value(metric: str, column: str, text: str) -> object:
    """The value of a column of the metric's rows that is written so."""
    dtype = row_schema(metric).get(column, pl.String())
    if text == NULL:
        return None
    if text == EMPTY_TEXT:
        return ""
    return msgspec.json.decode(text) if dtype.is_numeric() or dtype == pl.Boolean else text


def _equal_to(value: object) -> str:
    if value is None:
        return "IS NULL"
    if isinstance(value, bool):
        return f"= {str(value).lower()}"
    return f"= {value if isinstance(value, int | float) else literal(str(value))}"


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
    """The interval and value on the range; `field` are the values of others, as ticks."""
    if value is None or bounds[0] >= bounds[1]:
        return Markup("")
    marks = [_line("axis", _EDGE, _WIDTH - _EDGE, _MIDDLE, _MIDDLE)]
    places = [_place(other, bounds) for other in field]
    marks += [_line("tick", x, x, 1, _HEIGHT - 1) for x in places]
    if low is not None and high is not None:
        start, end = _place(low, bounds), _place(high, bounds)
        marks.append(
            f'<rect class="interval" x="{start:.1f}" y="{_MIDDLE - 2}" '
            f'width="{max(end - start, 1):.1f}" height="4" rx="2"/>'
        )
    marks.append(f'<circle class="dot" cx="{_place(value, bounds):.1f}" cy="{_MIDDLE}" r="3"/>')
    # All of it is made of numbers.
    return Markup(
        f'<svg class="bar" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'aria-hidden="true" focusable="false">{"".join(marks)}</svg>'
    )


def _place(value: float, bounds: tuple[float, float]) -> float:
    """Where a value is drawn; what lies outside of the range is drawn at its end."""
    low, high = bounds
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    return _EDGE + share * (_WIDTH - 2 * _EDGE)


def _line(kind: str, left: float, right: float, top: float, bottom: float) -> str:
    return f'<line class="{kind}" x1="{left:.1f}" x2="{right:.1f}" y1="{top}" y2="{bottom}"/>'
