"""What this machine gives to us."""

import os


def cores() -> int:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
