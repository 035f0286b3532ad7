"""Decode batches of documents into rows of games, and record the errors of invalid documents.

This module also defines sets of game ids, the models that an ingest assigns to logs, and the
summary of an ingest. Workers use it; it depends on the formats and on `pipeline.events`.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import compress
from operator import attrgetter
from pathlib import Path
from typing import Self

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
from msgspec import Struct, field
from numpy.typing import NDArray

from pipeline.archives import Document, ExternalDocument
from pipeline.archives.sources import containing_file_path
from pipeline.errors import SourceError, UsageError
from pipeline.events import arrow, readings
from pipeline.events.contracts import table_schema
from pipeline.events.frames import (
    EventFrames,
    IdentifiedGame,
    ParsedVoteCounts,
    build_event_frames,
)
from pipeline.events.readings import (
    content_id,
    game_id,
    game_index_from_path,
    hash_document,
    sha256,
)
from pipeline.formats import (
    format_bug_message,
    ignored_reason,
    read_game,
    record_builder,
)
from pipeline.game_record import InvalidDocumentError, RecordError

_ID_DTYPE = np.dtype("S16")
"""A game id as 16 bytes; a set of strings would need 120 bytes per id."""


class GameIds:
    """A set of game ids that needs 16 bytes per id, in memory or in a file for many processes."""

    def __init__(self, *sorted_arrays: NDArray[np.bytes_]) -> None:
        self._sorted_arrays = list(sorted_arrays)

    @classmethod
    def write_ids_file(cls, id_batches: Iterable[pa.Table], file: Path) -> None:
        """Write sorted ids to a file for `open_ids_file`.

        Args:
            id_batches: Tables with one column: the ids as hexadecimal text, in ascending order.
            file: Path of the file.
        """
        with file.open("wb") as id_file:
            for batch in id_batches:
                id_file.write(_to_id_array(batch.column(0).to_pylist()).tobytes())

    @classmethod
    def open_ids_file(cls, file: str | Path) -> Self:
        """Return the set of ids in a file; parts of the file are read when ids are looked up.

        Args:
            file: Path of a file from `write_ids_file` with at least one id. It must exist while the
                set is used.
        """
        return cls(np.memmap(file, _ID_DTYPE, mode="r"))

    def __len__(self) -> int:
        """Return the number of ids."""
        return sum(map(len, self._sorted_arrays))

    def contains_each(self, ids: Sequence[str]) -> NDArray[np.bool_]:
        """Return a boolean array that says for each id if it is in the set.

        Args:
            ids: Game ids as hexadecimal text.
        """
        searched_ids, is_present = _to_id_array(ids), np.zeros(len(ids), np.bool_)
        for sorted_ids in self._sorted_arrays:
            is_present |= (
                sorted_ids[np.searchsorted(sorted_ids, searched_ids).clip(max=len(sorted_ids) - 1)]
                == searched_ids
            )
        return is_present

    def contains_each_in_column(self, column: pa.ChunkedArray) -> NDArray[np.bool_]:
        """Return a boolean array that says for each row of a column if its id is in the set.

        Args:
            column: Ids as dictionary-encoded hexadecimal text.
        """
        masks = [np.zeros(0, np.bool_)]
        for chunk in column.chunks:
            # Converted by polars, because Arrow would import pandas if it is installed.
            id_indices = arrow.series_from_arrow("id", chunk.indices).to_numpy()
            masks.append(self.contains_each(chunk.dictionary.to_pylist())[id_indices])
        return np.concatenate(masks)

    def add_new_ids(self, ids: Sequence[str]) -> None:
        """Add ids to the set; none of them may be in the set already.

        Args:
            ids: Game ids as hexadecimal text.
        """
        new_ids = np.sort(_to_id_array(ids))
        # Arrays double in size when they are merged, so each id is sorted again only a few times.
        while self._sorted_arrays and len(self._sorted_arrays[-1]) < 2 * len(new_ids):
            new_ids = np.sort(np.concatenate([self._sorted_arrays.pop(), new_ids]))
        self._sorted_arrays += [new_ids] if len(new_ids) else []


def _to_id_array(ids: Sequence[str]) -> NDArray[np.bytes_]:
    return np.frombuffer(bytes.fromhex("".join(ids)), _ID_DTYPE)


# A document gets one string, a model's name or players' models in JSON, because the string is part
# of the game's id.

ModelsOf = Mapping[str, str | Mapping[str, str]]

_MATCH_ALL_PATHS = "*"
_SORTED_JSON_ENCODER = msgspec.json.Encoder(order="sorted")


class AssignedModels(Struct, frozen=True):
    """The models that an ingest assigns to logs without model names, by path pattern.

    Attributes:
        model_by_pattern: Pairs of a pattern and a model (or players' models in JSON); the first
            match applies.
    """

    model_by_pattern: tuple[tuple[str, str], ...] = ()

    @classmethod
    def from_model_argument(cls, model: str | ModelsOf | None) -> Self:
        """Create the object from the `model` argument of an ingest.

        Args:
            model: A model for all documents, a model or players' models by path pattern, or None.

        Raises:
            UsageError: If a model's name is empty.
        """
        model_by_pattern = {_MATCH_ALL_PATHS: model} if isinstance(model, str) else model or {}
        return cls(
            tuple(
                (pattern, _model_name_or_models_json(model_by_pattern[pattern]))
                for pattern in model_by_pattern
            )
        )

    def model_at_path(self, path: str) -> str | None:
        """Return the model that the first matching pattern assigns to a document.

        Args:
            path: Path of the document.

        Returns:
            A model, or players' models in JSON; None if no pattern matches.
        """
        file = containing_file_path(path)
        return next(
            (text for pattern, text in self.model_by_pattern if fnmatchcase(file, pattern)), None
        )

    @property
    def as_name_or_json(self) -> str | None:
        """The name of the model for all documents, or else models by pattern as JSON.

        None if no model is assigned.
        """
        if [pattern for pattern, _ in self.model_by_pattern] == [_MATCH_ALL_PATHS]:
            return self.model_by_pattern[0][1]
        return (
            msgspec.json.encode(dict(self.model_by_pattern)).decode()
            if self.model_by_pattern
            else None
        )


def combine_model_and_models_file(
    model: str | None, file: str | Path | None
) -> str | ModelsOf | None:
    """Combine a model with a file of models by path pattern, as the `model` argument of an ingest.

    Args:
        model: The model for documents that match no pattern of the file, or None.
        file: A file for `read_models_by_path_pattern`, or None.

    Returns:
        A model or models by pattern; None if both arguments are None.
    """
    if file is None:
        return model
    model_by_pattern = read_models_by_path_pattern(file)
    return (
        model_by_pattern
        if model is None
        else {**model_by_pattern, "*": model_by_pattern.get("*", model)}
    )


def read_models_by_path_pattern(file: str | Path) -> ModelsOf:
    """Read a TOML or JSON file that maps path patterns to models.

    Args:
        file: Path of the file; it is read as JSON unless its extension is `.toml`.

    Returns:
        By pattern, a model or a mapping of players to models.

    Raises:
        UsageError: If the content is invalid.
        SourceError: If the file cannot be read.
    """
    try:
        # Some editors write a byte order mark at the beginning of a file.
        data = Path(file).read_bytes().decode("utf-8-sig")
        if Path(file).suffix == ".toml":
            return msgspec.convert(tomllib.loads(data), dict[str, str | dict[str, str]])
        return msgspec.json.decode(data, type=dict[str, str | dict[str, str]])
    except OSError as error:
        raise SourceError(f"{file}: {error.strerror}") from error
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        hint = "the file must map path patterns to a model, or to players with a model each"
        raise UsageError(f"{file}: {hint} ({error})") from error


def _model_name_or_models_json(model: str | Mapping[str, str]) -> str:
    """Return a model's name, or players' models as JSON; raise UsageError for empty names."""
    names = [model] if isinstance(model, str) else list(model.values())
    if not names or not all(name.strip() for name in names):
        raise UsageError("the model's name is empty; leave it out if the logs say who played")
    return model if isinstance(model, str) else _SORTED_JSON_ENCODER.encode(dict(model)).decode()


MAX_STORED_RAW_BYTES = 64 * 2**10
# The errors of one document must not need more memory than a valid document.
MAX_ERRORS_PER_DOCUMENT = 20
MAX_STORED_TEXT_LENGTH = 1000
UNEXPECTED_ERROR_RULE = "no unexpected error in magic"

# The values of `ScannedDocument.status_alone`.
GAME, KNOWN, QUARANTINED, IGNORED = "game", "known", "quarantined", "ignored"

SCANNED_DOCUMENT_SCHEMA: dict[str, pl.DataType] = {
    "source_order": pl.Int64(),
    "source": pl.String(),
    "path": pl.String(),
    "n_bytes": pl.Int64(),
    "sha256": pl.String(),
    "game_index": pl.Int64(),
    "assigned_model": pl.String(),
    "status_alone": pl.String(),
    "format": pl.String(),
    "reason": pl.String(),
    "game_id": pl.String(),
    "game_type": pl.String(),
    "content_id": pl.String(),
    "stated_index": pl.Int64(),
    "n_read_votes": pl.Int64(),
    "n_undecided_votes": pl.Int64(),
}
QUARANTINE_ROW_SCHEMA = {
    name: dtype for name, dtype in table_schema("quarantine").items() if name != "ingest_id"
}


class ScannedDocument(Struct, gc=False):
    """A document of an ingest, from which a row of the table `documents` is made.

    Attributes:
        source_order: Position of the document in the order of the sources.
        source: Source of the document.
        path: Path of the document in its source.
        n_bytes: Size of the document, None if it was not read.
        sha256: Hash of the document; for some formats, of its game.
        game_index: Number of the game in the document's path.
        assigned_model: The model that the ingest assigned to the game.
        status_alone: `game`, `known`, `quarantined` or `ignored`: the status of the document by
            itself, before it is compared with other documents and the lake.
        format: Format of the log.
        reason: Why the document is quarantined or ignored.
        game_id: Id of the game.
        game_type: Type of the game.
        content_id: Hash of the game's content, which does not depend on its JSON formatting.
        stated_index: Number of the game that the document itself contains.
        n_read_votes: Number of the game's votes that the log contains only as text.
        n_undecided_votes: Number of these votes whose text names no single player.
    """

    source_order: int
    source: str
    path: str
    n_bytes: int | None = None
    sha256: str | None = None
    game_index: int | None = None
    assigned_model: str | None = None
    status_alone: str = IGNORED
    format: str | None = None
    reason: str | None = None
    game_id: str | None = None
    game_type: str | None = None
    content_id: str | None = None
    stated_index: int | None = None
    n_read_votes: int = 0
    n_undecided_votes: int = 0


class QuarantineRow(Struct, gc=False):
    """A row of the table `quarantine`, without the column `ingest_id`."""

    source: str
    path: str
    sha256: str | None
    game_id: str | None
    json_path: str
    rule: str
    message: str
    n_bytes: int | None
    raw: bytes | None


class IngestSummary(Struct):
    """Counts of the documents and games of an ingest, and its errors.

    Attributes:
        statuses: Number of documents by status.
        games: Columns game_type, n_games: the games that are new in the lake.
        faults: The first rows of `quarantine` about these documents, without `raw`. They can be
            from earlier ingests.
        n_faulty_parts: Number of all rows about these documents that concern a part of a game.
        n_superseded: Number of games that were replaced.
        n_bytes: Size of the documents in bytes.
        ingest_id: Number of the ingest; None if nothing was written.
        n_in_other_form: Number of new games that have the content of another game, in other JSON.
        n_known_by_content: Number of documents without model names whose game the lake has.
        n_read_votes: Number of votes of new games that the log contains only as text.
        n_undecided_votes: Number of these votes whose text names no single player.
        n_unnumbered: Number of duplicates in interchange JSON that does not number its games.
        ignored: Columns reason, n_documents, example: the ten most frequent reasons.
        left: Files that could not be deleted after the commit.
        upgraded_from: Earlier contract version of the lake, if the ingest upgraded it.
    """

    statuses: dict[str, int]
    games: pl.DataFrame
    faults: pl.DataFrame
    n_faulty_parts: int
    n_superseded: int
    n_bytes: int
    ingest_id: int | None
    n_in_other_form: int
    n_known_by_content: int
    n_read_votes: int
    n_undecided_votes: int
    n_unnumbered: int
    ignored: pl.DataFrame
    left: Sequence[str] = ()
    upgraded_from: str | None = None

    @property
    def n_seen(self) -> int:
        """The number of documents in the sources."""
        return sum(self.statuses.values())

    @property
    def n_of_games(self) -> int:
        """The number of documents with a game, whether new or known."""
        return self.n_seen - self.statuses["quarantined"] - self.statuses["ignored"]


class DecodedBatch(Struct):
    """The result of decoding a batch of documents.

    Attributes:
        seen: The documents.
        faults: Rows for the table `quarantine`.
        tables: Rows of the new games, by name of the table.
    """

    scanned_documents: list[ScannedDocument] = field(default_factory=list)
    quarantine_rows: list[QuarantineRow] = field(default_factory=list)
    tables: dict[str, pa.Table] = field(default_factory=dict)


def scan_document(document: Document, source_order: int) -> ScannedDocument:
    """Determine the size, hash and game index of a document, without decoding it.

    Args:
        document: The document.
        source_order: The position of the document in the order of the sources.

    Returns:
        The result. A document without bytes is marked as quarantined or ignored.
    """
    scanned = ScannedDocument(source_order, document.source, document.path, reason=document.reason)
    if document.data is None:
        scanned.status_alone = QUARANTINED if document.is_broken else IGNORED
        return scanned
    scanned.n_bytes = len(document.data)
    scanned.sha256 = sha256(document.data)
    scanned.game_index = game_index_from_path(document.path)
    return scanned


def decode_documents(
    documents: Sequence[Document],
    scanned_documents: Sequence[ScannedDocument],
    models: AssignedModels,
    decoded_ids: GameIds,
) -> DecodedBatch:
    """Decode a batch of documents into rows of games, and quarantine or ignore other documents.

    Documents that are marked as known are skipped.

    Args:
        documents: The documents.
        scanned_documents: The result of `scan_document` for each document; it is updated in place.
        models: The models for documents that name none.
        decoded_ids: The ids of games that were decoded before, whose rows are not built again. The
            ids of the batch are added.

    Returns:
        The rows and errors of the batch.
    """
    batch = DecodedBatch(scanned_documents=list(scanned_documents))
    games: dict[str, IdentifiedGame] = {}
    for document, scanned in zip(documents, scanned_documents, strict=True):
        if scanned.status_alone == KNOWN:
            continue
        if document.data is None:
            if document.is_broken:
                error = RecordError("$", "the document can be read", document.reason or "it cannot")
                batch.quarantine_rows.append(_quarantine_row(scanned, None, error))
            continue
        game = _decode_or_quarantine_document(document.data, scanned, models, batch)
        if game:
            games.setdefault(game.game_id, game)
    is_new = ~decoded_ids.contains_each(list(games))
    frames = _build_frames_excluding_failing_games(list(compress(games.values(), is_new)))
    for cached_module in (readings, record_builder):
        cached_module.clear_cache()
    batch.tables = frames.tables
    for scanned in scanned_documents if frames.parsed_votes else ():
        scanned.n_read_votes, scanned.n_undecided_votes = frames.parsed_votes.get(
            scanned.game_id or "", ParsedVoteCounts()
        )
    if frames.invalid_games:
        _remove_and_quarantine_invalid_games(frames.invalid_games, batch, documents)
    external_paths = {
        document[:2] for document in documents if isinstance(document, ExternalDocument)
    }
    for row in batch.quarantine_rows:
        row.raw = None if (row.source, row.path) in external_paths else row.raw
    decoded_ids.add_new_ids(batch.tables["games"]["game_id"].to_pylist())
    return batch


def _build_frames_excluding_failing_games(games: Sequence[IdentifiedGame]) -> EventFrames:
    """Build the rows of games; if a game raises an error, return it as invalid.

    Halves of the games are tried recursively to find the game that raises the error.
    """
    try:
        return build_event_frames(games)
    except MemoryError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        if len(games) == 1:
            reason = format_bug_message(error, games[0].game.format)
            record_error = RecordError(
                "$", UNEXPECTED_ERROR_RULE, f"its rows cannot be made: {reason}"
            )
            return EventFrames(build_event_frames([]).tables, {games[0].game_id: record_error})
    half = len(games) // 2
    first_frames, second_frames = (
        _build_frames_excluding_failing_games(games[:half]),
        _build_frames_excluding_failing_games(games[half:]),
    )
    # Empty tables are omitted, because they can encode strings differently.
    tables = {
        name: pa.concat_tables(
            [part for part in (rows, second_frames.tables[name]) if part.num_rows] or [rows]
        )
        for name, rows in first_frames.tables.items()
    }
    return EventFrames(
        tables,
        first_frames.invalid_games | second_frames.invalid_games,
        first_frames.parsed_votes | second_frames.parsed_votes,
    )


def _decode_or_quarantine_document(
    data: bytes, scanned: ScannedDocument, models: AssignedModels, batch: DecodedBatch
) -> IdentifiedGame | None:
    """Return the game of a document, or None if the document is quarantined or ignored.

    The result is also recorded in `scanned` and `batch`.
    """
    assert scanned.sha256 is not None
    game = None
    try:
        game = read_game(data, models.model_at_path(scanned.path), scanned.path)
        game_content_id = "" if game is None else content_id(game)
    except InvalidDocumentError as error:
        _quarantine_document(scanned, data, error.fault, batch)
        return None
    except MemoryError:
        raise  # Memory can run out at any document.
    except Exception as error:
        reason = format_bug_message(error, game.format if game else "")
        _quarantine_document(scanned, data, RecordError("$", UNEXPECTED_ERROR_RULE, reason), batch)
        return None
    if game is None:
        scanned.status_alone, scanned.reason = IGNORED, ignored_reason(data, scanned.path)
        return None
    scanned.status_alone, scanned.format, scanned.game_type = GAME, game.format, str(game.game_type)
    if game.log_id is not None:
        scanned.sha256 = hash_document(data, game, game_content_id)
    scanned.assigned_model = game.assigned_model
    index, scanned.stated_index = scanned.game_index, game.game_index
    if game.game_index is not None:  # The id then does not depend on the path.
        index, scanned.game_index = game.game_index, None
    scanned.game_id = game_id(scanned.sha256, scanned.game_index, scanned.assigned_model)
    scanned.content_id = game_content_id
    for fault in _first_errors_and_summary(game.faults):
        batch.quarantine_rows.append(_quarantine_row(scanned, data, fault))
    return IdentifiedGame(
        game,
        game_id=scanned.game_id,
        game_index=index,
        sha256=scanned.sha256,
        content_id=game_content_id,
        source=scanned.source,
        path=scanned.path,
    )


def _quarantine_document(
    scanned: ScannedDocument, data: bytes, fault: RecordError, batch: DecodedBatch
) -> None:
    """Mark a document as quarantined, and add a quarantine row to the batch."""
    scanned.status_alone, scanned.reason = QUARANTINED, fault.message[:MAX_STORED_TEXT_LENGTH]
    batch.quarantine_rows.append(_quarantine_row(scanned, data, fault))


def _first_errors_and_summary(errors: Sequence[RecordError]) -> Sequence[RecordError]:
    """Limit the errors of a document to the first ones and a summary of the rest.

    This saves memory and space, because each quarantine row repeats the document.
    """
    if len(errors) <= MAX_ERRORS_PER_DOCUMENT:
        return errors
    first_errors = errors[: MAX_ERRORS_PER_DOCUMENT - 1]
    summary = f"{len(errors) - len(first_errors):,} more parts of this document cannot be used"
    return [
        *first_errors,
        RecordError("$", f"a document has at most {MAX_ERRORS_PER_DOCUMENT} faulty parts", summary),
    ]


def _quarantine_row(
    scanned: ScannedDocument, data: bytes | None, fault: RecordError
) -> QuarantineRow:
    return QuarantineRow(
        scanned.source,
        scanned.path,
        scanned.sha256,
        scanned.game_id,
        fault.json_path[:MAX_STORED_TEXT_LENGTH],
        fault.rule,
        fault.message[:MAX_STORED_TEXT_LENGTH],
        scanned.n_bytes,
        None if data is None else data[:MAX_STORED_RAW_BYTES],
    )


def _remove_and_quarantine_invalid_games(
    error_by_game_id: dict[str, RecordError], batch: DecodedBatch, documents: Sequence[Document]
) -> None:
    """Remove the rows of invalid games from a batch, and quarantine their documents."""
    batch.quarantine_rows = [
        fault for fault in batch.quarantine_rows if fault.game_id not in error_by_game_id
    ]
    for table, rows in batch.tables.items():
        game_ids = pl.DataFrame(rows.select(["game_id"])).to_series().cast(pl.String)
        is_invalid = game_ids.is_in(list(error_by_game_id))
        batch.tables[table] = rows.filter((~is_invalid).to_arrow())
    for document, scanned in zip(documents, batch.scanned_documents, strict=True):
        if scanned.status_alone == GAME and scanned.game_id in error_by_game_id:
            assert document.data is not None
            fault, scanned.game_id = error_by_game_id[scanned.game_id], None
            _quarantine_document(scanned, document.data, fault, batch)


def scanned_documents_frame(
    scanned_documents: Sequence[ScannedDocument], worker: int = 0
) -> pl.DataFrame:
    """Convert scanned documents to a frame with one row per document.

    Args:
        scanned_documents: The documents.
        worker: Number of the worker that scanned the documents.

    Returns:
        A frame with the columns of `SCANNED_DOCUMENT_SCHEMA` and `worker`.
    """
    return _structs_to_frame(scanned_documents, SCANNED_DOCUMENT_SCHEMA).with_columns(
        worker=pl.lit(worker, pl.Int32)
    )


def quarantine_frame(rows: Sequence[QuarantineRow]) -> pl.DataFrame:
    """Convert quarantine rows to a frame with the columns of `quarantine`, except `ingest_id`.

    Args:
        rows: The rows.
    """
    return _structs_to_frame(rows, QUARANTINE_ROW_SCHEMA)


def _structs_to_frame(rows: Sequence[Struct], schema: dict[str, pl.DataType]) -> pl.DataFrame:
    columns = {name: list(map(attrgetter(name), rows)) for name in schema}
    return pl.DataFrame(columns, schema=schema)
