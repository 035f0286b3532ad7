"""Convert logs of any format to interchange JSON, and validate interchange documents.

`magic convert` and `magic validate` use this module.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pipeline import games
from pipeline.archives import MAX_DOCUMENT_BYTES, Document, Sources, iter_documents
from pipeline.events.frames import IdentifiedGame, build_event_frames
from pipeline.events.readings import (
    content_id,
    game_id,
    game_index_from_path,
    hash_document,
    sha256,
)
from pipeline.formats import (
    NO_MODEL,
    can_be_log_of_unsupported_program,
    find_splitter,
    ignored_reason,
    inspect,
    read_game,
)
from pipeline.formats.interchange import NAME, VERSION_KEY, encode_game
from pipeline.formats.record_builder import clear_cache
from pipeline.formats.sniffer import invalid_document_error
from pipeline.game_record import GameRecord, InvalidDocumentError, RecordError
from pipeline.games import iter_missing_metric_messages, load_game_definition
from pipeline.plugins import PluginError

_MAX_BATCH_DOCUMENTS = 1_000
_MAX_BATCH_BYTES = 2**24


class ConvertedDocument(NamedTuple):
    """The result of converting one document.

    Attributes:
        location: Source and path of the document.
        line: The game as one line of interchange JSON, or None.
        faults: Errors in the document and its parts.
        ignored: The reason why no format accepts the document; None for a log.
        is_duplicate: Whether another document contains the same game.
    """

    location: str
    line: bytes | None
    faults: tuple[RecordError, ...]
    ignored: str | None = None
    is_duplicate: bool = False

    @property
    def is_model_unknown(self) -> bool:
        """Whether the log names no model, and the user passed no name either."""
        return any(fault.rule == NO_MODEL for fault in self.faults)

    @property
    def may_be_unsupported_log(self) -> bool:
        """Whether the ignored document may be a log in a format that is not supported."""
        return self.ignored is not None and can_be_log_of_unsupported_program(self.ignored)


class ValidatedDocument(NamedTuple):
    """The result of validating one document.

    Attributes:
        location: Source and path of the document.
        faults: All type errors; if there are none, the first rule that the whole document breaks,
            or the errors of its parts. Empty if the document is valid.
        ignored: The reason why the file is no log, by its name or place.
        notes: What a defined game lacks for some metrics.
    """

    location: str
    faults: tuple[RecordError, ...]
    ignored: str | None = None
    notes: tuple[str, ...] = ()


def iter_converted_documents(
    sources: Sources, model: str | None = None, max_document: int = MAX_DOCUMENT_BYTES
) -> Iterator[ConvertedDocument]:
    """Yield each log of the sources as interchange JSON, with one log in memory at a time.

    Documents with equal bytes are one game, unless their paths have different game numbers, as in
    an ingest. Therefore the sources are read twice, first for the game numbers.

    Args:
        sources: Paths or URLs.
        model: The model that played, for logs that do not name it.
        max_document: Maximum size of a document in bytes.

    Yields:
        The JSON or the errors of each document, in order.

    Raises:
        SourceError: If a source cannot be read at all.
    """
    iter_all_documents = partial(
        iter_documents, sources, max_document=max_document, choose=find_splitter
    )
    hashes_with_game_index = {
        sha256(data)
        for _, path, data, *_ in iter_all_documents()
        if data is not None and game_index_from_path(path) is not None
    }
    seen_game_ids: set[str] = set()
    for document in _iter_documents_and_clear_cache(iter_all_documents()):
        location = f"{document.source}/{document.path}"
        if document.data is None:
            fault = _unreadable_document_error(document)
            ignored = None if document.is_broken else fault.message
            yield ConvertedDocument(location, None, (fault,) if document.is_broken else (), ignored)
            continue
        try:
            game = read_game(document.data, model, document.path)
        except InvalidDocumentError as error:
            yield ConvertedDocument(location, None, (error.fault,))
            continue
        if game is None:
            yield ConvertedDocument(
                location, None, (), ignored_reason(document.data, document.path)
            )
            continue
        document_hash = hash_document(document.data, game, content_id(game))
        logged_game_index = game.game_index
        if logged_game_index is None:
            game.game_index = game_index_from_path(document.path)
        # A game that states its number is the same game at every path.
        id_ = game_id(document_hash, game.game_index if logged_game_index is None else None, None)
        if id_ in seen_game_ids or (
            game.game_index is None and document_hash in hashes_with_game_index
        ):
            yield ConvertedDocument(location, None, (), is_duplicate=True)
            continue
        seen_game_ids.add(id_)
        yield _encode_and_verify_game(location, game, document_hash)


def iter_validated_documents(
    sources: Sources, max_document: int = MAX_DOCUMENT_BYTES
) -> Iterator[ValidatedDocument]:
    """Yield the errors of each interchange document in the sources.

    The keys, types and values are checked, and the table rows that are made of them.

    Args:
        sources: Paths or URLs.
        max_document: Maximum size of a document in bytes.

    Yields:
        The errors of each document, in order.

    Raises:
        SourceError: If a source cannot be read at all.
    """
    batch: list[tuple[str, GameRecord | InvalidDocumentError]] = []
    n_bytes = 0
    for document in _iter_documents_and_clear_cache(
        iter_documents(sources, max_document=max_document, choose=find_splitter)
    ):
        location = f"{document.source}/{document.path}"
        if document.data is None and not document.is_broken:
            yield ValidatedDocument(location, (), document.reason or "not a log")
            continue
        batch.append((location, _decode_interchange_document(document)))
        n_bytes += len(document.data or b"")
        if len(batch) >= _MAX_BATCH_DOCUMENTS or n_bytes >= _MAX_BATCH_BYTES:
            yield from _iter_documents_with_table_row_errors(batch)
            batch, n_bytes = [], 0
    yield from _iter_documents_with_table_row_errors(batch)


def iter_validated_game_files(files: Sequence[str]) -> Iterator[ValidatedDocument]:
    """Yield the errors of each TOML file that defines a type of game.

    A game is compared with the games of earlier files and all known games, because their names and
    competitions must be different.
    """
    definitions = games.definitions_outside_files(files)
    for file in files:
        try:
            definition = load_game_definition(Path(file), definitions)
        except PluginError as error:
            rule = "a game has a name, roles and endings, as docs/adding.md says"
            yield ValidatedDocument(file, (RecordError("$", rule, str(error)),))
        else:
            definitions.append((file, definition))
            yield ValidatedDocument(file, (), notes=tuple(iter_missing_metric_messages(definition)))


def _iter_documents_and_clear_cache(documents: Iterable[Document]) -> Iterator[Document]:
    """Yield the documents, and clear the cache of parsed values after every 16 MiB."""
    n_bytes = 0
    for document in documents:
        yield document
        n_bytes += len(document.data or b"")
        if n_bytes >= _MAX_BATCH_BYTES:
            clear_cache()
            n_bytes = 0


def _unreadable_document_error(document: Document) -> RecordError:
    return RecordError("$", "the document can be read", document.reason or "it cannot be read")


def _encode_and_verify_game(location: str, game: GameRecord, log_sha256: str) -> ConvertedDocument:
    """Return a game as JSON, or an error if reading the JSON gives another game."""
    line = encode_game(game, log_sha256)
    try:
        decoded = read_game(line)
    except InvalidDocumentError as error:
        return ConvertedDocument(location, None, (*game.faults, error.fault))
    if decoded is None or content_id(decoded) != content_id(game):
        rule = f"{NAME} JSON contains everything that was read"
        return ConvertedDocument(
            location, None, (*game.faults, RecordError("$", rule, "it is read as another game"))
        )
    return ConvertedDocument(location, line, tuple(game.faults))


def _decode_interchange_document(document: Document) -> GameRecord | InvalidDocumentError:
    if document.data is None:
        return InvalidDocumentError(_unreadable_document_error(document))
    try:
        game = read_game(document.data, "any", document.path)
    except InvalidDocumentError as error:
        return error
    if game is None or game.format not in (NAME, inspect.NAME):
        return invalid_document_error(
            "$", f"the document is an object with the key `{VERSION_KEY}`", "it has none"
        )
    return game


def _iter_documents_with_table_row_errors(
    decoded_by_location: Sequence[tuple[str, GameRecord | InvalidDocumentError]],
) -> Iterator[ValidatedDocument]:
    """Yield the errors of decoded documents, and those in the table rows of their games."""
    ids = [game_id(sha256(b""), number, None) for number in range(len(decoded_by_location))]
    games = [
        IdentifiedGame(game, id_, None, sha256(b""), id_, ".", ".")
        for id_, (_, game) in zip(ids, decoded_by_location, strict=True)
        if isinstance(game, GameRecord)
    ]
    invalid_games = build_event_frames(games).invalid_games
    for id_, (location, game_or_error) in zip(ids, decoded_by_location, strict=True):
        faults = game_or_error.faults
        if id_ in invalid_games:
            rule = "rows satisfy the contracts of their tables"
            faults = [*faults, RecordError("$", rule, invalid_games[id_].message)]
        yield ValidatedDocument(location, tuple(faults))
