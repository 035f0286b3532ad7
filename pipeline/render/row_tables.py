"""Lists of what a lake has: games, decisions, contradictions, documents, gaps, tables."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from pipeline import column, text_format
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.metrics import evidence as evidence_rows
from pipeline.metrics.completeness import fewer_games_notes
from pipeline.render import table
from pipeline.render.table import (
    Estimate,
    Table,
    brief_id,
    brief_texts,
    declare_table,
    first_game,
)
from pipeline.render.value_tables import group_columns
from pipeline.reports import (
    audit as audits,
    completeness as games_there,
    documents as listed,
    documents as searches,
    games as games_list,
    games as lacking,
    games as named,
    lake_tables as catalog,
)

_BRIEF = (
    *("game_id", "term", "model", "role", "player", "round", "what", "compared_with", "hit"),
    *("is_counted", "parse_status", "message_index", "content"),
)
_OF_UNCLEAR = ("role", "is_counted", "parse_status")
_FINDING_COLUMNS = ("model", "player", "round", "logged", "says", "message_index", "content")
_SEARCH = {**searches.SEARCH_COLUMNS, "text": column.text_column("the text around the hit")}


def evidence(rows: pl.DataFrame, has_terms: bool = False, unclear: bool = False, **_: Any) -> Table:
    return Table(
        "evidence",
        rows,
        evidence_rows.EVIDENCE_COLUMNS,
        hidden=[*["term"] * (not has_terms), *(() if unclear else _OF_UNCLEAR)],
        also=("term",),
        brief=partial(brief, columns=_BRIEF),
    )


def brief(rows: pl.DataFrame, columns: tuple[str, ...]) -> pl.DataFrame:
    """What fits on a line or two: of ids and texts the beginning."""
    return brief_texts(rows).select(columns)


def audit(rows: pl.DataFrame, lake: StoredLake | None = None, **_: Any) -> Table:
    systems = [] if lake is None or lake.system else [*lake.systems]
    hints = [
        (rows.is_empty(), "no game in the lake has anything to check"),
        (
            len(systems) > 1,
            f"these rows are of {len(systems)} systems together: see one with --system",
        ),
        (
            not rows.is_empty(),
            "run `magic audit KIND` to print the rows of one kind, for example stated_votes",
        ),
    ]
    return Table(
        "audit",
        rows,
        {**group_columns(rows), **audits.AUDIT_COLUMNS},
        hidden=("title", "effect"),
        also=("title", "effect"),
        folds=(table.titled("kind", "metric"),),
        hints=[hint for is_so, hint in hints if is_so],
    )


def search(
    rows: pl.DataFrame,
    secret: bool = False,
    found: searches.SearchResult | None = None,
    **asked: Any,
) -> Table:
    return Table(
        "search",
        rows,
        _SEARCH,
        hidden=("player", "role", "game_type" if secret else "phase"),
        also=("player", "phase"),
        # Of ids the beginning, and the text around the hit as one.
        brief=lambda one: one.with_columns(
            brief_id(),
            text=pl.concat_str("before", "hit", "after")
            .str.replace_all(r"\s+", " ")
            .str.strip_chars(),
        ).drop("before", "hit", "after"),
        hints=() if found is None else _search_hints(found, **asked),
    )


def _search_hints(found: searches.SearchResult, limit: int, timeout: float, **_: Any) -> list[str]:
    """How much of the lake was searched, and how to go on."""
    part = (
        f"{text_format.format_count(found.rows.height, 'message')} found in {found.n_searched:,} "
        "of "
        f"{found.n_messages:,} messages"
    )
    if found.key is None:
        return [part, *first_game(found.rows)]
    stopped = f"--limit {limit}" if found.stopped == "limit" else f"--timeout {timeout:g}"
    on = f"to continue: run the command again with --after {found.key}"
    return [f"{part}; stopped by {stopped}", on, *first_game(found.rows)]


def games(rows: pl.DataFrame, **_: Any) -> Table:
    """The games; the winners are named if a game tests several models, else the result does."""
    is_one = not (rows["models"].list.len() > 1).any()
    end = pl.when("is_finished").then("outcome").otherwise(pl.lit(games_list.UNFINISHED))
    return Table(
        "games",
        rows,
        games_list.GAMES_COLUMNS,
        hidden=(
            *("side", "is_finished", "setting_id", "game_index", "source"),
            *(["winners"] if is_one else []),
        ),
        also=("winners", "setting_id"),
        optional=("role", "result", "score", "winners"),
        brief=lambda one: one.with_columns(brief_id(), brief_id("setting_id"), outcome=end),
        folds=(
            table.titled("game_type"),
            table.alike("models", "role", "score", "outcome"),
            table.titled("role"),
        ),
        hints=first_game(rows),
        nothing="no game in the lake matches",
    )


def quarantine(rows: pl.DataFrame, raw: bool = False, **_: Any) -> Table:
    """The rows by part and rule; in full, each as a block of lines."""
    to_see = () if raw else ("use `--raw` to see all columns and the raw document",)
    return Table(
        "quarantine",
        rows,
        TABLES["quarantine"].columns(),
        brief=_shortened if raw else lambda one: one.select(listed.BRIEF_COLUMNS),
        as_records=raw,
        hints=("the quarantine is empty",) if rows.is_empty() else to_see,
    )


RAW_SHOWN = 400


def _shortened(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the first of each raw document."""
    more = " … (use `--format json` to see more)"
    texts = [None if raw is None else text_format.decode_bytes_visibly(raw) for raw in rows["raw"]]
    short = [text and text[:RAW_SHOWN] + more * (len(text) > RAW_SHOWN) for text in texts]
    return rows.with_columns(pl.Series("raw", short, pl.String))


