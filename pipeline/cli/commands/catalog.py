"""`magic catalog`: the lake as a DuckDB database for other SQL tools."""

from pathlib import Path

from pipeline.cli import options, terminal
from pipeline.cli.command import Asked
from pipeline.cli.options import option


def catalog(
    asked: Asked,
    *,
    lake: options.LakeOption = options.DEFAULT_LAKE,
    out: Path | None = option(
        "FILE",
        "The file to write; default: magic.duckdb in the lake.",
        "-o",
        "--out",
        check=options.local_folder,
    ),
) -> None:
    """Write a DuckDB database that shows the lake to other SQL tools.

    It has the tables and views of `magic sql`, as views over the lake's files, with a comment on
    every view and column. The tables `metrics` and `leaderboard` have the values with intervals.
    The table `about` names the state of the lake. An existing file is replaced.

    Run it once: from then on each ingest renews magic.duckdb, in a lake of up to 250,000 games. Run
    it again after an ingest into a larger lake, and after you moved a lake, because the database
    names the files by their full paths. Delete the file if you no longer need it.

    \b
    Examples:
      magic catalog
      magic catalog --lake s3://bucket/lake -o lake.duckdb
    """
    from pipeline.catalog import renew, write_catalog
    from pipeline.lake.names import CATALOG

    if out is None:
        state = renew(lake)
    else:
        state = asked.lake
        write_catalog(state, out)
    terminal.note(f"wrote {out or state.path / CATALOG}: the lake after ingest {state.ingest_id}")
