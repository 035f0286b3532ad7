"""The release metrics in the form of the benchmark's published script."""

import json

import polars as pl

from pipeline.metrics.known import TITLES
from pipeline.vocabulary import ALL

# What the published script prints, in its order.
_OF_SCRIPT = (
    "win_rate",
    "judgement",
    "reasoning",
    "deception",
    "self_awareness",
    "cooperation",
    "coordination",
    "rationality",
)


def magic_json(rows: pl.DataFrame) -> str:
    """One model's release metrics over all game types as the benchmark's script prints them."""
    over_all = rows.filter(pl.col("game_type") == ALL)
    value_of = dict(over_all.select("metric", "value").iter_rows())
    # The script rounds with Python's round, half to even.
    printed = {
        TITLES[name]: None if value_of.get(name) is None else round(value_of[name], 3)
        for name in _OF_SCRIPT
    }
    return json.dumps([{"train_split": {**printed, "Total": 1000}}])
