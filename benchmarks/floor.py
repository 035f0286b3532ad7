"""How near is an ingest to merely reading and decoding?

The floor is one process that opens, reads and decodes the same files with msgspec, and does nothing
else. A second line has the floor of decoding into the types that the ingest uses, which skips what
these leave out.
"""

import sys

from measure import MAGIC, Row, medians, parser, report, run

from data import fresh_lake, logs

LIMIT = 3.0
JOBS = 2

FLOOR = """
import os, sys, msgspec
decode = {decoder}.decode
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            text = file.read()
        try:
            decode(text)
        except msgspec.DecodeError:  # a settings file is no log
            pass
"""
UNTYPED = FLOOR.format(decoder="msgspec.json.Decoder()")
TYPED = "from pipeline.formats.magic.log import Log\n" + FLOOR.format(
    decoder="msgspec.json.Decoder(Log)"
)


def main() -> int:
    """Measure an ingest against reading and decoding alone, and write the results."""
    options = parser(__doc__, games=100_000).parse_args()
    source, lake = logs(options.games), fresh_lake()
    ingest = [*MAGIC, "ingest", str(source), "--lake", str(lake), "--jobs", str(JOBS)]
    found = medians(
        {
            "untyped": lambda: run([sys.executable, "-c", UNTYPED, str(source)]),
            "typed": lambda: run([sys.executable, "-c", TYPED, str(source)]),
            "ingest": lambda: run(ingest),
        },
        options.runs,
        before=fresh_lake,
    )
    rows = [
        Row(f"magic ingest --jobs {JOBS}, of decoding", found["ingest"], found["untyped"], LIMIT),
        Row(f"magic ingest --jobs {JOBS}, of typed decoding", found["ingest"], found["typed"]),
    ]
    baseline = "one process that reads and msgspec-decodes the same files"
    return report("floor", __doc__, baseline, rows, options.results)


if __name__ == "__main__":
    sys.exit(main())
