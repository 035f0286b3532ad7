"""What SQL can do to a lake and to the machine around it: read the lake, and nothing else."""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest

import pipeline
from pipeline.api import Lake
from pipeline.errors import PipelineError, QueryError
from pipeline.query_processes import QueryProcesses
from pipeline.warehouse import connect, run_query
from pipeline.warehouse.statements import extract_single_read_statement, format_duckdb_error

TOP = Path(__file__).resolve().parents[2]
SECRET = "a-secret-of-this-machine"
PLENTY = 2**30
FOREVER = "SELECT max(hash(range)) FROM range(1000000000000)"

# `{secret}` is a file outside of the lake, `{out}` a folder outside, `{file}` a file of the lake as
# DuckDB is shown it, and `{path}` the same file's place on disk.
ATTEMPTS = {
    # Reading what is not the lake's.
    "read_csv": "SELECT * FROM read_csv('{secret}')",
    "read_csv of the system": "SELECT * FROM read_csv('/etc/passwd')",
    "read_csv of two": "SELECT * FROM read_csv(['{file}', '{secret}'])",
    "read_text": "SELECT * FROM read_text('{secret}')",
    "read_blob": "SELECT * FROM read_blob('{secret}')",
    "read_json": "SELECT * FROM read_json('{secret}')",
    "read_ndjson_objects": "SELECT * FROM read_ndjson_objects('{secret}')",
    "read_parquet": "SELECT * FROM read_parquet('{path}')",
    "read_parquet by pattern": "SELECT * FROM read_parquet('{out}/**')",
    "read_duckdb": "SELECT * FROM read_duckdb('{secret}')",
    "parquet_metadata": "SELECT * FROM parquet_metadata('{path}')",
    "parquet_schema": "SELECT * FROM parquet_schema('{path}')",
    "parquet_kv_metadata": "SELECT * FROM parquet_kv_metadata('{path}')",
    "sniff_csv": "SELECT * FROM sniff_csv('{secret}')",
    "glob": "SELECT * FROM glob('{out}/*')",
    "file by its name": "FROM '{secret}'",
    "file by a URL": "SELECT * FROM read_text('file://{secret}')",
    "environment": "SELECT * FROM read_text('/proc/self/environ')",
    "getenv": "SELECT getenv('HOME')",
    "http": "SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')",
    "s3": "SELECT * FROM read_parquet('s3://bucket/x.parquet')",
    "path out of the lake": "SELECT * FROM read_text('lake://votes/../../../secret.csv')",
    "absolute path below the scheme": "SELECT * FROM read_text('lake://{secret}')",
    "lock and log of the lake": "SELECT * FROM read_text('lake://.lock')",
    "Delta log": "SELECT * FROM read_text('lake://votes/_delta_log/00000000000000000000.json')",
    "glob of the lake": "SELECT * FROM glob('lake://**')",
    "pattern over the lake": "SELECT * FROM read_parquet('lake://*/*.parquet')",
    "text in a query": "SELECT * FROM query('SELECT * FROM read_text(''{secret}'')')",
    "name in query_table": "SELECT * FROM query_table('{secret}')",
    "subquery": "SELECT (SELECT content FROM read_text('{secret}')) FROM games",
    "variable of Python": "SELECT * FROM SECRET",
    "store of Python objects": "FROM read_csv('DUCKDB_INTERNAL_OBJECTSTORE://x')",
    "pg_read_file": "SELECT * FROM pg_read_file('{secret}')",
    "extension that reads": "SELECT * FROM sqlite_scan('{secret}', 'x')",
    "extensions on disk": "SELECT * FROM duckdb_extensions()",
    # Writing.
    "COPY TO": "COPY (SELECT 1) TO '{out}/x.csv'",
    "COPY over a file of the lake": "COPY (SELECT 1) TO '{file}' (FORMAT parquet)",
    "COPY over its place": "COPY (SELECT 1) TO '{path}' (FORMAT parquet)",
    "COPY TO with partitions": "COPY games TO 'lake://votes' (PARTITION_BY model, OVERWRITE)",
    "COPY FROM": "COPY votes FROM '{secret}'",
    "COPY inside WITH": "WITH x AS (COPY (SELECT 1 AS a) TO '{file}') SELECT * FROM x",
    "COPY inside WITH, outside": "WITH x AS (COPY (SELECT 1 AS a) TO '{out}/x') SELECT * FROM x",
    "COPY inside WITH, disguised": "WITH x AS (/* */ cOpY (SELECT 1) TO '{file}') FROM x",
    "COPY inside WITH of a PIVOT": (
        "WITH x AS (COPY (SELECT 1 AS a) TO '{file}') PIVOT votes ON model USING count(*)"
    ),
    "COPY of a PIVOT": "COPY (FROM (PIVOT votes ON model USING count(*))) TO '{out}/x'",
    "COPY in a query's text": (
        "SELECT * FROM query('WITH x AS (COPY (SELECT 1) TO ''{file}'') FROM x')"
    ),
    "EXPLAIN ANALYZE COPY": "EXPLAIN ANALYZE COPY (SELECT 1) TO '{file}'",
    "EXPLAIN (ANALYZE) COPY": "EXPLAIN (ANALYZE, FORMAT json) COPY (SELECT 1) TO '{out}/x'",
    "EXPLAIN ANALYZE COPY inside WITH": (
        "EXPLAIN ANALYZE WITH x AS (COPY (SELECT 1) TO '{file}') FROM x"
    ),
    "EXPLAIN of a comment and COPY": "EXPLAIN ANALYZE /* SELECT */ COPY (SELECT 1) TO '{file}'",
    "json_execute_serialized_sql": (
        "SELECT * FROM json_execute_serialized_sql(json_serialize_sql("
        "'WITH x AS (COPY (SELECT 1 AS a) TO ''{file}'') SELECT * FROM x'))"
    ),
    "json_execute_serialized_sql, quoted": (
        "SELECT * FROM \"json_execute_serialized_sql\"(json_serialize_sql('SELECT 1'))"
    ),
    "json_execute_serialized_sql in a query's text": (
        "FROM query('FROM json_execute_serialized_sql(json_serialize_sql(''SELECT 1''))')"
    ),
    "json_execute_serialized_sql in a composed text": (
        "FROM query('FROM json_execute_'||'serialized_sql(json_serialize_sql(''SELECT 1''))')"
    ),
    "json_execute_serialized_sql as a pragma": (
        "PRAGMA json_execute_serialized_sql(json_serialize_sql('SELECT 1'))"
    ),
    "INSERT": "INSERT INTO votes SELECT * FROM votes",
    "INSERT inside WITH": "WITH x AS (INSERT INTO votes FROM votes RETURNING *) FROM x",
    "DELETE": "DELETE FROM votes",
    "DELETE inside WITH": "WITH x AS (DELETE FROM votes RETURNING *) FROM x",
    "UPDATE": "UPDATE votes SET model = 'me'",
    "MERGE": "MERGE INTO votes USING games ON TRUE WHEN MATCHED THEN DELETE",
    "TRUNCATE": "TRUNCATE votes",
    "DROP": "DROP VIEW votes",
    "CREATE TABLE": "CREATE TABLE x AS SELECT 1",
    "CREATE TABLE AS PIVOT": "CREATE TABLE x AS PIVOT votes ON model USING count(*)",
    "CREATE VIEW": "CREATE OR REPLACE VIEW votes AS SELECT 1",
    "CREATE MACRO": "CREATE MACRO f(x) AS x",
    "COMMENT": "COMMENT ON VIEW votes IS 'x'",
    "EXPORT": "EXPORT DATABASE '{out}/x'",
    "IMPORT": "IMPORT DATABASE '{out}'",
    "ATTACH": "ATTACH '{out}/x.db'",
    "ATTACH below the scheme": "ATTACH 'lake://votes/x.db'",
    "ATTACH in memory": "ATTACH ':memory:' AS x",
    "COPY FROM DATABASE": "COPY FROM DATABASE memory TO x",
    "VACUUM": "VACUUM",
    "CHECKPOINT": "CHECKPOINT",
    # Getting around what keeps it so.
    "INSTALL": "INSTALL httpfs",
    "INSTALL from a path": "INSTALL '{out}/x.duckdb_extension'",
    "LOAD": "LOAD httpfs",
    "SET": "SET enable_external_access = true",
    "SET allowed_directories": "SET allowed_directories = ['/']",
    "SET temp_directory": "SET temp_directory = '{out}'",
    "SET file_search_path": "SET file_search_path = '{out}'",
    "RESET": "RESET lock_configuration",
    "PRAGMA": "PRAGMA database_list",
    "PRAGMA with a value": "PRAGMA temp_directory='{out}'",
    "enable_logging": (
        "SELECT * FROM enable_logging('QueryLog', storage := 'file', storage_path := '{out}')"
    ),
    "enable_profiling": "SELECT * FROM enable_profiling(save_location := '{out}/x')",
    "CREATE SECRET": "CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'x', SECRET 'y')",
    "PREPARE": "PREPARE x AS COPY (SELECT 1) TO '{out}/x'",
    "EXECUTE": "EXECUTE x",
    "CALL": "CALL enable_logging()",
    "USE": "USE memory",
    "BEGIN": "BEGIN",
    "UPDATE EXTENSIONS": "UPDATE EXTENSIONS",
    "UPDATE EXTENSIONS by name": "UPDATE EXTENSIONS (httpfs)",
    "CONNECT": "CONNECT '{out}/x.db'",
    "DISCONNECT": "DISCONNECT",
    "SET VARIABLE": "SET VARIABLE x = 1",
    "two statements": "SELECT 1; COPY (SELECT 1) TO '{out}/x'",
    "statement behind a comment": "SELECT 1 --\n; DROP VIEW votes",
}


