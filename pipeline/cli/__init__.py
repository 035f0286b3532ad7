"""The command line, `magic`: it asks the layers below and shows their answers."""

from pipeline.cli.app import main

__all__ = ["main"]
