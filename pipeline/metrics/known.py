"""Which metrics there are, found by their files, and how each is declared.

A metric is a module of its own name that declares `PAPER`, and a SQL file of that name. There is no
list of them. An edition that reads it differently is declared beside `PAPER`, with a SQL file in
the edition's folder. Without one, the edition `audited` takes the declaration of `paper`; the
edition `release` is what one published script computes, and has no other metric.

Other packages add metrics by entry points of the group `magic_pipeline.metrics`. An entry point has
the metric's name. It leads to a module that declares `PAPER`, with its SQL in a file beside it, if
there is any, as `silence.sql` beside `silence.py`; or to an `Added`.

Besides these there are the metrics that a lake was given by `Lake.with_metric`. They are known as
long as one of the lake's methods runs, or a command that was given them by `--metric-file`.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

from msgspec import Struct

from pipeline import column, sqlfiles
from pipeline.errors import MetricError, UsageError, choose
from pipeline.events.contracts import TABLES
from pipeline.metrics.declaration import Metric
from pipeline.plugins import METRICS, OWN, Plugin, PluginError, each_once, plugins
from pipeline.vocabulary import ALL, EDITIONS, PAPER, RELEASE, Edition

_NEEDED = ("title", "order", "row", "value", "range", "source")


class Added(Struct, frozen=True):
    """A metric from outside: its declaration, title, and SQL, if it has any."""

    declared: Metric
    title: str
    sql: str | None = None


_added: ContextVar[Mapping[str, Added]] = ContextVar("added", default={})  # noqa: B039 (never changed)


@contextmanager
def knowing(added: Mapping[str, Added]) -> Iterator[None]:
    """Lets every function of the metrics know these, besides those of the files."""
    before = _added.set(added)
    try:
        yield
    finally:
        _added.reset(before)


def known() -> Mapping[str, Added]:
    """The metrics that were added to a lake or a command."""
    return _added.get()


def _others() -> Mapping[str, Added]:
    """The metrics of other packages, then those added to a lake or a command."""
    return {**installed(), **_added.get()}


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
_OF_RELEASE = tuple(name for name in NAMES if name in sqlfiles.names("metrics/release"))
TITLES = {name: sqlfiles.header(f"metrics/{name}")["title"][0] for name in NAMES}


def titles() -> dict[str, str]:
    """The title of every metric, by its name."""
    return TITLES | {name: metric.title for name, metric in _others().items()}


def title(name: str) -> str:
    """The title of the metric of this name; another name of ours as words."""
    return titles().get(name) or column.words(name)


def metric(name: str, edition: Edition = PAPER) -> Metric:
    """The metric as its module, or who added it, declares it.

    Raises UsageError for an unknown name, and MetricError if its module lacks the declaration.
    """
    if name not in names(PAPER):
        raise UsageError(f"no metric `{name}`: {choose([name], names(PAPER))}")
    if name not in names(edition):
        raise UsageError(
            f"the edition {edition} has no metric `{name}`: {choose([name], names(edition))}"
        )
    return _found(name, edition).declared


def _found(name: str, edition: Edition) -> Added:
    """The metric with its title and SQL, whether it is ours or was added."""
    return _others().get(name) or _own(name, edition)


@cache
def _own(name: str, edition: Edition) -> Added:
    file = file_of(name, edition)
    wanted = (PAPER if file == file_of(name, PAPER) else edition).upper()
    module = import_module(f"{__package__}.{name}") if find_spec(f"{__package__}.{name}") else None
    declared = getattr(module, wanted, None)
    if not isinstance(declared, Metric):
        raise MetricError(
            f"sql/{file}.sql has no twin in Python: declare {wanted} in pipeline/metrics/{name}.py"
        )
    return Added(declared, TITLES[name], sqlfiles.text(file))


def highest_value(
    name: str, edition: Edition, game_types: Collection[str], row_type: str = ALL
) -> float:
    """Return the highest value of a metric that games of these types can reach.

    `row_type` is the game type of a row, if the row has one that is not `all`.
    """
    counted_types = game_types if row_type == ALL else (row_type,)
    return metric(name, edition).among(counted_types).high


def names(edition: Edition) -> tuple[str, ...]:
    """The metrics of an edition, in order; raises UsageError for an unknown edition."""
    if edition not in EDITIONS:
        raise UsageError(f"no edition `{edition}`: {choose([edition], EDITIONS)}")
    return _OF_RELEASE if edition == RELEASE else (*NAMES, *_others())


def file_of(name: str, edition: Edition) -> str:
    """The SQL file of a metric in an edition, as `pipeline.sqlfiles` names it."""
    folder = "metrics" if edition == PAPER else f"metrics/{edition}"
    return f"{folder}/{name}" if name in sqlfiles.names(folder) else f"metrics/{name}"


def compared_file(name: str, edition: Edition) -> str | None:
    """The SQL file that adds what a metric's rows are compared with, None without one."""
    files = (f"evidence/{edition}/{name}", f"evidence/{name}")
    return next((file for file in files if (sqlfiles.folder() / f"{file}.sql").is_file()), None)


