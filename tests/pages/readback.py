"""Pages made without a server, and what stands on them, read back out of their HTML."""

from html.parser import HTMLParser
from typing import Any

import polars as pl

from pipeline.pages import compute_page_content, parse_page_parameters, render_page_fragment
from pipeline.pages.content import PageContent
from pipeline.pages.templating import page_link


class Cells(HTMLParser):
    """The rows of the table with an id: each cell as its text, its data values, metric and link."""

    def __init__(self, table: str) -> None:
        super().__init__()
        self._wanted = table
        self._is_in = False
        self._kind: str | None = None
        self.rows: list[list[dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "table":
            self._is_in = given.get("id") == self._wanted
        if not self._is_in:
            return
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append({"text": "", "metric": given.get("data-metric", "")})
        elif tag == "a" and self.rows[-1]:
            self.rows[-1][-1]["href"] = given.get("href", "")
        elif tag == "data":
            self.rows[-1][-1][given.get("class", "data")] = given["value"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._is_in = False

    def handle_data(self, data: str) -> None:
        if self._is_in and self.rows and self.rows[-1]:
            self.rows[-1][-1]["text"] += data.strip()


def table(text: str, name: str) -> list[list[dict[str, str]]]:
    """The rows of a table, its heading first."""
    cells = Cells(name)
    cells.feed(text)
    return cells.rows


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
