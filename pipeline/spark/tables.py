"""The lake's tables as Spark's, and our SQL, which is DuckDB's, in Spark's dialect."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import QueryError
from pipeline.events.arrow import arrow_schema
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.lake.tables import renamed_words
from pipeline.library_errors import one_line
from pipeline.spark.session import cancelling
from pipeline.sqlfiles import View, literal
from pipeline.warehouse.views import seen

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

# While one query is planned, or waits for its last task, others have the executors.
_AT_ONCE = 8


class Views:
    """The lake's tables at its one state, and the views given, where a query first names them.

    They are temporary views of a session of their own, so that another lake's, or those of whom the
    session belongs to, stay what they are. The executors read the lake's files where they are: its
    path or URL is the same on each of them. What is in an object store they read as we do.
    """

    def __init__(
        self, session: "SparkSession", lake: StoredLake, views: Mapping[str, View]
    ) -> None:
        self.session = session.newSession()
        self.session.conf.set("spark.sql.session.timeZone", "UTC")
        # The one function of our SQL that Spark lacks.
        self.session.udf.register("nfc_normalize", _nfc)
        self._lake = lake
        self._views = views
        self._made: set[str] = set()

    def query(self, sql: str) -> pl.DataFrame:
        """The result of a query in our SQL."""
        return self.queries([sql])[0]

    def queries(self, sqls: Sequence[str]) -> list[pl.DataFrame]:
        """The results of several, which the cluster computes side by side.

        Raises QueryError where it fails to, as where an executor cannot read the lake's files, and
        LakeError where these are damaged.
        """
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            frames = [self.session.sql(self._translated(sql)) for sql in sqls]
            with cancelling(self.session.sparkContext), ThreadPoolExecutor(_AT_ONCE) as pool:
                return list(pool.map(_collected, frames))
        except (PySparkException, Py4JError) as error:
            raise self._lake.damage(self._made & TABLES.keys()) or QueryError(
                f"Spark cannot compute this: {one_line(error)}"
            ) from None

    def _translated(self, sql: str) -> str:
        """The query for Spark, with every table and view made that it names."""
        import sqlglot

        tree = sqlglot.parse_one(sql, read="duckdb")
        for table in tree.find_all(sqlglot.exp.Table):
            name = f"{table.db}.{table.name}".removeprefix("main.").removeprefix(".")
            self._make(name)
            table.set("db", None)  # a temporary view has no schema
            table.set("this", sqlglot.exp.to_identifier(temporary(name)))
        return tree.sql("spark", unsupported_level=sqlglot.ErrorLevel.RAISE)

    def _make(self, name: str) -> None:
        if name in self._made:
            return
        self._made.add(name)
        if name in self._views:
            view = self.session.sql(self._translated(self._views[name].select))
            view.createOrReplaceTempView(temporary(name))
        elif name in TABLES:
            self._make_table(name)

    def _make_table(self, name: str) -> None:
        rows = seen(self._lake, name, self._select)
        self.session.sql(self._translated(rows)).createOrReplaceTempView(name)

    def _select(self, name: str) -> str:
        """The SELECT of a table as it is stored, which has a view of its own."""
        self._stored(name).createOrReplaceTempView(f"stored_{name}")
        return f"SELECT * FROM stored_{name}"

    def _stored(self, name: str) -> "DataFrame":
        """The rows of one of the lake's tables as they are stored."""
        table = self.session.createDataFrame(arrow_schema(name).empty_table())
        if files := self._lake.files(name):
            if self._lake.path.is_local:
                # Their names are meant as they are, and not on the cluster's default file system.
                reader = self.session.read.schema(table.schema).option("__globPaths__", "false")
                table = reader.parquet(*(f"file://{file}" for file in files))
            else:
                table = self._of_store(list(files), table.schema)
            for column, words in renamed_words(name).items():
                table = table.replace(dict[Any, Any](words), subset=[column])
            if self._lake.is_mixed(name):
                table = table.where(f"system = {literal(str(self._lake.system))}")
        return table

    def _of_store(self, files: list[str], schema: "StructType") -> "DataFrame":
        """The rows of files in an object store, which Spark itself reads with jars alone."""
        from pyspark.sql.pandas.types import to_arrow_schema

        names = self.session.sparkContext.parallelize([(file,) for file in files], len(files))
        wanted = to_arrow_schema(schema, timezone="UTC")

        def rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for file in batch.column(0).to_pylist():
                    yield from _rows(file, wanted)

        return self.session.createDataFrame(names, "file string").mapInArrow(rows, schema)


def _rows(file: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a file, some at a time. Runs on an executor."""
    from pipeline.stores import open_file

    with open_file(file) as opened:
        for batch in pq.ParquetFile(opened).iter_batches(columns=schema.names):
            yield batch.select(schema.names).cast(schema)


def _nfc(text: str | None) -> str | None:
    return None if text is None else normalize("NFC", text)


def temporary(name: str) -> str:
    """The name of a view, without a schema."""
    return name.replace(".", "__")


def _collected(frame: "DataFrame") -> pl.DataFrame:
    return pl.DataFrame(frame.toArrow())
