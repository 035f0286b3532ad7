"""The lake: the event tables as Delta Lake tables, and the only code that knows where they are."""

from pipeline.lake.opening import (
    concat_by_system,
    create_lake,
    is_lake,
    open_lake,
    reopen_lake,
)
from pipeline.lake.stored_lake import StoredLake

__all__ = [
    "StoredLake",
    "concat_by_system",
    "create_lake",
    "is_lake",
    "open_lake",
    "reopen_lake",
]
