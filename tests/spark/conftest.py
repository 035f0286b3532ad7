"""One cluster for all tests of Spark: two executors, processes of their own, on loopback."""

import shutil
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from event_tables import lake_of, stacked

from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import NAMES
from pipeline.plugins import install_command
from pipeline.spark import get_or_start_session

TOP = Path(__file__).resolve().parent.parent.parent
# A name as a literal: what one dialect escapes by doubling, the other does with a backslash.
QUOTED = r"O'Neil\'; --"
MASTER = "local-cluster[2,1,2048]"
# Small tables: to generate code for a query, to compile it well, or to deal it into 200 parts,
# takes longer than to run it. That is how these settings are given to a user's Spark, too.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
DEFAULTS = f"""
spark.executor.extraJavaOptions  {JAVA_OPTIONS}
spark.executor.memory            1g
spark.sql.codegen.wholeStage     false
spark.sql.codegen.factoryMode    NO_CODEGEN
spark.sql.shuffle.partitions     2
"""


@pytest.fixture(scope="session")
def spark(tmp_path_factory) -> Iterator[object]:
    """The session on the cluster; skips where the extra or Java is missing."""
    missing = [name for name in ("pyspark", "sqlglot", "pandas") if not find_spec(name)]
    if missing:
        pytest.skip(f"no {', '.join(missing)}: {install_command('spark')}")
    if not shutil.which("java"):
        pytest.skip("no Java: Spark needs 17 or newer")
    import pyspark

    settings = tmp_path_factory.mktemp("conf")
    (settings / "spark-defaults.conf").write_text(DEFAULTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(settings))
        patch.setenv("SPARK_SUBMIT_OPTS", JAVA_OPTIONS)
        session = get_or_start_session(MASTER)
    work = Path(pyspark.__file__).parent / "work" / session.sparkContext.applicationId
    yield session
    session.stop()
    shutil.rmtree(work, ignore_errors=True)


@pytest.fixture(scope="session")
def sample_lake(tmp_path_factory) -> StoredLake:
    """The sample; what Spark would take for a pattern of files is in the lake's name."""
    path = tmp_path_factory.mktemp("sample") / "lakë [1] {a,b}*"
    ingest(TOP / "data" / "sample" / "results", path)
    return open_lake(path)


@pytest.fixture(scope="session")
def case_lake(tmp_path_factory) -> StoredLake:
    """The metrics' hand-worked cases: nulls, ties, unfinished games, odd names; empty tables."""
    cases = {name: import_module(f"cases.{name}").TABLES for name in NAMES}
    cases[QUOTED] = cases["judgement"]
    return lake_of(tmp_path_factory.mktemp("cases"), stacked(cases))
