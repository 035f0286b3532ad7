"""Results through the user's pager, which shows short ones at once."""

import io
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from pipeline.cli import terminal

_NOT_RUN = (126, 127)  # what a shell ends with
# Quit if it fits the screen, keep colours, and leave it on the screen.
_OPTIONS = "FRX"


@contextmanager
def paged() -> Iterator[None]:
    """Shows results with `$PAGER`, by default `less`, which stays open if they exceed the screen.

    Without a terminal, or a pager, everything is shown at once. Notes come after the pager.
    """
    command = os.environ.get("PAGER") or shutil.which("less") or shutil.which("more")
    if not (command and terminal.is_out_terminal() and terminal.is_in_terminal()):
        yield
        return
    encoding = terminal.stream().encoding
    pager = subprocess.Popen(
        command, shell=True, stdin=subprocess.PIPE, env={"LESS": _OPTIONS} | os.environ
    )
    assert pager.stdin is not None
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager
    try:
        # The pipe breaks when the user leaves the pager early.
        with (
            suppress(BrokenPipeError),
            _Screen(pager.stdin, encoding, terminal.LACKING) as screen,
            terminal.results_to(screen),
        ):
            yield
    finally:
        pager.wait()
        signal.signal(signal.SIGINT, before)
        terminal.release_notes()
    if pager.returncode in _NOT_RUN:
        terminal.complain(f"the pager `{command}` cannot be run: set $PAGER to another")


class _Screen(io.TextIOWrapper):
    """The pager's input. It counts as a terminal, since the pager shows it on one."""

    def isatty(self) -> bool:
        return True
