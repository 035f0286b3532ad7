"""Self-contained report on a lake as HTML, Markdown or LaTeX, and pages in notebooks.

`magic report` and the notebook display use it. The report reads the lake by the Python API.
Evidence and transcripts are a sample: for each value a few games, chosen by their ids. Ids are
hashes, so the choice does not depend on results.
"""

import hashlib
import re
import shlex
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup
from msgspec import Struct

from pipeline import text_format
from pipeline.column import display_name, polars_schema
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES, row_description
from pipeline.lake_methods import LakeWithMethods
from pipeline.metrics import ALL_GAME_TYPES, DEFAULT_CONFIDENCE, PAPER
from pipeline.metrics.evidence import EVIDENCE_COLUMNS as EVIDENCE, value_sum_rows
from pipeline.metrics.registry import metric_names
from pipeline.pages.content import Head, head
from pipeline.pages.templating import TEMPLATES, content, fragment, parameters, template_environment
from pipeline.render import DOCUMENT_RENDERERS, build_result_table
from pipeline.render.table import Table
from pipeline.reports.cite import Citation
from pipeline.reports.transcript import Transcript
from pipeline.reports.transcript_items import player_table
from pipeline.statistics.comparison import is_significant
from pipeline.text_format import NULL_TEXT
from pipeline.vocabulary import Edition

# The style of `magic view` in parts, for what is shown elsewhere: in a notebook, in one file.

_FILE = Path(__file__).parent / "static" / "style.css"
_PART = re.compile(r"^/\* --- (.*?) --- \*/$", re.MULTILINE)


def colours() -> str:
    """Return the CSS variables of all colours, each with a value for light and for dark mode."""
    return _split_style()[0].partition(":root {")[2].partition("}")[0]


def lines(*beginnings: str) -> str:
    """Return the CSS rules of the page frame that start with one of the beginnings."""
    return "\n".join(line for line in _split_style()[0].splitlines() if line.startswith(beginnings))


def parts(*names: str) -> str:
    """Return the CSS rules of these sections of the style sheet, such as `tables`."""
    return "".join(_split_style()[1][name] for name in names)


@cache
def _split_style() -> tuple[str, dict[str, str]]:
    frame, *named = _PART.split(_FILE.read_text(encoding="utf-8"))
    return frame, dict(zip(named[::2], named[1::2], strict=True))


TITLE = "Games of language models: results"
GAMES_PER_CELL = 1
MOST_GAMES_PER_CELL = 20
# Not every game has a row that each of its metrics counts.
_SPARE = 4
# Of so many models at most, all metrics are compared; of more only the one that ranks them.
MOST_MODELS_COMPARED = 12
RANKED_BY = "win_rate"
LONGEST_TEXT = 20_000
"""A message with more characters is cut; `magic show` prints it whole."""
_PARTS = (
    *("texts", "tables", "a value with its interval", "facts and plots", "transcripts"),
    "cards in small windows",
)
_FRAME = ("*", "a ", "a:hover", ":focus-visible", ".vh ", ".none ")


class Cell(Struct, frozen=True):
    """Value of a metric for a model, with its evidence in the sampled games.

    `evidence` contains one row per decision, and `sum` one row per term, as `evidence_sum`.
    """

    metric: str
    value: dict[str, Any]
    evidence: pl.DataFrame
    sum: pl.DataFrame

    @property
    def evidence_command(self) -> str:
        """Command line that prints all rows behind the value, without the report's options."""
        model = self.value["model"]
        return shlex.join(
            ["magic", "evidence", self.metric, *([] if model is None else ["--model", model])]
        )

    @property
    def n_games(self) -> int:
        """Number of sampled games in which the metric counts something."""
        return self.evidence["game_id"].n_unique()


