"""A folder of logs and a lake that takes them in, both empty at first; the lake checked at last."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lakes import Lab, check

from pipeline.lake import open_or_create_lake


@pytest.fixture(scope="session")
def empty_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake without an ingest, to be copied and not to be written."""
    return open_or_create_lake(tmp_path_factory.mktemp("empty") / "lake").path


@pytest.fixture
def lab(tmp_path: Path, empty_lake: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path / "logs", tmp_path / "lake")
    shutil.copytree(empty_lake, lab.lake)
    lab.root.mkdir()
    yield lab
    check(lab.lake)
