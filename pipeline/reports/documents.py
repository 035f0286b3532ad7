"""Documents of a lake and their status, quarantined parts, and a search in the messages of games.

Used by `pipeline.lake_methods` and the pages; depends on the tables `documents`, `quarantine` and
`messages`.
"""

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
from pipeline.lake import StoredLake, reopen_lake
from pipeline.lake.row_stream import iter_table_batches_with_row_numbers
from pipeline.metrics.evidence import sort_rows_and_select_page
from pipeline.metrics.registry import lake_method
from pipeline.metrics.request import check_known_names, check_players, selection_condition
from pipeline.vocabulary import DocumentStatus

# Rows that are equal in these columns are equal in all columns, because the bytes follow from the
# hash.
QUARANTINE_ORDER = (
    *("source", "path", "json_path", "rule", "message"),
    *("ingest_id", "sha256", "game_id", "n_bytes"),
)
BRIEF_COLUMNS = ("path", "json_path", "rule", "message")
# The statuses of documents that were not ingested come first.
STATUSES = tuple(
    dict.fromkeys(
        str(status)
        for status in (
            *(DocumentStatus.QUARANTINED, DocumentStatus.IGNORED, DocumentStatus.DUPLICATE),
            *DocumentStatus,
        )
    )
)
DOCUMENT_KEY = ("source", "path", "sha256", "status")
DOCUMENT_COLUMNS: Mapping[str, column.Column] = {
    "source": column.text_column("the folder or archive that contains the document"),
    "path": column.text_column("its path within the source"),
    "status": column.category_column(
        STATUSES, f"what the ingest did with the document: {', '.join(STATUSES)}"
    ),
    "reason": column.text_column(
        "why it was not ingested; for a game with faulty parts, the rule that the first one breaks",
        nullable=True,
    ),
    "detail": column.text_column(
        "the error in full; for a duplicate, the document that contains the same game",
        nullable=True,
    ),
    "n_faulty_parts": column.count_column(
        "parts of its game that could not be used; `lake.quarantine()` lists them"
    ).with_heading("faulty parts"),
    "format": column.text_column("the log format, null if it is not a log", nullable=True),
    "game_id": column.identifier_column("the game that it contains", nullable=True),
    "n_bytes": column.Column(
        pl.Int64(), "its size in bytes; null if it was not read", nullable=True, unit="bytes"
    ).with_heading("size"),
    "ingest_id": column.count_column("the ingest that gave it this status", low=1).with_heading(
        "ingest"
    ),
}
COUNT_COLUMNS: Mapping[str, column.Column] = {
    "source": DOCUMENT_COLUMNS["source"],
    "status": DOCUMENT_COLUMNS["status"],
    "reason": DOCUMENT_COLUMNS["reason"],
    "n_documents": column.count_column("documents with this status and reason").with_heading(
        "documents"
    ),
    "example": column.text_column("the path of the first of these documents"),
}
_DUPLICATE_REASON_PREFIX = "the same game as "
DUPLICATE_REASON = f"{_DUPLICATE_REASON_PREFIX}another document"
# The location of a document as 128 bits, because the paths of millions would take gigabytes.
_LOCATION_HASHES = {
    name: pl.concat_str("source", pl.lit("/"), "path").hash(seed)
    for seed, name in enumerate(("location", "location_too"))
}


@lake_method
@column.add_columns_to_docstring(DOCUMENT_COLUMNS)
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
    """Return one row for each document that meets all conditions, sorted by source and path.

    The status of a document is that of the last ingest that read it. `path` is text that the
    document's path must contain. With `sort`, rows are sorted by this column first, with nulls
    last. The first `offset` rows are skipped, and at most `limit` rows are returned.

    Raises UsageError for an unknown status, and for a column by which rows cannot be sorted.

    >>> lake.documents(status="ignored").select("path", "format").rows()[0]
    ('prisoner/setting/0.json', None)
    """
    matching_documents = _select_documents(
        lake, {"status": status, "source": source, "reason": reason}
    )
    if path is not None:
        matching_documents = matching_documents.filter(
            pl.col("path").str.contains(path, literal=True)
        )
    page_rows = sort_rows_and_select_page(
        matching_documents,
        DOCUMENT_COLUMNS,
        DOCUMENT_KEY,
        offset=offset,
        limit=limit,
        sort=sort,
        descending=descending,
    )
    return page_rows.select(*DOCUMENT_COLUMNS).collect(engine="streaming")


