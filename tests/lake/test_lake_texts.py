"""Texts of any length are written and read in pieces of bounded bytes, with the same results.

A piece is bounded here at a few kilobytes, so that a few short logs have what is else of gigabytes.
"""

import json
from itertools import chain
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lakes import rows
from polars.testing import assert_frame_equal

from pipeline.ingest import ingest
from pipeline.lake import maintain, open_lake, row_stream
from pipeline.lake.files import TableWriter
from pipeline.lake.maintain import maintain as maintained
from pipeline.metrics.evidence import evidence_parts
from pipeline.reports.audit import iter_findings
from pipeline.verify import verify

MOST = 20_000
LONG = 3_000


def game(number: int, said: str = "") -> bytes:
    """Seven players who speak and vote; those of the model `long` with long texts."""
    players = ("Ana", "Bo", "Cy", "Dee", "Eve", "Fay", "Gus")
    models = ["short"] * 5 + ["long"] * 2
    events = [
        {
            "actor": player,
            "round": 1,
            "text": f"{number} {said}" + ("word " * (LONG // 5) if model == "long" else "Hm."),
            "acts": [{"act": "votes", "target": "Bo" if player != "Bo" else "Cy"}],
        }
        for player, model in zip(players, models, strict=True)
    ]
    log = {
        "magic_interchange": 1,
        "system": "lab",
        "game_type": "undercover",
        "setting": {"n": number},
        "is_finished": True,
        "end": {"outcome": "caught"},
        "seats": [
            {
                "player": player,
                "model": model,
                "role": "undercover" if player == "Bo" else "civilian",
            }
            for player, model in zip(players, models, strict=True)
        ],
        "events": events,
    }
    return json.dumps(log).encode()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(24):
        (folder / f"{number}.json").write_bytes(game(number))
    return folder


def groups(lake: Path) -> list[pa.Table]:
    """The row groups of all messages."""
    parquets = map(pq.ParquetFile, open_lake(lake).table_files("messages"))
    return [
        parquet.read_row_group(number)
        for parquet in parquets
        for number in range(parquet.num_row_groups)
    ]


@pytest.mark.slow
def test_row_groups_have_bounded_bytes(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where some rows are a thousand times as long as others: as ingested, merged, cut."""
    lake = tmp_path / "lake"
    monkeypatch.setattr("pipeline.lake.files.MAX_GROUP_BYTES", MOST)
    ingest(logs, lake)
    for change in (lambda: maintained(lake), lambda: ingest(logs, lake)):
        assert len(groups(lake)) > 7
        assert all(group.num_rows == 1 or group["content"].nbytes <= MOST for group in groups(lake))
        before = rows(lake)["messages"]
        (logs / "7.json").write_bytes(game(7, "again"))
        change()
    assert len({*before} - {*rows(lake)["messages"]}) == 7
    assert verify(lake).is_whole


@pytest.mark.slow
def test_a_merge_holds_bounded_bytes(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the mean of all rows ten times as many would fit."""
    lake, held = tmp_path / "lake", []
    ingest(logs, lake)
    before = rows(lake)
    write = TableWriter.write
    monkeypatch.setattr(TableWriter, "write", lambda w, r: (held.append(r), write(w, r))[1])
    monkeypatch.setattr(maintain, "CHUNK_BYTES", 2 * MOST)
    maintained(lake)
    texts = [chunk["content"].str.len_bytes().sum() for chunk in held if "content" in chunk.columns]
    assert len(texts) > 3
    assert max(texts) <= 3 * MOST  # a hash does not part them evenly
    assert rows(lake) == before


@pytest.mark.parametrize("group_rows", [8, 168])
def test_batches_have_bounded_bytes(
    tmp_path: Path, group_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one long row group, and of many: Arrow would put these together."""
    monkeypatch.setattr(row_stream, "BATCH_BYTES", MOST)
    texts = pa.table({"content": [f"{n} " + "word" * 200 * (n % 7 > 4) for n in range(168)]})
    pq.write_table(texts, tmp_path / "texts.parquet", row_group_size=group_rows)
    with pq.ParquetFile(tmp_path / "texts.parquet") as parquet:
        batches = list(row_stream.iter_parquet_batches(parquet, 1_000))
    assert max(batch["content"].nbytes for batch in batches) <= 2 * MOST  # by the mean of a group
    assert pa.Table.from_batches(batches)["content"].to_pylist() == texts["content"].to_pylist()


@pytest.mark.slow
def test_rows_have_the_same_texts_in_pieces(
    sample_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Evidence and contradictions are the same as where texts are short."""
    lake = open_lake(sample_lake)

    def answers() -> list[list[pl.DataFrame]]:
        return [
            *(list(evidence_parts(lake, name)) for name in ("judgement", "reasoning")),
            *(list(iter_findings(lake, kind)) for kind in ("stated_votes", "canned_lines")),
        ]

    short = answers()
    monkeypatch.setattr(
        "pipeline.metrics.evidence._MAX_GAMES_FOR_POLARS", -1
    )  # polars has them whole
    monkeypatch.setattr("pipeline.lake.row_stream.LONG_TEXT_BYTES", 0)
    monkeypatch.setattr("pipeline.lake.row_stream.PART_TEXT_BYTES", 100)
    long = answers()
    for many, few in zip(long, short, strict=True):
        assert_frame_equal(pl.concat(many), pl.concat(few), check_row_order=False)
    pieces = [part["content"].str.len_bytes() for part in chain(*long)]
    # The first text that does not fit any more is in the piece after it.
    assert all(piece[1:].sum() <= 100 for piece in pieces)
    assert max(map(len, long)) > 5
