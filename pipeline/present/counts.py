"""How much a lake has: games finished and missing, texts read, tables and their columns."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from pipeline import cells
from pipeline.lake import StoredLake
from pipeline.present import folds
from pipeline.present.table import Estimate, Table
from pipeline.reports import completeness as games
from pipeline.reports import missing as lacking
from pipeline.reports import tables as catalog

NO_GAMES = "the lake has no game of a tested model: nothing can be complete"
_GAME_COLUMNS = ("n_unfinished", "n_quarantined", "is_complete")


def completeness(
    rows: pl.DataFrame,
    lake: StoredLake | None = None,
    model: Sequence[str] | None = None,
    **_: Any,
) -> Table:
    return Table(
        "completeness",
        rows,
        games.COLUMNS,
        hidden=("game_type", "n_missing"),
        folds=(
            folds.alike(*_GAME_COLUMNS),
            folds.titled("model"),
            folds.starred("is_complete", "competition", note="not complete", where=False),
        ),
        notes=[_complete(rows, model), *([] if lake is None else _quarantined(lake))],
    )


def _complete(rows: pl.DataFrame, models: Sequence[str] | None) -> str:
    lacking = incomplete(rows)
    if rows.is_empty() or not rows["n_games"].sum():
        return NO_GAMES
    if not lacking:
        return f"complete: {', '.join(models)}" if models else "every model is complete"
    counts = rows.group_by("model").agg(pl.col("n_missing", "expected").sum())
    of = {model: f"{n:,} of {expected:,}" for model, n, expected in counts.iter_rows()}
    names = ", ".join(f"{'–' if name is None else name} ({of[name]} missing)" for name in lacking)
    return f"incomplete: {names}; run `magic completeness --missing` to list what is missing"


def incomplete(rows: pl.DataFrame) -> list[str | None]:
    """The models that are not complete."""
    return rows.filter(~rows["is_complete"])["model"].unique().sort().to_list()


def _quarantined(lake: StoredLake) -> list[str]:
    """A note where whole documents are quarantined: they may be games that are missing."""
    refused = lake.table("quarantine").select(pl.col("game_id").is_null().sum()).collect().item()
    documents = "1 document is" if refused == 1 else f"{refused:,} documents are"
    note = f"{documents} quarantined and may be missing games: run `magic quarantine`"
    return [note] if refused else []


def readability(rows: pl.DataFrame, **_: Any) -> Table:
    counts = ("n_unreadable", "n_ambiguous", "n_outages", "n_missing")
    return Table(
        "readability",
        rows,
        games.READABILITY,
        estimates=[Estimate(low="value_min", high="value_max", heading="bounds")],
        folds=(
            folds.alike(*counts, "is_complete"),
            folds.titled("model"),
            folds.starred("is_complete", "metric", note="not complete", where=False),
        ),
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
        lacking.COLUMNS,
        hidden=("game_type", "setting"),
        optional=[name for name in rows.columns if name not in kept],
        folds=(
            folds.begun("setting_id"),
            folds.alike("game_index", "n_missing", "n_expected", "n_unfinished", "paths"),
            folds.titled("model"),
            folds.titled("competition"),
        ),
    )


def tables(rows: pl.DataFrame, opened: StoredLake | None = None, **_: Any) -> Table:
    hints = [] if opened is None else _sum(rows, opened)
    return Table("tables", rows, catalog.COLUMNS, hints=hints)


def _sum(rows: pl.DataFrame, lake: StoredLake) -> list[str]:
    """The lake with its size, and which tables of it are not known here."""
    size = cells.size(sum(rows["n_bytes"]))
    unknown = (
        f"not listed: {', '.join(lake.unknown_tables)}, of a package that is not installed; "
        "nothing can be ingested without it"
    )
    state = f"{lake.path} after ingest {lake.ingest_id}: {size}"
    return [unknown, state] if lake.unknown_tables else [state]


def schema(rows: pl.DataFrame, **_: Any) -> Table:
    return Table("schema", rows, brief=_contract)


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
