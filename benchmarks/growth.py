"""Does a game cost the same in a large archive as in a small one, in bounded memory?

Archives (.tar.zst, since so many files would not all stay in the machine's memory) of a hundredth,
a tenth and all of the games are ingested with `--jobs 2`. Seconds a game are what an ingest takes
beyond its start-up, which is one of a large file that is no log: processes start, and find nothing.
"""

import statistics
import sys
from pathlib import Path

from measure import MAGIC, Row, parser, peak_memory, report

from data import fresh_lake, logs, made

LIMIT = 1.25
MEMORY_BYTES = 2 * 2**30
MEMORY_LIMIT = 1.2
SHARES = (100, 10, 1)
NO_LOGS = 32 * 2**20


def _no_logs(folder: Path) -> None:
    """A folder with nothing to read, and so large that processes are started for it."""
    folder.mkdir()
    (folder / "notes.txt").write_bytes(bytes(NO_LOGS))


def main() -> int:
    """Measure time per game and memory of three sizes of archive, and write the results."""
    options = parser(__doc__, games=500_000).parse_args()
    lake = fresh_lake()
    sizes = [max(1, options.games // share) for share in SHARES]
    empty = made("no-logs", _no_logs)

    def ingest(source: object) -> list[str]:
        return [*MAGIC, "ingest", str(source), "--lake", str(lake), "--jobs", "2", "--allow-empty"]

    # Start-up too, since to sample memory takes a tenth of the time.
    sources = {0: empty} | {size: logs(size, "tar.zst") for size in sizes}
    seconds: dict[int, list[float]] = {size: [] for size in sources}
    peaks = dict.fromkeys(sources, 0)
    for _ in range(options.runs):
        for size, source in sources.items():
            fresh_lake()
            taken, peak = peak_memory(ingest(source))
            seconds[size].append(taken)
            peaks[size] = max(peaks[size], peak)
    median = {size: statistics.median(taken) for size, taken in seconds.items()}
    # Of a handful of games start-up is all, and noise can be more.
    cost = {size: max(median[size] - median[0], 0.001) / size * 1e6 for size in sizes}
    least, large, largest = min(cost.values()), *sizes[1:]
    rows = [
        *(
            Row(f"{size:,} games, of the cheapest", cost[size], least, LIMIT, "µs a game")
            for size in sizes
        ),
        *(
            Row(
                f"{size:,} games, peak memory",
                peaks[size] / 2**20,
                MEMORY_BYTES / 2**20,
                1.0,
                "MiB",
            )
            for size in sizes
        ),
        Row(
            f"peak memory of {largest:,} games, of {large:,}",
            peaks[largest] / 2**20,
            peaks[large] / 2**20,
            MEMORY_LIMIT,
            "MiB",
        ),
    ]
    baseline = "the size that costs least a game; 2 GiB; a tenth of the games"
    return report("growth", __doc__, baseline, rows, options.results)


if __name__ == "__main__":
    sys.exit(main())
