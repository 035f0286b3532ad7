"""Lakes for tests: made quickly, compared as a whole, and checked against all that must hold."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
from event_tables import checked
from rawlogs import encode

from pipeline.events.contracts import GAME_TABLES, TABLES
from pipeline.ingest import IngestSummary, ingest
from pipeline.lake import open_lake

PROVENANCE = ("source", "path", "ingest_id")
# What an ingest leaves even where nothing is new.
JOURNAL = ("documents", "archives", "ingests")

Rows = dict[str, list[str]]


def table(lake: Path, name: str) -> pl.DataFrame:
    """One table at the lake's last state."""
    return open_lake(lake).table(name).collect()


def tables(lake: Path) -> dict[str, pl.DataFrame]:
    """Every table at the lake's last state."""
    opened = open_lake(lake)
    return {name: opened.table(name).collect() for name in TABLES}


def rows(lake: Path, *, without: Iterable[str] = (), but_for: Iterable[str] = JOURNAL) -> Rows:
    """The rows of the tables as sorted text, less some columns; `but_for` are tables left out."""
    opened = open_lake(lake)
    return {
        name: sorted(map(repr, opened.table(name).drop(without, strict=False).collect().rows()))
        for name in TABLES
        if name not in but_for
    }


def statuses(lake: Path, ingest_id: int | None = None) -> dict[str, str]:
    """What became of each document, by path, in one ingest: the last, if none is named.

    Documents that are as they were have no row.
    """
    seen = table(lake, "documents")
    wanted = seen["ingest_id"].max() if ingest_id is None else ingest_id
    return dict(seen.filter(pl.col("ingest_id") == wanted).select("path", "status").iter_rows())


def games_at(lake: Path) -> list[tuple[str, int | None]]:
    """Path and index of each game in the lake."""
    return sorted(table(lake, "games").select("path", "game_index").iter_rows())


def nonzero(report: IngestSummary) -> dict[str, int]:
    """The counts by status of an ingest, those that are not 0."""
    return {status: n for status, n in report.statuses.items() if n}


def parquet_files(lake: Path) -> set[Path]:
    """Every Parquet file under the lake, part of a table or not."""
    return set(lake.rglob("*.parquet"))


class Lab:
    """A folder of logs and a lake."""

    def __init__(self, root: Path, lake: Path) -> None:
        self.root = root
        self.lake = lake

    def write(self, path: str, log: object) -> Path:
        """Writes a log, or bytes as they are, at a path in the folder."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(log if isinstance(log, bytes) else encode(log))
        return file

    def ingest(self, *sources: str | Path, model: str | None = None) -> IngestSummary:
        """Takes in the sources, paths in the folder; all of it where none is given."""
        found = [self.root / source for source in sources] or [self.root]
        return ingest(found, self.lake, model=model)

    def counts(self, *sources: str | Path, model: str | None = None) -> dict[str, int]:
        """The counts by status of an ingest of the sources, those that are not 0."""
        return nonzero(self.ingest(*sources, model=model))

    def rehearse(self, *sources: str | Path, model: str | None = None) -> dict[str, int]:
        """The counts by status that an ingest of the sources would have."""
        found = [self.root / source for source in sources] or [self.root]
        return nonzero(ingest(found, self.lake, model=model, dry_run=True))


def check(lake: Path) -> None:
    """Asserts what holds of every lake at rest."""
    found = tables(lake)
    for name, frame in found.items():
        checked(name, frame)
        _check_types(name, frame)
    _check_games(found)
    _check_journal(found)
    _check_versions(lake, found["ingests"])


def _check_types(name: str, frame: pl.DataFrame) -> None:
    declared = {column: of.dtype for column, of in TABLES[name].columns().items()}
    assert dict(frame.schema) == declared, name


def _check_games(found: dict[str, pl.DataFrame]) -> None:
    """Every row belongs to a game of the lake, says of it what the game's row says, and no more."""
    games = found["games"]
    of_game = ["game_id", "game_type", "system", "setting_id", "game_index", "is_finished"]
    result = set(games.select(of_game).iter_rows())
    for name in GAME_TABLES:
        assert set(found[name].select(of_game).unique().iter_rows()) <= result, name
    for name, count in (("players", "n_players"), ("messages", "n_messages")):
        counted = found[name].group_by("game_id").agg(n=pl.len())
        joined = games.join(counted, on="game_id", how="left")
        assert joined[count].to_list() == joined["n"].fill_null(0).to_list(), name
    acting = ["game_id", "seat", "player", "model", "role", "side", "is_tested", "competition"]
    seats = set(found["players"].select(acting).iter_rows())
    for name in set(GAME_TABLES) - {"games", "players", "results", "messages"}:
        assert set(found[name].select(acting).unique().iter_rows()) <= seats, name
    _check_results(found["results"], games)
    # Who bore a game is known, and so is every part of it that could not be used.
    seen = set(found["documents"].select("source", "path", "game_id").iter_rows())
    assert set(games.select("source", "path", "game_id").iter_rows()) <= seen
    assert set(found["quarantine"]["game_id"].drop_nulls()) <= set(games["game_id"])


def _check_results(results: pl.DataFrame, games: pl.DataFrame) -> None:
    """Every game came to something for each side tested, and to nothing where it did not end."""
    assert set(results["game_id"]) == set(games["game_id"])
    assert results["is_tested"].all()
    assert not results["competition"].has_nulls()
    cut_off = results.filter(~pl.col("is_finished"))
    assert cut_off["is_win"].is_null().all()
    assert cut_off["agreed"].is_null().all()
    assert not results.filter("is_finished")["is_win"].has_nulls()


def _check_journal(found: dict[str, pl.DataFrame]) -> None:
    """Ingests are numbered without gaps, and count what is new and more of what is as it was."""
    ingests = found["ingests"].sort("ingest_id")
    assert ingests["ingest_id"].to_list() == list(range(1, ingests.height + 1))
    counted: dict[int, Counter[str]] = {n: Counter() for n in ingests["ingest_id"]}
    for ingest_id, status in found["documents"].select("ingest_id", "status").iter_rows():
        counted[ingest_id][status] += 1
    for row in ingests.iter_rows(named=True):
        counts = {key[2:]: row[key] for key in row if key.startswith("n_")}
        total, superseded = counts.pop("documents"), counts.pop("superseded")
        rows = counted[row["ingest_id"]]
        assert all(n >= rows[status] for status, n in counts.items())
        new = ("ingested", "replacing", "duplicate")
        assert all(counts[status] == rows[status] for status in new)
        assert total == sum(counts.values())
        assert superseded >= 0
        assert row["started_at"] <= row["finished_at"]


def _check_versions(lake: Path, ingests: pl.DataFrame) -> None:
    """At rest, the versions that the last ingest names are the tables' latest."""
    if ingests.is_empty():
        return
    last: list[dict[str, Any]] = ingests.sort("ingest_id")["versions"].to_list()[-1]
    named = {entry["table"]: entry["version"] for entry in last}
    assert named == {name: latest_version(lake, name) for name in TABLES if name != "ingests"}


def latest_version(lake: Path, name: str) -> int:
    """The number of a table's last commit, as its log has it."""
    return max(int(commit.stem) for commit in (lake / name / "_delta_log").glob("*.json"))
