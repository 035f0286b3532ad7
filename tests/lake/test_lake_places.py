"""A game that is read where its rows are known to be is the game that is searched for."""

from collections.abc import Callable
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from failed_games import GAMES, ingested
from polars.testing import assert_frame_equal

from pipeline.api import Lake, open_lake
from pipeline.events.contracts import GAME_TABLES
from pipeline.ingest import ingest
from pipeline.lake import places
from pipeline.lake.maintain import maintain
from pipeline.lake.places import Places, learn, of_game
from pipeline.simulate import simulate

# Each compares a third of the games, so that together all are.
VIEWS: dict[str, Callable[[Lake], Lake]] = {
    "all": lambda lake: lake,
    "of joined names": lambda lake: lake.with_names({"Agent[01]": "one", "Agent[02]": "one"}),
    "with losses": lambda lake: lake.with_failures("loss"),
}


def check(known: Lake, searched: Lake, *, part: int = 0, parts: int = 1) -> None:
    """The games of both are the same, in every table: those of one of so many parts."""
    ids = searched.table("games").collect()["game_id"].sort().gather_every(parts, part)
    assert len(ids) > 0
    for game_id in ids:
        assert of_game(known, game_id) is not None
        assert of_game(searched, game_id) is None
        one, other = known.game(game_id), searched.game(game_id)
        for name in GAME_TABLES:
            order = [c for c, dtype in other.tables[name].schema.items() if not dtype.is_nested()]
            assert_frame_equal(one.tables[name].sort(order), other.tables[name].sort(order))
        assert one.text == other.text


@pytest.mark.parametrize("view", VIEWS)
def test_a_game_of_any_system_is_the_same(lake_of_formats: Path, view: str) -> None:
    known = open_lake(lake_of_formats)
    learn(known)
    searched = VIEWS[view](open_lake(lake_of_formats))
    check(VIEWS[view](known), searched, part=list(VIEWS).index(view), parts=len(VIEWS))


def test_a_game_in_a_lake_of_one_system_is_the_same(lake_of_formats: Path) -> None:
    known = open_lake(lake_of_formats)
    learn(known)
    check(known.of_system("aiwolf"), open_lake(lake_of_formats).of_system("aiwolf"))


def test_a_game_of_which_a_failure_is_a_loss_is_the_same(tmp_path: Path) -> None:
    searched = ingested(tmp_path, GAMES).with_failures("loss")
    known = open_lake(tmp_path / "lake")
    learn(known)
    check(known.with_failures("loss"), searched)


@pytest.mark.slow(seconds=5)
def test_rows_that_lie_apart_are_found(tmp_path: Path) -> None:
    """Sorted by model, in several files, one of them with the rows of older ones."""
    for seed in range(3):
        simulate(tmp_path / f"logs-{seed}", models=2, games=1, seed=seed)
        ingest(tmp_path / f"logs-{seed}", tmp_path / "lake")
        if seed == 1:
            maintain(tmp_path / "lake")
    known = open_lake(tmp_path / "lake")
    learn(known)
    check(known, open_lake(tmp_path / "lake"), parts=8)
    assert of_game(known, "0" * 32).table("messages").collect().is_empty()


def test_games_with_one_key_are_told_apart(sample_lake: Path) -> None:
    known = open_lake(sample_lake)
    learn(known)
    a_key = next(iter(known.places.values())).keys[0]
    for file, of_file in known.places.items():
        keys = np.where(of_file.keys % 2 == 0, a_key, of_file.keys)
        order = np.argsort(keys, kind="stable")
        known.places[file] = Places(keys[order], of_file.starts[order], of_file.sizes[order])
    found = [of_game(known, game_id) for game_id in known.table("games").collect()["game_id"]]
    with_rows = [one.table("games").collect().height for one in found]
    assert set(with_rows) == {0, 1}


def test_files_are_read_once(
    sample_lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a state after another ingest only the new ones are."""
    read = []
    monkeypatch.setattr(
        places, "_places", lambda file, own=places._places: read.append(file) or own(file)
    )
    copytree(sample_lake, tmp_path / "lake")
    before = open_lake(tmp_path / "lake")
    learn(before)
    n_before = len(read)
    learn(open_lake(tmp_path / "lake"))
    assert len(read) == n_before == len(set(read))
    simulate(tmp_path / "logs", models=2, games=1)
    ingest(tmp_path / "logs", tmp_path / "lake")
    after = open_lake(tmp_path / "lake")
    learn(after)
    assert len(read) == len(set(read)) == len({*before.places, *after.places}) > n_before


def test_too_many_games_are_searched_for(
    sample_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = open_lake(sample_lake)
    monkeypatch.setattr(places, "MOST_GAMES", 1)
    learn(lake)
    assert not lake.places
