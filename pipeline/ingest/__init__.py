"""Ingest: documents of any source become rows of a lake, all of them or none.

Documents are decoded a batch at a time into files that nobody sees yet; one transaction at the end
decides what each document is and makes the files part of the lake.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
from msgspec import Struct

from pipeline import __version__
from pipeline.archives import Document, documents
from pipeline.archives.sources import resolved
from pipeline.errors import LakeError
from pipeline.events.contracts import GAME_TABLES
from pipeline.ingest.decode import (
    KNOWN,
    QUARANTINED,
    Batch,
    Seen,
    decode,
    fault_frame,
    look,
    seen_frame,
)
from pipeline.ingest.state import LOCATION, Resolution, State, known, resolve, state
from pipeline.lake import Lake, create_lake, is_lake, open_lake
from pipeline.lake.files import TableWriter
from pipeline.lake.transaction import Transaction, transaction
from pipeline.vocabulary import DocumentStatus

BATCH_BYTES = 32 * 2**20
BATCH_DOCUMENTS = 4000


class Report(Struct):
    """What an ingest did: documents by status, games by type, games superseded, what is unusable.

    `games` has the columns game_type, n_games (new in the lake); `faults` are the rows of
    `quarantine`, without `raw`, about the documents seen, those of earlier ingests too.
    """

    statuses: dict[str, int]
    games: pl.DataFrame
    faults: pl.DataFrame
    n_superseded: int
    n_bytes: int
    ingest_id: int | None


Progress = Callable[[int, int], None]


def ingest(
    sources: str | Path | Sequence[str | Path],
    lake: str | Path,
    *,
    model: str | None = None,
    dry_run: bool = False,
    on_progress: Progress | None = None,
) -> Report:
    """Reads every document of the sources into the lake, which is made if need be.

    `model` names who played where a log does not say. `on_progress` is told of documents seen and
    of bytes read on disk, as they come. With `dry_run` nothing is written. Raises SourceError for a
    source that cannot be read at all, LakeError for a lake that cannot be written.
    """
    names = [str(source) for source in resolved(sources)]
    started_at = datetime.now(UTC)
    found = _documents(sources, on_progress or (lambda documents, n_bytes: None))
    if dry_run:
        return _rehearse(found, open_lake(lake) if is_lake(lake) else None, model)
    opened = open_lake(lake) if is_lake(lake) else create_lake(lake)
    stage = _Stage(opened)
    try:
        _decode_all(found, state(opened), model, stage)
        with transaction(opened.path) as change:
            return _commit(change, stage, names, started_at)
    except OSError as error:
        # What goes wrong in reading a source is part of its documents; this is the lake's.
        raise LakeError(f"{lake}: the lake could not be written: {error}") from error
    finally:
        stage.discard()


def _documents(
    sources: str | Path | Sequence[str | Path], on_progress: Progress
) -> Iterator[Document]:
    times: Counter[tuple[str, str]] = Counter()
    for document in documents(sources, on_bytes=lambda n_bytes: on_progress(0, n_bytes)):
        on_progress(1, 0)
        place = document.source, document.path
        times[place] += 1
        # An archive can have members of one name; each is a document of its own.
        nth = times[place]
        yield document if nth == 1 else document._replace(path=f"{document.path} ({nth})")


class _Stage:
    """Files written so far, part of no table yet, and what was seen."""

    def __init__(self, lake: Lake | None) -> None:
        self.seen: list[pl.DataFrame] = []
        self.faults: list[dict[str, object]] = []
        self.games: list[pl.DataFrame] = []
        self._lake = lake
        self.writers = (
            {table: TableWriter(lake.folder(table), table) for table in GAME_TABLES} if lake else {}
        )

    def add(self, batch: Batch) -> None:
        self.seen.append(seen_frame(batch.seen))
        self.faults += batch.faults
        self.games.append(batch.tables["games"].select("game_id", "game_type"))
        for table, writer in self.writers.items():
            writer.write(batch.tables[table])

    def all_seen(self) -> pl.DataFrame:
        return pl.concat(self.seen) if self.seen else seen_frame([])

    def all_games(self) -> pl.DataFrame:
        empty = pl.DataFrame(schema={"game_id": pl.String, "game_type": pl.String})
        return pl.concat([empty, *self.games])

    def close(self) -> None:
        for writer in self.writers.values():
            writer.close()

    def release(self) -> None:
        """Leaves the files to a commit; from here on they are not deleted."""
        self.writers = {}

    def discard(self) -> None:
        """Deletes the files that were not released."""
        for table, writer in self.writers.items():
            writer.close()
            assert self._lake is not None
            for file in writer.files:
                (self._lake.folder(table) / file.name).unlink(missing_ok=True)


def _decode_all(found: Iterable[Document], held: State, model: str | None, stage: _Stage) -> None:
    decoded: set[str] = set()
    for batch in _batches(found):
        seen = [look(document) for document in batch]
        _mark_known(seen, held, model)
        stage.add(decode(batch, seen, model, decoded))


def _batches(found: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    n_bytes = 0
    for document in found:
        batch.append(document)
        n_bytes += len(document.data or b"")
        if n_bytes >= BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS:
            yield batch
            batch, n_bytes = [], 0
    if batch:
        yield batch


def _mark_known(seen: Sequence[Seen], held: State, model: str | None) -> None:
    if held.games.is_empty():
        return
    for one, (game_id, assigned) in zip(
        seen, known(seen_frame(seen), held, model).iter_rows(), strict=True
    ):
        if game_id is not None:
            one.found, one.game_id, one.assigned_model = KNOWN, game_id, assigned


def _rehearse(found: Iterable[Document], lake: Lake | None, model: str | None) -> Report:
    stage = _Stage(None)
    held = state(lake)
    _decode_all(found, held, model, stage)
    resolution = resolve(stage.all_seen(), held)
    now = fault_frame(stage.faults, 1)
    before = lake.table("quarantine").drop("raw").collect() if lake else now.drop("raw").clear()
    return _report(resolution, stage, _faults(before, now, resolution).current, None)


def _commit(change: Transaction, stage: _Stage, sources: list[str], started_at: datetime) -> Report:
    stage.close()
    resolution = resolve(stage.all_seen(), state(change.lake))
    _refuse_lost_race(resolution)
    for table in GAME_TABLES:
        change.remove(table, resolution.superseded)
        change.add(table, change.without(table, stage.writers[table].files, resolution.surplus))
    documents = resolution.documents.with_columns(ingest_id=pl.lit(change.ingest_id))
    change.write("documents", documents)
    before = change.lake.table("quarantine").drop("raw").collect()
    faults = _faults(before, fault_frame(stage.faults, change.ingest_id), resolution)
    change.remove("quarantine", faults.gone)
    change.write("quarantine", faults.new)
    report = _report(resolution, stage, faults.current, change.ingest_id)
    stage.release()
    change.commit(
        {
            "started_at": started_at,
            "sources": sources,
            "n_documents": documents.height,
            **{f"n_{status}": n for status, n in report.statuses.items()},
            "n_superseded": report.n_superseded,
            "tool_version": __version__,
        }
    )
    return report


def _refuse_lost_race(resolution: Resolution) -> None:
    """A game known when the ingest began may be gone when it ends; it was not decoded then."""
    lost = resolution.documents.filter((pl.col("found") == KNOWN) & pl.col("game_id").is_null())
    if lost.height:
        raise LakeError(
            f"another ingest took out {lost.height} games meanwhile, such as that of "
            f"{lost['path'][0]}; nothing was changed: run this ingest again"
        )


class _Faults(Struct):
    """What becomes of the quarantine: versions of documents to take out, and rows to add.

    `current` are all rows of the documents seen, old and new.
    """

    gone: pl.DataFrame
    new: pl.DataFrame
    current: pl.DataFrame


def _faults(before: pl.DataFrame, now: pl.DataFrame, resolution: Resolution) -> _Faults:
    """Brings the quarantine up to what the documents seen are now.

    A row stays while its document is as it was, or its game is still in the lake.
    """
    version = ["location", "sha256"]
    seen, before, now = resolution.documents, _located(before), _located(now)
    is_taken_out = pl.col("game_id").is_in(resolution.superseded["game_id"].implode())
    outdated = (
        before.filter(pl.col("game_id").is_null())
        .join(seen, on="location", how="semi")
        .join(now, on=version, how="anti", nulls_equal=True)
    )
    gone = pl.concat([before.filter(is_taken_out), outdated]).unique()
    stays = before.join(gone, on=version, how="anti", nulls_equal=True)
    # A copy of a game does not repeat the faults of its parts.
    own = seen.filter(pl.col("is_bearer") | (pl.col("found") == QUARANTINED))
    new = now.join(stays, on=version, how="anti", nulls_equal=True)
    new = new.join(own, on="location", how="semi").drop("location")
    known = stays.join(seen, on=version, how="semi", nulls_equal=True).drop("location")
    current = pl.concat([known, new.drop("raw")])
    gone = gone.select("source", "path", "sha256").unique()
    return _Faults(gone, new, current)


def _located(faults: pl.DataFrame) -> pl.DataFrame:
    return faults.with_columns(location=LOCATION)


def _report(
    resolution: Resolution, stage: _Stage, faults: pl.DataFrame, ingest_id: int | None
) -> Report:
    counted = resolution.documents.group_by("status").len()
    by_status = dict(counted.iter_rows())
    new = stage.all_games().join(resolution.surplus, on="game_id", how="anti")
    return Report(
        statuses={str(status): by_status.get(str(status), 0) for status in DocumentStatus},
        games=new.group_by("game_type").agg(n_games=pl.len()).sort("game_type"),
        faults=faults,
        n_superseded=resolution.superseded.height,
        n_bytes=int(resolution.documents["n_bytes"].sum()),
        ingest_id=ingest_id,
    )