@lake_method
@column.add_columns_to_docstring(COUNT_COLUMNS)
def document_counts(lake: StoredLake, *, source: str | Sequence[str] | None = None) -> pl.DataFrame:
    """Return the number of documents of each source, status and reason.

    Documents have the same status and reason as in `documents`.

    >>> lake.document_counts().filter(status="ingested")["n_documents"].item()
    112
    """
    counts = (
        _select_documents(lake, {"source": source})
        .group_by("source", "status", "reason")
        .agg(n_documents=pl.len().cast(pl.Int64), example=pl.col("path").min())
        .collect(engine="streaming")
    )
    status_order = pl.col("status").replace_strict(
        {name: position for position, name in enumerate(STATUSES)}
    )
    order = ["source", status_order, -pl.col("n_documents"), "reason"]
    return counts.sort(order, nulls_last=True).select(*COUNT_COLUMNS)


@lake_method
def quarantine(lake: StoredLake, *, raw: bool = False) -> pl.DataFrame:
    """Return one row for each document, or part of a game, that could not be ingested.

    Columns:

    - `source`, `path`: the source that was ingested, and the document's path in it.
    - `json_path`: the part of the document; `$` is the whole document.
    - `rule`, `message`: the rule that the part breaks, and a description of the error.

    Rows are sorted by source, path and part. With `raw`, the result has all columns of the table
    `quarantine`, including the document's hash, size and bytes (`lake.schema("quarantine")` lists
    them). All raw documents together can be larger than the memory. To try to ingest them again,
    run `magic ingest` on their source again.

    >>> lake.quarantine().columns
    ['source', 'path', 'json_path', 'rule', 'message']
    """
    rows = lake.table("quarantine").sort(QUARANTINE_ORDER, nulls_last=True)
    return (rows if raw else rows.select("source", *BRIEF_COLUMNS)).collect()


def _select_documents(
    lake: StoredLake, values_by_column: Mapping[str, str | Sequence[str] | None]
) -> pl.LazyFrame:
    """Return the documents that have one of the values in each column; None allows any value.

    A document has the status of the last ingest that read it, the rule and message of its first
    error, and the number of errors in parts of its game.
    """
    check_known_names("status", values_by_column.get("status"), STATUSES)
    documents = lake.table("documents").with_columns(**_LOCATION_HASHES)
    if lake.ingest_id > 1:
        last = documents.group_by(*_LOCATION_HASHES).agg(pl.col("ingest_id").max())
        documents = documents.join(last, on=[*_LOCATION_HASHES, "ingest_id"], how="semi")
    is_duplicate = pl.col("status") == str(DocumentStatus.DUPLICATE)
    broken_rule = pl.concat_str(pl.lit("broken rule: "), "rule")
    original = pl.col("reason").str.strip_prefix(_DUPLICATE_REASON_PREFIX)
    # Only these columns are read, because each quarantined document has up to 64 KiB of bytes.
    faults = (
        lake.table("quarantine")
        .select(*QUARANTINE_ORDER)
        .sort(QUARANTINE_ORDER, nulls_last=True)
        .with_columns(**_LOCATION_HASHES)
        .group_by(*_LOCATION_HASHES, "sha256", maintain_order=True)
        .agg(
            pl.col("rule", "message").first(),
            n_faulty_parts=pl.col("game_id").count().cast(pl.Int64),
        )
    )
    rows = documents.join(faults, on=[*_LOCATION_HASHES, "sha256"], how="left", nulls_equal=True)
    # An archive that could be opened later is not a document itself; its members are documents.
    is_refused = pl.col("status") == str(DocumentStatus.QUARANTINED)
    is_opened = is_refused & pl.all_horizontal(pl.col("sha256", "rule").is_null())
    with_faults = rows.filter(~is_opened).with_columns(
        detail=pl.when(is_duplicate).then(original).otherwise("message"),
        reason=pl.when(is_duplicate)
        .then(pl.lit(DUPLICATE_REASON))
        .otherwise(pl.coalesce(broken_rule, "reason")),
        n_faulty_parts=pl.col("n_faulty_parts").fill_null(0),
    )
    return with_faults.filter(selection_condition(**values_by_column))


# The search for words in the messages of all games. Its time and its number of hits are limited.

DEFAULT_SEARCH_LIMIT = 50
DEFAULT_TIMEOUT_SECONDS = 30.0
MAX_WORDS, MAX_WORD_LENGTH = 20, 200
CONTEXT_CHARACTERS = 60
"""Number of characters that are displayed on each side of a hit."""

