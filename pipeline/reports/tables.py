"""What is in a lake: its tables, with their sizes, and games that no metric counts."""

from collections.abc import Collection, Mapping

import polars as pl

from pipeline import column
from pipeline.events.contracts import TABLES, row_meaning
from pipeline.lake import StoredLake
from pipeline.metrics.known import of_lake

COLUMNS: Mapping[str, column.Column] = {
    "table": column.text("the table's name"),
    "row": column.text("what a row of it is"),
    "n_rows": column.count("its rows").shown("rows"),
    "n_bytes": column.Column(
        pl.Int64(), "the size of its Parquet files in bytes", unit="bytes"
    ).shown("size"),
    "n_files": column.count("the number of these files").shown("files"),
}


@of_lake
@column.listed(COLUMNS)
def tables(lake: StoredLake) -> pl.DataFrame:
    """A row for each table of the lake, as its Delta log says.

    >>> lake.tables().filter(table="votes")["n_rows"].item()
    192
    """
    sizes = {table: lake.sizes(table) for table in TABLES}
    return pl.DataFrame(
        {
            "table": table,
            "row": row_meaning(table).rstrip("."),
            "n_rows": sum(lake.counts(table).values()),
            "n_bytes": sum(of_files.values()),
            "n_files": len(of_files),
        }
        for table, of_files in sizes.items()
    )


def unknown_notes(lake: StoredLake, game_types: Collection[str] | None = None) -> list[str]:
    """Notes if the lake has games of a package that is not installed, or declared otherwise here.

    `game_types` are those that are shown, None for all.
    """
    notes, names = [], lake.unknown_tables
    changed, types = (
        ", ".join(name for name in of_lake if game_types is None or name in game_types)
        for of_lake in (lake.redeclared_types, lake.unknown_types)
    )
    if changed:
        notes.append(
            f"{changed}: roles or endings are declared otherwise here than when its games were "
            "ingested; metrics that count such games here count these by what was declared then: "
            "ingest them into a new lake"
        )
    if types:
        tables = f", and their own tables ({', '.join(names)}) are not read" if names else ""
        notes.append(
            f"the lake has games of {types}, of a package that is not installed: no metric counts "
            f"them{tables}; install the package to see them in full, or name the file that "
            "declares the game in MAGIC_GAMES"
        )
    return notes
