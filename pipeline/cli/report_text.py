"""A report as markdown, for a repository, and as LaTeX, for a paper."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from pipeline.cli import latex, output
from pipeline.cli.commands import compare, leaderboard
from pipeline.cli.thin import explanation, with_marks
from pipeline.printable import printable
from pipeline.reports.compare.notes import common_note, replay_note

if TYPE_CHECKING:
    from pipeline.pages.report import Report


def report_text(found: "Report", form: str) -> Iterator[str]:
    """The report's tables with their notes, a part at a time; `form` is markdown or latex."""
    yield _heading(found.title, form, level=1)
    yield _paragraph(found.citation.sentence, form)
    yield _heading("Leaderboard", form)
    board = leaderboard.brief(found.board)
    yield output.document(board, form, decimals=3)
    yield output.notes(leaderboard.notes(found.board), form)
    yield _heading("Metrics", form)
    yield output.document(_definitions(found), form)
    yield _heading("Comparison", form)
    hidden = ["family", *compare.HIDDEN]
    compared = found.comparisons
    yield output.document(with_marks(compared.drop(hidden), compare.THIN), form)
    family = compare.family_note(compared, all_pairs=True)
    marks = explanation(compared, compare.THIN)
    notes = [family, *common_note(compared), *replay_note(compared), *marks]
    yield output.notes(notes, form)
    yield _heading("Completeness", form)
    yield output.document(found.completeness.drop("game_type"), form)
    yield _heading("Audit", form)
    yield output.document(found.audit.drop("title", "effect"), form)
    yield _heading("Where to look", form)
    yield output.notes(
        [
            f"magic evidence METRIC --model MODEL{found.option} prints the rows behind a value",
            f"magic show GAME{found.option_of_show} prints a game",
            *found.citation.text.splitlines(),
        ],
        form,
    )


def _definitions(found: "Report") -> pl.DataFrame:
    rows = [
        {
            "metric": card.name,
            "value": card.formula,
            "one row is": card.row,
            "low": card.low,
            "high": card.high,
        }
        for card in found.cards
    ]
    return pl.DataFrame(rows)


def _heading(text: str, form: str, level: int = 2) -> str:
    shown = " ".join(printable(text).split())
    if form == "latex":
        return f"\n\\{'sub' * (level - 1)}section{{{latex.escaped(shown)}}}\n"
    return f"{'' if level == 1 else chr(10)}{'#' * level} {output.escaped(shown)}\n\n"


def _paragraph(text: str, form: str) -> str:
    return f"{latex.escaped(text) if form == 'latex' else output.escaped(text)}\n"
