"""Where the logs go: a folder, or one archive. Each way yields what it has written, piece by piece.

An archive's bytes depend on its members only. The processes that play also write a tar's blocks, so
that the one that compresses has little else to do.
"""

import gzip
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, Protocol

import zstandard

from pipeline.simulate.work import Member, Piece, Plan, in_order, members

MODIFIED = 1_700_000_000
LEVEL = 1
"""Of deflate, which is slow: these archives are for trials, not for keeping."""

Written = Iterator[tuple[Piece, list[int]]]
"""Each piece with the number of bytes of each of its files."""


class Stream(Protocol):
    """What bytes can be written to."""

    def write(self, data: bytes, /) -> int: ...


def into_folder(plan: Plan, results: Path, n_jobs: int) -> Written:
    """Files, written by the processes that play."""
    return in_order(plan, partial(_files, results.parent), n_jobs)


def _files(out: Path, plan: Plan, piece: Piece) -> list[int]:
    (out / piece.directory).mkdir(parents=True, exist_ok=True)
    return [(out / member.path).write_bytes(member.data) for member in members(plan, piece)]


def into_tar(
    compressed: Callable[[IO[bytes]], AbstractContextManager[Stream]],
    plan: Plan,
    results: Path,
    n_jobs: int,
) -> Written:
    """A tar archive, through a compressor."""
    n_bytes = 0
    with results.open("wb") as file, compressed(file) as stream:
        for piece, (sizes, blocks) in in_order(plan, _blocks, n_jobs):
            stream.write(blocks)
            n_bytes += len(blocks)
            yield piece, sizes
        end = 2 * tarfile.BLOCKSIZE
        stream.write(bytes(end + -(n_bytes + end) % tarfile.RECORDSIZE))


def _blocks(plan: Plan, piece: Piece) -> tuple[list[int], bytes]:
    sizes, parts = [], []
    for member in members(plan, piece):
        header = tarfile.TarInfo(member.path)
        header.size = len(member.data)
        header.mtime = MODIFIED
        parts += [
            header.tobuf(tarfile.USTAR_FORMAT),
            member.data,
            bytes(-header.size % tarfile.BLOCKSIZE),
        ]
        sizes.append(header.size)
    return sizes, b"".join(parts)


def into_zip(plan: Plan, results: Path, n_jobs: int) -> Written:
    """A zip archive, compressed by this process."""
    with zipfile.ZipFile(results, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
        for piece, members in in_order(plan, _members, n_jobs):
            for path, data in members:
                entry = zipfile.ZipInfo(path)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.create_system = 3
                entry.external_attr = 0o100644 << 16
                archive.writestr(entry, data)
            yield piece, [len(data) for _, data in members]


def _members(plan: Plan, piece: Piece) -> list[Member]:
    return list(members(plan, piece))


def _gz(file: IO[bytes]) -> AbstractContextManager[Stream]:
    return gzip.GzipFile("", "wb", compresslevel=LEVEL, fileobj=file, mtime=MODIFIED)


def _zst(file: IO[bytes]) -> AbstractContextManager[Stream]:
    return zstandard.ZstdCompressor(level=3).stream_writer(file)


ARCHIVES: dict[str, Callable[[Plan, Path, int], Written]] = {
    "tar": partial(into_tar, nullcontext),
    "tar.gz": partial(into_tar, _gz),
    "tar.zst": partial(into_tar, _zst),
    "zip": into_zip,
}
