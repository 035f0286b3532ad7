"""Damage done to a lake on purpose: to its rows by a commit of its own, or to its files."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from rawlogs import chatarena, encode

from pipeline import __version__
from pipeline.events.contracts import table_schema
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.lake.files import DataFile, TableWriter
from pipeline.lake.tables import file_name_with_hash
from pipeline.lake.transaction import begin_transaction
from pipeline.simulate import simulate

Change = Callable[[pl.DataFrame], pl.DataFrame]


def make_lake(top: Path) -> Path:
    """A lake with every kind of row: replaced games, copies, documents and parts refused."""
    logs, lake = top / "logs", top / "lake"
    results = simulate(logs, models=2, games=2, seed=3).results
    faulty = json.loads(next(results.glob("undercover/*/0.json")).read_bytes())
    del faulty["consistency_metric"]
    (results / "faulty.json").write_bytes(encode(faulty))
    (results / "torn.json").write_bytes(b'{"history": [')
    (results / "talk.json").write_bytes(encode(chatarena()))
    ingest(results, lake, model="talker")
    first, second, *_ = sorted(results.glob("prisoner/*/0.json"))
    first.write_bytes(second.read_bytes().replace(b"sim-", b"other-"))
    shutil.copy(results / "faulty.json", results / "copy.json")
    ingest(results, lake, model="talker")
    return lake


def rewrite(lake: Path, table: str, change: Change) -> None:
    """Commits a table with its rows changed, as a tool that knows no contract could."""
    before = open_lake(lake)
    rows = before.table(table).collect()
    changed = change(rows).select(pl.col(n).cast(t) for n, t in table_schema(table).items())
    assert not changed.equals(rows), "the damage changes nothing"
    writer = TableWriter(lake / table, table)
    writer.write(changed)
    writer.close()
    commit_in_place(
        lake, table, [Path(file).name for file in before.table_files(table)], writer.files
    )


def commit_in_place(lake: Path, table: str, old: list[str], new: list[DataFile]) -> None:
    """Commits files in place of others, without documents."""
    counts = [name for name in table_schema("ingests") if name.startswith("n_")]
    with begin_transaction(lake) as commit:
        commit.replace_files(table, old, new)
        commit.commit(
            {
                "started_at": datetime.now(UTC),
                "sources": [],
                "tool_version": __version__,
                **dict.fromkeys(counts, 0),
            }
        )


def rewrite_ingests(lake: Path, change: Change) -> None:
    """Changes the rows of `ingests` where they are, behind the tool's back."""
    for log in (lake / "ingests" / "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for add in (line["add"] for line in lines if "add" in line):
            writer = TableWriter(lake / "ingests", "ingests")
            writer.write(change(pl.read_parquet(lake / "ingests" / add["path"])))
            writer.close()
            (file,) = writer.files
            add |= {"path": file.name, "size": file.n_bytes, "stats": file.stats}
        log.write_text("\n".join(map(json.dumps, lines)))


def replace_file(lake: Path, table: str, data: bytes, stats: str | None = None) -> None:
    """Commits other bytes in place of one of a table's files, as if they were its own.

    The log says of them what it says of that file, unless `stats` are given.
    """
    before = open_lake(lake)
    old = a_file(lake, table)
    draft = lake / table / "part-0.parquet"
    draft.write_bytes(data)
    name = file_name_with_hash(draft.name, draft)
    draft.rename(draft.with_name(name))
    n_rows = before.row_counts_by_file(table)[old.name]
    new = DataFile(name, len(data), n_rows, stats or logged_stats(lake, table, old.name))
    commit_in_place(lake, table, [old.name], [new])


def logged_stats(lake: Path, table: str, name: str) -> str:
    """What the table's log says of a file's rows, as JSON."""
    for log in (lake / table / "_delta_log").glob("*.json"):
        for line in map(json.loads, log.read_text().splitlines()):
            if line.get("add", {}).get("path") == name:
                return str(line["add"]["stats"])
    raise AssertionError(name)


def a_file(lake: Path, table: str) -> Path:
    """One of the table's files."""
    return Path(open_lake(lake).table_files(table)[0])


def log_of(lake: Path, table: str) -> Path:
    """The table's newest commit."""
    return max((lake / table / "_delta_log").glob("*.json"))


# What becomes of a table by damage to its files


def cut(lake: Path, table: str) -> None:
    file = a_file(lake, table)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def lose(lake: Path, table: str) -> None:
    a_file(lake, table).unlink()


def tear_log(lake: Path, table: str) -> None:
    log = log_of(lake, table)
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])


def lose_table(lake: Path, table: str) -> None:
    shutil.rmtree(lake / table)
