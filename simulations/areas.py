"""Do the intervals of areas cover? Seven metrics of known rates, of the same games.

Each cell plays a benchmark again and again, and counts how often the 95 % interval of the area
holds the true one. From 20 settings of each competition on it is to be in 92 %. In a share
`alike` of the settings, one draw decides every row of all metrics. `--write` puts the table
into docs/simulations.md.
"""

import sys

import numpy as np
import polars as pl
from document import markdown, parse_options, write
from shapes import Floats, Play, Shape, frame, metric_shape, terms

from pipeline.statistics.intervals import radar_areas, radar_polygon_area

AXES = (
    *("judgement", "reasoning", "deception", "cooperation"),
    *("coordination", "rationality", "self_awareness"),
)
# The rate of every term of each metric.
MODELS: dict[str, tuple[float, ...]] = {
    "a strong one": (0.85, 0.75, 0.85, 0.9, 0.6, 0.8, 0.95),
    "one in the middle": (0.55, 0.5, 0.6, 0.6, 0.4, 0.5, 0.7),
    "a weak one": (0.3, 0.2, 0.3, 0.3, 0.3, 0.2, 0.4),
    "one of extremes": (0.95, 0.1, 0.95, 0.1, 0.9, 0.05, 0.95),
    "all at .05": (0.05,) * 7,
    "all at .95": (0.95,) * 7,
}
SETTINGS = (10, 20, 100)
ALIKE = (0.0, 0.3)
SEED = 1
LEAST = 0.92


def together(settings: int) -> Shape:
    """Return the games of all metrics as one shape, with one game of each setting."""
    shapes = {
        name: metric_shape("cooperation" if name == "coordination" else name, 1) for name in AXES
    }
    weights = {
        f"{name}: {t}": w for name, shape in shapes.items() for t, w in shape.weights.items()
    }
    first = [
        play._replace(term=f"{name}: {play.term}")
        for name, shape in shapes.items()
        for play in shape.plays
    ]
    places = {
        name: place
        for place, name in enumerate(dict.fromkeys(shape.competition for shape in first))
    }
    plays = (
        Play(shape.term, shape.competition, places[shape.competition] * settings + s, shape.items)
        for shape in first
        for s in range(settings)
    )
    return Shape(weights, tuple(plays))


def draw_games(
    generator: np.random.Generator, shape: Shape, rates: dict[str, float], alike: float, draws: int
) -> tuple[Floats, Floats]:
    """Draw hits and counts by draw and play; coordination counts only games with an agreement."""
    metric = [play.term.partition(":")[0] for play in shape.plays]
    means = np.array([rates[name] for name in metric])
    size = (draws, shape.settings.max() + 1)
    decides, luck = generator.random(size) < alike, generator.random(size)
    game_rates = np.where(decides[:, shape.settings], luck[:, shape.settings] < means, means)
    counted = np.broadcast_to([float(play.items) for play in shape.plays], game_rates.shape).copy()
    hits = generator.binomial(counted.astype(int), game_rates).astype(np.float64)
    agreed, coordinated = (
        [index for index, name in enumerate(metric) if name == axis]
        for axis in ("cooperation", "coordination")
    )
    counted[:, coordinated] = hits[:, agreed]
    hits[:, coordinated] *= counted[:, coordinated]
    return hits, counted


def coverage(model: str, settings: int, alike: float, draws: int) -> tuple[float, float]:
    """Return how often the interval holds the true area, and its mean width over that area."""
    generator, shape = np.random.default_rng(SEED), together(settings)
    rates = dict(zip(AXES, MODELS[model], strict=True))
    sums = frame(shape, *draw_games(generator, shape, rates, alike, draws))
    weights = terms(shape, sums, "draw")
    split = pl.col("term").str.splitn(": ", 2).struct
    metric, term = split[0].alias("metric"), split[1].alias("term")
    sums, weights = (rows.with_columns(metric, term) for rows in (sums, weights))
    ratios = sums.group_by("draw", "metric", "term").agg(
        ratio=pl.col("h").sum() / pl.col("c").sum()
    )
    part = pl.col("ratio") * pl.col("weight")
    values = ratios.join(weights, on=["draw", "metric", "term"]).with_columns(part=part)
    values = values.pivot(
        "metric", on_columns=AXES, index="draw", values="part", aggregate_function="sum"
    )
    n_terms = weights.group_by("draw").len().filter(len=len(shape.weights))
    values = values.join(n_terms, on="draw", how="semi")
    intervals = radar_areas(values, sums, weights, ["draw"], 0.95, axes=AXES)
    of_term = weights.select("metric", "term", "weight").unique()
    expected = of_term.group_by("metric").agg(pl.col("weight").sum())
    truth = {name: weight * true_rate(name, rates, alike) for name, weight in expected.iter_rows()}
    true_area = pl.DataFrame(truth).select(radar_polygon_area(AXES)).item()
    is_held = intervals["ci_low"].le(true_area) & intervals["ci_high"].ge(true_area)
    width = (intervals["ci_high"] - intervals["ci_low"]).mean()
    return float(is_held.mean()), float(width) / true_area


def true_rate(name: str, rates: dict[str, float], alike: float) -> float:
    """Return the true rate of a metric; that of coordination is over games with an agreement."""
    if name != "coordination":
        return rates[name]
    agreement_rate, proposal_rate = rates["cooperation"], rates["coordination"]
    return (
        alike * min(agreement_rate, proposal_rate) + (1 - alike) * agreement_rate * proposal_rate
    ) / agreement_rate


def table(results: dict[tuple[str, float], list[tuple[float, float]]]) -> str:
    """Return the table of coverage and relative width by model and number of settings."""
    rows = [
        [f"{model}, {alike:g}", *(f"{share:.3f} ({width:.2f})" for share, width in cells)]
        for (model, alike), cells in results.items()
    ]
    return markdown(["model, alike", *(f"{n} settings" for n in SETTINGS)], rows)


def main() -> int:
    """Run the simulation and write its table; return 1 if a limit is missed."""
    options = parse_options(__doc__, 1000)
    results = {
        (model, alike): [coverage(model, n, alike, options.draws) for n in SETTINGS]
        for model in MODELS
        for alike in ALIKE
    }
    print(table(results))
    if options.write:
        write("areas", table(results))
    slack = 2 * (LEAST * (1 - LEAST) / options.draws) ** 0.5
    missed = [
        (key, n, share)
        for key, cells in results.items()
        for n, (share, _) in zip(SETTINGS, cells, strict=True)
        if n >= 20 and share < LEAST - slack
    ]
    print(*(f"undercovers: {cell}" for cell in missed), sep="\n", file=sys.stderr)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
