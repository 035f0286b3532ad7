"""What a document is that no format reads, in few words: an ingest counts the documents of each."""

EMPTY = "not a log: it is empty"
BINARY = "not a log: binary data"
TEXT = "not a log: text that no format reads"
POINTER = (
    "a Git LFS pointer in place of the file: run `git lfs pull` in its repository, then ingest it"
)
_BEGIN_OF_POINTER = (b"version https://git-lfs", b"version https://hawser")
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
_MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
# Without a mark: which of the first four bytes are not zero, if two letters stand there, or one.
_WIDE = {(0, 2): "UTF-16LE", (1, 3): "UTF-16BE", (0,): "UTF-32LE", (3,): "UTF-32BE"}


def is_pointer(head: bytes) -> bool:
    """Say whether what begins so stands for a file that Git LFS has not fetched."""
    return head.startswith(_BEGIN_OF_POINTER)


def encoding_of(head: bytes) -> str | None:
    """Return the encoding of a text that is not in UTF-8 but in one with zeros; else null."""
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    first = head[:4]
    letters = first.replace(b"\0", b"")
    is_text = len(first) == 4 and letters.isascii() and letters.decode().isprintable()
    return _WIDE.get(tuple(n for n, byte in enumerate(first) if byte)) if is_text else None


def why_no_utf8(head: bytes) -> str | None:
    """Return why what begins so cannot be read, and what to do; null where it may be UTF-8."""
    if is_pointer(head):
        return POINTER
    if packed := next((name for sign, name in _PACKED.items() if head.startswith(sign)), None):
        return f"still compressed with {packed}: unpack it, or name it so, then ingest it"
    if encoding := encoding_of(head):
        return f"text in {encoding}: convert it by `iconv -f {encoding} -t UTF-8`, then ingest it"
    return None


def why_unclaimed(head: bytes) -> str:
    """Return why what begins so is no log, where it is not JSON."""
    if not head.strip():
        return EMPTY
    if why := why_no_utf8(head):
        return f"not a log: {why}"
    return BINARY if b"\0" in head else TEXT
