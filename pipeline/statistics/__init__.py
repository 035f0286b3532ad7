"""What values are worth: intervals, comparisons and plans, from sums over settings.

Nothing here knows a metric or a lake: functions take frames of sums, or arrays, and give numbers.
"""
