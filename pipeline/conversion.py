"""Games of any format made into interchange JSON, and documents of it checked."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pipeline import games
from pipeline.archives import MAX_DOCUMENT_BYTES, Document, Sources, iter_documents
from pipeline.events.frames import IdentifiedGame, build_event_frames
from pipeline.events.readings import content_id, game_id, game_index, hash_document, sha256
from pipeline.formats import NO_MODEL, find_splitter, ignored_reason, inspect, may_be_log, read_game
from pipeline.formats.interchange import NAME, VERSION_KEY, encoded
from pipeline.formats.record_builder import clear_cache
from pipeline.formats.sniffer import invalid_document_error
from pipeline.game_record import GameRecord, InvalidDocumentError, RecordError
from pipeline.games import load_game_definition, missing_for_metrics
from pipeline.plugins import PluginError

_GAMES_AT_ONCE = 1_000
_BYTES_AT_ONCE = 2**24


class ConvertedDocument(NamedTuple):
    """What came of one document: a line of JSON if it is a game, and what of it is lost.

    `ignored` is why no format reads the document, null for a log; then it has no faults. One that
    `is_duplicate`, whose game another document holds, has none either.
    """

    location: str
    line: bytes | None
    faults: tuple[RecordError, ...]
    ignored: str | None = None
    is_duplicate: bool = False

    @property
    def is_unnamed(self) -> bool:
        """Whether it is a log that does not name the model that played, and nobody else does."""
        return any(fault.rule == NO_MODEL for fault in self.faults)

    @property
    def may_be_log(self) -> bool:
        """Whether it can be a log of a program that no format knows."""
        return self.ignored is not None and may_be_log(self.ignored)


class Checked(NamedTuple):
    """One document held against the rules: those of types that it breaks, or the first other one
    that it breaks as a whole, or each of parts.

    It is valid without any. `ignored` says why one is no log by its name or place, and `notes` what
    a game that it declares lacks.
    """

    location: str
    faults: tuple[RecordError, ...]
    ignored: str | None = None
    notes: tuple[str, ...] = ()


def iter_converted(
    sources: Sources, model: str | None = None, max_document: int = MAX_DOCUMENT_BYTES
) -> Iterator[ConvertedDocument]:
    """Each document of the sources converted, in order, one at a time in memory.

    Equal bytes are one game, unless their paths number them as several: the rule of an ingest (see
    `unindexed.sql`). So the sources are read twice, first for the numbers. `model` names who played
    where a log does not say. Raises SourceError for a source that cannot be read at all.
    """
    read_all = partial(iter_documents, sources, max_document=max_document, choose=find_splitter)
    numbered = {
        sha256(data)
        for _, path, data, *_ in read_all()
        if data is not None and game_index(path) is not None
    }
    games: set[str] = set()
    for document in _forgotten(read_all()):
        location = f"{document.source}/{document.path}"
        if document.data is None:
            fault = _unread(document)
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
        hashed = hash_document(document.data, game, content_id(game))
        stated = game.game_index
        if stated is None:
            game.game_index = game_index(document.path)
        # One that states its number is the same game wherever it lies.
        id_ = game_id(hashed, game.game_index if stated is None else None, None)
        if id_ in games or (game.game_index is None and hashed in numbered):
            yield ConvertedDocument(location, None, (), is_duplicate=True)
            continue
        games.add(id_)
        yield _converted(location, game, hashed)


def iter_validated(sources: Sources, max_document: int = MAX_DOCUMENT_BYTES) -> Iterator[Checked]:
    """Each document of the sources checked, in order: its keys, types and values, and its rows.

    Raises SourceError for a source that cannot be read at all.
    """
    waiting: list[tuple[str, GameRecord | InvalidDocumentError]] = []
    n_bytes = 0
    for document in _forgotten(
        iter_documents(sources, max_document=max_document, choose=find_splitter)
    ):
        location = f"{document.source}/{document.path}"
        if document.data is None and not document.is_broken:
            yield Checked(location, (), document.reason or "not a log")
            continue
        waiting.append((location, _game_of(document)))
        n_bytes += len(document.data or b"")
        if len(waiting) >= _GAMES_AT_ONCE or n_bytes >= _BYTES_AT_ONCE:
            yield from _checked(waiting)
            waiting, n_bytes = [], 0
    yield from _checked(waiting)


def check_game_files(files: Sequence[str]) -> Iterator[Checked]:
    """TOML documents that declare a game each, beside all games that others declare."""
    others = games.game_types_outside_files(files)
    for file in files:
        try:
            kind = load_game_definition(Path(file), others)
        except PluginError as error:
            rule = "a game has a name, roles and endings, as docs/adding.md says"
            yield Checked(file, (RecordError("$", rule, str(error)),))
        else:
            others.append((file, kind))
            yield Checked(file, (), notes=tuple(missing_for_metrics(kind)))


def _forgotten(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents; what their games have alike is let go of with every `_BYTES_AT_ONCE`."""
    n_bytes = 0
    for document in documents:
        yield document
        n_bytes += len(document.data or b"")
        if n_bytes >= _BYTES_AT_ONCE:
            clear_cache()
            n_bytes = 0


def _unread(document: Document) -> RecordError:
    """Why a document has no bytes."""
    return RecordError("$", "the document can be read", document.reason or "it cannot be read")


def _converted(location: str, game: GameRecord, log_sha256: str) -> ConvertedDocument:
    """The game's line, read again: what it does not say as the log does is not to pass for it."""
    line = encoded(game, log_sha256)
    try:
        again = read_game(line)
    except InvalidDocumentError as error:
        return ConvertedDocument(location, None, (*game.faults, error.fault))
    if again is None or content_id(again) != content_id(game):
        rule = f"{NAME} JSON can say all that was read"
        return ConvertedDocument(
            location, None, (*game.faults, RecordError("$", rule, "it reads differently"))
        )
    return ConvertedDocument(location, line, tuple(game.faults))


def _game_of(document: Document) -> GameRecord | InvalidDocumentError:
    """The game of a document of interchange JSON, or why it has none."""
    if document.data is None:
        return InvalidDocumentError(_unread(document))
    try:
        game = read_game(document.data, "any", document.path)
    except InvalidDocumentError as error:
        return error
    if game is None or game.format not in (NAME, inspect.NAME):
        return invalid_document_error(
            "$", f"the document is an object with the key `{VERSION_KEY}`", "it has none"
        )
    return game


def _checked(
    documents: Sequence[tuple[str, GameRecord | InvalidDocumentError]],
) -> Iterator[Checked]:
    """The documents with their faults, those of their rows too, which are made for all at once."""
    ids = [game_id(sha256(b""), number, None) for number in range(len(documents))]
    games = [
        IdentifiedGame(document, id_, None, sha256(b""), id_, ".", ".")
        for id_, (_, document) in zip(ids, documents, strict=True)
        if isinstance(document, GameRecord)
    ]
    contradicting = build_event_frames(games).broken
    for id_, (location, document) in zip(ids, documents, strict=True):
        faults = document.faults
        if id_ in contradicting:
            rule = "rows keep the contracts of their tables"
            faults = [*faults, RecordError("$", rule, contradicting[id_].message)]
        yield Checked(location, tuple(faults))
