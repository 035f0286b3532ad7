"""Do the bounds hold what a value would be, had no game been lost?

Three models play every setting five times. Games of one of them are gone: those that it lost, most
of these, or any. The bounds of its win rate are to hold the value of all its games in every draw.
It is to be marked as incomplete, with as many games as are gone, and no other model is. Where one
plays everything twice and nothing is gone, nobody is marked. `--write` puts the table into
docs/simulations.md.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from document import markdown, parse_options, write

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from event_tables import Frames, table

from pipeline.reports.completeness import completeness, readability

SETTINGS, REPLAYS, MODELS = 56, 5, ("a", "b", "c")
RATE = 0.45
# How often a game is gone that the model lost, and one that it won.
LOSSES = {
    "all games that it lost": (1.0, 0.0),
    "most games that it lost, few others": (0.8, 0.1),
    "any of its games": (0.3, 0.3),
    "none, another played twice": (0.0, 0.0),
}


class Found(NamedTuple):
    """Draws: the bounds hold the full value; the mark tells the lost games; others are marked."""

    held: int
    told: int
    others: int
    off: float  # how far the value is from the full one, in the mean


def all_results(times: int) -> pl.DataFrame:
    """The results of all models, every setting five times; `b` alone `times` as often."""
    text = ["game | model | setting_id | game_index"]
    for model in MODELS:
        for replay in range(REPLAYS * (times if model == "b" else 1)):
            text += [
                f"{len(text) + n} | {model} | f{n:031x} | {replay * SETTINGS + n}"
                for n in range(SETTINGS)
            ]
    return table("results", "\n".join(text), game_type="public_good")


def simulate(name: str, draws: int) -> Found:
    """What is found of so many draws of lost games."""
    of_lost, of_won = LOSSES[name]
    generator = np.random.default_rng(7)
    whole = all_results(2 if "twice" in name else 1)
    held = told = others = 0
    off = []
    for _ in range(draws):
        won = (generator.random(whole.height) < RATE).astype(float)
        is_gone = generator.random(whole.height) < np.where(won == 1, of_won, of_lost)
        games = whole.with_columns(win_credit=pl.Series(won))
        full = float(games.filter(model="a")["win_credit"].mean())
        is_gone &= (whole["model"] == "a").to_numpy()
        lake = Frames({"results": games.filter(~pl.Series(is_gone))})
        bounds = readability(lake, model="a").filter(metric="win_rate").row(0, named=True)
        marks = dict(completeness(lake).select("model", "n_missing").iter_rows())
        held += bounds["value_min"] - 1e-9 <= full <= bounds["value_max"] + 1e-9
        told += marks["a"] == is_gone.sum()
        others += bool(marks["b"] or marks["c"])
        off.append(abs(bounds["value"] - full))
    return Found(held, told, others, float(np.mean(off)))


def main() -> int:
    """Run the simulation and write its table; return 1 if a case fails."""
    options = parse_options(__doc__, 60)
    results = {name: simulate(name, options.draws) for name in LOSSES}
    rows = [
        [
            name,
            f"{result.held} of {options.draws}",
            f"{result.told} of {options.draws}",
            f"{result.others} of {options.draws}",
            f"{result.off:.2f}",
        ]
        for name, result in results.items()
    ]
    headings = ["gone", "bounds hold", "mark is right", "others are marked", "value off by"]
    text = markdown(headings, rows)
    print(text)
    if options.write:
        write("lost games", text)
    expected = options.draws, options.draws, 0
    failed = [name for name, result in results.items() if result[:3] != expected]
    for each in failed:
        print(f"hidden: {each}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
