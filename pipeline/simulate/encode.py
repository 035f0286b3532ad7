"""A document as the bytes that `json.dumps(document, indent=4)` would be, an order quicker.

Not for numbers of very large or small size, which msgspec writes in another notation.
"""

import codecs

from msgspec.json import Encoder, format

_encode = Encoder().encode


def encode(document: object) -> bytes:
    """Indented by four, with all but printable ASCII escaped."""
    data = format(_encode(document), indent=4)
    if not data.isascii():
        data = data.decode().encode("ascii", _ESCAPE)
    return data.replace(b"\x7f", b"\\u007f")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """JSON's escapes for the characters that ASCII lacks, which Python's own are not."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4)), error.end


_ESCAPE = "pipeline.simulate.json"
codecs.register_error(_ESCAPE, _escaped)