def is_added(name: str) -> bool:
    """Whether the metric is of another package, or was added to a lake or a command."""
    return name in _others()


def has_sql(name: str) -> bool:
    """Whether the metric is written in SQL too, as all of ours are."""
    return _found(name, PAPER).sql is not None


def sql(name: str, edition: Edition) -> str:
    """The text of a metric's SQL in an edition; raises UsageError where none was given."""
    text = _found(name, edition).sql
    if text is None:
        raise UsageError(
            f"the metric `{name}` was added without SQL: give `sql=` to `Lake.with_metric`, "
            "put a .sql file beside that of --metric-file, or use the engine polars"
        )
    return text


def header(name: str, edition: Edition = PAPER) -> dict[str, list[str]]:
    """The header of a metric's SQL: at least title, row and value."""
    known = _found(name, edition)
    return {
        "row": ["a row that the metric is about"],
        "value": ["hits / counted"],
        "range": [f"0..{known.declared.high:g}"],
        "source": ["added by a package or by `Lake.with_metric`"],
        **sqlfiles.header_of(known.sql or ""),
        "title": [known.title],
    }


@cache
def installed() -> Mapping[str, Added]:
    """The metrics of other packages by name.

    Raises PluginError for one that is none, or that has a name that is taken.
    """
    ours: list[tuple[str, str, Added | None]] = [(name, OWN, None) for name in (*NAMES, *TABLES)]
    theirs = ((plugin.name, plugin.package, _of_plugin(plugin)) for plugin in plugins(METRICS))
    known = each_once("the metric or table", chain(ours, theirs))
    return {name: metric for name, _, metric in known if metric is not None}


def package_of(name: str) -> str:
    """The package that adds the metric of this name, empty for any other metric."""
    return next((plugin.package for plugin in plugins(METRICS) if plugin.name == name), "")


def _of_plugin(plugin: Plugin) -> Added:
    added = plugin.value if isinstance(plugin.value, Added) else None
    declared = added.declared if added else getattr(plugin.value, "PAPER", None)
    if not isinstance(declared, Metric):
        raise PluginError(f"{plugin}: it needs `PAPER = Metric(...)`, or to be an `Added`")
    module = getattr(plugin.value, "__file__", None)
    try:
        return added or written(plugin.name, declared, sql_beside(Path(module)) if module else None)
    except MetricError as error:
        raise PluginError(f"{plugin}: {error}") from None


def written(name: str, declared: Metric, sql: str | None, title: str | None = None) -> Added:
    """The metric; its title is by default that of its SQL, or its name in words.

    Raises MetricError for SQL that does not say which rows it counts.
    """
    if sql is not None:
        if "attempts" not in sqlfiles.with_clause(sql).names:
            raise MetricError(
                f"the SQL of `{name}` needs a CTE `attempts`, and a final SELECT: see "
                "docs/adding.md"
            )
        sql = sqlfiles.without_end(sql)
    plain = name.replace("_", " ").capitalize()
    return Added(declared, title or sqlfiles.header_of(sql or "").get("title", [plain])[0], sql)


def sql_beside(module: Path) -> str | None:
    """The SQL beside a Python file, None where there is none."""
    file = module.with_suffix(".sql")
    try:
        return file.read_text(encoding="utf-8") if file.is_file() else None
    except UnicodeDecodeError:
        raise MetricError(f"{file}: not valid UTF-8") from None
