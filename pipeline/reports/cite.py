"""How to cite the tool, the benchmark, and the state of a lake that values were computed from."""

from datetime import datetime

import polars as pl
from msgspec import Struct

from pipeline.lake import StoredLake
from pipeline.metrics.registry import lake_method, metric_names
from pipeline.metrics.request import check_losses
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
    """What identifies values: the state of the lake, the edition, the version of magic-pipeline.

    `system` is the system whose games are counted, null if the lake has only one. `ingest_id` is
    the number of the last ingest, 0 if there is none; `ingested_at` is when it was committed.
    `joined_names` says which names of models are counted as one, empty if none are; `failures` what
    a game is to the side that failed it.
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
        """The state of the lake in words."""
        games = f"{format_count(self.n_games, 'game')} ({self.n_finished:,} finished)"
        games += f" of the system {escape_to_one_line(self.system)}" if self.system else ""
        if self.ingested_at is None:
            return f"{games}, before the first ingest"
        return f"{games}, after ingest {self.ingest_id} of {self.ingested_at:%Y-%m-%d %H:%M} UTC"

    @property
    def citation_sentence(self) -> str:
        """The sentence to quote beside the values."""
        names = (
            f", with the names {escape_to_one_line(self.joined_names)}" if self.joined_names else ""
        )
        losses = ", with games as losses of the models that failed them"
        names += losses if self.failures == LOSS else ""
        return (
            f"Computed with magic-pipeline {self.version}, edition {self.edition} "
            f"({EDITION_DESCRIPTIONS[self.edition]}), from {self.state}{names}."
        )

    @property
    def text(self) -> str:
        """How to cite, a line each: the values, the tool, the benchmark."""
        values = f"Values: {self.citation_sentence}\n"
        return f"{values}Tool: {TOOL_CITATION}\nBenchmark: {BENCHMARK_CITATION}\n"

    @property
    def bibtex(self) -> str:
        """The tool with the state of the lake, and the benchmark, as entries of BibTeX."""
        return f"""@software{{magic-pipeline,
  author  = {{{{The magic-pipeline authors}}}},
  title   = {{{{magic-pipeline}}}},
  version = {{{self.version}}},
  howpublished = {{Python package {DISTRIBUTION}}},
  note    = {{{escape_latex(self.citation_sentence)}}},
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
    """How to cite values of this edition that were computed from this state of the lake.

    Raises UsageError for an unknown edition.

    >>> lake.cite().n_games
    112
    """
    lake = lake.for_single_system()
    metric_names(edition)  # an unknown one is refused before anything is read
    check_losses(lake, edition)
    counts = lake.table("games").select(n=pl.len(), finished=pl.col("is_finished").sum()).collect()
    n_games, n_finished = map(int, counts.row(0))
    last = lake.last_ingest
    at = last["finished_at"] if last else None
    assert at is None or isinstance(at, datetime)
    system = lake.system if len(lake.systems) > 1 else None
    return Citation(
        *(lake.ingest_id, at, n_games, n_finished),
        *(edition, system, lake.describe_merged_names, lake.failures),
    )
