"""Run SQL queries in separate processes, with limits of time and memory.

DuckDB enforces neither: a query has no time limit, and some functions allocate more than its memory
limit. `magic sql` and the SQL page use this module.
"""

import io
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

from pipeline.errors import PipelineError, QueryError
from pipeline.processes import (
    describe_exit_code,
    limit_memory_of_this_process,
    parent_connection,
    start_python_process,
    start_thread_that_exits_with_parent,
)

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from subprocess import Popen

    import polars as pl

    from pipeline.lake_methods import LakeWithMethods

_Process: TypeAlias = "tuple[Popen[bytes], Connection]"
_PROGRAM = "from pipeline.query_processes import run_query_for_parent; run_query_for_parent()"
# Memory for stacks of threads and for pages that allocators keep, in addition to the data.
_OVERHEAD_BYTES = 2**30
# A query that takes longer shows that it is running.
_SECONDS_UNTIL_PROGRESS = 2.0


class QueryProcesses:
    """Processes that run one query each; the next process can be started in advance."""

    def __init__(
        self,
        *,
        timeout: float,
        memory: int,
        while_waiting: Callable[[], AbstractContextManager[object]] = nullcontext,
        metrics: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Set the limits of all queries.

        Args:
            timeout: Time limit of a query in seconds.
            memory: Memory limit of DuckDB in bytes; the whole process may use twice as much.
            while_waiting: Returns a context that is entered if a query takes longer than two
                seconds.
            metrics: Returns further metrics that each lake has, by name.
        """
        self._timeout = timeout
        self._memory = memory
        self._while_waiting = while_waiting
        self._metrics = metrics
        self._next: _Process | None = None

    def __enter__(self) -> "QueryProcesses":
        """Return the object itself; the first process starts when it is needed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the process that waits for the next query."""
        if self._next is not None:
            _kill_process(*self._next)

    def start_next_process(self) -> None:
        """Start the process of the next query in advance, so that it can import its libraries."""
        if self._next is None:
            # Arrow's default allocator reserves a gigabyte at its first use.
            self._next = start_python_process(_PROGRAM, ARROW_DEFAULT_MEMORY_POOL="system")

    def run_query(
        self,
        lake: "str | LakeWithMethods",
        query: str,
        parameters: Mapping[str, str] | None = None,
    ) -> "pl.DataFrame":
        """Run one SELECT in a process with limits of time and memory, and return its rows.

        Args:
            lake: An open lake, or the path of a lake, which is opened in its latest state.
            query: The SQL statement; see `Lake.sql`.
            parameters: The value of each parameter of the query.

        Raises:
            QueryError: If the query is wrong, takes too long or needs too much memory.
        """
        self.start_next_process()
        assert self._next is not None
        (process, connection), self._next = self._next, None
        try:
            options = dict(parameters or {}), self._memory, self._metrics()
            _receive_and_raise_error(
                connection
            )  # wait until it is ready, so that only the query is timed
            connection.send((lake, query, *options))
            seconds_until_progress = min(self._timeout, _SECONDS_UNTIL_PROGRESS)
            has_answer = connection.poll(seconds_until_progress)
            if not has_answer:
                with self._while_waiting():
                    has_answer = connection.poll(self._timeout - seconds_until_progress)
            if not has_answer:
                raise QueryError(
                    f"the query took longer than {self._timeout:g} seconds: query less, or give it "
                    "more time with `magic sql --timeout`"
                )
            _receive_and_raise_error(connection)
            rows = connection.recv_bytes()
        except (EOFError, OSError):
            ending = describe_exit_code(process.wait())
            raise QueryError(
                f"the query's process ended {ending}, probably because memory ran out: query less "
                "at a time, or give it more with `magic sql --memory`"
            ) from None
        finally:
            _kill_process(process, connection)
        import polars as pl

        return pl.read_ipc_stream(rows)


def _receive_and_raise_error(connection: "Connection") -> None:
    """Receive an error or None from the process, and raise the error."""
    if error := connection.recv():
        raise error


def _kill_process(process: "Popen[bytes]", connection: "Connection") -> None:
    process.kill()
    process.wait()
    connection.close()


def run_query_for_parent() -> None:
    """Receive a query from the parent process, run it, and send its rows or an error back."""
    connection = parent_connection()
    try:
        from pipeline.lake import open_lake
        from pipeline.lake_methods import LakeWithMethods, with_registered_metrics
    except PipelineError as error:  # an installed package with an invalid plugin
        connection.send(error)
        return
    try:
        connection.send(None)
        lake, query, parameters, memory, metrics = connection.recv()
    except (EOFError, OSError):  # the parent process has exited
        return
    start_thread_that_exits_with_parent(connection)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries print there if memory runs out
    try:
        lake = open_lake(lake, None, LakeWithMethods) if isinstance(lake, str) else lake
        limit_memory_of_this_process(2 * memory + _OVERHEAD_BYTES)
        rows = io.BytesIO()
        result = with_registered_metrics(lake, metrics).sql(
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
