"""`magic tables`: what is in a lake."""

from pipeline.cli import terminal
from pipeline.cli.options import DEFAULT_LAKE, FormOption, LakeOption


def tables(*, lake: LakeOption = DEFAULT_LAKE, form: FormOption = "table") -> None:
    """List the lake's tables: meaning of a row, number of rows, bytes, and files.

    \b
    Examples:
      magic tables
      magic tables --lake lake/ --format json
    """
    from pipeline.cells import size
    from pipeline.cli.output import answer
    from pipeline.lake import open_lake
    from pipeline.reports.tables import tables as sizes_of

    opened = open_lake(lake)
    sizes = sizes_of(opened)
    answer("tables", sizes, form)
    if opened.unknown_tables:
        terminal.note(
            f"not listed: {', '.join(opened.unknown_tables)}, of a package that is not installed; "
            "nothing can be ingested without it"
        )
    terminal.note(f"{opened.path} after ingest {opened.ingest_id}: {size(sum(sizes['n_bytes']))}")
