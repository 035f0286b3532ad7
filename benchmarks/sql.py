"""Does the fence around SQL cost speed?

DuckDB is shown a lake's files through a file system of ours that only reads. The baseline is DuckDB
on the same files by itself; both connect and make their views for each question.
"""

import sys
from collections.abc import Callable

import duckdb
from measure import Row, magic, medians, parser, report, run

import pipeline
from data import multiplied_lake
from pipeline.lake import StoredLake

LIMIT = 1.25
COMMAND_LIMIT = 1.5
IN_ONE = "import sys, pipeline; print(pipeline.open_lake(sys.argv[1]).sql(sys.argv[2]))"

QUESTIONS = {
    "a few columns": "SELECT model, count(*), avg(is_correct::INT) FROM votes GROUP BY model",
    "all columns": "SELECT max(hash(COLUMNS(*))) FROM games",
    "a join": """SELECT v.model, count(DISTINCT v.game_id)
        FROM votes AS v JOIN results AS r USING (game_id) WHERE r.is_win GROUP BY v.model""",
}


def by_itself(lake: StoredLake, query: str) -> None:
    """Run a query with DuckDB alone on the lake's files."""
    with duckdb.connect() as connection:
        for table in ("votes", "games", "results"):
            if table in query:
                files = f"read_parquet({lake.table_files(table)})"
                connection.execute(f"CREATE VIEW {table} AS SELECT * FROM {files}")
        connection.sql(query).to_arrow_table()


def main() -> int:
    """Measure queries in the sandbox against DuckDB alone, and write the results."""
    options = parser(__doc__, games=1_000_000).parse_args()
    lake = multiplied_lake(options.games)
    opened = pipeline.open_lake(lake.path)
    rows = []
    for name, query in QUESTIONS.items():
        cases: dict[str, Callable[[], object]] = {
            "by itself": lambda query=query: by_itself(lake, query),
            "fenced": lambda query=query: opened.sql(query),
        }
        found = medians(cases, options.runs)
        rows.append(Row(name, found["fenced"], found["by itself"], LIMIT))
    query = QUESTIONS["a few columns"]
    found = medians(
        {
            "in one process": lambda: run([sys.executable, "-c", IN_ONE, str(lake.path), query]),
            "magic sql": lambda: magic("sql", query, "--lake", lake.path),
        },
        options.runs,
    )
    case = "magic sql, of the same in one process"
    rows.append(Row(case, found["magic sql"], found["in one process"], COMMAND_LIMIT))
    return report("sql", __doc__, "DuckDB by itself on the same files", rows, options.results)


if __name__ == "__main__":
    sys.exit(main())
