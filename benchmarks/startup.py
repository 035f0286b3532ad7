"""Does the command answer at once?

`magic --help` in a quarter of a second, `magic metrics` on the sample's games in one, each a
process of its own, against a Python that does nothing.
"""

import sys

from measure import MAGIC, TOP, Row, medians, parser, report, run

from data import fresh_lake

HELP_SECONDS = 0.25
METRICS_SECONDS = 1.0


def main() -> int:
    """Measure how soon the commands answer, and write the results."""
    # The sample has the size that it has; the option is there for all scripts alike.
    options = parser(__doc__, games=112).parse_args()
    lake = str(fresh_lake())
    run([*MAGIC, "ingest", str(TOP / "data" / "sample" / "results"), "--lake", lake])
    cases = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "magic --help": [*MAGIC, "--help"],
        "magic metrics": [*MAGIC, "metrics", "--lake", lake],
        "magic metrics --engine duckdb": [*MAGIC, "metrics", "--lake", lake, "--engine", "duckdb"],
    }
    found = medians(
        {name: lambda command=command: run(command) for name, command in cases.items()},
        options.runs,
    )
    limits = {"magic --help": HELP_SECONDS, "magic metrics": METRICS_SECONDS}
    rows = [
        Row(name, seconds, limits.get(name, METRICS_SECONDS), 1.0 if name in limits else None)
        for name, seconds in found.items()
    ]
    return report("startup", __doc__, "the seconds that it may take", rows, options.results)


if __name__ == "__main__":
    sys.exit(main())
