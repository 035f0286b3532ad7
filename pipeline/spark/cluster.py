"""An ingest's workers on Spark: one stage without a shuffle, a worker for each of its partitions.

Executors read the sources and write the lake's files where they are: both have the same path, or
URL, on each of them. Only the files that come back are committed, so an attempt that was killed, or
that another overtook, leaves no more than orphans for `magic maintain`.
"""

import heapq
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from pipeline.archives import Unit
from pipeline.errors import PipelineError
from pipeline.ingest.pool import Team, Workers
from pipeline.ingest.tasks import Task
from pipeline.ingest.worker import Findings, Job, Staged, Worker
from pipeline.library_errors import one_line
from pipeline.spark.session import cancelling, open_session

if TYPE_CHECKING:
    from pyspark import SparkContext

# A worker's files should be neither many nor small; and lost work is what has to be done again.
PARTITION_BYTES = 256 * 2**20


def cluster(master: str | None = None) -> Team:
    """The workers of a Spark cluster, by its master as `open_session` takes it."""

    @contextmanager
    def team(job: Job, units: Iterator[Unit]) -> Iterator[tuple[Workers, Iterator[Unit]]]:
        yield _Cluster(open_session(master).sparkContext, job), units

    return team


class _Part(NamedTuple):
    """What one partition does: its worker's number and the tasks."""

    number: int
    tasks: list[Task]


class _Cluster:
    """Takes all tasks before the first is done, since Spark wants a whole stage."""

    takes_documents = False

    def __init__(self, context: "SparkContext", job: Job) -> None:
        self._context = context
        self._job = job
        self._staged: list[Staged] = []

    def run(self, tasks: Iterable[Task]) -> Iterator[Findings]:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        parts = balanced(list(tasks), self._context.defaultParallelism)
        if not parts:
            return
        job, known = self._job, None
        if job.known:
            known = self._context.broadcast(Path(job.known).read_bytes())

        def work(of_partition: Iterable[_Part]) -> Iterator[tuple[int, list[Findings], Staged]]:
            return (_done(job, known.value if known else None, part) for part in of_partition)

        try:
            with cancelling(self._context):
                done = self._context.parallelize(parts, len(parts)).mapPartitions(work).collect()
        except (PySparkException, Py4JError) as error:
            raise PipelineError(
                f"the ingest failed on Spark: {one_line(error)}; nothing was changed; fix the "
                "cause and run the same command again"
            ) from None
        for _, results, staged in sorted(done, key=lambda item: item[0]):
            yield from results
            self._staged.append(staged)

    def finish(self) -> list[Staged]:
        return self._staged

    def stop(self) -> None:
        """Leaves the session to the process, which may have other uses for it."""


def _done(job: Job, known: bytes | None, part: _Part) -> tuple[int, list[Findings], Staged]:
    """Runs on an executor: one worker, from its first task to its files."""
    with TemporaryDirectory(prefix="magic-") as scratch:
        if known is not None:
            file = Path(scratch) / "known.npy"
            file.write_bytes(known)
            job = replace(job, known=str(file))
        worker = Worker(job, part.number)
        try:
            results = [worker.take(task) for task in part.tasks]
            return part.number, results, worker.finish()
        finally:
            worker.stop()


def balanced(tasks: list[Task], n_least: int) -> list[_Part]:
    """The tasks dealt out by their bytes, the largest first, each to whoever has least."""
    n_bytes = sum(_n_bytes(task) for task in tasks)
    n_parts = min(len(tasks), max(n_least, -(-n_bytes // PARTITION_BYTES)))
    parts = [(0, number, _Part(number, [])) for number in range(n_parts)]
    for task in sorted(tasks, key=_n_bytes, reverse=True):
        n_dealt, number, part = heapq.heappop(parts)
        part.tasks.append(task)
        heapq.heappush(parts, (n_dealt + _n_bytes(task), number, part))
    for _, _, part in parts:
        part.tasks.sort(key=lambda task: task.number)
    return [part for _, _, part in sorted(parts, key=lambda entry: entry[1])]


def _n_bytes(task: Task) -> int:
    return sum(unit.n_bytes for unit in task.units)
