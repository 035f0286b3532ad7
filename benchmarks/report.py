"""Is a report of many games made while one waits, and small enough to send?

`magic report` of 100,000 games of 30 models, with one game behind each value. The time is that of
the whole command.
"""

import sys
import time

from measure import MAGIC, Row, parser, report, run

from data import SCRATCH, multiplied_lake

SECONDS = 30.0
MEGABYTES = 5.0
MODELS = 30


def main() -> int:
    """Measure the time and the file size of a report, and write the results."""
    options = parser(__doc__, games=100_000, runs=1).parse_args()
    lake = multiplied_lake(options.games, MODELS, messages=True)
    file = SCRATCH / "report.html"
    seconds = []
    for _ in range(options.runs):
        began = time.perf_counter()
        run([*MAGIC, "report", "--lake", str(lake.path), "-o", str(file)])
        seconds.append(time.perf_counter() - began)
    rows = [
        Row("magic report", min(seconds), SECONDS, 1.0),
        Row("the file", file.stat().st_size / 1e6, MEGABYTES, 1.0, "MB"),
    ]
    file.unlink()
    return report("report", __doc__, "the most that it may be", rows, options.results)


if __name__ == "__main__":
    sys.exit(main())
