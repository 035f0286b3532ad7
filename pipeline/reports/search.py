"""A search for words in the messages of all games; its time and number of hits are limited."""

import math
import re
import time
from collections.abc import Mapping, Sequence

import polars as pl
from msgspec import Struct

from pipeline import column
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES, no_rows
from pipeline.games import names
from pipeline.lake import StoredLake, reopened
from pipeline.lake.stream import stream
from pipeline.metrics.request import check_players, check_words, chosen

LIMIT = 50
TIMEOUT = 30.0
MOST_WORDS, LONGEST_WORD = 20, 200
AROUND = 60
"""So many characters are shown on each side of a hit."""

_PLACE = (
    *("game_id", "game_type", "message_index", "phase", "round"),
    *("seat", "player", "model", "role"),
)
COLUMNS: Mapping[str, column.Column] = {
    **{name: TABLES["messages"].columns()[name] for name in _PLACE},
    "message_index": TABLES["messages"].columns()["message_index"].shown("message"),
    "before": column.text("the text before the hit"),
    "hit": column.text("the first hit in the message's text"),
    "after": column.text("the text after the hit"),
    "system": TABLES["games"].columns()["system"],
}
_KEY = re.compile(r"(\d{1,18})\.(\d{1,18})")

_ELEMENT = pl.element()
# A word as a whole, or its plural: "carry" does not say "car". Only ASCII letters beside it make
# it a part of another word, since Chinese has no blanks between words.
_BEGIN, _END = r"(?i:(?-u:\b{start-half})(?:", r")(?:e?s)?(?-u:\b{end-half}))"


@column.listed(COLUMNS)
class Hits(Struct, frozen=True):
    """The messages found, and where the search stopped.

    `rows` are the messages, each with its place and its text around the first hit.
    `n_searched` of the lake's `n_messages` were searched so far, earlier pages included. `stopped`
    says why the search ended: `end`, `limit` or `time`. `key` continues it; null at the end.
    """

    rows: pl.DataFrame
    n_searched: int
    n_messages: int
    stopped: str
    key: str | None


def search(
    lake: StoredLake,
    words: str | Sequence[str] = (),
    *,
    model: str | Sequence[str] | None = None,
    game_type: str | Sequence[str] | None = None,
    tested: bool = False,
    aloud: bool = False,
    secret: bool = False,
    limit: int = LIMIT,
    timeout: float = TIMEOUT,
    after: str | None = None,
) -> Hits:
    """The messages that contain every one of the words, in the order of the lake's files.

    A text is split into words at blanks; each item of a list is searched as it is, blanks
    included. Case is ignored, no sign has a special meaning, and a word may be a part of a longer
    one. `model` is that of the speaker; `tested` leaves out players that are not under test, and
    `aloud` what no other player was shown.

    `secret` finds what players said with a secret word of their own game in it, its `word` or
    `other_word`, as a whole word or with -s or -es. Then `words` may be left out, and `hit` is the
    secret word.

    The search stops after `limit` messages found or after `timeout` seconds; to continue, pass the
    result's `key` as `after`. A key belongs to a state of the lake, and a search that continues
    stays in this state. Raises UsageError for words that are missing or too long, for an unknown
    model or game type, and for a wrong limit or key.

    >>> hits = lake.search(["i vote for"], game_type="chameleon", limit=2)
    >>> hits.rows["hit"].to_list(), hits.stopped
    (['I vote for', 'I vote for'], 'limit')
    """
    asked = _words(words, secret)
    if limit < 1:
        raise UsageError("the limit must be 1 message or more")
    if not 0 < timeout < math.inf:
        raise UsageError("the timeout must be more than 0 seconds")
    check_words("game type", game_type, names())
    check_players(lake, model)
    state, start = _begun(lake, after)
    wanted = _wanted(asked, model, game_type, tested, aloud)
    secrets = _secret_words(state) if secret else None
    read = [*_PLACE, "content", *["is_tested"] * tested, *["visible_to"] * aloud]
    ends_at = time.monotonic() + timeout
    none = no_rows("messages").select(*_PLACE, "content")
    parts = [none.with_columns(pattern=pl.lit(""))]
    pattern = pl.lit("" if secret else _pattern(asked[0]))
    n_left, stopped, at = limit, "end", start
    for first, rows in stream(state, "messages", read, start):
        hits = rows.with_row_index("row").filter(wanted)
        hits = hits.with_columns(pattern=pattern) if secrets is None else _said(hits, secrets)
        hits = hits.head(n_left)
        n_left -= hits.height
        at = first + (hits["row"][-1] + 1 if n_left == 0 else rows.height)
        parts.append(hits.drop("row", "is_tested", "visible_to", strict=False))
        if n_left == 0 or time.monotonic() >= ends_at:
            stopped = "time" if n_left else "limit"
            break
    n_messages = sum(state.counts("messages").values())
    found = pl.concat(parts)
    is_found = pl.col("game_id").is_in(found["game_id"].unique().to_list())
    games = state.table("games").filter(is_found).select("game_id", "system").collect()
    shown = _around(found.join(games, on="game_id", how="left", maintain_order="left"))
    if at >= n_messages:
        return Hits(shown, n_messages, n_messages, "end", None)
    return Hits(shown, at, n_messages, stopped, f"{state.ingest_id}.{at}")


