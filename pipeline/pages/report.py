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
from typing import Any, NamedTuple

import polars as pl
from markupsafe import Markup
from msgspec import Struct

from pipeline import text_format
from pipeline.column import display_name, polars_schema
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES, row_description
from pipeline.lake_methods import LakeWithMethods
from pipeline.metrics import ALL_GAME_TYPES, DEFAULT_CONFIDENCE, PAPER
from pipeline.metrics.evidence import EVIDENCE_COLUMNS as EVIDENCE, split_value_into_term_rows
from pipeline.metrics.registry import metric_names
from pipeline.pages.content import MetricDescription, describe_metric
from pipeline.pages.templating import (
    TEMPLATES,
    compute_page_content,
    parse_page_parameters,
    render_page_fragment,
    template_environment,
)
from pipeline.render import DOCUMENT_RENDERERS, build_result_table
from pipeline.render.table import Table
from pipeline.reports.cite import Citation
from pipeline.reports.transcript import Transcript
from pipeline.reports.transcript_items import player_table
from pipeline.statistics.comparison import is_significant
from pipeline.text_format import NULL_TEXT
from pipeline.vocabulary import EXCLUDE, Edition

# Sections of the style sheet of `magic view`, for reports and notebooks.

_STYLE_SHEET = Path(__file__).parent / "static" / "style.css"
_SECTION_HEADING = re.compile(r"^/\* --- (.*?) --- \*/$", re.MULTILINE)


def css_colour_variables() -> str:
    """Return the declarations of the CSS variables that define the colours of the pages."""
    return _split_style_sheet().rules_before_sections.partition(":root {")[2].partition("}")[0]


def css_rules_starting_with(*prefixes: str) -> str:
    """Return the rules before the first section of the style sheet that start with a prefix."""
    rules = _split_style_sheet().rules_before_sections.splitlines()
    return "\n".join(rule for rule in rules if rule.startswith(prefixes))


def css_sections(*names: str) -> str:
    """Return the rules of these sections of the style sheet, such as `tables`."""
    return "".join(_split_style_sheet().sections[name] for name in names)


class _StyleSheet(NamedTuple):
    rules_before_sections: str
    sections: dict[str, str]


@cache
def _split_style_sheet() -> _StyleSheet:
    first_rules, *parts = _SECTION_HEADING.split(_STYLE_SHEET.read_text(encoding="utf-8"))
    return _StyleSheet(first_rules, dict(zip(parts[::2], parts[1::2], strict=True)))


TITLE = "Games of language models: results"
GAMES_PER_CELL = 1
MAX_GAMES_PER_CELL = 20
# Further games in the sample, because not every game has rows of each metric.
_N_SPARE_GAMES = 4
# With more models, only the metric is compared that ranks them.
MAX_COMPARED_MODELS = 12
RANKING_METRIC = "win_rate"
MAX_TEXT_CHARACTERS = 20_000
"""A message with more characters is truncated; `magic show` prints all of it."""
_REPORT_CSS_SECTIONS = (
    *("texts", "tables", "a value with its interval", "facts and plots", "transcripts"),
    "cards in small windows",
)
_REPORT_CSS_RULES = ("*", "a ", "a:hover", ":focus-visible", ".vh ", ".none ")


