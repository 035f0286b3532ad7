"""Which code this is."""

import hashlib
from functools import cache
from pathlib import Path


@cache
def code_sha256() -> str:
    """A hash of this package's modules, names and all: 64 hexadecimal digits.

    A version's number stays while code is worked on; this does not.
    """
    package = Path(__file__).parent
    found = hashlib.sha256()
    for module in sorted(package.rglob("*.py")):
        for part in (module.relative_to(package).as_posix().encode(), module.read_bytes()):
            found.update(hashlib.sha256(part).digest())
    return found.hexdigest()
