"""`magic leaderboard`: models by metrics, ranked."""

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli import terminal
from pipeline.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_LAKE,
    ConfidenceOption,
    EditionOption,
    EngineOption,
    FormOption,
    GamesOption,
    LakeOption,
    MasterOption,
    ModelsOption,
    confidence_level,
    number_of_games,
)

if TYPE_CHECKING:
    import polars as pl

# From so many columns on there is room for every metric's interval, below for that of one.
WIDE = 120
RANKED_BY = "win_rate"
# Where a heading may be broken, so that the whole fits in 80 to 100 columns.
HEADINGS = {
    "rank": "#",
    "letters": "like",
    "n_games": "games",
    "win_rate": "win\nrate",
    "judgement": "judge-\nment",
    "reasoning": "rea-\nsoning",
    "deception": "decep-\ntion",
    "self_awareness": "self\naware-\nness",
    "cooperation": "coope-\nration",
    "coordination": "coor-\ndi-\nnation",
    "rationality": "ratio-\nnality",
}


def leaderboard(
    *,
    lake: LakeOption = DEFAULT_LAKE,
    edition: EditionOption = "paper",
    games: GamesOption = None,
    engine: EngineOption = "polars",
    master: MasterOption = None,
    model: ModelsOption = None,
    confidence: ConfidenceOption = DEFAULT_CONFIDENCE,
    include_incomplete: Annotated[
        bool,
        typer.Option(
            "--include-incomplete",
            help="Rank models that lack games which others finished among the others.",
        ),
    ] = False,
    form: FormOption = "table",
) -> None:
    """The models ranked by win rate, with all metrics and their intervals.

    Each value is over all game types; notes below say why one is missing. Models that share a
    letter (`like`) are not told apart by win rate: all pairs compared, at 5 %, adjusted by Holm. A
    model that lacks games which others finished is marked with * and comes after the others. A
    narrow terminal shows the intervals of win rate alone.

    \b
    Examples:
      magic leaderboard
      magic leaderboard --include-incomplete --confidence 0.9
      magic leaderboard --edition release --format markdown > leaderboard.md
    """
    num_of_game = number_of_games(edition, games)
    confidence = confidence_level(confidence)

    from pipeline.cli.output import say, show
    from pipeline.lake import open_lake
    from pipeline.reports.ranking import leaderboard as ranked

    rows = ranked(
        open_lake(lake),
        edition=edition,
        engine=engine,
        master=master,
        num_of_game=num_of_game,
        models=model or None,
        confidence=confidence,
        include_incomplete=include_incomplete,
    )
    headings = HEADINGS if form == "table" else {}
    width = terminal.width() if form == "table" else None
    brief = _brief(rows, is_wide=width is None or width >= WIDE)
    show(rows, form, brief=brief, headings=headings, decimals=3)
    say(_notes(rows), form)
    if rows.is_empty():
        terminal.note("the lake has no game to rank models by")


def _brief(rows: "pl.DataFrame", *, is_wide: bool) -> "pl.DataFrame":
    """The rows for eyes: intervals in the metrics' cells, incomplete models marked."""
    import polars as pl

    metrics = [name.removesuffix("_low") for name in rows.columns if name.endswith("_low")]
    marked = pl.col("model").fill_null("–") + pl.when("is_complete").then(pl.lit("")).otherwise(
        pl.lit(" *")
    )
    cells = {
        name: pl.Series(
            [_cell(*ends) for ends in rows.select(name, f"{name}_low", f"{name}_high").iter_rows()],
            dtype=pl.String,
        )
        for name in (metrics if is_wide else [RANKED_BY])
    }
    return rows.with_columns(model=marked, **cells).select(
        "rank", "model", "letters", "n_games", *metrics
    )


def _cell(value: float | None, low: float | None, high: float | None) -> str | None:
    """A value and its interval, without zeros before the point, as in 0.692 (.63–.75)."""
    if value is None or low is None or high is None:
        return None
    ends = (f"{end:.2f}".removeprefix("0") if end < 1 else f"{end:.2f}" for end in (low, high))
    return f"{value:.3f} ({'–'.join(ends)})"


def _notes(rows: "pl.DataFrame") -> list[str]:
    """What is incomplete, and why values are missing: each reason once, with its models."""
    models: dict[str, list[str]] = {}
    for name in rows.filter(~rows["is_complete"])["model"]:
        models.setdefault("* lacks games that others finished: `magic completeness`", []).append(
            str(name)
        )
    for model, reasons in rows.select("model", "reasons").iter_rows():
        for reason in reasons:
            models.setdefault(reason, []).append(str(model))
    return [
        f"{'' if reason.startswith('*') else '– '}{reason} ({', '.join(names)})"
        for reason, names in models.items()
    ]
