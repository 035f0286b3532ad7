"""The tasks that settings are variants of: the same setting, but for some keys, such as a prompt.

Games of one task are one cluster of an interval and a pair of a comparison. A key varies a task if
a setting names it in `variant_keys`, or if the request compares its values.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from pipeline.events.identity import identified_setting
from pipeline.game import VARIANT_KEYS
from pipeline.lake import StoredLake
from pipeline.metrics.condition import SETTING


def task_ids(lake: StoredLake, varied: Sequence[Sequence[str]] = ()) -> dict[str, str]:
    """Return the task's id for each setting that has a key that varies it.

    The id is that of the setting without these keys. A game that nobody can repeat has no task.

    Args:
        lake: The lake, of one system.
        varied: Keys that vary a task, each as the path to it in the setting, beside those that
            settings name in `variant_keys`.
    """
    games = lake.table("games").filter(pl.col("setting_id") != pl.col("game_id"))
    if not varied:
        games = games.filter(pl.col(SETTING).str.contains(f'"{VARIANT_KEYS}":', literal=True))
    settings = games.select("setting_id", "game_type", SETTING).unique().drop_nulls()
    ids = {}
    for setting_id, game_type, text in settings.sort(pl.all()).collect().iter_rows():
        setting = msgspec.json.decode(text)
        named = setting.get(VARIANT_KEYS)
        # Formats other than interchange do not check what a setting has.
        keys = [str(key).split(".") for key in named] if isinstance(named, list) else []
        removed = [_remove(setting, path) for path in (*varied, *keys, [VARIANT_KEYS])]
        if any(removed):
            ids[setting_id] = identified_setting(game_type, setting).setting_id
    return ids


def in_tasks(column: str, ids: Mapping[str, str]) -> pl.Expr:
    """The column of setting ids, with the ids of tasks in their place."""
    return pl.col(column).cast(pl.String).replace(ids)


def _remove(setting: Any, path: Sequence[str]) -> bool:
    """Remove a key from a setting, and return whether it was there."""
    for key in path[:-1]:
        setting = setting.get(key) if isinstance(setting, dict) else None
    is_there = isinstance(setting, dict) and path[-1] in setting
    if is_there:
        del setting[path[-1]]
    return is_there
