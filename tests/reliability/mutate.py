"""Feeds mutated logs to the decoder and to whole ingests: no crash, no hang, all accounted for.

    python tests/reliability/mutate.py --documents 200000 --seed 1 --jobs 2

Every document is decoded in at most five seconds of processor time, into a game whose rows satisfy
their contracts, or it is ignored, or quarantined with a place and a rule. Every chunk is ingested
as an archive, too, into a lake of its own, which has to account for each document just as the
decoder did. What fails is written to --out, and the exit code is 1.
"""

import argparse
import io
import signal
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[n]) for n in (1, 2)]

from mutations import MODEL, mutants, shapes

from pipeline.archives import Document
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

SECONDS = 5
CHUNK = 2_000
SLICE = 100


class Kind(NamedTuple):
    """What documents are called, and the model to name for those that name none."""

    file: str = "{}.json"
    model: str | None = MODEL


LOGS = Kind()


class Failure(NamedTuple):
    """A document that did not fare as every document has to, and how."""

    number: int
    what: str
    data: bytes


class Chunk(NamedTuple):
    """What came of some documents: how many were found to be what, the longest, and failures."""

    found: Counter[str]
    longest: float
    failures: list[Failure]


class _Hang(BaseException):
    """Not an `Exception`: what the decoder takes for a defect of its own must not hold it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the script; 0 if all documents fared as they have to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=200_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="number to begin with")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--out", type=Path, default=Path("mutants"), metavar="DIR")
    given = parser.parse_args(arguments)
    chunks = [
        (given.seed, first, min(CHUNK, given.first + given.documents - first))
        for first in range(given.first, given.first + given.documents, CHUNK)
    ]
    began = time.monotonic()
    found: Counter[str] = Counter()
    failures: list[Failure] = []
    longest = 0.0
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        waiting = {pool.submit(try_chunk, *chunk): chunk for chunk in chunks}
        for done in as_completed(waiting):
            _, first, n = waiting[done]
            try:
                chunk = done.result()
            except Exception as error:
                chunk = Chunk(Counter(), 0, [Failure(first, f"{n} documents: {error!r}", b"")])
            found += chunk.found
            longest = max(longest, chunk.longest)
            failures += chunk.failures
            keep(chunk.failures, given.seed, given.out)
            _tell(found, failures, longest, time.monotonic() - began)
    print(file=sys.stderr)
    lost = given.documents - sum(found.values())
    print(
        f"{given.documents:,} documents of seed {given.seed}: "
        + ", ".join(f"{n:,} {what}" for what, n in sorted(found.items()))
        + f"; {len(failures)} failures, {lost} unaccounted, the longest {longest:.2f} s"
    )
    return int(bool(failures or lost))


def keep(failures: Sequence[Failure], seed: int, folder: Path) -> None:
    """Prints failures, and keeps their documents."""
    for failure in failures:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{seed}-{failure.number}.json").write_bytes(failure.data)
        print(f"\ndocument {failure.number} of seed {seed}: {failure.what}", flush=True)


def _tell(found: Counter[str], failures: Sequence[Failure], longest: float, took: float) -> None:
    n = sum(found.values())
    line = f"\r{n:,} documents, {len(failures)} failures, longest {longest:.2f} s, {took:,.0f} s"
    print(line, end="", file=sys.stderr, flush=True)


def try_chunk(seed: int, first: int, n: int) -> Chunk:
    """Decodes and ingests the documents of some numbers."""
    return try_all(list(mutants(seed, first, n, shapes())), first)


def try_all(data: Sequence[bytes], first: int, kind: Kind = LOGS) -> Chunk:
    """Decodes documents, some at a time, and ingests them all."""
    found: Counter[str] = Counter()
    failures: list[Failure] = []
    longest = 0.0
    for start in range(0, len(data), SLICE):
        result = try_documents(data[start : start + SLICE], first + start, kind)
        found += result.found
        failures += result.failures
        longest = max(longest, result.longest)
    if not failures and (wrong := _ingested_otherwise(data, found, kind)):
        failures.append(Failure(first, wrong, b""))
    return Chunk(found, longest, failures)


def try_documents(data: Sequence[bytes], first: int, kind: Kind = LOGS) -> Chunk:
    """Decodes documents together and, where that goes wrong or takes long, each alone."""
    began = time.process_time()
    try:
        with _limit(SECONDS):
            found, wrong = _decoded(data, kind)
        longest = (time.process_time() - began) / len(data)
    except (Exception, _Hang) as error:
        found, wrong = Counter(), {0: f"{type(error).__name__}: {error}"}
        longest = time.process_time() - began
    if not wrong or len(data) == 1:
        return Chunk(found, longest, [Failure(first + n, wrong[n], data[n]) for n in wrong])
    alone = [try_documents([one], first + n, kind) for n, one in enumerate(data)]
    failures = [failure for chunk in alone for failure in chunk.failures]
    if not failures and any("Hang" not in what for what in wrong.values()):
        failures = [Failure(first + n, f"only with others: {wrong[n]}", data[n]) for n in wrong]
    found = sum((chunk.found for chunk in alone), Counter())
    return Chunk(found, max(chunk.longest for chunk in alone), failures)


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
