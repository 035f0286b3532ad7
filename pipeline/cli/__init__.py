"""The command line, `magic`: it asks the layers below and shows their answers."""

import os
import sys
from _signal import SIGINT, pthread_kill  # type: ignore[import-not-found]
from _thread import get_ident, start_new_thread

from pipeline.cli.exits import INTERRUPTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from sys import UnraisableHookArgs

__all__ = ["main"]


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Runs the command line and returns its exit code; see `pipeline.cli.app.main`."""
    if arguments is None:
        sys.unraisablehook = _interrupt_again
        # Numpy starts a thread for each core, which spins for a while; no matrix is large here.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from pipeline.cli.app import main as run

        return run(arguments)
    except KeyboardInterrupt:  # its modules take a quarter of a second to load
        sys.stderr.write("magic: interrupted\n")
        return INTERRUPTED


def _interrupt_again(ignored: "UnraisableHookArgs") -> None:
    """Repeats a Ctrl-C that came while Python freed something, where no error is raised."""
    if ignored.exc_type is KeyboardInterrupt:
        # Once this function has ended: within it, the error would be lost, too.
        start_new_thread(pthread_kill, (get_ident(), SIGINT))
    else:
        sys.__unraisablehook__(ignored)