class Cell(Struct, frozen=True):
    """Value of a metric for a model, with the rows in the sampled games that it counts.

    `evidence` contains one row per decision, and `sum` one row per term, as `evidence_sum`.
    """

    metric: str
    value: dict[str, Any]
    evidence: pl.DataFrame
    sum: pl.DataFrame

    @property
    def evidence_command(self) -> str:
        """Command that prints all rows that the value counts, without options of the report."""
        model = self.value["model"]
        return shlex.join(
            ["magic", "evidence", self.metric, *([] if model is None else ["--model", model])]
        )

    @property
    def n_games(self) -> int:
        """Number of sampled games in which the metric counts rows."""
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
    heads: list[MetricDescription]
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
        """Number of each sampled game within the report by game id, starting at 1."""
        return {
            str(transcript.game["game_id"]): number
            for number, transcript in enumerate(self.games, start=1)
        }

    def command_options(self, *without: str) -> str:
        """Return options with which a command counts as the report does, each after a space.

        The report does not know the path of the file that merges names, so it is called FILE.

        Args:
            without: The options that the command does not have, such as "system".
        """
        options = {
            "edition": "" if self.citation.edition == PAPER else self.citation.edition,
            "names": "FILE" if self.citation.joined_names else "",
            "failures": "" if self.citation.failures == EXCLUDE else self.citation.failures,
            "system": self.citation.system or "",
        }
        return "".join(
            f" --{name} {shlex.quote(value)}"
            for name, value in options.items()
            if value and name not in without
        )

    @property
    def names_note(self) -> str:
        """What FILE means in the commands of a report whose names are merged."""
        return " In commands, FILE is the file of --names." if self.citation.joined_names else ""

    def values_of_model(self, model: str | None) -> pl.DataFrame:
        """Return the metric values of a model; None selects games without a model name."""
        return self.values.filter(pl.col("model").eq_missing(pl.lit(model, pl.String)))


def compute_report(
    lake: LakeWithMethods,
    *,
    title: str | None = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
    games_per_cell: int = GAMES_PER_CELL,
) -> Report:
    """Compute the content of a report on the lake.

    Each value has the rows that it counts from up to `games_per_cell` games.

    Raises:
        UsageError: If `games_per_cell` is not between 0 and `MAX_GAMES_PER_CELL`.
    """
    if not 0 <= games_per_cell <= MAX_GAMES_PER_CELL:
        raise UsageError(f"the games per cell must be 0 to {MAX_GAMES_PER_CELL}")
    lake = lake.for_single_system()
    board = lake.leaderboard(edition=edition, confidence=confidence)
    by_type = lake.metrics(edition=edition, confidence=confidence)
    values = by_type.filter(game_type=ALL_GAME_TYPES).drop("game_type")
    sample = _sample_transcripts(lake, edition, games_per_cell)
    models = board["model"].to_list()
    cells = _metric_cells(values, sample, edition, games_per_cell)
    cited_games = {game for cell in cells.values() for game in cell.evidence["game_id"].unique()}
    return Report(
        title=title or TITLE,
        made_at=datetime.now(UTC),
        citation=lake.cite(edition=edition),
        confidence=confidence,
        games_per_cell=games_per_cell,
        board=board,
        by_type=by_type.filter(pl.col("game_type") != ALL_GAME_TYPES),
        values=values,
        heads=[describe_metric(name, edition, lake.game_types) for name in metric_names(edition)],
        cells=cells,
        radar=lake.radar(edition=edition, confidence=confidence),
        comparisons=lake.compare(
            metric=None if len(models) <= MAX_COMPARED_MODELS else [RANKING_METRIC],
            edition=edition,
            confidence=confidence,
        ),
        completeness=lake.completeness(),
        readability=lake.readability(edition=edition),
        audit=lake.audit(),
        # The number of documents by status and reason, without their sources.
        documents=lake.document_counts()
        .group_by("status", "reason", maintain_order=True)
        .agg(pl.col("n_documents").sum()),
        # The formats of the games, and the dates of play that logs contain.
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
        games=[transcript for transcript in sample if transcript.game["game_id"] in cited_games],
        game_types=lake.game_types,
    )


def _sample_transcripts(
    lake: LakeWithMethods, edition: Edition, games_per_cell: int
) -> list[Transcript]:
    """Return the games with the lowest ids of each model and competition."""
    if not games_per_cell:
        return []
    finished = lake.table("results").filter("is_tested", "is_finished")
    lowest_ids = (
        finished.group_by("model", "competition")
        .agg(pl.col("game_id").unique().bottom_k(games_per_cell + _N_SPARE_GAMES))
        .explode("game_id")
        .collect()
    )
    return list(lake.transcripts(sorted(lowest_ids["game_id"].unique()), edition=edition))


