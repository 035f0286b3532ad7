"""The metrics equal a plain reading of the raw logs that shares nothing with the pipeline."""

import json
from pathlib import Path
from random import Random

import oracle
import polars as pl
import pytest
from event_tables import ENGINES, assert_same

from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import metrics
from pipeline.vocabulary import PAPER, RELEASE, GameType

NAMES = tuple(oracle.METRICS)
"""The metrics that the oracle has: those of the benchmark."""

KEYS = ["metric", "model", "game_type"]
SCHEMA = dict.fromkeys(KEYS, pl.String) | {
    "value": pl.Float64,
    "hits": pl.Float64,
    "counted": pl.Int64,
    "n_games": pl.Int64,
}


def both(
    lake: StoredLake,
    games: list[dict],
    edition: str,
    num_of_game: int = 21,
    failures: str = "exclude",
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The metrics' rows and the oracle's: value, hits, counted and number of games."""
    records = oracle.metrics(games, edition, num_of_game, failures)
    expected = pl.DataFrame([{name: row[name] for name in SCHEMA} for row in records], SCHEMA)
    asked = {"metric": NAMES, "edition": edition, "num_of_game": num_of_game}
    found = metrics(lake, **asked).select(SCHEMA.keys())
    # The oracle tells hits and counts only where its own reading has one term.
    is_told = pl.col("metric").is_in(oracle.OF_SEVERAL_TERMS).not_()
    counts = [pl.when(is_told).then(name).alias(name) for name in ("hits", "counted")]
    return found.with_columns(counts).sort(KEYS), expected.sort(KEYS)


def assert_equal(found: pl.DataFrame, expected: pl.DataFrame, edition: str) -> None:
    if edition == RELEASE:
        # See test_games_of_release_deception.
        n_games = pl.when(pl.col("metric") != "deception").then("n_games").alias("n_games")
        found, expected = found.with_columns(n_games), expected.with_columns(n_games)
    assert_same(found, expected)


@pytest.mark.parametrize("edition", [PAPER, RELEASE])
def test_public_games(public_logs, public_lake, edition):
    assert_equal(*both(public_lake, oracle.read_games(public_logs), edition), edition)


@pytest.fixture(scope="module")
def failing(public_logs, tmp_path_factory) -> tuple[StoredLake, list[dict]]:
    """A third of the public games, of which many end in an outage of any player, and their logs."""
    dice, folder = Random(3), tmp_path_factory.mktemp("failing")
    logs = []
    for path, content in public_logs[::3]:
        game = json.loads(content)
        if game.get("history") and dice.random() < 0.4:
            place = dice.choice(game["history"])
            if place["agent_name"] in oracle.PLAYERS:
                place["content"] = oracle.OUTAGE + "4624 failed to generate"
            game |= {"result": None} | ({"win_flag": -1} if "win_flag" in game else {})
        file = folder / "logs" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(game))
        logs.append((path, file.read_bytes()))
    ingest(folder / "logs", folder / "lake")
    return open_lake(folder / "lake"), oracle.read_games(logs)


@pytest.mark.parametrize("failures", ["exclude", "loss"])
def test_games_that_a_model_failed(failing, failures):
    lake, games = failing
    failed = {oracle.has_failed(g, model) for g in games for _, model, _ in oracle.tested(g)}
    assert failed == {True, False}
    found, expected = both(lake.with_failures(failures), games, PAPER, failures=failures)
    assert_same(found, expected)


@pytest.mark.xfail(reason="of the games with one flag as non-chameleon only the first is counted")
def test_games_of_release_deception(public_logs, public_lake):
    """The flags are those of all games as non-chameleon that came to a guess."""
    found, expected = both(public_lake, oracle.read_games(public_logs), RELEASE)
    assert_same(found.filter(metric="deception"), expected.filter(metric="deception"))


@pytest.fixture(scope="module", params=[1, 2, 3])
def simulated(request, tmp_path_factory) -> tuple[StoredLake, list[dict]]:
    """A lake of simulated logs, and the logs."""
    simulate = pytest.importorskip("pipeline.simulate").simulate
    folder = tmp_path_factory.mktemp("simulated")
    results = simulate(folder / "logs", models=3, games=6, seed=request.param).results
    ingest(results, folder / "lake")
    logs = [(str(file), file.read_bytes()) for file in sorted(Path(results).rglob("*.json"))]
    return open_lake(folder / "lake"), oracle.read_games(logs)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edition", "num_of_game"), [(PAPER, 21), (RELEASE, 21), (RELEASE, 4), (RELEASE, 1)]
)
def test_simulated_games(simulated, edition, num_of_game):
    lake, games = simulated
    assert len(games) == 3 * 6 * 7
    assert_equal(*both(lake, games, edition, num_of_game), edition)


@pytest.fixture(scope="module")
def by_type(simulated) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The values of the simulated games by type, and those that are expected."""
    return both(*simulated, PAPER)


@pytest.mark.some(5)
@pytest.mark.slow
@pytest.mark.parametrize("game_type", GameType)
def test_simulated_games_of_one_type(simulated, by_type, game_type):
    """They have the values of that type, though nothing is grouped by it."""
    lake, _ = simulated
    by_type, expected = (rows.filter(game_type=game_type) for rows in by_type)
    columns = [name for name in by_type.columns if name not in ("hits", "counted")]
    for engine in ENGINES:
        found = metrics(lake, metric=NAMES, engine=engine, by=["model"], game_type=[game_type])
        found = found.with_columns(game_type=pl.lit(game_type.value)).sort(KEYS)
        # Of metrics that do not have the type there is a row for each model, without a value.
        found = found.filter(pl.col("metric").is_in(expected["metric"].to_list()))
        assert_same(found.select(columns), expected.select(columns))
        result = metrics(lake, metric=NAMES, engine=engine, game_type=[game_type]).sort(KEYS)
        assert_same(found.select(result.columns), result)
