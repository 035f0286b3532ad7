"""Results through the user's pager, which shows short ones at once."""

import io
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.cli import terminal

_NOT_RUN = (126, 127)  # what a shell ends with
# Quit if it fits the screen, keep colours, and leave it on the screen.
_OPTIONS = {"LESS": "FRX"}


@contextmanager
def paged() -> Iterator[None]:
    """Shows results with `$PAGER`, by default `less`, which stays open if they exceed the screen.

    Without a terminal, or a pager, everything is shown at once. Notes come after the pager.
    """
    command = os.environ.get("PAGER") or shutil.which("less") or shutil.which("more")
    if not (command and terminal.is_out_terminal() and terminal.is_in_terminal()):
        yield
        return
    text = io.BytesIO()
    with terminal.results_to(_Screen(text, terminal.stream().encoding, terminal.LACKING)):
        yield
        terminal.flush()
        _show(command, text.getvalue())


def _show(command: str, text: bytes) -> None:
    before = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the pager
    try:
        pager = subprocess.run(
            command, shell=True, input=text, env=_OPTIONS | os.environ, check=False
        )
    finally:
        signal.signal(signal.SIGINT, before)
    if pager.returncode in _NOT_RUN:
        terminal.complain(f"the pager `{command}` cannot be run: set $PAGER to another")


class _Screen(io.TextIOWrapper):
    """What the pager shows. It counts as a terminal, since the pager shows it on one."""

    def isatty(self) -> bool:
        return True
