"""`magic maintain`: upkeep of a lake."""

from typing import Annotated

from typer import Option

from pipeline.cli import terminal
from pipeline.cli.options import DEFAULT_LAKE, FormOption, LakeOption
from pipeline.cli.renewal import renew_catalog


def maintain(
    *,
    lake: LakeOption = DEFAULT_LAKE,
    keep_days: Annotated[
        float, Option(min=0, metavar="N", help="Keep every state of the last N days.")
    ] = 7.0,
    older_than_hours: Annotated[
        float,
        Option(
            min=0,
            metavar="N",
            help="Delete only files older than N hours; those of a running ingest always stay.",
        ),
    ] = 24.0,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show what would be done, change nothing.")
    ] = False,
    form: FormOption = "table",
) -> None:
    """Merge small files into large sorted ones, and delete files that are no longer used.

    It can run while others read and ingest. Run it after many small ingests.

    \b
    Examples:
      magic maintain --lake lake/ --dry-run
      magic maintain --keep-days 30
    """
    from pipeline.cli.output import show
    from pipeline.lake.maintain import maintain as maintain_lake
    from pipeline.present.table import Table

    rows = maintain_lake(
        lake, keep_days=keep_days, older_than_hours=older_than_hours, dry_run=dry_run
    )
    table = Table.of("maintain", rows)
    if not dry_run:
        try:
            with terminal.reporting("the lake is maintained"):
                show(table, form)
        finally:
            renew_catalog(lake)
    else:
        show(table, form)
        sizes = "; – is a size that is not known before the run"
        is_unknown = rows["bytes_after"].has_nulls()
        terminal.note(f"dry run: nothing was changed{sizes if is_unknown else ''}")
