"""Interchange JSON as people write it: refused with a place, or good for all that follows."""

import tempfile
from pathlib import Path

import polars as pl
import pytest
from event_tables import ENGINES, assert_same
from hypothesis import Phase, given, settings, strategies as st
from people_documents import documents
from polars.testing import assert_frame_equal

from pipeline.conversion import iter_converted_documents, iter_validated_documents
from pipeline.events.contracts import GAME_TABLES
from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import metrics
from pipeline.verify import verify
from pipeline.vocabulary import EDITIONS

# What says of a game where it was read, and not what it is.
PLACE = ("game_id", "sha256", "source", "path", "format", "assigned_model")
UNTESTED = "at least one player is tested"
# A batch that fails names the document; to draw smaller ones would take long, and say no more.
SEEDS = given(seed=st.integers(0, 2**32))
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


def faulty(lines: Path, written: list[bytes]) -> set[str]:
    """The places of documents that `validate` finds fault with; each fault says where it is."""
    places = set()
    for checked, data in zip(iter_validated_documents(lines), written, strict=True):
        for fault in checked.faults:
            assert fault.json_path != "$" or fault.rule == UNTESTED, (fault, data)
            places.add(checked.location)
    return places


def converted(lines: Path, refused: set[str]) -> bytes:
    """The same documents, converted; only those that were refused are not."""
    found = []
    for one in iter_converted_documents(lines):
        assert one.line or one.is_duplicate or one.location in refused, one
        found += [one.line + b"\n"] if one.line else []
    return b"".join(found)


def rows_of(lake: StoredLake, name: str) -> pl.DataFrame:
    """The rows of a table by the content of their game, in their order within the game."""
    games = lake.table("games").select("game_id", "setting_id", content="content_id").collect()
    own = games.filter(pl.col("setting_id") == pl.col("game_id"))["game_id"].implode()
    rows = lake.table(name).collect()
    if name == "roles":
        return rows
    setting = pl.when(~pl.col("setting_id").is_in(own)).then("setting_id")
    return (
        rows.join(games.drop("setting_id"), on="game_id", maintain_order="left")
        .with_columns(setting, place=pl.int_range(pl.len()).over("game_id"))
        .drop(PLACE, strict=False)
        .sort("content", "place", "game_index")
    )


def assert_whole(lake: StoredLake) -> None:
    """No row contradicts another, and each finished game counts, or is named as of nobody's."""
    errors = verify(lake.path).faults.filter(severity="error")
    assert errors.is_empty(), errors.rows()
    finished = lake.table("games").filter("is_finished").select("game_id")
    decided = lake.table("results").filter(
        pl.col("is_win").is_not_null(), pl.col("win_credit").is_not_null()
    )
    named = lake.table("quarantine").filter(rule=UNTESTED)
    for known in (decided, named):
        finished = finished.join(known, on="game_id", how="anti")
    assert finished.collect().is_empty()


def assert_held(seed: int, n_of_each: int, n_editions: int) -> None:
    """All that holds of documents, of so many of each game, by so many editions of each system."""
    written = documents(seed, n_of_each)
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        lines, again = top / "games.jsonl", top / "again.jsonl"
        lines.write_bytes(b"".join(b"%s\n" % data for data in written))
        refused = faulty(lines, written)
        ingest(lines, top / "lake", jobs=1)
        lake = open_lake(top / "lake")
        quarantined = lake.table("quarantine").select(pl.format("{}/{}", "source", "path"))
        assert set(quarantined.collect().to_series()) == refused
        assert lake.table("games").select(pl.len()).collect().item() > len(written) / 2
        assert_whole(lake)
        again.write_bytes(converted(lines, refused))
        ingest(again, top / "other", jobs=1)
        other = open_lake(top / "other")
        for name in GAME_TABLES:
            assert_frame_equal(rows_of(other, name), rows_of(lake, name))
        for place, system in enumerate(lake.split_by_system()):
            for number in range(n_editions):
                edition = EDITIONS[(seed + place + number) % len(EDITIONS)]
                asked = {"edition": edition, "by": ["model", "game_type"], "confidence": None}
                assert_same(*(metrics(system, engine=engine, **asked) for engine in ENGINES))


@pytest.mark.slow(seconds=8)
@SEEDS
@settings(max_examples=1, phases=PHASES)
def test_a_document_is_refused_or_good_for_all_that_follows(seed: int) -> None:
    assert_held(seed, 150, n_editions=1)
