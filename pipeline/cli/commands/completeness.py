"""`magic completeness`: what is there of each model, and what is missing."""

from click.exceptions import Exit

from pipeline.cli import options
from pipeline.cli.exits import CHECK_FAILED
from pipeline.cli.options import flag, option
from pipeline.errors import UsageError


@options.with_metric_files
def completeness(
    *,
    lake: options.LakeOption = options.DEFAULT_LAKE,
    system: options.SystemOption = None,
    model: options.ModelsOption = None,
    incomplete: bool = flag("--incomplete", "Only rows that are not complete."),
    missing: bool = flag(
        "--missing",
        "List every setting of which the model has finished too few games, with what was fixed in "
        "it, and the unfinished games.",
    ),
    expected: int | None = option(
        "N",
        "Expect N games of each model in each competition; default: of every setting that any "
        "model played, as many as others finished.",
        min=1,
    ),
    readability: bool = flag(
        "--readability", "By metric: rows not clear or missing, and the bounds of the value."
    ),
    edition: options.EditionOption = "paper",
    fail_if_incomplete: bool = flag(
        "--fail-if-incomplete",
        "Exit with 4 if a model is not complete, or if there are no games of tested models.",
    ),
    form: options.FormOption = "table",
) -> None:
    """Show which games of each model the lake has, and which are missing.

    A row is a model and a competition: the games expected (of each setting that any model played,
    the median of what the models that finished one have), how many of these are found and finished;
    its games, unfinished games and quarantined parts. With --missing, a row is a setting of which
    games are missing. With --readability, a row is a model and a metric: the texts that could not
    be read, the outages and the rows of missing games (beside the model that finished most), and
    the lowest and highest value that the metric could have if these were known. These bounds are
    not confidence intervals; do not use them to rank models.

    \b
    Examples:
      magic completeness
      magic completeness --expected 20 --format csv
      magic completeness --missing --model gpt-4
      magic completeness --incomplete --fail-if-incomplete
      magic completeness --readability
    """
    if missing and (readability or expected is not None):
        raise UsageError("--missing works with neither --expected nor --readability")
    if edition != "paper" and not readability:
        raise UsageError("--edition works only with --readability")

    from pipeline.cli.output import show
    from pipeline.present import present
    from pipeline.present.counts import NO_GAMES
    from pipeline.present.counts import incomplete as incomplete_models
    from pipeline.reports.completeness import completeness as games
    from pipeline.reports.completeness import readability as texts
    from pipeline.reports.missing import missing as missing_settings

    opened = options.lake_of(lake, system)
    tested = opened.table("results").filter("is_tested").head(1)
    has_games = not tested.collect().is_empty()
    if readability:
        rows = texts(opened, edition=edition, expected=expected, model=model)
        table = present("readability", rows, lake=opened, edition=edition)
        table = table if has_games else table.noting(NO_GAMES)
    else:
        rows = games(opened, expected=expected, model=model)
        table = present("completeness", rows, lake=opened, model=model)
    if missing:
        listed = present("missing", missing_settings(opened, model=model))
        show(listed.noting(*table.notes), form)
    else:
        is_shown = ~rows["is_complete"].fill_null(value=False) if incomplete else True
        show(table.of_rows(rows.filter(is_shown)), form)
    if fail_if_incomplete and (incomplete_models(rows) or not has_games):
        raise Exit(CHECK_FAILED)
