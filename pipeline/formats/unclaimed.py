"""Why a document that no format claims is no log, in words that many documents share."""

from pipeline.archives.unclaimed import why_unclaimed
from pipeline.formats.look import Look

_N_KEYS = 3
_LONGEST_KEY = 30


def why_no_log(look: Look) -> str:
    """What the document is; keys are named where they are words, not numbers or texts of a log."""
    if look.first not in ("{", "["):
        return why_unclaimed(look.data)
    first = [key for key, _ in zip(look.keys, range(_N_KEYS), strict=False)]
    if not first or not all(map(_is_word, first)):
        return "not a log: JSON with other keys"
    more = ", …" if len(look.keys) > _N_KEYS else ""
    return f"not a log: JSON with other keys ({', '.join(first)}{more})"


def _is_word(key: str) -> bool:
    return len(key) <= _LONGEST_KEY and key.isascii() and key.replace("_", "").isalpha()
