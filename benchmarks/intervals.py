"""Do intervals of all metrics over a million games take at most three times the metrics alone?

The baseline is the same metrics by the same engine, without intervals.
"""

import sys

import polars as pl
from measure import Row, magic, medians, parser, report

from data import multiplied_lake
from pipeline.metrics import metrics

LIMIT = 3.0
MODELS = 30
LEADERBOARD_SECONDS = 2.0


def main() -> int:
    """Measure the metrics with intervals against those without, and write the results."""
    options = parser(__doc__, games=1_000_000).parse_args()
    lake = multiplied_lake(options.games, MODELS)
    rows = []
    for engine in ("polars", "duckdb"):
        found = medians(
            {
                "alone": lambda engine=engine: metrics(lake, engine=engine, confidence=None),
                "intervals": lambda engine=engine: metrics(lake, engine=engine),
            },
            options.runs,
        )
        case = f"metrics with intervals, {engine}"
        rows.append(Row(case, found["intervals"], found["alone"], LIMIT))
    board = medians({"polars": lambda: magic("leaderboard", "--lake", lake.path)}, options.runs)
    case = "leaderboard with intervals and letters (of 2 s)"
    rows.append(Row(case, board["polars"], LEADERBOARD_SECONDS, 1.0))
    baseline = "the metrics without intervals, by the same engine"
    n_games = lake.table("games").select(pl.len()).collect().item()
    return report(
        "intervals",
        __doc__,
        baseline,
        rows,
        options.results,
        f"{n_games:,} games of {MODELS} models.",
    )


if __name__ == "__main__":
    sys.exit(main())
