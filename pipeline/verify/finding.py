"""What a check found."""

from typing import NamedTuple

# An error is damage; a contradiction is in what a log says, and was there before it was ingested.
ERROR, CONTRADICTION, WARNING = "error", "contradiction", "warning"
LIMIT = 20


class Finding(NamedTuple):
    """What one check found in one table, or in several: `rows` are the first of `n_rows`."""

    check: str
    severity: str
    finds: str
    table: str | None
    n_rows: int
    rows: list[dict[str, object]]
