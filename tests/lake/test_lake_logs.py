"""A line lost from a table's log gives other rows that read as well: it is always noticed."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lakes import table

from pipeline.errors import LakeError
from pipeline.events.contracts import TABLES
from pipeline.lake import open_lake
from pipeline.verify import verify


def without(action: bytes) -> Callable[[bytes], bytes]:
    """Takes the first line with the action out of a commit."""
    return lambda log: re.sub(rb'(?m)^\{"%s":.*\n?' % action, b"", log, count=1)


def misspelled(action: bytes) -> Callable[[bytes], bytes]:
    """Changes one bit of the action's name, which Delta then passes over."""
    other = action[:-1] + bytes([action[-1] ^ 1])
    return lambda log: log.replace(b'{"%s":' % action, b'{"%s":' % other, 1)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "no add": without(b"add"),
    "no remove": without(b"remove"),
    "add misspelled": misspelled(b"add"),
    "empty": lambda _: b"",
    "a newline": lambda _: b"\n",
}


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory, used_lake: Path) -> Path:
    """A copy whose logs each test damages and mends."""
    copy = tmp_path_factory.mktemp("damaged") / "lake"
    shutil.copytree(used_lake, copy)
    return copy


def damage_each(lake: Path, name: str, damage: str) -> Iterator[Path]:
    """Damages one commit of a table after the other; each is mended when the next is asked for."""
    for commit in sorted((lake / name / "_delta_log").glob("*[1-9].json")):
        log = commit.read_bytes()
        changed = DAMAGES[damage](log)
        if changed != log:
            commit.write_bytes(changed)
            yield commit
            commit.write_bytes(log)


def is_refused(lake: Path, name: str) -> bool:
    try:
        table(lake, name)
    except LakeError as error:
        assert "the lake is damaged" in str(error)
        assert "magic verify" in str(error) or "cannot be opened" in str(error)
        return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["no add", "no remove"])
def test_a_log_that_lost_a_line_is_refused(damaged: Path, damage: str) -> None:
    """Whatever the table and the commit: the only exception are lines that change no row."""
    n_damages = 0
    for name in TABLES:
        before = table(damaged, name)
        for commit in damage_each(damaged, name, damage):
            n_damages += 1
            assert is_refused(damaged, name) or table(damaged, name).equals(before), commit
    assert n_damages >= (3 if "remove" in damage else len(TABLES))


@pytest.mark.some(2)
@pytest.mark.parametrize("damage", ["no add", "add misspelled", "empty", "a newline"])
@pytest.mark.parametrize("name", ["votes", "ingests"])
def test_each_lost_row_is_refused(damaged: Path, name: str, damage: str) -> None:
    for commit in damage_each(damaged, name, damage):
        assert is_refused(damaged, name), commit


@pytest.mark.slow
def test_verify_names_the_table_and_the_empty_commit(damaged: Path) -> None:
    for _ in damage_each(damaged, "votes", "empty"):
        verified = verify(damaged)
        assert not verified.is_whole
        (row,) = verified.faults.filter(check="log", table="votes")["row"]
        assert "is empty, perhaps after a power loss" in row


def test_a_state_before_the_last_is_compared_too(damaged: Path) -> None:
    for commit in damage_each(damaged, "votes", "no add"):
        if commit.stem.endswith("1"):
            with pytest.raises(LakeError, match=r"names 0 files.* but the ingest left 1 files"):
                open_lake(damaged, as_of=1).table("votes")


def test_the_last_ingest_whose_commit_is_empty(damaged: Path) -> None:
    *_, last = sorted((damaged / "ingests" / "_delta_log").glob("*.json"))
    log = last.read_bytes()
    last.write_bytes(b"")
    with pytest.raises(LakeError, match="delete it and run the last ingest again"):
        open_lake(damaged)
    last.write_bytes(log)


def test_a_table_without_an_ingest_that_has_files(tmp_path: Path, used_lake: Path) -> None:
    """The table of ingests that lost its rows is not taken for that of a new lake."""
    lake = tmp_path / "lake"
    shutil.copytree(used_lake, lake)
    for commit in (lake / "ingests" / "_delta_log").glob("*[1-9].json"):
        commit.write_bytes(without(b"add")(commit.read_bytes()))
    with pytest.raises(LakeError, match="names 0 ingests, but there were 3"):
        open_lake(lake)
