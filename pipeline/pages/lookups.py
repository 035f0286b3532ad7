"""The pages of what a lake has: tables, SQL over them, words in messages, gaps in its games."""

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.column import schema
from pipeline.errors import PipelineError, UsageError
from pipeline.events.contracts import TABLES
from pipeline.pages.content import (
    AFTER,
    EDITION,
    GAME_TYPE,
    ROWS,
    SAME_EDITION,
    Content,
    Faults,
    Field,
    Page,
    address,
    first_rows,
    given,
)
from pipeline.plots import plot_columns
from pipeline.reports.audit import TITLES, findings_parts
from pipeline.reports.schema import known_views, meaning
from pipeline.reports.search import COLUMNS, Hits
from pipeline.reports.views import schemas
from pipeline.sandbox import Sandbox

# --- tables -------------------------------------------------------------------------------------

SAMPLE = 20
_VIEW_COLUMNS = ("column", "type", "description")


def tables(lake: AnsweringLake, asked: Any) -> Content:
    """The tables with their sizes, and one of them, or a view, in detail.

    `rows` is a row for each table, or the sample of the table that is asked for. Of a view there is
    no sample, which could take long: `rows` are its `columns`.
    """
    name, sizes = asked.table, lake.tables()
    if not name:
        parts = {"sizes": sizes, "columns": None, "meaning": None, "is_view": False}
        return Content(title="Tables", rows=sizes, parts=parts)
    views = known_views([name])
    columns = lake.schema(name)
    return Content(
        title=f"{'View' if views else 'Table'} {name}",
        rows=columns.select(_VIEW_COLUMNS) if views else lake.table(name).head(SAMPLE).collect(),
        parts={
            "sizes": sizes,
            "columns": columns,
            "meaning": meaning(name, views).rstrip("."),
            "is_view": name not in TABLES,
        },
    )


# --- SQL ----------------------------------------------------------------------------------------

SQL_SECONDS = 20.0
SQL_MEMORY = 2**30
SHOWN = 1000
"""A page shows so many rows; `.csv` and `.json` have all."""


def sql(lake: AnsweringLake, asked: Any) -> Content:
    """The result of the query, from a process of its own; nothing before there is one.

    The plot is of two of its columns, `place` is where the query fails. `columns` are those of the
    tables, and `schemas` those of the views.
    """
    faults, rows, place, notes = Faults(), pl.DataFrame(), "", []
    has_query = bool(asked.query.strip())
    try:
        if has_query:
            with Sandbox(timeout=SQL_SECONDS, memory=SQL_MEMORY) as sandbox:
                rows = sandbox.sql(lake, asked.query)
    except PipelineError as error:
        faults["query"] = getattr(error, "message", str(error))
        place = getattr(error, "place", "")
    is_plotted = bool(asked.x and asked.y and not faults)
    try:
        if is_plotted:
            plot_columns(rows, asked.x, asked.y)
    except UsageError as error:  # the columns may be those of the query before
        is_plotted, notes = False, [f"no plot: {error}"]
    return Content(
        title="SQL",
        rows=rows,
        parts={
            "columns": lake.schema(),
            "schemas": tuple(schemas()),
            "place": place,
            "has_run": has_query and not faults,
            "is_plotted": is_plotted,
            "shown": SHOWN,
            "timeout": SQL_SECONDS,
        },
        notes=notes,
        faults=faults,
    )


# --- search -------------------------------------------------------------------------------------

SEARCH_SECONDS = 10.0
MOST_FOUND = 100_000
"""A CSV has at most so many messages."""


def search(lake: AnsweringLake, asked: Any) -> Content:
    """The messages that have all of the words; nothing before there is anything to search for."""
    faults, hits = Faults(), Hits(pl.DataFrame(schema=schema(COLUMNS)), 0, 0, "", None)
    if asked.words or asked.secret:
        with faults.of("words"):
            hits = _hits(lake, asked, ROWS, asked.after or None)
    parts = {
        "n_searched": hits.n_searched,
        "n_messages": hits.n_messages,
        "stopped": hits.stopped or None,
        "timeout": SEARCH_SECONDS,
    }
    return Content(title="Search", rows=hits.rows, after=hits.key, parts=parts, faults=faults)


def all_found(lake: AnsweringLake, asked: Any) -> Iterable[pl.DataFrame]:
    """All messages found, whatever the page; raises UsageError where they take too long."""
    if not (asked.words or asked.secret):
        return [search(lake, asked).rows]
    hits = _hits(lake, asked, MOST_FOUND, None)
    if hits.stopped != "end":
        raise UsageError(
            f"the search stopped after {hits.n_searched:,} of {hits.n_messages:,} messages: ask "
            "for less, or use `magic search --format csv`"
        )
    return [hits.rows]


def _hits(lake: AnsweringLake, asked: Any, limit: int, after: str | None) -> Hits:
    flags = {name: getattr(asked, name) for name in ("secret", "aloud", "tested")}
    more = given(asked, "model", "game_type") | flags
    return lake.search(asked.words, **more, limit=limit, timeout=SEARCH_SECONDS, after=after)


# --- gaps and contradictions --------------------------------------------------------------------


def completeness(lake: AnsweringLake, asked: Any) -> Content:
    """The games of each model and competition, and the bounds of values."""
    readability = lake.readability(edition=asked.edition, expected=asked.expected)
    rows = lake.completeness(expected=asked.expected)
    return Content(title="Completeness", rows=rows, parts={"readability": readability})


def audit(lake: AnsweringLake, asked: Any) -> Content:
    """How often logs contradict themselves, and the first findings of the kind asked for."""
    rows, findings = lake.audit(**given(asked, "model")), None
    if asked.kind:
        findings = first_rows(all_findings(lake, asked), ROWS)
    parts = {
        "findings": None if findings is None else findings.head(ROWS),
        "finding": TITLES[asked.kind] if asked.kind else None,
        "is_cut": findings is not None and findings.height > ROWS,
    }
    return Content(title="Audit", rows=rows, parts=parts)


def all_findings(lake: AnsweringLake, asked: Any) -> Iterator[pl.DataFrame]:
    """All findings of the kind that is asked for."""
    return findings_parts(lake, asked.kind, **given(asked, "model"))


PAGES = {
    "tables": Page(address(Field("table")), tables, lane="quick"),
    "sql": Page(address(Field("query"), Field("x"), Field("y")), sql, lane="free"),
    "search": Page(
        address(
            Field("words", "Words", hint="all of these words", size=30),
            Field("model", "Speaker’s model", hint="any", size=16),
            GAME_TYPE,
            Field("secret", "says the secret word", bool, False),
            Field("aloud", "said to other players", bool, False),
            Field("tested", "tested players only", bool, False),
            Field("roles", kind=bool, default=True),
            SAME_EDITION,
            AFTER,
        ),
        search,
        lane="search",
        whole=all_found,
    ),
    "completeness": Page(
        address(
            Field("expected", "Games expected", int | None, None, hint="as others played", size=14),
            EDITION,
            is_of_system=True,
            report="completeness",
        ),
        completeness,
    ),
    "audit": Page(
        address(Field("kind"), Field("model")), audit, whole=all_findings, frame="findings"
    ),
}
