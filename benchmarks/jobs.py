"""Does a second process pay, and does an archive cost more than a folder?"""

import sys

from measure import MAGIC, Row, medians, parser, report, run

from data import fresh_lake, logs

GAIN = 1.7
ARCHIVE_LIMIT = 1.3
ARCHIVES = ("tar.zst", "zip")


def main() -> int:
    """Measure ingests of one and two processes, and of archives, and write the results."""
    options = parser(__doc__, games=100_000).parse_args()
    folder, lake = logs(options.games), fresh_lake()
    sources = {"folder": folder} | {kind: logs(options.games, kind) for kind in ARCHIVES}

    def ingest(source: object, jobs: int) -> None:
        run([*MAGIC, "ingest", str(source), "--lake", str(lake), "--jobs", str(jobs)])

    cases = {name: lambda source=source: ingest(source, 2) for name, source in sources.items()}
    found = medians(
        {"one job": lambda: ingest(folder, 1), **cases}, options.runs, before=fresh_lake
    )
    rows = [
        Row("--jobs 1, of --jobs 2", found["one job"], found["folder"], GAIN, at_least=True),
        *(
            Row(f"{kind}, of the folder", found[kind], found["folder"], ARCHIVE_LIMIT)
            for kind in ARCHIVES
        ),
    ]
    return report("jobs", __doc__, "magic ingest --jobs 2 of a folder", rows, options.results)


if __name__ == "__main__":
    sys.exit(main())
