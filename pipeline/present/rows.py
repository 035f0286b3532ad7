"""Lists of what a lake has: games, decisions with their messages, contradictions, documents."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from pipeline import column
from pipeline.cells import counted
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.metrics import evidence as evidence_rows
from pipeline.present import folds
from pipeline.present.table import Table, brief_id, brief_texts, first_game
from pipeline.present.values import group_columns
from pipeline.reports import audit as audits
from pipeline.reports import documents as listed
from pipeline.reports import games as games_list
from pipeline.reports import search as searches

_BRIEF = (
    *("game_id", "term", "model", "player", "round", "what", "compared_with", "hit"),
    *("message_index", "content"),
)
_FINDING_COLUMNS = ("model", "player", "round", "logged", "says", "message_index", "content")
_SEARCH = {**searches.COLUMNS, "text": column.text("the text around the hit")}


def evidence(rows: pl.DataFrame, has_terms: bool = False, **_: Any) -> Table:
    return Table(
        "evidence",
        rows,
        evidence_rows.COLUMNS,
        hidden=() if has_terms else ("term",),
        also=("term",),
        brief=partial(brief, columns=_BRIEF),
    )


def brief(rows: pl.DataFrame, columns: tuple[str, ...]) -> pl.DataFrame:
    """What fits on a line or two: of ids and texts the beginning."""
    return brief_texts(rows).select(columns)


def audit(rows: pl.DataFrame, lake: StoredLake | None = None, **_: Any) -> Table:
    return Table(
        "audit",
        rows,
        {**group_columns(rows), **audits.COLUMNS},
        hidden=("title", "effect"),
        also=("title", "effect"),
        folds=(folds.titled("kind", "metric"),),
        hints=_audit_hints(rows, [] if lake is None or lake.system else [*lake.systems]),
    )


def _audit_hints(rows: pl.DataFrame, systems: Sequence[str]) -> list[str]:
    """What of the rows to see next; `systems` are those that they are of together."""
    to_see = "run `magic audit KIND` to print the rows of one kind, for example stated_votes"
    all_systems = f"these rows are of {len(systems)} systems together: see one with --system"
    nothing = "no game in the lake has anything to check"
    return [
        *([nothing] if rows.is_empty() else []),
        *([all_systems] if len(systems) > 1 else []),
        *([to_see] if rows.height else []),
    ]


def findings(rows: pl.DataFrame, **_: Any) -> Table:
    columns = ("game_id", *_FINDING_COLUMNS)
    return Table("findings", rows, audits.FINDINGS, brief=partial(brief, columns=columns))


def search(
    rows: pl.DataFrame, secret: bool = False, found: searches.Hits | None = None, **asked: Any
) -> Table:
    return Table(
        "search",
        rows,
        _SEARCH,
        hidden=("player", "role", "game_type" if secret else "phase"),
        also=("player", "phase"),
        brief=_around,
        hints=() if found is None else _search_hints(found, **asked),
    )


def _search_hints(found: searches.Hits, limit: int, timeout: float, **_: Any) -> list[str]:
    """How much of the lake was searched, and how to go on."""
    part = (
        f"{counted(found.rows.height, 'message')} found in {found.n_searched:,} of "
        f"{found.n_messages:,} messages"
    )
    if found.key is None:
        return [part, *first_game(found.rows)]
    stopped = f"--limit {limit}" if found.stopped == "limit" else f"--timeout {timeout:g}"
    on = f"to continue: run the command again with --after {found.key}"
    return [f"{part}; stopped by {stopped}", on, *first_game(found.rows)]


def _around(rows: pl.DataFrame) -> pl.DataFrame:
    """What fits on a line: of ids the beginning, and the text around the hit as one."""
    text = pl.concat_str("before", "hit", "after").str.replace_all(r"\s+", " ").str.strip_chars()
    return rows.with_columns(brief_id(), text=text).drop("before", "hit", "after")


def games(rows: pl.DataFrame, **_: Any) -> Table:
    """The games; the winners are named if a game tests several models, else the result does."""
    is_one = not (rows["models"].list.len() > 1).any()
    return Table(
        "games",
        rows,
        games_list.COLUMNS,
        hidden=(
            *("side", "is_finished", "setting_id", "game_index", "source"),
            *(["winners"] if is_one else []),
        ),
        also=("winners", "setting_id"),
        optional=("role", "result", "score", "winners"),
        brief=_brief_games,
        folds=(
            folds.titled("game_type"),
            folds.alike("models", "role", "score", "outcome"),
            folds.titled("role"),
        ),
        hints=first_game(rows) or ["no game in the lake matches"],
    )


def _brief_games(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the beginnings of ids, and how the games ended."""
    end = pl.when("is_finished").then("outcome").otherwise(pl.lit(games_list.UNFINISHED))
    return rows.with_columns(brief_id(), brief_id("setting_id"), outcome=end)


def documents(rows: pl.DataFrame, **_: Any) -> Table:
    """The documents; a page also has their format, their size, and who read them."""
    return Table(
        "documents",
        rows,
        listed.COLUMNS,
        hidden=("format", "n_bytes", "ingest_id"),
        also=("format", "n_bytes", "ingest_id"),
        brief=lambda one: one.with_columns(brief_id()),
        optional=("detail", "n_faulty_parts", "game_id"),
        folds=(folds.titled("source"), folds.titled("status")),
        hints=["no document in the lake matches"] if rows.is_empty() else (),
    )


def document_counts(rows: pl.DataFrame, **_: Any) -> Table:
    return Table(
        "document_counts",
        rows,
        listed.COUNT_COLUMNS,
        folds=(folds.titled("source"), folds.titled("status")),
        hints=["use `--status`, `--source`, `--reason` or `--path` to list documents"],
    )


def quarantine(rows: pl.DataFrame, raw: bool = False, **_: Any) -> Table:
    """The rows by part and rule; in full, each as a block of lines."""
    to_see = () if raw else ("use `--raw` to see all columns and the raw document",)
    return Table(
        "quarantine",
        rows,
        TABLES["quarantine"].columns(),
        brief=_shortened if raw else lambda one: one.select(listed.BRIEF),
        as_records=raw,
        hints=("the quarantine is empty",) if rows.is_empty() else to_see,
    )


RAW_SHOWN = 400


def _shortened(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the first of each raw document."""
    from pipeline.cells import spelt

    texts = [None if raw is None else _first(spelt(raw)) for raw in rows["raw"]]
    return rows.with_columns(pl.Series("raw", texts, pl.String))


def _first(text: str) -> str:
    if len(text) <= RAW_SHOWN:
        return text
    return text[:RAW_SHOWN] + " … (use `--format json` to see more)"
