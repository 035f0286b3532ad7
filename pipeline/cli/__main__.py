"""Lets `python -m pipeline.cli` stand for `magic`."""

import sys

from pipeline.cli import main

if __name__ == "__main__":  # simulate's processes import this module anew
    sys.exit(main())
