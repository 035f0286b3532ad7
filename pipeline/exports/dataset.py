"""A data set to publish: the event tables as Parquet, with a data card and Croissant metadata."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pipeline.cells import counted
from pipeline.events.contracts import GAME_TABLES, TABLES
from pipeline.exports.card import Card, card, croissant, file_of
from pipeline.exports.exported import (
    Exported,
    content,
    grouped,
    instant,
    sorted_parts,
    write_json,
)
from pipeline.exports.redaction import redaction
from pipeline.lake import StoredLake
from pipeline.replacing import filling
from pipeline.sqlfiles import identifier
from pipeline.written import parquet

# The others say where documents were, and what was refused of them.
_PUBLISHED = (*GAME_TABLES, "roles")
_KEY_OF_RESULTS = ("game_id", "seat", "model", "role")


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
    tables = {name: 0 for name in _PUBLISHED if any(lake.counts(name).values())}
    with filling(destination) as folder:
        (folder / "data").mkdir()
        for table in tables:
            columns = redacted.kept(table)
            has_content = table == "messages" and "content" in columns
            rows = sorted_parts(lake, _select(lake, table, columns), has_content=has_content)
            published = map(partial(redacted.applied, table), rows)
            tables[table] = parquet(grouped(published), folder / file_of(table))
        (folder / "README.md").write_text(card(about, tables), encoding="utf-8")
        write_json(folder / "croissant.json", croissant(about, tables, folder))
    notes = (
        f"{counted(len(tables), 'table')}; left out: {', '.join(redacted.columns)}",
        *(["texts can have other spellings of the models' names"] if redact_names else ()),
    )
    return Exported(destination, sum(tables.values()), notes, redacted.pseudonyms)


def _select(lake: StoredLake, table: str, columns: Sequence[str]) -> str:
    """All rows of a table in an order that no file of the lake decides."""
    order = _KEY_OF_RESULTS if table == "results" else TABLES[table].primary_key()
    texts = {"content": f"{content(lake)} AS content"} if table == "messages" else {}
    listed = ", ".join(texts.get(name, identifier(name)) for name in columns)
    return f"SELECT {listed} FROM {identifier(table)} ORDER BY {', '.join(map(identifier, order))}"
