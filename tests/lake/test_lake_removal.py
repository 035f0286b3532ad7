"""Rows taken out of files, against the same done on lists of rows."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st
from numpy.random import default_rng

from pipeline.errors import LakeError
from pipeline.events.contracts import GAME_TABLES, table_schema
from pipeline.ingest.decode import GameIds
from pipeline.lake import open_lake
from pipeline.lake.files import TableWriter
from pipeline.lake.tables import scan_files
from pipeline.lake.transaction import RowRemoval, begin_transaction, rewrite_files_with_removed_rows
from pipeline.stores import parse_location


def games(ids: Sequence[str]) -> RowRemoval:
    gone = GameIds()
    gone.add_new_ids(ids)
    return RowRemoval(("game_id",), lambda rows: gone.contains_each_in_column(rows["game_id"]))


def result(table: str, files: Sequence[str]) -> list[str]:
    return sorted(map(repr, scan_files(table, files).collect().rows())) if files else []


@given(data=st.data())
def test_what_is_left_is_all_but_the_rows_gone(
    tmp_path_factory: pytest.TempPathFactory,
    used_lake: Path,
    data: st.DataObject,
) -> None:
    lake = open_lake(used_lake)
    known = lake.table("games").select("game_id").collect()["game_id"].sort().to_list()
    ids = data.draw(st.lists(st.sampled_from([*known, "f" * 32]), unique=True))
    table = data.draw(st.sampled_from(GAME_TABLES))
    folder = parse_location(tmp_path_factory.mktemp("removal"))
    files = lake.table_files(table)
    old, new = rewrite_files_with_removed_rows(folder, table, files, games(ids))
    holds = {file: set(pl.read_parquet(file)["game_id"]) for file in files}
    assert old == [file for file in files if holds[file] & set(ids)]
    left = [file for file in files if file not in old]
    left += [str(folder / file.name) for file in new]
    rows = lake.table(table).filter(~pl.col("game_id").is_in(ids)).collect()
    assert result(table, left) == sorted(map(repr, rows.rows()))
    assert bool(new) == any(holds[file] - set(ids) for file in old)


def test_row_groups_gone_kept_and_cut(tmp_path: Path) -> None:
    """A group that is kept is copied, one that is gone is not, and what is cut keeps no more."""
    rows = frame(3000)
    writer = TableWriter(tmp_path, "votes")
    for start in (0, 1000, 2000):
        writer.write(rows.slice(start, 1000))
    writer.close()
    whole = str(tmp_path / writer.files[0].name)
    gone = rows["game_id"].slice(0, 1000).to_list() + rows["game_id"].slice(1500, 500).to_list()
    old, (new,) = rewrite_files_with_removed_rows(
        parse_location(tmp_path), "votes", [whole], games(gone)
    )
    assert old == [whole]
    file = tmp_path / new.name
    footer = pq.read_metadata(file)
    groups = [footer.row_group(n).num_rows for n in range(footer.num_row_groups)]
    assert groups == [500, 1000]
    assert pl.read_parquet(file).equals(pl.concat([rows.slice(1000, 500), rows.slice(2000)]))
    cut = pq.ParquetFile(file, read_dictionary=["game_id"]).read_row_group(0, ["game_id"])
    assert len(cut["game_id"].chunk(0).dictionary) == 500


def frame(n_rows: int) -> pl.DataFrame:
    """Votes with an id each and nothing else that is told of them."""
    numbers = default_rng(7).integers(0, 2**62, n_rows)
    ids = pl.Series("game_id", [f"{number:032x}" for number in numbers])
    nothing = {pl.String: "-", pl.Boolean: False, pl.Int32: 0, pl.Int64: 0}
    return ids.to_frame().select(
        "game_id" if name == "game_id" else pl.lit(nothing[dtype.base_type()], dtype).alias(name)
        for name, dtype in table_schema("votes").items()
    )


def test_a_file_that_cannot_be_read_leaves_no_new_one(tmp_path: Path, used_lake: Path) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(used_lake, lake)
    torn = Path(open_lake(lake).table_files("votes")[-1])
    torn.write_bytes(torn.read_bytes()[:-5])
    before = sorted((lake / "votes").glob("*.parquet"))
    ids = open_lake(lake).table("games").select("game_id").collect()["game_id"].to_list()
    with pytest.raises(LakeError, match="verify"), begin_transaction(lake) as change:
        change.remove_committed_rows("votes", games(ids[:1]))
    assert sorted((lake / "votes").glob("*.parquet")) == before
