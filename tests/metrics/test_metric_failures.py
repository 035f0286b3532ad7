"""Games that a side failed: left out if they have no result, or losses, by choice."""

import json
import pickle
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from event_tables import ENGINES, assert_same, lake_of
from failed_games import GAMES, OUTAGE, Row, dilemma, ingested, village
from hypothesis import HealthCheck, given, settings, strategies as st
from random_tables import event_tables

import pipeline
from pipeline.api import Lake
from pipeline.cli import main
from pipeline.errors import UsageError
from pipeline.events.contracts import table_schema
from pipeline.lake import StoredLake, reopen_lake
from pipeline.warehouse import connect, run_trusted_query

FEW = settings(
    max_examples=max(3, settings.default.max_examples // 6),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return ingested(tmp_path_factory.mktemp("failures"), GAMES)


@pytest.mark.parametrize("engine", ENGINES)
def test_games_worked_by_hand(lake: Lake, engine: Any) -> None:
    """By the log alpha wins games 1 and 3 and loses 6: 2 of 3. Beta wins 6 of these: 1 of 3.

    As losses, alpha also loses 2, and loses 3 though it had more points: 1 of 4. Beta loses 5 as
    well, and 3 is what the log says: 1 of 4. Nobody knows who failed game 4, and game 6 has its
    result though an answer was an outage.
    """
    asked: Row = {"metric": "win_rate", "by": "model", "engine": engine}
    for failures, expected in (
        ("exclude", [("alpha", 2.0, 3, 3), ("beta", 1.0, 3, 3)]),
        ("loss", [("alpha", 1.0, 4, 2), ("beta", 1.0, 4, 2)]),
    ):
        values = lake.with_failures(failures).metrics(**asked)  # type: ignore[arg-type]
        assert values.select("model", "hits", "counted", "n_unfinished").rows() == expected


SEATS = [
    {"player": "Wu", "model": "beta", "role": "werewolf"},
    {"player": "Eve", "model": "alpha", "role": "villager"},
    {"player": "Ida", "model": "alpha", "role": "villager", "failure": "forfeit"},
    {"player": "Zed", "model": "alpha", "role": "seer"},
    {"player": "Una", "role": "doctor", "failure": "forfeit"},
]
UNFINISHED = {"is_finished": False, "end": {}}


def rated_games() -> list[Row]:
    """Sixty games of three models with a winner, and three that a side failed."""
    games = []
    dice = Random(1)
    for number in range(63):
        wolf, villager = ((0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2))[number % 6]
        seats = [
            {"player": "Wu", "model": f"model-{wolf}", "role": "werewolf"},
            {"player": "Eve", "model": f"model-{villager}", "role": "villager"},
        ]
        outcome = dice.choice(("villagers_won", "werewolves_won"))
        if number > 59:
            seats[number % 2]["failure"] = "timeout"
        end = UNFINISHED if number > 59 else {"end": {"outcome": outcome}}
        games.append(village({}, seats=seats, game_index=number, **end))
    return games


CASES: dict[str, list[Row]] = {
    "not tested": [village({"is_tested": False, "failure": "timeout"})],
    # The side won by the log, and its other seat had but an outage.
    "one seat": [
        village({"failure": "forfeit"}, events=[{"actor": "Eve", "text": OUTAGE, "round": 1}])
    ],
    "roles": [village({}, seats=SEATS, **UNFINISHED)],
    "negotiation": [dilemma(1, None, ("timeout", None)) | {"game_type": "cost_sharing"}],
    "names": [village({"model": "Alpha", "failure": "forfeit"}, **UNFINISHED)],
    "ratings": rated_games(),
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake of all cases, each a system."""
    games = [{**game, "system": name} for name, own in CASES.items() for game in own]
    return ingested(tmp_path_factory.mktemp("cases"), games)


@pytest.mark.parametrize(
    ("case", "columns", "expected"),
    [
        ("one seat", ("model", "win_credit"), [("alpha", 0.0), ("beta", 0.0)]),
        # Two villagers of one model fail as one, whatever they are called.
        ("names", ("model", "win_credit"), [("alpha", 0.0), ("beta", None)]),
        # Of a village whose doctor fails, the doctor lost; the others have what the log says.
        (
            "roles",
            ("model", "role", "is_finished", "is_win", "win_credit", "agreed"),
            [
                (None, "doctor", True, False, 0.0, None),
                ("alpha", "seer", False, None, None, None),
                ("alpha", "villager", True, False, 0.0, None),
                ("beta", "werewolf", False, None, None, None),
            ],
        ),
    ],
)
def test_a_failure_is_that_of_a_model_and_role(
    cases: Lake, case: str, columns: tuple[str, ...], expected: list[tuple[Any, ...]]
) -> None:
    lake = cases.for_system(case).with_failures("loss").with_names({"Alpha": "alpha"})
    for results in (lake.table("results").collect(), lake.sql("FROM results")):
        assert results.select(columns).sort(columns[:2]).rows() == expected


def test_a_seat_that_is_not_tested_fails_for_no_other(cases: Lake) -> None:
    """Also of the same model and role: its failure is that of nobody who is counted."""
    lake = cases.for_system("not tested")
    values = [one.metrics(metric="win_rate") for one in (lake, lake.with_failures("loss"))]
    assert values[0].equals(values[1].drop("failures"))
    assert lake.completeness()["n_failed"].to_list() == [0, 0]


@pytest.mark.slow
def test_ratings_stay_what_the_log_says(cases: Lake) -> None:
    """They are of who beat whom: what one side loses by a failure, the other has not won."""
    pytest.importorskip("statsmodels")
    lake = cases.for_system("ratings")
    expected = lake.ratings()
    assert expected["n_games"].sum() == 2 * 60
    lost = lake.with_failures("loss")
    assert lost.ratings().equals(expected)
    assert "counts as a loss" in lost.page("leaderboard").html
    assert "counts as a loss" not in lost.page("ratings").html
    assert "failures" not in lost.present("ratings").markdown()


def test_a_negotiation_that_a_model_failed_is_no_agreement(cases: Lake) -> None:
    lake = cases.for_system("negotiation").with_failures("loss")
    values = lake.metrics(metric=["cooperation", "coordination"], by="model")
    assert values.select("metric", "model", "hits", "counted").rows() == [
        ("cooperation", "alpha", 0.0, 1),
        ("cooperation", "beta", 0.0, 0),
        ("coordination", "alpha", 0.0, 0),
        ("coordination", "beta", 0.0, 0),
    ]
    assert lake.evidence("cooperation").select("model", "hit").rows() == [("alpha", 0.0)]


# Any tables


def with_failures(tables: dict[str, pl.DataFrame], seed: int) -> dict[str, pl.DataFrame]:
    """The tables with failures of some players, and with messages of which some are outages."""
    dice = Random(seed)
    words = [dice.choice((None, None, "timeout", "")) for _ in range(tables["players"].height)]
    players = tables["players"].with_columns(failure=pl.Series(words, dtype=pl.String))
    said = []
    for row in players.iter_rows(named=True):
        for place in range(dice.randrange(3)):
            status = dice.choice(("ok", "ok", "outage"))
            said.append(row | {"message_index": 10 * row["seat"] + place, "parse_status": status})
        of_nobody = {"message_index": 90 + row["seat"], "seat": None, "parse_status": "outage"}
        said.append(row | of_nobody)
    plain = {"content": "", "phase": "other", "visible_to": []}
    messages = pl.DataFrame([row | plain for row in said], schema=table_schema("messages"))
    return tables | {"players": players, "messages": messages}


def naive(tables: dict[str, pl.DataFrame]) -> list[tuple[Any, ...]]:
    """The results with losses, by a plain loop."""
    said = tables["messages"].filter(parse_status="outage").select("game_id", "seat")
    outages = set(said.iter_rows())
    rows = []
    for row in tables["results"].iter_rows(named=True):
        key = row["game_id"], row["model"], row["role"]
        own = [
            player
            for player in tables["players"].iter_rows(named=True)
            if (player["game_id"], player["model"], player["role"]) == key
            and player["is_tested"] == row["is_tested"]
            and row["seat"] in (None, player["seat"])
        ]
        has_result = row["is_finished"] and row["parse_status"] != "outage"
        is_outage = any((player["game_id"], player["seat"]) in outages for player in own)
        if any(player["failure"] is not None for player in own) or (is_outage and not has_result):
            lost = {"is_finished": True, "parse_status": "ok", "is_win": False, "win_credit": 0.0}
            lost |= {"agreed": False} if row["game_type"] == "cost_sharing" else {}
            lost |= {} if row["is_finished"] else {"guess_is_correct": None}
            rows.append(tuple((row | lost).values()))
            continue
        rows.append(tuple(row.values()))
    return rows


def lost_in(folder: Path, tables: dict[str, pl.DataFrame], n_files: int = 1) -> StoredLake:
    return lake_of(folder, tables, n_files).with_failures("loss")


@FEW
@given(tables=event_tables(), seed=st.integers(0, 99))
def test_results_are_those_of_a_plain_loop(tables: Any, seed: int) -> None:
    """By polars and by DuckDB; without the choice they are as they are stored."""
    tables = with_failures(tables, seed)
    expected = sorted(naive(tables), key=repr)
    with tempfile.TemporaryDirectory() as folder:
        lake = lost_in(Path(folder), tables)
        for rows in (lake.table("results").collect(), by_duckdb(lake)):
            assert dict(rows.schema) == table_schema("results")
            assert sorted(rows.rows(), key=repr) == expected
        stored = lake.with_failures("exclude").table("results").collect()
        assert sorted(stored.rows(), key=repr) == sorted(tables["results"].rows(), key=repr)


def by_duckdb(lake: StoredLake) -> pl.DataFrame:
    with connect(lake, {}, "FROM results") as connection:
        return run_trusted_query(connection, "FROM results").cast(dict(table_schema("results")))


# Wherever it acts


def test_it_is_a_way_to_see_a_lake(lake: Lake) -> None:
    lost = pipeline.open_lake(lake.path, failures="loss")
    copies = [pickle.loads(pickle.dumps(lost)), reopen_lake(lost), lost.for_system("example")]
    assert {copy.failures for copy in copies} == {"loss"}
    assert lost.state != lake.state == lost.with_failures("exclude").state
    assert lost.with_failures("loss") is lost
    assert lost.with_failures("exclude").metrics().equals(lake.metrics())
    assert lost.with_names({"alpha": "beta"}).failures == "loss"
    with pytest.raises(UsageError, match="no failures `win`: "):
        lake.with_failures("win")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="leave out the choice of failures"):
        lost.metrics(edition="release")


@pytest.mark.slow
def test_numbers_say_so(lake: Lake) -> None:
    lost = lake.with_failures("loss")
    assert "failures" not in lake.leaderboard().columns
    for rows in (lost.leaderboard(), lost.metrics(), lost.compare(), lost.completeness()):
        assert set(rows["failures"]) == {"loss"}
    assert "failures loss" in lost.present("leaderboard").markdown()
    assert "as losses of the models that failed them" in lost.cite().text
    assert "losses" not in lake.cite().text


def test_completeness_counts_failures(lake: Lake) -> None:
    """Whatever they are to count; as losses, they are games with an end."""
    columns = ("model", "n_failed", "n_games", "n_unfinished")
    assert lake.completeness().select(columns).rows() == [("alpha", 2, 6, 3), ("beta", 1, 6, 3)]
    lost = lake.with_failures("loss").completeness()
    assert lost.select(columns).rows() == [("alpha", 2, 6, 2), ("beta", 1, 6, 2)]


COMMANDS = [
    ["leaderboard"],
    ["metrics", "--metric", "win_rate", "--engine", "duckdb"],
    ["compare", "alpha", "beta", "--metric", "win_rate"],
    ["evidence", "win_rate"],
    ["completeness"],
]


@pytest.mark.some(1)
@pytest.mark.parametrize("command", COMMANDS, ids=[command[0] for command in COMMANDS])
def test_a_command_counts_losses_and_says_so(lake: Lake, capsys: Any, command: list[str]) -> None:
    lost = lake.with_failures("loss")
    argument = {"compare": [("alpha", "beta")], "evidence": ["win_rate"]}.get(command[0], [])
    options = {"metric": "win_rate"} if "--metric" in command else {}
    expected = getattr(lost, command[0])(*argument, **options)
    asked = [*command, "--lake", str(lake.path), "--failures", "loss", "--format", "json"]
    assert main(asked) == 0
    said = capsys.readouterr()
    rows = json.loads(said.out)
    assert len(rows) == expected.height
    assert {row["failures"] for row in rows} == {"loss"}
    assert "results of failed games that count as losses, in all: 3" in said.err


PAGES: dict[str, Row] = {
    "leaderboard": {},
    "metric": {"metric": "win_rate"},
    "model": {"model": "alpha"},
    "compare": {"model": "alpha", "other": "beta"},
    "evidence": {"metric": "win_rate"},
}


@pytest.mark.some(1)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_counts_losses_and_says_so(lake: Lake, name: str) -> None:
    """By its address, and its links lead on so; or as the lake is seen."""
    text = "A game counts as a loss of the model that failed it."
    plain = lake.page(name, **PAGES[name])
    lost = lake.page(name, **PAGES[name], failures="loss")
    assert [text in page.html for page in (plain, lost)] == [False, True]
    seen = lake.with_failures("loss").page(name, **PAGES[name])
    assert_same(seen.rows, lost.rows)
    assert lost.rows["failures"].unique().to_list() == ["loss"]
    with pytest.raises(UsageError, match="no failures `win`"):
        lake.page(name, **PAGES[name], failures="win")
