"""The commands of upkeep: what was refused, the catalogue, merged files, and the lake checked."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from click.exceptions import Exit

from pipeline.cells import counted
from pipeline.cli import options, progress, terminal
from pipeline.cli.changes import note_upgrade, renew_catalog
from pipeline.cli.command import Asked
from pipeline.cli.exits import CHECK_FAILED, CONTRADICTED, FAILED
from pipeline.cli.options import DEFAULT_LAKE, Form
from pipeline.declared import flag, option
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.verify import Verification


def quarantine(
    asked: Asked,
    *,
    lake: str = DEFAULT_LAKE,
    raw: bool = flag("--raw", "Show every column, with the raw document."),
    export: Path | None = option(
        "DIR", "Write the documents to a new folder.", check=options.local_folder
    ),
    form: Form = "table",
) -> None:
    """List what an ingest could not use, and why.

    A row is a whole document, or one part of a game whose other parts are in the tables.
    `json_path` says which part; `$` means the whole document.

    `magic ingest` reads quarantined documents again each time: run it on their source, with
    --model if logs lack the model, or --max-document if they are too large. With --reread it also
    reads the games again of which a part is quarantined.

    --export writes the bytes of each document, as far as the lake has them, and `manifest.json`.

    \b
    Examples:
      magic quarantine
      magic quarantine --raw --format json > refused.json
      magic quarantine --export refused/
    """
    if export is None:
        asked.show("reports.documents.quarantine")
    elif raw:
        raise UsageError("use only one of --raw and --export")
    else:
        _export(asked, lake, export)


def _export(asked: Asked, lake: str, folder: Path) -> None:
    from pipeline.ingest.export import MANIFEST, export

    manifest = export(lake, folder)
    with terminal.reporting(f"the documents are in {folder}"):
        hidden = ("n_written", "source", "sha256", "game_id", "rules")
        asked.show_rows("manifest", manifest, hidden=hidden)
    n_cut, n_unread = manifest["is_cut"].sum(), manifest["file"].null_count()
    terminal.note(
        f"{counted(manifest.height, 'document')}, {n_cut:,} cut and {n_unread:,} never read: "
        f"{folder / MANIFEST} says where each comes from"
    )


def catalog(
    asked: Asked,
    *,
    lake: str = DEFAULT_LAKE,
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
    from pipeline.lake.contents import CATALOG

    if out is None:
        state = renew(lake)
    else:
        state = asked.lake
        write_catalog(state, out)
    terminal.note(f"wrote {out or state.path / CATALOG}: the lake after ingest {state.ingest_id}")


def maintain(
    asked: Asked,
    *,
    lake: str = DEFAULT_LAKE,
    keep_days: float = option("N", "Keep every state of the last N days.", min=0, default=7.0),
    older_than_hours: float = option(
        "N",
        "Delete only files older than N hours; those of a running ingest always stay.",
        min=0,
        default=24.0,
    ),
    dry_run: bool = flag("--dry-run", "Show what would be done, change nothing."),
    form: Form = "table",
) -> None:
    """Merge small files into large sorted ones, and delete files that are no longer used.

    It can run while others read and ingest. Run it after many small ingests.

    \b
    Examples:
      magic maintain --lake lake/ --dry-run
      magic maintain --keep-days 30
    """
    from pipeline.lake import open_lake
    from pipeline.lake.maintain import maintain as maintain_lake

    before = open_lake(lake).contract_version
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
    if open_lake(lake).contract_version != before:
        note_upgrade(before)


BRIEF = ("check", "severity", "table", "n_rows", "row")


def verify(
    asked: Asked,
    *,
    lake: str = DEFAULT_LAKE,
    limit: int = option("N", "List at most N rows of each check.", min=1, default=20),
    allow_contradictions: bool = flag(
        "--allow-contradictions", "Exit with 0 if contradictions in logs are the only findings."
    ),
    form: Form = "table",
) -> None:
    """Check that a lake is undamaged and that its tables agree with each other.

    It compares every file with its hash and with the log of its table, every row with its contract,
    the parts of each game with each other, and the ingests with the tables. It changes nothing.

    Exit codes: 0 no finding, or only warnings; 1 a file may not be read, an ingest is not in the
    numbers, or the machine lacks memory, disk space or open files; 4 an error: the lake is
    damaged; 5 no error, but a contradiction: a log contradicts itself, and the lake holds what the
    log says. Use --allow-contradictions to accept contradictions, for example in CI.

    \b
    Examples:
      magic verify
      magic verify --lake lake/ --limit 3 --format json
      magic verify --allow-contradictions
    """
    from pipeline.verify import verify as verify_lake

    with progress.of_steps() as on_progress:
        verified = verify_lake(lake, limit=limit, on_progress=on_progress)
    asked.show_rows("verify", verified.faults, brief=lambda rows: rows.select(BRIEF))
    _print_notes(verified)
    if not verified.is_whole:
        raise Exit(CHECK_FAILED if verified.is_damaged else FAILED)
    if verified.is_contradicted and not allow_contradictions:
        raise Exit(CONTRADICTED)


def _print_notes(verified: "Verification") -> None:
    for check, finds in verified.faults.select("check", "finds").unique(maintain_order=True).rows():
        terminal.note(f"{check}: {finds}")
    if verified.left_out:
        terminal.note(
            f"{len(verified.left_out)} checks were skipped because a table cannot be read"
        )
    if verified.is_whole:
        terminal.note(
            f"the lake is undamaged: {verified.n_checks} checks, {verified.n_files:,} files, "
            f"{verified.n_rows:,} rows"
        )
    if verified.is_contradicted:
        terminal.note(
            "contradictions are in the logs, not damage to the lake: run `magic audit` to count "
            "such games; use --allow-contradictions to accept them"
        )
