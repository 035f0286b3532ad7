"""The commands of values: the metrics, how complete they are, and their differences."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from click.exceptions import Exit

from pipeline.cli import options, suggestions, terminal
from pipeline.cli.command import Asked
from pipeline.cli.exits import CHECK_FAILED
from pipeline.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_LAKE,
    Texts,
)
from pipeline.declared import GAME_TYPES, argument, flag, names_in, option
from pipeline.errors import UsageError
from pipeline.vocabulary import DEFAULT_GAMES, Edition, Engine, Failures

if TYPE_CHECKING:
    import polars as pl


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
    expected: int | None = None,
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

    from pipeline.present.rows import NO_GAMES, incomplete as incomplete_models

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


def compare(
    asked: Asked,
    *,
    model: Texts = argument(
        "[MODEL [OTHER]]",
        "The two models to compare; or one, whose groups of --by are compared.",
        "models",
    ),
    all_pairs: bool = flag("--all-pairs", "Compare every pair of models in the lake."),
    method: str | None = None,
    system: str | None = None,
    metric: Texts = None,
    by: Sequence[str],
    **_: object,
) -> None:
    """Compares two models, one model's groups, all models, or those with a method."""
    models = model or []
    if method is not None and not (models or all_pairs or by):
        asked.show("reports.compare.compare_with")
        return
    if system is None and any("@" in one for one in models):
        from pipeline.reports.compare.across import system_of

        every = asked.every_system()
        named = [system_of(every, one) for one in models]
        if any(named):  # without a note that one system alone is counted
            asked.lake = every.of_system(named[0]) if named[0] else every.of_one_system()
    if (
        method
        or all_pairs is bool(models)
        or len(models) > 2
        or (len(models) == 1 and len(by) != 1)
    ):
        raise UsageError(
            "name two models, or one model with --by and one column, or use --all-pairs or --with "
            "alone"
        )
    if len(models) == 1:
        rows = asked.answer("reports.compare.contrast", model=models[0], by=by[0])
    else:
        rows = asked.answer("reports.compare.compare", *([tuple(models)] if models else []))
    table = asked.table("compare", rows)
    if rows.height and (without := [name for name in metric or () if name not in rows["metric"]]):
        what = f"groups of {', '.join(by)}" if by else "models"
        table = table.noting(
            f"nothing to compare in {', '.join(without)}: there are fewer than two {what}"
        )
    asked.show_table(table)


def diff(
    asked: Asked,
    *,
    lakes: Texts = argument(
        "[LAKE [LAKE]]",
        "The lakes before and after. One lake is compared with --lake. "
        "With --as-of, give one or none.",
    ),
    all: bool = flag(
        "--all", "List all values, not only those that moved; json, csv and parquet have all."
    ),
    as_of: list[int] | None = option(
        "INGEST",
        "Compare states of one lake: the state after this ingest with the latest state. "
        "Give it twice to compare two ingests.",
    ),
    list_games: bool = flag("--list-games", "List the games that only one of the two has."),
    lake: str,
    system: str | None,
    names: Path | None,
    failures: Failures,
    model: Texts,
    metric: Texts,
    margin: float | None,
    form: str,
    **_: object,
) -> None:
    """Compares two lakes, or two states of one; exits with 4 if a value fell by the margin."""
    states, named = as_of or [], suggestions.lakes_asked(lake, lakes, as_of)
    if (len(named), len(states)) not in ((2, 0), (1, 1), (1, 2)):
        raise UsageError(
            "name two lakes, or one to compare with --lake; "
            "with --as-of (once or twice), name one lake or none"
        )

    from pipeline.lake import open_lake

    before = options.lake_of(named[0], system, states[0] if states else None)
    after = open_lake(named[-1], states[1] if len(states) == 2 else None)
    before, after = options.named_together([before, after], names)
    asked.lake = options.failing(before, failures, " before")
    after = options.failing(after, failures, " after")
    if list_games:
        asked.show("reports.diff.diff_games", after)
        if margin is None:
            return
    rows = asked.answer("reports.diff.diff", after)
    if not list_games:
        # Whoever names a model and a metric asks for these values.
        _show_changes(asked, rows, form, all_values=all or bool(model and metric))
    if margin is None:
        return
    known = rows.filter(rows["value"].is_not_null() | rows["new_value"].is_not_null())
    if n_unknown := known["is_regression"].null_count():
        terminal.note(
            f"{n_unknown} of {known.height} values could not be compared: see `reason`, by --all"
        )
    fell = rows.filter("is_regression")
    for name, of_model, difference in fell.select("metric", "model", "difference").iter_rows():
        terminal.note(f"regression: {name} of {of_model} fell by {-difference:.4f}")
    if fell.height:
        raise Exit(CHECK_FAILED)


def _show_changes(asked: Asked, rows: "pl.DataFrame", form: str, *, all_values: bool) -> None:
    """Shows the rows of a diff; for readers, what moved is said above them."""
    from pipeline.cli import output

    is_for_readers = form in ("table", "markdown")
    table = asked.table("diff", rows, all_values=all_values or not is_for_readers)
    if is_for_readers:
        moved, *notes = table.notes
        output.heading(moved, form, level=3)
        table = replace(table, notes=notes)
    asked.show_table(table)
