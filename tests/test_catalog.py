"""`magic.duckdb`, opened by a plain DuckDB that knows nothing of this package."""

import ensurepip
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl
import pytest
from event_tables import assert_same
from rawlogs import chatarena, encode, prisoners_dilemma, write_logs

import pipeline
from pipeline import catalog
from pipeline.api import Lake
from pipeline.catalog import rebuild_catalog, rebuild_catalog_after_ingest, write_catalog
from pipeline.cli import main
from pipeline.errors import LakeError, MachineError
from pipeline.events.contracts import TABLES
from pipeline.ingest import ingest
from pipeline.lake.maintain import maintain
from pipeline.lake.tables import CATALOG_FILE_NAME
from pipeline.reports.sql_views import all_views, views_computed_by_python
from pipeline.simulate import simulate
from pipeline.verify import verify

STORED = {*views_computed_by_python(), "about"}
# A folder whose name is a pattern to DuckDB, names a column, and has to be quoted.
ODD_FOLDER = Path("odd's [1]*") / "model=nobody"
# Writes each view and table of the first argument to a Parquet file in the second.
DUMP = """
import sys
sys.path[:0] = sys.argv[3:]
import duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
names = connection.execute(
    "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal "
    "UNION ALL SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal"
).fetchall()
for schema, name in names:
    file = f"{sys.argv[2]}/{schema}.{name}.parquet"
    connection.execute(f'COPY (FROM "{schema}"."{name}") TO \\'{file}\\' (FORMAT parquet)')
lacking = connection.execute(
    "SELECT schema_name, table_name, column_name FROM duckdb_columns() "
    "WHERE NOT internal AND comment IS NULL UNION ALL "
    "SELECT schema_name, view_name, NULL FROM duckdb_views() "
    "WHERE NOT internal AND comment IS NULL "
    "UNION ALL SELECT schema_name, table_name, NULL FROM duckdb_tables() WHERE comment IS NULL"
).fetchall()
print(duckdb.__version__, len(names), lacking)
"""


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of every game type and format, one that is broken, and one without an end."""
    folder = tmp_path_factory.mktemp("catalog") / "logs"
    simulate(folder, models=2, games=1, seed=2)
    (folder / "talk.json").write_bytes(encode(chatarena(ending="right")))
    (folder / "torn.json").write_bytes(b'{"history": [')
    (folder / "cut.json").write_bytes(encode(prisoners_dilemma() | {"result": None}))
    return folder


@pytest.fixture(scope="session")
def whole(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with its catalogue, in an odd place; to be read or copied, and not to be written."""
    lake = tmp_path_factory.mktemp("catalog") / ODD_FOLDER / "lake"
    lake.parent.mkdir(parents=True)
    ingest(source, lake, model="talker")
    rebuild_catalog(lake)
    return lake


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small lake with its catalogue, to be copied."""
    folder = tmp_path_factory.mktemp("catalog")
    ingest(write_logs(folder / "logs", "first"), folder / "lake")
    with pytest.MonkeyPatch.context() as patch:
        leave_out_most(patch)
        rebuild_catalog(folder / "lake")
    return folder / "lake"


def leave_out_most(patch: pytest.MonkeyPatch) -> None:
    """Has catalogues with only what our queries ask for: to make the rest takes long."""
    few = {
        name: view
        for name, view in all_views().items()
        if name == "judgement" or name.startswith(("shared.", "evidence."))
    }
    stored = {name: views_computed_by_python()[name] for name in ("metrics", "leaderboard")}
    patch.setattr("pipeline.catalog.all_views", lambda: few | stored)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out_most(monkeypatch)


@pytest.fixture
def lake(small: Path, tmp_path: Path) -> Path:
    """A copy of the small lake, whose catalogue still names the files of the other."""
    shutil.copytree(small, tmp_path / "lake")
    return tmp_path / "lake"


def dumped(
    database: Path, folder: Path, packages: Path | None = None
) -> tuple[str, dict[str, pl.DataFrame]]:
    """What a plain DuckDB finds: its version, and the rows of all views and tables.

    It runs in a process and a folder of its own, and may be one of other packages. Asserts that all
    of them have their comments.
    """
    folder.mkdir()
    command = [sys.executable, "-I", "-c", DUMP, str(database), str(folder)]
    command += [str(packages)] if packages else []
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    version, n_names, lacking = done.stdout.strip().split(" ", 2)
    found = {path.stem.removeprefix("main."): pl.read_parquet(path) for path in folder.iterdir()}
    assert (int(n_names), lacking) == (len(found), "[]")
    return version, found


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    flat = [name for name, dtype in rows.schema.items() if not dtype.is_nested()]
    return rows.sort(flat, nulls_last=True)


class Shown(NamedTuple):
    """What `magic sql` shows of a lake's views and tables, and `magic metrics` of values."""

    lake: Lake
    values: dict[str, pl.DataFrame]
    rows: dict[str, pl.DataFrame]