# --- how much there is: games finished and missing, texts read, tables and their columns --------

NO_GAMES_MESSAGE = "the lake has no game of a tested model: nothing can be complete"
_GAME_COLUMNS = ("n_unfinished", "n_failed", "n_quarantined", "is_complete")


def completeness(
    rows: pl.DataFrame,
    lake: StoredLake | None = None,
    model: Sequence[str] | None = None,
    expected: int | None = None,
    **_: Any,
) -> Table:
    return Table(
        "completeness",
        rows,
        games_there.COMPLETENESS_COLUMNS,
        hidden=("game_type", "n_missing"),
        folds=(
            table.alike(*_GAME_COLUMNS),
            table.titled("model"),
            table.starred("is_complete", "competition", note="not complete", where=False),
        ),
        notes=[
            _complete(rows, model),
            *fewer_games_notes(lake, rows, expected),
            *([] if lake is None else _quarantined(lake)),
        ],
    )


def _complete(rows: pl.DataFrame, models: Sequence[str] | None) -> str:
    lacking = incomplete_models(rows)
    if rows.is_empty() or not rows["n_games"].sum():
        return NO_GAMES_MESSAGE
    if not lacking:
        return f"complete: {', '.join(models)}" if models else "every model is complete"
    counts = rows.group_by("model").agg(pl.col("n_missing", "expected").sum())
    of = {model: f"{n:,} of {expected:,}" for model, n, expected in counts.iter_rows()}
    names = ", ".join(f"{'–' if name is None else name} ({of[name]} missing)" for name in lacking)
    return f"incomplete: {names}; run `magic completeness --missing` to list what is missing"


def incomplete_models(rows: pl.DataFrame) -> list[str | None]:
    """The models that are not complete."""
    return rows.filter(~rows["is_complete"])["model"].unique().sort().to_list()


def _quarantined(lake: StoredLake) -> list[str]:
    """A note where whole documents are quarantined: they may be games that are missing."""
    refused = lake.table("quarantine").select(pl.col("game_id").is_null().sum()).collect().item()
    documents = "1 document is" if refused == 1 else f"{refused:,} documents are"
    note = f"{documents} quarantined and may be missing games: run `magic quarantine`"
    return [note] if refused else []


