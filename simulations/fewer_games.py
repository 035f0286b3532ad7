"""Is it said that games are missing, where one or two models are in a lake?

The model `a` plays ten settings several times, alone or beside `b`. Of its games, two of five are
kept, those that it won first; or some have no end; or some crashed and were played again. A mark is
right if it counts the games that have no end, and if nobody else is marked. Where games are gone
that nobody can know of, the model is to be named in a note. The bounds of its win rate are to hold
the value of all games that were begun. `--write` puts the table into docs/simulations.md.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from document import markdown, parse_options, write

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from event_tables import Frames, table

from pipeline.metrics.completeness import complete_models_with_fewer_games_notes
from pipeline.reports.completeness import completeness, readability

SETTINGS, RATE = 10, 0.45


class Case(NamedTuple):
    """How often `a` plays a setting, which games have no end or are kept, and whether `b` plays."""

    n: int
    has_other: bool
    lost: float = 0.0  # how often a game that it lost has no end
    won: float = 0.0  # and one that it won
    exactly: int = 0  # so many of each setting have no end
    kept: int = 0  # so many are kept, those that it won first
    crashed: float = 0.0  # how often a game crashed and was played again


CASES = {
    "two models, 2 of 5 kept": Case(5, True, kept=2),
    "two models, 3 of 10 without an end": Case(10, True, exactly=3),
    "one model, 3 of 10 without an end": Case(10, False, exactly=3),
    "two models, lost games mostly without an end": Case(10, True, lost=0.4, won=0.1),
    "one model, lost games mostly without an end": Case(10, False, lost=0.4, won=0.1),
    "two models, crashed games played again": Case(5, True, crashed=0.1),
    "one model, crashed games played again": Case(5, False, crashed=0.1),
}


class Found(NamedTuple):
    """Draws: the mark is right, the model is named in a note, and the bounds hold."""

    right: int
    named: int
    held: int


def draw_lake(case: Case, generator: np.random.Generator) -> tuple[Frames, int, float]:
    """Return a lake, the number of games of `a` without an end, and the win rate over all games."""
    rows, n_open, full = [], 0, []
    for setting in range(SETTINGS):
        won = generator.random(case.n) < RATE
        full += [*won]
        chance = np.where(won, case.won, case.lost)
        is_open = generator.random(case.n) < chance
        is_open |= np.arange(case.n) < case.exactly
        n_open += int(is_open.sum())
        credits = [None if cut else float(credit) for credit, cut in zip(won, is_open, strict=True)]
        if case.kept:
            credits = sorted(credits, key=lambda credit: -(credit or 0))[: case.kept]
        credits += [None] * int((generator.random(case.n) < case.crashed).sum())
        rows += [("a", setting, credit) for credit in credits]
        if case.has_other:
            rows += [("b", setting, float(credit)) for credit in generator.random(case.n) < RATE]
    text = ["game | model | setting_id | win_credit | is_finished"]
    text += [
        f"{number} | {model} | f{setting:031x} | {'-' if credit is None else credit} | "
        f"{'no' if credit is None else 'yes'}"
        for number, (model, setting, credit) in enumerate(rows, start=1)
    ]
    results = table("results", "\n".join(text), game_type="public_good")
    return Frames({"results": results}), n_open, float(np.mean(full))


def simulate(case: Case, draws: int) -> Found:
    """Return in how many draws of a case marks, notes and bounds are right."""
    generator = np.random.default_rng(7)
    right = named = held = 0
    for _ in range(draws):
        lake, n_open, full = draw_lake(case, generator)
        marks = completeness(lake)
        true_marks = {"a": n_open} | ({"b": 0} if case.has_other else {})
        right += dict(marks.select("model", "n_missing").iter_rows()) == true_marks
        named += any(
            note.startswith("a: ") for note in complete_models_with_fewer_games_notes(lake, marks)
        )
        bounds = readability(lake, model="a").filter(pl.col("metric") == "win_rate")
        low, high = bounds.select("value_min", "value_max").row(0)
        held += low - 1e-9 <= full <= high + 1e-9
    return Found(right, named, held)


def main() -> int:
    """Run the simulation and write its table; return 1 if a case fails."""
    options = parse_options(__doc__, 60)
    of_cases = {name: simulate(case, options.draws) for name, case in CASES.items()}
    rows = [
        [name, *(f"{n} of {options.draws}" for n in result)] for name, result in of_cases.items()
    ]
    headings = ["games of one model", "mark is right", "named in a note", "bounds hold"]
    text = markdown(headings, rows)
    print(text)
    if options.write:
        write("fewer games", text)
    failed = [
        name
        for name, result in of_cases.items()
        if result != (options.draws, options.draws * bool(CASES[name].kept), options.draws)
    ]
    for each in failed:
        print(f"not as it should be: {each}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