def shown(lake: Lake) -> Shown:
    one = lake.for_single_system()
    values = {"metrics": one.metrics(), "leaderboard": one.leaderboard()}
    with lake.connect() as connection:
        names = {*TABLES, *all_views()} - STORED
        return Shown(lake, values, {name: connection.sql(f"FROM {name}").pl() for name in names})


@pytest.fixture(scope="session")
def of_whole(whole: Path) -> Shown:
    return shown(pipeline.open_lake(whole))


def assert_shows(found: dict[str, pl.DataFrame], expected: Shown) -> None:
    """Asserts that it is what `magic sql` shows, with the values of `magic metrics`."""
    lake = expected.lake
    assert found.keys() == {*TABLES, *all_views(), *STORED}
    for name, rows in expected.values.items():
        of_system = found[name].filter(pl.col("system").eq_missing(lake.for_single_system().system))
        assert_same(of_system.select(rows.columns), rows)
    (about,) = found["about"].to_dicts()
    assert (about["lake"], about["ingest_id"]) == (str(lake.path), lake.ingest_id)
    assert expected.rows.keys() == found.keys() - STORED
    for name, rows in expected.rows.items():
        assert_same(in_order(found[name]), in_order(rows.cast(found[name].schema)))


def query(lake: Path, sql: str) -> list[tuple[object, ...]]:
    """The rows of a query by a plain DuckDB in this process."""
    with duckdb.connect(lake / CATALOG_FILE_NAME, read_only=True) as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.slow
def test_all_that_magic_sql_shows_is_there_with_comments(
    whole: Path, of_whole: Shown, tmp_path: Path
) -> None:
    version, found = dumped(whole / CATALOG_FILE_NAME, tmp_path / "found")
    assert version == duckdb.__version__
    assert_shows(found, of_whole)
    assert found["votes"]["model"].unique().to_list() != ["nobody"]


