"""Archives of games that language models played, as Parquet event tables and metrics.

lake = pipeline.open_lake("lake/")
lake.table("votes")            # a polars LazyFrame
lake.metrics(by=["model"])     # a polars DataFrame
lake.sql("SELECT ...")         # a polars DataFrame
lake.game("3f2a")              # one game, with its transcript

`Metric`, `Rows`, `Term` and `Combine` declare a new metric for `Lake.with_metric`.
"""

import os

from pipeline.version import __version__

# Without `typing` and `pathlib`: a Ctrl-C while they load, before `magic` begins, has a traceback.
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

# Where the lake is if nobody names one.
LAKE_VARIABLE, DEFAULT_LAKE = "MAGIC_LAKE", "lake"
_MODULES = {
    "pipeline.api": ("Game", "Lake"),
    "pipeline.metrics.registry": ("Combine", "Metric", "Rows", "Term"),
    "pipeline.vocabulary": ("GameType",),
}


def __getattr__(name: str) -> object:
    """A name of `__all__`, imported when it is first used: the version and the help need none."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The API, and nothing else."""
    return __all__


def open_lake(
    path: "str | Path | None" = None,
    as_of: int | None = None,
    *,
    names: "Mapping[str, str] | str | Path | None" = None,
    failures: "Failures" = "exclude",
) -> "Lake":
    """The lake at the path, in its latest state, or in its state after the ingest `as_of`.

    Without a path it is the lake of the command line: `$MAGIC_LAKE`, else `lake`. `names` joins
    names of models in all that the lake answers: the name to count by each name in logs, or the
    path of a TOML file that has them in its table `[models]`, such as `"openai/gpt-4o" = "gpt-4o"`.
    `failures="loss"` counts a game as a loss of the model that failed it: see
    `Lake.with_failures`. Nothing that is stored changes. Raises LakeError if there is no lake, and
    UsageError if the names are no such map.

    >>> lake = pipeline.open_lake("lake/")
    >>> lake.systems
    {'magic': 112}
    """
    # Imported here, so that what only needs the version or the help does not wait for it.
    from pipeline.api import open_lake as opened

    if path is None:
        path = os.environ.get(LAKE_VARIABLE) or DEFAULT_LAKE
    lake = opened(path, as_of).with_failures(failures)
    return lake if names is None else lake.with_names(names)