class Report(Struct, frozen=True, dict=True):
    """Content of a report.

    `values` contains rows of `metrics` over all game types, and `by_type` rows by game type.
    `heads` describes the metrics, `cells` has the values by model and metric, and `games` the
    sampled games in the order of their ids.
    """

    title: str
    made_at: datetime
    citation: Citation
    confidence: float
    games_per_cell: int
    board: pl.DataFrame
    by_type: pl.DataFrame
    values: pl.DataFrame
    heads: list[Head]
    cells: dict[tuple[str | None, str], Cell]
    radar: pl.DataFrame
    comparisons: pl.DataFrame
    completeness: pl.DataFrame
    readability: pl.DataFrame
    audit: pl.DataFrame
    documents: pl.DataFrame
    logs: pl.DataFrame
    games: list[Transcript]
    game_types: tuple[str, ...]

    @cached_property
    def game_numbers(self) -> dict[str, int]:
        """Number of each sampled game within the report, by game id."""
        return {
            str(transcript.game["game_id"]): number
            for number, transcript in enumerate(self.games, start=1)
        }

    @property
    def command_options(self) -> str:
        """Command-line options that select the report's games; empty for the defaults."""
        system = self.citation.system
        return self.option_of_show + (f" --system {shlex.quote(system)}" if system else "")

    @property
    def option_of_show(self) -> str:
        """Option `--edition` for a command that displays a game; empty for the default edition."""
        edition = self.citation.edition
        return "" if edition == PAPER else f" --edition {edition}"

    def of_model(self, model: str | None) -> pl.DataFrame:
        """Return the rows of one model; None selects the games without a model name."""
        return self.values.filter(pl.col("model").eq_missing(pl.lit(model, pl.String)))


def report(
    lake: LakeWithMethods,
    *,
    title: str | None = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
    games_per_cell: int = GAMES_PER_CELL,
) -> Report:
    """Return the content of a report on the lake in its current state.

    Each value has evidence from up to `games_per_cell` games.

    Raises:
        UsageError: If `games_per_cell` is not between 0 and `MOST_GAMES_PER_CELL`.
    """
    if not 0 <= games_per_cell <= MOST_GAMES_PER_CELL:
        raise UsageError(f"the games per cell must be 0 to {MOST_GAMES_PER_CELL}")
    lake = lake.for_single_system()
    board = lake.leaderboard(edition=edition, confidence=confidence)
    by_type = lake.metrics(edition=edition, confidence=confidence)
    values = by_type.filter(game_type=ALL_GAME_TYPES).drop("game_type")
    sample = _sample_transcripts(lake, edition, games_per_cell)
    models = board["model"].to_list()
    cells = _metric_cells(values, sample, edition, games_per_cell)
    shown = {game for cell in cells.values() for game in cell.evidence["game_id"].unique()}
    return Report(
        title=title or TITLE,
        made_at=datetime.now(UTC),
        citation=lake.cite(edition=edition),
        confidence=confidence,
        games_per_cell=games_per_cell,
        board=board,
        by_type=by_type.filter(pl.col("game_type") != ALL_GAME_TYPES),
        values=values,
        heads=[head(name, edition, lake.game_types) for name in metric_names(edition)],
        cells=cells,
        radar=lake.radar(edition=edition, confidence=confidence),
        comparisons=lake.compare(
            metric=None if len(models) <= MOST_MODELS_COMPARED else [RANKED_BY],
            edition=edition,
            confidence=confidence,
        ),
        completeness=lake.completeness(),
        readability=lake.readability(edition=edition),
        audit=lake.audit(),
        # How many were read and not read, and why, without where they are.
        documents=lake.document_counts()
        .group_by("status", "reason", maintain_order=True)
        .agg(pl.col("n_documents").sum()),
        # The formats of the games, and when they were played as far as logs say.
        logs=lake.table("games")
        .group_by("format", "format_version")
        .agg(
            games=pl.len(),
            dated=pl.col("started_at").count(),
            first_played=pl.col("started_at").min(),
            last_played=pl.col("started_at").max(),
        )
        .sort("format", "format_version")
        .rename(display_name)
        .collect(),
        games=[transcript for transcript in sample if transcript.game["game_id"] in shown],
        game_types=lake.game_types,
    )


def _sample_transcripts(
    lake: LakeWithMethods, edition: Edition, games_per_cell: int
) -> list[Transcript]:
    """Return a few games of each model and competition: those with the lowest ids."""
    if not games_per_cell:
        return []
    finished = lake.table("results").filter("is_tested", "is_finished")
    lowest = (
        finished.group_by("model", "competition")
        .agg(pl.col("game_id").unique().bottom_k(games_per_cell + _SPARE))
        .explode("game_id")
        .collect()
    )
    return list(lake.transcripts(sorted(lowest["game_id"].unique()), edition=edition))


