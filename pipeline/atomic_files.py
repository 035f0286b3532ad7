"""Write files and folders atomically: under a temporary name, and renamed when complete.

Exports, reports and `--out` options use this module.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from pipeline.errors import PipelineError, UsageError, one_line_message_without_path


@contextmanager
def atomic_write(file: str | Path) -> Iterator[Path]:
    """Yield a temporary path to write to, and rename it to `file` if the block succeeds.

    If the block fails, an existing file is unchanged. A symbolic link stays a link, and an existing
    file keeps its permissions. If `file` is a pipe or a device, its own path is yielded.

    Args:
        file: The path of the result.

    Yields:
        The path to write to.

    Raises:
        PipelineError: If the file cannot be written, for example because the disk is full.
    """
    final = Path(file).resolve()
    is_direct = final.exists() and not final.is_file()
    # The temporary name is short, because file systems limit the length of names.
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
        note = "" if is_direct or not final.exists() else "; the file is as it was"
        raise PipelineError(
            f"{file}: cannot be written: {one_line_message_without_path(error)}{note}"
        ) from error
    finally:
        if not is_direct:
            draft.unlink(missing_ok=True)


@contextmanager
def atomic_new_folder(folder: str | Path) -> Iterator[Path]:
    """Yield a temporary folder to write into, and rename it to `folder` if the block succeeds.

    Args:
        folder: The path of the result; it must not exist, or be an empty folder.

    Yields:
        The folder to write into.

    Raises:
        UsageError: If the path exists and is not an empty folder; nothing is written then.
        PipelineError: If the folder cannot be written.
    """
    final = Path(folder).resolve()
    check_path_is_free(final, str(folder))
    draft = final.with_name(f".magic-{uuid4().hex}.tmp")
    try:
        draft.mkdir()
        yield draft
        draft.rename(final)
    except OSError as error:
        raise PipelineError(
            f"{folder}: cannot be written: {one_line_message_without_path(error)}"
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def check_path_is_free(path: Path, displayed_path: str) -> None:
    """Raise UsageError if a path exists already, unless it is an empty folder.

    Args:
        path: The absolute path to check.
        displayed_path: The path as the user wrote it, for the message.

    Raises:
        UsageError: If there is a file or a folder with contents.
        PipelineError: If its parent folder does not exist.
    """
    if any(path.iterdir()) if path.is_dir() else path.exists():
        raise UsageError(
            f"{displayed_path} exists already, and an export replaces no files: choose another path"
        )
    if not path.parent.is_dir():
        raise PipelineError(f"{displayed_path}: there is no folder {path.parent}; create it first")
