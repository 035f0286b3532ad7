"""`magic simulate`: logs of games that were never played."""

from pathlib import Path
from typing import Annotated

from pipeline.cli import options, progress, terminal
from pipeline.cli.options import option


def simulate(
    *,
    out: Annotated[Path, option("DIR", "A new or empty folder.", callback=options.local_folder)],
    models: Annotated[int, option("N", "Number of models, each with its own skill.", min=1)] = 4,
    games: Annotated[int, option("M", "Games of each model in each competition.", min=1)] = 20,
    seed: Annotated[int, option("S", "The same seed gives the same bytes.")] = 0,
    archive: Annotated[
        str | None,
        option("KIND", "Write one archive, for example tar.zst, instead of a folder of logs."),
    ] = None,
    jobs: Annotated[
        int | None, option("N", "Number of processes; default: one per core.", min=1)
    ] = None,
    form: options.FormOption = "table",
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
        raise KeyboardInterrupt(
            f"{out} is incomplete; delete it and run the command again"
        ) from None
    record = summary._asdict() | {"results": str(summary.results), "truth": str(summary.truth)}
    rows = pl.DataFrame([record | {"models": list(summary.models)}])
    with terminal.reporting(f"the logs are in {summary.results}"):
        show(Table.of("simulate", rows, as_records=True), form)
    terminal.note(f"run `magic ingest {summary.results}` to read them")
