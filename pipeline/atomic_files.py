"""Files and folders of results: each is written aside, and takes its place when it is complete."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from pipeline.errors import PipelineError, UsageError, error_reason


@contextmanager
def atomic_write(file: str | Path) -> Iterator[Path]:
    """Gives a path to write to; the file appears, or is replaced, once the block has ended well.

    Else an existing file stays as it was. A link stays a link, and a file keeps its permissions.
    What is no file, such as a pipe, is written to directly. Raises PipelineError where the system
    refuses, as on a disk that is full.
    """
    final = Path(file).resolve()
    is_direct = final.exists() and not final.is_file()
    # A short name: the folder may have no room for one that is longer than the file's.
    draft = final if is_direct else final.with_name(f".magic-{uuid4().hex}.tmp")
    try:
        yield draft
        if not is_direct:
            if final.exists():
                shutil.copymode(final, draft)
            draft.replace(final)
    except BrokenPipeError:
        raise
    except OSError as error:
        kept = "" if is_direct or not final.exists() else "; the file is as it was"
        raise PipelineError(f"{file}: cannot be written: {error_reason(error)}{kept}") from error
    finally:
        if not is_direct:
            draft.unlink(missing_ok=True)


@contextmanager
def new_folder(folder: str | Path) -> Iterator[Path]:
    """Gives a folder to write into; it takes its name once the block has ended well.

    Nothing is replaced: raises UsageError, before anything is written, for a name that is taken by
    anything but an empty folder. Raises PipelineError where the system refuses.
    """
    final = Path(folder).resolve()
    check_is_new(final, str(folder))
    draft = final.with_name(f".magic-{uuid4().hex}.tmp")
    try:
        draft.mkdir()
        yield draft
        draft.rename(final)
    except OSError as error:
        raise PipelineError(f"{folder}: cannot be written: {error_reason(error)}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def check_is_new(path: Path, shown: str) -> None:
    """Raises UsageError for a path where there is something; an empty folder is nothing."""
    if any(path.iterdir()) if path.is_dir() else path.exists():
        raise UsageError(f"{shown}: is there already, and an export replaces nothing: name another")
    if not path.parent.is_dir():
        raise PipelineError(f"{shown}: there is no folder {path.parent}; create it first")
