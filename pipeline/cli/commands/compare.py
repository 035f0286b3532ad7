"""`magic compare`: models against each other, metric by metric."""

from typing import TYPE_CHECKING, Any

from pipeline.cli import options, suggestions
from pipeline.cli.options import argument, flag, option
from pipeline.errors import UsageError

if TYPE_CHECKING:
    import polars as pl


@options.with_metric_files
def compare(
    *,
    model: options.Texts = argument(
        "[MODEL [OTHER]]",
        "The two models to compare; or one, whose groups of --by are compared.",
        suggestions.models,
    ),
    lake: options.LakeOption = options.DEFAULT_LAKE,
    system: options.SystemOption = None,
    all_pairs: bool = flag("--all-pairs", "Compare every pair of models in the lake."),
    metric: options.MetricsOption = None,
    game_type: options.GameTypesOption = None,
    where: options.WhereOption = None,
    by: list[str] | None = option(
        "COLUMNS",
        "Compare the models in each group of these columns; with one MODEL, compare its "
        "groups of this column.",
        suggested=suggestions.columns,
    ),
    margin: float | None = option(
        "D", "Also test whether models are alike: they differ by less than D."
    ),
    edition: options.EditionOption = "paper",
    confidence: options.ConfidenceOption = options.DEFAULT_CONFIDENCE,
    form: options.PaperFormOption = "table",
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

    \b
    Examples:
      magic compare gpt-4 gpt-4-pgm
      magic compare gpt-4 gpt-4-pgm --by role --where "n_rounds = 3"
      magic compare gpt-4 --by role --metric reasoning
      magic compare gpt-4 gpt-4-pgm --margin 0.05
      magic compare gpt-4 gpt-4-pgm --metric judgement --confidence 0.9
      magic compare --all-pairs --metric win_rate --format csv
    """
    models, grouped = model or [], options.columns(by or [])
    if all_pairs is bool(models) or len(models) > 2 or (len(models) == 1 and len(grouped) != 1):
        raise UsageError(
            "name two models, or one model with --by and one column, or use --all-pairs alone"
        )

    from pipeline.cli.output import show
    from pipeline.present import present
    from pipeline.reports.compare import compare as compared
    from pipeline.reports.compare import contrast

    opened = options.lake_of(lake, system)
    choices: dict[str, Any] = {
        "metric": metric,
        "edition": edition,
        "confidence": confidence,
        "game_type": game_type,
        "where": where,
        "margin": margin,
    }
    if len(models) == 1:
        rows = contrast(opened, models[0], grouped[0], **choices)
    else:
        rows = compared(
            opened, *([(models[0], models[1])] if models else []), by=grouped, **choices
        )
    table = present("compare", rows, lake=opened, edition=edition, margin=margin)
    show(table.noting(*_without_groups(rows, metric or [], grouped)), form)


def _without_groups(rows: "pl.DataFrame", metrics: list[str], by: list[str]) -> list[str]:
    """What to say of metrics that were named and have no row."""
    missing = [] if rows.is_empty() else [name for name in metrics if name not in rows["metric"]]
    of_what = f"groups of {', '.join(by)}" if by else "models"
    if not missing:
        return []
    return [f"nothing to compare in {', '.join(missing)}: there are fewer than two {of_what}"]