class Place(NamedTuple):
    """A lake, with a folder beside it that is none of its business."""

    lake: Path
    outside: Path

    def filled(self, sql: str) -> str:
        file = next((self.lake / "votes").glob("*.parquet"))
        return sql.format(
            secret=self.outside / "secret.csv",
            out=self.outside,
            file=f"lake://votes/{file.name}",
            path=file,
        )

    def state(self) -> dict[str, tuple[int, int, int]]:
        """Which file each is, how long, and when it was written."""
        stats = {str(path): path.stat() for folder in self for path in folder.rglob("*")}
        return {path: (of.st_ino, of.st_size, of.st_mtime_ns) for path, of in stats.items()}


@pytest.fixture(scope="module")
def place(sample_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    top = tmp_path_factory.mktemp("sql")
    found = Place(top / "lake", top / "outside")
    found.outside.mkdir()
    (found.outside / "secret.csv").write_text(f"what\n{SECRET}\n")
    shutil.copytree(sample_lake, found.lake)
    before = hashes(found)
    yield found
    assert hashes(found) == before


def hashes(place: Place) -> dict[Path, str]:
    """The hash of every file, which is looked at once: after each attempt, its time is."""
    files = (path for folder in place for path in folder.rglob("*") if path.is_file())
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def lake(place: Place) -> Lake:
    return pipeline.open_lake(place.lake)


@pytest.fixture
def unchanged(place: Place) -> Iterator[None]:
    """Checks that no file of the lake or beside it was changed, made or taken away."""
    before = place.state()
    yield
    assert place.state() == before


def assert_is_one_clear_line(text: str, place: Place) -> None:
    """Beside the line of the query, with a mark below."""
    assert text
    assert re.fullmatch(r"[^\n]+(\nLINE \d+: [^\n]+\n *\^+)?", text)
    assert len(text.splitlines()[0]) < 400
    # What was asked may be told back; where things are on this machine may not.
    for trace in ("Traceback", str(place.lake), "site-packages", str(TOP), str(Path.home()) + "/"):
        assert trace not in text


class Held:
    """A connection as `Lake.sql` makes it: one for many attempts, since each takes long to make."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.renew()

    def renew(self) -> None:
        self.connection = connect(self.lake, {}, "FROM votes, games, ingests")


@pytest.fixture(scope="module")
def held(lake: Lake) -> Iterator[Held]:
    found = Held(lake)
    yield found
    found.connection.close()


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_attempt_is_refused(held: Held, place: Place, attempt: str) -> None:
    """And without our look at the statement, the connection holds by itself: what it gets is never
    of the outside."""
    asked = place.filled(ATTEMPTS[attempt])
    with pytest.raises(QueryError) as refusal:
        run_query(held.connection, asked)
    assert_is_one_clear_line(str(refusal.value), place)
    said, *_ = str(refusal.value).splitlines()  # what follows is the query's own line
    assert str(place.outside) not in said
    try:
        rows = held.connection.execute(asked).fetchall()
    except duckdb.Error:
        return
    held.connection.close()
    held.renew()  # what was let through may have changed it
    assert SECRET not in str(rows)
    assert str(place.lake.parent) not in str(rows)


def test_every_kind_of_statement_is_read_or_refused(lake: Lake) -> None:
    """Also those that DuckDB parses and its Python has no name for: every keyword is tried."""
    rests = (
        "",
        " x",
        " 1",
        " 'x'",
        " votes",
        " EXTENSIONS",
        " TABLE x",
        " x AS SELECT 1",
        " x = 1",
    )
    with connect(lake, {}, "FROM votes") as connection:
        words = connection.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()
        for (word,) in words:
            for asked in (f"{first}{word}{rest}" for first in ("", "EXPLAIN ") for rest in rests):
                with suppress(QueryError, duckdb.Error):
                    extract_single_read_statement(connection, asked)
    assert len(words) > 100


def test_a_query_that_is_no_text_is_refused(lake: Lake) -> None:
    """As a terminal passes on bytes that are not UTF-8."""
    with pytest.raises(QueryError, match="not valid UTF-8"):
        lake.sql("SELECT '\udcff'")


@pytest.fixture(scope="module")
def everything(lake: Lake) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection with every table and view, which take seconds to make."""
    with lake.connect() as connection:
        yield connection


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM duckdb_databases()",
        "SELECT * FROM duckdb_secrets()",
        "SELECT * FROM duckdb_logs()",
        "SELECT * FROM duckdb_views()",
        "SELECT * FROM duckdb_temporary_files()",
        "SELECT * FROM glob('{file}'), votes",
        "SELECT filename FROM read_parquet('{file}', filename = true), votes",
        "EXPLAIN ANALYZE SELECT * FROM votes",
    ],
)
def test_nothing_tells_where_things_are(
    everything: duckdb.DuckDBPyConnection, place: Place, asked: str
) -> None:
    result = str(run_query(everything, place.filled(asked)).to_dicts())
    for path in (place.lake, TOP, Path.home(), Path.cwd(), Path(duckdb.__file__).parent):
        assert f"{path}/" not in result
        assert f"{path}'" not in result


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        "SELECT count(*) FROM votes",
        "FROM votes LIMIT 1",
        "(SELECT 1) UNION (SELECT 2)",
        "WITH x AS (SELECT 1) FROM x",
        "VALUES (1)",
        "TABLE votes",
        "DESCRIBE votes",
        "SHOW TABLES",
        "SUMMARIZE votes",
        "PIVOT votes ON model USING count(*)",
        "FROM (PIVOT votes ON parse_status USING count(*))",
        "UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b",
        "EXPLAIN SELECT 1",
        "explain (analyze, format json) FROM votes",
        "EXPLAIN ANALYZE PIVOT votes ON model USING count(*)",
        "-- what for\nSELECT 1; -- that for",
        "SELECT 'copy' AS \"copy\", '(copy x)' -- (copy x)",
        "SELECT count(*) AS delete FROM guesses",
    ],
)
def test_reading_is_let_through(everything: duckdb.DuckDBPyConnection, asked: str) -> None:
    assert run_query(everything, asked).width


