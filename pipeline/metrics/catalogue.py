"""Which metrics there are, found by their files, and how each is declared.

A metric is a module of its own name that declares `PAPER` and `RELEASE`, and a SQL file of the same
name in each edition's folder; there is no list of them to keep. What is read otherwise in the
edition `audited` has a third of each; all else is there as in `paper`.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType

from pipeline import sqlfiles
from pipeline.errors import MetricError, UsageError
from pipeline.metrics.declaration import Metric
from pipeline.metrics.request import EDITIONS

_NEEDED = ("title", "place", "row", "combine", "term")


def _place(name: str) -> int:
    """The metric's place among all; raises MetricError for a header that lacks something."""
    header = sqlfiles.header(f"metrics/{name}")
    missing = [key for key in _NEEDED if key not in header]
    place = header.get("place", ["0"])[0]
    if missing or not place.isdecimal():
        lacks = ", ".join(f"`-- {key}: ...`" for key in missing) or "a number in `-- place: ...`"
        raise MetricError(f"sql/metrics/{name}.sql lacks {lacks} at its top")
    return int(place)


NAMES: tuple[str, ...] = tuple(sorted(sqlfiles.names("metrics"), key=_place))
TITLES = {name: sqlfiles.header(f"metrics/{name}")["title"][0] for name in NAMES}


@cache
def metric(name: str, edition: str) -> Metric:
    """The metric as its module declares it.

    Raises UsageError for a name unknown, and MetricError where one engine lacks a metric.
    """
    check_written_twice()
    if name not in NAMES:
        raise UsageError(f"no metric `{name}`: there are {', '.join(NAMES)}")
    module = _module(name)
    declared: Metric = getattr(module, edition.upper(), module.PAPER)
    return declared


def _module(name: str) -> ModuleType:
    return import_module(f"{__package__}.{name}")


@cache
def check_written_twice() -> None:
    """Raises MetricError for a metric, or an edition of one, that only one engine has."""
    faults = [fault for name in NAMES for fault in _faults(name)]
    others = (found.name for found in iter_modules(import_module(__package__).__path__))
    faults += [
        f"metric `{name}` is declared in pipeline/metrics/{name}.py and has no SQL: write "
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
            f"metric `{name}` has SQL and no module: declare PAPER in pipeline/metrics/{name}.py"
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
            faults.append(f"metric `{name}` has {having}, and lacks {lacking}")
    return faults
