"""Which columns a metric's rows have, and conditions on them."""

from collections.abc import Sequence

import polars as pl

from pipeline.lake import Lake
from pipeline.metrics.catalogue import metric
from pipeline.metrics.condition import Condition, condition
from pipeline.metrics.request import PAPER
from pipeline.metrics.slices import GAME_COLUMNS


def row_schema(lake: Lake, name: str) -> dict[str, pl.DataType]:
    """The columns that all rows of the metric have, of their own or of their game."""
    tables = [one.table for one in metric(name, PAPER).rows]
    schemas = [lake.table(table).collect_schema() for table in tables if isinstance(table, str)]
    own = {c: t for c, t in schemas[0].items() if all(c in schema for schema in schemas)}
    return own | GAME_COLUMNS


def chosen_by(lake: Lake, names: Sequence[str], where: str) -> Condition:
    """The condition on the columns that the rows of all these metrics have."""
    schemas = [row_schema(lake, name) for name in names]
    common = {c: t for c, t in schemas[0].items() if all(c in schema for schema in schemas)}
    return condition(where, common)
