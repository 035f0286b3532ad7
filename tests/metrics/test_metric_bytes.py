"""Equal lakes give equal bytes: no value depends on the order of rows, not in its last digit."""

from collections.abc import Callable

import polars as pl
import pytest
from event_tables import ENGINES, Frames, lake_of

from pipeline.events.contracts import table_schema
from pipeline.lake import StoredLake
from pipeline.metrics import metrics
from pipeline.reports.compare import compare
from pipeline.reports.completeness import readability
from pipeline.reports.diff import diff
from pipeline.reports.ranking import leaderboard
from pipeline.serialization import to_json_records
from pipeline.statistics.intervals import order_independent_sum

N_GAMES = 900
CREDITS = {"undercover": (0.0, 1.0, 2 / 3), "civilian": (0.0, 1.0, 1 / 3), "player": (0.0, 1.0)}
OTHERS = ("cost_sharing", "prisoners_dilemma", "public_good")
SEEDS = range(3)


def results(sides: tuple[str, ...]) -> pl.DataFrame:
    """Games of Undercover, of one tested side or of both by turns, with credits of thirds.

    Between them are games of three other types, so that values and variances are sums, too.
    """
    rows = [_row(game, game_type, "player") for game, game_type in enumerate(OTHERS * 90, N_GAMES)]
    rows += [
        _row(game, "undercover", role)
        for game in range(N_GAMES)
        for role in (sides if len(sides) == 1 else sides[: 1 + game % 2])
    ]
    schema = table_schema("results")
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


def _row(game: int, game_type: str, role: str) -> dict[str, object]:
    side = {"undercover": "hidden", "player": "none"}.get(role, role)
    credits = CREDITS[role]
    return {
        "game_id": f"{game:032x}",
        "game_type": game_type,
        "system": "magic",
        "setting_id": f"f{game % 40:031x}",
        "game_index": game % 21,
        "is_finished": game % 50 != 0,
        "model": f"m{game % 7 % 3}",
        "role": role,
        "side": side,
        "is_tested": True,
        "competition": game_type if role == "player" else f"undercover_as_{role}",
        "parse_status": "ok",
        "is_win": game * game % 7 > 2,
        "agreed": game * game % 13 > 3,
        "win_credit": credits[game * game % 11 % len(credits)],
    }


SIDES = {"one side": ("undercover",), "both sides": ("civilian", "undercover")}


@pytest.mark.some(1)
@pytest.mark.parametrize("edition", ["paper", "release"])
@pytest.mark.parametrize("engine", ENGINES)
def test_metrics(engine: str, edition: str, tmp_path) -> None:
    rows = results(SIDES["both sides"])
    found = set()
    for seed in SEEDS:
        shuffled = {"results": rows.sample(fraction=1, shuffle=True, seed=seed)}
        lake = lake_of(tmp_path / str(seed), shuffled)
        names = ["win_rate", "deception", "cooperation"]
        valued = metrics(lake, metric=names, edition=edition, engine=engine)
        found.add(to_json_records(valued))
    assert len(found) == 1


REPORTS: dict[str, Callable[[StoredLake], pl.DataFrame]] = {
    "leaderboard": leaderboard,
    "compare": lambda lake: compare(lake, metric=["win_rate", "deception"]),
    "readability": readability,
    "diff": lambda lake: diff(lake, Frames({"results": results(SIDES["one side"])[:700]})),
}


@pytest.mark.slow
@pytest.mark.parametrize("report", REPORTS)
def test_reports(report: str) -> None:
    rows = results(SIDES["both sides"])
    lakes = (Frames({"results": rows.sample(fraction=1, shuffle=True, seed=s)}) for s in SEEDS)
    assert len({to_json_records(REPORTS[report](lake)) for lake in lakes}) == 1


def test_an_exact_sum_is_rounded_once() -> None:
    """A million thirds are a third of a million to the last digit; a plain sum is not."""
    thirds = pl.DataFrame({"x": [1 / 3, 2 / 3, 1.0, 0.0] * 250_000})
    assert thirds.select(order_independent_sum(pl.col("x"))).item() == 500_000.0
    assert thirds.select(order_independent_sum(pl.col("x").filter(pl.col("x") > 1))).item() == 0.0
