"""What became of each document: read, the same as another, no log, or refused; and why."""

import math
import re
import time
from collections.abc import Mapping, Sequence

import polars as pl
from msgspec import Struct

from pipeline import column
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES, empty_table
from pipeline.games import game_type_names
from pipeline.lake import StoredLake, reopened
from pipeline.lake.row_stream import iter_table_rows
from pipeline.metrics.evidence import sorted_page
from pipeline.metrics.registry import lake_method
from pipeline.metrics.request import check_players, check_words, selection_condition
from pipeline.vocabulary import DocumentStatus

# Rows alike in all of these are alike in every column; the bytes are those of their hash.
QUARANTINE_ORDER = (
    *("source", "path", "json_path", "rule", "message"),
    *("ingest_id", "sha256", "game_id", "n_bytes"),
)
BRIEF_COLUMNS = ("path", "json_path", "rule", "message")
# What was not read comes first.
STATUSES = tuple(
    dict.fromkeys(
        str(status)
        for status in (
            *(DocumentStatus.QUARANTINED, DocumentStatus.IGNORED, DocumentStatus.DUPLICATE),
            *DocumentStatus,
        )
    )
)
KEY = ("source", "path", "sha256", "status")
DOCUMENT_COLUMNS: Mapping[str, column.Column] = {
    "source": column.text_column("the folder or archive that it is in"),
    "path": column.text_column("its path within the source"),
    "status": column.category_column(
        STATUSES, f"what the ingest did with it that found it so: {', '.join(STATUSES)}"
    ),
    "reason": column.text_column(
        "why it was not used; of a game with faulty parts, the rule that the first breaks",
        nullable=True,
    ),
    "detail": column.text_column(
        "what it has instead; of a duplicate, the document that holds the same game", nullable=True
    ),
    "n_faulty_parts": column.count_column(
        "parts of its game that could not be used: `lake.quarantine()` has them"
    ).with_heading("faulty parts"),
    "format": column.text_column("the log format, null if it is not a log", nullable=True),
    "game_id": column.identifier_column("the game that it holds", nullable=True),
    "n_bytes": column.Column(
        pl.Int64(), "its size in bytes, null if it was not read", nullable=True, unit="bytes"
    ).with_heading("size"),
    "ingest_id": column.count_column("the ingest that found it so", low=1).with_heading("ingest"),
}
COUNT_COLUMNS: Mapping[str, column.Column] = {
    "source": DOCUMENT_COLUMNS["source"],
    "status": DOCUMENT_COLUMNS["status"],
    "reason": DOCUMENT_COLUMNS["reason"],
    "n_documents": column.count_column("documents of this status and reason").with_heading(
        "documents"
    ),
    "example": column.text_column("the path of the first of them"),
}
REPEATS = "the same game as "
REPEATED = f"{REPEATS}another document"
# Where a document is, as 128 bits: the texts of millions would take gigabytes.
_LOCATION = {
    name: pl.concat_str("source", pl.lit("/"), "path").hash(seed)
    for seed, name in enumerate(("location", "location_too"))
}


@lake_method
@column.document_columns(DOCUMENT_COLUMNS)
def documents(
    lake: StoredLake,
    *,
    status: str | Sequence[str] | None = None,
    source: str | Sequence[str] | None = None,
    reason: str | Sequence[str] | None = None,
    path: str | None = None,
    sort: str | None = None,
    descending: bool = False,
    limit: int | None = None,
    offset: int = 0,
) -> pl.DataFrame:
    """A row for each document that meets all conditions, sorted by place, at most `limit`.

    A document is as it was last seen to be. `path` is a part of its path. Rows are
    sorted by the column `sort` first, nulls last; the first `offset` are left out.

    Raises UsageError for an unknown status, and for a column that rows cannot be sorted by.

    >>> lake.documents(status="ignored").select("path", "format").rows()[0]
    ('prisoner/setting/0.json', None)
    """
    rows = _asked(lake, {"status": status, "source": source, "reason": reason})
    if path is not None:
        rows = rows.filter(pl.col("path").str.contains(path, literal=True))
    page = sorted_page(
        rows, DOCUMENT_COLUMNS, KEY, offset=offset, limit=limit, sort=sort, descending=descending
    )
    return page.select(*DOCUMENT_COLUMNS).collect(engine="streaming")


