"""A data file's name ends in the hash of its bytes.

So whatever names the file also has its hash: the table's log, its checkpoints, and the commits of a
merge or a cluster. `sha256sum` gives the same 64 digits.
"""

import re
from hashlib import sha256
from pathlib import Path

from pipeline.stores import Location

SUFFIX = ".parquet"
CATALOG = "magic.duckdb"
"""A DuckDB database beside the tables, for other tools. No reader of the lake opens it."""
WRITING = ".writing"
"""A folder of locks, held by processes that write files which no commit names yet."""
_BLOCK_BYTES = 2**20
_HASH = re.compile(rf"-([0-9a-f]{{64}}){re.escape(SUFFIX)}$")


def named(begun: str, file: Path) -> str:
    """The final name of a file that was written under the name `begun`."""
    return f"{begun.removesuffix(SUFFIX)}-{hashed(file)}{SUFFIX}"


def hash_of(name: str) -> str | None:
    """The hash in a file's name, None for a file that another tool wrote."""
    match = _HASH.search(name)
    return match[1] if match else None


def hashed(file: Location | Path) -> str:
    """The hash of the bytes that the file has now."""
    digest = sha256()
    with file.open("rb") if isinstance(file, Path) else file.open() as opened:
        while block := opened.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()
