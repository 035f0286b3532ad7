"""Processes that each run a worker, and what passes between them and the ingest.

They are started anew, not forked, and import only what a worker needs. Interrupting and failing are
the ingest's to handle: a worker whose ingest is gone takes its files away and ends.
"""

import gc
import os
import pickle
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import chain
from multiprocessing.connection import Connection, wait
from typing import Protocol, cast

from pipeline.archives import Unit
from pipeline.errors import PipelineError
from pipeline.ingest.tasks import Task
from pipeline.ingest.worker import Findings, Job, Staged, Worker
from pipeline.processes import cores, how_it_ended, start, theirs

TASKS_AHEAD = 1
_SECONDS_TO_END = 5
_FINISH = None
# What polars and Arrow free after a batch, the next one needs again; to give it back meanwhile and
# have it cleared anew takes the system a twentieth of all processor time.
_KEEPING = {
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:-1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
# Modules are no garbage: to search them for some as they come takes Python 35 ms.
_PROGRAM = "import gc; gc.disable(); from pipeline.ingest.pool import main; main()"


# A process takes a second to start, in which another decodes as much as this; archives hold more
# than their size. So for less than twice as much, one process is quicker than two.
_BYTES_OF_PROCESS = 48 * 2**20
_EXPANSION = 8


class Workers(Protocol):
    """Workers in any kind of process: takes tasks, yields what they find as it comes.

    `takes_documents` says whether large archives are to be read for them.
    """

    takes_documents: bool

    def run(self, tasks: Iterable[Task]) -> Iterator[Findings]:
        """Has the tasks done, each by one worker, and tells what was found in the meantime."""

    def finish(self) -> list[Staged]:
        """What each worker leaves behind, in the order of their numbers."""

    def stop(self) -> None:
        """Ends the workers at once."""


# Opens the workers for a job; gives them with the units; they may have seen some of those.
Team = Callable[[Job, Iterator[Unit]], AbstractContextManager[tuple[Workers, Iterator[Unit]]]]


@contextmanager
def processes(
    n_most: int, job: Job, units: Iterator[Unit]
) -> Iterator[tuple[Workers, Iterator[Unit]]]:
    """A team of at most so many processes, as many as the work is worth; for little this one."""
    first: list[Unit] = []
    n_bytes = 0
    for unit in units if n_most > 1 else ():
        first.append(unit)
        n_bytes += unit.n_bytes * (_EXPANSION if unit.is_packed else 1)
        if n_bytes >= n_most * _BYTES_OF_PROCESS:
            break
    n_workers = min(n_most, n_bytes // _BYTES_OF_PROCESS)
    team: Workers = Pool(job, n_workers) if n_workers > 1 else Here(job)
    try:
        yield team, chain(first, units)
    finally:
        team.stop()


class Here:
    """One worker in this process."""

    takes_documents = True

    def __init__(self, job: Job) -> None:
        self._worker = Worker(job, 0)

    def run(self, tasks: Iterable[Task]) -> Iterator[Findings]:
        return map(self._worker.take, tasks)

    def finish(self) -> list[Staged]:
        return [self._worker.finish()]

    def stop(self) -> None:
        self._worker.stop()


class Pool:
    """Workers in processes of their own."""

    takes_documents = True

    def __init__(self, job: Job, n_workers: int) -> None:
        self._workers = [_Process(job, number, n_workers) for number in range(n_workers)]

    def run(self, tasks: Iterable[Task]) -> Iterator[Findings]:
        for task in tasks:
            while (free := self._free()) is None:
                yield from self._answers()
            free.send(task)
        while any(worker.n_tasks for worker in self._workers):
            yield from self._answers()

    def finish(self) -> list[Staged]:
        for worker in self._workers:
            worker.send(_FINISH)
        return [cast(Staged, worker.answer()) for worker in self._workers]

    def stop(self) -> None:
        for worker in self._workers:
            worker.stop()

    def _free(self) -> "_Process | None":
        least = min(self._workers, key=lambda worker: worker.n_tasks)
        return least if least.n_tasks < TASKS_AHEAD else None

    def _answers(self) -> Iterator[Findings]:
        of_connection = {worker.connection: worker for worker in self._workers if worker.n_tasks}
        for connection in wait(list(of_connection)):
            yield cast(Findings, of_connection[cast(Connection, connection)].answer())


class _Process:
    def __init__(self, job: Job, number: int, n_workers: int) -> None:
        self.n_tasks = 0
        threads = str(max(1, cores() // n_workers))
        # What a worker leaves behind, however it ends, goes with the ingest's own folder.
        self._process, self.connection = start(
            _PROGRAM,
            POLARS_MAX_THREADS=threads,
            OMP_NUM_THREADS=threads,
            TMPDIR=job.scratch,
            **_KEEPING,
        )
        self.connection.send((job, number))

    def send(self, task: Task | None) -> None:
        try:
            self.connection.send(task)
        except OSError:
            raise self._lost() from None
        self.n_tasks += 1

    def answer(self) -> Findings | Staged:
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            raise self._lost() from None
        self.n_tasks -= 1
        if isinstance(answer, BaseException):
            raise answer
        return cast(Findings | Staged, answer)

    def stop(self) -> None:
        self.connection.close()
        self._process.terminate()
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _lost(self) -> PipelineError:
        how = how_it_ended(self._process.wait())
        return PipelineError(
            f"a worker process ended {how}; nothing was changed. If memory ran out, use a "
            "smaller --memory or fewer --jobs, and run the same command again"
        )


def main() -> None:
    """Runs one worker; its tasks come through the connection that the first argument names."""
    gc.freeze()  # nor are they later, with every batch
    gc.enable()
    connection = theirs()
    job, number = connection.recv()
    worker = Worker(job, number)
    try:
        is_over = False
        while not is_over:
            task = connection.recv()
            connection.send(_done(worker, task))
            is_over = task is _FINISH
    except (EOFError, OSError):
        pass  # nobody is there any more to make use of its files
    finally:
        worker.stop()
    os._exit(0)  # at once: Python would take all modules apart first, which takes it 0.1 s


def _done(worker: Worker, task: Task | None) -> object:
    """The worker's answer; an error that it met is one, too, for the ingest to raise."""
    try:
        return worker.finish() if task is _FINISH else worker.take(task)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return RuntimeError(f"{type(error).__name__}: {error}")
        return error
