"""A folder of logs and a lake that takes them in, both empty at first; the lake checked at last."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from lakes import Lab, check


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path / "logs", tmp_path / "lake")
    lab.root.mkdir()
    yield lab
    check(lab.lake)
