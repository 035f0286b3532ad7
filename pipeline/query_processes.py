"""A query in a process of its own, which can be given limits of time and memory.

DuckDB itself bounds neither: a query runs for as long as it takes, and some functions allocate past
its memory limit.
"""

import io
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

from pipeline.errors import PipelineError, QueryError
from pipeline.processes import (
    describe_exit_code,
    exit_with_parent,
    limit_memory,
    parent_connection,
    start_python,
)

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from subprocess import Popen

    import polars as pl

    from pipeline.lake_methods import LakeWithMethods

_Process: TypeAlias = "tuple[Popen[bytes], Connection]"
_PROGRAM = "from pipeline.query_processes import main; main()"
# Beside the data: stacks of threads and what allocators keep.
_OVERHEAD_BYTES = 2**30
# What takes no longer needs no sign that it is at work.
_SECONDS_TO_SHOW = 2.0


class QueryProcesses:
    """Processes that answer one query each. The next one can be prepared in advance."""

    def __init__(
        self,
        *,
        timeout: float,
        memory: int,
        while_waiting: Callable[[], AbstractContextManager[object]] = nullcontext,
        metrics: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """A query has `timeout` seconds, and DuckDB `memory` bytes: all it does, twice as many.

        `while_waiting` is entered for a query that takes longer than two seconds. `metrics` gives
        those that every lake is to know besides the package's.
        """
        self._timeout = timeout
        self._memory = memory
        self._while_waiting = while_waiting
        self._metrics = metrics
        self._next: _Process | None = None

    def __enter__(self) -> "QueryProcesses":
        return self

    def __exit__(self, *_: object) -> None:
        if self._next is not None:
            _kill(*self._next)

    def prepare(self) -> None:
        """Starts a process, which loads what it needs while others are busy elsewhere."""
        if self._next is None:
            # Arrow's own allocator takes a gigabyte at its first use, which is no result's.
            self._next = start_python(_PROGRAM, ARROW_DEFAULT_MEMORY_POOL="system")

    def sql(
        self,
        lake: "str | LakeWithMethods",
        query: str,
        parameters: Mapping[str, str] | None = None,
    ) -> "pl.DataFrame":
        """The result of one reading statement on the lake: see `Lake.sql`.

        For a path, the lake is in its newest state; one that is open stays in its own.

        Raises QueryError also where it takes too long, or too much memory.
        """
        self.prepare()
        assert self._next is not None
        (process, connection), self._next = self._next, None
        try:
            options = dict(parameters or {}), self._memory, self._metrics()
            _raise_sent(connection)  # that it is ready: its time is that of the query alone
            connection.send((lake, query, *options))
            at_once = min(self._timeout, _SECONDS_TO_SHOW)
            is_answered = connection.poll(at_once)
            if not is_answered:
                with self._while_waiting():
                    is_answered = connection.poll(self._timeout - at_once)
            if not is_answered:
                raise QueryError(
                    f"the query took longer than {self._timeout:g} seconds: query less, or give it "
                    "more time with `magic sql --timeout`"
                )
            _raise_sent(connection)
            rows = connection.recv_bytes()
        except (EOFError, OSError):
            how = describe_exit_code(process.wait())
            raise QueryError(
                f"the query's process ended {how}, probably because memory ran out: query less at "
                "a time, or give it more with `magic sql --memory`"
            ) from None
        finally:
            _kill(process, connection)
        import polars as pl

        return pl.read_ipc_stream(rows)


def _raise_sent(connection: "Connection") -> None:
    """Raises the error that the process sent, if it did not send that all is well."""
    if error := connection.recv():
        raise error


def _kill(process: "Popen[bytes]", connection: "Connection") -> None:
    process.kill()
    process.wait()
    connection.close()


def main() -> None:
    """Answers one query from the process that started this one, through a connection, and ends."""
    connection = parent_connection()
    try:
        from pipeline.lake import open_lake
        from pipeline.lake_methods import LakeWithMethods, with_registered_metrics
    except PipelineError as error:  # of a package that cannot be used
        connection.send(error)
        return
    try:
        connection.send(None)
        lake, query, parameters, memory, metrics = connection.recv()
    except (EOFError, OSError):  # whoever would ask has ended
        return
    exit_with_parent(connection)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # where libraries tell that memory ran out
    try:
        opened = open_lake(lake, None, LakeWithMethods) if isinstance(lake, str) else lake
        limit_memory(2 * memory + _OVERHEAD_BYTES)
        rows = io.BytesIO()
        result = with_registered_metrics(opened, metrics).sql(
            query, parameters=parameters, memory=memory
        )
        result.write_ipc_stream(rows)
    except MemoryError:
        connection.send(
            QueryError("the result needs more memory than is allowed: query less at a time")
        )
    except PipelineError as error:
        connection.send(error)
    except Exception as error:
        connection.send(RuntimeError(f"{type(error).__name__}: {error}"))
    else:
        connection.send(None)
        connection.send_bytes(rows.getbuffer())
