"""The models of a lake, by which a name that it does not have is told from one without rows."""

from collections.abc import Sequence

import polars as pl

from pipeline.errors import UsageError
from pipeline.lake import Lake


def check_models(lake: Lake, models: Sequence[str] | None) -> None:
    """Raises UsageError for models that no game tests."""
    strangers = _strangers(lake.table("results").filter("is_tested"), models)
    if strangers:
        _check_known(lake, strangers, "magic leaderboard")
        played = "is only played against" if len(strangers) == 1 else "are only played against"
        raise UsageError(
            f"{', '.join(strangers)} {played}: metrics are of the models tested, "
            "which `magic leaderboard` lists"
        )


def check_players(lake: Lake, models: Sequence[str] | None) -> None:
    """Raises UsageError for models that sit in no game, be it as an opponent."""
    _check_known(lake, models, "magic audit --by model")


def _check_known(lake: Lake, models: Sequence[str] | None, listing: str) -> None:
    if strangers := _strangers(lake.table("players"), models):
        raise UsageError(f"no game of {', '.join(strangers)}: `{listing}` lists the models")


def _strangers(rows: pl.LazyFrame, models: Sequence[str] | None) -> list[str]:
    """Those of the models that have no row, sorted."""
    if not models:
        return []
    named = rows.filter(pl.col("model").is_in(models)).select(pl.col("model").unique())
    return sorted(set(models) - set(named.collect(engine="streaming")["model"]))
