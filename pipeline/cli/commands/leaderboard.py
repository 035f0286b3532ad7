"""`magic leaderboard`: models by metrics, ranked."""

from pipeline.cli import options
from pipeline.cli.options import flag


@options.with_metric_files
def leaderboard(
    *,
    lake: options.LakeOption = options.DEFAULT_LAKE,
    system: options.SystemOption = None,
    edition: options.EditionOption = "paper",
    num_of_game: options.NumOfGameOption = None,
    engine: options.EngineOption = "polars",
    master: options.MasterOption = None,
    model: options.ModelsOption = None,
    confidence: options.ConfidenceOption = options.DEFAULT_CONFIDENCE,
    include_incomplete: bool = flag(
        "--include-incomplete", "Also rank models that lack a whole competition."
    ),
    form: options.PaperFormOption = "table",
) -> None:
    """Rank the models by win rate, with all metrics and their intervals.

    Each value is over all game types; notes below the table say why a value is missing. The win
    rates of two models differ significantly only if the models share no letter in `letters`: all
    ranked pairs are compared at the 5 % level (1 − SHARE with `--confidence`), adjusted by Holm's
    method. A model that lacks games which others finished is marked with *, and `missing` counts
    these games. A model that lacks a whole competition has no rank, since its win rate measures
    something else. A value is marked with † if a term has fewer than five settings of its own.
    Where the terminal is too narrow for a line a model, models are columns.

    \b
    Examples:
      magic leaderboard
      magic leaderboard --include-incomplete --confidence 0.9
      magic leaderboard --edition release --format markdown > leaderboard.md
      magic leaderboard --format latex > leaderboard.tex
    """
    num_of_game = options.games_counted(edition, num_of_game)

    from pipeline.cli.output import answer
    from pipeline.reports.ranking import leaderboard as ranked

    opened = options.lake_of(lake, system)
    rows = ranked(
        opened,
        edition=edition,
        engine=engine,
        master=master,
        num_of_game=num_of_game,
        model=model,
        confidence=confidence,
        include_incomplete=include_incomplete,
    )
    empty = "the lake has no game of a tested model"
    asked = {"edition": edition, "confidence": confidence}
    answer("leaderboard", rows, form, empty=empty, lake=opened, **asked)
