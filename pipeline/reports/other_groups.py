"""Where to find values by a column that the views of values do not have."""

from collections.abc import Collection

from pipeline.events.contracts import polars_schema
from pipeline.lake import StoredLake
from pipeline.metrics.known import names
from pipeline.metrics.request import AUDITED, GAME_COLUMNS, PAPER
from pipeline.metrics.validation import row_schema
from pipeline.metrics.views import LEADERBOARD, OF_ALL, in_schema
from pipeline.vocabulary import Edition


def other_groups(lake: StoredLake, column: str, views: Collection[str]) -> str | None:
    """A hint how to group values by a column that these views lack; None if it is not possible."""
    for edition in (PAPER, AUDITED):  # the edition release cannot be grouped by other columns
        for name in (OF_ALL, LEADERBOARD, *names(edition)):
            metric = None if name in (OF_ALL, LEADERBOARD) else name
            is_queried = any(in_schema(kind, edition, name) in views for kind in ("", "terms"))
            if is_queried and column in _columns(lake, metric):
                return _hint(metric, edition, column)
    return None


def _columns(lake: StoredLake, metric: str | None) -> Collection[str]:
    """The columns that the metric can be grouped by; without a metric, those that all have."""
    return row_schema(lake, metric) if metric else {*polars_schema("players"), *GAME_COLUMNS}


def _hint(metric: str | None, edition: Edition, column: str) -> str:
    choices = {"metric": metric, "edition": None if edition == PAPER else edition}
    known = {name: value for name, value in choices.items() if value}
    options = "".join(f"--{name} {value} " for name, value in known.items())
    arguments = "".join(f'{name}="{value}", ' for name, value in known.items())
    return (
        f"for values grouped by it, run `magic metrics {options}--by model,{column}` "
        f'(in Python: `lake.metrics({arguments}by=["model", "{column}"])`)'
    )
