"""Which code this is."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from pipeline.plugins import package_of, points

_CODE = ("*.py", "*.sql")


@cache
def code_sha256() -> str:
    """A hash of this package's modules, names and all: 64 hexadecimal digits.

    A version's number stays while code is worked on; this does not. Packages that add something
    are part of it, by name, version, and what is in their files.
    """
    whole = hashlib.sha256()
    for part in [*_modules(Path(__file__).parent), *_of_plugins()]:
        whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()


def _of_plugins() -> Iterator[bytes]:
    """The name and version of each package that adds something, what it adds, and its code."""
    for point in points():
        version = point.dist.version if point.dist else ""
        yield "\n".join([package_of(point), version, point.group, point.name, point.value]).encode()
    for top in sorted({point.module.partition(".")[0] for point in points()}):
        spec = find_spec(top)
        folders = spec.submodule_search_locations if spec else None
        for folder in folders or ():
            yield from _modules(Path(folder), *_CODE)
        if spec and not folders and spec.origin:
            # A module may have its SQL beside it.
            for file in sorted(Path(spec.origin).parent.glob(f"{top}.*")):
                if file.is_file():
                    yield file.read_bytes()


def _modules(package: Path, *patterns: str) -> Iterator[bytes]:
    """The names and the contents of a package's files, by default those of Python."""
    files = {file for pattern in patterns or ("*.py",) for file in package.rglob(pattern)}
    for file in sorted(files):
        yield file.relative_to(package).as_posix().encode()
        yield file.read_bytes()
