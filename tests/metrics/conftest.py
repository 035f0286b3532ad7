"""Lakes that the tests of the metrics share: the public games, and the edge cases as one."""

import io
import tarfile
from pathlib import Path

import polars as pl
import pytest
import zstandard
from event_tables import lake_of, stacked
from random_tables import METRIC_TABLES

from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake


def members(archive: Path) -> list[tuple[str, bytes]]:
    """(path, bytes) of every file in a .tar.zst."""
    with archive.open("rb") as packed, zstandard.ZstdDecompressor().stream_reader(packed) as plain:
        content = io.BytesIO(plain.read())
    with tarfile.open(fileobj=content) as tar:
        return [(m.name, tar.extractfile(m).read()) for m in tar if m.isfile()]


@pytest.fixture(scope="session")
def public_logs(shared) -> list[tuple[str, bytes]]:
    return members(shared / "corpus" / "magic-public.tar.zst")


@pytest.fixture(scope="session")
def edge_logs(shared) -> list[tuple[str, bytes]]:
    return members(shared / "corpus" / "edge-cases.tar.zst")


@pytest.fixture(scope="session")
def edge_lake(shared, tmp_path_factory) -> StoredLake:
    """The edge cases, each with its models renamed to `case/model`.

    They are ingested once and told apart by the documents' paths: a game that is in several cases
    is a duplicate in the lake, and here a game of each. `--long` gives each case its own lake.
    """
    path = tmp_path_factory.mktemp("edge") / "lake"
    ingest(shared / "corpus" / "edge-cases.tar.zst", path)
    lake = open_lake(path)
    documents = lake.table("documents").filter(pl.col("game_id").is_not_null())
    case = pl.col("path").str.extract(r"^(\w+)/")
    of_case = documents.select("game_id", case=case).unique().collect()
    tables = {name: lake.table(name).collect() for name in METRIC_TABLES}
    worlds = {
        case: {name: rows.join(games, on="game_id", how="semi") for name, rows in tables.items()}
        for (case,), games in of_case.group_by("case")
    }
    return lake_of(tmp_path_factory.mktemp("edge-tables"), stacked(worlds))
