"""A report as one file: HTML that asks the network for nothing, markdown, or LaTeX for a paper."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import polars as pl
from markupsafe import Markup

from pipeline import cells
from pipeline.answers import AnsweringLake
from pipeline.cells import NULL
from pipeline.pages import style
from pipeline.pages.page import TEMPLATES
from pipeline.pages.render import environment
from pipeline.pages.report import Report, report
from pipeline.present import DOCUMENTS, present
from pipeline.present.table import Table
from pipeline.reports.parts import seats
from pipeline.statistics.families import reaches

LONGEST_TEXT = 20_000
"""A message with more characters is cut; `magic show` prints it whole."""
_PARTS = (
    *("texts", "tables", "a value with its interval", "facts and plots", "transcripts"),
    "cards in small windows",
)
_FRAME = ("*", "a ", "a:hover", ":focus-visible", ".vh ", ".none ")


def report_file(lake: AnsweringLake, form: str = "html", **choices: Any) -> str:
    """The report on a lake as the text of one file: html, markdown or latex.

    The `choices` are those of `pipeline.pages.report.report`.
    """
    content = report(lake, **choices)
    return "".join(report_html(content) if form == "html" else report_text(content, form))


def report_html(report: Report) -> Iterator[str]:
    """The file, a piece at a time."""
    css = _style()
    models = {profile.model: at for at, profile in enumerate(report.profiles, start=1)}
    # Nothing but this very text may be run or applied, whatever slips into the page.
    digest = b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return (
        environment()
        .get_template("one_file.html")
        .generate(
            report=report,
            style=Markup(css),
            style_hash=digest,
            models=models,
            link=partial(_link, models),
            asked=report.citation,
            LONGEST=LONGEST_TEXT,
            notes_of=lambda name, rows: present(name, rows, confidence=report.confidence).notes,
            seats=seats,
            matrix=_matrix,
        )
    )


def _link(models: Mapping[str | None, int], page: str, **parameters: Any) -> str | None:
    """Where in the file something is; None for what it does not have."""
    at = models.get(parameters.get("model"))
    match page:
        case "model" if at is not None:
            return f"#model-{at}"
        case "metric":
            return f"#metric-{parameters['metric']}"
        case "evidence" if at is not None:
            return f"#c{at}-{parameters['metric']}"
    return None


@cache
def _style() -> str:
    """The tables and texts of `magic view`, and the style of what is in the file alone."""
    own = (TEMPLATES / "one_file.css").read_text("utf-8")
    shared = style.parts(*_PARTS)
    return f":root {{{style.colours()}}}\n{style.lines(*_FRAME)}\n{shared}\n{own}"


def _matrix(report: Report) -> Iterator[tuple[str, list[tuple[str, list[dict[str, Any] | None]]]]]:
    """By metric, a row for each model: its comparison with every other, itself left out."""
    models = [model for model in report.board["model"] if model is not None]
    for part in report.comparisons.partition_by("metric", maintain_order=True):
        cells = {}
        for row in part.iter_rows(named=True):
            cells[row["model"], row["other"]] = _compared(row, 1, report.confidence)
            cells[row["other"], row["model"]] = _compared(row, -1, report.confidence)
        lines = [(one, [cells.get((one, other)) for other in models]) for one in models]
        yield part["metric"][0], lines


def _compared(row: Mapping[str, Any], sign: int, confidence: float) -> dict[str, Any]:
    """A comparison as seen from one of its models."""
    p, difference = row["p_holm"], row["difference"]
    ends = [None if row[end] is None else sign * row[end] for end in ("ci_low", "ci_high")][::sign]
    return {
        "difference": None if difference is None else sign * difference + 0.0,  # not −0
        "title": f"{cells.ends(*ends)}; p (Holm) {NULL if p is None else cells.p_value(p)}",
        "mark": cells.mark([*(row["thin"] or []), *(row["other_thin"] or [])]),
        "is_apart": p is not None and reaches(p, confidence),
        "reason": row["reason"],
    }


def report_text(report: Report, form: str) -> Iterator[str]:
    """The report's tables with their notes, a part at a time; `form` is markdown or latex."""
    write = DOCUMENTS[form]
    definitions = [
        {
            "metric": card.name,
            "value": card.value,
            "one row is": card.row,
            "range": f"0..{card.high:.3g}",
        }
        for card in report.cards
    ]
    yield write.heading(report.title, level=1)
    yield f"{write.escaped(report.citation.sentence)}\n"
    tables = {
        "Leaderboard": present("leaderboard", report.board, confidence=report.confidence),
        "Metrics": Table.of("metrics", pl.DataFrame(definitions)),
        "Radar": present("radar", report.radar),
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
