"""The models of a lake, by which a name that it does not have is told from one without rows."""

from collections.abc import Sequence

import polars as pl

from pipeline.errors import UsageError
from pipeline.lake import Lake


def check_models(lake: Lake, models: Sequence[str] | None) -> None:
    """Raises UsageError for models that no game tests."""
    _check(lake.table("results").filter("is_tested"), models, "magic leaderboard")


def check_players(lake: Lake, models: Sequence[str] | None) -> None:
    """Raises UsageError for models that sit in no game, be it as an opponent."""
    _check(lake.table("players"), models, "magic audit --by model")


def _check(rows: pl.LazyFrame, models: Sequence[str] | None, listing: str) -> None:
    if not models:
        return
    named = rows.filter(pl.col("model").is_in(models)).select(pl.col("model").unique())
    if strangers := sorted(set(models) - set(named.collect(engine="streaming")["model"])):
        raise UsageError(f"no game of {', '.join(strangers)}: `{listing}` lists the models")
