"""Metrics that other packages add by entry points of the group `magic_pipeline.metrics`.

An entry point has the metric's name. It leads to a module that declares `PAPER`, with its SQL in a
file beside it, if there is any, as `silence.sql` beside `silence.py`; or to an `Added`.
"""

from collections.abc import Mapping
from functools import cache
from itertools import chain
from pathlib import Path

from msgspec import Struct

from pipeline import games
from pipeline.errors import MetricError, choose
from pipeline.events.contracts import TABLES
from pipeline.metrics.declaration import Metric
from pipeline.plugins import LETTERS, METRICS, NAME, OWN, Plugin, PluginError, each_once, plugins
from pipeline.sqlfiles import header_of, with_clause, without_end

NO_NAME = f"`{{}}` cannot be the name of a new metric: choose another, of {LETTERS}"


class Added(Struct, frozen=True):
    """A metric from outside: its declaration, title, and SQL, if it has any."""

    declared: Metric
    title: str
    sql: str | None = None


@cache
def installed(package_names: tuple[str, ...]) -> Mapping[str, Added]:
    """The metrics of other packages by name; `package_names` are those of ours.

    Raises PluginError for one that is none, or that has a name that is taken.
    """
    ours: list[tuple[str, str, Added | None]] = [
        (name, OWN, None) for name in (*package_names, *TABLES)
    ]
    theirs = ((plugin.name, plugin.package, _added(plugin)) for plugin in plugins(METRICS))
    known = each_once("the metric or table", chain(ours, theirs))
    return {name: metric for name, _, metric in known if metric is not None}


def check_declared(name: str, declared: Metric) -> None:
    """Raises MetricError for a name that is taken, and for terms of no game that there is."""
    if not NAME.fullmatch(name) or name in _taken():
        raise MetricError(NO_NAME.format(name))
    if not declared.terms:
        raise MetricError(f"`{name}` has no Term, so it counts nothing: add one")
    for term in declared.terms:
        if not term.game_types:
            raise MetricError(f"the term `{term.name}` of `{name}` names no game type: name one")
        if strangers := [str(one) for one in term.game_types if one not in games.names()]:
            raise MetricError(
                f"the term `{term.name}` of `{name}` names an unknown game type: "
                f"{', '.join(strangers)}; {choose(strangers, games.names())}"
            )


@cache
def _taken() -> frozenset[str]:
    """The names of tables, views, schemas, and columns of the leaderboard, also of our metrics."""
    # Imported when somebody else's metric is met: they have the metrics that are known.
    from pipeline.metrics import results
    from pipeline.metrics.known import NAMES
    from pipeline.metrics.views import TAKEN

    of_rows = (*results.LEADERBOARD, *results.ORIGIN, *results.SEEN_AS)
    ends = (f"{name}{end}" for name in NAMES for end in results.ESTIMATE if end)
    return frozenset((*TABLES, *TAKEN, *of_rows, *ends))


def package_of(name: str) -> str:
    """The package that adds the metric of this name, empty for any other metric."""
    return next((plugin.package for plugin in plugins(METRICS) if plugin.name == name), "")


def _added(plugin: Plugin) -> Added:
    added = plugin.value if isinstance(plugin.value, Added) else None
    declared = added.declared if added else getattr(plugin.value, "PAPER", None)
    if not isinstance(declared, Metric):
        raise PluginError(f"{plugin}: it needs `PAPER = Metric(...)`, or to be an `Added`")
    try:
        check_declared(plugin.name, declared)
    except MetricError as error:
        raise PluginError(f"{plugin}: {error}") from None
    if added:
        return added
    sql = _sql_beside(plugin)
    plain = plugin.name.replace("_", " ").capitalize()
    return Added(declared, header_of(sql or "").get("title", [plain])[0], sql)


def _sql_beside(plugin: Plugin) -> str | None:
    """The SQL beside a module, None where there is none."""
    module = getattr(plugin.value, "__file__", None)
    file = Path(module).with_suffix(".sql") if module else None
    if file is None or not file.is_file():
        return None
    try:
        sql = without_end(file.read_text(encoding="utf-8")).strip()
    except UnicodeDecodeError:
        raise PluginError(f"{plugin}: {file.name} is not valid UTF-8") from None
    if "attempts" not in with_clause(sql).names:
        raise PluginError(
            f"{plugin}: {file.name} needs a CTE `attempts`, and a final SELECT: see docs/adding.md"
        )
    return sql