@pytest.mark.long
def test_duckdb_1_4_finds_the_same(whole: Path, of_whole: Shown, tmp_path: Path) -> None:
    """In a folder of its own, since here there is a newer one."""
    old = tmp_path / "old"
    (pip,) = Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl")
    command = [sys.executable, f"{pip}/pip", "install", "--target", str(old)]
    command += ["--no-deps", "--no-compile", "--only-binary=:all:", "duckdb>=1.4.0,<1.5"]
    installed = subprocess.run(command, capture_output=True, text=True, check=False)
    if installed.returncode:
        reason = installed.stderr.strip().splitlines()[-1]
        pytest.skip(f"no package registry gives DuckDB 1.4 for this Python: {reason}")
    version, found = dumped(whole / CATALOG_FILE_NAME, tmp_path / "found", old)
    assert version.startswith("1.4.")
    assert_shows(found, of_whole)


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_after_a_move_tables_answer_at_once_and_views_when_it_is_renewed(lake: Path) -> None:
    rebuild_catalog(lake)
    moved = lake.rename(lake.with_name("moved"))
    assert query(moved, "SELECT count(*) > 0 FROM metrics WHERE ci_low IS NOT NULL") == [(True,)]
    assert query(moved, "SELECT lake FROM about") == [(str(lake),)]
    with pytest.raises(duckdb.IOException, match="No files found"):
        query(moved, "FROM votes")
    assert main(["catalog", "--lake", str(moved)]) == 0
    assert query(moved, "SELECT count(*) > 0 FROM votes") == [(True,)]
    assert query(moved, "SELECT lake FROM about") == [(str(moved),)]


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_every_change_renews_it(lake: Path, tmp_path: Path, capsys) -> None:
    def ingest_ids() -> list[tuple[object, ...]]:
        return query(lake, "SELECT ingest_id, (SELECT max(ingest_id) FROM ingests) FROM about")

    assert ingest_ids() == [(1, 1)]
    more = write_logs(tmp_path / "more", "second")
    (more / "torn.json").write_bytes(b'{"history": [')
    (more / "talk.json").write_bytes(encode(chatarena(ending="right")))
    assert main(["ingest", str(more), "--lake", str(lake)]) == 0
    assert ingest_ids() == [(2, 2)]
    assert main(["ingest", str(more), "--lake", str(lake), "--dry-run"]) == 0
    assert ingest_ids() == [(2, 2)]
    assert main(["ingest", str(more), "--model", "talker", "--lake", str(lake)]) == 0
    assert ingest_ids() == [(3, 3)]
    assert (
        main(["maintain", "--keep-days", "0", "--older-than-hours", "0", "--lake", str(lake)]) == 0
    )
    assert ingest_ids()[0] >= (4, 4)
    assert query(lake, "SELECT count(*) FROM evidence.metrics")[0] > (0,)
    assert CATALOG_FILE_NAME not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_it_answers_while_maintain_deletes_files(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the merged files before those that they replace are deleted, also if killed then."""
    ingest(write_logs(tmp_path / "more", "second"), lake)
    rebuild_catalog(lake)
    upkeep = import_module("pipeline.lake.maintain")
    delete = upkeep._delete_unreachable_files_and_stale_locks
    deleted: list[object] = []

    def looked_at(*asked: object) -> list[object]:
        assert query(lake, "SELECT count(*) > 0 FROM votes") == [(True,)]
        deleted.extend(found := delete(*asked))
        assert query(lake, "SELECT count(*) > 0 FROM votes") == [(True,)]
        if found:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(upkeep, "_delete_unreachable_files_and_stale_locks", looked_at)
    now = ["--keep-days", "0", "--older-than-hours", "0"]
    assert main(["maintain", *now, "--lake", str(lake)]) == 130
    assert deleted
    assert query(lake, "SELECT ingest_id FROM about") == [(3,)]


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_a_full_disk_leaves_nothing_behind(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB leaves its log beside a database that it could not write."""
    before = set(lake.iterdir())

    def full(connection: duckdb.DuckDBPyConnection, *_: object) -> None:
        (file,) = connection.execute("SELECT path FROM duckdb_databases() LIMIT 1").fetchone()
        Path(f"{file}.wal").touch()
        raise duckdb.TransactionException(
            "TransactionContext Error: Failed to commit: No space left on device"
        )

    monkeypatch.setattr("pipeline.warehouse.database.create_lake_view", full)
    with pytest.raises(MachineError, match=r"^a disk is full: free some room"):
        rebuild_catalog(lake)
    assert set(lake.iterdir()) == before


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_no_reader_of_the_lake_minds_it_and_upkeep_deletes_old_drafts(lake: Path) -> None:
    drafts = [
        lake / f".{CATALOG_FILE_NAME}.{number}.draft{end}"
        for number in "01"
        for end in ("", ".wal")
    ]
    own_copy, left_over = lake / f"{CATALOG_FILE_NAME}.bak", lake / f"{CATALOG_FILE_NAME}.wal"
    for path in (*drafts, own_copy, left_over):
        path.write_bytes(b"left by a program that was killed")
    (lake / CATALOG_FILE_NAME).write_bytes(b"no database")
    for path in (*drafts[:2], own_copy, left_over):
        os.utime(path, (0, 0))
    assert verify(lake).faults.is_empty()
    maintain(lake)
    assert [draft.exists() for draft in drafts] == [False, False, True, True]
    rebuild_catalog(lake)
    assert (own_copy.exists(), left_over.exists()) == (True, False)
    assert query(lake, "SELECT count(*) > 0 FROM votes") == [(True,)]


def in_the_way(lake: Path, _: pytest.MonkeyPatch) -> None:
    (lake / CATALOG_FILE_NAME).unlink()
    (lake / CATALOG_FILE_NAME).mkdir()
    (lake / CATALOG_FILE_NAME / "file").touch()


def full_disk(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pipeline.catalog.write_database", failing)


@pytest.mark.slow
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("fails", [full_disk, in_the_way])
def test_a_renewal_that_fails_leaves_the_ingest_done(
    lake: Path,
    tmp_path: Path,
    fails: Callable[[Path, pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fails(lake, monkeypatch)
    more = write_logs(tmp_path / "more", "second")
    assert main(["ingest", str(more), "--lake", str(lake)]) == 0
    (note,) = (line for line in capsys.readouterr().err.splitlines() if CATALOG_FILE_NAME in line)
    assert note.startswith(f"{CATALOG_FILE_NAME} could not be renewed: ")
    assert note.endswith(f"; run `magic catalog --lake {lake}` on this lake to renew it")
    assert pipeline.open_lake(lake).ingest_id == 2
    assert [path.name for path in lake.glob(f"*{CATALOG_FILE_NAME}*")] == [CATALOG_FILE_NAME]
    assert main(["catalog", "--lake", str(lake)]) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_no_command_but_its_own_begins_it(lake: Path, tmp_path: Path) -> None:
    (lake / CATALOG_FILE_NAME).unlink()
    assert main(["ingest", str(write_logs(tmp_path / "more", "second")), "--lake", str(lake)]) == 0
    assert main(["maintain", "--lake", str(lake)]) == 0
    assert not (lake / CATALOG_FILE_NAME).exists()
    assert main(["catalog", "--lake", str(lake)]) == 0
    assert query(lake, "SELECT ingest_id FROM about") == [(pipeline.open_lake(lake).ingest_id,)]


@pytest.mark.usefixtures("few")
def test_an_ingest_into_a_large_lake_leaves_it_as_it_was(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (lake / CATALOG_FILE_NAME).read_bytes()
    monkeypatch.setattr(catalog, "MAX_GAMES", 1)
    note = rebuild_catalog_after_ingest(lake)
    assert note is not None
    assert note.startswith(f"{CATALOG_FILE_NAME} was not renewed")
    assert (lake / CATALOG_FILE_NAME).read_bytes() == before


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_an_older_state_never_stays_in_place_of_a_newer_one(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the first renewal writes, an ingest commits, and its own renewal is done before."""
    write = catalog._write_database_atomically

    def interrupted(*asked: object) -> None:
        monkeypatch.setattr(catalog, "_write_database_atomically", write)
        ingest(write_logs(tmp_path / "more", "second"), lake)
        assert rebuild_catalog(lake).ingest_id == 2
        write(*asked)
        assert query(lake, "SELECT ingest_id FROM about") == [(1,)]

    monkeypatch.setattr(catalog, "_write_database_atomically", interrupted)
    assert rebuild_catalog(lake).ingest_id == 2
    assert query(lake, "SELECT ingest_id FROM about") == [(2,)]


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_a_file_of_ones_own(lake: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "mine.duckdb"
    out.write_bytes(b"replaced")
    assert main(["catalog", "--lake", str(lake), "-o", str(out)]) == 0
    assert capsys.readouterr().err == f"wrote {out}: the lake after ingest 1\n"
    with duckdb.connect(out, read_only=True) as connection:
        assert connection.execute("SELECT count(*) > 0 FROM judgement").fetchall() == [(True,)]
    for wrong in (tmp_path, tmp_path / "nowhere" / "x.duckdb"):
        with pytest.raises(LakeError, match="choose a file in a folder that exists"):
            write_catalog(pipeline.open_lake(lake), wrong)
    assert main(["catalog", "--lake", str(lake), "-o", "s3://bucket/x.duckdb"]) == 2
