"""Why a document that no format claims is no log, in words that many documents share."""

import msgspec

from pipeline.archives.unclaimed import TEXT, why_unclaimed
from pipeline.formats.look import Look

_N_KEYS = 3
_LONGEST_KEY = 30
NOT_READ = "not read: "
"""What the reason begins with for a log of a known program that has no game that is read."""
_OTHER_KEYS = "not a log: JSON with other keys"
_NO_KEYS = "not a log: JSON without keys"
_JSON = msgspec.json.Decoder()


def why_no_log(look: Look) -> str:
    """What the document is; keys are named where they are words, not numbers or texts of a log."""
    if look.first not in ("{", "["):
        return _NO_KEYS if _is_json(look.data) else why_unclaimed(look.data)
    if not look.keys:
        return _NO_KEYS
    first = [key for key, _ in zip(look.keys, range(_N_KEYS), strict=False)]
    if not all(map(_is_word, first)):
        return _OTHER_KEYS
    more = ", …" if len(look.keys) > _N_KEYS else ""
    return f"{_OTHER_KEYS} ({', '.join(first)}{more})"


def may_be_log(reason: str) -> bool:
    """Whether what is ignored for this reason can be a log of a program that no format knows."""
    return reason.startswith((_OTHER_KEYS, TEXT, NOT_READ))


def _is_json(data: bytes) -> bool:
    try:
        _JSON.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _is_word(key: str) -> bool:
    return len(key) <= _LONGEST_KEY and key.isascii() and key.replace("_", "").isalpha()