def _metric_cells(
    values: pl.DataFrame, sample: Sequence[Transcript], edition: Edition, games_per_cell: int
) -> dict[tuple[str | None, str], Cell]:
    """Return one cell per model and metric, with evidence from the first games that have any."""
    none = pl.DataFrame(schema=polars_schema(EVIDENCE)).drop("is_counted")  # all of a game are
    rows = pl.concat([none, *(transcript.counted for transcript in sample)])
    parts = rows.partition_by("model", "metric", as_dict=True, maintain_order=True)
    cells = {}
    for value in values.iter_rows(named=True):
        key = (value["model"], value["metric"])
        part = parts.get(key, none)
        games = part["game_id"].unique().sort().head(games_per_cell)
        evidence = part.filter(pl.col("game_id").is_in(games.implode()))
        cells[key] = Cell(value["metric"], value, evidence, value_sum_rows(value, edition))
    return cells


# --- the file -----------------------------------------------------------------------------------


def format_report(lake: LakeWithMethods, form: str = "html", **choices: Any) -> str:
    """Return the report on a lake as the text of one file: html, markdown or latex.

    The `choices` are the options of `pipeline.pages.report.report`.
    """
    content = report(lake, **choices)
    return "".join(report_html(content) if form == "html" else report_text(content, form))


def report_html(report: Report) -> Iterator[str]:
    """Yield the report as HTML in pieces."""
    css = _style()
    models = {model: at for at, model in enumerate(report.board["model"], start=1)}
    return (
        template_environment()
        .get_template("one_file.html")
        .generate(
            report=report,
            style=Markup(css),
            # Nothing but this very text may be run or applied, whatever slips into the page.
            style_hash=b64encode(hashlib.sha256(css.encode()).digest()).decode(),
            models=models,
            link=partial(_report_link, models),
            asked=report.citation,
            LONGEST=LONGEST_TEXT,
            notes_of=lambda name, rows: (
                build_result_table(name, rows, confidence=report.confidence).notes
            ),
            seats=player_table,
            matrix=_comparison_matrices,
        )
    )


def _report_link(models: Mapping[str | None, int], page: str, **parameters: Any) -> str | None:
    """Return the address of an element of the report; None if the report does not contain it."""
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
    """Return the report's style sheet: that of `magic view` for tables and texts, and its own."""
    own = (TEMPLATES / "one_file.css").read_text("utf-8")
    shared = parts(*_PARTS)
    return f":root {{{colours()}}}\n{lines(*_FRAME)}\n{shared}\n{own}"


def _comparison_matrices(
    report: Report,
) -> Iterator[tuple[str, list[tuple[str, list[dict[str, Any] | None]]]]]:
    """Return for each metric one row per model with its comparison to each other model."""
    models = [model for model in report.board["model"] if model is not None]
    for part in report.comparisons.partition_by("metric", maintain_order=True):
        cells = {}
        for row in part.iter_rows(named=True):
            cells[row["model"], row["other"]] = _comparison_from_side(row, 1, report.confidence)
            cells[row["other"], row["model"]] = _comparison_from_side(row, -1, report.confidence)
        lines = [(model, [cells.get((model, other)) for other in models]) for model in models]
        yield part["metric"][0], lines


def _comparison_from_side(row: Mapping[str, Any], sign: int, confidence: float) -> dict[str, Any]:
    """Return a comparison from the view of one of its models; `sign` is -1 for the second one."""
    p, difference = row["p_holm"], row["difference"]
    ends = [None if row[end] is None else sign * row[end] for end in ("ci_low", "ci_high")][::sign]
    return {
        "difference": None if difference is None else sign * difference + 0.0,  # not −0
        "title": f"{text_format.format_interval(*ends)}; p (Holm) "
        f"{NULL_TEXT if p is None else text_format.format_p_value(p)}",
        "mark": text_format.small_sample_mark(
            [*(row["small_sample_terms"] or []), *(row["other_small_sample_terms"] or [])]
        ),
        "is_apart": p is not None and is_significant(p, confidence),
        "reason": row["reason"],
    }


