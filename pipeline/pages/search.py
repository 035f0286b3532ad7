"""Words in the messages of all games."""

from collections.abc import Iterable

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.column import schema
from pipeline.errors import UsageError
from pipeline.pages.content import ROWS, Address, Content, Faults, choices, game_types
from pipeline.reports.search import COLUMNS, Hits
from pipeline.vocabulary import ALL, Edition

LANE = "search"
TIMEOUT = 10.0
MOST = 100_000
"""A CSV has at most so many messages."""


class Parameters(Address, frozen=True, kw_only=True):
    words: str = ""
    model: str = ""
    game_type: str = ALL
    secret: bool = False
    aloud: bool = False
    tested: bool = False
    roles: bool = False
    edition: Edition = "paper"
    after: str = ""


class SearchContent(Content, frozen=True, kw_only=True):
    """`rows` are those of `search`; `after` is the key to continue from."""

    game_types: tuple[str, ...]
    n_searched: int
    n_messages: int
    stopped: str | None
    after: str | None
    timeout: float


def content(lake: AnsweringLake, asked: Parameters) -> SearchContent:
    """The messages that have all of the words; nothing before there is anything to search for."""
    faults, hits = Faults(), Hits(pl.DataFrame(schema=schema(COLUMNS)), 0, 0, "", None)
    if asked.words or asked.secret:
        with faults.of("words"):
            hits = _hits(lake, asked, ROWS, asked.after or None)
    return SearchContent(
        title="Search",
        rows=hits.rows,
        game_types=game_types(lake, asked.game_type),
        n_searched=hits.n_searched,
        n_messages=hits.n_messages,
        stopped=hits.stopped or None,
        after=hits.key,
        timeout=TIMEOUT,
        faults=faults,
    )


def whole(lake: AnsweringLake, asked: Parameters) -> Iterable[pl.DataFrame]:
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


def _hits(lake: AnsweringLake, asked: Parameters, limit: int, after: str | None) -> Hits:
    flags = {name: getattr(asked, name) for name in ("secret", "aloud", "tested")}
    who = choices(asked, "model", "game_type")
    return lake.search(asked.words, **who, **flags, limit=limit, timeout=TIMEOUT, after=after)
