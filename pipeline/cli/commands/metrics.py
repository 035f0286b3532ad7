"""`magic metrics`: the values, with their counts."""

from typing import Annotated, Literal

from pipeline.cli import options, suggestions, terminal
from pipeline.cli.options import option, several
from pipeline.errors import UsageError
from pipeline.vocabulary import Edition

BY = "model,game_type"


@options.with_metric_files
def metrics(
    *,
    lake: options.LakeOption = options.DEFAULT_LAKE,
    system: options.SystemOption = None,
    edition: options.EditionOption = "paper",
    num_of_game: options.NumOfGameOption = None,
    engine: options.EngineOption = "polars",
    master: options.MasterOption = None,
    by: list[str] | None = option(
        "COLUMNS",
        f"Columns to group by, separated by commas; '' for one group; may be repeated.  "
        f"[default: {BY}]",
        suggested=suggestions.columns,
    ),
    model: options.ModelsOption = None,
    metric: options.MetricsOption = None,
    game_type: options.Texts = several(
        "TYPE", "Only this game type; `all` for all types together", suggestions.game_types
    ),
    where: options.WhereOption = None,
    confidence: options.ConfidenceOption = options.DEFAULT_CONFIDENCE,
    form: Annotated[
        Literal["table", "json", "csv", "markdown", "latex", "parquet", "magic-json"],
        options.form_option("latex (booktabs), parquet, or magic-json"),
    ] = "table",
) -> None:
    """Compute the metrics, with counts and confidence intervals.

    The intervals are clustered by setting: the settings played are taken as a sample of all
    settings. A value that cannot be computed is null, and `reason` says why. † marks a value if
    one of its terms has fewer than five settings of its own, and says how many.

    `--format magic-json` writes the JSON of the benchmark's own script, for one model of the
    release edition.

    \b
    Examples:
      magic metrics --model gpt-4 --format csv
      magic metrics --metric judgement --by model,role
      magic metrics --metric judgement --by system,model
      magic metrics --by opponent --where "n_rounds = 3 AND n_players = 4"
      magic metrics --edition release --num-of-game 20 --engine duckdb
      magic metrics --engine spark --master spark://head:7077
      magic metrics --edition release --model gpt-4 --format magic-json
    """
    grouped = options.columns([BY] if by is None else by)
    if form == "magic-json":
        _check_magic_json(edition, grouped, model, metric, game_type, where)
    num_of_game = options.games_counted(edition, num_of_game)

    from pipeline.cli.output import answer
    from pipeline.lake import open_lake
    from pipeline.metrics import metrics as values
    from pipeline.metrics.magic_json import magic_json

    is_by_system = "system" in grouped and system is None
    opened = open_lake(lake) if is_by_system else options.lake_of(lake, system)
    rows = values(
        opened,
        edition=edition,
        engine=engine,
        master=master,
        by=grouped,
        model=model,
        metric=metric,
        game_type=game_type,
        where=where,
        num_of_game=num_of_game,
        confidence=None if form == "magic-json" else confidence,
    )
    if form == "magic-json":
        terminal.out(magic_json(rows) + "\n")
        missing = rows.filter(game_type="all").drop_nulls("reason").select("metric", "reason")
        for name, reason in missing.iter_rows():
            terminal.note(f"{name} is null: {reason}")
        return
    answer("metrics", rows, form, lake=opened, edition=edition)
    if rows.is_empty() or not opened.systems:
        terminal.note("no game of a tested model matches")


def _check_magic_json(
    edition: Edition, grouped: list[str], model: list[str] | None, *others: object
) -> None:
    """Raises unless all release metrics of one model are requested."""
    is_whole = grouped == options.columns([BY]) and not any(others)
    if edition != "release" or len(model or ()) != 1 or not is_whole:
        raise UsageError(
            "magic-json needs --edition release and exactly one --model, without --by, --metric, "
            "--game-type or --where"
        )
