"""Which metrics there are, found by their files, and how each is declared.

A metric is a module of its own name that declares `PAPER`, and a SQL file of that name. There is no
list of them. An edition that reads it differently is declared beside `PAPER`, with a SQL file in
the edition's folder. Without one, the edition `audited` takes the declaration of `paper`; the
edition `release` is what one published script computes, and has no other metric.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType

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

    Raises UsageError for an unknown name, and MetricError if one engine lacks a metric.
    """
    check_written_twice()
    if name not in NAMES:
        raise UsageError(f"no metric `{name}`: choose from {', '.join(NAMES)}")
    if name not in names(edition):
        raise UsageError(
            f"the edition {edition} has no metric `{name}`: choose from {', '.join(names(edition))}"
        )
    module = _module(name)
    declared: Metric = getattr(module, edition.upper(), module.PAPER)
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


def _module(name: str) -> ModuleType:
    return import_module(f"{__package__}.{name}")


@cache
def check_written_twice() -> None:
    """Raises MetricError for a metric, or an edition of one, that only one engine has."""
    faults = [fault for name in NAMES for fault in _faults(name)]
    others = (found.name for found in iter_modules(import_module(__package__).__path__))
    faults += [
        f"metric `{name}` is declared in pipeline/metrics/{name}.py but has no SQL: write "
        f"sql/metrics/{name}.sql"
        for name in others
        if name not in NAMES and isinstance(getattr(_module(name), "PAPER", None), Metric)
    ]
    if faults:
        raise MetricError("; ".join(faults))


def _faults(name: str) -> list[str]:
    """What one engine lacks of a metric that has SQL."""
    if find_spec(f"{__package__}.{name}") is None:
        return [
            f"metric `{name}` has SQL but no module: declare PAPER in pipeline/metrics/{name}.py"
        ]
    module, faults = _module(name), []
    if not isinstance(getattr(module, "PAPER", None), Metric):
        faults.append(f"metric `{name}`: pipeline/metrics/{name}.py declares no PAPER")
    for edition in EDITIONS[1:]:
        has_sql = name in sqlfiles.names(f"metrics/{edition}")
        if has_sql is not hasattr(module, edition.upper()):
            having, lacking = (
                f"sql/metrics/{edition}/{name}.sql",
                f"{edition.upper()} in pipeline/metrics/{name}.py",
            )
            if not has_sql:
                having, lacking = lacking, having
            faults.append(f"metric `{name}` has {having} but no {lacking}")
    return faults
