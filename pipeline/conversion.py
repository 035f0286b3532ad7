"""Games of any format made into interchange JSON, and documents of it checked."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pipeline import games
from pipeline.archives import MAX_DOCUMENT, Document, Sources, documents
from pipeline.events.frames import IdentifiedGame, frames
from pipeline.events.readings import content_id, document_sha256, game_id, game_index, sha256
from pipeline.formats import NO_MODEL, inspect, may_be_log, read, splitter, why_ignored
from pipeline.formats.building import clear_cache
from pipeline.formats.interchange import KEY, NAME, encoded
from pipeline.formats.look import broken
from pipeline.game import BrokenDocument, Fault, GameRecord
from pipeline.games import gaps, kind_in
from pipeline.plugins import PluginError

_GAMES_AT_ONCE = 1_000
_BYTES_AT_ONCE = 2**24


class Converted(NamedTuple):
    """What came of one document: a line of JSON if it is a game, and what of it is lost.

    `ignored` is why no format reads the document, null for a log; then it has no faults. One that
    `is_duplicate`, whose game another document holds, has none either.
    """

    location: str
    line: bytes | None
    faults: tuple[Fault, ...]
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
    faults: tuple[Fault, ...]
    ignored: str | None = None
    notes: tuple[str, ...] = ()


def convert(
    sources: Sources, model: str | None = None, max_document: int = MAX_DOCUMENT
) -> Iterator[Converted]:
    """Each document of the sources converted, in order, one at a time in memory.

    Equal bytes are one game, unless their paths number them as several: the rule of an ingest (see
    `unindexed.sql`). So the sources are read twice, first for the numbers. `model` names who played
    where a log does not say. Raises SourceError for a source that cannot be read at all.
    """
    read_all = partial(documents, sources, max_document=max_document, choose=splitter)
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
            yield Converted(location, None, (fault,) if document.is_broken else (), ignored)
            continue
        try:
            game = read(document.data, model, document.path)
        except BrokenDocument as error:
            yield Converted(location, None, (error.fault,))
            continue
        if game is None:
            yield Converted(location, None, (), why_ignored(document.data, document.path))
            continue
        hashed = document_sha256(document.data, game, content_id(game))
        stated = game.game_index
        if stated is None:
            game.game_index = game_index(document.path)
        # One that states its number is the same game wherever it lies.
        id_ = game_id(hashed, game.game_index if stated is None else None, None)
        if id_ in games or (game.game_index is None and hashed in numbered):
            yield Converted(location, None, (), is_duplicate=True)
            continue
        games.add(id_)
        yield _converted(location, game, hashed)


def validate(sources: Sources, max_document: int = MAX_DOCUMENT) -> Iterator[Checked]:
    """Each document of the sources checked, in order: its keys, types and values, and its rows.

    Raises SourceError for a source that cannot be read at all.
    """
    waiting: list[tuple[str, GameRecord | BrokenDocument]] = []
    n_bytes = 0
    for document in _forgotten(documents(sources, max_document=max_document, choose=splitter)):
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


def checked_games(files: Sequence[str]) -> Iterator[Checked]:
    """TOML documents that declare a game each, beside all games that others declare."""
    others = games.beside(files)
    for file in files:
        try:
            kind = kind_in(Path(file), others)
        except PluginError as error:
            rule = "a game has a name, roles and endings, as docs/adding.md says"
            yield Checked(file, (Fault("$", rule, str(error)),))
        else:
            others.append((file, kind))
            yield Checked(file, (), notes=tuple(gaps(kind)))


def _forgotten(documents: Iterable[Document]) -> Iterator[Document]:
    """The documents; what their games have alike is let go of with every `_BYTES_AT_ONCE`."""
    n_bytes = 0
    for document in documents:
        yield document
        n_bytes += len(document.data or b"")
        if n_bytes >= _BYTES_AT_ONCE:
            clear_cache()
            n_bytes = 0


def _unread(document: Document) -> Fault:
    """Why a document has no bytes."""
    return Fault("$", "the document can be read", document.reason or "it cannot be read")


def _converted(location: str, game: GameRecord, log_sha256: str) -> Converted:
    """The game's line, read again: what it does not say as the log does is not to pass for it."""
    line = encoded(game, log_sha256)
    try:
        again = read(line)
    except BrokenDocument as error:
        return Converted(location, None, (*game.faults, error.fault))
    if again is None or content_id(again) != content_id(game):
        rule = f"{NAME} JSON can say all that was read"
        return Converted(location, None, (*game.faults, Fault("$", rule, "it reads differently")))
    return Converted(location, line, tuple(game.faults))


def _game_of(document: Document) -> GameRecord | BrokenDocument:
    """The game of a document of interchange JSON, or why it has none."""
    if document.data is None:
        return BrokenDocument(_unread(document))
    try:
        game = read(document.data, "any", document.path)
    except BrokenDocument as error:
        return error
    if game is None or game.format not in (NAME, inspect.NAME):
        return broken("$", f"the document is an object with the key `{KEY}`", "it has none")
    return game


def _checked(documents: Sequence[tuple[str, GameRecord | BrokenDocument]]) -> Iterator[Checked]:
    """The documents with their faults, those of their rows too, which are made for all at once."""
    ids = [game_id(sha256(b""), number, None) for number in range(len(documents))]
    games = [
        IdentifiedGame(document, id_, None, sha256(b""), id_, ".", ".")
        for id_, (_, document) in zip(ids, documents, strict=True)
        if isinstance(document, GameRecord)
    ]
    contradicting = frames(games).broken
    for id_, (location, document) in zip(ids, documents, strict=True):
        faults = document.faults
        if id_ in contradicting:
            rule = "rows keep the contracts of their tables"
            faults = [*faults, Fault("$", rule, contradicting[id_].message)]
        yield Checked(location, tuple(faults))
