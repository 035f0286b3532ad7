"""Does a cluster of two executors make the lake that two processes make, and how soon?

The sources are a folder and an archive. A cluster runs already, so Spark's start-up is left out.
Where a row or a metric differs, the script fails.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import polars as pl
import pyspark
from measure import Row, medians, parser, report
from polars.testing import assert_frame_equal

from data import SCRATCH, logs
from pipeline.events.contracts import TABLES
from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import metrics
from pipeline.spark import get_or_start_session, spark_cluster

MASTER = "local-cluster[2,1,2048]"
ARCHIVED = 4  # of so many games, one is in an archive as well
# Times, and what a machine remembers of archives that it read itself.
DIFFERENT = {"ingests", "archives"}


def main() -> int:
    """Compare an ingest on Spark with a local one, and write the results."""
    options = parser(__doc__, games=20_000).parse_args()
    sources = [logs(options.games), logs(options.games // ARCHIVED, "tar.zst")]
    local, spark = SCRATCH / "local-lake", SCRATCH / "spark-lake"
    ingests = {
        "local": partial(_into_new, local, sources, jobs=2),
        "spark": partial(_into_new, spark, sources, team=spark_cluster(MASTER)),
    }
    with _session():
        wrote = medians(ingests, options.runs)
        lakes = [open_lake(local), open_lake(spark)]
        _compare(*lakes)
        _assert_equal(metrics(lakes[0]), metrics(lakes[1]))
        _assert_equal(metrics(lakes[0]), metrics(lakes[1], engine="spark"))
    rows = [Row("ingest on Spark, of two processes", wrote["spark"], wrote["local"])]
    notes = "All rows of the tables are equal, and all metrics to 1e-12."
    return report("spark", __doc__, "the same without Spark", rows, options.results, notes)


def _into_new(lake: Path, sources: list[Path], **options: object) -> None:
    shutil.rmtree(lake, ignore_errors=True)
    ingest(sources, lake, **options)


@contextmanager
def _session() -> Iterator[None]:
    session = get_or_start_session(MASTER)
    # Where a cluster on one machine keeps what its executors say.
    work = Path(pyspark.__file__).parent / "work" / session.sparkContext.applicationId
    try:
        yield
    finally:
        session.stop()
        shutil.rmtree(work, ignore_errors=True)


def _compare(left: StoredLake, right: StoredLake) -> None:
    """Raise AssertionError if the rows of a table differ between the lakes."""
    for table in sorted(set(TABLES) - DIFFERENT):
        _assert_equal(*(_sort_rows(lake.table(table).collect()) for lake in (left, right)))


def _sort_rows(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort(name for name, dtype in rows.schema.items() if not dtype.is_nested())


def _assert_equal(left: pl.DataFrame, right: pl.DataFrame) -> None:
    assert_frame_equal(left, right, check_exact=False, rel_tol=1e-12, abs_tol=1e-12)


if __name__ == "__main__":
    sys.exit(main())
