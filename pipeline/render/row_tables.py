"""Tables of what a lake contains: games, evidence, contradictions, documents, and table schemas.

The functions have the names of results in `pipeline.registry`, by which `build_result_table` finds
them. Depends on `pipeline.reports` and `pipeline.render.table`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from pipeline import column, text_format
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.metrics import evidence as evidence_report
from pipeline.metrics.completeness import complete_models_with_fewer_games_notes
from pipeline.render import table
from pipeline.render.table import (
    Estimate,
    Table,
    hints_to_show_first_game,
    make_table_function,
    short_id,
    shorten_ids_and_contents,
)
from pipeline.render.value_tables import column_specs_of_rows
from pipeline.reports import (
    audit as audit_report,
    completeness as completeness_report,
    documents as document_reports,
    games as game_reports,
    lake_tables,
)

_EVIDENCE_COLUMNS = (
    *("game_id", "term", "model", "role", "player", "round", "what", "compared_with", "hit"),
    *("is_counted", "parse_status", "message_index", "content"),
)
_UNCLEAR_COLUMNS = ("role", "is_counted", "parse_status")
_FINDING_COLUMNS = ("model", "player", "round", "logged", "says", "message_index", "content")
_SEARCH_COLUMNS = {
    **document_reports.SEARCH_COLUMNS,
    "text": column.text_column("the text around the hit"),
}


def evidence(rows: pl.DataFrame, has_terms: bool = False, unclear: bool = False, **_: Any) -> Table:
    """Make the table of the rows that a metric counted, with short ids and texts."""
    return Table(
        "evidence",
        rows,
        evidence_report.EVIDENCE_COLUMNS,
        hidden=[*["term"] * (not has_terms), *(() if unclear else _UNCLEAR_COLUMNS)],
        page_columns=("term",),
        brief=partial(select_and_shorten_columns, columns=_EVIDENCE_COLUMNS),
    )


def select_and_shorten_columns(rows: pl.DataFrame, columns: tuple[str, ...]) -> pl.DataFrame:
    """Shorten ids and texts, and keep only these columns."""
    return shorten_ids_and_contents(rows).select(columns)


def audit(rows: pl.DataFrame, lake: StoredLake | None = None, **_: Any) -> Table:
    """Make the table of the numbers of contradictions in logs, by kind of contradiction."""
    systems = [] if lake is None or lake.system else [*lake.systems]
    hints = [
        (rows.is_empty(), "no game in the lake has anything to check"),
        (
            len(systems) > 1,
            f"the rows combine {len(systems)} systems; use --system to select one",
        ),
        (
            not rows.is_empty(),
            "run `magic audit KIND` to print the rows of one kind, for example stated_votes",
        ),
    ]
    return Table(
        "audit",
        rows,
        {**column_specs_of_rows(rows), **audit_report.AUDIT_COLUMNS},
        hidden=("title", "effect"),
        page_columns=("title", "effect"),
        layout_steps=(table.move_columns_to_titles("kind", "metric"),),
        hints=[hint for applies, hint in hints if applies],
    )


def search(
    rows: pl.DataFrame,
    secret: bool = False,
    found: document_reports.SearchResult | None = None,
    **options: Any,
) -> Table:
    """Make the table of the messages that a search found, with the text around the first hit."""
    return Table(
        "search",
        rows,
        _SEARCH_COLUMNS,
        hidden=("player", "role", "game_type" if secret else "phase"),
        page_columns=("player", "phase"),
        # Short ids, and the hit with its context in one column.
        brief=lambda rows: rows.with_columns(
            short_id(),
            text=pl.concat_str("before", "hit", "after")
            .str.replace_all(r"\s+", " ")
            .str.strip_chars(),
        ).drop("before", "hit", "after"),
        hints=() if found is None else _hints_to_continue_search(found, **options),
    )


def _hints_to_continue_search(
    search_result: document_reports.SearchResult, limit: int, timeout: float, **_: Any
) -> list[str]:
    """Return hints on how much of the lake was searched, and on how to continue the search."""
    found_text = (
        f"{text_format.format_count(search_result.rows.height, 'message')} found in "
        f"{search_result.n_searched:,} of {search_result.n_messages:,} messages"
    )
    if search_result.key is None:
        return [found_text, *hints_to_show_first_game(search_result.rows)]
    stopping_option = (
        f"--limit {limit}" if search_result.stopped == "limit" else f"--timeout {timeout:g}"
    )
    return [
        f"{found_text}; stopped by {stopping_option}",
        f"to continue: run the command again with --after {search_result.key}",
        *hints_to_show_first_game(search_result.rows),
    ]


def games(rows: pl.DataFrame, **_: Any) -> Table:
    """Make the table of games, with the winners if a game tests several models."""
    has_one_model = not (rows["models"].list.len() > 1).any()
    outcome = pl.when("is_finished").then("outcome").otherwise(pl.lit(game_reports.UNFINISHED))
    return Table(
        "games",
        rows,
        game_reports.GAMES_COLUMNS,
        hidden=(
            *("side", "is_finished", "setting_id", "game_index", "source"),
            *(["winners"] if has_one_model else []),
        ),
        page_columns=("winners", "setting_id"),
        optional=("role", "result", "score", "winners"),
        brief=lambda rows: rows.with_columns(short_id(), short_id("setting_id"), outcome=outcome),
        layout_steps=(
            table.move_columns_to_titles("game_type"),
            table.move_constants_to_note("models", "role", "score", "outcome"),
            table.move_columns_to_titles("role"),
        ),
        hints=hints_to_show_first_game(rows),
        nothing="no game in the lake matches",
    )


def quarantine(rows: pl.DataFrame, raw: bool = False, **_: Any) -> Table:
    """Make the table of documents and parts of documents that an ingest could not use.

    With `raw`, all columns are displayed, and each row is a block of lines.
    """
    hint = () if raw else ("use `--raw` to see all columns and the raw document",)
    return Table(
        "quarantine",
        rows,
        TABLES["quarantine"].columns(),
        brief=_shorten_raw_documents
        if raw
        else lambda rows: rows.select(document_reports.BRIEF_COLUMNS),
        as_records=raw,
        hints=("the quarantine is empty",) if rows.is_empty() else hint,
    )


MAX_RAW_CHARACTERS = 400


def _shorten_raw_documents(rows: pl.DataFrame) -> pl.DataFrame:
    """Replace each raw document by its first 400 characters."""
    remark = " … (use `--format json` to see more)"
    texts = [None if raw is None else text_format.decode_bytes_visibly(raw) for raw in rows["raw"]]
    short_texts = [
        text and text[:MAX_RAW_CHARACTERS] + remark * (len(text) > MAX_RAW_CHARACTERS)
        for text in texts
    ]
    return rows.with_columns(pl.Series("raw", short_texts, pl.String))


# Completeness: finished and missing games, parsed texts. Schemas: tables and their columns.

NO_GAMES_MESSAGE = "the lake has no game of a tested model: nothing can be complete"
_CONSTANT_COLUMNS = ("n_unfinished", "n_failed", "n_quarantined", "is_complete")


def completeness(
    rows: pl.DataFrame,
    lake: StoredLake | None = None,
    model: Sequence[str] | None = None,
    expected: int | None = None,
    **_: Any,
) -> Table:
    """Make the table of expected, finished and missing games per model and competition."""
    return Table(
        "completeness",
        rows,
        completeness_report.COMPLETENESS_COLUMNS,
        hidden=("game_type", "n_missing"),
        layout_steps=(
            table.move_constants_to_note(*_CONSTANT_COLUMNS),
            table.move_columns_to_titles("model"),
            table.replace_flag_column_by_stars(
                "is_complete", "competition", note="not complete", starred_value=False
            ),
        ),
        notes=[
            _incomplete_models_note(rows, model),
            *complete_models_with_fewer_games_notes(lake, rows, expected),
            *([] if lake is None else _quarantined_documents_notes(lake)),
        ],
    )


def _incomplete_models_note(rows: pl.DataFrame, models: Sequence[str] | None) -> str:
    """Return a note with the models that have missing games, and with the numbers of these."""
    model_names = models_with_missing_games(rows)
    if rows.is_empty() or not rows["n_games"].sum():
        return NO_GAMES_MESSAGE
    if not model_names:
        return f"complete: {', '.join(models)}" if models else "every model is complete"
    counts = rows.group_by("model").agg(pl.col("n_missing", "expected").sum())
    missing_texts = {
        model: f"{n_missing:,} of {expected:,}" for model, n_missing, expected in counts.iter_rows()
    }
    names = ", ".join(
        f"{'–' if name is None else name} ({missing_texts[name]} missing)" for name in model_names
    )
    return f"incomplete: {names}; run `magic completeness --missing` to list what is missing"


def models_with_missing_games(rows: pl.DataFrame) -> list[str | None]:
    """Return the names of the models that have missing games, sorted.

    Args:
        rows: Rows of `Lake.completeness`.

    Returns:
        The names; None stands for games whose model is unknown.
    """
    return rows.filter(~rows["is_complete"])["model"].unique().sort().to_list()


def _quarantined_documents_notes(lake: StoredLake) -> list[str]:
    """Return a note with the number of quarantined documents, in a list; empty if there are none.

    Parts of documents do not count, because their games are not missing.
    """
    n_documents = (
        lake.table("quarantine").select(pl.col("game_id").is_null().sum()).collect().item()
    )
    documents_text = "1 document is" if n_documents == 1 else f"{n_documents:,} documents are"
    note = f"{documents_text} quarantined and may be missing games: run `magic quarantine`"
    return [note] if n_documents else []


def readability(
    rows: pl.DataFrame, lake: StoredLake | None = None, expected: int | None = None, **_: Any
) -> Table:
    """Make the table of the numbers of texts that could not be parsed, and of bounds of values."""
    return Table(
        "readability",
        rows,
        completeness_report.READABILITY_COLUMNS,
        estimates=[Estimate(low="value_min", high="value_max", heading="bounds")],
        layout_steps=(
            table.move_constants_to_note(
                "n_unreadable", "n_unknown", "n_ambiguous", "n_outages", "n_missing", "is_complete"
            ),
            table.move_columns_to_titles("model"),
            table.replace_flag_column_by_stars(
                "is_complete", "metric", note="not complete", starred_value=False
            ),
        ),
        notes=complete_models_with_fewer_games_notes(lake, rows, expected),
    )


def missing(rows: pl.DataFrame, **_: Any) -> Table:
    """Make the table of the settings of which a model finished fewer games than expected."""
    displayed_columns = (
        *("model", "competition", "setting_id", "game_index", "n_missing", "n_expected"),
        *("n_unfinished", "paths"),
    )
    return Table(
        "missing",
        rows,
        game_reports.MISSING_COLUMNS,
        hidden=("game_type", "setting"),
        optional=[name for name in rows.columns if name not in displayed_columns],
        layout_steps=(
            table.shorten_ids("setting_id"),
            table.move_constants_to_note(
                "game_index", "n_missing", "n_expected", "n_unfinished", "paths"
            ),
            table.move_columns_to_titles("model"),
            table.move_columns_to_titles("competition"),
        ),
    )


def tables(rows: pl.DataFrame, opened: StoredLake | None = None, **_: Any) -> Table:
    """Make the table of the lake's event tables, with the total size as a hint."""
    hints = []
    if opened and opened.unknown_tables:
        hints.append(
            f"not listed: {', '.join(opened.unknown_tables)}, because a package is not installed; "
            "install it before you ingest into this lake"
        )
    if opened:
        size = text_format.format_size(sum(rows["n_bytes"]))
        hints.append(f"{opened.path} after ingest {opened.ingest_id}: {size}")
    return Table("tables", rows, lake_tables.TABLE_COLUMNS, hints=hints)


