"""The command line, `magic`: it asks the layers below and shows their answers."""

import os
import sys

from pipeline.cli.exit_codes import INTERRUPTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the command line and return its exit code; see `pipeline.cli.app.main`."""
    if arguments is None:
        # Numpy starts a thread for each core, which spins for a while; no matrix is large here.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from pipeline.cli.app import main as run

        return run(arguments)
    except KeyboardInterrupt:  # its modules take a quarter of a second to load
        sys.stderr.write("magic: interrupted\n")
        return INTERRUPTED
