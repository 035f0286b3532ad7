"""Every error that a user can cause, under one base class.

The command line turns a `PipelineError` into one line on stderr; anything else is a defect of ours.
"""

import re

DAMAGE_HINT = "`magic verify` says what is damaged"
# What polars says to its developers, who would see the whole of a path.
_ADVICE = re.compile(r" *\(set POLARS_\w+=[^)]*\)")


def first_line(error: BaseException) -> str:
    """What a library's error says first, but for its advice."""
    text = _ADVICE.sub("", str(error))
    return next((line for line in text.splitlines() if line.strip()), type(error).__name__)


class PipelineError(Exception):
    """A mistake that the user can mend; the text says what, where and what to do."""


class UsageError(PipelineError):
    """The request itself is wrong: an unknown metric, column, format or option."""


class SourceError(PipelineError):
    """A source of documents cannot be read, or holds nothing to read."""


class LakeError(PipelineError):
    """A folder is not a lake, or a lake that this version cannot open or write."""


class MetricError(PipelineError):
    """A metric that somebody adds is not yet written for both engines."""


class QueryError(PipelineError):
    """A SQL query is wrong, or asks for more than reading."""
