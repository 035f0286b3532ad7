"""Simulated data for the benchmarks, made once and kept in a scratch folder.

The folder is `$MAGIC_BENCH`, by default `benchmarks/data`; it can be deleted at any time.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from measure import HERE, magic

from pipeline import __version__
from pipeline.events.contracts import GAME_TABLES, table_schema
from pipeline.ingest import write_roles
from pipeline.lake import StoredLake, open_lake, open_or_create_lake
from pipeline.lake.files import TableWriter
from pipeline.lake.transaction import begin_transaction
from pipeline.simulate.point_games import COMPETITIONS

SCRATCH = Path(os.environ.get("MAGIC_BENCH", HERE / "data")).resolve()
MODELS = 10
BASE_GAMES = 20_000
ROW_GROUP = 500_000


def made(name: str, make: Callable[[Path], object]) -> Path:
    """Return the path of an entry of the scratch folder; make it if it does not exist."""
    path = SCRATCH / name
    if not path.exists():
        SCRATCH.mkdir(parents=True, exist_ok=True)
        unfinished = SCRATCH / f"{name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        make(unfinished)
        unfinished.rename(path)
    return path


def logs(games: int, archive: str | None = None, models: int = MODELS) -> Path:
    """Return a folder with the logs of at least `games` games, or an archive of the same games."""
    each = -(-games // (models * len(COMPETITIONS)))
    kind = ("--archive", archive) if archive else ()

    def make(path: Path) -> None:
        magic("simulate", "--models", models, "--games", each, "--seed", 1, "--out", path, *kind)

    folder = made(f"logs-{games}{_of(models)}{'-' + archive if archive else ''}", make)
    return next(path for path in folder.iterdir() if path.name != "truth.json")


def _of(models: int) -> str:
    return "" if models == MODELS else f"-of-{models}"


def fresh_lake() -> Path:
    """Delete the lake at a path of the scratch folder, and return the path."""
    path = SCRATCH / "fresh-lake"
    shutil.rmtree(path, ignore_errors=True)
    return path


def multiplied_lake(games: int, models: int = MODELS, *, messages: bool = False) -> StoredLake:
    """Return a lake of about `games` games: simulated games, copied under new ids.

    It lies as a lake does that is well kept: large files, the rows by game type and model. It has
    no messages unless they are asked for.
    """
    base = min(games, BASE_GAMES)

    def make(path: Path) -> None:
        _multiply(_lake(base, models), games // base, path, messages=messages)

    kind = "lake-with-messages" if messages else "lake"
    return open_lake(made(f"{kind}-{games}{_of(models)}", make))


def _lake(games: int, models: int) -> StoredLake:
    source = logs(games, models=models)

    def make(path: Path) -> None:
        magic("ingest", source, "--lake", path)

    return open_lake(made(f"lake-of-logs-{games}{_of(models)}", make))


def _multiply(base: StoredLake, times: int, path: Path, *, messages: bool) -> None:
    lake = open_or_create_lake(path)
    with begin_transaction(lake.path) as change:
        for table in GAME_TABLES:
            if table == "messages" and not messages:
                continue
            writer = TableWriter(lake.table_folder(table), table)
            for rows in _copies(base.table(table), times):
                writer.write(rows)
            writer.close()
            change.add_files(table, writer.files)
        write_roles(change, pl.Series(base.game_types))
        change.commit(_ingest())


def _copies(table: pl.LazyFrame, times: int) -> Iterator[pl.DataFrame]:
    """Yield `times` copies of the table's rows under new game ids, one row group at a time.

    These have contents of their own: of equal ones, each but the first would be a repeat.
    """
    order = [c for c in ("game_type", "model") if c in table.collect_schema().names()]
    rows = table.sort(*order, "game_id", maintain_order=True).collect()
    # A copy's ids begin with its own number, mixed, and go on as the game's own, 96 random bits.
    copies = pl.DataFrame({"copy": [f"{n * 2_654_435_761 % 2**32:08x}" for n in range(times)]})
    others = [
        (pl.col("copy") + pl.col(name).str.slice(8)).alias(name)
        for name in ("game_id", "content_id")
        if name in rows.columns
    ]
    # A game's rows stay together, as where a lake was written game by game.
    first = pl.col("place").first().over(*order, "game_id")
    parts = rows.with_row_index("place").with_columns(place=first // max(1, ROW_GROUP // times))
    for part in parts.partition_by("place", maintain_order=True, include_key=False):
        again = copies.join(part, how="cross", maintain_order="left_right")
        yield again.with_columns(others).drop("copy")


def _ingest() -> dict[str, object]:
    """Return the row of `ingests`, without the columns that the transaction adds."""
    counts = {name: 0 for name in table_schema("ingests") if name.startswith("n_")}
    result = {"sources": [], "started_at": datetime.now(UTC), "tool_version": __version__}
    return counts | result
