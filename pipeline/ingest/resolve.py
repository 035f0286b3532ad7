"""What each document seen is, in the light of all others and of what the lake holds.

Whether a document is new, known, a copy or a replacement depends on all the others, so it is
decided for all at once: by the statements in `sql/ingest`, in DuckDB, which keeps on disk what is
too much for memory.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from io import BytesIO
from itertools import islice
from pathlib import Path

import polars as pl
import pyarrow as pa
from duckdb import DuckDBPyConnection
from msgspec import Struct

from pipeline.archives import Document, SourceFile, document_location
from pipeline.archives.sources import file_type
from pipeline.events.contracts import empty_table, table_schema
from pipeline.ingest.decode import GameIds, IngestSummary, quarantine_frame, scanned_documents_frame
from pipeline.ingest.worker import IngestJob, WorkerFindings
from pipeline.lake import StoredLake
from pipeline.lake.transaction import RowMask, RowRemoval
from pipeline.sql_files import fill_template
from pipeline.stores import file_version, is_regular_file
from pipeline.vocabulary import DocumentStatus
from pipeline.warehouse import (
    THREAD_MEMORY_BYTES,
    create_query_view,
    ingest_connection,
    iter_batches,
    parquet_files_select,
    register_rows,
    run_trusted_query,
    write_parquet,
)

# Where an ingest works out what is what: DuckDB over the lake, and a folder for the results.

# Of an ingest's memory, what DuckDB may take of it beside the libraries and what is being written.
_DUCKDB_MEMORY_DIVISOR = 4
BATCH_ROWS = 2**17
_FINDINGS_FILE_BYTES = 2**24
_LAKE_TABLES = ("documents", "games", "quarantine")


class IngestDatabase(Struct, frozen=True):
    """Works in the folder `scratch`, in about `memory` bytes.

    With `rereads`, the lake's games of which a part is in quarantine are read `again`: they are
    taken for new ones, whose rows take the place of the old.
    """

    scratch: Path
    memory: int
    rereads: bool

    @contextmanager
    def connection(self, lake: StoredLake | None) -> Iterator[DuckDBPyConnection]:
        """A connection with the lake's `documents`, `quarantine` and `lake_games`, and `again`."""
        memory = max(self.memory // _DUCKDB_MEMORY_DIVISOR, THREAD_MEMORY_BYTES)
        with ingest_connection(lake, _LAKE_TABLES, self.scratch, memory) as connection:
            of_parts = f"game_id IS NOT NULL AND {self.rereads}"
            create_query_view(
                connection, "again", f"SELECT game_id FROM quarantine WHERE {of_parts}"
            )
            create_query_view(
                connection, "lake_games", "FROM games ANTI JOIN again USING (game_id)"
            )
            yield connection

    def register_files(
        self,
        connection: DuckDBPyConnection,
        name: str,
        files: Sequence[Path],
        nothing: pl.DataFrame,
    ) -> None:
        """Lets queries call by this name what is in the files; `nothing` has the same columns."""
        rows = f"{name}_in_files"
        if files:
            create_query_view(connection, rows, parquet_files_select(files))
        else:
            register_rows(connection, rows, nothing)
        # Joined, so that it does not matter from which folder a file was reached.
        create_query_view(
            connection, name, f"SELECT *, source || '/' || path AS location FROM {rows}"
        )

    def compute(self, connection: DuckDBPyConnection, name: str, select: str) -> None:
        """Writes the result of a SELECT to a file: queries can call it by its name then."""
        file = self.scratch / f"{name}.parquet"
        write_parquet(connection, select, file)
        create_query_view(connection, name, parquet_files_select([file]))

    def write_ids(self, connection: DuckDBPyConnection, select: str, name: str) -> GameIds:
        """The ids that a SELECT gives, in a file."""
        file = self.ids_file(connection, select, name)
        return GameIds.load(file) if file else GameIds()

    def ids_file(self, connection: DuckDBPyConnection, select: str, name: str) -> Path | None:
        """A file of the ids that a SELECT gives, as GameIds have it; None where it gives none."""
        file = self.scratch / f"{name}.ids"
        ordered = iter_batches(connection, f"{select} ORDER BY game_id", BATCH_ROWS)
        GameIds.save(ordered, file)
        return file if file.stat().st_size else None


def ingest_statement(name: str, **values: str) -> str:
    """The SELECT of this name in `sql/ingest`."""
    return fill_template(f"internal/ingest/{name}", **values)


class FindingsCollector:
    """Collects findings in the folder `scratch`: workers need the memory until they end.

    `n_documents` is the number of documents that the workers read. `tell` is called with the
    numbers of documents and of bytes of each finding.
    """

    def __init__(self, scratch: Path, tell: Callable[[int, int], None]) -> None:
        self.n_documents = 0
        self._scratch = scratch
        self.tell = tell
        self._files: dict[str, list[Path]] = defaultdict(list)
        self._waiting: dict[str, list[pl.DataFrame]] = defaultdict(list)

    def add_findings(self, findings: WorkerFindings) -> None:
        """Takes in what a worker found; frames wait until there are enough for a file."""
        self.tell(findings.n_documents, findings.n_bytes)
        self.n_documents += findings.n_documents
        for name, rows in findings.rows.items():
            if isinstance(rows, Path):
                self._files[name].append(rows)
                continue
            waiting = self._waiting[name]
            waiting.append(pl.read_ipc_stream(rows))
            if sum(frame.estimated_size() for frame in waiting) >= _FINDINGS_FILE_BYTES:
                self._write(name)

    def files(self, name: str) -> list[Path]:
        """The Parquet files of all that was `seen`, or of all `faults`, in any order."""
        if self._waiting[name]:
            self._write(name)
        return self._files[name]

    def _write(self, name: str) -> None:
        file = self._scratch / f"{name}-{len(self._files[name])}.parquet"
        buffer = BytesIO()
        pl.concat(self._waiting.pop(name)).write_parquet(buffer, compression="lz4")
        # Written here, so that a full disk is the system's error and not one of polars.
        file.write_bytes(buffer.getbuffer())
        self._files[name].append(file)


# What an ingest does to the quarantine: which rows leave it, and which are new.

# A report has so many rows of what is refused; all of it is in quarantine.
MAX_REPORTED_ROWS = 10_000
_QUARANTINE_BATCH_ROWS = 2**11  # each has up to 64 KiB of a document
_QUARANTINE_KEY_COLUMNS = ("source", "path", "sha256", "game_id")
"""Which version of a document a row is about, and whether it is about a part of its game."""


class QuarantineChanges:
    """What becomes of the rows of `quarantine`, worked out of `resolved` and `superseded`.

    `files` hold the faults that the workers found; `is_empty` says that the lake has none.
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        database: IngestDatabase,
        files: Sequence[Path],
        *,
        is_empty: bool,
    ) -> None:
        self._connection = connection
        self._database = database
        self._are_none = is_empty and not files
        if self._are_none:  # as of most ingests; to ask DuckDB for nothing takes it 30 ms
            return
        database.register_files(connection, "faults_with_raw", files, quarantine_frame([]))
        create_query_view(
            connection, "faults_without_raw", "SELECT * EXCLUDE (raw) FROM faults_with_raw"
        )
        before = "SELECT * EXCLUDE (raw), source || '/' || path AS location FROM quarantine"
        create_query_view(connection, "before", before)
        for name in ("own_faults", "outdated", "staying", "new_faults"):
            database.compute(connection, name, ingest_statement(name))

    def current(self, ingest_id: int) -> tuple[pl.DataFrame, int]:
        """The first rows of quarantine about the documents seen; how many there are of parts."""
        if self._are_none:
            return empty_table("quarantine").drop("raw"), 0
        rows = ingest_statement("current_faults", ingest_id=str(ingest_id))
        first = (
            f"ORDER BY ingest_id, source, path, json_path, rule, message LIMIT {MAX_REPORTED_ROWS}"
        )
        n_parts = run_trusted_query(self._connection, f"SELECT count(game_id) FROM ({rows})").item()
        found = run_trusted_query(
            self._connection, f"SELECT * EXCLUDE (location) FROM ({rows}) {first}"
        )
        return found, n_parts

    def outdated(self) -> RowRemoval | None:
        """The rows that leave the quarantine; None where all stay."""
        if self._are_none:
            return None
        gone = run_trusted_query(self._connection, "SELECT *, TRUE AS is_gone FROM outdated")
        return (
            RowRemoval(_QUARANTINE_KEY_COLUMNS, lambda rows: _is_outdated_row(rows, gone))
            if gone.height
            else None
        )

    def iter_new_rows(self, ingest_id: int) -> Iterator[pa.Table]:
        """The rows that are new, bytes and all, some at a time."""
        if self._are_none:
            return iter(())
        select = ingest_statement("quarantined", ingest_id=str(ingest_id))
        return iter_batches(self._connection, select, _QUARANTINE_BATCH_ROWS)


def _is_outdated_row(rows: pa.Table, outdated: pl.DataFrame) -> RowMask:
    """Whether each row is one of those that leave."""
    location = pl.concat_str("source", pl.lit("/"), "path").alias("location")
    is_whole = pl.col("game_id").is_null().alias("is_whole")
    asked = pl.DataFrame(rows).cast(pl.String).select(location, "sha256", is_whole)
    found = asked.join(
        outdated, on=asked.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    return found["is_gone"].is_not_null().to_numpy()


def write_known_game_ids(database: IngestDatabase, lake: StoredLake | None) -> Path | None:
    """A file of the ids of the lake's games, None where it has none."""
    if lake is None or not lake.file_sizes_bytes("games"):
        return None
    with database.connection(lake) as connection:
        return database.ids_file(connection, "SELECT game_id FROM lake_games", "known")


@contextmanager
def plan_ingest(
    database: IngestDatabase, lake: StoredLake | None, seen: Sequence[Path], faults: Sequence[Path]
) -> Iterator["IngestPlan"]:
    """What an ingest does, given what the lake holds and the files of what the workers found."""
    with database.connection(lake) as connection:
        database.register_files(connection, "found", seen, scanned_documents_frame([]))
        database.compute(connection, "named_before", ingest_statement("named_before"))
        create_query_view(connection, "seen", ingest_statement("seen"))
        of_games = ("new_games", "unindexed", "chosen_documents", "copies", "held")
        steps = {  # each is made of those before it
            "last_here": ingest_statement("last_at", locations="seen"),
            "further_locations": ingest_statement("further_locations"),
            "last_elsewhere": ingest_statement("last_at", locations="further_locations"),
            "last_seen": "FROM last_here UNION ALL FROM last_elsewhere",
            **{
                name: ingest_statement(name)
                for name in (*of_games, "resolved", "superseded", "surplus", "moved")
            },
        }
        for name, select in steps.items():
            database.compute(connection, name, select)
        is_first = lake is not None and not lake.file_sizes_bytes("documents")
        changed = "SELECT location FROM resolved" if is_first else ingest_statement("changed")
        database.compute(connection, "changed", changed)
        is_empty = lake is None or not lake.file_sizes_bytes("quarantine")
        refusals = QuarantineChanges(connection, database, faults, is_empty=is_empty)
        yield IngestPlan(connection, database, refusals)


class IngestPlan:
    """What an ingest does: what becomes of the documents seen, and which games are to go.

    `superseded` are the lake's games that are to go, `superseded_or_moved` also those that are in
    another document now.
    """

    def __init__(
        self, connection: DuckDBPyConnection, database: IngestDatabase, refusals: QuarantineChanges
    ) -> None:
        self._connection = connection
        self._database = database
        self.refusals = refusals
        self.superseded = database.write_ids(connection, "FROM superseded", "superseded")
        with_moved = "FROM superseded UNION ALL SELECT game_id FROM moved"
        self.superseded_or_moved = database.write_ids(connection, with_moved, "superseded_or_moved")
        self._with_surplus = set(
            run_trusted_query(connection, "SELECT DISTINCT worker FROM surplus")["worker"]
        )

    def summary(self, ingest_id: int | None = None) -> IngestSummary:
        """The counts of what the ingest does, None for one that writes nothing."""
        counts = run_trusted_query(self._connection, ingest_statement("counts"))
        n_documents = dict(counts.select("status", "n_documents").iter_rows())
        games = run_trusted_query(
            self._connection,
            "SELECT game_type, count(*) AS n_games FROM resolved WHERE is_chosen "
            "GROUP BY game_type ORDER BY game_type",
        )
        in_other_form = (
            run_trusted_query(self._connection, ingest_statement("in_other_form"))
            if len(games)
            else None
        )
        faults, n_faulty_parts = self.refusals.current(ingest_id or 1)
        return IngestSummary(
            statuses={str(status): n_documents.get(str(status), 0) for status in DocumentStatus},
            games=games,
            faults=faults,
            n_faulty_parts=n_faulty_parts,
            n_superseded=len(self.superseded),
            n_bytes=int(counts["n_bytes"].sum()),
            ingest_id=ingest_id,
            n_in_other_form=0 if in_other_form is None else in_other_form.item(),
            n_known_by_content=int(counts["n_known_by_content"].sum()),
            n_read_votes=int(counts["n_read_votes"].sum()),
            n_undecided_votes=int(counts["n_undecided_votes"].sum()),
            n_unnumbered=int(counts["n_unnumbered"].sum()),
            ignored=run_trusted_query(self._connection, ingest_statement("ignored")),
        )

    def surplus(self, worker: int) -> GameIds:
        """The games that the worker decoded in vain: another copy is taken, or the lake's."""
        if worker not in self._with_surplus:
            return GameIds()
        select = f"SELECT game_id FROM surplus WHERE worker = {worker}"
        return self._database.write_ids(self._connection, select, f"surplus-{worker}")

    def moved_games(self) -> Iterator[pa.Table]:
        """The rows of `games` of those that moved, with their new places, some at a time."""
        columns = "lake_games.* REPLACE (moved.source AS source, moved.path AS path)"
        select = f"SELECT {columns} FROM lake_games INNER JOIN moved USING (game_id)"
        return iter_batches(self._connection, select, BATCH_ROWS)

    def lost(self) -> pl.DataFrame:
        """The documents whose game was known when the ingest began and is not there any more."""
        return run_trusted_query(self._connection, "SELECT location FROM resolved WHERE is_lost")

    def noted(self, archives: pl.DataFrame) -> pl.DataFrame:
        """The rows of `archives` that an ingest adds, of those that it read: all documents of such
        an archive have a row. One that is known has it already, unless one of them changed.
        """
        if archives.is_empty():  # as of most ingests; to ask DuckDB for nothing takes it 10 ms
            numbers = pl.DataFrame(schema={"source_order": pl.Int64, "number": pl.UInt32})
            register_rows(self._connection, "in_archives_read", numbers)
            register_rows(self._connection, "noted", numbers)
            return archives.drop("is_known")
        register_rows(self._connection, "archives_read", archives.with_row_index("number"))
        seen = "(FROM resolved, (SELECT DISTINCT ingest_id FROM archives_read))"
        inside = ingest_statement("in_archives", documents=seen, archives="archives_read")
        create_query_view(self._connection, "in_archives_read", inside)
        noted = run_trusted_query(self._connection, ingest_statement("noted"))
        register_rows(self._connection, "noted", noted)
        return noted.select(list(table_schema("archives")))

    def iter_document_rows(self, ingest_id: int) -> Iterator[pa.Table]:
        """The rows of `documents`, in the order of the sources, some at a time.

        What is as it was has none, but in an archive that is `noted`.
        """
        select = ingest_statement("documents", ingest_id=str(ingest_id))
        return iter_batches(self._connection, select, BATCH_ROWS)


# Large archives that have not changed: what was seen in them before is taken from the lake.
#
# To know each document of an archive again it has to be unpacked and hashed. One hash of the file
# as it lies on disk tells as much, where the same code has read it to its end before, in the same
# way.

_LINE_SEPARATOR = "#"
_FILES_PER_LOOKUP = 256
_ARCHIVE_LOOKUP_SCHEMA = {
    "number": pl.Int64,
    "source": pl.String,
    "prefix": pl.String,
    "n_bytes": pl.Int64,
    "ingest_id": pl.Int64,
}


class _ArchiveVersion(Struct, frozen=True):
    """A row of `archives` in the making; `as_found` is the file's version when it was found."""

    file: str
    as_found: tuple[int, ...]
    source: str
    prefix: str
    n_bytes: int
    sha256: str


class UnchangedArchiveCache:
    """Keeps archives from being read that are as they were before, and notes those that are read.

    `earlier` is a state of the lake, None for nothing; `take` is called with what was seen in
    archives then, as of what a worker found. With `rereads` all are read.
    """

    def __init__(
        self,
        job: IngestJob,
        earlier: StoredLake | None,
        take: Callable[[WorkerFindings], None],
        database: IngestDatabase,
        *,
        rereads: bool = False,
    ) -> None:
        self._rereads = rereads
        self._job = job
        self._earlier = earlier
        self._take = take
        self._database = database
        self._noted: list[_ArchiveVersion] = []
        self._n_reports = 0

    def unread(self, units: Iterator[SourceFile]) -> Iterator[SourceFile]:
        """The units without the archives recalled."""
        if self._rereads or not self._seen_in:
            yield from units
            return
        while some := list(islice(units, _FILES_PER_LOOKUP)):
            recalled = self._recalled(some)
            yield from (unit for unit in some if unit not in recalled)

    def iter_and_record(
        self, unit: SourceFile, documents: Iterator[Document]
    ) -> Iterator[Document]:
        """The documents of an archive, which is noted when all were read."""
        as_found, (source, prefix), document = (
            _file_version(unit),
            _source_and_path_prefix(unit),
            None,
        )
        for document in documents:
            yield document
        # One that breaks off, or is no archive at all, is itself reported at the end. Of a log of
        # lines only lines are looked for later, not parts that have names.
        if document is None or (document.source == source and document.path.startswith(prefix)):
            archive = _hash_archive(unit, as_found)
            self._noted += [archive] if archive else []

    def archives(self, ingest_id: int) -> pl.DataFrame:
        """The rows of `archives` for what was noted and has not changed meanwhile, with `is_known`:
        an earlier ingest, which read as this one did, has noted it.
        """
        schema = table_schema("archives")
        names = [name for name in schema if name != "ingest_id"]
        rows = [
            [
                *(ingest_id, *(getattr(archive, name) for name in names)),
                archive.sha256 in self._seen_in.get((archive.source, archive.prefix), {}),
            ]
            for archive in self._noted
            if file_version(archive.file) == archive.as_found
        ]
        # Of two files whose names print alike nobody can tell later what was in which.
        is_alone = pl.struct("source", "prefix").is_unique()
        known = {"is_known": pl.Boolean()}
        return pl.DataFrame(rows, {**schema, **known}, orient="row").filter(is_alone)

    def _recalled(self, units: Sequence[SourceFile]) -> set[SourceFile]:
        """Those that are archives and have not changed: what was seen in them is reported."""
        known: list[tuple[SourceFile, _ArchiveVersion, int]] = []
        for unit in units:
            seen_in = (
                self._seen_in.get(_source_and_path_prefix(unit), {})
                if unit.can_hold_many_documents
                else {}
            )
            archive = _hash_archive(unit, _file_version(unit)) if seen_in else None
            if archive is not None and archive.sha256 in seen_in:
                known.append((unit, archive, seen_in[archive.sha256]))
        if not known:
            return set()
        rows = [
            (number, archive.source, archive.prefix, archive.n_bytes, ingest_id)
            for number, (_, archive, ingest_id) in enumerate(known)
        ]
        numbers = self._report(pl.DataFrame(rows, schema=_ARCHIVE_LOOKUP_SCHEMA, orient="row"))
        return {known[number][0] for number in numbers}

    @cached_property
    def _seen_in(self) -> dict[tuple[str, str], dict[str, int]]:
        """By home and hash of an archive: the last ingest that read it as this one would."""
        if self._earlier is None or not self._earlier.file_sizes_bytes("archives"):
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
            register_rows(connection, "wanted", wanted)
            inside = ingest_statement("in_archives", documents="documents", archives="wanted")
            for name, select in (
                ("inside", inside),
                ("unknown", ingest_statement("unknown")),
                ("recalled", "FROM inside ANTI JOIN unknown USING (number)"),
            ):
                self._database.compute(connection, name, select)
            self._n_reports += 1
            file = self._database.scratch / f"seen-again-{self._n_reports}.parquet"
            faults = file.with_stem(f"{file.stem}-faults")
            write_parquet(connection, ingest_statement("seen_again"), file)
            write_parquet(connection, ingest_statement("faults_before"), faults)
            archives = run_trusted_query(connection, "FROM wanted ANTI JOIN unknown USING (number)")
            counts = "SELECT count(*), count(*) FILTER (status = 'quarantined') FROM recalled"
            n_documents, n_refused = run_trusted_query(connection, counts).row(0)
        n_bytes = int(archives["n_bytes"].sum())
        rows = {"seen": file, "faults": faults} if n_refused else {"seen": file}
        self._take(WorkerFindings(n_documents, n_bytes, rows))
        return archives["number"].to_list()


def _source_and_path_prefix(unit: SourceFile) -> tuple[str, str]:
    """The source of the documents in an archive, and what their paths begin with."""
    assert unit.file is not None
    return document_location(unit, "/" if file_type(unit.file).is_archive else _LINE_SEPARATOR)


def _file_version(unit: SourceFile) -> tuple[int, ...] | None:
    """The state of the unit's file, None where nobody can tell, as on an object store."""
    return file_version(unit.file) if unit.file is not None else None


def _hash_archive(unit: SourceFile, as_found: tuple[int, ...] | None) -> _ArchiveVersion | None:
    """The unit with its hash; None where it has none, or nobody can tell whether it changes."""
    if unit.file is None or as_found is None or not is_regular_file(unit.file):
        return None
    if not unit.n_bytes:  # a file of the kernel's own may be endless
        return None
    try:
        with Path(unit.file).open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
    source, prefix = _source_and_path_prefix(unit)
    return _ArchiveVersion(unit.file, as_found, source, prefix, unit.n_bytes, sha256)
