"""The same work on Spark: a session, an ingest's workers, and the lake's tables and views in it.

The only part that imports pyspark, and only once Spark is asked for: it comes with the extra
`spark`.
"""

from pipeline.spark.cluster import cluster
from pipeline.spark.session import open_session
from pipeline.spark.tables import Views

__all__ = ["Views", "cluster", "open_session"]
