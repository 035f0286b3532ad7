"""Transcripts for Inspect Scout: what each tested seat saw and said, in Scout's own columns."""

import json
from pathlib import Path

import polars as pl
import pytest
from arena_logs import SAID

import pipeline
from pipeline import exports as shared
from pipeline.exports.inspect_scout import TRANSCRIPTS_FILE

# Those of `inspect_scout.transcripts_db_schema()` 0.6.1 that we write; all others are metadata.
SCOUT = {
    **dict.fromkeys(
        (
            *("transcript_id", "source_type", "source_id", "date", "task_set", "task_id"),
            *("agent", "model", "score", "messages"),
        ),
        pl.String,
    ),
    **dict.fromkeys(("task_repeat", "message_count"), pl.Int64),
    **dict.fromkeys(("success", "trust_content"), pl.Boolean),
}
RESERVED = {
    *("source_uri", "agent_args", "model_options", "score_explanation", "total_time", "limit"),
    *("total_tokens", "error", "events", "timelines", "events_data", "filename"),
}


def exported(lake: pipeline.Lake, folder: Path) -> pl.DataFrame:
    lake.export("inspect-scout", folder)
    return pl.read_parquet(folder / TRANSCRIPTS_FILE)


def test_columns_are_those_of_scout(arena: pipeline.Lake, tmp_path: Path) -> None:
    rows = exported(arena, tmp_path / "out")
    assert {name: rows.schema[name] for name in SCOUT} == SCOUT
    assert not RESERVED & set(rows.columns)
    assert rows["transcript_id"].is_unique().all()
    assert not rows["trust_content"].any()


def test_a_seat_has_what_it_saw_and_said(arena: pipeline.Lake, tmp_path: Path) -> None:
    """Ana's first text is for nobody else."""
    rows = exported(arena, tmp_path / "out").filter(task_set="undercover", outcome="voted_wrong")
    seats = {row["player"]: row for row in rows.iter_rows(named=True)}
    ana, bo = (json.loads(seats[name]["messages"]) for name in ("Ana", "Bo"))
    assert [(one["role"], one["content"]) for one in ana] == [
        ("user", "Moderator: Game 1."),
        ("assistant", SAID),
        ("assistant", "I vote, says m-1."),
        ("user", "Bo: I vote, says m-2."),
        ("user", "Cy: I vote, says m-2."),
    ]
    assert [one["role"] for one in bo] == ["user", "user", "assistant", "user"]
    assert [seats[name]["message_count"] for name in ("Ana", "Bo", "Cy")] == [5, 4, 4]
    assert (seats["Ana"]["score"], seats["Ana"]["success"]) == ("1.0", True)
    assert (seats["Bo"]["score"], seats["Bo"]["success"]) == ("0.0", False)


@pytest.fixture(scope="module")
def of_sample(sample_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    folder = tmp_path_factory.mktemp("transcripts")
    return exported(pipeline.open_lake(sample_lake), folder / "whole")


def test_every_tested_seat_has_one(sample_lake: Path, of_sample: pl.DataFrame) -> None:
    """They are the messages of `items_seen_by`, and the seat's own."""
    lake, rows = pipeline.open_lake(sample_lake), of_sample
    tested = lake.table("players").filter("is_tested").collect()
    assert set(rows.select("source_id", "seat").rows()) == set(
        tested.select("game_id", "seat").rows()
    )
    for row in rows.gather_every(29).iter_rows(named=True):
        game = lake.game(row["source_id"])
        own = game.messages.filter(seat=row["seat"])["message_index"]
        seen = game.items_seen_by(row["seat"])["message_index"]
        indices = [one["metadata"]["message_index"] for one in json.loads(row["messages"])]
        assert indices == sorted({*own, *seen})


def test_parts_and_row_groups_change_nothing(
    sample_lake: Path, of_sample: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where long texts are looked up for some rows at a time."""
    lake = pipeline.open_lake(sample_lake)
    monkeypatch.setattr("pipeline.warehouse.BATCH_ROWS", 100)
    monkeypatch.setattr(shared, "ROW_GROUP_ROWS", 7)
    monkeypatch.setattr("pipeline.lake.row_stream.LONG_TEXT_BYTES", 0)
    assert exported(lake, tmp_path / "parts").equals(of_sample)


def test_hostile_texts_are_data(hostile: pipeline.Lake, tmp_path: Path) -> None:
    rows = exported(hostile, tmp_path / "out")
    said = hostile.table("messages").filter(message_index=0).collect()["content"][0]
    for text in rows["messages"]:
        assert json.loads(text)[0]["content"] == f"Moderator: {said}"
    assert set(rows["model"]) == set(hostile.table("players").collect()["model"])
