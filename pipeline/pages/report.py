"""The content of a report on a lake: frames and texts, of which one file is made.

Everything comes from the Python API. Evidence and transcripts are a sample: for each value a few
games, chosen by their ids, which are hashes, so that no result decides what is shown.
"""

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import asdict

from pipeline.answers import AnsweringLake
from pipeline.column import schema, words
from pipeline.errors import UsageError
from pipeline.metrics import ALL, DEFAULT_CONFIDENCE, PAPER
from pipeline.metrics.evidence import COLUMNS as EVIDENCE
from pipeline.metrics.known import names
from pipeline.pages.content import Head, head
from pipeline.reports.cite import Citation
from pipeline.reports.evidence_sum import sum_of
from pipeline.reports.transcript import Transcript
from pipeline.vocabulary import Edition

TITLE = "Games of language models: results"
GAMES_PER_CELL = 1
MOST_GAMES_PER_CELL = 20
# Not every game has a row that each of its metrics counts.
_SPARE = 4
# Of so many models at most, all metrics are compared; of more only the one that ranks them.
MOST_MODELS_COMPARED = 12
RANKED_BY = "win_rate"


class Card(Head, frozen=True):
    """A metric, and its rows of `metrics` by model: over all game types, and of each."""

    rows: pl.DataFrame
    by_type: pl.DataFrame


class Cell(Struct, frozen=True):
    """One value with its counts, and the counted rows of the games that are shown.

    `evidence` has a row for each decision, and `sum` one for each term, as `evidence_sum`.
    """

    metric: str
    value: dict[str, Any]
    evidence: pl.DataFrame
    sum: pl.DataFrame

    @property
    def command(self) -> str:
        """The command line that prints all rows behind the value, but for the report's options."""
        model = self.value["model"]
        return shlex.join(
            ["magic", "evidence", self.metric, *([] if model is None else ["--model", model])]
        )

    @property
    def n_games(self) -> int:
        """In how many games of the sample something was counted."""
        return self.evidence["game_id"].n_unique()


class Profile(Struct, frozen=True):
    """A model, its rows of `metrics`, and what is behind each."""

    model: str | None
    rows: pl.DataFrame
    cells: list[Cell]


class Report(Struct, frozen=True, dict=True):
    """All that the report shows. `games` are those of the sample, in the order of their ids."""

    title: str
    made_at: datetime
    citation: Citation
    confidence: float
    games_per_cell: int
    board: pl.DataFrame
    values: pl.DataFrame
    cards: list[Card]
    profiles: list[Profile]
    radar: pl.DataFrame
    comparisons: pl.DataFrame
    completeness: pl.DataFrame
    readability: pl.DataFrame
    audit: pl.DataFrame
    documents: pl.DataFrame
    logs: pl.DataFrame
    games: list[Transcript]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each game within the report, by its id."""
        return {str(one.game["game_id"]): at for at, one in enumerate(self.games, start=1)}

    @property
    def option(self) -> str:
        """What a command needs to count what the report counts; empty for the defaults."""
        system = self.citation.system
        return self.option_of_show + (f" --system {shlex.quote(system)}" if system else "")

    @property
    def option_of_show(self) -> str:
        """The same for a command that shows one game, whatever its system."""
        edition = self.citation.edition
        return "" if edition == PAPER else f" --edition {edition}"

    @cached_property
    def cells(self) -> dict[tuple[str | None, str], Cell]:
        """The cells by model and metric."""
        return {(one.model, cell.metric): cell for one in self.profiles for cell in one.cells}


def report(
    lake: AnsweringLake,
    *,
    title: str | None = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
    games_per_cell: int = GAMES_PER_CELL,
) -> Report:
    """The content of a report on the lake in its state.

    Of each value, up to `games_per_cell` games are in it. Raises UsageError for a number that is
    not in 0..`MOST_GAMES_PER_CELL`.
    """
    if not 0 <= games_per_cell <= MOST_GAMES_PER_CELL:
        raise UsageError(f"the games per cell must be 0 to {MOST_GAMES_PER_CELL}")
    lake = lake.of_one_system()
    board = lake.leaderboard(edition=edition, confidence=confidence)
    by_type = lake.metrics(edition=edition, confidence=confidence)
    values = by_type.filter(game_type=ALL).drop("game_type")
    sample = _sample(lake, edition, games_per_cell)
    models = board["model"].to_list()
    cells = _cells(values, sample, edition, games_per_cell)
    shown = {game for cell in cells.values() for game in cell.evidence["game_id"].unique()}
    return Report(
        title=title or TITLE,
        made_at=datetime.now(UTC),
        citation=lake.cite(edition=edition),
        confidence=confidence,
        games_per_cell=games_per_cell,
        board=board,
        values=values,
        cards=[
            Card(
                **asdict(head(name, edition)),
                rows=rows.filter(game_type=ALL),
                by_type=rows.filter(pl.col("game_type") != ALL),
            )
            for name in names(edition)
            for rows in [by_type.filter(metric=name)]
        ],
        profiles=[
            Profile(
                model,
                values.filter(pl.col("model").eq_missing(pl.lit(model, pl.String))),
                [cell for (of, _), cell in cells.items() if of == model],
            )
            for model in models
        ],
        radar=lake.radar(edition=edition, confidence=confidence),
        comparisons=lake.compare(
            metric=None if len(models) <= MOST_MODELS_COMPARED else [RANKED_BY],
            edition=edition,
            confidence=confidence,
        ),
        completeness=lake.completeness(),
        readability=lake.readability(edition=edition),
        audit=lake.audit(),
        documents=_documents(lake),
        logs=_logs(lake),
        games=[one for one in sample if one.game["game_id"] in shown],
    )


def _documents(lake: AnsweringLake) -> pl.DataFrame:
    """How many documents were read and not read, and why, without where they are."""
    counts = lake.document_counts()
    by = ["status", "reason"]
    return counts.group_by(by, maintain_order=True).agg(pl.col("n_documents").sum())


def _logs(lake: AnsweringLake) -> pl.DataFrame:
    """The formats that the games were read from, and when they were played as far as logs say."""
    played = pl.col("started_at")
    by_format = lake.table("games").group_by("format", "format_version")
    return (
        by_format.agg(
            games=pl.len(),
            dated=played.count(),
            first_played=played.min(),
            last_played=played.max(),
        )
        .sort("format", "format_version")
        .rename(words)
        .collect()
    )


def _sample(lake: AnsweringLake, edition: Edition, games_per_cell: int) -> list[Transcript]:
    """Some games of each model and competition, those with the lowest ids."""
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


def _cells(
    values: pl.DataFrame, sample: Sequence[Transcript], edition: Edition, games_per_cell: int
) -> dict[tuple[str | None, str], Cell]:
    """A cell for each model and metric, with the rows of the first games that have any."""
    none = pl.DataFrame(schema=schema(EVIDENCE))
    rows = pl.concat([none, *(one.counted for one in sample)])
    parts = rows.partition_by("model", "metric", as_dict=True, maintain_order=True)
    cells = {}
    for value in values.iter_rows(named=True):
        key = (value["model"], value["metric"])
        part = parts.get(key, none)
        games = part["game_id"].unique().sort().head(games_per_cell)
        evidence = part.filter(pl.col("game_id").is_in(games.implode()))
        cells[key] = Cell(value["metric"], value, evidence, sum_of(value, edition))
    return cells
