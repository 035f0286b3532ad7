"""How to cite the tool, the benchmark, and the state of a lake that values were computed from."""

from datetime import datetime

import polars as pl
from msgspec import Struct

from pipeline.cells import counted, latex, printable_line
from pipeline.lake import StoredLake
from pipeline.metrics.known import names, of_lake
from pipeline.metrics.request import check_losses
from pipeline.plugins import DISTRIBUTION
from pipeline.version import __version__
from pipeline.vocabulary import EXCLUDE, LOSS, PAPER, Edition, Failures

BENCHMARK = "Xu et al., MAgIC, arXiv:2311.08562, 2023. https://arxiv.org/abs/2311.08562"
TOOL = (
    f"The magic-pipeline authors, magic-pipeline, version {__version__}. "
    f"Python package {DISTRIBUTION}, MIT licence."
)
EDITION_TEXTS = {
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
        games = f"{counted(self.n_games, 'game')} ({self.n_finished:,} finished)"
        games += f" of the system {printable_line(self.system)}" if self.system else ""
        if self.ingested_at is None:
            return f"{games}, before the first ingest"
        return f"{games}, after ingest {self.ingest_id} of {self.ingested_at:%Y-%m-%d %H:%M} UTC"

    @property
    def sentence(self) -> str:
        """The sentence to quote beside the values."""
        names = f", with the names {printable_line(self.joined_names)}" if self.joined_names else ""
        losses = ", with games as losses of the models that failed them"
        names += losses if self.failures == LOSS else ""
        return (
            f"Computed with magic-pipeline {self.version}, edition {self.edition} "
            f"({EDITION_TEXTS[self.edition]}), from {self.state}{names}."
        )

    @property
    def text(self) -> str:
        """How to cite, a line each: the values, the tool, the benchmark."""
        return f"Values: {self.sentence}\nTool: {TOOL}\nBenchmark: {BENCHMARK}\n"

    @property
    def bibtex(self) -> str:
        """The tool with the state of the lake, and the benchmark, as entries of BibTeX."""
        return f"""@software{{magic-pipeline,
  author  = {{{{The magic-pipeline authors}}}},
  title   = {{{{magic-pipeline}}}},
  version = {{{self.version}}},
  howpublished = {{Python package {DISTRIBUTION}}},
  note    = {{{latex(self.sentence)}}},
}}

@misc{{magic,
  author        = {{Xu and others}},
  title         = {{{{MAgIC}}}},
  year          = {{2023}},
  eprint        = {{2311.08562}},
  archivePrefix = {{arXiv}},
}}
"""


@of_lake
def cite(lake: StoredLake, *, edition: Edition = PAPER) -> Citation:
    """How to cite values of this edition that were computed from this state of the lake.

    Raises UsageError for an unknown edition.

    >>> lake.cite().n_games
    112
    """
    lake = lake.of_one_system()
    names(edition)  # an unknown one is refused before anything is read
    check_losses(lake, edition)
    counts = lake.table("games").select(n=pl.len(), finished=pl.col("is_finished").sum()).collect()
    n_games, n_finished = map(int, counts.row(0))
    last = lake.last_ingest
    at = last["finished_at"] if last else None
    assert at is None or isinstance(at, datetime)
    system = lake.system if len(lake.systems) > 1 else None
    return Citation(
        *(lake.ingest_id, at, n_games, n_finished),
        *(edition, system, lake.joined_names, lake.failures),
    )
