"""The commands to share results: pages in a browser, a report, exports and a citation."""

from pathlib import Path
from typing import Literal

from pipeline.cli import options, terminal
from pipeline.cli.command import CommandContext, PathType
from pipeline.cli.options import DEFAULT_CONFIDENCE, DEFAULT_LAKE, TextList
from pipeline.errors import UsageError
from pipeline.parameters import argument_spec, flag_spec, option_spec, repeatable_option_spec
from pipeline.plugins import check_extra_is_installed
from pipeline.text_format import format_count
from pipeline.vocabulary import Edition, ExportKind

Form = Literal["html", "markdown", "latex"]
DEFAULT_FILE_NAMES: dict[Form, str] = {
    "html": "report.html",
    "markdown": "report.md",
    "latex": "report.tex",
}
STDOUT = "-"


def report(
    context: CommandContext,
    *,
    lake: str = DEFAULT_LAKE,
    out: str | None = option_spec(
        "FILE",
        "The file to write, `-` for stdout; default: report.html, .md or .tex.",
        "-o",
        "--out",
    ),
    title: str | None = option_spec("TEXT", "The title of the report."),
    edition: Edition = "paper",
    games_per_cell: int | None = option_spec(
        "N", "Show up to N games behind each value (html only); default: 1.", min=0
    ),
    confidence: float = DEFAULT_CONFIDENCE,
    form: Form | None = option_spec(
        "FORM", "html, markdown or latex; default: by the ending of --out, else html.", "--format"
    ),
    metric_file: list[Path] | None = None,
) -> None:
    """Write a report: leaderboard, metrics, models, comparison, completeness, audit.

    The HTML file opens from disk and needs no network. Each value leads to the rows that were
    counted and from there to the messages, for a sample of games. The sample is chosen by the
    games' ids, not by their results. The commands in the report print what it leaves out. An
    existing file is replaced. The command needs the extra `view`.

    \b
    Examples:
      magic report
      magic report -o results.html --title "Our models" --games-per-cell 3
      magic report --format markdown -o RESULTS.md
      magic report --format latex -o - > tables.tex
    """
    form = form or _format_of_extension(out)
    if games_per_cell is not None and form != "html":
        raise UsageError("--games-per-cell works only with --format html")

    from pipeline import plots
    from pipeline.atomic_files import atomic_write
    from pipeline.cli.output import check_output_path

    with plots.raise_missing_extra_for_import_errors():
        from pipeline.pages.report import GAMES_PER_CELL, format_report

    file = Path(out or DEFAULT_FILE_NAMES[form])
    if out != STDOUT:
        check_output_path(file)
    if games_per_cell is None:
        games_per_cell = GAMES_PER_CELL if form == "html" else 0
    text = format_report(
        context.open_lake_with_methods(),
        form,
        title=title,
        edition=edition,
        confidence=confidence,
        games_per_cell=games_per_cell,
    )
    if out == STDOUT:
        terminal.write_result_bytes(text.encode())
        return
    with atomic_write(file) as draft:
        draft.write_text(text, encoding="utf-8")
    terminal.print_note(f"wrote {file} ({len(text.encode()) / 1000:,.0f} kB)")


def _format_of_extension(out: str | None) -> Form:
    """Return the format of the report for a file extension; html for stdout and for None."""
    if out is None or out == STDOUT:
        return "html"
    extension = Path(out).suffix.lower()
    forms = {Path(name).suffix: form for form, name in DEFAULT_FILE_NAMES.items()} | {
        ".htm": "html"
    }
    if extension not in forms:
        raise UsageError(
            f"{out}: the file extension must name the format ({', '.join(forms)}), or use --format"
        )
    return forms[extension]


NEEDED_PACKAGES = ("starlette", "uvicorn", "jinja2", "altair", "vl_convert")


