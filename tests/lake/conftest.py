"""Folders of a few logs, and a lake with a history: copies, replacements and refusals."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from format_logs import logs_in_files
from lakes import check
from rawlogs import chameleon, chatarena, encode, prisoners_dilemma, public_good, write_logs
from test_archives import tar

from pipeline.ingest import ingest
from pipeline.ingest.worker import LARGE_ARCHIVE_BYTES
from pipeline.lake import open_or_create_lake


@pytest.fixture(scope="session")
def empty_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake without an ingest, to be copied and not to be written."""
    return open_or_create_lake(tmp_path_factory.mktemp("empty") / "lake").path


@pytest.fixture(scope="session")
def used_lake(tmp_path_factory: pytest.TempPathFactory, empty_lake: Path) -> Path:
    """A lake of many ingests, to be copied or read and not to be written."""
    top = tmp_path_factory.mktemp("used")
    lake = top / "lake"
    shutil.copytree(empty_lake, lake)
    logs = write_logs(top / "logs", "first")
    faulty = chameleon(model="faulty", flag=0)
    del faulty["pgm_metric"]
    (logs / "faulty.json").write_bytes(encode(faulty))
    ingest([logs, write_logs_of_others(top / "others")], lake)
    (logs / "3.json").write_bytes(encode(prisoners_dilemma(model="second")))
    (logs / "copy.json").write_bytes(encode(faulty))
    (logs / "torn.json").write_bytes(b"{")
    ingest(logs, lake)
    large = bytes(LARGE_ARCHIVE_BYTES)  # so that it is noted
    (logs / "notes.tar").write_bytes(tar({"notes.txt": large}))
    (logs / "talk.json").write_bytes(encode(chatarena(ending="right")))
    (logs / "4.json").write_bytes(encode(public_good(model='Zo\u00eb\'s "7B" chat')))
    ingest(logs, lake, model="talker")
    check(lake)
    return lake


def write_logs_of_others(folder: Path) -> Path:
    """Logs of other systems, whose games fill the tables that MAgIC's leave empty."""
    folder.mkdir()
    for name in ("pgg_bench", "aiwolf", "avalon", "textarena"):
        for number, (file, data) in enumerate(logs_in_files(name)):
            (folder / file.format(f"{name}-{number}")).write_bytes(data)
    return folder


@pytest.fixture
def lake(tmp_path: Path, used_lake: Path) -> Iterator[Path]:
    """A copy of the used lake, to be written; checked in the end."""
    copy = tmp_path / "lake"
    shutil.copytree(used_lake, copy)
    yield copy
    check(copy)


@pytest.fixture
def new_lake(tmp_path: Path, empty_lake: Path) -> Path:
    """A lake without an ingest, to be written."""
    return shutil.copytree(empty_lake, tmp_path / "new lake")


@pytest.fixture
def more(tmp_path: Path) -> Path:
    """Logs that the used lake does not hold."""
    return write_logs(tmp_path / "more", "third")
