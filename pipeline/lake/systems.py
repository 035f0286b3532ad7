"""Games are counted within one system: a mean over several harnesses means nothing."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import polars as pl

from pipeline.lake.lake import StoredLake

L = TypeVar("L", bound=StoredLake)
P = ParamSpec("P")
R = TypeVar("R")


def of_one_system(
    function: Callable[Concatenate[L, P], R],
) -> Callable[Concatenate[L, P], R]:
    """The function, given the lake of one system: the lake's own, or else the largest."""

    @wraps(function)
    def run(lake: L, /, *given: P.args, **options: P.kwargs) -> R:
        return function(lake.of_one_system(), *given, **options)

    return run


def by_system(lake: L, rows: Callable[[L], pl.DataFrame]) -> pl.DataFrame:
    """The function's rows for each system by itself, concatenated, with `system` added."""
    return pl.concat(
        rows(part).with_columns(system=pl.lit(part.system, pl.String)) for part in lake.by_system()
    )
