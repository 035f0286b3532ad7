"""`magic tables`: what is in a lake."""

from typing import TYPE_CHECKING

from pipeline.cli import terminal
from pipeline.cli.options import DEFAULT_LAKE, FormOption, LakeOption

if TYPE_CHECKING:
    import polars as pl

    from pipeline.lake import Lake


def tables(*, lake: LakeOption = DEFAULT_LAKE, form: FormOption = "table") -> None:
    """List the lake's tables: meaning of a row, number of rows, bytes, and files.

    \b
    Examples:
      magic tables
      magic tables --lake lake/ --format json
    """
    import polars as pl

    from pipeline.cells import size
    from pipeline.cli.output import show
    from pipeline.lake import open_lake

    opened = open_lake(lake)
    sizes = _sizes(opened)
    brief = sizes.with_columns(n_bytes=pl.Series(map(size, sizes["n_bytes"]), dtype=pl.String))
    show(sizes, form, brief=brief)
    terminal.note(f"{opened.path} after ingest {opened.ingest_id}: {size(sum(sizes['n_bytes']))}")


def _sizes(lake: "Lake") -> "pl.DataFrame":
    """A row for each table, as its Delta log says, or a file's footer where the log does not."""
    import polars as pl

    from pipeline.events.contracts import TABLES, row_meaning

    rows = []
    for table in TABLES:
        counts, sizes = lake.counts(table), lake.sizes(table)
        rows.append(
            {
                "table": table,
                "row": row_meaning(table).rstrip("."),
                "n_rows": sum(counts.values()),
                "n_bytes": sum(sizes.values()),
                "n_files": len(sizes),
            }
        )
    return pl.DataFrame(rows)
