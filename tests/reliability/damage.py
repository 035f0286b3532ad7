"""Damage done to a lake on purpose: to its rows by a commit of its own, or to its files."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from deltalake import DeltaTable
from rawlogs import chatarena, encode

from pipeline import __version__
from pipeline.events.contracts import VERSION, polars_schema
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.lake.files import TableWriter
from pipeline.lake.lake import VERSION_KEY
from pipeline.lake.schema import arrow_schema
from pipeline.lake.transaction import transaction
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
    changed = change(rows).select(pl.col(n).cast(t) for n, t in polars_schema(table).items())
    assert not changed.equals(rows), "the damage changes nothing"
    writer = TableWriter(lake / table, table)
    writer.write(changed)
    writer.close()
    old = [Path(file).name for file in before.files(table)]
    counts = [name for name in polars_schema("ingests") if name.startswith("n_")]
    with transaction(lake) as commit:
        commit.replace(table, old, writer.files)
        commit.commit(
            {
                "started_at": datetime.now(UTC),
                "sources": [],
                "tool_version": __version__,
                **dict.fromkeys(counts, 0),
            }
        )


def rewrite_ingests(lake: Path, change: Change) -> None:
    """Writes the rows of `ingests` anew, changed, behind the tool's back."""
    opened = open_lake(lake)
    rows = opened.table("ingests").collect()
    shutil.rmtree(lake / "ingests")
    delta = DeltaTable.create(
        str(lake / "ingests"),
        schema=arrow_schema("ingests"),
        configuration={VERSION_KEY: str(VERSION)},
        raise_if_key_not_exists=False,
    )
    writer = TableWriter(lake / "ingests", "ingests")
    writer.write(change(rows))
    writer.close()
    actions = [file.add_action() for file in writer.files]
    delta.create_write_transaction(actions, mode="append", schema=arrow_schema("ingests"))


def a_file(lake: Path, table: str) -> Path:
    """One of the table's files."""
    return Path(open_lake(lake).files(table)[0])


def log_of(lake: Path, table: str) -> Path:
    """The table's newest commit."""
    return max((lake / table / "_delta_log").glob("*.json"))
