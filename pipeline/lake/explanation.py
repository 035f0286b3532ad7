"""What to raise where a library fails to read a lake.

The libraries complain wherever rows are asked for, and do not say of which file.
"""

from collections.abc import Iterable

from pipeline.errors import LakeError, MachineError, PipelineError
from pipeline.lake.damage import damage
from pipeline.lake.lake import StoredLake
from pipeline.library_errors import lack, one_line


def explanation(error: BaseException, states: Iterable[StoredLake]) -> BaseException:
    """What to raise for an error that reading a file of these states may have caused.

    This is an error that names the damaged file, if one is found, but not where the machine lacked
    something. Otherwise it is the error itself if its text is clear to a user, and else one that
    quotes it and blames no file. The path of a single lake is left out: the user of a command knows
    it, and a query should not show it.
    """
    if text := lack(error):
        return MachineError(text)
    is_clear = isinstance(error, PipelineError | OSError)
    try:
        states = list(states)
    except LakeError as unopened:
        return error if is_clear else unopened
    for state in states:
        tables = {state.folder(table): state.sizes(table) for table in state.own_tables}
        if damaged := damage(tables):
            return type(damaged)(f"{state.path}: {damaged}") if states[1:] else damaged
    # Only paths that polars opened itself have no field of their own.
    if states and isinstance(error, FileNotFoundError) and error.filename is None:
        return LakeError(
            f"{states[0].path}: a file was deleted while it was being read, probably by `magic "
            "maintain`; run the command again"
        )
    if is_clear or not states:
        return error
    return LakeError(
        f"the lake's files are as they were committed, but this failed: {one_line(error)}"
    )