@lake_method
@column.document_columns(COUNT_COLUMNS)
def document_counts(lake: StoredLake, *, source: str | Sequence[str] | None = None) -> pl.DataFrame:
    """A row for each source, status and reason, with its number of documents.

    The documents, their status and their reason are those of `documents`.

    >>> lake.document_counts().filter(status="ingested")["n_documents"].item()
    112
    """
    counts = (
        _asked(lake, {"source": source})
        .group_by("source", "status", "reason")
        .agg(n_documents=pl.len().cast(pl.Int64), example=pl.col("path").min())
        .collect(engine="streaming")
    )
    place = pl.col("status").replace_strict({name: at for at, name in enumerate(STATUSES)})
    order = ["source", place, -pl.col("n_documents"), "reason"]
    return counts.sort(order, nulls_last=True).select(*COUNT_COLUMNS)


@lake_method
def quarantine(lake: StoredLake, *, raw: bool = False) -> pl.DataFrame:
    """A row for each document, or part of a game, that an ingest could not use, sorted by place.

    Columns:

    - `source`, `path`: the source that was ingested, and the document's path in it.
    - `json_path`: the part of the document; `$` is the whole.
    - `rule`, `message`: the rule that it breaks, and how.

    If `raw`, all columns of the table `quarantine`: also the document's id, size and bytes
    (`lake.schema("quarantine")` lists them). All raw documents together can be larger than the
    memory. To read them again, run `magic ingest` on their source again.

    >>> lake.quarantine().columns
    ['source', 'path', 'json_path', 'rule', 'message']
    """
    rows = lake.table("quarantine").sort(QUARANTINE_ORDER, nulls_last=True)
    return (rows if raw else rows.select("source", *BRIEF_COLUMNS)).collect()


def _asked(lake: StoredLake, asked: Mapping[str, str | Sequence[str] | None]) -> pl.LazyFrame:
    """The documents that have one of the values in each column; a column without values has any.

    Each is as it was last seen to be, with the first of its faults and the number of those in parts
    of games.
    """
    check_words("status", asked.get("status"), STATUSES)
    seen = lake.table("documents").with_columns(**_LOCATION)
    if lake.ingest_id > 1:
        last = seen.group_by(*_LOCATION).agg(pl.col("ingest_id").max())
        seen = seen.join(last, on=[*_LOCATION, "ingest_id"], how="semi")
    is_copy = pl.col("status") == str(DocumentStatus.DUPLICATE)
    broken = pl.concat_str(pl.lit("broken rule: "), "rule")
    original = pl.col("reason").str.strip_prefix(REPEATS)
    # Not of all columns: of each refused document there are up to 64 KiB.
    faults = (
        lake.table("quarantine")
        .select(*QUARANTINE_ORDER)
        .sort(QUARANTINE_ORDER, nulls_last=True)
        .with_columns(**_LOCATION)
        .group_by(*_LOCATION, "sha256", maintain_order=True)
        .agg(
            pl.col("rule", "message").first(),
            n_faulty_parts=pl.col("game_id").count().cast(pl.Int64),
        )
    )
    rows = seen.join(faults, on=[*_LOCATION, "sha256"], how="left", nulls_equal=True)
    # What could not be opened, and could be later, is a document no more: what is in it is.
    is_refused = pl.col("status") == str(DocumentStatus.QUARANTINED)
    is_opened = is_refused & pl.all_horizontal(pl.col("sha256", "rule").is_null())
    with_faults = rows.filter(~is_opened).with_columns(
        detail=pl.when(is_copy).then(original).otherwise("message"),
        reason=pl.when(is_copy).then(pl.lit(REPEATED)).otherwise(pl.coalesce(broken, "reason")),
        n_faulty_parts=pl.col("n_faulty_parts").fill_null(0),
    )
    return with_faults.filter(selection_condition(**asked))


