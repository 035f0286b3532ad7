"""`magic diff`: what moved between two lakes, or two states of one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from click.exceptions import Exit

from pipeline.cli import options, terminal
from pipeline.cli.exits import CHECK_FAILED
from pipeline.cli.options import argument, flag, option
from pipeline.errors import UsageError

if TYPE_CHECKING:
    import polars as pl


@options.with_metric_files
def diff(
    *,
    lakes: options.Texts = argument(
        "[LAKE [LAKE]]",
        "The lakes before and after. One lake is compared with --lake. "
        "With --as-of, give one or none.",
    ),
    lake: options.LakeOption = options.DEFAULT_LAKE,
    system: options.SystemOption = None,
    as_of: list[int] | None = option(
        "INGEST",
        "Compare states of one lake: the state after this ingest with the latest state. "
        "Give it twice to compare two ingests.",
    ),
    list_games: bool = flag("--list-games", "List the games that only one of the two has."),
    fail_on_regression: float | None = option(
        "MARGIN", "Exit with 4 if a value fell by more than MARGIN, by a one-sided test.", min=0
    ),
    edition: options.EditionOption = "paper",
    confidence: options.ConfidenceOption = options.DEFAULT_CONFIDENCE,
    form: options.FormOption = "table",
) -> None:
    """Show what changed between two lakes, and whether chance alone can explain it.

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
      magic diff before/ after/ --fail-on-regression 0.05
      magic diff before/ --lake lake/
      magic diff --as-of 1 --list-games
    """
    states = as_of or []
    named = lakes_named(lakes or [], lake, states)

    from pipeline.cli.output import answer
    from pipeline.lake import open_lake
    from pipeline.reports.diff import diff as differ
    from pipeline.reports.diff import diff_games

    after = states[1] if len(states) == 2 else None
    first = options.lake_of(named[0], system, states[0] if states else None)
    second = open_lake(named[-1], after)
    if list_games:
        answer("diff_games", diff_games(first, second, edition=edition), form)
        if fail_on_regression is None:
            return
    rows = differ(first, second, edition=edition, confidence=confidence, margin=fail_on_regression)
    if not list_games:
        answer("diff", rows, form, edition=edition)
    if fail_on_regression is not None and _regressions(rows):
        raise Exit(CHECK_FAILED)


def lakes_named(lakes: Sequence[str], default: str, states: Sequence[int]) -> list[str]:
    """The one lake or the two that are compared; raises UsageError where that is not clear."""
    named = list(lakes) or [default]
    if len(lakes) == 1 and not states:
        named.append(default)
    if (len(named), len(states)) not in ((2, 0), (1, 1), (1, 2)):
        raise UsageError(
            "name two lakes, or one to compare with --lake; "
            "with --as-of (once or twice), name one lake or none"
        )
    return named


def _regressions(rows: "pl.DataFrame") -> bool:
    """Whether a value fell by more than the margin, and notes of those that did."""
    fell = rows.filter("is_regression")
    if n_unknown := rows["is_regression"].null_count():
        terminal.note(f"{n_unknown} of {rows.height} values could not be compared: see `reason`")
    for name, model, difference in fell.select("metric", "model", "difference").iter_rows():
        terminal.note(f"regression: {name} of {model} fell by {-difference:.4f}")
    return not fell.is_empty()