def _format_schema_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Mark keys with `*` and nullable columns with `?`, and describe the allowed values as text."""
    mark = pl.when("is_key").then(pl.lit("*")).when("is_nullable").then(pl.lit("?"))
    values = [_describe_allowed_values(row) for row in rows.iter_rows(named=True)]
    return rows.select(
        pl.concat_str("column", mark.otherwise(pl.lit(""))),
        "type",
        pl.Series("values", values, pl.String),
        "description",
    )


def _describe_allowed_values(row: dict[str, Any]) -> str:
    """Return the allowed values of a column as text: words, a regular expression or a range."""
    if row["words"]:
        return ", ".join(row["words"])
    if row["pattern"]:
        return str(row["pattern"])
    if row["low"] is not None and row["high"] is not None:
        return f"{row['low']:g} to {row['high']:g}"
    return "" if row["low"] is None else f"≥ {row['low']:g}"


models = make_table_function(
    "models",
    game_reports.MODELS_COLUMNS,
    brief=lambda rows: rows.with_columns(pl.col("is_bot").replace({False: None})),
    optional=("is_bot", "looks_like"),
    hints=["to count several names as one model, pass a map of names to commands: --names FILE"],
    nothing="no game in the lake names a model",
)
usage = make_table_function(
    "usage",
    game_reports.USAGE_COLUMNS,
    layout_steps=(table.move_columns_to_titles("model"),),
    hints=["cost is in US dollars; a game counts if its log states it for all seats of the model"],
    nothing="no log in the lake says what a model used",
)
findings = make_table_function(
    "findings",
    audit_report.FINDING_COLUMNS,
    brief=partial(select_and_shorten_columns, columns=("game_id", *_FINDING_COLUMNS, "system")),
)
# Pages also display the format, the size and the ingest of each document.
documents = make_table_function(
    "documents",
    document_reports.DOCUMENT_COLUMNS,
    hidden=("format", "n_bytes", "ingest_id"),
    page_columns=("format", "n_bytes", "ingest_id"),
    brief=lambda rows: rows.with_columns(short_id()),
    optional=("detail", "n_faulty_parts", "game_id"),
    layout_steps=(table.move_columns_to_titles("source"), table.move_columns_to_titles("status")),
    nothing="no document in the lake matches",
)
document_counts = make_table_function(
    "document_counts",
    document_reports.COUNT_COLUMNS,
    layout_steps=(table.move_columns_to_titles("source"), table.move_columns_to_titles("status")),
    hints=["use `--status`, `--source`, `--reason` or `--path` to list documents"],
)
schema = make_table_function("schema", brief=_format_schema_rows)
