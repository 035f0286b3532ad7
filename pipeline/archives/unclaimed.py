"""What a document is that no format reads, in few words: an ingest counts the documents of each."""

EMPTY = "not a log: it is empty"
BINARY = "not a log: binary data"
TEXT = "not a log: text that no format reads"


def why_unclaimed(head: bytes) -> str:
    """Return why what begins so is no log, where it is not JSON."""
    if not head.strip():
        return EMPTY
    return BINARY if b"\0" in head else TEXT
