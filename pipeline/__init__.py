"""Archives of games that language models played, as Parquet event tables and metrics.

lake = pipeline.open_lake("lake/")
lake.table("votes")            # a polars LazyFrame
lake.metrics(by=["model"])     # a polars DataFrame
lake.sql("SELECT ...")         # a polars DataFrame
lake.game("3f2a")              # one game, with its transcript

`Metric`, `Rows`, `Term` and `Combine` define a new metric for `Lake.with_metric`.
"""

import os

from pipeline.version import __version__

# `typing` and `pathlib` are not imported, because a Ctrl-C before `magic` handles it would print a
# traceback, so as little as possible is loaded here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pipeline.api import Game, Lake
    from pipeline.metrics.registry import Combine, Metric, Rows, Term
    from pipeline.vocabulary import Failures, GameType

__all__ = [
    "Combine",
    "Game",
    "GameType",
    "Lake",
    "Metric",
    "Rows",
    "Term",
    "__version__",
    "open_lake",
]

# The environment variable and the path that locate the lake by default.
LAKE_VARIABLE, DEFAULT_LAKE = "MAGIC_LAKE", "lake"
_MODULES = {
    "pipeline.api": ("Game", "Lake"),
    "pipeline.metrics.registry": ("Combine", "Metric", "Rows", "Term"),
    "pipeline.vocabulary": ("GameType",),
}


def __getattr__(name: str) -> object:
    """Import a name of `__all__` when it is first used, so that `magic --help` starts quickly."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names of the public API."""
    return __all__


def open_lake(
    path: "str | Path | None" = None,
    as_of: int | None = None,
    *,
    names: "Mapping[str, str] | str | Path | None" = None,
    failures: "Failures" = "exclude",
) -> "Lake":
    """Open a lake to read its latest state, or its state after ingest number `as_of`.

    Without a path, the lake is the default of the command line: `$MAGIC_LAKE`, or else `lake`.
    `names` merges several names of a model into one in all results: it maps each name in logs to
    the name to count, or is the path of a TOML file with this map in its table `[models]`, such as
    `"openai/gpt-4o" = "gpt-4o"`. `failures="loss"` counts a game as a loss of the model that
    failed it; see `Lake.with_failures`. Stored data does not change. Raises LakeError if there is
    no lake, and UsageError if `names` is not such a map.

    >>> lake = pipeline.open_lake("lake/")
    >>> lake.systems
    {'magic': 112}
    """
    # Imported here, because the version and the help do not need it.
    from pipeline.api import open_lake as open_api_lake

    if path is None:
        path = os.environ.get(LAKE_VARIABLE) or DEFAULT_LAKE
    lake = open_api_lake(path, as_of).with_failures(failures)
    return lake if names is None else lake.with_names(names)
