"""Where the logs go: a folder, or one archive. Each way yields what it has written, piece by piece.

An archive's bytes depend on its members only.
"""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, Any

import zstandard

from pipeline.simulate.work import Piece, Plan, in_order, members

MODIFIED = 1_700_000_000
LEVEL = 1
"""Of deflate, which is slow: these archives are for trials, not for keeping."""

Written = Iterator[tuple[Piece, list[int]]]
"""Each piece with the number of bytes of each of its files."""


Add = Callable[[str, bytes], None]
"""Puts a file into an archive."""


def into_folder(plan: Plan, results: Path, n_jobs: int) -> Written:
    """Files, written by the processes that play."""
    return in_order(plan, partial(_files, results.parent), n_jobs)


def _files(out: Path, plan: Plan, piece: Piece) -> list[int]:
    (out / piece.directory).mkdir(parents=True, exist_ok=True)
    return [(out / path).write_bytes(data) for path, data in members(plan, piece)]


def into_archive(
    opened: Callable[[Path], AbstractContextManager[Add]], plan: Plan, results: Path, n_jobs: int
) -> Written:
    """An archive, written and compressed by this process."""
    with opened(results) as add:
        for piece, files in in_order(plan, _members, n_jobs):
            for path, data in files:
                add(path, data)
            yield piece, [len(data) for _, data in files]


def _members(plan: Plan, piece: Piece) -> list[tuple[str, bytes]]:
    return list(members(plan, piece))


@contextmanager
def _tar(
    compressed: Callable[[IO[bytes]], AbstractContextManager[Any]], out: Path
) -> Iterator[Add]:
    def add(path: str, data: bytes) -> None:
        header = tarfile.TarInfo(path)
        header.size = len(data)
        header.mtime = MODIFIED
        archive.addfile(header, io.BytesIO(data))

    with (
        out.open("wb") as file,
        compressed(file) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.USTAR_FORMAT) as archive,
    ):
        yield add


@contextmanager
def _zip(out: Path) -> Iterator[Add]:
    def add(path: str, data: bytes) -> None:
        entry = zipfile.ZipInfo(path)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.create_system = 3
        entry.external_attr = 0o100644 << 16
        archive.writestr(entry, data)

    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        yield add


def _gz(file: IO[bytes]) -> AbstractContextManager[Any]:
    return gzip.GzipFile("", "wb", compresslevel=LEVEL, fileobj=file, mtime=MODIFIED)


def _zst(file: IO[bytes]) -> AbstractContextManager[Any]:
    return zstandard.ZstdCompressor(level=3).stream_writer(file)


ARCHIVES: dict[str, Callable[[Plan, Path, int], Written]] = {
    "tar": partial(into_archive, partial(_tar, nullcontext)),
    "tar.gz": partial(into_archive, partial(_tar, _gz)),
    "tar.zst": partial(into_archive, partial(_tar, _zst)),
    "zip": partial(into_archive, _zip),
}
