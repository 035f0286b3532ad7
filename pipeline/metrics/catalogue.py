"""Which metrics there are, found by their files, and how each is declared.

A metric is a module of its own name that declares `PAPER`, and a SQL file of that name. There is no
list of them. An edition that reads it differently is declared beside `PAPER`, with a SQL file in
the edition's folder. Without one, the edition `audited` takes the declaration of `paper`; the
edition `release` is what one published script computes, and has no other metric.
"""

from functools import cache
from importlib import import_module

from pipeline import sqlfiles
from pipeline.errors import UsageError
from pipeline.metrics.declaration import Metric
from pipeline.metrics.request import EDITIONS, PAPER, RELEASE

NAMES: tuple[str, ...] = tuple(
    sorted(
        sqlfiles.names("metrics"),
        key=lambda name: int(sqlfiles.header(f"metrics/{name}")["order"][0]),
    )
)
TITLES = {name: sqlfiles.header(f"metrics/{name}")["title"][0] for name in NAMES}


@cache
def metric(name: str, edition: str = PAPER) -> Metric:
    """The metric as its module declares it; raises UsageError for an unknown name."""
    if name not in NAMES:
        raise UsageError(f"no metric `{name}`: there are {', '.join(NAMES)}")
    if name not in names(edition):
        raise UsageError(
            f"the edition {edition} has no metric `{name}`: it has {', '.join(names(edition))}"
        )
    module = import_module(f"{__package__}.{name}")
    declared: Metric = getattr(module, edition.upper(), module.PAPER)
    return declared


@cache
def names(edition: str) -> tuple[str, ...]:
    """The metrics of an edition, in order; raises UsageError for an unknown edition."""
    if edition not in EDITIONS:
        raise UsageError(f"no edition `{edition}`: there are {', '.join(EDITIONS)}")
    if edition != RELEASE:
        return NAMES
    return tuple(name for name in NAMES if name in sqlfiles.names("metrics/release"))


def file_of(name: str, edition: str) -> str:
    """The SQL file of a metric in an edition, as `pipeline.sqlfiles` names it."""
    folder = "metrics" if edition == PAPER else f"metrics/{edition}"
    return f"{folder}/{name}" if name in sqlfiles.names(folder) else f"metrics/{name}"