# A search for words in the messages of all games; its time and number of hits are limited.

LIMIT = 50
TIMEOUT = 30.0
MOST_WORDS, LONGEST_WORD = 20, 200
AROUND = 60
"""So many characters are shown on each side of a hit."""

_PLACE = (
    *("game_id", "game_type", "message_index", "phase", "round"),
    *("seat", "player", "model", "role"),
)
SEARCH_COLUMNS: Mapping[str, column.Column] = {
    **{name: TABLES["messages"].columns()[name] for name in _PLACE},
    "message_index": TABLES["messages"].columns()["message_index"].with_heading("message"),
    "before": column.text_column("the text before the hit"),
    "hit": column.text_column("the first hit in the message's text"),
    "after": column.text_column("the text after the hit"),
    "system": TABLES["games"].columns()["system"],
}
_KEY = re.compile(r"(\d{1,18})\.(\d{1,18})")

_ELEMENT = pl.element()
# A word as a whole, or its plural: "carry" does not say "car". Only ASCII letters beside it make
# it a part of another word, since Chinese has no blanks between words.
_BEGIN, _END = r"(?i:(?-u:\b{start-half})(?:", r")(?:e?s)?(?-u:\b{end-half}))"


@column.document_columns(SEARCH_COLUMNS)
class SearchResult(Struct, frozen=True):
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


@lake_method
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
) -> SearchResult:
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
    check_words("game type", game_type, game_type_names())
    check_players(lake, model)
    state, start = _begun(lake, after)
    audience = pl.col("visible_to")
    is_own = audience.list.contains(pl.col("player")).fill_null(value=False)
    wanted = [
        selection_condition(model=model, game_type=game_type),
        *[pl.col("is_tested")] * tested,
        *[audience.list.len() > is_own.cast(pl.UInt32)] * aloud,
        *(pl.col("content").str.contains(_pattern(word)) for word in asked),
    ]
    secrets = _secret_words(state) if secret else None
    read = [*_PLACE, "content", *["is_tested"] * tested, *["visible_to"] * aloud]
    ends_at = time.monotonic() + timeout
    none = empty_table("messages").select(*_PLACE, "content")
    parts = [none.with_columns(pattern=pl.lit(""))]
    pattern = pl.lit("" if secret else _pattern(asked[0]))
    n_left, stopped, at = limit, "end", start
    for first, rows in iter_table_rows(state, "messages", read, start):
        hits = rows.with_row_index("row").filter(wanted)
        if secrets is None:
            hits = hits.with_columns(pattern=pattern)
        else:  # what a player says with a secret word of the same game
            hits = hits.filter(pl.col("seat").is_not_null())
            hits = hits.join(secrets, on="game_id", how="inner", maintain_order="left")
            # No pattern can be wrong, but of a word of megabytes it is too large to be used.
            hits = hits.filter(pl.col("content").str.contains(pl.col("pattern"), strict=False))
        hits = hits.head(n_left)
        n_left -= hits.height
        at = first + (hits["row"][-1] + 1 if n_left == 0 else rows.height)
        parts.append(hits.drop("row", "is_tested", "visible_to", strict=False))
        if n_left == 0 or time.monotonic() >= ends_at:
            stopped = "time" if n_left else "limit"
            break
    n_messages = sum(state.row_counts_by_file("messages").values())
    found = pl.concat(parts)
    is_found = pl.col("game_id").is_in(found["game_id"].unique().to_list())
    games = state.table("games").filter(is_found).select("game_id", "system").collect()
    shown = _around(found.join(games, on="game_id", how="left", maintain_order="left"))
    if at >= n_messages:
        return SearchResult(shown, n_messages, n_messages, "end", None)
    return SearchResult(shown, at, n_messages, stopped, f"{state.ingest_id}.{at}")


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
        return pl.DataFrame(schema=column.polars_schema(SEARCH_COLUMNS))
    return pl.concat(parts).sort("row").select(*SEARCH_COLUMNS)
