"""What is in a lake: its tables, with their sizes, and games that no metric counts."""

from collections.abc import Collection, Mapping

import polars as pl

from pipeline import column
from pipeline.events.contracts import TABLES, row_meaning
from pipeline.lake import StoredLake

COLUMNS: Mapping[str, column.Column] = {
    "table": column.text("the table's name"),
    "row": column.text("what a row of it is"),
    "n_rows": column.count("its rows").shown("rows"),
    "n_bytes": column.Column(
        pl.Int64(), "the size of its Parquet files in bytes", unit="bytes"
    ).shown("size"),
    "n_files": column.count("the number of these files").shown("files"),
}


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
    """A note if the lake has games of a package that is not installed, or was another.

    `game_types` are those that are shown, None for all.
    """
    names = lake.unknown_tables
    types = [name for name in lake.unknown_types if game_types is None or name in game_types]
    changed = [n for n in lake.redeclared_types if game_types is None or n in game_types]
    notes = [
        f"{', '.join(changed)}: roles or endings are declared otherwise here than when its games "
        "were ingested, which are counted by what was declared then; ingest them into a new lake"
    ]
    notes = notes if changed else []
    if not types:
        return notes
    tables = f", and their own tables ({', '.join(names)}) are not read" if names else ""
    return [
        *notes,
        f"the lake has games of {', '.join(types)}, of a package that is not installed: no metric "
        f"counts them{tables}; install the package to see them in full, or name the file that "
        "declares the game in MAGIC_GAMES",
    ]