def _metric_cells(
    values: pl.DataFrame, sample: Sequence[Transcript], edition: Edition, games_per_cell: int
) -> dict[tuple[str | None, str], Cell]:
    """Return one cell per model and metric, with evidence from the first games that have any."""
    # A transcript has only counted rows, without the column that says so.
    no_rows = pl.DataFrame(schema=polars_schema(EVIDENCE)).drop("is_counted")
    rows = pl.concat([no_rows, *(transcript.counted for transcript in sample)])
    rows_by_key = rows.partition_by("model", "metric", as_dict=True, maintain_order=True)
    cells = {}
    for value in values.iter_rows(named=True):
        key = (value["model"], value["metric"])
        cell_rows = rows_by_key.get(key, no_rows)
        games = cell_rows["game_id"].unique().sort().head(games_per_cell)
        evidence = cell_rows.filter(pl.col("game_id").is_in(games.implode()))
        cells[key] = Cell(
            value["metric"], value, evidence, split_value_into_term_rows(value, edition)
        )
    return cells


# --- the file -----------------------------------------------------------------------------------


def format_report(lake: LakeWithMethods, form: str = "html", **options: Any) -> str:
    """Return a report on a lake as the text of one file in HTML, Markdown or LaTeX.

    Args:
        lake: The lake.
        form: `html`, `markdown` or `latex`.
        **options: Keyword arguments of `compute_report`.
    """
    report = compute_report(lake, **options)
    return "".join(iter_report_html(report) if form == "html" else iter_report_text(report, form))


def iter_report_html(report: Report) -> Iterator[str]:
    """Yield a report as HTML, in pieces of text."""
    css = _report_css()
    model_numbers = {model: number for number, model in enumerate(report.board["model"], start=1)}
    return (
        template_environment()
        .get_template("one_file.html")
        .generate(
            report=report,
            style=Markup(css),
            # The browser applies no other style and runs no script, whatever texts the page has.
            style_hash=b64encode(hashlib.sha256(css.encode()).digest()).decode(),
            models=model_numbers,
            link=partial(_link_within_report, model_numbers),
            parameters=report.citation,
            LONGEST=MAX_TEXT_CHARACTERS,
            notes_of=lambda name, rows: (
                build_result_table(name, rows, confidence=report.confidence).notes
            ),
            seats=player_table,
            matrix=_iter_comparison_matrices,
        )
    )


def _link_within_report(
    model_numbers: Mapping[str | None, int], page: str, **parameters: Any
) -> str | None:
    """Return the link to the element with the content of a page; None if the report has none."""
    model_number = model_numbers.get(parameters.get("model"))
    match page:
        case "model" if model_number is not None:
            return f"#model-{model_number}"
        case "metric":
            return f"#metric-{parameters['metric']}"
        case "evidence" if model_number is not None:
            return f"#c{model_number}-{parameters['metric']}"
    return None


@cache
def _report_css() -> str:
    """Return the style sheet of reports, which contains sections of that of `magic view`."""
    return "\n".join(
        [
            f":root {{{css_colour_variables()}}}",
            css_rules_starting_with(*_REPORT_CSS_RULES),
            css_sections(*_REPORT_CSS_SECTIONS),
            (TEMPLATES / "one_file.css").read_text("utf-8"),
        ]
    )


_MatrixRow = tuple[str, list[dict[str, Any] | None]]
"""A model, and for each model the displayed comparison with it."""


def _iter_comparison_matrices(report: Report) -> Iterator[tuple[str, list[_MatrixRow]]]:
    """Yield the name of each metric with a matrix of the differences between all models."""
    models = [model for model in report.board["model"] if model is not None]
    for rows in report.comparisons.partition_by("metric", maintain_order=True):
        cells = {}
        for row in rows.iter_rows(named=True):
            cells[row["model"], row["other"]] = _comparison_cell(row, 1, report.confidence)
            cells[row["other"], row["model"]] = _comparison_cell(row, -1, report.confidence)
        yield (
            rows["metric"][0],
            [(model, [cells.get((model, other)) for other in models]) for model in models],
        )


def _comparison_cell(row: Mapping[str, Any], sign: int, confidence: float) -> dict[str, Any]:
    """Return the displayed texts of a comparison; a `sign` of -1 swaps the two models."""
    p, difference = row["p_holm"], row["difference"]
    bounds = [row["ci_low"], row["ci_high"]][::sign]
    interval = [None if bound is None else sign * bound for bound in bounds]
    return {
        "difference": None if difference is None else sign * difference + 0.0,  # 0.0 avoids −0.
        "title": f"{text_format.format_interval(*interval)}; p (Holm) "
        f"{NULL_TEXT if p is None else text_format.format_p_value(p)}",
        "mark": text_format.small_sample_mark(
            [*(row["small_sample_terms"] or []), *(row["other_small_sample_terms"] or [])]
        ),
        "is_apart": p is not None and is_significant(p, confidence),
        "reason": row["reason"],
    }


