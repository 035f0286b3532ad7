"""Which metrics there are, found by their files, and how each is declared.

A metric is a module of its own name that declares `PAPER` and `RELEASE`, and a SQL file of the same
name in each edition's folder; there is no list of them to keep. What is read otherwise in the
edition `audited` has a third of each; all else is there as in `paper`.
"""

from functools import cache
from importlib import import_module

from pipeline import sqlfiles
from pipeline.errors import UsageError
from pipeline.metrics.declaration import Metric

NAMES: tuple[str, ...] = tuple(
    sorted(
        sqlfiles.names("metrics"),
        key=lambda name: int(sqlfiles.header(f"metrics/{name}")["place"][0]),
    )
)
TITLES = {name: sqlfiles.header(f"metrics/{name}")["title"][0] for name in NAMES}


@cache
def metric(name: str, edition: str) -> Metric:
    """The metric as its module declares it; raises UsageError for a name unknown."""
    if name not in NAMES:
        raise UsageError(f"no metric `{name}`: there are {', '.join(NAMES)}")
    module = import_module(f"{__package__}.{name}")
    declared: Metric = getattr(module, edition.upper(), module.PAPER)
    return declared
