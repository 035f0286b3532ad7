"""The commands of values: the leaderboard, the metrics, and how many games these are of."""

from pathlib import Path
from typing import Literal

from click.exceptions import Exit

from pipeline.cli import options, terminal
from pipeline.cli.command import Asked
from pipeline.cli.exits import CHECK_FAILED
from pipeline.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_LAKE,
    Texts,
)
from pipeline.declared import GAME_TYPES, flag, names_in, option
from pipeline.errors import UsageError
from pipeline.vocabulary import DEFAULT_GAMES, Edition, Engine, Failures

BY = "model,game_type"


def metrics(
    asked: Asked,
    *,
    lake: str = DEFAULT_LAKE,
    system: str | None = None,
    names: Path | None = None,
    failures: Failures = "exclude",
    edition: Edition = "paper",
    num_of_game: int = DEFAULT_GAMES,
    engine: Engine = "polars",
    master: str | None = None,
    by: list[str] = option(
        "COLUMNS",
        f"Columns to group by, separated by commas; setting.KEY for a key of what was fixed "
        f"before play; '' for one group; may be repeated.  "
        f"[default: {BY}]",
        suggested="columns",
        check=lambda by: names_in(by or [BY]),
    ),
    model: Texts = None,
    metric: Texts = None,
    game_type: Texts = GAME_TYPES,
    where: str | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    form: Literal[
        "table", "json", "csv", "markdown", "latex", "parquet", "magic-json"
    ] = options.form_option("latex (booktabs), parquet, or magic-json"),
    metric_file: list[Path] | None = None,
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
    if form == "magic-json":
        is_whole = by == names_in([BY]) and not (metric or game_type or where)
        if edition != "release" or len(model or ()) != 1 or not is_whole:
            raise UsageError(
                "magic-json needs --edition release and exactly one --model, without --by, "
                "--metric, --game-type or --where"
            )
        from pipeline.metrics.results import magic_json

        rows = asked.answer("metrics.metrics", confidence=None)
        terminal.out(magic_json(rows) + "\n")
        missing = rows.filter(game_type="all").drop_nulls("reason").select("metric", "reason")
        for name, reason in missing.iter_rows():
            terminal.note(f"{name} is null: {reason}")
        return
    if system is None and "system" in by:
        asked.lake = asked.every_system()
    asked.show("metrics.metrics")


def completeness(
    asked: Asked,
    *,
    incomplete: bool = flag("--incomplete", "Only rows that are not complete."),
    missing: bool = flag(
        "--missing",
        "List every setting of which the model has finished too few games, with what was fixed in "
        "it, and the unfinished games.",
    ),
    readability: bool = flag(
        "--readability", "By metric: rows not clear or missing, and the bounds of the value."
    ),
    edition: Edition = "paper",
    fail_if_incomplete: bool = flag(
        "--fail-if-incomplete",
        "Exit with 4 if a model is not complete, or if there are no games of tested models.",
    ),
    expected: int | None,
    metric_file: list[Path] | None = None,
    **_: object,
) -> None:
    """Shows games or bounds of values; exits with 4 if something is missing, if that is asked."""
    if missing and (readability or expected is not None):
        raise UsageError("--missing works with neither --expected nor --readability")
    if edition != "paper" and not readability:
        raise UsageError("--edition works only with --readability")

    from pipeline.present.rows import NO_GAMES
    from pipeline.present.rows import incomplete as incomplete_models

    tested = asked.lake.table("results").filter("is_tested").head(1)
    has_games = not tested.collect().is_empty()
    name = "readability" if readability else "completeness"
    rows = asked.answer(f"reports.completeness.{name}")
    table = asked.table(name, rows)
    if readability and not has_games:
        table = table.noting(NO_GAMES)
    if missing:
        listed = asked.table("missing", asked.answer("reports.missing.missing"), lake=None)
        asked.show_table(listed.noting(*table.notes))
    else:
        is_shown = ~rows["is_complete"].fill_null(value=False) if incomplete else True
        asked.show_table(table.with_rows(rows.filter(is_shown)))
    if fail_if_incomplete and (incomplete_models(rows) or not has_games):
        raise Exit(CHECK_FAILED)
