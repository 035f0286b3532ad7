"""The games of `goods`: every file of the archive, and balances derived anew from what was read."""

from collections import Counter
from collections.abc import Iterator
from math import floor
from pathlib import Path

import pytest
from event_tables import ENGINES
from naivepools import Event, answers, logs
from reallogs import files, values

from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake

SETTINGS = {(8, 4, 1.5): 20, (6, 4, 2.0): 16, (5, 3, 2.5): 26, (3, 5, 4.0): 26}


@pytest.fixture(scope="module")
def games(shared: Path) -> dict[str, list[Event]]:
    return logs(files(shared / "real" / "goods.tar.zst"))


@pytest.fixture(scope="module")
def lake(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> StoredLake:
    top = tmp_path_factory.mktemp("goods") / "lake"
    ingest(shared / "real" / "goods.tar.zst", top, jobs=1)
    return open_lake(top)


def test_every_document_is_accounted_for(lake: StoredLake, games: dict[str, list[Event]]) -> None:
    """A file is a game; the lists of scores are no logs, line by line."""
    documents = lake.table("documents").select("path", "status", "format").collect()
    read = documents.filter(status="ingested")
    assert set(read["path"]) == set(games)
    assert set(read["format"]) == {"goods"}
    assert Counter(documents["status"]) == {"ingested": 88, "ignored": 406}
    ignored = documents.filter(status="ignored")["path"].str.contains("global_scores.jsonl#")
    assert ignored.all()
    assert lake.table("quarantine").collect().is_empty()


def test_settings_and_ends(lake: StoredLake) -> None:
    rows = lake.table("games").collect()
    fixed = Counter(rows.select("n_rounds_fixed", "n_players", "multiplier").iter_rows())
    assert fixed == SETTINGS
    assert Counter(rows["is_finished"]) == {True: 87, False: 1}
    (path,) = rows.filter(~rows["is_finished"])["path"]
    assert path.endswith("game_1737965733534983_20250127_031533.jsonl")
    assert rows["n_messages"].sum() == 0


def balances(lake: StoredLake) -> Iterator[tuple[str, int, int, float]]:
    """Each seat's balance after it put in, derived from what was read: game, seat, round, tokens.

    A round's pool is multiplied, and each gets the same whole number; the rest stays in the pool.
    """
    puts = lake.table("contributions").collect()
    setting = "game_id", "n_players", "multiplier", "setting"
    fixed = lake.table("games").select(*setting).collect()
    for game, n_players, multiplier, text in fixed.iter_rows():
        start = float(text.split('"starting_amount":')[1].split("}")[0].split(",")[0])
        held, left = dict.fromkeys(range(1, n_players + 1), start), 0.0
        for (_,), of_round in (
            puts.filter(game_id=game).sort("round").group_by(["round"], maintain_order=True)
        ):
            for seat, round_, amount in of_round.select("seat", "round", "amount").iter_rows():
                held[seat] -= amount
                yield game, seat, round_, held[seat]
            pool = floor((left + of_round["amount"].sum()) * multiplier)
            left = pool % n_players
            held = {seat: tokens + pool // n_players for seat, tokens in held.items()}
        for seat, tokens in held.items():
            yield game, seat, 0, tokens


def test_balances_are_those_logged(lake: StoredLake, games: dict[str, list[Event]]) -> None:
    derived = {(game, seat, round_): tokens for game, seat, round_, tokens in balances(lake)}
    paths = dict(lake.table("games").select("path", "game_id").collect().iter_rows())
    n_finals = 0
    for path, events in games.items():
        seats = {player: n for n, player in enumerate(events[0]["short_name_map"], start=1)}
        for event in events:
            if event["type"] == "contribution":
                key = paths[path], seats[event["player_id"]], event["round"]
                assert derived[key] == event["current_tokens"], (path, event)
        if events[-1]["type"] == "final":
            for player, entry in events[0]["short_name_map"].items():
                tokens = events[-1]["final_tokens"][entry["model_name"]]
                assert derived[paths[path], seats[player], 0] == tokens, (path, player)
                n_finals += 1
    assert n_finals == 348


def test_amounts_without_words(lake: StoredLake, games: dict[str, list[Event]]) -> None:
    rows = lake.table("contributions").collect()
    assert rows.height == sum(e["type"] == "contribution" for g in games.values() for e in g)
    assert set(rows["parse_status"]) == {"ok"}
    for column in ("message_index", "text", "stated_amount"):
        assert rows[column].is_null().all()
    # The last round of the game that was cut off has one contribution, so no total.
    assert rows["round_total"].null_count() == rows["is_least"].null_count() == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_metrics_are_those_of_a_naive_reader(
    lake: StoredLake, games: dict[str, list[Event]], engine: str
) -> None:
    expected = answers(games.values())
    assert values(lake, engine, ["win_rate", "rationality"]) == pytest.approx(expected)
    assert len(expected) == 2 * 21
