"""Feeds damaged logs of every format to the decoder and to whole ingests, as `mutate.py` does.

    python tests/reliability/formats.py --documents 20000 --seed 1 [FORMAT...]

The logs are those of `tests/logs`, damaged by `pipeline.testing.iter_damaged_logs`. --documents is
the number for each format. What fails is written to --out, and the exit code is 1.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[n]) for n in (1, 2)]

from format_logs import logs_by_file
from mutate import CHUNK, Chunk, Failure, Kind, keep, try_all

from pipeline.formats import available_formats
from pipeline.testing import iter_damaged_logs


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script; 0 if all documents fared as they have to."""
    names = [format_.NAME for format_ in available_formats()]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help="by default, all")
    parser.add_argument("--documents", type=int, default=20_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--out", type=Path, default=Path("mutants"), metavar="DIR")
    given = parser.parse_args(arguments)
    if strangers := set(given.formats) - set(names):
        parser.error(f"no format {', '.join(sorted(strangers))}: there are {', '.join(names)}")
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        return max([_run(pool, name, given) for name in given.formats or names])


def _run(pool: ProcessPoolExecutor, name: str, given: argparse.Namespace) -> int:
    """Tries the documents of one format, and prints a line; 1 where one fares badly."""
    began = time.monotonic()
    chunks = list(pool.map(_try, *zip(*_chunks(name, given), strict=True)))
    counts = sum((chunk.found for chunk in chunks), Counter[str]())
    failures = [failure for chunk in chunks for failure in chunk.failures]
    lost = given.documents - counts.total()
    keep(failures, given.seed, given.out / name)
    print(
        f"{name}: {given.documents:,} documents of seed {given.seed}: "
        + ", ".join(f"{n:,} {what}" for what, n in sorted(counts.items()))
        + f"; {len(failures)} failures, {lost} unaccounted, {time.monotonic() - began:.0f} s",
        flush=True,
    )
    return int(bool(failures or lost))


def _chunks(name: str, given: argparse.Namespace) -> Iterator[tuple[str, int, int, int]]:
    for first in range(0, given.documents, CHUNK):
        yield name, given.seed, first, min(CHUNK, given.documents - first)


def _try(name: str, seed: int, first: int, n: int) -> Chunk:
    """Decodes and ingests some damaged logs of a format, in one kind of file after the other."""
    files = [*logs_by_file(name).items()]
    file, logs = files[first // CHUNK % len(files)]
    kind = Kind(file, getattr(import_module(f"logs.{name}"), "MODEL", None))
    try:
        return try_all(list(iter_damaged_logs(logs, n, seed * 1_000_003 + first)), first, kind)
    except Exception as error:
        return Chunk(Counter(), 0, [Failure(first, f"{n} documents: {error!r}", b"")])


if __name__ == "__main__":
    sys.exit(main())
