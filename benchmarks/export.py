"""Are exports of many games made in minutes, and how large are they?

`magic export` of 100,000 games of 30 models with all messages, the whole command. The most memory
that it and DuckDB hold is in the last rows.
"""

import shutil
import sys

from measure import MAGIC, Row, parser, peak_memory, report

from data import SCRATCH, multiplied_lake

MODELS = 30
GIGABYTES = 2.5
# The most seconds and megabytes of each.
LIMITS = {
    "every-eval-ever": (240.0, 1500.0),
    "inspect-scout": (60.0, 150.0),
    "battles": (60.0, 150.0),
    "dataset": (60.0, 150.0),
}


def main() -> int:
    """Measure time, size and memory of each export, and write the results."""
    options = parser(__doc__, games=100_000, runs=1).parse_args()
    lake = multiplied_lake(options.games, MODELS, messages=True)
    times, sizes, memory = [], [], []
    for kind, (seconds, megabytes) in LIMITS.items():
        place = SCRATCH / ("battles.parquet" if kind == "battles" else kind)
        command = [*MAGIC, "export", kind, str(place), "--lake", str(lake.path)]
        measured = []
        for _ in range(options.runs):
            shutil.rmtree(place, ignore_errors=True)
            place.unlink(missing_ok=True)
            measured.append(peak_memory(command))
        files = [place, *place.rglob("*")]
        n_bytes = sum(file.stat().st_size for file in files if file.is_file())
        times.append(Row(kind, min(took for took, _ in measured), seconds, 1.0))
        sizes.append(Row(f"{kind}, size", n_bytes / 1e6, megabytes, 1.0, "MB"))
        held = max(held for _, held in measured) / 1e9
        memory.append(Row(f"{kind}, memory", held, GIGABYTES, 1.0, "GB"))
        shutil.rmtree(place, ignore_errors=True)
        place.unlink(missing_ok=True)
    rows = [*times, *sizes, *memory]
    return report("export", __doc__, "the most that it may be", rows, options.results)


if __name__ == "__main__":
    sys.exit(main())
