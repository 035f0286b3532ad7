"""`magic maintain`: upkeep of a lake."""

from functools import partial

from pipeline.cli import options, terminal
from pipeline.cli.command import Asked
from pipeline.cli.options import flag, option
from pipeline.cli.renewal import renew_catalog


def maintain(
    asked: Asked,
    *,
    lake: options.LakeOption = options.DEFAULT_LAKE,
    keep_days: float = option("N", "Keep every state of the last N days.", min=0, default=7.0),
    older_than_hours: float = option(
        "N",
        "Delete only files older than N hours; those of a running ingest always stay.",
        min=0,
        default=24.0,
    ),
    dry_run: bool = flag("--dry-run", "Show what would be done, change nothing."),
    form: options.FormOption = "table",
) -> None:
    """Merge small files into large sorted ones, and delete files that are no longer used.

    It can run while others read and ingest. Run it after many small ingests.

    \b
    Examples:
      magic maintain --lake lake/ --dry-run
      magic maintain --keep-days 30
    """
    from pipeline.lake.maintain import maintain as maintain_lake

    rows = maintain_lake(
        lake,
        keep_days=keep_days,
        older_than_hours=older_than_hours,
        dry_run=dry_run,
        on_merged=partial(renew_catalog, lake),
    )
    if dry_run:
        asked.show_rows("maintain", rows)
        sizes = "; – is a size that is not known before the run"
        is_unknown = rows["bytes_after"].has_nulls()
        terminal.note(f"dry run: nothing was changed{sizes if is_unknown else ''}")
        return
    with terminal.reporting("the lake is maintained"):
        asked.show_rows("maintain", rows)
