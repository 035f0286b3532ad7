"""Equal lakes give equal bytes: no value depends on the order of rows, not in its last digit."""

from collections.abc import Callable

import polars as pl
import pytest
from event_tables import ENGINES, Frames, lake_of

from pipeline.cli.output import json_text
from pipeline.events.contracts import polars_schema
from pipeline.lake import Lake
from pipeline.metrics import metrics
from pipeline.reports.compare import compare
from pipeline.reports.completeness import readability
from pipeline.reports.diff import diff
from pipeline.reports.ranking import leaderboard
from pipeline.statistics.sums import exact_sum

N_GAMES = 900
CREDITS = {"undercover": (0.0, 1.0, 2 / 3), "civilian": (0.0, 1.0, 1 / 3)}
SEEDS = range(4)


def results(sides: tuple[str, ...]) -> pl.DataFrame:
    """Games of Undercover, of one tested side by turns, or of both, with credits of thirds."""
    rows = [
        {
            "game_id": f"{game:032x}",
            "game_type": "undercover",
            "system": "magic",
            "setting_id": f"{game % 40:032x}",
            "game_index": game % 21,
            "is_finished": game % 50 != 0,
            "model": f"m{game % 3}",
            "role": role,
            "side": "hidden" if role == "undercover" else "civilian",
            "is_tested": True,
            "competition": f"undercover_as_{role}",
            "parse_status": "ok",
            "is_win": game * game % 7 > 2,
            "win_credit": CREDITS[role][game * game % 11 % 3],
        }
        for game in range(N_GAMES)
        for role in (sides if len(sides) == 1 else sides[: 1 + game % 2])
    ]
    schema = polars_schema("results")
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema)


SIDES = {"one side": ("undercover",), "both sides": ("civilian", "undercover")}


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("edition", ["paper", "release"])
@pytest.mark.parametrize("engine", ENGINES)
def test_metrics(engine: str, edition: str, sides: str, tmp_path) -> None:
    rows = results(SIDES[sides])
    found = set()
    for seed in SEEDS:
        shuffled = {"results": rows.sample(fraction=1, shuffle=True, seed=seed)}
        lake = lake_of(tmp_path / str(seed), shuffled)
        asked = {"names": ["win_rate", "deception"], "edition": edition, "engine": engine}
        found.add(json_text(metrics(lake, **asked)))
    assert len(found) == 1


REPORTS: dict[str, Callable[[Lake], pl.DataFrame]] = {
    "leaderboard": leaderboard,
    "compare": lambda lake: compare(lake, names=["win_rate", "deception"]),
    "readability": readability,
    "diff": lambda lake: diff(lake, Frames({"results": results(SIDES["one side"])[:700]})),
}


@pytest.mark.parametrize("report", REPORTS)
def test_reports(report: str) -> None:
    rows = results(SIDES["both sides"])
    lakes = (Frames({"results": rows.sample(fraction=1, shuffle=True, seed=s)}) for s in SEEDS)
    assert len({json_text(REPORTS[report](lake)) for lake in lakes}) == 1


def test_an_exact_sum_is_rounded_once() -> None:
    """A million thirds are a third of a million to the last digit; a plain sum is not."""
    thirds = pl.DataFrame({"x": [1 / 3, 2 / 3, 1.0, 0.0] * 250_000})
    assert thirds.select(exact_sum(pl.col("x"))).item() == 500_000.0
    assert thirds.select(exact_sum(pl.col("x").filter(pl.col("x") > 1))).item() == 0.0
