"""What numbers are of: the system whose games they count, and the edition that counts them.

Who keeps a number needs both: another system may be the largest after the next ingest.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import polars as pl

from pipeline.column import Column, listed
from pipeline.lake import StoredLake, of_one_system
from pipeline.metrics.request import PAPER
from pipeline.metrics.results import EDITION, SYSTEM

L = TypeVar("L", bound=StoredLake)
P = ParamSpec("P")
R = TypeVar("R", bound=pl.DataFrame | Iterator[pl.DataFrame])

ORIGIN: Mapping[str, Column] = {"edition": EDITION, "system": SYSTEM}
_OF_NO_EDITION = {"system": SYSTEM}


def origin(lake: StoredLake, edition: str | None = PAPER) -> list[pl.Expr]:
    """The columns of `ORIGIN` for numbers of this lake; without an edition, the system alone."""
    system = pl.lit(lake.system, pl.String).alias("system")
    return [system] if edition is None else [pl.lit(edition).alias("edition"), system]


def counted_in(
    columns: Mapping[str, Column], *, has_edition: bool = True
) -> Callable[[Callable[Concatenate[L, P], R]], Callable[Concatenate[L, P], R]]:
    """The function, given the lake of one system; its rows say which that is, and the edition.

    `columns` are those that it returns itself. They are listed in its docstring, with the others.
    """
    of_rows = {**columns, **(ORIGIN if has_edition else _OF_NO_EDITION)}

    def with_origin(function: Callable[Concatenate[L, P], R]) -> Callable[Concatenate[L, P], R]:
        listed(of_rows)(function)

        @wraps(function)
        def run(lake: L, /, *given: P.args, **options: P.kwargs) -> R:
            edition = str(options.get("edition", PAPER)) if has_edition else None
            rows: Any = function(lake, *given, **options)
            said = origin(lake, edition)
            is_whole = isinstance(rows, pl.DataFrame)
            parts = (part.with_columns(said) for part in ([rows] if is_whole else rows))
            return cast(R, next(parts) if is_whole else parts)

        return of_one_system(run)

    return with_origin
