"""The games of `pgg_bench`: every file of the archive, each round's total and every balance."""

from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest
from event_tables import ENGINES
from naivepools import Event, answers, logs
from reallogs import files, values

from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake


@pytest.fixture(scope="module")
def games(shared: Path) -> dict[str, list[Event]]:
    return logs(files(shared / "real" / "pgg-bench.tar.zst"))


@pytest.fixture(scope="module")
def lake(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> StoredLake:
    top = tmp_path_factory.mktemp("pgg_bench") / "lake"
    ingest(shared / "real" / "pgg-bench.tar.zst", top, jobs=1)
    return open_lake(top)


def of_type(games: dict[str, list[Event]], kind: str) -> list[tuple[str, Event]]:
    """The events of a type, each with the path of its game."""
    return [(path, e) for path, events in games.items() for e in events if e["type"] == kind]


def with_path(lake: StoredLake, table: str) -> pl.DataFrame:
    paths = lake.table("games").select("game_id", "path")
    return lake.table(table).join(paths, on="game_id").collect()


def test_every_document_is_accounted_for(lake: StoredLake, games: dict[str, list[Event]]) -> None:
    documents = lake.table("documents").select("path", "status", "format").collect()
    assert set(documents["path"]) == set(games)
    assert set(documents.select("status", "format").iter_rows()) == {("ingested", "pgg_bench")}
    assert lake.table("quarantine").collect().is_empty()
    rows = lake.table("games").collect()
    fixed = set(rows.select("n_rounds_fixed", "n_players", "multiplier", "is_finished").iter_rows())
    assert (rows.height, fixed) == (92, {(10, 5, 1.6, True)})


def test_totals_of_rounds_are_those_logged(lake: StoredLake, games: dict[str, list[Event]]) -> None:
    logged = {
        (path, event["round"]): event["total_contribution"]
        for path, event in of_type(games, "fund_distribution")
    }
    rows = with_path(lake, "contributions")
    totals = {
        (path, n): t for path, n, t in rows.select("path", "round", "round_total").iter_rows()
    }
    assert totals == logged
    assert len(totals) == 920
    assert set(rows["parse_status"]) == {"ok"}


def test_balances_follow_from_what_was_read(
    lake: StoredLake, games: dict[str, list[Event]]
) -> None:
    """All begin with 20; only what each gets of the pool is taken from the log."""
    scores = with_path(lake, "players")
    models = {(p, player): m for p, player, m in scores.select("path", "player", "model").rows()}
    held: dict[tuple[str, str], float] = defaultdict(lambda: 20)
    for path, model, amount in (
        with_path(lake, "contributions").select("path", "model", "amount").rows()
    ):
        held[path, model] -= amount
    for path, event in of_type(games, "fund_distribution"):
        for model, tokens in event["distribution_amounts"].items():
            held[path, model] += tokens
    transfers = with_path(lake, "transfers")
    for path, model, target, amount, cost in transfers.select(
        "path", "model", "target", "amount", "cost"
    ).iter_rows():
        held[path, model] -= cost
        held[path, models[path, target]] += amount
    final = {
        (p, model): score
        for p, model, score in scores.select("path", "model", "final_score").rows()
    }
    assert held == final
    assert len(final) == 460


def test_punishments(lake: StoredLake, games: dict[str, list[Event]]) -> None:
    """Each costs a third of what it takes."""
    rows = with_path(lake, "transfers")
    assert rows.height == len(of_type(games, "punishment")) == 1464
    assert set(rows["kind"]) == {"punishment"}
    assert rows["target_seat"].null_count() == 0
    assert (rows["amount"] == -3 * rows["cost"]).all()
    assert rows["message_index"].is_null().all()


def test_messages_are_what_players_said_in_public(
    lake: StoredLake, games: dict[str, list[Event]]
) -> None:
    rows = with_path(lake, "messages").sort("path", "message_index")
    said = [
        (path, e["round"], e["message"])
        for path, e in sorted(of_type(games, "public_message"), key=lambda one: one[0])
    ]
    assert list(rows.select("path", "round", "content").iter_rows()) == said
    assert set(rows["phase"]) == {"talk"}
    assert len(said) == 4578


@pytest.mark.parametrize("engine", ENGINES)
def test_metrics_are_those_of_a_naive_reader(
    lake: StoredLake, games: dict[str, list[Event]], engine: str
) -> None:
    expected = answers(games.values())
    assert values(lake, engine, ["win_rate", "rationality"]) == pytest.approx(expected)
    assert len(expected) == 2 * 22