@pytest.mark.slow
def test_query_of_a_connection_is_held_to_reading(everything: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(QueryError, match="can only read"):
        run_query(everything, "CREATE TABLE x AS SELECT 1")
    with pytest.raises(QueryError, match="run `SHOW TABLES` to list the views too"):
        run_query(everything, "FROM information_schema.weather")


@pytest.mark.some(6)
@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("SELECT * FROM vote", "no table or view `vote`: did you mean `votes`?"),
        ("FROM main.Vote", "no table or view `Vote`: did you mean `votes`?"),
        ("FROM other.votes", "no table or view `other.votes`: did you mean `votes`?"),
        ("FROM jugdement", "did you mean `judgement`?"),
        ("PIVOT gaems ON model USING count(*)", "did you mean `games`?"),
        ("FROM weather", "no table or view `weather`: the tables are documents, archives, "),
        ("SELECT sqart(2)", 'Did you mean "sqrt"?'),
        ("SELECT 1::inttt", 'Did you mean "int"?'),
        ("FROM read_cvs('x')", "read_cvs does not exist!"),
        ("FROM duckdb_tabls()", "duckdb_tabls does not exist!"),
        ("SELECT pg_typof(1)", "pg_typof does not exist!"),
        ("SELECT modl FROM votes", "no column `modl`: did you mean `model`?\nLINE 1: "),
        ("SELECT MODL FROM votes", "no column `MODL`: did you mean `model`?"),
        ("SELECT v.modl FROM votes v", "no column `modl`: did you mean `model`?"),
        ("SELECT * EXCLUDE (modl) FROM main.votes", "no column `modl`: did you mean `model`?"),
        ("FROM votes JOIN games USING (gameid)", "no column `gameid`: did you mean `game_id`?"),
        ("FROM evidence.judgement WHERE hitt", "no column `hitt`: did you mean `hit`?"),
        ("FROM (SELECT 1 AS alpha) WHERE alhpa = 1", "did you mean `alpha`?"),
        # `value` is a column of the view `judgement`, and of none that is read.
        ("SELECT valeu FROM evidence.judgement", "no column `valeu`"),
        # Nor is `setting_id` one of a table that is read.
        ("SELECT setting_idd FROM ingests -- FROM games", "did you mean `ingest_id`?"),
        ("SELECT quux FROM votes", "no column `quux`"),
    ],
)
def test_a_wrong_name_is_told_with_what_there_is(lake: Lake, asked: str, hint: str) -> None:
    """And never with what is DuckDB's own, or closed to queries."""
    with pytest.raises(QueryError) as refusal:
        lake.sql(asked)
    assert hint in str(refusal.value)
    meant = re.findall(r'[Dd]id you mean ["`](\w+)', str(refusal.value))
    assert not any(name.startswith(("pg_", "read_", "duckdb_", "sqlite_")) for name in meant)


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("asked", "options", "arguments"),
    [
        ("SELECT role, value FROM metrics", "", ""),
        ("SELECT m.role FROM metrics m", "", ""),
        ("FROM leaderboard WHERE ROLE = 'chameleon'", "", ""),
        ("SELECT role FROM judgement", "--metric judgement ", 'metric="judgement", '),
        ("SELECT role FROM terms.metrics", "", ""),
        ("SELECT role FROM audited.metrics", "--edition audited ", 'edition="audited", '),
    ],
)
def test_values_by_another_column_are_elsewhere(
    lake: Lake, asked: str, options: str, arguments: str
) -> None:
    with pytest.raises(QueryError) as refusal:
        lake.sql(asked)
    assert f"run `magic metrics {options}--by model,role` (in" in str(refusal.value)
    assert f'`lake.metrics({arguments}by=["model", "role"])`' in str(refusal.value)


