"""How much quicker is an ingest than DuckDB, which writes but games and messages?

Its statements are the quickest found of several (`--variants` tries them): explicit columns,
so that no file is read to guess them; JSON where the games differ; the files read once.
"""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
from measure import MAGIC, Row, medians, parser, report, run

from data import SCRATCH, fresh_lake, logs

LIMIT = 5.0
JOBS = 2

COLUMNS = """{
    history: 'STRUCT(agent_name VARCHAR, content VARCHAR, turn BIGINT, "timestamp" VARCHAR,
        visible_to JSON, msg_type VARCHAR)[]',
    game_setting: 'JSON', player_backends: 'JSON', test_player_name: 'VARCHAR',
    chameleon: 'VARCHAR', undercover: 'VARCHAR', topic: 'VARCHAR', result: 'VARCHAR',
    win_flag: 'BIGINT', nego_turn: 'BIGINT', player_votes: 'JSON', player_vote: 'JSON',
    proposal: 'JSON', vote: 'JSON', scores: 'JSON', consistency_metric: 'JSON', pgm_metric: 'JSON'
}"""
READ = """
SELECT * FROM read_json(
    '{source}/**/*.json', columns = {columns}, format = '{format}', filename = true,
    maximum_object_size = {object_size}
) WHERE history IS NOT NULL
"""
GAMES = "SELECT * EXCLUDE (history) FROM {logs}"
MESSAGES = "SELECT filename, unnest(history, recursive := true) FROM {logs}"
COPY = "COPY ({select}) TO '{out}/{name}.parquet' (FORMAT parquet, COMPRESSION zstd)"

Variant = Callable[[duckdb.DuckDBPyConnection, str, Path], None]


def once(connection: duckdb.DuckDBPyConnection, read: str, out: Path) -> None:
    """The files read into a table, which both are copied from."""
    connection.execute(f"CREATE TEMP TABLE logs AS {read}")
    _copy(connection, "logs", out)


def twice(connection: duckdb.DuckDBPyConnection, read: str, out: Path) -> None:
    """The files read for each of the two, so that nothing is held."""
    _copy(connection, f"({read})", out)


def _copy(connection: duckdb.DuckDBPyConnection, logs: str, out: Path) -> None:
    for name, select in (("games", GAMES), ("messages", MESSAGES)):
        connection.execute(COPY.format(select=select.format(logs=logs), out=out, name=name))


VARIANTS: dict[str, tuple[Variant, str, int]] = {
    "once, auto": (once, "auto", 2**24),
    "once, unstructured": (once, "unstructured", 2**24),
    "once, small objects": (once, "unstructured", 2**20),
    "twice, unstructured": (twice, "unstructured", 2**20),
}
QUICKEST = "once, small objects"


def by_duckdb(source: Path, out: Path, variant: str) -> None:
    """Write the games and messages with DuckDB's statements."""
    write, form, object_size = VARIANTS[variant]
    read = READ.format(source=source, columns=COLUMNS, format=form, object_size=object_size)
    with duckdb.connect(config={"threads": JOBS, "preserve_insertion_order": False}) as connection:
        write(connection, read, out)


def main() -> int:
    """Measure an ingest against DuckDB's statements, and write the results."""
    options = parser(__doc__, games=100_000)
    options.add_argument("--variants", action="store_true", help="try all of DuckDB's variants")
    chosen = options.parse_args()
    source, lake, out = logs(chosen.games), fresh_lake(), SCRATCH / "by-duckdb"

    def clean() -> None:
        fresh_lake()
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()

    ingest = [*MAGIC, "ingest", str(source), "--lake", str(lake), "--jobs", str(JOBS)]
    tried = VARIANTS if chosen.variants else [QUICKEST]
    found = medians(
        {
            "ingest": lambda: run(ingest),
            **{name: lambda name=name: by_duckdb(source, out, name) for name in tried},
        },
        chosen.runs,
        before=clean,
    )
    rows = [
        Row(f"DuckDB, {name}", found[name], found["ingest"], LIMIT, at_least=True) for name in tried
    ]
    statement = READ.format(
        source="SOURCE",
        columns=COLUMNS,
        format=VARIANTS[QUICKEST][1],
        object_size=VARIANTS[QUICKEST][2],
    )
    notes = (
        f"The statements, with `SET threads = {JOBS}; SET preserve_insertion_order = false`:\n\n"
        f"```sql\nCREATE TEMP TABLE logs AS {statement.strip()};\n"
        + "".join(
            COPY.format(select=select.format(logs="logs"), out="OUT", name=name) + ";\n"
            for name, select in (("games", GAMES), ("messages", MESSAGES))
        )
        + "```"
    )
    baseline = f"magic ingest --jobs {JOBS} of the same folder, all tables"
    return report("against_duckdb", __doc__, baseline, rows, chosen.results, notes)


if __name__ == "__main__":
    sys.exit(main())
