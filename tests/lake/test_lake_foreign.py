"""What another tool did to a lake's tables: survived, or refused in words that name it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from lakes import check, rows, table

from pipeline.errors import LakeError
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.lake.maintain import maintain
from pipeline.verify import verify

FEATURES = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": ["deletionVectors"],
}


@pytest.fixture
def lake(used_lake: Path, tmp_path: Path) -> Path:
    shutil.copytree(used_lake, tmp_path / "lake")
    return tmp_path / "lake"


def merge_and_delete(delta: DeltaTable) -> None:
    delta.optimize.compact()
    delta.vacuum(0, dry_run=False, enforce_retention_duration=False)


@pytest.mark.slow
def test_a_table_of_ingests_that_another_tool_arranged_anew(lake: Path, more: Path) -> None:
    """Its rows are the same, so the lake is, too; only its versions are more than its rows."""
    before = rows(lake, but_for=())
    merge_and_delete(DeltaTable(lake / "ingests"))
    assert rows(lake, but_for=()) == before
    assert verify(lake).is_whole
    assert ingest(more, lake).statuses["ingested"] == 5
    check(lake)


def test_rows_of_ingests_that_another_tool_deleted(lake: Path) -> None:
    DeltaTable(lake / "ingests").delete("ingest_id = 2")
    with pytest.raises(LakeError, match=r"\(another tool changed the table: DELETE in 0*4\.json\)"):
        open_lake(lake)


def test_a_merge_by_another_tool_is_no_ingest(lake: Path, more: Path) -> None:
    """What it adds is in the numbers; an ingest that was not ended is not."""
    DeltaTable(lake / "documents").optimize.compact()
    assert not open_lake(lake).has_later_commits()
    ingest(more, lake)
    assert not open_lake(lake).has_later_commits()
    sorted((lake / "ingests" / "_delta_log").glob("*.json"))[-1].unlink()
    assert open_lake(lake).has_later_commits()


def test_a_commit_that_was_cut_is_taken_for_an_ingest(lake: Path) -> None:
    last = sorted((lake / "documents" / "_delta_log").glob("*.json"))[-1]
    (last.parent / f"{int(last.stem) + 1:020d}.json").write_bytes(b'{"commitInfo": {"oper')
    assert open_lake(lake).has_later_commits()


def test_an_ingest_after_another_tool_deleted_files(lake: Path, more: Path) -> None:
    """The state that the lake names is gone."""
    merge_and_delete(DeltaTable(lake / "votes"))
    with pytest.raises(LakeError) as caught:
        ingest(more, lake)
    for text in ("votes: the table cannot be restored", "another tool changed", "VACUUM", "a copy"):
        assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def in_log(lake: Path, name: str, change: dict[str, dict[str, Any]]) -> None:
    """Adds entries to the actions of a table's log, by the name of the action."""
    for log in (lake / name / "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for line in lines:
            for action in line.keys() & change.keys():
                line[action] |= change[action]
        log.write_text("\n".join(map(json.dumps, lines)))


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("votes", {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}, "columnMapping"),
        ("ingests", {"protocol": FEATURES}, "deletionVectors"),
        ("votes", {"metaData": {"configuration": {"delta.appendOnly": "true"}}}, "appendOnly"),
    ],
)
def test_a_table_that_is_more_than_its_files(
    lake: Path, more: Path, name: str, change: dict[str, dict[str, Any]], says: str
) -> None:
    """A merge would bring deleted rows back, and a renamed column would be null.

    The lake can neither be read nor written to.
    """
    in_log(lake, name, change)
    before = sorted(lake.rglob("*.parquet"))
    for act in (lambda: table(lake, name), lambda: maintain(lake), lambda: ingest(more, lake)):
        with pytest.raises(LakeError, match=f"that magic does not use: {says}") as caught:
            act()
        assert name in str(caught.value)
        assert "a copy" in str(caught.value)
    assert sorted(lake.rglob("*.parquet")) == before


@pytest.mark.slow
def test_what_another_tool_turned_on_goes_with_its_commit(lake: Path, more: Path) -> None:
    """The next ingest restores the table, and its protocol."""
    newest = max((lake / "votes" / "_delta_log").glob("*.json"))
    newest.with_name(f"{int(newest.stem) + 1:020d}.json").write_text(
        json.dumps({"protocol": FEATURES})
    )
    assert ingest(more, lake).statuses["ingested"] == 5
    check(lake)
