"""The lake: the event tables as Delta Lake tables, and the only code that knows where they are."""

from pipeline.lake.opening import (
    by_system,
    create_lake,
    is_lake,
    open_lake,
    reopened,
)
from pipeline.lake.stored_lake import StoredLake

__all__ = [
    "StoredLake",
    "by_system",
    "create_lake",
    "is_lake",
    "open_lake",
    "reopened",
]
