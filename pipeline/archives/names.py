"""What a file's name says: the form that it has, or why it is no log."""

import re
from functools import lru_cache
from typing import NamedTuple

_KINDS = {
    **{".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".tar": "tar", ".zip": "zip"},
    # Of these a document is only what a format asks for.
    **dict.fromkeys((".csv", ".tsv", ".txt", ".log"), "text"),
    ".eval": "inspect",
}
_CODECS = {"": None, ".gz": "gz", ".zst": "zst", ".xz": "xz", ".bz2": "bz2"}
_SHORT = {".tgz": ".tar.gz", ".tzst": ".tar.zst", ".txz": ".tar.xz", ".tbz2": ".tar.bz2"}
# What people pack logs with, and we do not read.
_PACKED_OTHERWISE = (".7z", ".rar", ".lz4", ".br", ".lz", ".lzma", ".z")
_UNPACK = ", which is not read: unpack it, or pack it as .zip or .tar.zst"
_HIDDEN = {"__MACOSX", "_delta_log"}
_AGAIN = re.compile(r"( \([0-9]+\))+$")  # as `Distinct` has it
_LONGEST_LABEL = 4096  # no file system's paths are longer


class Form(NamedTuple):
    """How a file holds its documents, and what it is compressed with; null where by nothing."""

    kind: str | None
    codec: str | None

    @property
    def is_archive(self) -> bool:
        """Whether it has members with names of their own."""
        return self.kind in ("tar", "zip", "inspect")

    @property
    def is_packed(self) -> bool:
        """Whether more comes out of it than its size."""
        return self.is_archive or self.codec is not None

    @property
    def holds_many(self) -> bool:
        """Whether it can hold any number of documents, by its kind."""
        return self.is_archive or self.kind in ("jsonl", "text")


PLAIN = Form("json", None)
INSPECT = Form("inspect", None)
NO_LOG = Form(None, None)
# What it is, its content says.
_NO_ENDING = Form("text", None)
_FORMS = {kind + codec: Form(_KINDS[kind], _CODECS[codec]) for kind in _KINDS for codec in _CODECS}
_FORMS |= {short: _FORMS[long] for short, long in _SHORT.items()}


def form_of(name: str) -> Form:
    """Return the form that the ending of a name stands for; its kind is null for what is no log."""
    return _form_of_file(name[name.rfind("/") + 1 :])


# A run's files have the same few names in each folder, and each is asked for several times.
@lru_cache(maxsize=1024)
def _form_of_file(name: str) -> Form:
    if name and "." not in name:
        return _NO_ENDING
    before, last = _endings(name.lower())
    return _FORMS.get(last) or _FORMS.get(before + last, NO_LOG)


def why_passed_over(path: str) -> str | None:
    """Return why a file, or member of an archive, is no log by its name; null if it is one."""
    *folders, name = path.split("/")
    if any(map(is_hidden_folder, folders)):
        return "hidden folder"
    if name.startswith("."):
        return "hidden file"
    if form_of(name).kind is None:
        way_out = _UNPACK if name.lower().endswith(_PACKED_OTHERWISE) else ""
        return f"not a log: {_ending(name)}{way_out}"
    return None


def unlike_a_part(path: str) -> str:
    """Return the path of what is no log, marked where it reads like a part of one: `a.jsonl#1`.

    Else two documents would have one path.
    """
    before, sign, number = path.rpartition("#")
    form = form_of(before)
    is_like = sign and number.isdecimal() and form.kind and not form.is_archive
    return f"{path} (file)" if is_like else path


def file_of(path: str) -> str:
    """Return the path of the file that a part is of: `a.csv` for `a.csv#17`; else the path."""
    before, sign, number = path.rpartition("#")
    return before if sign and number.isdecimal() else path


def document_form(path: str) -> Form:
    """Return the form of the file that a document is in; its name can have a number added."""
    return form_of(_AGAIN.sub("", file_of(path)))


def document_ending(path: str) -> str:
    """Return the ending for a file of this document alone: its own file's, if that is known.

    A line and an entry are JSON; a row with its header is a table, and a section a text.
    """
    file = file_of(path)
    before, last = _endings(_AGAIN.sub("", file).lower())
    ending = last if last in _KINDS else before
    kind = _KINDS.get(ending)
    return ending if kind == "text" or (kind == "jsonl" and file == path) else ".json"


def is_hidden_folder(name: str) -> bool:
    """Say whether a folder holds what people do not look at: `.git`, a lake's own log."""
    return name in _HIDDEN or (name.startswith(".") and name not in (".", ".."))


def printable(name: str) -> str:
    r"""Return a name that UTF-8 can hold: a byte that was none of it reads `\udce9`, say.

    Escaped and not replaced by one sign, so that two such names stay two.
    """
    return name if name.isascii() else name.encode("utf-8", "backslashreplace").decode("utf-8")


def label(name: str) -> str:
    """Return a member's name to call it by: printable, and without the middle of a very long one.

    Its end stays, which has the game's index; a tar can hold names of any length.
    """
    if len(name) > _LONGEST_LABEL:
        name = f"{name[: _LONGEST_LABEL // 2]}…{name[-_LONGEST_LABEL // 2 :]}"
    return printable(name)


def _endings(name: str) -> tuple[str, str]:
    """Return the last two endings of the last name in a path, empty where it has fewer."""
    _, *endings = name[name.rfind("/") + 1 :].lstrip(".").split(".")
    if not endings or not endings[-1]:
        return "", ""
    before = endings[-2] if len(endings) > 1 else ""
    return before and "." + before, "." + endings[-1]


def _ending(name: str) -> str:
    """Describe a name's ending, a compressed one with the ending before it."""
    before, last = _endings(name)
    ending = before + last if last.lower() in _CODECS else last
    return f"the name ends in {printable(ending)}" if ending else "the name has no ending"
