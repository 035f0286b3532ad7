"""Games that a model played more often than others, or again word for word, are named."""

import json
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

import pipeline
from pipeline.api import Lake
from pipeline.cli import main
from pipeline.ingest import ingest
from pipeline.metrics.registry import REPLAY_COLUMNS
from pipeline.simulate import simulate

MODEL = "sim-atlas"
N_GAMES, N_REPEATS = 7 * 2, 4
SAID = (
    f"{MODEL}: {N_GAMES} games are replays of its settings, more than other models have, and "
    f"{N_REPEATS} games are repeats of another, equal in every word, by competition; all of "
    "them count"
)


def second_run(first: Path, folder: Path, models: tuple[str, ...], n_repeats: int = 0) -> Path:
    """The same settings played again: other words are said, but in some games the very same."""
    folder.mkdir()
    logs = [log for log in sorted(first.rglob("*.json")) if log.parent.name.startswith(models)]
    for number, log in enumerate(logs):
        game = json.loads(log.read_text())
        for said in game["history"] if number >= n_repeats else ():
            said["content"] += " Once more."
        again = folder / log.relative_to(first)
        again.parent.mkdir(parents=True, exist_ok=True)
        again.write_text(json.dumps(game, indent=1))
    return folder


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulate(tmp_path_factory.mktemp("replays") / "logs", models=3, games=2, seed=5).results


class Ingests(NamedTuple):
    """A lake, and what was said when it took in some games, one model's once more, and no more."""

    lake: Lake
    said: list[str]


@pytest.fixture(scope="module")
def ingests(first: Path, tmp_path_factory: pytest.TempPathFactory) -> Ingests:
    top = tmp_path_factory.mktemp("twice")
    again = second_run(first, top / "again", (MODEL,), N_REPEATS)
    said = []
    for source in (first, again, again):
        with redirect_stderr(StringIO()) as err:
            assert main(["ingest", str(source), "--lake", str(top / "lake")]) == 0
        said.append(err.getvalue())
    return Ingests(pipeline.open_lake(top / "lake"), said)


@pytest.fixture(scope="module")
def twice(ingests: Ingests) -> Lake:
    """A lake in which one model has two runs."""
    return ingests.lake


def test_values_and_the_leaderboard_say_what_was_replayed(twice: Lake) -> None:
    board = twice.leaderboard()
    counts = {
        model: numbers for model, *numbers in board.select("model", *REPLAY_COLUMNS).iter_rows()
    }
    assert counts.pop(MODEL) == [N_GAMES, N_REPEATS]
    assert set(map(tuple, counts.values())) == {(0, 0)}
    rows = twice.metrics(metric="win_rate").filter(model=MODEL)
    assert rows.filter(game_type="all").select(*REPLAY_COLUMNS).row(0) == (N_GAMES, N_REPEATS)
    of_types = rows.filter(rows["game_type"] != "all")
    assert of_types["n_replays"].to_list() == [4, 2, 2, 2, 4]
    assert of_types["n_repeats"].sum() == N_REPEATS
    judged = twice.metrics(metric="judgement", by="model", game_type="undercover")
    assert judged.filter(model=MODEL)["n_replays"].item() == 2  # two of four are as undercover
    assert twice.metrics(by="role")["n_replays"].null_count()


@pytest.mark.slow
def test_it_is_said_in_every_form(twice: Lake) -> None:
    for shown in (twice.present("leaderboard"), twice.present("metrics")):
        assert SAID in shown.notes
        assert f"{MODEL}: {N_GAMES} games are replays" in shown.text()
        assert f'"n_replays":{N_GAMES},"n_repeats":{N_REPEATS}' in shown.json()
    for name, asked in (("leaderboard", {}), ("metric", {}), ("model", {"model": MODEL})):
        assert SAID in twice.page(name, **asked).html


@pytest.mark.slow
def test_settings_that_all_replay_alike_are_no_news(first: Path, tmp_path: Path) -> None:
    ingest(first, tmp_path / "lake")
    ingest(second_run(first, tmp_path / "again", ("sim-",)), tmp_path / "lake")
    lake = pipeline.open_lake(tmp_path / "lake")
    assert lake.leaderboard().select(*REPLAY_COLUMNS).sum().row(0) == (0, 0)
    assert not any("repla" in note for note in lake.present("leaderboard").notes)


def test_the_ingest_names_the_way(ingests: Ingests) -> None:
    before, said, unchanged = ingests.said
    assert SAID in said
    assert "into a lake of its own (--lake), and compare the lakes by `magic diff`" in said
    assert "games are replays" not in before + unchanged
