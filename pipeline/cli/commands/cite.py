"""`magic cite`: how to cite the tool, the benchmark and the lake's state."""

from typing import Literal

from pipeline.cli import options, terminal
from pipeline.cli.options import option


def cite(
    *,
    lake: options.LakeOption = options.DEFAULT_LAKE,
    system: options.SystemOption = None,
    edition: options.EditionOption = "paper",
    form: Literal["text", "bibtex"] = option(
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
    from pipeline.reports.cite import cite as cited

    citation = cited(options.lake_of(lake, system), edition=edition)
    terminal.out(citation.bibtex if form == "bibtex" else citation.text)
