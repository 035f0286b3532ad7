"""`magic leaderboard`: models by metrics, ranked."""

from collections.abc import Iterator
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

COUNTS = ("n_missing", "n_self_play")
# Where headings may be broken in a paper.
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
LABEL = ""
# A longer name of a model is broken where models are columns.
LONGEST_NAME = 24


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
    that lacks a whole competition has no rank, since its win rate measures something else. A value
    is marked with † if a term has fewer than five settings of its own. Where the terminal is too
    narrow for a line a model, models are columns.

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
    shown = brief(rows)
    width = terminal.width() if form == "table" else None
    if width is None or rows.is_empty() or natural_width(shown) <= width:
        show(rows, form, brief=shown, headings=HEADINGS if form == "latex" else {}, decimals=3)
    else:
        for number, block in enumerate(turned(shown, width)):
            terminal.out("\n" if number else "")
            show(rows, form, brief=block)
    say(notes(rows), form)
    if rows.is_empty():
        terminal.note("the lake has no game of a tested model")


def natural_width(rows: "pl.DataFrame") -> int:
    """The columns of a terminal that the rows take, a line each."""
    from rich.cells import cell_len

    from pipeline.cli.layout import GAP

    widths = [
        max(map(cell_len, (column.name, *column.cast(str).fill_null("–"))))
        for column in rows.iter_columns()
    ]
    return sum(widths) + GAP * (len(widths) - 1)


def turned(rows: "pl.DataFrame", width: int) -> Iterator["pl.DataFrame"]:
    """The `brief` rows with metrics as rows and models as columns: as many models at a time as fit.

    An interval is on a line of its own, below its value.
    """
    import polars as pl
    from rich.cells import cell_len

    from pipeline.cli.layout import GAP

    plain = ("rank", "letters", "n_games", *COUNTS)
    shown = [name for name in rows.columns if name != "model"]
    labels = [line for name in shown for line in ([name] if name in plain else [name, ""])]
    columns: dict[str, list[str]] = {}
    for row in rows.iter_rows(named=True):
        lines: list[str] = []
        for name in shown:
            text = "–" if row[name] is None else str(row[name])
            lines += [text] if name in plain else _above(text)
        # Two columns cannot have one name, whatever models are called.
        columns[row["model"] + " " * [LABEL, *columns].count(row["model"])] = lines
    widths = {
        name: max(min(LONGEST_NAME, cell_len(name)), *map(cell_len, lines))
        for name, lines in columns.items()
    }
    room = width - max(map(cell_len, labels))
    block: dict[str, list[str]] = {}
    for name, lines in columns.items():
        if block and sum(GAP + widths[one] for one in (*block, name)) > room:
            yield pl.DataFrame({LABEL: labels, **block})
            block = {}
        block[name] = lines
    yield pl.DataFrame({LABEL: labels, **block})


def _above(text: str) -> list[str]:
    """A value with its mark, and below its interval."""
    value, _, rest = text.partition(" (")
    interval, _, mark = rest.partition(")")
    return [f"{value}{mark}", f"({interval})" if interval else ""]


def brief(rows: "pl.DataFrame") -> "pl.DataFrame":
    """The rows for eyes: intervals in the cells, incomplete models and thin values marked."""
    import polars as pl

    from pipeline.cli.thin import mark

    metrics = [name.removesuffix("_low") for name in rows.columns if name.endswith("_low")]
    incomplete = pl.when("is_complete").then(pl.lit("")).otherwise(pl.lit(" *"))
    counts = [name for name in COUNTS if (rows[name] > 0).any()]
    cells = {}
    for name in metrics:
        marks = rows.select(mark([f"{name}_thin"]).fill_null("")).to_series()
        texts = map(_cell, rows.select(name, f"{name}_low", f"{name}_high").iter_rows(), marks)
        cells[name] = pl.Series(name, texts, pl.String)
    return rows.with_columns(pl.col("model").fill_null("–") + incomplete, **cells).select(
        "rank", "model", "letters", "n_games", *counts, *metrics
    )


def _cell(numbers: tuple[float | None, ...], mark: str) -> str | None:
    """A value and its interval, without zeros before the point, as in 0.692 (.63–.75) †1."""
    value, *ends = numbers
    if value is None or None in ends:
        return None
    texts = [f"{end:.2f}".removeprefix("0" if end < 1 else "") for end in ends if end is not None]
    return " ".join(filter(None, (f"{value:.3f}", f"({'–'.join(texts)})", mark)))


def notes(rows: "pl.DataFrame") -> list[str]:
    """What the letters are of, what is incomplete, and why values are missing."""
    from pipeline.cli.thin import explanation
    from pipeline.reports.lacking import self_play_notes

    return [
        *_family(rows),
        *explanation(rows, [name for name in rows.columns if name.endswith("_thin")]),
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
