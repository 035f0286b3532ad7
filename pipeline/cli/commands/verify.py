"""`magic verify`: the lake against itself."""

from typing import TYPE_CHECKING

from click.exceptions import Exit

from pipeline.cli import options, progress, terminal
from pipeline.cli.command import Asked
from pipeline.cli.exits import CHECK_FAILED, CONTRADICTED, FAILED
from pipeline.cli.options import flag, option

if TYPE_CHECKING:
    from pipeline.verify import Verification

BRIEF = ("check", "severity", "table", "n_rows", "row")


def verify(
    asked: Asked,
    *,
    lake: options.LakeOption = options.DEFAULT_LAKE,
    limit: int = option("N", "List at most N rows of each check.", min=1, default=20),
    allow_contradictions: bool = flag(
        "--allow-contradictions", "Exit with 0 if contradictions in logs are the only findings."
    ),
    form: options.FormOption = "table",
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
