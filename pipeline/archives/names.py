"""What a file's name says: the form that it has, or why it is no log."""

from pathlib import PurePosixPath
from typing import NamedTuple

_SHORT = {".tgz": (".tar", ".gz"), ".tzst": (".tar", ".zst"), ".txz": (".tar", ".xz")}
_CODECS = {".gz": "gz", ".zst": "zst", ".xz": "xz"}
_KINDS = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".tar": "tar", ".zip": "zip"}


_HIDDEN = {"__MACOSX", "_delta_log"}


class Form(NamedTuple):
    """How a file holds its documents, and what it is compressed with; null where by nothing."""

    kind: str | None
    codec: str | None

    @property
    def is_archive(self) -> bool:
        """Whether it has members with names of their own."""
        return self.kind in ("tar", "zip")


def form_of(name: str) -> Form:
    """Return the form that the ending of a name stands for; its kind is null for what is no log."""
    before, last = _endings(name.lower())
    before, last = _SHORT.get(last, (before, last))
    codec = _CODECS.get(last)
    return Form(_KINDS.get(before if codec else last), codec)


def why_passed_over(path: str) -> str | None:
    """Return why a file, or member of an archive, is no log by its name; null if it is one."""
    *folders, name = path.split("/")
    if any(map(is_hidden_folder, folders)):
        return "hidden folder"
    if name.startswith("."):
        return "hidden file"
    if form_of(name).kind is None:
        return f"not a log: {_ending(name)}"
    return None


def is_hidden_folder(name: str) -> bool:
    """Say whether a folder holds what people do not look at: `.git`, a lake's own log."""
    return name in _HIDDEN or (name.startswith(".") and name not in (".", ".."))


def printable(name: str) -> str:
    r"""Return a name that UTF-8 can hold: a byte that was none of it reads `\udce9`, say.

    Escaped and not replaced by one sign, so that two such names stay two.
    """
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _endings(name: str) -> tuple[str, str]:
    """Return a name's last two endings, empty where it has fewer."""
    before, last = ["", "", *PurePosixPath(name).suffixes][-2:]
    return before, last


def _ending(name: str) -> str:
    """Describe a name's ending, a compressed one with the ending before it."""
    before, last = _endings(name)
    ending = before + last if last.lower() in _CODECS else last
    return f"the name ends in {printable(ending)}" if ending else "the name has no ending"
