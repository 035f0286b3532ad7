"""`magic compare`: models against each other, metric by metric."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cells import without_zero
from pipeline.cli import suggestions
from pipeline.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_LAKE,
    ConfidenceOption,
    EditionOption,
    GameTypesOption,
    LakeOption,
    MetricsOption,
    PaperFormOption,
    SystemOption,
    WhereOption,
    columns,
    confidence_level,
    lake_of,
    with_metric_files,
)

if TYPE_CHECKING:
    import polars as pl

    from pipeline.cli.folds import Fold

THIN = ("thin", "other_thin")
# Columns of numbers that only programs need.
HIDDEN = ("share_paired", "common_value", "other_common_value", "is_replayed")


@with_metric_files
def compare(
    *,
    model: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL [OTHER]",
            help="The two models to compare; or one, whose groups of --by are compared.",
            autocompletion=suggestions.models,
        ),
    ] = None,
    lake: LakeOption = DEFAULT_LAKE,
    system: SystemOption = None,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Compare every pair of models in the lake.")
    ] = False,
    metric: MetricsOption = None,
    game_type: GameTypesOption = None,
    where: WhereOption = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="COLUMNS",
            help="Compare the models in each group of these columns; with one MODEL, compare its "
            "groups of this column.",
            autocompletion=suggestions.columns,
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            "--margin",
            metavar="D",
            help="Also test whether models are alike: they differ by less than D.",
        ),
    ] = None,
    influence: Annotated[
        bool,
        typer.Option("--influence", help="Also show how much single settings change a difference."),
    ] = False,
    edition: EditionOption = "paper",
    confidence: ConfidenceOption = DEFAULT_CONFIDENCE,
    form: PaperFormOption = "table",
) -> None:
    """Compare two models in each metric: difference, interval, p-value.

    Games are paired by competition and setting; replays of a setting are added up. If the models
    share too few settings, they are compared unpaired, and the row says so. The null hypothesis of
    the p-value is that the two models behave alike. `p_holm` is adjusted by Holm's method for all
    p-values printed; with --all-pairs, for those of one metric. The interval excludes 0 if and only
    if the p-value of a paired comparison reaches the level; an end of 0.00 was moved there. A note
    says where one model played the common settings much more often than the other.

    `--game-type`, `--where` and `--by` choose and group rows as in `magic metrics`. With one model
    and one column, all pairs of its groups are compared, such as its roles. With `--margin D`,
    `verdict` is alike (the difference is shown to be within -D..D), better, worse or undecided.
    With `--influence`, `without_low` and `without_high` are the range of the difference if any one
    setting is left out, and `influential` names the settings that change it most.

    \b
    Examples:
      magic compare gpt-4 gpt-4-pgm
      magic compare gpt-4 gpt-4-pgm --by role --where "n_rounds = 3"
      magic compare gpt-4 --by role --metric reasoning
      magic compare gpt-4 gpt-4-pgm --margin 0.05 --influence
      magic compare gpt-4 gpt-4-pgm --metric judgement --confidence 0.9
      magic compare --all-pairs --metric win_rate --format csv
    """
    models, grouped = model or [], columns(by or [])
    _check(models, grouped, all_pairs=all_pairs)
    confidence = confidence_level(confidence)

    from pipeline.cli.output import say, show, with_ids
    from pipeline.cli.thin import explanation, with_marks
    from pipeline.reports.compare import compare as compared
    from pipeline.reports.compare import contrast
    from pipeline.reports.compare.notes import DECIMALS, common_note, replay_note

    opened = lake_of(lake, system)
    options: dict[str, Any] = {
        "names": metric or None,
        "edition": edition,
        "confidence": confidence,
        "game_types": game_type or None,
        "where": where,
        "margin": margin,
        "influence": influence,
    }
    if len(models) == 1:
        rows = contrast(opened, models[0], grouped[0], **options)
    else:
        rows = compared(
            opened, *([(models[0], models[1])] if models else []), by=grouped, **options
        )
    hidden = ["family", *HIDDEN]
    hidden += [] if rows["reason"].count() else ["reason"]
    hidden += ["p_alike", "p_alike_holm"] if margin is not None else []
    brief = with_marks(with_ids(rows.drop(hidden)), THIN)
    notes = [family_note(rows, all_pairs=all_pairs), *_without_groups(rows, metric or [], grouped)]
    notes += [] if margin is None else [margin_note(margin)]
    notes += [*common_note(rows), *replay_note(rows), *explanation(rows, THIN)]
    if form == "table":
        narrow, said = _narrow(brief, models)
        of_pair = dict(zip(("value", "other_value"), models, strict=False))
        show(
            rows,
            form,
            brief=narrow,
            decimals=DECIMALS,
            headings=of_pair if len(models) == 2 else {},
            folds=_folds(narrow, models),
        )
        notes += [*said, *sign_note(rows)]
    else:
        show(rows, form, brief=brief)
    say(notes, form)


def _folds(rows: "pl.DataFrame", models: list[str]) -> "list[Fold]":
    """What the table gives up for a narrow terminal, step by step."""
    from pipeline.cli import folds

    about = rows.columns[: rows.columns.index("value")]
    influence = "without_one, influential"
    of_whom = ", ".join(models) if len(models) == 2 else "of model, of other"
    return [
        folds.short(n_settings="settings", p_value="p"),
        folds.mark("difference"),
        folds.bounds("without_one", "without_low", "without_high"),
        folds.merged(influence, "without_one", "influential"),
        folds.below(influence, *about, title=f"{influence}: "),
        folds.merged("values", "value", "other_value", note=f"values: {of_whom}"),
        *map(folds.titled, about[:-1]),
    ]


def _narrow(rows: "pl.DataFrame", models: list[str]) -> "tuple[pl.DataFrame, list[str]]":
    """The rows without what is the same in all, or long; and what is to be said of it instead.

    A difference has its interval beside it. Of two models the values have the models' names as
    headings.
    """
    import polars as pl

    from pipeline.cli.folds import View, interval, named
    from pipeline.statistics.pairs import UNPAIRED

    notes = []
    left_out = ["method"]
    # Of one model its groups are compared, which `other` is one of.
    left_out += [[], ["model"], ["model", "other"]][len(models)]
    about = [name for name in rows.columns[: rows.columns.index("value")] if name not in left_out]
    if "reason" in rows.columns:
        left_out.append("reason")
        without = rows.drop_nulls("reason").select(*about, "reason").rows()
        notes += [f"– {' '.join(map(str, what))}: {reason}" for *what, reason in without]
    unpaired = rows.filter(method=UNPAIRED).select(about).rows()
    if unpaired:
        which = named([" ".join(map(str, what)) for what in unpaired])
        notes.append(f"unpaired, for too few common settings: {which}")
    small = [pl.Series(name, map(_small, rows[name]), pl.String) for name in ("p_value", "p_holm")]
    whole = View(rows.with_columns(small), decimals=3)
    return interval("difference", "ci_low", "ci_high")(whole).rows.drop(left_out), notes


def _small(p: float | None) -> str | None:
    """A p-value as a reader needs it."""
    return None if p is None else "<.0001" if p < 0.0001 else without_zero(f"{p:.4f}")


def _check(models: list[str], by: list[str], *, all_pairs: bool) -> None:
    """Raises unless two models are named, or one and a column, or neither with --all-pairs."""
    if all_pairs is bool(models):
        raise typer.BadParameter(
            "name two models, or one model with --by COLUMN, or use --all-pairs alone",
            param_hint="MODEL",
        )
    if len(models) > 2 or (len(models) == 1 and not by):
        raise typer.BadParameter(
            "name two models, or one model with --by COLUMN", param_hint="MODEL"
        )
    if len(models) == 1 and len(by) != 1:
        raise typer.BadParameter("with one model, name one column", param_hint="--by")


def _without_groups(rows: "pl.DataFrame", metrics: list[str], by: list[str]) -> list[str]:
    """What to say of metrics that were named and have no row."""
    known = set(rows["metric"])
    missing = [name for name in metrics if name not in known] if known else []
    if not missing:
        return []
    of_what = f"groups of {', '.join(by)}" if by else "models"
    return [f"nothing to compare in {', '.join(missing)}: there are fewer than two {of_what}"]


def sign_note(rows: "pl.DataFrame") -> list[str]:
    """What the sign of an interval's end means that is shown as 0, if there is such an end."""
    ends = [abs(end) for name in ("ci_low", "ci_high") for end in rows[name].drop_nulls()]
    is_there = any(0 < end < 0.005 for end in ends)
    return ["an end of +.00 is just above 0, an end of -.00 just below it"] if is_there else []


def margin_note(margin: float) -> str:
    """What the verdicts mean."""
    return (
        f"verdict: alike means that the difference is shown to be within -{margin:g}..{margin:g}; "
        "undecided, that neither this nor a difference is shown"
    )


def family_note(rows: "pl.DataFrame", *, all_pairs: bool) -> str:
    if rows.is_empty():
        return "nothing to compare: there are fewer than two models or groups"
    sizes = rows["family"].drop_nulls().unique().sort().to_list()
    if not sizes:
        return "nothing could be compared"
    size = " to ".join(map(str, dict.fromkeys([sizes[0], sizes[-1]])))
    s = "" if size == "1" else "s"
    what = f"pair{s} of models in each metric" if all_pairs else f"p-value{s}: all that are printed"
    return f"p_holm is adjusted for a family of {size} {what}"
