"""`magic cite`: how to cite the tool, the benchmark and the lake's state."""

from typing import Annotated, Literal

from typer import Option

from pipeline.cli import options, terminal


def cite(
    *,
    lake: options.LakeOption = options.DEFAULT_LAKE,
    system: options.SystemOption = None,
    edition: options.EditionOption = "paper",
    form: Annotated[
        Literal["text", "bibtex"],
        Option("--format", metavar="FORM", help="Output format: text or bibtex."),
    ] = "text",
) -> None:
    """Print how to cite values: the state of the lake, the tool and the benchmark.

    The state of the lake is the number and date of its last ingest and the number of its games.

    \b
    Examples:
      magic cite
      magic cite --edition audited
      magic cite --format bibtex > magic.bib
    """
    from pipeline.reports.cite import cite as cited

    citation = cited(options.lake_of(lake, system), edition=edition)
    terminal.out(citation.bibtex if form == "bibtex" else citation.text)
