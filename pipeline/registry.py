"""Registry of all commands, results of a lake and pages of the menu, by name.

This module imports nothing, so that `magic --help` loads no library: the registered modules are
imported when they are used. Metrics, formats and games are found by their files instead.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

COMMANDS_BY_TASK: Mapping[str, Mapping[str, str]] = {
    "Logs": {
        "ingest": "logs",
        "documents": "tables",
        "quarantine": "tables",
        "convert": "logs",
        "validate": "logs",
        "simulate": "logs",
    },
    "Numbers": {
        "leaderboard": "",
        "radar": "",
        "metrics": "games",
        "compare": "games",
        "plan": "",
        "ratings": "",
        "completeness": "games",
        "models": "",
        "usage": "",
        "diff": "games",
    },
    "Games behind them": {
        "games": "games",
        "evidence": "games",
        "show": "games",
        "search": "games",
        "audit": "games",
    },
    "Tables": {"sql": "tables", "tables": "tables", "schema": "tables", "catalog": "tables"},
    "To show and to quote": {
        "view": "sharing",
        "report": "sharing",
        "export": "sharing",
        "cite": "sharing",
    },
    "Upkeep": {"verify": "tables", "maintain": "tables"},
}
"""The commands by task, in the order of `magic --help`.

The value is the module of `pipeline.cli.commands` with the function of the same name. If it is
empty, the command displays the rows of the report of the same name.
"""
COMMANDS: Mapping[str, str] = {
    name: module for commands in COMMANDS_BY_TASK.values() for name, module in commands.items()
}
"""The module of each command, without the tasks; see `COMMANDS_BY_TASK`."""
LAKE_COMMANDS = tuple(
    name for name in COMMANDS if name not in ("convert", "diff", "simulate", "validate")
)
"""The commands that read only the lake of `--lake`; hints in a terminal add this option to them."""
COMMANDS_WITHOUT_GAMES = (
    *("ingest", "documents", "quarantine", "convert", "validate", "simulate"),
    *("tables", "schema", "catalog", "verify", "maintain"),
)
"""The commands that select no games, so that they have no view options; see `LakeView`."""
OMITTED_VIEW_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "show": ("system",),  # The game's id selects the game.
    "search": ("failures",),  # Nothing is counted.
    "sql": ("system", "failures"),  # The query selects the rows.
    "view": ("system", "failures"),  # The pages have fields for them.
}
"""View options that a command does not have, although it selects games."""


class Result(NamedTuple):
    """Where the functions of a result are defined.

    Attributes:
        module: The module of `pipeline` with the function of the result's name, which returns its
            rows.
        table: The module of `pipeline.render` with the function of the result's name, which returns
            its table. If empty, the table shows the columns that the report declares. If None,
            there is no table.
        summary: The first sentence of the report's docstring, so that the list of commands does not
            import the report. Empty for a result that is no report.
    """

    module: str
    table: str | None = ""
    summary: str = ""


RESULTS: Mapping[str, Result] = {
    "metrics": Result("metrics", "value_tables"),
    "leaderboard": Result(
        "reports.ranking",
        "value_tables",
        "Rank the models by win rate, with all metrics and their intervals.",
    ),
    "evidence_sum": Result("metrics.evidence", "value_tables"),
    "ratings": Result(
        "reports.ratings",
        "value_tables",
        "Rate the models on each side of games that have a hidden side, whoever they met.",
    ),
    "compare": Result(
        "reports.compare",
        "comparison_tables",
        "Compare two models in each metric: difference, interval, p-value.",
    ),
    "compare_with": Result(
        "reports.compare",
        "comparison_tables",
        "What a method adds: a row for each metric and each model that is there with and "
        "without it.",
    ),
    "contrast": Result(
        "reports.compare",
        "comparison_tables",
        "The difference between groups of one model: a row for each metric and pair of groups.",
    ),
    "settings_apart": Result("reports.compare", "comparison_tables"),
    "diff": Result(
        "reports.diff",
        "comparison_tables",
        "Show what changed between two lakes, and whether chance alone can explain it.",
    ),
    "diff_games": Result("reports.diff", "comparison_tables"),
    "plan": Result(
        "reports.plan",
        "comparison_tables",
        "Compute how many settings are needed to detect a difference between two models.",
    ),
    "radar": Result(
        "reports.ranking",
        "comparison_tables",
        "Show the seven metrics of each model around a point, and the area that they make.",
    ),
    "audit": Result(
        "reports.audit",
        "row_tables",
        "Find where logs contradict themselves, how often, and the effect on metrics.",
    ),
    "findings": Result("reports.audit", "row_tables"),
    "document_counts": Result("reports.documents", "row_tables"),
    "documents": Result("reports.documents", "row_tables"),
    "evidence": Result("metrics.evidence", "row_tables"),
    "games": Result(
        "reports.games",
        "row_tables",
        "List games: who played in which role, with which result, and the log they are from.",
    ),
    "quarantine": Result("reports.documents", "row_tables"),
    "search": Result("reports.documents", "row_tables"),
    "completeness": Result(
        "reports.completeness",
        "row_tables",
        "Show which games of each model the lake has, and which are missing.",
    ),
    "missing": Result("reports.games", "row_tables"),
    "models": Result(
        "reports.games",
        "row_tables",
        "List the names of models: how many games each has, and which look alike.",
    ),
    "readability": Result("reports.completeness", "row_tables"),
    "schema": Result("reports.sql_views", "row_tables"),
    "tables": Result("reports.lake_tables", "row_tables"),
    "usage": Result(
        "reports.games",
        "row_tables",
        "List what each model used, where logs say it: tokens, seconds and US dollars.",
    ),
    # What only commands show, each in a form of its own.
    "cite": Result("reports.cite", None),
    "evidence_parts": Result("metrics.evidence", None),
    "evidence_totals": Result("metrics.evidence", None),
    "iter_findings": Result("reports.audit", None),
    "transcript": Result("reports.transcript", None),
}
"""The results of a lake by name. One with a summary is a report: a method and a page, and a command
if it is in `COMMANDS_BY_TASK`."""
REPORTS = tuple(name for name, result in RESULTS.items() if result.summary)

MENU = (
    *("leaderboard", "radar", "metric", "model", "compare", "ratings", "games", "search"),
    *("completeness", "audit", "usage", "documents", "tables", "sql"),
)
"""The pages in the menu of `magic view`; the others are reached by links."""


def load_result_function(name: str) -> Any:
    """Import and return the function that computes the rows of a result, such as "compare"."""
    return getattr(import_module(f"pipeline.{RESULTS[name].module}"), name)


def load_command_function(name: str) -> Any:
    """Import and return the function of a command, or None if it only displays a report."""
    module = COMMANDS[name]
    return getattr(import_module(f"pipeline.cli.commands.{module}"), name) if module else None