def _words(words: str | Sequence[str], secret: bool) -> tuple[str, ...]:
    """The words as a tuple; raises UsageError if a word is needed and missing, or too long."""
    asked = tuple(words.split()) if isinstance(words, str) else tuple(words)
    if not (asked or secret) or not all(map(str.strip, asked)):
        raise UsageError("name at least one word to search for; a word must not be blank")
    if len(asked) > MOST_WORDS or max(map(len, asked), default=0) > LONGEST_WORD:
        raise UsageError(
            f"search for {MOST_WORDS} words or fewer, each of {LONGEST_WORD} characters or fewer"
        )
    return asked


def _begun(lake: StoredLake, after: str | None) -> tuple[StoredLake, int]:
    """The state of the lake that is searched, and the number of the first row to look at."""
    if after is None:
        return lake, 0
    key = _KEY.fullmatch(after)
    if key is None:
        raise UsageError(f"`{after}` is not a key that a search ended with, such as 3.20000")
    ingest_id, row = map(int, key.groups())
    return lake if ingest_id == lake.ingest_id else reopened(lake, ingest_id), row


def _wanted(
    words: Sequence[str],
    model: str | Sequence[str] | None,
    game_type: str | Sequence[str] | None,
    tested: bool,
    aloud: bool,
) -> pl.Expr:
    audience = pl.col("visible_to")
    is_own = audience.list.contains(pl.col("player")).fill_null(value=False)
    conditions = [
        (True, chosen(model=model, game_type=game_type)),
        (tested, pl.col("is_tested")),
        (aloud, audience.list.len() > is_own.cast(pl.UInt32)),
        *((True, pl.col("content").str.contains(_pattern(word))) for word in words),
    ]
    return pl.all_horizontal(condition for is_asked, condition in conditions if is_asked)


def _pattern(word: str) -> str:
    """A regular expression for the word itself, whatever its case."""
    return f"(?i:{pl.escape_regex(word)})"


def _secret_words(lake: StoredLake) -> pl.DataFrame:
    """game_id, pattern: of each game with secret words, a regular expression for any of them."""
    words = pl.concat_list("word", "other_word").list.eval(
        _ELEMENT.str.strip_chars().replace("", None).drop_nulls()
    )
    # Of two that begin alike, the longer one is tried first.
    ordered = words.list.eval(_ELEMENT.sort_by(_ELEMENT.str.len_chars(), descending=True))
    either = ordered.list.eval(_ELEMENT.str.escape_regex()).list.join("|")
    return (
        lake.table("games")
        .filter(pl.col("word").is_not_null() | pl.col("other_word").is_not_null())
        .select("game_id", pattern=either)
        .filter(pl.col("pattern") != "")
        .with_columns(pattern=pl.concat_str(pl.lit(_BEGIN), "pattern", pl.lit(_END)))
        .collect(engine="streaming")
    )


def _said(rows: pl.DataFrame, words: pl.DataFrame) -> pl.DataFrame:
    """The rows in which a player says a secret word of the same game, with its `pattern`."""
    # No pattern can be wrong, but of a word of megabytes it is too large to be used.
    says_it = pl.col("content").str.contains(pl.col("pattern"), strict=False)
    return (
        rows.filter(pl.col("seat").is_not_null())
        .join(words, on="game_id", how="inner", maintain_order="left")
        .filter(says_it)
    )


def _around(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the first hit of their `pattern`, and the text before and after it."""
    near = f"(?s:.{{0,{AROUND}}}"
    parts = [
        part.with_columns(
            pl.col("content")
            .str.extract_groups(rf"(?P<before>{near}?))(?P<hit>{pattern})(?P<after>{near}))")
            .struct.unnest()
        )
        for (pattern,), part in rows.with_row_index("row").group_by("pattern")
    ]
    if not parts:
        return pl.DataFrame(schema=column.schema(COLUMNS))
    return pl.concat(parts).sort("row").select(*COLUMNS)
