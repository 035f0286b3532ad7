"""Who counts games counts those of one system: a mean over several harnesses means nothing."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from pipeline.lake.lake import Lake

L = TypeVar("L", bound=Lake)
P = ParamSpec("P")
R = TypeVar("R")


def of_one_system(
    function: Callable[Concatenate[L, P], R],
) -> Callable[Concatenate[L, P], R]:
    """The function of a lake, which sees one system of it: the lake's own, or else the largest."""

    @wraps(function)
    def run(lake: L, /, *given: P.args, **options: P.kwargs) -> R:
        return function(lake.of_one_system(), *given, **options)

    return run
