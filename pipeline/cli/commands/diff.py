"""`magic diff`: what moved between two lakes, or two states of one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli import terminal
from pipeline.cli.exits import FAILED
from pipeline.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_LAKE,
    ConfidenceOption,
    EditionOption,
    FormOption,
    LakeOption,
    SystemOption,
    confidence_level,
    lake_of,
    with_metric_files,
)

if TYPE_CHECKING:
    import polars as pl

    from pipeline.cli.folds import Fold

THIN = ("thin", "new_thin")
FALLS = (
    "fall_seen: the smallest fall that the test of a regression sees with power .8; "
    "– if it would see none, or if there is no test"
)
LakesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[LAKE [LAKE]]",
        help="The lakes before and after. One lake is compared with --lake. "
        "With --as-of, give one or none.",
    ),
]


@with_metric_files
def diff(
    *,
    lakes: LakesArgument = None,
    lake: LakeOption = DEFAULT_LAKE,
    system: SystemOption = None,
    as_of: Annotated[
        list[int] | None,
        typer.Option(
            "--as-of",
            metavar="INGEST",
            help="Compare states of one lake: the state after this ingest with the latest state. "
            "Give it twice to compare two ingests.",
        ),
    ] = None,
    games: Annotated[
        bool, typer.Option("--games", help="List the games that only one of the two has.")
    ] = False,
    fail_on_regression: Annotated[
        float | None,
        typer.Option(
            "--fail-on-regression",
            metavar="MARGIN",
            min=0,
            help="Exit with 1 if a value fell by more than MARGIN, by a one-sided test.",
        ),
    ] = None,
    edition: EditionOption = "paper",
    confidence: ConfidenceOption = DEFAULT_CONFIDENCE,
    form: FormOption = "table",
) -> None:
    """Show what changed between two lakes, and whether chance alone can explain it.

    If both lakes count the same games, the difference is exact and has no p-value. Otherwise the
    two states are compared like two models, paired by setting if possible. With
    `--fail-on-regression`, `p_fall` tests whether the value fell by more than MARGIN: at .05 or
    less, adjusted by Holm's method, it did, and this is a regression. `fall_seen` is the smallest
    fall that this test detects with a probability of .8; smaller falls can stay undetected.
    A value that cannot be compared is no regression: `reason` says why.

    \b
    Examples:
      magic diff before/ after/
      magic diff before/ after/ --fail-on-regression 0.05
      magic diff before/ --lake lake/
      magic diff --as-of 1 --games
    """
    states = as_of or []
    named = compared(lakes or [], lake, states)
    confidence = confidence_level(confidence)

    from pipeline.cli.output import say, show
    from pipeline.cli.thin import explanation, with_marks
    from pipeline.lake import open_lake
    from pipeline.reports.compare.notes import common_note, replay_note
    from pipeline.reports.diff import diff as differ
    from pipeline.reports.diff import diff_games

    after = states[1] if len(states) == 2 else None
    first = lake_of(named[0], system, states[0] if states else None)
    second = open_lake(named[-1], after)
    rows = differ(first, second, edition=edition, confidence=confidence, margin=fail_on_regression)
    if games:
        show(diff_games(first, second, edition=edition), form, folds=_games_folds())
    else:
        hidden = ["family", "p_value", "n_settings", "is_replayed"]
        hidden += ["is_regression"] if fail_on_regression is not None else []
        hidden += [] if rows["reason"].count() else ["reason"]
        brief = with_marks(rows.drop(hidden), THIN)
        show(rows, form, brief=brief, folds=_folds())
        notes = [FALLS] if fail_on_regression is not None else []
        notes += common_note(rows, ("new_value", "value"))
        say([_family(rows), *notes, *replay_note(rows), *explanation(rows, THIN)], form)
    if fail_on_regression is not None and _regressions(rows):
        raise typer.Exit(FAILED)


def compared(lakes: Sequence[str], default: str, states: Sequence[int]) -> list[str]:
    """The one lake or the two that are compared; raises BadParameter where that is not clear."""
    named = list(lakes) or [default]
    if len(lakes) == 1 and not states:
        named.append(default)
    if (len(named), len(states)) not in ((2, 0), (1, 1), (1, 2)):
        raise typer.BadParameter(
            "name two lakes, or one to compare with --lake; "
            "with --as-of (once or twice), name one lake or none",
            param_hint="LAKE",
        )
    return named


def _folds() -> "list[Fold]":
    """What the table gives up for a narrow terminal, step by step."""
    from pipeline.cli import folds

    about = ("metric", "model")
    return [
        folds.below("reason", *about),
        folds.rounded(3),
        folds.short(n_common="common", n_gone="gone", n_new="new"),
        folds.interval("difference", "ci_low", "ci_high"),
        folds.mark("difference"),
        folds.below("method", *about, title="method: "),
        folds.titled("metric"),
        folds.merged("values", "value", "new_value", note="values: before, after"),
        folds.merged("games", "n_common", "n_gone", "n_new", note="games: in both, gone, new"),
        folds.starred("is_beyond_noise", "difference", "beyond noise", where=True),
    ]


def _games_folds() -> "list[Fold]":
    from pipeline.cli import folds

    return [
        folds.begun("setting_id", "game_id"),
        folds.alike("change", "hits", "counted"),
        folds.titled("metric", "model"),
    ]


def _family(rows: "pl.DataFrame") -> str:
    """How many p-values were adjusted together."""
    size = max(rows["family"].drop_nulls().to_list(), default=0)
    if not size:
        is_same = not (rows["n_gone"] + rows["n_new"]).sum()
        reason = "both states count the same games" if is_same else "nothing can be compared"
        return f"no p-values: {reason}"
    return f"p_holm is adjusted for a family of {size} p-value{'' if size == 1 else 's'} in all"


def _regressions(rows: "pl.DataFrame") -> bool:
    """Whether a value fell by more than the margin, and notes of those that did."""
    fell = rows.filter("is_regression")
    if n_untold := rows["is_regression"].null_count():
        terminal.note(f"{n_untold} of {rows.height} values could not be compared: see `reason`")
    for name, model, difference in fell.select("metric", "model", "difference").iter_rows():
        terminal.note(f"regression: {name} of {model} fell by {-difference:.4f}")
    return not fell.is_empty()