@pytest.mark.parametrize(
    "asked",
    ["SELECT role FROM release.judgement", "SELECT topic FROM votes", "SELECT x FROM metrics"],
)
def test_values_by_what_nobody_can_group_by_are_nowhere(lake: Lake, asked: str) -> None:
    with pytest.raises(QueryError, match="no column"):
        lake.sql(asked)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("finished_at - started_at", "INTERVAL"),
        ("[INTERVAL 1 DAY]", "INTERVAL"),
        ("{'a': MAP {'b': [INTERVAL 1 DAY]}}", "INTERVAL"),
        ("[INTERVAL 1 DAY]::INTERVAL[1]", "INTERVAL"),
        ("row(1, INTERVAL 1 DAY)", "INTERVAL"),
        ("union_value(a := 1)", "UNION"),
        ("1::BIGNUM", "BIGNUM"),
        ("'101'::BIT", "BIT"),
        ("TIMETZ '10:00:00+01'", "TIME WITH TIME ZONE"),
    ],
)
def test_what_polars_has_no_type_for_is_to_be_cast(held: Held, value: str, kind: str) -> None:
    with pytest.raises(QueryError) as refusal:
        run_query(held.connection, f"SELECT 1 AS a, {value} AS b FROM ingests")
    assert str(refusal.value) == (
        f"the column `b` has the type {kind}, which cannot be displayed: cast "
        "it, for example `CAST(.. AS VARCHAR)`"
    )
    assert run_query(held.connection, f"SELECT CAST({value} AS VARCHAR) AS b FROM ingests").height


