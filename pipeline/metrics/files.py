"""A metric in a file of its own, in the form that it would have in the package.

`silence.py` declares `PAPER`, and `silence.sql`, if it lies beside it, is the same in SQL.
"""

import runpy
import traceback
from pathlib import Path
from typing import NamedTuple

from pipeline.errors import MetricError
from pipeline.metrics.declaration import Metric


class Declared(NamedTuple):
    """A metric as its file declares it. Its name is that of the file, without the ending."""

    name: str
    metric: Metric
    sql: str | None


def declared_in(file: Path) -> Declared:
    """The metric of a Python file, which is run; raises MetricError where it declares none."""
    if file.suffix != ".py":
        raise MetricError(f"{file}: a metric's file is a Python file, such as silence.py")
    if not file.is_file():
        raise MetricError(f"{file}: there is no such file")
    try:
        declared = runpy.run_path(str(file)).get("PAPER")
    except (Exception, SystemExit) as error:
        what = error.msg if isinstance(error, SyntaxError) else error
        raise MetricError(
            f"{file}, line {_line(error, file)}: {type(error).__name__}: {what}"
        ) from None
    if not isinstance(declared, Metric):
        raise MetricError(f"{file}: it needs `PAPER = Metric(...)`, see docs/adding.md")
    beside = file.with_suffix(".sql")
    try:
        sql = beside.read_text(encoding="utf-8") if beside.is_file() else None
    except UnicodeDecodeError:
        raise MetricError(f"{beside}: not valid UTF-8") from None
    return Declared(file.stem, declared, sql)


def _line(error: BaseException, file: Path) -> int | None:
    """The line of the file at which the error came up."""
    if isinstance(error, SyntaxError):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == str(file)), None)
