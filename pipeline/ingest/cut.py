"""The documents in quarantine that the lake has not all of, read again where they were found."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import polars as pl

from pipeline.archives import Document, documents
from pipeline.archives.names import file_of, form_of
from pipeline.events.identity import sha256
from pipeline.formats import splitter
from pipeline.ingest.refused import Refused
from pipeline.lake import StoredLake
from pipeline.stores import is_remote, size_of

# Before the name of a member, and the number of a line.
_SIGNS = ("/", "#")


class Cut:
    """Grows by what was refused and is cut in the lake; reads it, and what was never reached.

    Of an archive that could not be read to its end, all is wanted that the lake never saw.
    """

    def __init__(self, lake: StoredLake, max_document: int) -> None:
        self._lake = lake
        self._max_document = max_document
        self._files: set[str] = set()
        self._gone: list[str] = []
        self._at: dict[str, list[Refused]] = {}
        self._met: set[str] = set()
        self._with_new: set[str] = set()

    def add(self, refusal: Refused) -> None:
        """Takes in a document, whose source may be gone."""
        source, path, _ = refusal.key
        location = f"{source}/{path}"
        if file := _file_of(source, path):
            self._files.add(file)
            self._at.setdefault(location, []).append(refusal._replace(raw=None))
        else:
            self._gone.append(location)

    def documents(self) -> Iterator[tuple[Document, Refused | None]]:
        """Each wanted document, with what was refused of it; null of one that is new."""
        within = {one: _within(one) for one in self._archives()}
        inside = tuple(chain.from_iterable(within.values()))
        seen = _locations(self._lake, inside)
        files = sorted(self._files)
        for document in documents(files, max_document=self._max_document, choose=splitter):
            location = f"{document.source}/{document.path}"
            if location in self._at:
                self._met.add(location)
                refusal = _of_same_bytes(self._at[location], document)
                source, path, _ = refusal.key
                yield document._replace(source=source, path=path), refusal
            elif location.startswith(inside) and location not in seen:
                self._with_new |= {
                    one for one, signs in within.items() if location.startswith(signs)
                }
                yield document, None

    def gone(self) -> list[str]:
        """Where documents were that are there no more, as far as `documents` has looked."""
        # An archive itself is reported only while it cannot be read to its end.
        return [*self._gone, *sorted(self._at.keys() - self._met - self._archives())]

    def n_opened(self) -> int:
        """How many archives could be read to their end, and had something new in them."""
        return len(self._with_new - self._met)

    def _archives(self) -> set[str]:
        return {location for location in self._at if form_of(location).holds_many}


def _within(location: str) -> tuple[str, ...]:
    """What the places of all that is in an archive begin with."""
    return tuple(location + sign for sign in _SIGNS)


def _of_same_bytes(refused: list[Refused], document: Document) -> Refused:
    """What was refused of this version of a document, else of another one."""
    own = None if document.data is None else sha256(document.data)
    return next((refusal for refusal in refused if refusal.key[2] == own), refused[0])


def _locations(lake: StoredLake, beginnings: tuple[str, ...]) -> set[str]:
    """Of all documents that the lake saw, where those were whose place begins so."""
    if not beginnings:
        return set()
    location = pl.concat_str("source", pl.lit("/"), "path").alias("location")
    is_inside = pl.any_horizontal(pl.col("location").str.starts_with(begin) for begin in beginnings)
    found = lake.table("documents").select(location).filter(is_inside).unique()
    return set(found.collect(engine="streaming")["location"])


def _file_of(source: str, path: str) -> str | None:
    """The file that a document is in: itself, or the archive on the way to it; null if it is gone.

    From the source on down, and never up again: what is in an archive may be called anything.
    """
    if is_remote(source):
        url = f"{source}/{path}"
        names = [url[:end] for end in _ends(url, len(source))]
        return next((name for name in [*names, file_of(url)] if size_of(name) is not None), None)
    if Path(source).is_file():
        return source
    file = Path(source)
    for name in path.split("/"):
        if name in ("", ".", ".."):
            return None
        for candidate in (file / name, file / file_of(name)):
            if candidate.is_file():
                return str(candidate)
        file /= name
    return None


def _ends(url: str, start: int) -> Iterator[int]:
    """Where the names of a URL end, from a place on."""
    yield start
    while (start := url.find("/", start + 1)) != -1:
        yield start
    yield len(url)
