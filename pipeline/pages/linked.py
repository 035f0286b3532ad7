"""Tables on pages: each with links to what is behind its cells, and drawings of its intervals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import polars as pl
from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from pipeline.metrics.known import metric, names
from pipeline.metrics.request import ALL, PAPER
from pipeline.pages.bar import bar
from pipeline.present import html, present
from pipeline.present.html import Around, Row, Sorting
from pipeline.present.table import Table
from pipeline.sqlfiles import identifier, literal
from pipeline.vocabulary import Edition

SIGNIFICANT = 0.05
Address = Callable[[Row], str | None]


@pass_context
def to(context: Context, page: str, *columns: str, **parameters: object) -> Address:
    """The address of a page for a row: its parameters are the row's `columns`, and the others."""
    link = context["link"]
    return lambda row: link(page, **{name: row[name] for name in columns}, **parameters)


@pass_context
def here(context: Context, at: str = "", **changes: object) -> str | None:
    """The address of this page from its first row on, with these parameters changed."""
    given = msgspec.to_builtins(context["asked"])
    own = {name: value for name, value in given.items() if name not in ("after", "seen")}
    address: str | None = context["link"](context["name"], **own | changes, at=at)
    return address


@pass_context
def table(
    context: Context,
    name: str,
    rows: pl.DataFrame,
    caption: str = "",
    *,
    id: str = "",
    kind: str = "",
    also: Sequence[str] = (),
    without: Sequence[str] = (),
    ticks: Mapping[str, Sequence[float]] | None = None,
    links: Mapping[str, Address] | None = None,
    groups: Sequence[str] = (),
    sorts: bool = False,
) -> Markup:
    """A result as `present` shows it, or any frame; `also` are shown, and `without` are left out.

    `groups` are the columns that the rows are grouped by. By metric, `ticks` are the values of
    others. With `sorts`, headings lead to the page sorted by them.
    """
    asked, link = context["asked"], context["link"]
    shown = present(name, rows) if name else Table("", rows)
    shown = replace(shown, hidden=[*({*shown.hidden} - {*also}), *without])
    edition: Edition = getattr(asked, "edition", PAPER)
    to = _links(shown, link, asked, groups) | dict(links or {})
    around = Around(
        links=to,
        sorting=_sorting(shown, context) if sorts and context["is_interactive"] else None,
        drawing=_drawing(shown, edition, ticks or {}),
        attributes=_attributes,
    )
    # All texts in it are escaped.
    return Markup(html.table(shown, around, caption=caption, id=id, kind=kind))


def _links(
    shown: Table,
    link: Callable[..., str | None],
    asked: Any,
    groups: Sequence[str],
) -> dict[str, Address]:
    """Where the cells of each column lead: what names something to its page, values to evidence."""
    edition = getattr(asked, "edition", PAPER)
    where, of_type = getattr(asked, "where", ""), getattr(asked, "game_type", ALL)

    def of(name: str, page: str, parameter: str, **more: object) -> Address:
        return lambda row: (
            None if row[name] is None else link(page, **{parameter: row[name]}, **more)
        )

    def to_evidence(name: str) -> Address:
        def address(row: Row) -> str | None:
            whole = {"metric": name, "game_type": of_type, **row}
            return link(
                "evidence",
                metric=whole["metric"],
                model=whole.get("model"),
                edition=edition,
                game_type=whole["game_type"],
                where=narrowed(where, groups, row),
            )

        return address

    own = {
        "model": of("model", "model", "model", edition=edition),
        "metric": of("metric", "metric", "metric", edition=edition),
        "game_id": of("game_id", "game", "game"),
    }
    if shown.name == "leaderboard":
        own["n_missing"] = lambda row: (
            link("missing", model=row["model"]) if row["n_missing"] else None
        )
    found = {name: one for name, one in own.items() if name in shown.seen.columns}
    values = [one.value for one in shown.estimates if one.counted and one.value]
    return found | {name: to_evidence(name) for name in values}


def _sorting(shown: Table, context: Context) -> Callable[[str], Sorting]:
    """The link of a heading: numbers from above first, a second click turns the order."""
    asked = context["asked"]
    numbers = {one.name for one in shown.fields if one.is_number or one.estimate} - {"rank"}

    def sorting(name: str) -> Sorting:
        is_on = asked.sort == name
        first = "down" if name in numbers else "up"
        order = ("up" if asked.order == "down" else "down") if is_on else first
        direction = "descending" if asked.order == "down" else "ascending"
        return Sorting(here(context, sort=name, order=order), direction if is_on else "")

    return sorting


def _drawing(
    shown: Table,
    edition: Edition,
    ticks: Mapping[str, Sequence[float]],
) -> Callable[[str, Row], str]:
    """The picture of an interval on the range of its metric."""
    there = {name: metric(name, edition) for name in names(edition)}
    ranges = {name: (one.low, one.high) for name, one in there.items()}
    by_value = {one.value: one for one in shown.estimates if one.low}

    def drawing(name: str, row: Row) -> str:
        of_metric = str({"metric": name, **row}["metric"])
        estimate = by_value.get(name)
        if estimate is None or of_metric not in ranges:
            return ""
        ends = row.get(estimate.low or ""), row.get(estimate.high or "")
        return str(bar(row[name], *ends, ranges[of_metric], field=ticks.get(of_metric, ())))

    return drawing


def _attributes(row: Row) -> dict[str, str | None]:
    is_incomplete = row.get("is_complete") is False and "rank" in row
    return {
        "class": "incomplete" if is_incomplete else None,
        "data-metric": row.get("metric"),
    }


def narrowed(where: str, groups: Sequence[str], row: Row) -> str:
    """The condition of a group: what was asked, and the values of the columns grouped by."""
    parts = [f"({where})"] if where else []
    for column in groups:
        value = row[column]
        if column in ("model", "game_type"):
            continue
        name = identifier(column)
        if value is None:
            parts.append(f"{name} IS NULL")
        elif isinstance(value, bool):
            parts.append(f"{name} = {str(value).lower()}")
        else:
            is_number = isinstance(value, int | float)
            parts.append(f"{name} = {value if is_number else literal(str(value))}")
    return where if parts == [f"({where})"] else " AND ".join(parts)
