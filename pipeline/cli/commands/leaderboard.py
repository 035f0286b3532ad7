"""`magic leaderboard`: models by metrics, ranked."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from pipeline.cells import NULL, without_zero
from pipeline.cli import terminal
from pipeline.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_LAKE,
    ConfidenceOption,
    EditionOption,
    EngineOption,
    LakeOption,
    MasterOption,
    ModelsOption,
    NumOfGameOption,
    PaperFormOption,
    SystemOption,
    confidence_level,
    games_counted,
    lake_of,
    with_metric_files,
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
DECIMALS = 3
# A longer name of a model is broken where models are columns.
LONGEST_NAME = 24


@with_metric_files
def leaderboard(
    *,
    lake: LakeOption = DEFAULT_LAKE,
    system: SystemOption = None,
    edition: EditionOption = "paper",
    num_of_game: NumOfGameOption = None,
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
    num_of_game = games_counted(edition, num_of_game)
    confidence = confidence_level(confidence)

    from pipeline.cli.output import natural_width, say, show
    from pipeline.reports.ranking import leaderboard as ranked

    rows = ranked(
        lake_of(lake, system),
        edition=edition,
        engine=engine,
        master=master,
        num_of_game=num_of_game,
        model=model or None,
        confidence=confidence,
        include_incomplete=include_incomplete,
    )
    shown = brief(rows)
    width = terminal.width() if form == "table" else None
    if width is None or rows.is_empty() or natural_width(shown, DECIMALS) <= width:
        headings = HEADINGS if form == "latex" else {}
        show(rows, form, brief=shown, headings=headings, decimals=DECIMALS)
    else:
        for number, block in enumerate(turned(rows, shown, width)):
            terminal.out("\n" if number else "")
            show(rows, form, brief=block)
    say(notes(rows), form)
    if rows.is_empty():
        terminal.note("the lake has no game of a tested model")


class _Cell(NamedTuple):
    """A value as 0.692, its interval as (.63–.75), and its mark as †1, empty without one."""

    value: str
    interval: str
    mark: str


def _metrics(rows: "pl.DataFrame") -> list[str]:
    return [name.removesuffix("_low") for name in rows.columns if name.endswith("_low")]


def _cells(rows: "pl.DataFrame") -> dict[str, list[_Cell | None]]:
    """The models' values of each metric that any model has one of, None where there is none."""
    from pipeline.cli.thin import mark

    def cell(value: float | None, low: float | None, high: float | None, mark: str) -> _Cell | None:
        if value is None or low is None or high is None:
            return None
        ends = "–".join(without_zero(f"{end:.2f}") for end in (low, high))
        return _Cell(f"{value:.{DECIMALS}f}", f"({ends})", mark)

    metrics = [name for name in _metrics(rows) if rows[name].count()]
    return {
        name: [
            cell(*one)
            for one in rows.select(
                *(name, f"{name}_low", f"{name}_high"), mark([f"{name}_thin"]).fill_null("")
            ).iter_rows()
        ]
        for name in metrics
    }


def brief(rows: "pl.DataFrame") -> "pl.DataFrame":
    """The rows for eyes: intervals in the cells, incomplete models and thin values marked."""
    import polars as pl

    incomplete = pl.when("is_complete").then(pl.lit("")).otherwise(pl.lit(" *"))
    counts = [name for name in COUNTS if (rows[name] > 0).any()]
    metrics = [
        pl.Series(name, [one and " ".join(filter(None, one)) for one in cells], pl.String)
        for name, cells in _cells(rows).items()
    ]
    model = pl.col("model").fill_null(NULL) + incomplete
    named = rows.select("rank", model, "letters", "n_games", *counts)
    return named.with_columns(metrics)


def turned(rows: "pl.DataFrame", shown: "pl.DataFrame", width: int) -> Iterator["pl.DataFrame"]:
    """What is `shown` of the rows with models as columns: as many models at a time as fit.

    An interval is on a line of its own, below its value.
    """
    import polars as pl
    from rich.cells import cell_len

    from pipeline.cli.layout import GAP

    metrics = _cells(rows)
    plain = [name for name in shown.columns if name not in ("model", *metrics)]
    labels = [*plain, *(line for name in metrics for line in (name, ""))]
    columns: dict[str, list[str]] = {}
    for number, row in enumerate(shown.iter_rows(named=True)):
        lines = [NULL if row[name] is None else str(row[name]) for name in plain]
        for cells in metrics.values():
            one = cells[number] or _Cell(NULL, "", "")
            lines += [f"{one.value} {one.mark}".rstrip(), one.interval]
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
    left_out = [name for name in _metrics(rows) if not rows[name].count()]
    models: dict[str, list[str]] = {}
    for model, reasons in rows.select("model", "reasons").iter_rows():
        for reason in reasons:
            if reason.partition(":")[0] not in left_out:
                models.setdefault(reason, []).append(str(model))
    notes = [f"– {reason} ({', '.join(names)})" for reason, names in models.items()]
    if left_out and rows.height:
        notes.append(f"no model has a value of {', '.join(left_out)}")
    return notes
