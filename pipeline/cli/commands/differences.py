"""The commands of differences: of two models, and of two lakes."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from click.exceptions import Exit

from pipeline.cli import options, suggestions, terminal
from pipeline.cli.command import Asked
from pipeline.cli.exits import CHECK_FAILED
from pipeline.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_LAKE,
    PAPER_FORM,
    Form,
    PaperForm,
    Texts,
)
from pipeline.declared import argument, flag, option
from pipeline.errors import UsageError
from pipeline.vocabulary import Edition, Failures

if TYPE_CHECKING:
    import polars as pl


def compare(
    asked: Asked,
    *,
    model: Texts = argument(
        "[MODEL [OTHER]]",
        "The two models to compare; or one, whose groups of --by are compared.",
        "models",
    ),
    lake: str = DEFAULT_LAKE,
    system: str | None = None,
    names: Path | None = None,
    failures: Failures = "exclude",
    all_pairs: bool = flag("--all-pairs", "Compare every pair of models in the lake."),
    metric: Texts = None,
    game_type: Texts = None,
    where: str | None = None,
    by: list[str] = option(
        "COLUMNS",
        "Compare the models in each group of these columns; with one MODEL, compare its "
        "groups of this column.",
        suggested="columns",
        check=options.columns,
    ),
    method: str | None = option(
        "METHOD",
        "Compare models with and without a method: what the names of those with it end with, such "
        "as pgm, or a column and its value, such as setting.prompt=v2.",
        "--with",
    ),
    margin: float | None = option(
        "D", "Also test whether models are alike: they differ by less than D."
    ),
    edition: Edition = "paper",
    confidence: float = DEFAULT_CONFIDENCE,
    form: PaperForm = PAPER_FORM,
    metric_file: list[Path] | None = None,
) -> None:
    """Compare two models in each metric: difference, interval, p-value.

    Games are paired by competition and setting; replays of a setting are added up. If the models
    share too few settings, they are compared unpaired, and the row says so. The null hypothesis of
    the p-value is that the two models behave alike. `p (Holm)` is adjusted by Holm's method for all
    p-values printed; with --all-pairs, for those of one metric. The interval excludes 0 if and only
    if the p-value of a paired comparison reaches the level; an end of 0.00 was moved there. A note
    says where one model played the common settings much more often than the other.

    `--game-type`, `--where` and `--by` choose and group rows as in `magic metrics`. With one model
    and one column, all pairs of its groups are compared, such as its roles. With `--margin D`,
    `verdict` is alike (the difference is shown to be within -D..D), better, worse or undecided.

    MODEL@SYSTEM names a model of another system. Models of two systems are compared unpaired, in
    the game types that both play by the same rules.

    With `--with pgm`, a row is a model that is there with and without it, such as gpt-4-pgm and
    gpt-4; further rows have the mean over these models, whose interval knows that they share
    settings.

    \b
    Examples:
      magic compare gpt-4 gpt-4-pgm
      magic compare gpt-4 gpt-4-pgm --by role --where "n_rounds = 3"
      magic compare gpt-4 --by role --metric reasoning
      magic compare gpt-4 --by setting.temperature
      magic compare gpt-4 gpt-4-pgm --margin 0.05
      magic compare gpt-4@magic gpt-4@my-harness --metric judgement
      magic compare gpt-4 gpt-4-pgm --metric judgement --confidence 0.9
      magic compare --with pgm --metric win_rate
      magic compare --all-pairs --metric win_rate --format csv
    """
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
    lake: str = DEFAULT_LAKE,
    system: str | None = None,
    names: Path | None = None,
    failures: Failures = "exclude",
    model: Texts = None,
    metric: Texts = None,
    all: bool = flag(
        "--all", "List all values, not only those that moved; json, csv and parquet have all."
    ),
    as_of: list[int] | None = option(
        "INGEST",
        "Compare states of one lake: the state after this ingest with the latest state. "
        "Give it twice to compare two ingests.",
    ),
    list_games: bool = flag("--list-games", "List the games that only one of the two has."),
    fail_on_regression: float | None = option(
        "MARGIN", "Exit with 4 if a value fell by more than MARGIN, by a one-sided test.", min=0
    ),
    edition: Edition = "paper",
    confidence: float = DEFAULT_CONFIDENCE,
    form: Form = "table",
    metric_file: list[Path] | None = None,
) -> None:
    """Show what changed between two lakes, and whether chance alone can explain it.

    The first line says how many values moved beyond chance, at which level (.05, or 1 − SHARE with
    `--confidence`), and which models are new or gone. The rows are the values that moved; --all
    lists all. Where the two lakes have different settings, `common before` and `common after` are
    the values on the common settings: `difference` is the second less the first. With --model and
    --metric, p-values are adjusted for these values alone.

    If both lakes count the same games, the difference is exact and has no p-value. Otherwise the
    two states are compared like two models, paired by setting if possible. With
    `--fail-on-regression`, `p fall` tests whether the value fell by more than MARGIN, adjusted by
    Holm's method. At .05 or less (1 − SHARE with `--confidence`) it did: this is a regression.
    `fall seen` is the smallest fall that this test detects with a probability of .8; smaller falls
    can stay undetected.
    A value that cannot be compared is no regression: `reason` says why.

    \b
    Examples:
      magic diff before/ after/
      magic diff before/ after/ --all --metric win_rate --model gpt-4
      magic diff before/ after/ --fail-on-regression 0.05
      magic diff before/ --lake lake/
      magic diff --as-of 1 --list-games
    """
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
        if fail_on_regression is None:
            return
    rows = asked.answer("reports.diff.diff", after, margin=fail_on_regression)
    if not list_games:
        _show_changes(asked, rows, form, all_values=all)
    if fail_on_regression is None:
        return
    if n_unknown := rows["is_regression"].null_count():
        terminal.note(
            f"{n_unknown} of {rows.height} values could not be compared: see `reason`, by --all"
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
    # Whoever names both asks for these values.
    all_values = all_values or asked.has("model", "metric")
    table = asked.table("diff", rows, all_values=all_values or not is_for_readers)
    if is_for_readers:
        moved, *notes = table.notes
        output.heading(moved, form, level=3)
        table = replace(table, notes=notes)
    asked.show_table(table)