def readability(
    rows: pl.DataFrame, lake: StoredLake | None = None, expected: int | None = None, **_: Any
) -> Table:
    return Table(
        "readability",
        rows,
        games_there.READABILITY_COLUMNS,
        estimates=[Estimate(low="value_min", high="value_max", heading="bounds")],
        folds=(
            table.alike(
                "n_unreadable", "n_unknown", "n_ambiguous", "n_outages", "n_missing", "is_complete"
            ),
            table.titled("model"),
            table.starred("is_complete", "metric", note="not complete", where=False),
        ),
        notes=fewer_games_notes(lake, rows, expected),
    )


def missing(rows: pl.DataFrame, **_: Any) -> Table:
    """The settings without the JSON that repeats them."""
    kept = (
        *("model", "competition", "setting_id", "game_index", "n_missing", "n_expected"),
        *("n_unfinished", "paths"),
    )
    return Table(
        "missing",
        rows,
        lacking.MISSING_COLUMNS,
        hidden=("game_type", "setting"),
        optional=[name for name in rows.columns if name not in kept],
        folds=(
            table.begun("setting_id"),
            table.alike("game_index", "n_missing", "n_expected", "n_unfinished", "paths"),
            table.titled("model"),
            table.titled("competition"),
        ),
    )


def tables(rows: pl.DataFrame, opened: StoredLake | None = None, **_: Any) -> Table:
    hints = []
    if opened and opened.unknown_tables:
        hints.append(
            f"not listed: {', '.join(opened.unknown_tables)}, of a package that is not installed; "
            "nothing can be ingested without it"
        )
    if opened:
        size = text_format.format_size(sum(rows["n_bytes"]))
        hints.append(f"{opened.path} after ingest {opened.ingest_id}: {size}")
    return Table("tables", rows, catalog.TABLE_COLUMNS, hints=hints)


def _contract(rows: pl.DataFrame) -> pl.DataFrame:
    """The contract for reading: marks at the names, and one column for what values there are."""
    mark = pl.when("is_key").then(pl.lit("*")).when("is_nullable").then(pl.lit("?"))
    values = [_values(row) for row in rows.iter_rows(named=True)]
    return rows.select(
        pl.concat_str("column", mark.otherwise(pl.lit(""))),
        "type",
        pl.Series("values", values, pl.String),
        "description",
    )


def _values(row: dict[str, Any]) -> str:
    """The words, the pattern or the range that a column's values are held to."""
    if row["words"]:
        return ", ".join(row["words"])
    if row["pattern"]:
        return str(row["pattern"])
    if row["low"] is not None and row["high"] is not None:
        return f"{row['low']:g} to {row['high']:g}"
    return "" if row["low"] is None else f"≥ {row['low']:g}"


models = declare_table(
    "models",
    named.MODELS_COLUMNS,
    brief=lambda rows: rows.with_columns(pl.col("is_bot").replace({False: None})),
    optional=("is_bot", "looks_like"),
    hints=["to count several names as one model, give commands a map of them: --names FILE"],
    nothing="no game in the lake names a model",
)
usage = declare_table(
    "usage",
    named.USAGE_COLUMNS,
    folds=(table.titled("model"),),
    hints=["cost is in US dollars; a game counts where its log says it of the model's seats"],
    nothing="no log in the lake says what a model used",
)
findings = declare_table(
    "findings",
    audits.FINDING_COLUMNS,
    brief=partial(brief, columns=("game_id", *_FINDING_COLUMNS, "system")),
)
# A page also has the documents' format, their size, and who read them.
documents = declare_table(
    "documents",
    listed.DOCUMENT_COLUMNS,
    hidden=("format", "n_bytes", "ingest_id"),
    also=("format", "n_bytes", "ingest_id"),
    brief=lambda one: one.with_columns(brief_id()),
    optional=("detail", "n_faulty_parts", "game_id"),
    folds=(table.titled("source"), table.titled("status")),
    nothing="no document in the lake matches",
)
document_counts = declare_table(
    "document_counts",
    listed.COUNT_COLUMNS,
    folds=(table.titled("source"), table.titled("status")),
    hints=["use `--status`, `--source`, `--reason` or `--path` to list documents"],
)
schema = declare_table("schema", brief=_contract)
