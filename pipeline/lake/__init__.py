"""The lake: the event tables as Delta Lake tables, and the only code that knows where they are."""

from pipeline.lake.lake import StoredLake
from pipeline.lake.opening import create_lake, is_lake, open_lake, reopened
from pipeline.lake.systems import by_system, of_one_system

__all__ = [
    "StoredLake",
    "by_system",
    "create_lake",
    "is_lake",
    "of_one_system",
    "open_lake",
    "reopened",
]
