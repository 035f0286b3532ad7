"""Archives of real logs, for tests that read them a second time in plain Python."""

import io
import tarfile
from pathlib import Path

import zstandard


def files(archive: Path) -> dict[str, bytes]:
    """The bytes of each file in an archive, by its path."""
    with archive.open("rb") as packed:
        unpacked = io.BytesIO(zstandard.ZstdDecompressor().stream_reader(packed).read())
    with tarfile.open(fileobj=unpacked) as tar:
        members = [member for member in tar if member.isfile()]
        return {m.name: file.read() for m in members if (file := tar.extractfile(m))}
