"""The command line, `magic`: it asks the layers below and shows their answers."""

import sys
from collections.abc import Sequence

from pipeline.cli.exits import INTERRUPTED

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code; see `pipeline.cli.app.main`."""
    try:
        from pipeline.cli.app import main as run
    except KeyboardInterrupt:  # its modules take a quarter of a second to load
        sys.stderr.write("magic: interrupted\n")
        return INTERRUPTED
    return run(arguments)
