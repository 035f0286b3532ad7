"""Large archives that have not changed: what was seen in them before is taken from the lake.

To know each document of an archive again it has to be unpacked and hashed. One hash of the file as
it lies on disk tells as much, where the same code has read it to its end before, in the same way.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

import polars as pl
from msgspec import Struct

from pipeline.archives import Document, Unit, named
from pipeline.archives.sources import form_of
from pipeline.events.contracts import polars_schema
from pipeline.ingest.resolve import IngestDatabase, statement
from pipeline.ingest.worker import Findings, Job
from pipeline.lake import StoredLake
from pipeline.stores import is_regular, version
from pipeline.warehouse import answer, register, write

_LINE = "#"
_UNITS_AT_ONCE = 256
_WANTED = {
    "number": pl.Int64,
    "source": pl.String,
    "prefix": pl.String,
    "n_bytes": pl.Int64,
    "ingest_id": pl.Int64,
}


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

    `earlier` is a state of the lake, None for nothing; `take` is called with what was seen in
    archives then, as of what a worker found. With `rereads` all are read.
    """

    def __init__(
        self,
        job: Job,
        earlier: StoredLake | None,
        take: Callable[[Findings], None],
        database: IngestDatabase,
        *,
        rereads: bool = False,
    ) -> None:
        self._rereads = rereads
        self._job = job
        self._earlier = earlier
        self._take = take
        self._database = database
        self._noted: list[_Archive] = []
        self._n_reports = 0

    def unread(self, units: Iterator[Unit]) -> Iterator[Unit]:
        """The units without the archives recalled."""
        if self._rereads or not self._seen_in:
            yield from units
            return
        while some := list(islice(units, _UNITS_AT_ONCE)):
            recalled = self._recalled(some)
            yield from (unit for unit in some if unit not in recalled)

    def noting(self, unit: Unit, documents: Iterator[Document]) -> Iterator[Document]:
        """The documents of an archive, which is noted when all were read."""
        as_found, (source, prefix), document = _version(unit), _home(unit), None
        for document in documents:
            yield document
        # One that breaks off, or is no archive at all, is itself reported at the end. Of a log of
        # lines only lines are looked for later, not parts that have names.
        if document is None or (document.source == source and document.path.startswith(prefix)):
            archive = _archive(unit, as_found)
            self._noted += [archive] if archive else []

    def archives(self, ingest_id: int) -> pl.DataFrame:
        """The rows of `archives` for what was noted and has not changed meanwhile, with `is_known`:
        an earlier ingest, which read as this one did, has noted it.
        """
        schema = polars_schema("archives")
        names = [name for name in schema if name != "ingest_id"]
        rows = [
            [
                *(ingest_id, *(getattr(archive, name) for name in names)),
                archive.sha256 in self._seen_in.get((archive.source, archive.prefix), {}),
            ]
            for archive in self._noted
            if version(archive.file) == archive.as_found
        ]
        # Of two files whose names print alike nobody can tell later what was in which.
        is_alone = pl.struct("source", "prefix").is_unique()
        known = {"is_known": pl.Boolean()}
        return pl.DataFrame(rows, {**schema, **known}, orient="row").filter(is_alone)

    def _recalled(self, units: Sequence[Unit]) -> set[Unit]:
        """Those that are archives and have not changed: what was seen in them is reported."""
        known: list[tuple[Unit, _Archive, int]] = []
        for unit in units:
            seen_in = self._seen_in.get(_home(unit), {}) if unit.holds_many else {}
            archive = _archive(unit, _version(unit)) if seen_in else None
            if archive is not None and archive.sha256 in seen_in:
                known.append((unit, archive, seen_in[archive.sha256]))
        if not known:
            return set()
        rows = [
            (number, archive.source, archive.prefix, archive.n_bytes, ingest_id)
            for number, (_, archive, ingest_id) in enumerate(known)
        ]
        numbers = self._report(pl.DataFrame(rows, schema=_WANTED, orient="row"))
        return {known[number][0] for number in numbers}

    @cached_property
    def _seen_in(self) -> dict[tuple[str, str], dict[str, int]]:
        """By home and hash of an archive: the last ingest that read it as this one would."""
        if self._earlier is None or not self._earlier.sizes("archives"):
            return {}
        as_now = [pl.col(n).eq_missing(pl.lit(of)) for n, of in self._job.settings().items()]
        alike = self._earlier.table("ingests").filter(*as_now)
        archives = self._earlier.table("archives").join(alike, on="ingest_id", how="semi")
        rows = archives.select("source", "prefix", "sha256", "ingest_id").sort("ingest_id")
        found: dict[tuple[str, str], dict[str, int]] = {}
        for source, prefix, sha256, ingest_id in rows.collect().iter_rows():
            found.setdefault((source, prefix), {})[sha256] = ingest_id
        return found

    def _report(self, wanted: pl.DataFrame) -> list[int]:
        """Reports the documents of archives as a worker would that knows all of their games.

        Returns the archives' numbers, without those where it would have to decode a document, where
        one could not be read then and may be now, and where the lake does not say any more what is
        wrong with one.
        """
        with self._database.connection(self._earlier) as connection:
            register(connection, "wanted", wanted)
            inside = statement("in_archives", documents="documents", archives="wanted")
            for name, select in (
                ("inside", inside),
                ("unknown", statement("unknown")),
                ("recalled", "FROM inside ANTI JOIN unknown USING (number)"),
            ):
                self._database.compute(connection, name, select)
            self._n_reports += 1
            file = self._database.scratch / f"seen-again-{self._n_reports}.parquet"
            faults = file.with_stem(f"{file.stem}-faults")
            write(connection, statement("seen_again"), file)
            write(connection, statement("faults_before"), faults)
            archives = answer(connection, "FROM wanted ANTI JOIN unknown USING (number)")
            counts = "SELECT count(*), count(*) FILTER (status = 'quarantined') FROM recalled"
            n_documents, n_refused = answer(connection, counts).row(0)
        n_bytes = int(archives["n_bytes"].sum())
        rows = {"seen": file, "faults": faults} if n_refused else {"seen": file}
        self._take(Findings(n_documents, n_bytes, rows))
        return archives["number"].to_list()


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
