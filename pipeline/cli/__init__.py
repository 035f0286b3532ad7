"""The command line, `magic`: its commands parse options, call the Python API and print results.

`main` is the entry point; importing this package does not import the commands.
"""

import os
import sys

from pipeline.cli.exit_codes import INTERRUPTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the command line and return its exit code; see `pipeline.cli.app.main`.

    Args:
        arguments: The arguments without the program's name; None for those of the process.
    """
    if arguments is None:
        # Importing NumPy starts a busy thread for each core, which no small matrix here needs.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from pipeline.cli.app import main as run

        return run(arguments)
    except KeyboardInterrupt:  # Ctrl-C while the modules are imported, which takes 0.25 s.
        sys.stderr.write("magic: interrupted\n")
        return INTERRUPTED
