"""`magic simulate`: logs of games that were never played."""

from pathlib import Path

from pipeline.cli import options, progress, terminal
from pipeline.cli.command import Asked
from pipeline.cli.options import option


def simulate(
    asked: Asked,
    *,
    out: Path = option("DIR", "A new or empty folder.", check=options.local_folder, default=...),
    models: int = option("N", "Number of models, each with its own skill.", min=1, default=4),
    games: int = option("M", "Games of each model in each competition.", min=1, default=20),
    seed: int = option("S", "The same seed gives the same bytes.", default=0),
    archive: str | None = option(
        "KIND", "Write one archive, for example tar.zst, instead of a folder of logs."
    ),
    jobs: int | None = option("N", "Number of processes; default: one per core.", min=1),
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
        asked.show_rows("simulate", rows, as_records=True)
    terminal.note(f"run `magic ingest {summary.results}` to read them")