_MESSAGE_COLUMNS = (
    *("game_id", "game_type", "message_index", "phase", "round"),
    *("seat", "player", "model", "role"),
)
SEARCH_COLUMNS: Mapping[str, column.Column] = {
    **{name: TABLES["messages"].columns()[name] for name in _MESSAGE_COLUMNS},
    "message_index": TABLES["messages"].columns()["message_index"].with_heading("message"),
    "before": column.text_column("the text before the hit"),
    "hit": column.text_column("the first hit in the message's text"),
    "after": column.text_column("the text after the hit"),
    "system": TABLES["games"].columns()["system"],
}
_SEARCH_KEY = re.compile(r"(\d{1,18})\.(\d{1,18})")

_ELEMENT = pl.element()
# Matches a whole word or its plural, so "carry" does not contain "car". Only ASCII letters count as
# a continuation of the word, because Chinese has no blanks between words.
_SECRET_WORD_START, _SECRET_WORD_END = (
    r"(?i:(?-u:\b{start-half})(?:",
    r")(?:e?s)?(?-u:\b{end-half}))",
)


@column.add_columns_to_docstring(SEARCH_COLUMNS)
class SearchResult(Struct, frozen=True):
    """The messages that a search found, and how much of the lake it searched.

    Attributes:
        rows: The messages, each with its position in the game and the text around the first hit.
        n_searched: Number of messages that were searched so far, including earlier pages.
        n_messages: Number of messages in the lake.
        stopped: Why the search stopped: `end`, `limit` or `time`.
        key: The key that continues the search; None at the end.
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
    limit: int = DEFAULT_SEARCH_LIMIT,
    timeout: float = DEFAULT_TIMEOUT_SECONDS,
    after: str | None = None,
) -> SearchResult:
    """Return the messages that contain all of the words, in the order of the lake's files.

    A string is split into words at blanks; the items of a list are searched unchanged, with their
    blanks. Case is ignored, no character has a special meaning, and a word can be part of a longer
    one. `model` is the model of the speaker. `tested` excludes players that are not under test, and
    `aloud` excludes messages that no other player was shown.

    `secret` finds messages in which a player says a secret word of the game (its `word` or
    `other_word`), as a whole word or with -s or -es. Then `words` can be empty, and `hit` is the
    secret word.

    The search stops after `limit` hits or after `timeout` seconds. To continue, pass the result's
    `key` as `after`. A key belongs to one state of the lake, and the continued search reads that
    state. Raises UsageError for words that are missing or too long, for an unknown model or game
    type, and for an invalid limit, timeout or key.

    >>> hits = lake.search(["i vote for"], game_type="chameleon", limit=2)
    >>> hits.rows["hit"].to_list(), hits.stopped
    (['I vote for', 'I vote for'], 'limit')
    """
    search_words = _split_and_check_search_words(words, secret)
    if limit < 1:
        raise UsageError("the limit must be at least 1 message")
    if not 0 < timeout < math.inf:
        raise UsageError("the timeout must be greater than 0 seconds and finite")
    check_known_names("game type", game_type, game_type_names())
    check_players(lake, model)
    state, start_row = _lake_state_and_first_row_of_search(lake, after)
    audience = pl.col("visible_to")
    is_seen_by_speaker = audience.list.contains(pl.col("player")).fill_null(value=False)
    conditions = [
        selection_condition(model=model, game_type=game_type),
        *[pl.col("is_tested")] * tested,
        *[audience.list.len() > is_seen_by_speaker.cast(pl.UInt32)] * aloud,
        *(pl.col("content").str.contains(_case_insensitive_pattern(word)) for word in search_words),
    ]
    secret_patterns = _secret_word_patterns_by_game(state) if secret else None
    columns = [*_MESSAGE_COLUMNS, "content", *["is_tested"] * tested, *["visible_to"] * aloud]
    ends_at = time.monotonic() + timeout
    no_hits = empty_table("messages").select(*_MESSAGE_COLUMNS, "content")
    parts = [no_hits.with_columns(pattern=pl.lit(""))]
    pattern = pl.lit("" if secret else _case_insensitive_pattern(search_words[0]))
    n_hits_left, stopped, position = limit, "end", start_row
    for first_row, rows in iter_table_batches_with_row_numbers(
        state, "messages", columns, start_row
    ):
        hits = rows.with_row_index("row").filter(conditions)
        if secret_patterns is None:
            hits = hits.with_columns(pattern=pattern)
        else:  # messages of players that contain a secret word of the same game
            hits = hits.filter(pl.col("seat").is_not_null())
            hits = hits.join(secret_patterns, on="game_id", how="inner", maintain_order="left")
            # Every pattern is valid, but that of a word of megabytes is too large to be compiled.
            hits = hits.filter(pl.col("content").str.contains(pl.col("pattern"), strict=False))
        hits = hits.head(n_hits_left)
        n_hits_left -= hits.height
        position = first_row + (hits["row"][-1] + 1 if n_hits_left == 0 else rows.height)
        parts.append(hits.drop("row", "is_tested", "visible_to", strict=False))
        if n_hits_left == 0 or time.monotonic() >= ends_at:
            stopped = "time" if n_hits_left else "limit"
            break
    n_messages = sum(state.row_counts_by_file("messages").values())
    all_hits = pl.concat(parts)
    has_hit = pl.col("game_id").is_in(all_hits["game_id"].unique().to_list())
    games = state.table("games").filter(has_hit).select("game_id", "system").collect()
    result_rows = _split_content_around_first_hit(
        all_hits.join(games, on="game_id", how="left", maintain_order="left")
    )
    if position >= n_messages:
        return SearchResult(result_rows, n_messages, n_messages, "end", None)
    return SearchResult(result_rows, position, n_messages, stopped, f"{state.ingest_id}.{position}")


def _split_and_check_search_words(words: str | Sequence[str], secret: bool) -> tuple[str, ...]:
    search_words = tuple(words.split()) if isinstance(words, str) else tuple(words)
    if not (search_words or secret) or not all(map(str.strip, search_words)):
        raise UsageError("specify at least one word to search for; a word must not be blank")
    if len(search_words) > MAX_WORDS or max(map(len, search_words), default=0) > MAX_WORD_LENGTH:
        raise UsageError(
            f"search for at most {MAX_WORDS} words of at most {MAX_WORD_LENGTH} characters each"
        )
    return search_words


def _lake_state_and_first_row_of_search(
    lake: StoredLake, after: str | None
) -> tuple[StoredLake, int]:
    """Return the lake as it was when the search began, and the index of the first row to read."""
    if after is None:
        return lake, 0
    match = _SEARCH_KEY.fullmatch(after)
    if match is None:
        raise UsageError(f"`{after}` is not the key of an interrupted search, such as 3.20000")
    ingest_id, row = map(int, match.groups())
    return lake if ingest_id == lake.ingest_id else reopen_lake(lake, ingest_id), row


def _case_insensitive_pattern(word: str) -> str:
    return f"(?i:{pl.escape_regex(word)})"


def _secret_word_patterns_by_game(lake: StoredLake) -> pl.DataFrame:
    """Return for each game with secret words a regular expression that matches any of them."""
    words = pl.concat_list("word", "other_word").list.eval(
        _ELEMENT.str.strip_chars().replace("", None).drop_nulls()
    )
    # If one word is the beginning of another one, the longer word is tried first.
    longest_first = words.list.eval(_ELEMENT.sort_by(_ELEMENT.str.len_chars(), descending=True))
    alternatives = longest_first.list.eval(_ELEMENT.str.escape_regex()).list.join("|")
    return (
        lake.table("games")
        .filter(pl.col("word").is_not_null() | pl.col("other_word").is_not_null())
        .select("game_id", pattern=alternatives)
        .filter(pl.col("pattern") != "")
        .with_columns(
            pattern=pl.concat_str(pl.lit(_SECRET_WORD_START), "pattern", pl.lit(_SECRET_WORD_END))
        )
        .collect(engine="streaming")
    )


def _split_content_around_first_hit(rows: pl.DataFrame) -> pl.DataFrame:
    """Split each text into what the row's column `pattern` matches first, and what is around it."""
    context_pattern = f"(?s:.{{0,{CONTEXT_CHARACTERS}}}"
    rows_by_pattern = [
        pattern_rows.with_columns(
            pl.col("content")
            .str.extract_groups(
                rf"(?P<before>{context_pattern}?))(?P<hit>{pattern})(?P<after>{context_pattern}))"
            )
            .struct.unnest()
        )
        for (pattern,), pattern_rows in rows.with_row_index("row").group_by("pattern")
    ]
    if not rows_by_pattern:
        return pl.DataFrame(schema=column.polars_schema(SEARCH_COLUMNS))
    return pl.concat(rows_by_pattern).sort("row").select(*SEARCH_COLUMNS)
