"""The lake against itself: its files against its log, its rows against each other.

Everything is looked at, a part at a time, so that memory stays bounded. Nothing is changed.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec
import polars as pl
from msgspec import Struct

from pipeline.errors import UsageError
from pipeline.lake import open_lake
from pipeline.lake.damage import DENIED
from pipeline.stores import Location
from pipeline.verify import checks, files
from pipeline.verify.finding import CONTRADICTION, ERROR, LIMIT, Finding
from pipeline.verify.unseen import UNSEEN, unseen

__all__ = ["CONTRADICTION", "ERROR", "FAULT_SCHEMA", "LIMIT", "Verification", "verify"]

# `finds` is what the check looks for, `n_rows` how often it found that in all; `row` is one of
# these as JSON, its key and what contradicts something else.
FAULT_SCHEMA: dict[str, pl.DataType] = {
    "check": pl.String(),
    "severity": pl.String(),
    "table": pl.String(),
    "finds": pl.String(),
    "n_rows": pl.Int64(),
    "row": pl.String(),
}

_ENCODER = msgspec.json.Encoder()


class Verification(Struct):
    """What was found wrong, as rows of `FAULT_SCHEMA`, and how much was looked at.

    `left_out` are the checks that could not be made, since a table cannot be read.
    """

    faults: pl.DataFrame
    n_checks: int
    n_files: int
    n_rows: int
    left_out: list[str]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is damaged or unseen: warnings and contradictions are neither."""
        return not self.left_out and ERROR not in self.faults["severity"]

    @property
    def is_damaged(self) -> bool:
        """Whether damage was found.

        If not, and the lake is not whole, files may not be read, or an ingest did not end.
        """
        is_damage = ~pl.col("check").is_in([DENIED, UNSEEN])
        return not self.faults.filter(is_damage, severity=ERROR).is_empty()

    @property
    def is_contradicted(self) -> bool:
        """Whether logs contradict themselves."""
        return CONTRADICTION in self.faults["severity"]


def verify(
    path: str | Path | Location,
    *,
    limit: int = LIMIT,
    on_progress: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Looks at every row of the lake; `faults` has at most `limit` rows for each check and table.

    `on_progress` is called with what is checked next. Raises LakeError for what is no
    readable lake, and UsageError for a limit below 1.
    """
    if limit < 1:
        raise UsageError(f"the limit must be 1 or more, not {limit}")
    lake = open_lake(path)
    findings: list[Finding] = []
    n_files = n_rows = 0
    unreadable = set()
    for table in lake.own_tables:
        on_progress(f"files of {table}")
        looked = files.look(lake, table, limit)
        findings += looked.findings
        n_files += looked.n_files
        n_rows += looked.n_rows
        if not looked.is_readable:
            unreadable.add(table)
    known = checks.all_checks()
    possible = [check for check in known if not checks.tables_of(check) & unreadable]
    findings += checks.run(lake, possible, limit, on_progress)
    # Of the newest state, since an ingest may have ended meanwhile.
    findings += filter(None, [unseen(open_lake(path))])
    left_out = [checks.title(check) for check in known if check not in possible]
    rows = [
        (
            *(finding.check, finding.severity, finding.table, finding.finds, finding.n_rows),
            _ENCODER.encode(row).decode(),
        )
        for finding in findings
        for row in finding.rows
    ]
    return Verification(
        faults=pl.DataFrame(rows, FAULT_SCHEMA, orient="row"),
        n_checks=len(known) + len(files.FINDS) + len((UNSEEN,)),
        n_files=n_files,
        n_rows=n_rows,
        left_out=left_out,
    )
