"""Lists of what a lake has: games, decisions with their messages, contradictions, documents."""

from functools import partial
from typing import Any

import polars as pl

from pipeline import column
from pipeline.events.contracts import TABLES
from pipeline.metrics import evidence as evidence_rows
from pipeline.present import folds
from pipeline.present.table import Table, brief_id, brief_texts
from pipeline.present.values import group_columns
from pipeline.reports import audit as audits
from pipeline.reports import documents as listed
from pipeline.reports import games as games_list
from pipeline.reports import search as searches
from pipeline.reports.quarantine import BRIEF

_BRIEF = (
    *("game_id", "term", "model", "player", "round", "what", "compared_with", "hit"),
    *("message_index", "content"),
)
_OF_FINDING = ("model", "player", "round", "logged", "says", "message_index", "content")
_SEARCH = {**searches.COLUMNS, "text": column.text("the text around the hit")}


def evidence(rows: pl.DataFrame, has_terms: bool = False, **_: Any) -> Table:
    return Table(
        "evidence",
        rows,
        evidence_rows.COLUMNS,
        hidden=() if has_terms else ("term",),
        brief=partial(brief, columns=_BRIEF),
    )


def brief(rows: pl.DataFrame, columns: tuple[str, ...]) -> pl.DataFrame:
    """What fits on a line or two: of ids and texts the beginning."""
    return brief_texts(rows).select(columns)


def audit(rows: pl.DataFrame, **_: Any) -> Table:
    return Table(
        "audit",
        rows,
        {**group_columns(rows), **audits.COLUMNS},
        hidden=("title", "effect"),
        folds=(folds.titled("kind", "metric"),),
    )


def findings(rows: pl.DataFrame, **_: Any) -> Table:
    columns = ("game_id", *_OF_FINDING)
    return Table("findings", rows, audits.FINDINGS, brief=partial(brief, columns=columns))


def search(rows: pl.DataFrame, secret: bool = False, **_: Any) -> Table:
    hidden = ("player", "role", "game_type" if secret else "phase")
    return Table("search", rows, _SEARCH, hidden=hidden, brief=_around)


def _around(rows: pl.DataFrame) -> pl.DataFrame:
    """What fits on a line: of ids the beginning, and the text around the hit as one."""
    text = pl.concat_str("before", "hit", "after").str.replace_all(r"\s+", " ").str.strip_chars()
    return rows.with_columns(brief_id(), text=text).drop("before", "hit", "after")


def games(rows: pl.DataFrame, **_: Any) -> Table:
    return Table(
        "games",
        rows,
        games_list.COLUMNS,
        hidden=("is_finished", "setting_id", "game_index", "source"),
        brief=_of_games,
        folds=(folds.titled("game_type"),),
    )


def _of_games(rows: pl.DataFrame) -> pl.DataFrame:
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
        brief=lambda one: one.with_columns(brief_id()),
        optional=("detail", "n_faulty_parts", "game_id"),
        folds=(folds.titled("source"), folds.titled("status")),
    )


def document_counts(rows: pl.DataFrame, **_: Any) -> Table:
    by_source = (folds.titled("source"), folds.titled("status"))
    return Table("document_counts", rows, listed.COUNT_COLUMNS, folds=by_source)


def quarantine(rows: pl.DataFrame, raw: bool = False, **_: Any) -> Table:
    """The rows by part and rule; in full, each as a block of lines."""
    columns = TABLES["quarantine"].columns()
    if raw:
        return Table("quarantine", rows, columns, brief=_shortened, as_records=True)
    return Table("quarantine", rows, columns, brief=lambda one: one.select(BRIEF))


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
