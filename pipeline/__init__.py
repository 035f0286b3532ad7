"""Archives of games that language models played, as Parquet event tables and metrics.

lake = pipeline.open_lake("lake/")
lake.table("votes")            # a polars LazyFrame
lake.metrics(by=["model"])     # a polars DataFrame
lake.sql("SELECT ...")         # a polars DataFrame
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.api import OpenLake

__version__ = "0.1.0"
__all__ = ["__version__", "open_lake"]


def open_lake(path: str | Path) -> "OpenLake":
    """The lake at the path, at its last committed state; raises LakeError where there is none."""
    # Imported here, so that what only needs the version or the help does not wait for it.
    from pipeline.api import open_lake_at

    return open_lake_at(path)