def report_text(report: Report, form: str) -> Iterator[str]:
    """Yield the tables of the report with their notes in pieces, as Markdown or LaTeX."""
    write = DOCUMENT_RENDERERS[form]
    definitions = [
        {
            "metric": head.name,
            "value": head.value,
            "one row is": head.row,
            "range": f"0..{head.high:.3g}",
        }
        for head in report.heads
    ]
    yield write.format_heading(report.title, level=1)
    yield f"{write.escape_text(report.citation.sentence)}\n"
    tables = {
        "Leaderboard": build_result_table(
            "leaderboard", report.board, confidence=report.confidence
        ),
        "Metrics": Table.from_frame("metrics", pl.DataFrame(definitions)),
        "Radar": build_result_table("radar", report.radar),
        "Comparison": build_result_table("compare", report.comparisons),
        "Completeness": build_result_table("completeness", report.completeness),
        "Readability and bounds": build_result_table("readability", report.readability),
        "Audit": build_result_table("audit", report.audit),
        "Documents": build_result_table("document_counts", report.documents),
        "Logs": Table.from_frame("logs", report.logs),
    }
    for title, table in tables.items():
        yield "\n" + write.format_heading(title)
        yield from write.table(table)
        yield write.format_notes(table.notes)
    yield "\n" + write.format_heading("Where to look")
    yield write.format_notes(
        [
            f"magic evidence METRIC --model MODEL{report.command_options} prints the rows behind "
            "a value",
            f"magic show GAME{report.option_of_show} prints a game",
            *report.citation.text.splitlines(),
        ]
    )


# Pages for a notebook: their content and HTML, with a style that stays within the cell.

# The parts of the style of `magic view` that what is shown in a cell needs.
_PARTS_notebook = ("texts", "tables", "a value with its interval", "facts and plots", "transcripts")
_FRAME_notebook = ("a ", "a:hover", ".vh ", ".none ", ".id ")
_OWN = """
color-scheme: light;
--paper: var(--jp-layout-color0, light-dark(#fff, #1e1e1e));
color: var(--ink);
font: 13px/1.45 system-ui, sans-serif;
font-variant-numeric: tabular-nums;
overflow-wrap: break-word;
[data-jp-theme-light="false"] &, .vscode-dark & { color-scheme: dark; }
table { margin: 0; font: inherit; font-variant-numeric: inherit; color: inherit; }
tr:nth-child(n) { background: none; }
dt, dd { float: none; width: auto; padding: 0; font-weight: inherit; }
h4 { font: 620 1.05em/1.3 system-ui, sans-serif; margin: 1.2rem 0 .4rem; }
ul.notes { padding: 0; }
thead th { position: static; }
.scroll, .scroll:not(.wide) { overflow-x: auto; }
.board th, .board td { padding-inline: .35rem; }
h3.title { margin-top: .3rem; }
"""


class RenderedPage(Struct, frozen=True):
    """Page of `magic view` for display in a notebook.

    Attributes:
        rows: The main table of the page.
        html: The page as HTML.
    """

    rows: pl.DataFrame
    html: str

    def __repr__(self) -> str:
        """Return the main table as text."""
        return repr(self.rows)

    def _repr_html_(self) -> str:
        return self.html


def render_page(lake: LakeWithMethods, name: str, given: dict[str, object]) -> RenderedPage:
    """Return a rendered page for a notebook.

    Args:
        lake: The lake to display.
        name: Name of the page.
        given: Parameters of the page by name.

    Raises:
        UsageError: If the page or a parameter is unknown, or a value is invalid.
    """
    texts = {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in given.items()
        if value is not None
    }
    asked = parameters(name, texts)
    contents = content(name, lake, asked)
    if contents.faults:
        raise UsageError("; ".join(contents.faults.values()))
    html = fragment(
        name,
        contents,
        asked,
        lambda *_, **__: None,  # a notebook has no other page
        level=3,
        is_interactive=False,
        # So that a notebook can show several games.
        prefix_of=lambda transcript, _: f"g{transcript.game['game_id'][:12]}-",
    )
    return RenderedPage(contents.rows, framed(html))


def format_lake_html(lake: LakeWithMethods) -> str:
    """Return HTML with the state of the lake and the number of rows of its tables."""
    sizes = [
        (name, row_description(name).rstrip("."), sum(lake.row_counts_by_file(name).values()))
        for name in TABLES
    ]
    # Its last part alone: what is shown is often sent to others.
    name = str(lake.path).rpartition("/")[2]
    text = (
        template_environment().get_template("lake.html").render(name=name, lake=lake, sizes=sizes)
    )
    return framed(Markup(text))


def framed(html: Markup) -> str:
    """Return the HTML in a frame whose style does not affect the rest of the notebook."""
    return f'<div class="magic-page"><style>{_style_notebook()}</style>\n{html}</div>'


@cache
def _style_notebook() -> str:
    """Return the CSS rules of `magic view` that a notebook cell needs, limited to its frame."""
    own = "".join([colours(), lines(*_FRAME_notebook), parts(*_PARTS_notebook), _OWN])
    # The name is doubled, so that our rules win over those of the notebook itself.
    return f".magic-page.magic-page {{{own}}}"
