"""Does an audit cost little more than the metrics, and does a large lake need no more memory?

`magic audit` is held against `magic metrics` on the same lake: both read about the same rows, and
the audit also the closing messages. What counts is processor time, start-up included. Peak memory
is that of the audit, of `magic evidence`, and of `magic audit KIND`, on all of the games.
"""

import sys

from measure import MAGIC, Row, parser, peak_memory, processor_medians, report

from data import multiplied_lake

LIMIT = 3.0
MEMORY_BYTES = 3 * 2**29  # 1 GiB of DuckDB, and what Python and the libraries take
LARGE = {
    "audit": ("audit",),
    "audit silent_analyses, csv": ("audit", "silent_analyses", "--format", "csv"),
    "evidence judgement, csv": ("evidence", "judgement", "--format", "csv"),
    "evidence judgement, parquet": ("evidence", "judgement", "--format", "parquet"),
}


def main() -> int:
    """Measure time and memory of an audit against the metrics, and write the results."""
    options = parser(__doc__, games=1_000_000, runs=3).parse_args()
    rows = []
    # The larger a lake, the less of both is start-up: joins of texts cost more than columns.
    for n_games, limit in ((max(1, options.games // 10), LIMIT), (options.games, None)):
        lake = multiplied_lake(n_games, messages=True)
        commands = {name: [*MAGIC, name, "--lake", str(lake.path)] for name in ("metrics", "audit")}
        found = processor_medians(commands, options.runs)
        case = f"audit of {n_games:,} games, processor time"
        rows.append(Row(case, found["audit"], found["metrics"], limit))
    for name, arguments in LARGE.items():
        _, peak = peak_memory([*MAGIC, *arguments, "--lake", str(lake.path)])
        case = f"{name}, {options.games:,} games, peak memory"
        rows.append(Row(case, peak / 2**20, MEMORY_BYTES / 2**20, 1.0, "MiB"))
    baseline = "`magic metrics` on the same lake; 1.5 GiB"
    return report("audit", __doc__, baseline, rows, options.results)


if __name__ == "__main__":
    sys.exit(main())
