"""`magic verify`: the lake against itself."""

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli import progress, terminal
from pipeline.cli.exits import FAILED
from pipeline.cli.options import DEFAULT_LAKE, FormOption, LakeOption

if TYPE_CHECKING:
    from pipeline.verify import Verification

BRIEF = ("check", "table", "n_rows", "row")


def verify(
    *,
    lake: LakeOption = DEFAULT_LAKE,
    most: Annotated[
        int, typer.Option("--most", min=1, metavar="N", help="List so many rows a check.")
    ] = 20,
    form: FormOption = "table",
) -> None:
    """Check that a lake is whole, and that its tables do not contradict each other.

    Every file is held against its log, every row against its contract, every game's parts against
    each other, and what was ingested against what is there. Nothing is changed. What is wrong is
    listed, and the exit code is 1; a log that contradicts itself is found as well.

    \b
    Examples:
      magic verify
      magic verify --lake lake/ --most 3 --format json
    """
    from pipeline.cli.output import show
    from pipeline.verify import verify as verify_lake

    with progress.of_steps() as on_progress:
        found = verify_lake(lake, most=most, on_progress=on_progress)
    show(found.faults, form, brief=found.faults.select(BRIEF))
    _tell(found)
    if not found.is_whole:
        raise typer.Exit(FAILED)


def _tell(found: "Verification") -> None:
    for check, finds in found.faults.select("check", "finds").unique(maintain_order=True).rows():
        terminal.note(f"{check}: {finds}")
    if found.left_out:
        terminal.note(f"{len(found.left_out)} checks were not made, since a table cannot be read")
    if found.is_whole:
        terminal.note(
            f"the lake is whole: {found.n_checks} checks, {found.n_files:,} files, "
            f"{found.n_rows:,} rows"
        )