@pytest.mark.parametrize(
    "value",
    [
        "DATE '20000-01-01'",
        "DATE '-100-01-01'",
        "[NULL, DATE '20000-01-01']",
        "[[DATE '20000-01-01']]",
        "TIMESTAMP '20000-01-01 00:00:00'",
        "TIMESTAMPTZ '20000-01-01 00:00:00+00'",
        "TIMESTAMP 'infinity'",
        "DATE '-infinity'",
    ],
)
def test_a_date_that_python_does_not_have_is_to_be_cast(held: Held, value: str) -> None:
    with pytest.raises(QueryError, match="`b` has a date outside of the years 1 to 9999"):
        run_query(held.connection, f"SELECT 1 AS a, {value} AS b FROM ingests")
    assert run_query(held.connection, f"SELECT CAST({value} AS VARCHAR) AS b FROM ingests").height
    near = "SELECT DATE '0001-01-01' AS a, TIMESTAMP '9999-12-31 23:59:59.999999' AS b"
    assert [one.year for one in run_query(held.connection, near).row(0)] == [1, 9999]


@pytest.mark.parametrize("asked", ["", " \n", ";", "-- FROM games", "/* FROM games */;"])
def test_nothing_is_no_query(held: Held, asked: str) -> None:
    with pytest.raises(QueryError, match=r"^the query is empty; give one"):
        run_query(held.connection, asked)


