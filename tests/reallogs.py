"""Archives of real logs, for tests that read them a second time in plain Python."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import zstandard

from pipeline.lake import StoredLake
from pipeline.metrics import metrics

Values = Mapping[tuple[str, str], float]


def files(archive: Path) -> dict[str, bytes]:
    """The bytes of each file in an archive, by its path."""
    with archive.open("rb") as packed:
        unpacked = io.BytesIO(zstandard.ZstdDecompressor().stream_reader(packed).read())
    with tarfile.open(fileobj=unpacked) as tar:
        members = [member for member in tar if member.isfile()]
        return {m.name: file.read() for m in members if (file := tar.extractfile(m))}


def values(lake: StoredLake, engine: str, names: list[str]) -> dict[tuple[str, str], float]:
    """Each metric's value by metric and model, those without one left out."""
    rows = metrics(lake, engine=engine, by=["model"], metric=names, confidence=None)
    return {
        (metric, model): value
        for metric, model, value in rows.select("metric", "model", "value").iter_rows()
        if value is not None
    }
