"""Every error that a user can cause, under one base class.

The command line turns a `PipelineError` into one line on stderr; anything else is a defect of ours.
"""

DAMAGE_HINT = "`magic verify` says what is damaged"


class PipelineError(Exception):
    """A mistake that the user can mend; the text says what, where and what to do."""


class UsageError(PipelineError):
    """The request itself is wrong: an unknown metric, column, format or option."""


class SourceError(PipelineError):
    """A source of documents cannot be read, or holds nothing to read."""


class LakeError(PipelineError):
    """A folder is not a lake, or a lake that this version cannot open or write."""


class QueryError(PipelineError):
    """A SQL query is wrong, or asks for more than reading."""
