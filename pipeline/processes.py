"""Start and control further Python processes, and find how many cores they may use.

This module depends on no other module of the package.
"""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from threading import Thread, current_thread, main_thread

# Prepended to each program, so that an error while it imports libraries is printed as one line.
_PRINT_ERRORS_IN_ONE_LINE = """
import sys
def print_error(kind, error, trace):
    lines = [line for line in str(error).splitlines() if line.strip()]
    print("magic:", *lines[-1:] or [kind.__name__], file=sys.stderr)
sys.excepthook = print_error
"""


def available_cores() -> int:
    """Return the number of processor cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def start_python_process(
    program: str, **environment: str
) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start a new Python process that runs a program, and return it with a connection to it.

    The process is not forked. It imports modules from this process's `sys.path`, and never from the
    current folder (`-P`). It ignores Ctrl-C, which a terminal sends to all processes, because this
    process ends it. Its standard output is discarded.

    Args:
        program: The source text; it gets its end of the connection by `parent_connection`.
        environment: Environment variables to add.

    Returns:
        The process, and this process's end of the connection.
    """
    parent_end, child_end = Pipe()
    with child_end, block_interrupts():
        process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-c",
                _PRINT_ERRORS_IN_ONE_LINE + program,
                str(child_end.fileno()),
            ],
            pass_fds=[child_end.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | environment,
        )
    return process, parent_end


@contextmanager
def block_interrupts() -> Iterator[None]:
    """Block Ctrl-C (SIGINT) in this thread, and in processes that are started in the block."""
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)


@contextmanager
def delay_interrupts() -> Iterator[None]:
    """Delay a Ctrl-C until the end of the block, for code that must not be interrupted.

    Examples are the start of Java and the loading of C++ libraries. Unlike `block_interrupts`, it
    works for all threads, because the system may deliver the signal to any of them.
    """
    # The handler is None if another program, such as R, embeds Python.
    if current_thread() is not main_thread() or not callable(signal.getsignal(signal.SIGINT)):
        yield
        return
    received: list[int] = []
    previous_handler = signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous_handler)
    if received:
        signal.raise_signal(signal.SIGINT)


def parent_connection() -> Connection:
    """Return this process's connection to the process that started it."""
    return Connection(int(sys.argv[1]))


def describe_exit_code(code: int) -> str:
    """Return the text "by signal N" or "with exit code N" for the exit code of a process."""
    return f"by signal {-code}" if code < 0 else f"with exit code {code}"


def start_thread_that_exits_with_parent(connection: Connection) -> None:
    """Start a thread that exits this process as soon as its parent process has ended.

    Call it after the last message was read: a later message would not be received.

    Args:
        connection: The connection to the parent process.
    """
    Thread(target=_exit_when_connection_closes, args=[connection], daemon=True).start()


def _exit_when_connection_closes(connection: Connection) -> None:
    with suppress(EOFError, OSError):
        connection.poll(None)
    os._exit(0)


def limit_memory_of_this_process(n_bytes: int) -> None:
    """Limit how many further bytes of memory this process may allocate, if the system can.

    Only writable memory counts (RLIMIT_DATA), because allocators and threads reserve gigabytes of
    addresses that they do not use.
    """
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[5])  # data and stack
        limit = min(pages * resource.getpagesize() + n_bytes, sys.maxsize)  # of a C integer
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
