"""When to read what a benchmark still writes: whenever it has changed and then stood still.

A file that is read half written is quarantined, and replaced as soon as it is whole: to wait only
spares that. Nothing is kept between the readings, since an ingest knows what the lake has.
"""

import time
from collections.abc import Callable, Generator, Sequence
from hashlib import sha256
from pathlib import Path

from pipeline.archives import units
from pipeline.errors import SourceError
from pipeline.stores import version


def settled(
    sources: Sequence[str],
    seconds: float,
    sleep: Callable[[float], None] = time.sleep,
    on_missing: Callable[[str], None] = lambda text: None,
) -> Generator[None, bool | None]:
    """Yield None once there are files, and each time that some changed and stood still for so long.

    It does not end. What changes while it is read is given again, and so is what could not be read:
    send True after such a reading. `on_missing` is called once each time that the sources are gone;
    they may come back. Raises SourceError for sources that are not there at the beginning.
    """
    read, before, is_missing = b"", None, False
    while True:
        try:
            now, is_missing = _state(sources), False
        except SourceError as error:
            if before is None:
                raise
            if not is_missing:
                on_missing(str(error))
            now, is_missing = b"", True
        if now and now != read and (not read or now == before):
            read = read if (yield) else now
        before = now
        sleep(seconds)


def _state(sources: Sequence[str]) -> bytes:
    """A hash of the files: names, sizes and, on this machine, times of the last change.

    It is empty where there are folders and no file yet.
    """
    digest = sha256()
    try:
        for unit in units(sources):
            seen = None if unit.file is None else version(unit.file)
            digest.update(repr((unit.source, unit.path, unit.n_bytes, seen)).encode())
    except SourceError:
        if all(Path(source).is_dir() for source in sources):
            return b""
        raise
    return digest.digest()
