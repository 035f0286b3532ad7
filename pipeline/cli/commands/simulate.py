"""`magic simulate`: logs of games that were never played."""

from pathlib import Path
from typing import Annotated

from typer import Exit, Option

from pipeline.cli import progress, terminal
from pipeline.cli.exits import INTERRUPTED
from pipeline.cli.options import FormOption, local_folder


def simulate(
    *,
    out: Annotated[
        Path, Option(callback=local_folder, metavar="DIR", help="A new or empty folder.")
    ],
    models: Annotated[
        int, Option(min=1, metavar="N", help="Number of models, each with its own skill.")
    ] = 4,
    games: Annotated[
        int, Option(min=1, metavar="M", help="Games of each model in each competition.")
    ] = 20,
    seed: Annotated[int, Option(metavar="S", help="The same seed gives the same bytes.")] = 0,
    archive: Annotated[
        str | None,
        Option(
            metavar="KIND",
            help="Write one archive, for example tar.zst, instead of a folder of logs.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, Option(min=1, metavar="N", help="Number of processes; default: one per core.")
    ] = None,
    form: FormOption = "table",
) -> None:
    """Write logs of simulated games between models of known skill.

    The logs have the benchmark's format, sizes and quirks.

    \b
    Examples:
      magic simulate --models 4 --games 20 --seed 1 --out simulated/
      magic simulate --models 8 --games 100 --seed 1 --out big/ --archive tar.zst
    """
    import polars as pl

    from pipeline.cli.output import show
    from pipeline.present.table import Table
    from pipeline.simulate import simulate as write
    from pipeline.simulate.competitions import COMPETITIONS

    try:
        with progress.of_games(models * games * len(COMPETITIONS)) as on_game:
            summary = write(
                out,
                models=models,
                games=games,
                seed=seed,
                archive=archive,
                jobs=jobs,
                on_game=on_game,
            )
    except KeyboardInterrupt:
        terminal.complain(f"interrupted: {out} is incomplete; delete it and run the command again")
        raise Exit(INTERRUPTED) from None
    record = summary._asdict() | {"results": str(summary.results), "truth": str(summary.truth)}
    rows = pl.DataFrame([record | {"models": list(summary.models)}])
    with terminal.reporting(f"the logs are in {summary.results}"):
        show(Table.of("simulate", rows, as_records=True), form)
    terminal.note(f"run `magic ingest {summary.results}` to read them")