def test_an_open_lake_tells_which_it_is(place: Place, lake: Lake) -> None:
    assert repr(lake) == f"<Lake {place.lake} after ingest {lake.ingest_id}>"


def test_columns_of_one_name_are_numbered(lake: Lake) -> None:
    both = "votes AS v JOIN players AS p ON v.game_id = p.game_id AND v.seat = p.seat"
    rows = lake.sql(f"SELECT v.seat, p.seat, p.player, v.* FROM {both} ORDER BY ALL DESC")
    assert rows.columns[:5] == ["seat", "seat_1", "player", "game_id", "game_type"]
    assert len(set(rows.columns)) == len(rows.columns)
    assert rows["seat"].equals(rows["seat_1"], null_equal=True)
    assert rows["seat"].is_sorted(descending=True)


def test_every_table_is_read_as_it_is(lake: Lake) -> None:
    """Also those without a row."""
    for table in ("votes", "games", "messages", "quarantine", "ingests"):
        rows = lake.sql(f"FROM {table}")
        assert rows.equals(lake.table(table).collect().select(rows.columns))


@pytest.mark.slow
def test_threads_read_side_by_side(everything: duckdb.DuckDBPyConnection) -> None:
    """120 queries at once over the same open files."""
    asked = "SELECT sum(hash(COLUMNS(*))::HUGEINT)::VARCHAR FROM messages"
    with ThreadPoolExecutor(8) as pool:
        cursors = [everything.cursor() for _ in range(120)]
        found = list(pool.map(lambda cursor: cursor.execute(asked).fetchall(), cursors))
    assert len(set(map(str, found))) == 1


@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_a_damaged_file_is_one_line(place: Place, tmp_path: Path, damage: str) -> None:
    damaged = Place(tmp_path / "lake", place.outside)
    shutil.copytree(place.lake, damaged.lake)
    opened = pipeline.open_lake(damaged.lake)
    file = next((damaged.lake / "votes").glob("*.parquet"))
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(PipelineError, match=r"the table `votes` .*part-[^ ]*\.parquet") as refusal:
        opened.sql("SELECT * FROM votes")
    assert_is_one_clear_line(str(refusal.value), damaged)


