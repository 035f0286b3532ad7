"""Words in the messages of all games."""

from collections.abc import Iterable
from typing import Any

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.column import schema
from pipeline.errors import UsageError
from pipeline.pages.address import AFTER, GAME_TYPE, SAME_EDITION, Field, address, given, text
from pipeline.pages.content import ROWS, Content, Faults
from pipeline.reports.search import COLUMNS, Hits

LANE = "search"
TIMEOUT = 10.0
MOST = 100_000
"""A CSV has at most so many messages."""


Parameters = address(
    text("words", "Words", "all of these words", 30),
    text("model", "Speaker’s model", "any", 16),
    GAME_TYPE,
    Field("secret", "says the secret word", bool, False),
    Field("aloud", "said to other players", bool, False),
    Field("tested", "tested players only", bool, False),
    Field("roles", kind=bool, default=True),
    SAME_EDITION,
    AFTER,
)


def content(lake: AnsweringLake, asked: Any) -> Content:
    """The messages that have all of the words; nothing before there is anything to search for."""
    faults, hits = Faults(), Hits(pl.DataFrame(schema=schema(COLUMNS)), 0, 0, "", None)
    if asked.words or asked.secret:
        with faults.of("words"):
            hits = _hits(lake, asked, ROWS, asked.after or None)
    parts = {
        "n_searched": hits.n_searched,
        "n_messages": hits.n_messages,
        "stopped": hits.stopped or None,
        "timeout": TIMEOUT,
    }
    return Content(title="Search", rows=hits.rows, after=hits.key, parts=parts, faults=faults)


def whole(lake: AnsweringLake, asked: Any) -> Iterable[pl.DataFrame]:
    """All messages found, whatever the page; raises UsageError where they take too long."""
    if not (asked.words or asked.secret):
        return [content(lake, asked).rows]
    hits = _hits(lake, asked, MOST, None)
    if hits.stopped != "end":
        raise UsageError(
            f"the search stopped after {hits.n_searched:,} of {hits.n_messages:,} messages: ask "
            "for less, or use `magic search --format csv`"
        )
    return [hits.rows]


def _hits(lake: AnsweringLake, asked: Any, limit: int, after: str | None) -> Hits:
    flags = {name: getattr(asked, name) for name in ("secret", "aloud", "tested")}
    who = given(asked, "model", "game_type")
    return lake.search(asked.words, **who, **flags, limit=limit, timeout=TIMEOUT, after=after)
