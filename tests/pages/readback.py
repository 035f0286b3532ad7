"""Pages made without a server, and what stands on them, read back out of their HTML."""

import re
from html import unescape
from typing import Any

import polars as pl

from pipeline.pages import compute_page_content, parse_page_parameters, render_page_fragment
from pipeline.pages.content import PageContent
from pipeline.pages.templating import page_link


def table(text: str, name: str) -> list[list[dict[str, str]]]:
    """The rows of a table, its heading first: each cell as its text, data values, metric, link."""
    found = re.search(rf'<table id="{name}".*?</table>', text, re.DOTALL)
    rows = re.findall(r"<tr.*?</tr>", found[0], re.DOTALL) if found else []
    cells = re.compile(r"<t[dh]([^>]*)>(.*?)</t[dh]>", re.DOTALL)
    return [[_cell(tag, inner) for tag, inner in cells.findall(row)] for row in rows]


def _cell(tag: str, inner: str) -> dict[str, str]:
    pieces = [unescape(piece).strip() for piece in re.split("<[^>]*>", inner)]
    cell = {"text": "".join(pieces), "metric": _attributes(tag).get("data-metric", "")}
    for kind, attributes in re.findall("<(data|a) ([^>]*)>", inner):
        given = _attributes(attributes)
        if kind == "a":
            cell["href"] = given.get("href", "")
        else:
            cell[given.get("class", "data")] = given["value"]
    return cell


def _attributes(tag: str) -> dict[str, str]:
    return {name: unescape(text) for name, text in re.findall(r'([\w-]+)="([^"]*)"', tag)}


def number(text: str | None) -> float | None:
    return float(text) if text else None


def content_of(lake: Any, page: str, **given: str) -> PageContent:
    return compute_page_content(page, lake, parse_page_parameters(page, given))


def html(lake: Any, page: str, **given: str) -> str:
    asked = parse_page_parameters(page, given)
    content = compute_page_content(page, lake, asked)
    return str(render_page_fragment(page, content, asked, page_link))


def pages_of(lake: Any, page: str, **given: str) -> pl.DataFrame:
    """The rows of all pages of a list, from the first to the last."""
    parts: list[pl.DataFrame] = []
    after: str | None = ""
    while after is not None:
        shown = content_of(lake, page, **given, after=after)
        assert not shown.faults
        parts.append(shown.rows)
        after = shown.after
    return pl.concat(parts)
