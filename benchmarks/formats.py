"""How fast is a log of each format read, in processor time of one core?

The logs are those of the archives in `$MAGIC_SHARED`, else those of `tests/logs`, which are much
shorter than real ones; interchange JSON is what the others' games are converted to. A log is read
as an ingest reads it: claimed by one of all formats, and made into a game that is kept until a
batch is read. What follows, rows and files, is not in it.
"""

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import msgspec
from measure import TOP, Row, medians, parser, report

sys.path.insert(0, str(TOP / "tests"))

from format_logs import logs_by_file
from reallogs import files

from pipeline.formats import Format, available_formats, read_game
from pipeline.formats.interchange import encode_game
from pipeline.formats.sniffer import DocumentSniffer

WANTED = 100.0  # MB/s
MEGABYTES = 2.0  # to read in each run
SHARED = Path(os.environ.get("MAGIC_SHARED", TOP.parent / "shared"))
ARCHIVES = {
    "aiwolf": "real/aiwolf",
    "avalon": "real/avalon",
    "bargain": "real/bargain",
    "chatarena": "real/chatarena-chameleon",
    "ck_arena": "real/ck-arena",
    "goods": "real/goods",
    "magic": "corpus/magic-public",
    "pgg_bench": "real/pgg-bench",
    "textarena": "real/textarena-avalon",
    "werewolf_arena": "real/werewolf-arena",
}
TEXTS = {"aiwolf"}  # in lines that are no JSON
INTERCHANGE = "interchange"


class Logs(NamedTuple):
    """Logs of a format, the name of a file of one, and the model to name for them."""

    data: list[bytes]
    file: str
    model: str | None

    @property
    def megabytes(self) -> float:
        """The size of all logs in MB."""
        return sum(map(len, self.data)) / 1e6


def main() -> int:
    """Measure how fast each format is read, and write the results."""
    options = parser(__doc__, games=100, runs=7).parse_args()
    logs = {format_.NAME: _logs(format_, options.games) for format_ in available_formats()}
    others = [one for name, one in logs.items() if name != INTERCHANGE]
    logs[INTERCHANGE] = Logs([*_converted(others)], "0.json", None)
    cases = dict(_cases(logs))
    gc.disable()  # as an ingest does while it decodes
    measured = {name: case for name, (_, case) in cases.items()}
    seconds = medians(measured, options.runs, clock=time.process_time)
    rates = {name: megabytes / seconds[name] for name, (megabytes, _) in cases.items()}
    rows = [row for name, one in logs.items() for row in _rows(name, one, rates)]
    notes = f"Logs of at most {options.games} files each. " + (
        "From archives of real logs, but `kaggle`." if SHARED.is_dir() else "From `tests/logs`."
    )
    baseline = (
        "msgspec decodes the same bytes into plain objects; `aiwolf`: they are cut into lines"
    )
    return report("formats", __doc__, baseline, rows, options.results, notes)


def _logs(format_: Format, most: int) -> Logs:
    made = import_module(f"logs.{format_.NAME}")
    file, logs = next(iter(logs_by_file(format_.NAME).items()))
    archive = SHARED / f"{ARCHIVES.get(format_.NAME)}.tar.zst"
    data = files(archive).values() if archive.is_file() else logs
    file = file.format(0)
    own = [one for one in data if format_.claims(DocumentSniffer(file, one))][:most]
    return Logs(own, file, None if format_.NAMES_MODELS else made.MODEL)


def _converted(logs: Sequence[Logs]) -> Iterator[bytes]:
    """A few games of each format as interchange JSON."""
    for data, file, model in logs:
        for one in data[:10]:
            if game := read_game(one, model, file):
                yield encode_game(game)


def _cases(logs: dict[str, Logs]) -> Iterator[tuple[str, tuple[float, Callable[[], object]]]]:
    """What is measured, with the megabytes that one run of it reads."""
    for name, one in logs.items():
        times = max(1, round(MEGABYTES / one.megabytes))
        again = one._replace(data=one.data * times)
        yield name, (again.megabytes, partial(_read, again))
        plain = _lines if name in TEXTS else _decode
        yield f"{name}, plain", (again.megabytes, partial(plain, again))


def _read(logs: Logs) -> list[object]:
    return [read_game(one, logs.model, logs.file) for one in logs.data]


def _decode(logs: Logs) -> list[object]:
    decoder = msgspec.json.Decoder()
    decode = decoder.decode_lines if logs.file.endswith(".jsonl") else decoder.decode
    return list(map(decode, logs.data))


def _lines(logs: Logs) -> list[object]:
    return [one.decode().splitlines() for one in logs.data]


def _rows(name: str, logs: Logs, rates: dict[str, float]) -> Iterator[Row]:
    size = f"{name}, {1e3 * logs.megabytes / len(logs.data):.0f} kB a log"
    yield Row(size, rates[name], rates[f"{name}, plain"], unit="MB/s")
    if name not in TEXTS:
        case = f"{name}, of {WANTED:g} MB/s"
        yield Row(case, rates[name], WANTED, 1.0, "MB/s", at_least=True)


if __name__ == "__main__":
    sys.exit(main())
