"""Which metrics there are, found by their files, and how each is declared.

A metric is a module of its own name that declares `PAPER`, and a SQL file of that name. There is no
list of them. An edition that reads it differently is declared beside `PAPER`, with a SQL file in
the edition's folder. Without one, the edition `audited` takes the declaration of `paper`; the
edition `release` is what one published script computes, and has no other metric.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from pipeline import sqlfiles
from pipeline.errors import MetricError, UsageError
from pipeline.metrics.declaration import Metric
from pipeline.metrics.request import EDITIONS, PAPER, RELEASE

_NEEDED = ("title", "order", "row", "value", "range", "source")


def _order(name: str) -> int:
    """The metric's place among all; raises MetricError for a header that lacks something."""
    header = sqlfiles.header(f"metrics/{name}")
    missing = [key for key in _NEEDED if key not in header]
    order = header.get("order", ["0"])[0]
    if missing or not order.isdecimal():
        lacks = ", ".join(f"`-- {key}: ...`" for key in missing) or "a number in `-- order: ...`"
        raise MetricError(f"sql/metrics/{name}.sql has no {lacks} in its header")
    return int(order)


NAMES: tuple[str, ...] = tuple(sorted(sqlfiles.names("metrics"), key=_order))
TITLES = {name: sqlfiles.header(f"metrics/{name}")["title"][0] for name in NAMES}


@cache
def metric(name: str, edition: str = PAPER) -> Metric:
    """The metric as its module declares it.

    Raises UsageError for an unknown name, and MetricError if its module lacks the declaration.
    """
    if name not in NAMES:
        raise UsageError(f"no metric `{name}`: choose from {', '.join(NAMES)}")
    if name not in names(edition):
        raise UsageError(
            f"the edition {edition} has no metric `{name}`: choose from {', '.join(names(edition))}"
        )
    is_of_paper = file_of(name, edition) == file_of(name, PAPER)
    wanted = (PAPER if is_of_paper else edition).upper()
    module = import_module(f"{__package__}.{name}") if find_spec(f"{__package__}.{name}") else None
    declared = getattr(module, wanted, None)
    if not isinstance(declared, Metric):
        raise MetricError(
            f"sql/{file_of(name, edition)}.sql has no twin in Python: declare {wanted} in "
            f"pipeline/metrics/{name}.py"
        )
    return declared


@cache
def names(edition: str) -> tuple[str, ...]:
    """The metrics of an edition, in order; raises UsageError for an unknown edition."""
    if edition not in EDITIONS:
        raise UsageError(f"no edition `{edition}`: choose from {', '.join(EDITIONS)}")
    if edition != RELEASE:
        return NAMES
    return tuple(name for name in NAMES if name in sqlfiles.names("metrics/release"))


def file_of(name: str, edition: str) -> str:
    """The SQL file of a metric in an edition, as `pipeline.sqlfiles` names it."""
    folder = "metrics" if edition == PAPER else f"metrics/{edition}"
    return f"{folder}/{name}" if name in sqlfiles.names(folder) else f"metrics/{name}"
