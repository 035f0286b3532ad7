"""Citations of the tool, of the benchmark, and of the lake's state behind computed values.

Used by `magic cite`, by exports and by the pages; depends on `pipeline.lake`.
"""

from datetime import datetime

import polars as pl
from msgspec import Struct

from pipeline.lake import StoredLake
from pipeline.metrics.registry import lake_method, metric_names
from pipeline.metrics.request import check_edition_allows_failures_as_losses
from pipeline.plugins import DISTRIBUTION
from pipeline.text_format import escape_latex, escape_to_one_line, format_count
from pipeline.version import __version__
from pipeline.vocabulary import EXCLUDE, LOSS, PAPER, Edition, Failures

BENCHMARK_CITATION = "Xu et al., MAgIC, arXiv:2311.08562, 2023. https://arxiv.org/abs/2311.08562"
TOOL_CITATION = (
    f"The magic-pipeline authors, magic-pipeline, version {__version__}. "
    f"Python package {DISTRIBUTION}, MIT licence."
)
EDITION_DESCRIPTIONS = {
    "paper": "the formulas as published",
    "release": "the formulas as the benchmark's own script computes them",
    "audited": "the formulas as published, with answers judged by their texts",
}


class Citation(Struct, frozen=True):
    """The facts that identify computed values: state of the lake, edition and tool version.

    Attributes:
        ingest_id: Number of the last ingest; 0 if there is none.
        ingested_at: When the last ingest was committed, in UTC; None if there is none.
        n_games: Number of games in the lake.
        n_finished: How many of these games are finished.
        edition: The edition of the metrics.
        system: The system whose games are counted; None if the lake has only one.
        joined_names: Which names of models are counted as one model; empty if none are.
        failures: Whether a failed game is excluded or is a loss of the side that failed.
        version: The version of magic-pipeline.
    """

    ingest_id: int
    ingested_at: datetime | None
    n_games: int
    n_finished: int
    edition: Edition
    system: str | None = None
    joined_names: str = ""
    failures: Failures = EXCLUDE
    version: str = __version__

    @property
    def state(self) -> str:
        """The number of games and the time of the last ingest, in words."""
        games = f"{format_count(self.n_games, 'game')} ({self.n_finished:,} finished)"
        games += f" of the system {escape_to_one_line(self.system)}" if self.system else ""
        if self.ingested_at is None:
            return f"{games}, before the first ingest"
        return f"{games}, after ingest {self.ingest_id} of {self.ingested_at:%Y-%m-%d %H:%M} UTC"

    @property
    def sentence(self) -> str:
        """A sentence that says with which version and from which data the values were computed."""
        suffix = (
            f", with the names {escape_to_one_line(self.joined_names)}" if self.joined_names else ""
        )
        suffix += (
            ", counting failed games as losses of the models that failed them"
            if self.failures == LOSS
            else ""
        )
        return (
            f"Computed with magic-pipeline {self.version}, edition {self.edition} "
            f"({EDITION_DESCRIPTIONS[self.edition]}), from {self.state}{suffix}."
        )

    @property
    def text(self) -> str:
        """The citation as plain text: a line for the values, the tool and the benchmark each."""
        return f"Values: {self.sentence}\nTool: {TOOL_CITATION}\nBenchmark: {BENCHMARK_CITATION}\n"

    @property
    def bibtex(self) -> str:
        """The BibTeX entries of the tool (with the sentence as a note) and of the benchmark."""
        return f"""@software{{magic-pipeline,
  author  = {{{{The magic-pipeline authors}}}},
  title   = {{{{magic-pipeline}}}},
  version = {{{self.version}}},
  howpublished = {{Python package {DISTRIBUTION}}},
  note    = {{{escape_latex(self.sentence)}}},
}}

@misc{{magic,
  author        = {{Xu and others}},
  title         = {{{{MAgIC}}}},
  year          = {{2023}},
  eprint        = {{2311.08562}},
  archivePrefix = {{arXiv}},
}}
"""


@lake_method
def cite(lake: StoredLake, *, edition: Edition = PAPER) -> Citation:
    """Return the citation for metric values that were computed from this lake.

    Raises UsageError for an unknown edition.

    >>> lake.cite().n_games
    112
    """
    lake = lake.for_single_system()
    metric_names(edition)  # raises for an unknown edition, before anything is read
    check_edition_allows_failures_as_losses(lake, edition)
    game_counts = (
        lake.table("games").select(n=pl.len(), finished=pl.col("is_finished").sum()).collect()
    )
    n_games, n_finished = map(int, game_counts.row(0))
    last_ingest = lake.last_ingest
    ingested_at = last_ingest["finished_at"] if last_ingest else None
    assert ingested_at is None or isinstance(ingested_at, datetime)
    system = lake.system if len(lake.systems) > 1 else None
    return Citation(
        *(lake.ingest_id, ingested_at, n_games, n_finished),
        *(edition, system, lake.merged_names_text, lake.failures),
    )
