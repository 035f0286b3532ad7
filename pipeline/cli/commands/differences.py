"""The commands of differences: of two models, and of two lakes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from click.exceptions import Exit

from pipeline.cli import options, suggestions, terminal
from pipeline.cli.command import Asked
from pipeline.cli.exits import CHECK_FAILED
from pipeline.cli.options import Texts
from pipeline.declared import argument, flag, option
from pipeline.errors import UsageError
from pipeline.vocabulary import Failures

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
        _show_changes(asked, rows, form, all_values=all)
    if margin is None:
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
