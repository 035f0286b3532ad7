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
    GamesOption,
    LakeOption,
    MasterOption,
    ModelsOption,
    PaperFormOption,
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
    "letters": "let-\nters",
    "n_games": "n_\ngames",
    "n_missing": "n_\nmissing",
    "n_self_play": "n_\nself_\nplay",
    "win_rate": "win_\nrate",
    "judgement": "judge-\nment",
    "reasoning": "rea-\nsoning",
    "deception": "decep-\ntion",
    "self_awareness": "self_\naware-\nness",
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
            help="Also rank models that lack a whole competition.",
        ),
    ] = False,
    form: PaperFormOption = "table",
) -> None:
    """Rank the models by win rate, with all metrics and their intervals.

    Each value is over all game types; notes below the table say why a value is missing. The win
    rates of two models differ significantly only if the models share no letter in `letters`: all
    ranked pairs are compared at the 5 % level, adjusted by Holm's method. A model that lacks
    settings which others played is marked with *, and `n_missing` counts these settings. A model
    that lacks a whole competition has no rank, since its win rate measures something else. A narrow
    terminal shows only the intervals of the win rate.

    \b
    Examples:
      magic leaderboard
      magic leaderboard --include-incomplete --confidence 0.9
      magic leaderboard --edition release --format markdown > leaderboard.md
      magic leaderboard --format latex > leaderboard.tex
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
    shown = brief(rows, is_wide=width is None or width >= WIDE)
    show(rows, form, brief=shown, headings=headings, decimals=3)
    say(notes(rows), form)
    if rows.is_empty():
        terminal.note("the lake has no game of a tested model")


def brief(rows: "pl.DataFrame", *, is_wide: bool) -> "pl.DataFrame":
    """The rows for eyes: intervals in the metrics' cells, incomplete models marked."""
    import polars as pl

    metrics = [name.removesuffix("_low") for name in rows.columns if name.endswith("_low")]
    mark = pl.when("is_complete").then(pl.lit("")).otherwise(pl.lit(" *"))
    counts = [name for name in ("n_missing", "n_self_play") if (rows[name] > 0).any()]
    cells = {
        name: pl.Series(
            [_cell(*ends) for ends in rows.select(name, f"{name}_low", f"{name}_high").iter_rows()],
            dtype=pl.String,
        )
        for name in (metrics if is_wide else [RANKED_BY])
    }
    return rows.with_columns(pl.col("model").fill_null("–") + mark, **cells).select(
        "rank", "model", "letters", "n_games", *counts, *metrics
    )


def _cell(value: float | None, low: float | None, high: float | None) -> str | None:
    """A value and its interval, without zeros before the point, as in 0.692 (.63–.75)."""
    if value is None or low is None or high is None:
        return None
    ends = (f"{end:.2f}".removeprefix("0") if end < 1 else f"{end:.2f}" for end in (low, high))
    return f"{value:.3f} ({'–'.join(ends)})"


def notes(rows: "pl.DataFrame") -> list[str]:
    """What the letters are of, what is incomplete, and why values are missing."""
    from pipeline.reports.lacking import self_play_notes

    return [
        *_family(rows),
        *_incomplete(rows),
        *_reasons(rows),
        *self_play_notes(rows.filter(rows["n_self_play"] > 0)),
    ]


def _family(rows: "pl.DataFrame") -> list[str]:
    """How many comparisons the letters are adjusted for: of other models it is another number."""
    return [
        f"letters: compare the win rates of {size} pair{'' if size == 1 else 's'} of ranked "
        "models, adjusted by Holm for all of them"
        for size in rows["family"].drop_nulls().unique()
        if size
    ]


def _incomplete(rows: "pl.DataFrame") -> list[str]:
    """Who lacks settings, and who a whole competition."""
    lacking = rows.filter(~rows["is_complete"]).select("rank", "model", "n_missing", "lacks").rows()
    some = ", ".join(f"{model}: {n}" for _, model, n, lacks in lacking if not lacks)
    notes = (
        [f"* lacks settings that others played; run `magic completeness` for details ({some})"]
        if some
        else []
    )
    for rank, model, _, lacks in lacking:
        if lacks:
            rankless = (
                "has no rank" if rank is None else "is ranked because of --include-incomplete"
            )
            notes.append(
                f"* {model} {rankless}: its win rate covers fewer competitions than that of "
                f"others; it lacks {', '.join(lacks)}"
            )
    return notes


def _reasons(rows: "pl.DataFrame") -> list[str]:
    """Why values are missing: each reason once, with its models."""
    models: dict[str, list[str]] = {}
    for model, reasons in rows.select("model", "reasons").iter_rows():
        for reason in reasons:
            models.setdefault(reason, []).append(str(model))
    return [f"– {reason} ({', '.join(names)})" for reason, names in models.items()]
