"""Archives that have not changed: what an earlier ingest saw in them is taken from the lake.

To know each document of an archive again it has to be unpacked and hashed. One hash of the file as
it lies on disk tells as much, where an ingest of the same version has read it to its end before, in
the same way.
"""

import hashlib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

import polars as pl
from msgspec import Struct

from pipeline import __version__
from pipeline.archives import Unit, named
from pipeline.archives.names import form_of
from pipeline.events.contracts import polars_schema
from pipeline.ingest.decode import FAULT_SCHEMA, KNOWN, QUARANTINED, SEEN_SCHEMA
from pipeline.ingest.state import LOCATION, KnownGames, known, state
from pipeline.ingest.worker import Found, Job, packed
from pipeline.lake import Lake
from pipeline.stores import is_regular, version

# Before the places of all documents that are read.
_FIRST_PLACE = -(2**62)


class _Archive(Struct):
    """One archive on this machine; what is in it has this source, and a path with this prefix."""

    file: str
    n_bytes: int
    location: str
    source: str
    prefix: str
    version: tuple[int, ...]
    sha256: str | None = None

    def hash(self) -> None:
        """Hashes the file, unless that was done; what cannot be read stays without."""
        if self.sha256 is None and is_regular(self.file):
            try:
                with Path(self.file).open("rb") as file:
                    self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError:
                return

    def is_as_found(self) -> bool:
        """Whether it was not changed since it was found: its hash is of what was read."""
        return self.sha256 is not None and version(self.file) == self.version


class Recall:
    """Keeps archives from being read that have not changed, and notes those that are read.

    `take` is given what was seen in one before, as if a worker had found it now.
    """

    def __init__(self, job: Job, lake: Lake | None, take: Callable[[Found], None]) -> None:
        self._job = job
        self._lake = lake
        self._take = take
        self._archives: list[_Archive] = []
        self._next_place = _FIRST_PLACE

    def unread(self, units: Iterator[Unit]) -> Iterator[Unit]:
        """The units but for the archives recalled; one that is read is hashed when it is done."""
        for unit in units:
            archive = _archive(unit)
            if archive is None:
                yield unit
                continue
            found = self._recalled(archive)
            if found is not None:
                self._take(found)
            else:
                yield unit
                archive.hash()
            self._archives.append(archive)

    def archives(self, documents: pl.DataFrame) -> pl.DataFrame:
        """The rows of `archives`, but for the ingest, given all documents seen.

        An archive that is itself among the documents was not read to its end, or not at all.
        """
        columns = ["location", *(name for name in polars_schema("archives") if name != "ingest_id")]
        rows = [
            [getattr(archive, name) for name in columns]
            for archive in self._archives
            if archive.is_as_found()
        ]
        schema = {"location": pl.String(), **polars_schema("archives")}
        return (
            pl.DataFrame(rows, schema={name: schema[name] for name in columns}, orient="row")
            .join(documents.select(location=LOCATION), on="location", how="anti")
            .drop("location")
        )

    def _recalled(self, archive: _Archive) -> Found | None:
        """What an earlier ingest saw in it, where reading it would give the same."""
        earlier = self._earlier.get((archive.source, archive.prefix))
        if earlier is None:
            return None
        ingest_id, sha256 = earlier
        archive.hash()
        return self._found(archive, ingest_id) if archive.sha256 == sha256 else None

    @cached_property
    def _earlier(self) -> dict[tuple[str, str], tuple[int, str]]:
        """By source and prefix: the last ingest that read as this one would, and the hash."""
        if self._lake is None:
            return {}
        as_now = {"tool_version": __version__, **self._job.settings()}
        alike = self._table("ingests").filter(
            *(pl.col(name).eq_missing(pl.lit(value)) for name, value in as_now.items())
        )
        last = (
            self._table("archives")
            .join(alike, on="ingest_id", how="semi")
            .sort("ingest_id")
            .select("source", "prefix", "ingest_id", "sha256")
            .collect()
        )
        return {
            (source, prefix): (ingest_id, sha256)
            for source, prefix, ingest_id, sha256 in last.iter_rows()
        }

    @cached_property
    def _games(self) -> KnownGames | None:
        return KnownGames.load(self._job.known) if self._job.known else None

    def _found(self, archive: _Archive, ingest_id: int) -> Found | None:
        """The documents of an archive as a worker would tell of them that knows all of its games.

        None where it would have to decode one, or the lake does not say what is wrong with one.
        """
        documents = (
            self._table("documents")
            .filter(
                pl.col("ingest_id") == ingest_id,
                pl.col("source") == archive.source,
                pl.col("path").str.starts_with(archive.prefix),
            )
            .collect()
        )
        sha256 = documents["sha256"]
        games = self._games.among(sha256) if self._games else state(None)
        held = known(documents, games, self._job.model)
        if (documents["game_id"].is_not_null() & held["game_id"].is_null()).any():
            return None
        seen = _seen(documents, held, self._next_place)
        faults = self._faults(seen.filter(found=QUARANTINED))
        if faults is None:
            return None
        self._next_place += seen.height
        return Found(seen.height, archive.n_bytes, packed([seen]), packed([faults]))

    def _faults(self, refused: pl.DataFrame) -> pl.DataFrame | None:
        """The faults of the refused documents, None where those of one are not in the lake."""
        document = ["source", "path", "sha256"]
        faults = (
            self._table("quarantine")
            .filter(pl.col("game_id").is_null())
            .join(refused.lazy(), on=document, how="semi", nulls_equal=True)
            .select(*FAULT_SCHEMA)
            .collect()
        )
        return faults if faults.n_unique(document) == refused.height else None

    def _table(self, name: str) -> pl.LazyFrame:
        assert self._lake is not None
        return self._lake.table(name)


def _archive(unit: Unit) -> _Archive | None:
    """The unit as an archive; None for one that is none, or of which no version can be told."""
    found = version(unit.file) if unit.file is not None and unit.holds_many else None
    if unit.file is None or found is None:
        return None
    source, prefix = named(unit, "/" if form_of(unit.file).is_archive else "#")
    location = f"{unit.source}/{unit.path}"
    return _Archive(unit.file, unit.n_bytes, location, source, prefix, found)


def _seen(documents: pl.DataFrame, held: pl.DataFrame, first_place: int) -> pl.DataFrame:
    """Rows of `documents` as seen again; `held` has the games that the lake has of them."""
    is_game = held["game_id"].is_not_null()
    otherwise = pl.when(~is_game)
    return documents.select(
        pl.int_range(first_place, first_place + pl.len(), dtype=pl.Int64).alias("place"),
        *("source", "path", "n_bytes", "sha256", "game_index"),
        held["assigned_model"],
        otherwise.then("status").otherwise(pl.lit(KNOWN)).alias("found"),
        otherwise.then("format").alias("format"),
        otherwise.then("reason").alias("reason"),
        held["game_id"],
        pl.lit(None, SEEN_SCHEMA["game_type"]).alias("game_type"),
        pl.lit(0, pl.Int32).alias("worker"),
    )
