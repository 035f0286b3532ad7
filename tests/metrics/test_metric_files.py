"""The SQL files as they are, pasted into a plain DuckDB: every number of the known answers."""

import json
from pathlib import Path

import duckdb
import polars as pl
from event_tables import assert_same

from pipeline.events.contracts import GAME_TABLES
from pipeline.lake import StoredLake
from pipeline.vocabulary import AUDITED, PAPER, RELEASE

SQL = Path(__file__).resolve().parents[2] / "sql"
FOLDERS = {
    PAPER: SQL / "metrics",
    RELEASE: SQL / "metrics/release",
    AUDITED: SQL / "metrics/audited",
}
KEYS = ["edition", "metric", "model", "game_type"]
NUMBERS = {"value": pl.Float64, "hits": pl.Float64, "counted": pl.Int64}


def pasted(lake: StoredLake) -> pl.DataFrame:
    """What each file of a metric gives, with nothing of the package between it and DuckDB."""
    with duckdb.connect() as connection:
        for table in ("roles", *GAME_TABLES):
            if files := lake.table_files(table):
                connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet({files})")
        connection.execute("CREATE SCHEMA shared")
        names = ("release_parameters", "played", "answers", "read_decisions", "read_contributions")
        for name in names:
            connection.execute(_view(name))
        return pl.concat(
            connection.sql(file.read_text(encoding="utf-8"))
            .pl()
            .select(
                pl.lit(edition).alias("edition"),
                pl.lit(file.stem).alias("metric"),
                "model",
                "game_type",
                *(pl.col(name).cast(dtype) for name, dtype in NUMBERS.items()),
            )
            for edition, folder in FOLDERS.items()
            for file in sorted(folder.glob("*.sql"))
        )


def _view(name: str) -> str:
    return f"CREATE VIEW shared.{name} AS {(SQL / 'shared' / f'{name}.sql').read_text('utf-8')}"


def test_pasted_files_give_the_known_answers(shared, public_lake):
    found = pasted(public_lake)
    known = json.loads((shared / "corpus" / "answers.json").read_text(encoding="utf-8"))
    answers = pl.DataFrame(known, schema=dict.fromkeys(KEYS, pl.String) | NUMBERS)
    # Where the answers give no hits and counts, the files may.
    is_given = answers["counted"].is_not_null()
    counts = [pl.when(is_given).then(name).alias(name) for name in ("hits", "counted")]
    shown = answers.select(KEYS).join(found, on=KEYS, how="left", maintain_order="left")
    assert_same(shown.select(*KEYS, "value", *counts), answers)
