"""A report as markdown, for a repository, and as LaTeX, for a paper."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from pipeline.cli.output import DOCUMENTS
from pipeline.present import present
from pipeline.present.table import Table

if TYPE_CHECKING:
    from pipeline.pages.report import Report


def report_text(report: "Report", form: str) -> Iterator[str]:
    """The report's tables with their notes, a part at a time; `form` is markdown or latex."""
    write = DOCUMENTS[form]
    yield write.heading(report.title, level=1)
    yield f"{write.escaped(report.citation.sentence)}\n"
    tables = {
        "Leaderboard": present("leaderboard", report.board, confidence=report.confidence),
        "Metrics": Table.of("metrics", _definitions(report)),
        "Comparison": present("compare", report.comparisons),
        "Completeness": present("completeness", report.completeness),
        "Texts and bounds": present("readability", report.readability),
        "Audit": present("audit", report.audit),
        "Documents": present("document_counts", report.documents),
        "Logs": Table.of("logs", report.logs),
    }
    for title, table in tables.items():
        yield "\n" + write.heading(title)
        yield from write.table(table)
        yield write.items(table.notes)
    yield "\n" + write.heading("Where to look")
    yield write.items(
        [
            f"magic evidence METRIC --model MODEL{report.option} prints the rows behind a value",
            f"magic show GAME{report.option_of_show} prints a game",
            *report.citation.text.splitlines(),
        ]
    )


def _definitions(report: "Report") -> pl.DataFrame:
    rows = [
        {
            "metric": card.name,
            "value": card.value,
            "one row is": card.row,
            "range": f"0..{card.high:.3g}",
        }
        for card in report.cards
    ]
    return pl.DataFrame(rows)
