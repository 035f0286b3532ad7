"""What was refused ingested again, as far as this version can read more of it.

A document is taken from the lake where that has all of its bytes, else from its source.
"""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from msgspec import Struct

from pipeline.archives import MAX_DOCUMENT, Document
from pipeline.formats import read
from pipeline.game import BrokenDocument
from pipeline.ingest import Report, ingest
from pipeline.ingest.refused import Key, Refused, refused
from pipeline.lake import Lake, open_lake
from pipeline.stores import is_remote, size_of


class Retried(Struct):
    """What came of it. `report` is null where nothing could be read that could not before.

    `n_left` are documents that are refused as before; `gone` those whose source is needed and gone.
    """

    report: Report | None
    n_left: int
    gone: list[str]


def retry(
    lake: str | Path, *, model: str | None = None, max_document: int = MAX_DOCUMENT
) -> Retried:
    """Ingests what is in quarantine again where there is more to be had of it than before.

    A game of which a part was refused is taken out and put in again, with what it has now. `model`
    names who played where a log does not say. Raises as `ingest` does.
    """
    opened = open_lake(lake)
    plan = _Plan(set(), [], set(), set(), 0)
    for one in refused(opened):
        _plan(one, plan, model)
    if not plan.chosen and not plan.files:
        return Retried(None, plan.n_left, plan.gone)
    report = ingest(
        sorted(plan.files),
        lake,
        model=model,
        max_document=max_document,
        documents=_documents(opened, plan.chosen),
        again=pl.Series(sorted(plan.again), dtype=pl.String),
        reread=True,
    )
    return Retried(report, plan.n_left, plan.gone)


class _Plan(Struct):
    """The documents that the lake has, those that are gone, the files to be read, and the games."""

    chosen: set[Key]
    gone: list[str]
    files: set[str]
    again: set[str]
    n_left: int


def _plan(one: Refused, plan: _Plan, model: str | None) -> None:
    source, path, _ = one.key
    if one.is_whole:
        if not _is_better(one, model):
            plan.n_left += 1
            return
        plan.chosen.add(one.key)
    elif file := _file_of(source, path):
        plan.files.add(file)
    else:
        plan.gone.append(f"{source}/{path}")
        return
    if one.game_id is not None:
        plan.again.add(one.game_id)


def _is_better(one: Refused, model: str | None) -> bool:
    """Whether the document is read otherwise than it was."""
    assert one.raw is not None
    try:
        game = read(one.raw, model)
    except BrokenDocument:
        return False
    return one.game_id is None or game is None or set(game.faults) != set(one.faults)


def _documents(lake: Lake, chosen: set[Key]) -> Iterator[Document]:
    for one in refused(lake):
        if one.key in chosen:
            source, path, _ = one.key
            yield Document(source, path, one.raw)


def _file_of(source: str, path: str) -> str | None:
    """The file that a document is in: itself, or the archive on the way to it; null if it is gone.

    From the source on down, and never up again: what is in an archive may be called anything.
    """
    if is_remote(source):
        names = [f"{source}/{path}"[:end] for end in _ends(f"{source}/{path}", len(source))]
        return next((name for name in names if size_of(name) is not None), None)
    if Path(source).is_file():
        return source
    file = Path(source)
    for name in path.split("/"):
        if name in ("", ".", ".."):
            return None
        file /= name
        if file.is_file():
            return str(file)
    return None


def _ends(url: str, start: int) -> Iterator[int]:
    """Where the names of a URL end, from a place on."""
    yield start
    while (start := url.find("/", start + 1)) != -1:
        yield start
    yield len(url)
