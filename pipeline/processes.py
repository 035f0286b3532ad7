"""Python processes of our own, a connection to each, and the cores that they may run on."""

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

# Where there is no memory for its libraries, a process says so in a line, as all errors are.
_IN_A_LINE = """
import sys
def say(kind, error, trace):
    lines = [line for line in str(error).splitlines() if line.strip()]
    print("magic:", *lines[-1:] or [kind.__name__], file=sys.stderr)
sys.excepthook = say
"""


def available_cores() -> int:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def start_python(program: str, **environment: str) -> tuple[subprocess.Popen[bytes], Connection]:
    """A new Python that runs the program, and our end of a connection to it.

    Its own end is the file that `sys.argv[1]` numbers. It is started anew, not forked, with our
    modules: those that happen to lie in the current folder are not run (`-P`). Ctrl-C, which a
    terminal sends to all of its processes, is for us alone: we end those that we started. What it
    prints is dropped, since our stdout is for results.
    """
    ours, theirs = Pipe()
    with theirs, block_interrupts():
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _IN_A_LINE + program, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | environment,
        )
    return process, ours


@contextmanager
def block_interrupts() -> Iterator[None]:
    """Holds Ctrl-C back; a process that is started meanwhile does so from its first instant on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def delay_interrupts() -> Iterator[None]:
    """Lets Ctrl-C wait for what it would break: Java that starts, C++ that is loaded.

    In all threads: where several run, any of them may be the one that gets the signal.
    """
    # A handler that is not Python's own, as where R runs Python, is None.
    if current_thread() is not main_thread() or not callable(signal.getsignal(signal.SIGINT)):
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


def parent_connection() -> Connection:
    """The connection to whoever started this process."""
    return Connection(int(sys.argv[1]))


def describe_exit_code(code: int) -> str:
    """How a process ended with this exit code, as in `by signal 9`."""
    return f"by signal {-code}" if code < 0 else f"with exit code {code}"


def exit_with_parent(connection: Connection) -> None:
    """Ends this process once the one that started it is gone, whatever is being computed.

    Whatever comes over the connection from now on stays unread: it has to be read before.
    """
    Thread(target=_end_with, args=[connection], daemon=True).start()


def _end_with(connection: Connection) -> None:
    with suppress(EOFError, OSError):
        connection.poll(None)
    os._exit(0)


def limit_memory(n_bytes: int) -> None:
    """Lets this process take that many bytes more than now, if the system can tell.

    What counts is memory that can be written to: allocators and threads reserve addresses by
    gigabytes, more on more cores, and libraries lie in files.
    """
    with suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[5])  # data and stack
        most = min(pages * resource.getpagesize() + n_bytes, sys.maxsize)  # more is no number
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