def view(
    context: CommandContext,
    *,
    lake: str = DEFAULT_LAKE,
    port: int = option_spec("PORT", "Port; 0: any free one.", min=0, max=65535, default=8765),
    host: str = option_spec("HOST", "Address to listen on.", default="127.0.0.1"),
    browser: bool = flag_spec("--browser/--no-browser", "Open the browser.", default=True),
    metric_file: list[Path] | None = None,
) -> None:
    """Look at the lake in a browser: leaderboard, evidence, transcripts, SQL.

    From each value you can click to the rows that were counted and to their messages. A new ingest
    shows without a restart. The server can be reached only from this machine; with another --host,
    the printed address has a token that is needed to see anything. Ctrl-C ends it.

    \b
    Examples:
      magic view
      magic view --lake lake/ --port 9000 --no-browser
    """
    check_extra_is_installed("`magic view`", "view", NEEDED_PACKAGES)
    from pipeline.lake_methods import with_registered_metrics
    from pipeline.metrics.registry import additional_metrics_of_lake_and_command
    from pipeline.server import serve

    serve(
        with_registered_metrics(
            context.open_lake_with_methods(), additional_metrics_of_lake_and_command()
        ),
        name=lake,
        host=host,
        port=port,
        opens_browser=browser,
        print_message=terminal.print_note,
    )


def export(
    context: CommandContext,
    *,
    kind: ExportKind = argument_spec("KIND", "What to write; see above.", default=...),
    destination: Path = argument_spec(
        "DEST",
        "A new folder; for battles a .parquet or .csv file.",
        default=...,
        parse=PathType(Path),
        check=options.check_local_folder,
    ),
    lake: str = DEFAULT_LAKE,
    system: str | None = option_spec(
        "SYSTEM",
        "Only the games of this system (harness); default: those of all, or where values or "
        "battles are written, of the one with the most games.",
        suggested="systems",
    ),
    edition: Edition = "paper",
    confidence: float = DEFAULT_CONFIDENCE,
    without_samples: bool = flag_spec("--without-samples", "Write values without what they count."),
    organization: str | None = option_spec("TEXT", "Who ran the games; default: unknown."),
    redact: TextList = repeatable_option_spec(
        "TABLE.COLUMN", "Leave out this column, such as messages.content"
    ),
    redact_names: bool = flag_spec("--redact-names", "Give models pseudonyms, also in texts."),
    title: str | None = option_spec("TEXT", "The title of the data set."),
    license: str | None = option_spec("TEXT", "The licence of the data set."),
    date: str | None = option_spec(
        "DATE", "The date that files have, such as 2026-11-27; default: that of the last ingest."
    ),
    metric_file: list[Path] | None = None,
) -> None:
    """Write results or games in a form that another tool reads.

    \b
    every-eval-ever  values of metrics, and what they count: Every Eval Ever
    inspect-scout    a transcript for each tested seat: Inspect Scout
    battles          pairs of models with opposed results: arena-rank, evalica
    dataset          the event tables, with a data card and Croissant metadata

    The first takes --failures, --edition, --confidence, --without-samples, --organization and
    --date; the last --redact, --redact-names, --title, --license and --date. Nothing that is there
    is replaced. The same lake gives the same bytes.

    \b
    Examples:
      magic export every-eval-ever eee/ --organization "Our lab"
      magic export inspect-scout transcripts/
      magic export battles battles.parquet
      magic export dataset games/ --redact messages.content --redact-names
    """
    from pipeline import exports

    exported = exports.export(
        context.lake
        if kind in exports.SINGLE_SYSTEM_EXPORTS
        else context.open_lake_of_all_systems(),
        kind,
        destination,
        edition=edition,
        confidence=confidence,
        without_samples=without_samples,
        organization=organization,
        redact=redact,
        redact_names=redact_names,
        title=title,
        license=license,
        date=date,
    )
    terminal.print_note(
        f"wrote {destination} ({format_count(exported.n_rows, 'row')}, "
        f"{exported.n_bytes / 1000:,.0f} kB)",
        *exported.notes,
        *(f"{pseudonym} is {name}" for name, pseudonym in exported.pseudonyms.items()),
    )


def cite(
    context: CommandContext,
    *,
    lake: str = DEFAULT_LAKE,
    edition: Edition = "paper",
    form: Literal["text", "bibtex"] = option_spec(
        "FORM", "Output format: text or bibtex.", "--format", default="text"
    ),
) -> None:
    """Print how to cite values: the state of the lake, the tool and the benchmark.

    The state of the lake is the number and date of its last ingest and the number of its games.

    \b
    Examples:
      magic cite
      magic cite --edition audited
      magic cite --format bibtex > magic.bib
    """
    citation = context.compute_result("cite")
    terminal.write_result(citation.bibtex if form == "bibtex" else citation.text)
