"""Long results through the user's pager."""

import io
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from pipeline.cli import terminal

_NOT_RUN = (126, 127)  # what a shell ends with


@contextmanager
def paged() -> Iterator[None]:
    """Shows results that are longer than the screen with `$PAGER`, by default `less`.

    Without a terminal, or a pager, everything is shown at once. Notes come after the pager.
    """
    command = os.environ.get("PAGER") or shutil.which("less") or shutil.which("more")
    if not (command and terminal.is_out_terminal() and terminal.is_in_terminal()):
        yield
        return
    screen = _Screen(terminal.stream(), command)
    try:
        # A user who leaves the pager has seen enough.
        with terminal.results_to(cast(TextIO, screen)), suppress(BrokenPipeError):
            yield
    finally:
        screen.end()
        terminal.release_notes()


class _Screen(io.TextIOBase):
    """A stream that holds back as much as the screen has room for; what is more starts a pager."""

    def __init__(self, stream: TextIO, command: str) -> None:
        self.buffer = _Bytes(self)
        self._stream = stream
        self._command = command
        self._columns, n_lines = shutil.get_terminal_size()
        self._room = n_lines - 2  # the note below the result, and the prompt
        self._held: list[str] = []
        self._pager: subprocess.Popen[str] | None = None
        self._before: Any = None

    def isatty(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self._pager is None:
            self._held.append(text)
            lines = text.split("\n")
            n_more = sum(max(len(line) - 1, 0) // self._columns for line in lines)
            self._room -= len(lines) - 1 + n_more
            if self._room < 0:
                self._start()
        else:
            self._feed(text)
        return len(text)

    def end(self) -> None:
        """Shows what was held back, or waits for the user to leave the pager."""
        if self._pager is None:
            self._stream.write("".join(self._held))
            self._stream.flush()
            return
        try:
            with suppress(BrokenPipeError):
                self._pager.communicate()
        finally:
            signal.signal(signal.SIGINT, self._before)
        if self._pager.returncode in _NOT_RUN:
            terminal.complain(f"the pager `{self._command}` cannot be run: set $PAGER to another")

    def _start(self) -> None:
        self._pager = subprocess.Popen(
            self._command,
            shell=True,
            stdin=subprocess.PIPE,
            stdout=self._stream,
            text=True,
            encoding=self._stream.encoding,
            errors=terminal.LACKING,
            env={"LESS": "FRX"} | os.environ,
        )
        # Ctrl-C is for the pager.
        self._before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._feed("".join(self._held))

    def _feed(self, text: str) -> None:
        assert self._pager is not None
        assert self._pager.stdin is not None
        self._pager.stdin.write(text)


class _Bytes(io.RawIOBase):
    """The same stream for text in UTF-8."""

    def __init__(self, screen: _Screen) -> None:
        self._screen = screen

    def writable(self) -> bool:
        return True

    def write(self, data: "bytes | memoryview") -> int:  # type: ignore[override]
        self._screen.write(bytes(data).decode())
        return len(data)
