"""The metrics equal a plain reading of the raw logs that shares nothing with the pipeline."""

import json
from pathlib import Path
from random import Random

import oracle
import polars as pl
import pytest
from event_tables import assert_same

from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import metrics
from pipeline.vocabulary import PAPER, RELEASE

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


@pytest.mark.some(1)
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


@pytest.mark.some(1)
@pytest.mark.parametrize("failures", ["exclude", "loss"])
def test_games_that_a_model_failed(failing, failures):
    lake, games = failing
    failed = {oracle.has_failed(g, model) for g in games for _, model, _ in oracle.tested(g)}
    assert failed == {True, False}
    found, expected = both(lake.with_failures(failures), games, PAPER, failures=failures)
    assert_same(found, expected)


@pytest.mark.slow
def test_the_oracle_knows_the_edge_cases(shared, edge_logs):
    """So that what it says of other games can be relied on."""
    cases = json.loads((shared / "corpus" / "edge-cases.json").read_text())
    for case, facts in cases.items():
        logs = [(path, content) for path, content in edge_logs if case in Path(path).parts]
        games = oracle.read_games(logs)
        for edition, models in facts["expected"].items():
            rows = [row for row in oracle.metrics(games, edition) if row["game_type"] == "all"]
            found = {(row["model"], row["metric"]): row["value"] for row in rows}
            expected = {(m, name): v for m, values in models.items() for name, v in values.items()}
            assert found == pytest.approx(expected), case


@pytest.mark.xfail(reason="of the games with one flag as non-chameleon only the first is counted")
def test_games_of_release_deception(public_logs, public_lake):
    """The flags are those of all games as non-chameleon that came to a guess."""
    found, expected = both(public_lake, oracle.read_games(public_logs), RELEASE)
    assert_same(found.filter(metric="deception"), expected.filter(metric="deception"))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory) -> tuple[StoredLake, list[dict]]:
    """A lake of simulated logs, and the logs."""
    simulate = pytest.importorskip("pipeline.simulate").simulate
    folder = tmp_path_factory.mktemp("simulated")
    results = simulate(folder / "logs", models=3, games=6, seed=1).results
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
