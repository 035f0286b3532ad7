"""Feeds damaged logs to the decoder and to whole ingests: no crash, no hang, all accounted for.

    python tests/reliability/mutate.py --documents 20000 --seed 1 [FORMAT...]

Every document is decoded into a game whose rows satisfy their contracts, or it is ignored, or
quarantined with a place and a rule. Every chunk is ingested as an archive, too, into a lake of its
own, which has to account for each document just as the decoder did. --documents is the number for
each format. If anything fails, the exit code is 1.
"""

import argparse
import io
import signal
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[n]) for n in (1, 2)]

from format_logs import logs_by_file
from mutations import MODEL, mutants, shapes

from pipeline.archives import Document
from pipeline.formats import available_formats
from pipeline.ingest import ingest
from pipeline.ingest.decode import (
    GAME,
    IGNORED,
    QUARANTINED,
    UNEXPECTED_ERROR_RULE,
    AssignedModels,
    DecodedBatch,
    GameIds,
    decode_documents,
    scan_document,
)
from pipeline.lake import open_lake
from pipeline.testing import iter_damaged_logs

CHUNK = 2_000
SECONDS = 100  # of processor time that a chunk may take


class Kind(NamedTuple):
    """What documents are called, and the model to name for those that name none."""

    file: str
    model: str | None


class Chunk(NamedTuple):
    """What came of some documents: how many were found to be what, and what is wrong."""

    found: Counter[str]
    failures: list[str]


class _Hang(BaseException):
    """Not an `Exception`: what the decoder takes for a defect of its own must not hold it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script; 0 if all documents fared as they have to."""
    names = [format_.NAME for format_ in available_formats()]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help="by default, all")
    parser.add_argument("--documents", type=int, default=20_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    given = parser.parse_args(arguments)
    if strangers := set(given.formats) - set(names):
        parser.error(f"no format {', '.join(sorted(strangers))}: there are {', '.join(names)}")
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        return max([_run(pool, name, given) for name in given.formats or names])


def _run(pool: ProcessPoolExecutor, name: str, given: argparse.Namespace) -> int:
    """Tries the documents of one format, and prints a line; 1 where one fares badly."""
    firsts = range(0, given.documents, CHUNK)
    sizes = [min(CHUNK, given.documents - first) for first in firsts]
    n = len(sizes)
    chunks = list(pool.map(try_chunk, [name] * n, [given.seed] * n, firsts, sizes))
    counts = sum((chunk.found for chunk in chunks), Counter[str]())
    failures = [failure for chunk in chunks for failure in chunk.failures]
    lost = given.documents - counts.total()
    print(*failures, sep="\n", end="\n" if failures else "")
    print(
        f"{name}: {given.documents:,} documents of seed {given.seed}: "
        + ", ".join(f"{n:,} {what}" for what, n in sorted(counts.items()))
        + f"; {len(failures)} failures, {lost} unaccounted",
        flush=True,
    )
    return int(bool(failures or lost))


def try_chunk(name: str, seed: int, first: int, n: int) -> Chunk:
    """Decodes damaged logs of a format, in one kind of file after the other, and ingests them."""
    files = [*logs_by_file(name).items()]
    file, logs = files[first // CHUNK % len(files)]
    kind = Kind(file, getattr(import_module(f"logs.{name}"), "MODEL", MODEL))
    if name == "magic":
        data = list(mutants(seed, first, n, shapes()))
    else:
        data = list(iter_damaged_logs(logs, n, seed * 1_000_003 + first))
    try:
        with _limit(SECONDS):
            found, wrong = _decoded(data, kind)
            otherwise = None if wrong else _ingested_otherwise(data, found, kind)
    except (Exception, _Hang) as error:
        return Chunk(Counter(), [f"{n} documents of {name} from {first}: {error!r}"])
    failures = [f"document {first + at} of {name}: {wrong[at]}: {data[at]!r}" for at in wrong]
    return Chunk(found, failures + ([f"from {first}: {otherwise}"] if otherwise else []))


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raises within, once so much processor time is used: a process may have to wait its turn."""

    def stop(*_: object) -> None:
        raise _Hang(f"more than {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _decoded(data: Sequence[bytes], kind: Kind) -> tuple[Counter[str], dict[int, str]]:
    """What the documents were found to be, and what is wrong with how they fared, by place."""
    documents = [Document("/mutants", kind.file.format(n), one) for n, one in enumerate(data)]
    seen = [
        scan_document(document, source_order) for source_order, document in enumerate(documents)
    ]
    batch = decode_documents(
        documents, seen, AssignedModels.from_model_argument(kind.model), GameIds()
    )
    wrong = {n: what for n in range(len(seen)) if (what := _wrong(n, batch))}
    return Counter(one.status_alone for one in seen), wrong


def _wrong(n: int, batch: DecodedBatch) -> str | None:
    """What is wrong with how a document fared, null if nothing is."""
    one = batch.scanned_documents[n]
    faults = [fault for fault in batch.quarantine_rows if fault.path == one.path]
    for fault in faults:
        if fault.rule.startswith(UNEXPECTED_ERROR_RULE):
            return f"unforeseen: {fault.rule} {fault.message}"
        if not (fault.json_path.startswith("$") and fault.rule and fault.message):
            return f"a fault without a place, a rule or a message: {fault}"
    if one.status_alone == QUARANTINED:
        return None if one.reason and len(faults) == 1 else f"quarantined with {len(faults)} faults"
    if one.status_alone == IGNORED:
        return None if one.reason and not faults else "ignored without a reason"
    n_rows = batch.tables["games"]["game_id"].to_pylist().count(one.game_id)
    return (
        None
        if one.status_alone == GAME and n_rows == 1
        else f"{one.status_alone} with {n_rows} games"
    )


def _ingested_otherwise(data: Sequence[bytes], found: Counter[str], kind: Kind) -> str | None:
    """How an ingest of the documents told of them otherwise than the decoder; null if it agrees."""
    with tempfile.TemporaryDirectory(prefix="magic-") as scratch:
        archive = Path(scratch) / "mutants.tar"
        with tarfile.open(archive, "w") as tar:
            for n, one in enumerate(data):
                header = tarfile.TarInfo(kind.file.format(n))
                header.size = len(one)
                tar.addfile(header, io.BytesIO(one))
        try:
            report = ingest(archive, Path(scratch) / "lake", model=kind.model, jobs=1)
            paths = open_lake(Path(scratch) / "lake").table("documents").collect()["path"]
        except Exception as error:
            return f"the ingest failed: {type(error).__name__}: {error}"
    # A file that its damage takes from its format may be cut into its lines.
    if (n_files := paths.str.split("#").list.first().n_unique()) != len(data):
        return f"{len(data)} files, {n_files} in the lake"
    if paths.str.contains("#", literal=True).any():
        return None
    statuses = report.statuses
    output = Counter(
        {
            GAME: statuses["ingested"] + statuses["duplicate"],
            QUARANTINED: statuses["quarantined"],
            IGNORED: statuses["ignored"],
        }
    )
    if output == found and report.n_seen == len(data):
        return None
    return f"decoded: {dict(found)}, ingested: {statuses}"


if __name__ == "__main__":
    sys.exit(main())
