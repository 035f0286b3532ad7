"""What values are worth: intervals, comparisons and plans, from sums over games and settings.

Nothing here knows a metric or a lake: functions take frames of sums, or arrays, and give numbers.
"""

from pipeline.statistics.interval import INTERVAL, intervals
from pipeline.statistics.moments import (
    KEYS,
    SUMS,
    UNREAD,
    by_setting,
    by_setting_of_alike,
    by_setting_of_one_side,
    moments,
)

__all__ = [
    "INTERVAL",
    "KEYS",
    "SUMS",
    "UNREAD",
    "by_setting",
    "by_setting_of_alike",
    "by_setting_of_one_side",
    "intervals",
    "moments",
]
