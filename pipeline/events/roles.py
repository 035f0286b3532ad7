"""The roles of games, as rows of the table `roles`."""

from functools import cache

import polars as pl

from pipeline.events.contracts import polars_schema
from pipeline.games import kinds


@cache
def role_rows() -> pl.DataFrame:
    """The rows for all games that are known here."""
    rows = [
        (name, role.name, str(role.side), role.competition, role.is_sought)
        for name, kind in kinds().items()
        for role in kind.roles
    ]
    return pl.DataFrame(rows, dict(polars_schema("roles")), orient="row")
