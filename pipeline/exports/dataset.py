"""A data set to publish: the event tables as Parquet, with a data card and Croissant metadata."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pipeline.cells import counted
from pipeline.events.contracts import GAME_TABLES, TABLES
from pipeline.exports.card import Card, Published, card, croissant
from pipeline.exports.exported import Exported, grouped, instant, sorted_parts, write_json
from pipeline.exports.redaction import redaction
from pipeline.lake import StoredLake
from pipeline.replacing import filling
from pipeline.sqlfiles import identifier
from pipeline.written import parquet

PUBLISHED = (*GAME_TABLES, "roles")
"""The others say where documents were, and what was refused of them."""
_OF_RESULTS = ("game_id", "seat", "model", "role")


def write(
    lake: StoredLake,
    destination: Path,
    *,
    redact: Sequence[str] = (),
    redact_names: bool = False,
    title: str = "Games of language models",
    license: str | None = None,
    date: str | None = None,
) -> Exported:
    """Writes the tables that have rows to a new folder, each sorted by its key.

    Raises UsageError for columns that cannot be left out.
    """
    redacted = redaction(lake, redact, has_pseudonyms=redact_names)
    about = Card(title, instant(lake, date), license, lake, redacted)
    with filling(destination) as folder:
        (folder / "data").mkdir()
        tables = []
        for table in PUBLISHED:
            if table in lake.own_tables and any(lake.counts(table).values()):
                file = Path("data") / f"{table}.parquet"
                change = partial(redacted.applied, table)
                rows = sorted_parts(lake, _select(table, redacted.kept(table)), change)
                n_rows = parquet(grouped(rows), folder / file)
                tables.append(Published(table, str(file), folder / file, n_rows))
        (folder / "README.md").write_text(card(about, tables), encoding="utf-8")
        write_json(folder / "croissant.json", croissant(about, tables))
    left = ", ".join(redacted.columns)
    notes = [f"{counted(len(tables), 'table')}; left out: the columns {left}"]
    if redacted.pseudonyms:
        notes.append("names of models are replaced only where they are spelt as in `model`")
    n_rows = sum(one.n_rows for one in tables)
    return Exported(destination, n_rows, tuple(notes), redacted.pseudonyms)


def _select(table: str, columns: Sequence[str]) -> str:
    """All rows of a table in an order that no file of the lake decides."""
    order = _OF_RESULTS if table == "results" else TABLES[table].primary_key()
    listed, by = (", ".join(map(identifier, names)) for names in (columns, order))
    return f"SELECT {listed} FROM {identifier(table)} ORDER BY {by}"
