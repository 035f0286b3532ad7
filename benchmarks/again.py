"""What does it cost to ingest an archive that has not changed?"""

import sys
import time
from statistics import median

from measure import MAGIC, Row, parser, report, run

from data import fresh_lake, logs

LIMIT = 0.25


def main() -> int:
    """Measure the second ingest of an archive against the first, and write the results."""
    options = parser(__doc__, games=500_000).parse_args()
    command = [*MAGIC, "ingest", str(logs(options.games, "tar.zst")), "--jobs", "2", "--lake"]
    first: list[float] = []
    second: list[float] = []
    for _ in range(options.runs):
        lake = fresh_lake()
        for seconds in (first, second):
            started = time.perf_counter()
            run([*command, str(lake)])
            seconds.append(time.perf_counter() - started)
    rows = [Row("second ingest, of the first", median(second), median(first), LIMIT)]
    return report("again", __doc__, "the first ingest into a new lake", rows, options.results)


if __name__ == "__main__":
    sys.exit(main())
