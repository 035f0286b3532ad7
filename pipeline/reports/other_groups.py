"""Where to find values by a column that the views of values do not have."""

from collections.abc import Collection, Iterator

from pipeline.events.contracts import polars_schema
from pipeline.lake import StoredLake
from pipeline.metrics.columns import GAME_COLUMNS
from pipeline.metrics.known import names
from pipeline.metrics.request import AUDITED, PAPER
from pipeline.metrics.validation import row_schema
from pipeline.metrics.views import LEADERBOARD, OF_ALL, in_schema
from pipeline.vocabulary import Edition


def other_groups(lake: StoredLake, column: str, views: Collection[str]) -> str | None:
    """A hint how to group values by a column that these views lack; None if it is not possible."""
    for view, metric, edition in _of_values():
        if view in views and column in _columns(lake, metric):
            return _hint(metric, edition, column)
    return None


def _of_values() -> Iterator[tuple[str, str | None, Edition]]:
    """The views of values with their metric (None: all metrics) and edition.

    Those of the edition release are left out: it cannot be grouped by other columns."""
    for edition in (PAPER, AUDITED):
        of_all = {OF_ALL: None, LEADERBOARD: None}
        for name, metric in (of_all | {name: name for name in names(edition)}).items():
            for kind in ("", "terms"):
                yield in_schema(kind, edition, name), metric, edition


def _columns(lake: StoredLake, metric: str | None) -> Collection[str]:
    """The columns that the metric can be grouped by; without a metric, those that all have."""
    return row_schema(lake, metric) if metric else {*polars_schema("players"), *GAME_COLUMNS}


def _hint(metric: str | None, edition: Edition, column: str) -> str:
    options = [f"--metric {metric}"] if metric else []
    arguments = [f'metric="{metric}"'] if metric else []
    if edition != PAPER:
        options.append(f"--edition {edition}")
        arguments.append(f'edition="{edition}"')
    command = " ".join(["magic metrics", *options, f"--by model,{column}"])
    call = ", ".join([*arguments, f'by=["model", "{column}"]'])
    return f"for values grouped by it, run `{command}` (in Python: `lake.metrics({call})`)"
