"""Acceptance A7: on a lake at rest, other tools read the same rows as we do."""

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from lakes import tables

from pipeline.events.arrow import arrow_schema
from pipeline.events.contracts import TABLES, VERSION, row_description
from pipeline.lake import open_lake


def files(folder: Path) -> list[str]:
    """The Parquet files that Delta lists; others, replaced ones, may lie beside them."""
    return DeltaTable(folder).file_uris()


def by_duckdb(folder: Path) -> pl.DataFrame:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("given", DeltaTable(folder).to_pyarrow_dataset())
        return pl.DataFrame(connection.sql("FROM given").to_arrow_table())


READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    "polars, Delta": lambda folder: pl.read_delta(str(folder)),
    "polars, Parquet": lambda folder: pl.read_parquet(files(folder)),
    "duckdb, Delta": by_duckdb,
    "pyarrow, Delta": lambda folder: pl.DataFrame(DeltaTable(folder).to_pyarrow_table()),
    "pyarrow, Parquet": lambda folder: pl.DataFrame(
        pa.concat_tables(pq.read_table(file) for file in files(folder))
    ),
    "pyarrow, dataset": lambda folder: pl.DataFrame(ds.dataset(files(folder)).to_table()),
}


@pytest.fixture(scope="module")
def ours(used_lake: Path) -> dict[str, pl.DataFrame]:
    found = tables(used_lake)
    empty = [table for table, rows in found.items() if rows.is_empty()]
    assert empty == [], (
        f"no log has rows of {empty}: add one to `write_logs_of_others` in tests/lake/conftest.py"
    )
    return found


@pytest.fixture(scope="module")
def our_rows(ours: dict[str, pl.DataFrame]) -> dict[str, list[str]]:
    return {table: canonical(rows) for table, rows in ours.items()}


def canonical(rows: pl.DataFrame) -> list[str]:
    return sorted(map(repr, rows.rows()))


@pytest.mark.some(1)
@pytest.mark.parametrize("reader", READERS)
def test_every_table_reads_the_same_elsewhere(
    used_lake: Path,
    ours: dict[str, pl.DataFrame],
    our_rows: dict[str, list[str]],
    reader: str,
) -> None:
    for table in TABLES:
        theirs = READERS[reader](used_lake / table)
        assert theirs.columns == ours[table].columns, table
        assert theirs.schema == ours[table].schema, table
        assert canonical(theirs) == our_rows[table], table


DATASETS: dict[str, Callable[[Path], pl.DataFrame]] = {
    "polars": lambda folder: pl.scan_pyarrow_dataset(
        DeltaTable(folder).to_pyarrow_dataset()
    ).collect(),
    "duckdb": lambda folder: pl.DataFrame(
        duckdb.from_arrow(DeltaTable(folder).to_pyarrow_dataset()).to_arrow_table()
    ),
}


@pytest.mark.parametrize("reader", DATASETS)
def test_a_dataset_reads_any_path_and_empty_tables(
    used_lake: Path, empty_lake: Path, ours: dict[str, pl.DataFrame], reader: str, tmp_path: Path
) -> None:
    """As docs/lake.md has it. Polars and DuckDB would not find the addresses that Delta gives."""
    place = shutil.copytree(used_lake, tmp_path / 'a b é#{1}"')
    assert "%20" in files(place / "votes")[0]
    for table in ("votes", "messages"):
        theirs = DATASETS[reader](place / table).select(ours[table].columns)
        assert canonical(theirs.cast(ours[table].schema)) == canonical(ours[table])
        assert DATASETS[reader](Path(str(empty_lake)) / table).height == 0


@pytest.mark.some(8)
@pytest.mark.parametrize("table", TABLES)
def test_a_table_says_what_it_is(used_lake: Path, table: str) -> None:
    delta = DeltaTable(used_lake / table)
    metadata = delta.metadata()
    assert metadata.name == table
    assert metadata.description == row_description(table)
    assert metadata.configuration["magic.contractVersion"] == str(VERSION)
    declared = {field.name: field for field in arrow_schema(table)}
    assert [field.name for field in delta.schema().fields] == list(declared)
    for field in delta.schema().fields:
        assert field.metadata["comment"], (table, field.name)
        assert field.nullable is declared[field.name].nullable, (table, field.name)


def test_delta_skips_files_by_their_statistics(used_lake: Path) -> None:
    """A question about one game finds that game, whichever files it opens."""
    games = open_lake(used_lake).table("games").collect()
    for game_id in games["game_id"]:
        found = pl.scan_delta(str(used_lake / "messages")).filter(pl.col("game_id") == game_id)
        (n_messages,) = games.filter(pl.col("game_id") == game_id)["n_messages"]
        assert found.collect().height == n_messages