# --- a process of its own -----------------------------------------------------------------------


def test_a_sandbox_answers_as_the_lake_does(place: Place, lake: Lake) -> None:
    asked = """SELECT *, [1, 2] AS l, {'a': 0.5} AS s, 'a'::ENUM('a', 'b') AS e,
        1.5::DECIMAL(4, 2) AS d, '\\xFF'::BLOB AS b, DATE '2024-05-06' AS t FROM games"""
    with QueryProcesses(timeout=60, memory=PLENTY) as sandbox:
        assert sandbox.run_query(str(place.lake), asked).equals(lake.sql(asked))
        assert sandbox.run_query(str(place.lake), "SELECT 1 WHERE FALSE").height == 0


@pytest.mark.slow
def test_a_query_is_ended_at_its_time(place: Place) -> None:
    began = time.monotonic()
    with (
        QueryProcesses(timeout=2, memory=PLENTY) as sandbox,
        pytest.raises(QueryError, match="longer than 2 seconds"),
    ):
        sandbox.run_query(str(place.lake), FOREVER)
    result = subprocess.check_output(["ps", "--ppid", str(os.getpid()), "-o", "args="], text=True)
    assert "pipeline.query_processes" not in result
    assert time.monotonic() - began < 60


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs limits of address space")
@pytest.mark.parametrize("asked", ["SELECT repeat('x', 4000000000)", "FROM range(1000000000)"])
@pytest.mark.slow
def test_a_query_is_ended_at_its_memory(place: Place, asked: str) -> None:
    with (
        QueryProcesses(timeout=60, memory=2**28) as sandbox,
        pytest.raises(QueryError, match="memory") as refusal,
    ):
        sandbox.run_query(str(place.lake), asked)
    assert_is_one_clear_line(str(refusal.value), place)


def test_a_query_without_memory_is_told_of_the_command_that_gives_more() -> None:
    """Which a page has no option for."""
    assert "`magic sql --memory`" in format_duckdb_error(
        duckdb.OutOfMemoryException("failed to pin")
    )


def asking(place: Place, sql: str, cwd: Path = TOP) -> subprocess.Popen[str]:
    """The command in a process group of its own, as a shell starts it."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "pipeline", "sql", sql, "--lake", str(place.lake)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(TOP)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def in_group(group: int) -> list[str]:
    """The commands of a process group, but for those that have ended."""
    result = subprocess.check_output(["ps", "-eo", "pgid=,stat=,args="], text=True)
    lines = [line.split(None, 2) for line in result.splitlines()]
    return [args for pgid, state, args in lines if pgid == str(group) and state[0] != "Z"]


def wait_until(is_so: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("to_all", [True, False])
def test_ctrl_c_ends_both_processes(place: Place, to_all: bool) -> None:
    with asking(place, FOREVER) as command:
        wait_until(lambda: len(in_group(command.pid)) == 2)
        time.sleep(1.5)  # so that it may have come to the query
        began = time.monotonic()
        (os.killpg if to_all else os.kill)(command.pid, signal.SIGINT)
        out, err = command.communicate(timeout=30)
        assert time.monotonic() - began < 2
        assert (command.returncode, out, err) == (130, "", "magic: interrupted\n")
        assert in_group(command.pid) == []


@pytest.mark.slow
def test_a_query_ends_with_who_asked_it(place: Place) -> None:
    with asking(place, FOREVER) as command:
        wait_until(lambda: len(in_group(command.pid)) == 2)
        time.sleep(1.5)
        command.kill()
        wait_until(lambda: in_group(command.pid) == [])


@pytest.mark.slow
def test_modules_of_the_current_folder_are_not_run(place: Place, tmp_path: Path) -> None:
    """A folder of logs from strangers can hold any file."""
    for module in ("duckdb", "polars", "pickle", "pipeline"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('was run')")
    with asking(place, "SELECT 42 AS answer", tmp_path) as command:
        out, err = command.communicate(timeout=60)
    assert (command.returncode, out.split()[-1], err) == (0, "42", "")