def iter_report_text(report: Report, form: str) -> Iterator[str]:
    """Yield the tables of a report with their notes as Markdown or LaTeX, in pieces of text."""
    renderer = DOCUMENT_RENDERERS[form]
    definitions = [
        {
            "metric": description.name,
            "value": description.value,
            "one row is": description.row,
            "range": f"0..{description.high:.3g}",
        }
        for description in report.heads
    ]
    yield renderer.format_heading(report.title, level=1)
    yield f"{renderer.escape_text(report.citation.sentence + report.names_note)}\n"
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
        yield "\n" + renderer.format_heading(title)
        yield from renderer.table(table)
        yield renderer.format_notes(table.notes)
    yield "\n" + renderer.format_heading("Where to look")
    yield renderer.format_notes(
        [
            f"magic evidence METRIC --model MODEL{report.command_options()} prints the rows behind "
            "a value",
            f"magic show GAME{report.command_options('system')} prints a game",
            *report.citation.text.splitlines(),
        ]
    )


# Pages in notebooks, as HTML with a style that does not affect the rest of the notebook.

# The parts of the style sheet of `magic view` that a notebook cell needs.
_NOTEBOOK_CSS_SECTIONS = (
    "texts",
    "tables",
    "a value with its interval",
    "facts and plots",
    "transcripts",
)
_NOTEBOOK_CSS_RULES = ("a ", "a:hover", ".vh ", ".none ", ".id ")
_NOTEBOOK_CSS = """
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


def render_page(lake: LakeWithMethods, name: str, options: dict[str, object]) -> RenderedPage:
    """Render a page of `magic view` for a notebook, without forms and links.

    Args:
        lake: The lake to display.
        name: Name of the page.
        options: Parameters of the page by name.

    Raises:
        UsageError: If the page or a parameter is unknown, or a value is invalid.
    """
    texts = {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in options.items()
        if value is not None
    }
    page_parameters = parse_page_parameters(name, texts)
    page_content = compute_page_content(name, lake, page_parameters)
    if page_content.faults:
        raise UsageError("; ".join(page_content.faults.values()))
    html = render_page_fragment(
        name,
        page_content,
        page_parameters,
        lambda *_, **__: None,  # A notebook has no other page to link to.
        level=3,
        is_interactive=False,
        # Element ids differ between the games of a notebook.
        prefix_of=lambda transcript, _: f"g{transcript.game['game_id'][:12]}-",
    )
    return RenderedPage(page_content.rows, wrap_in_notebook_frame(html))


def format_lake_html(lake: LakeWithMethods) -> str:
    """Return HTML for a notebook with the state of a lake and the size of its tables."""
    sizes = [
        (name, row_description(name).rstrip("."), sum(lake.row_counts_by_file(name).values()))
        for name in TABLES
    ]
    # Only the last part of the path, because notebooks are often sent to other people.
    name = str(lake.path).rpartition("/")[2]
    text = (
        template_environment().get_template("lake.html").render(name=name, lake=lake, sizes=sizes)
    )
    return wrap_in_notebook_frame(Markup(text))


def wrap_in_notebook_frame(html: Markup) -> str:
    """Wrap HTML in an element whose style does not affect the rest of the notebook."""
    return f'<div class="magic-page"><style>{_notebook_css()}</style>\n{html}</div>'


@cache
def _notebook_css() -> str:
    """Return the CSS rules for elements within a notebook frame."""
    rules = [
        css_colour_variables(),
        css_rules_starting_with(*_NOTEBOOK_CSS_RULES),
        css_sections(*_NOTEBOOK_CSS_SECTIONS),
        _NOTEBOOK_CSS,
    ]
    # The class is repeated, so that the rules take precedence over rules of the notebook.
    return f".magic-page.magic-page {{{''.join(rules)}}}"
