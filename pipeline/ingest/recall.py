"""Large archives that have not changed: what was seen in them before is taken from the lake.

To know each document of an archive again it has to be unpacked and hashed. One hash of the file as
it lies on disk tells as much, where the same code has read it to its end before, in the same way.
"""

import hashlib
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from msgspec import Struct

from pipeline.archives import Document, Unit, named
from pipeline.archives.names import form_of
from pipeline.events.contracts import polars_schema
from pipeline.ingest.database import ROWS_AT_ONCE, IngestDatabase, statement
from pipeline.ingest.ids import GameIds
from pipeline.ingest.worker import Findings, Job
from pipeline.lake import StoredLake
from pipeline.sqlfiles import literal
from pipeline.stores import is_regular, version

if TYPE_CHECKING:
    import pyarrow as pa

_LINE = "#"


class _Archive(Struct, frozen=True):
    """A row of `archives` in the making; `as_found` is the file's version when it was found."""

    file: str
    as_found: tuple[int, ...]
    source: str
    prefix: str
    n_bytes: int
    sha256: str


class Recall:
    """Keeps archives from being read that are as they were before, and notes those that are read.

    `earlier` is a state of the lake, None for nothing; `take` is called with what was seen in an
    archive then, as of what a worker found.
    """

    def __init__(
        self,
        job: Job,
        earlier: StoredLake | None,
        take: Callable[[Findings], None],
        database: IngestDatabase,
    ) -> None:
        self._job = job
        self._earlier = earlier
        self._take = take
        self._database = database
        self._noted: list[_Archive] = []

    def unread(self, units: Iterator[Unit]) -> Iterator[Unit]:
        """The units without the archives recalled."""
        if self._earlier is None or not self._earlier.sizes("archives"):
            return units
        return (unit for unit in units if not self._is_recalled(unit))

    def noting(self, unit: Unit, documents: Iterator[Document]) -> Iterator[Document]:
        """The documents of an archive, which is noted when all were read."""
        as_found, document = _version(unit), None
        for document in documents:
            yield document
        # One that breaks off, or is no archive at all, is itself reported at the end.
        if document is None or (document.source, document.path) != (unit.source, unit.path):
            self._note(_archive(unit, as_found))

    def archives(self) -> pl.DataFrame:
        """The rows of `archives`, without the ingest, for what was noted and has not changed."""
        schema = {n: dtype for n, dtype in polars_schema("archives").items() if n != "ingest_id"}
        rows = [
            [getattr(archive, name) for name in schema]
            for archive in self._noted
            if version(archive.file) == archive.as_found
        ]
        # Of two files whose names print alike nobody can tell later what was in which.
        is_alone = pl.struct("source", "prefix").is_unique()
        return pl.DataFrame(rows, schema=schema, orient="row").filter(is_alone)

    def _note(self, archive: _Archive | None) -> None:
        if archive is not None:
            self._noted.append(archive)

    def _is_recalled(self, unit: Unit) -> bool:
        """Whether the unit is an archive that has not changed; then reports what was seen in it."""
        seen_in = self._seen_in.get(_home(unit), {}) if unit.holds_many else {}
        archive = _archive(unit, _version(unit)) if seen_in else None
        if archive is None or archive.sha256 not in seen_in:
            return False
        found = self._found(archive, seen_in[archive.sha256])
        if found is None:
            return False
        self._note(archive)
        self._take(found)
        return True

    @cached_property
    def _seen_in(self) -> dict[tuple[str, str], dict[str, int]]:
        """By home and hash of an archive: the last ingest that read it as this one would."""
        if self._earlier is None:
            return {}
        as_now = [pl.col(n).eq_missing(pl.lit(of)) for n, of in self._job.settings().items()]
        alike = self._table("ingests").filter(*as_now)
        archives = self._table("archives").join(alike, on="ingest_id", how="semi")
        rows = archives.select("source", "prefix", "sha256", "ingest_id").sort("ingest_id")
        found: dict[tuple[str, str], dict[str, int]] = {}
        for source, prefix, sha256, ingest_id in rows.collect().iter_rows():
            found.setdefault((source, prefix), {})[sha256] = ingest_id
        return found

    def _found(self, archive: _Archive, ingest_id: int) -> Findings | None:
        """The documents of an archive as a worker would tell of them that knows all of its games.

        None where it would have to decode one, where one could not be read then and may be now, and
        where the lake does not say any more what is wrong with one.
        """
        from pipeline.warehouse import answer, batches, parquet_select, write

        select = statement(
            "recalled",
            ingest_id=str(ingest_id),
            source=literal(archive.source),
            prefix=literal(archive.prefix),
            is_of_lines=str(archive.prefix.endswith(_LINE)),
        )
        with self._database.connection(self._earlier) as connection:
            self._database.compute(connection, "recalled", select)
            n_documents, n_unread = answer(connection, statement("recalled_counts")).row(0)
            ids = "SELECT game_id FROM recalled WHERE game_id IS NOT NULL"
            if n_unread or not all(map(self._are_held, batches(connection, ids, ROWS_AT_ONCE))):
                return None
            file = self._database.scratch / f"recalled-{len(self._noted)}.parquet"
            faults = file.with_stem(f"{file.stem}-faults")
            write(connection, statement("faults_before"), faults)
            counts = statement("refused_counts", faults=parquet_select([faults]))
            n_refused, n_explained = answer(connection, counts).row(0)
            if n_explained != n_refused:
                return None
            write(connection, statement("seen_again"), file)
        return Findings(n_documents, archive.n_bytes, file, faults if n_explained else None)

    def _are_held(self, games: "pa.Table") -> bool:
        ids = games.column(0).to_pylist()
        return self._games is not None and bool(self._games.has(ids).all())

    @cached_property
    def _games(self) -> GameIds | None:
        return GameIds.load(self._job.known) if self._job.known else None

    @cached_property
    def _table(self) -> Callable[[str], pl.LazyFrame]:
        assert self._earlier is not None
        return cache(self._earlier.table)


def _home(unit: Unit) -> tuple[str, str]:
    """The source of the documents in an archive, and what their paths begin with."""
    assert unit.file is not None
    return named(unit, "/" if form_of(unit.file).is_archive else _LINE)


def _version(unit: Unit) -> tuple[int, ...] | None:
    """The state of the unit's file, None where nobody can tell, as on an object store."""
    return version(unit.file) if unit.file is not None else None


def _archive(unit: Unit, as_found: tuple[int, ...] | None) -> _Archive | None:
    """The unit with its hash; None where it has none, or nobody can tell whether it changes."""
    if unit.file is None or as_found is None or not is_regular(unit.file):
        return None
    if not unit.n_bytes:  # a file of the kernel's own may be endless
        return None
    try:
        with Path(unit.file).open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
    source, prefix = _home(unit)
    return _Archive(unit.file, as_found, source, prefix, unit.n_bytes, sha256)
