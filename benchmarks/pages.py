"""Do the pages of `magic view` answer at once on a large lake?

The lake has a million games and lies as `magic maintain` leaves it. The first table is of one
client, each page seen for the first time (but for “again”); the baseline is the limit. Then 20
clients read at once, each opening a page a second: games, evidence, a leaderboard. Memory is that
of the server and its workers, while they do.
"""

import random
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree
from urllib.parse import urlencode
from urllib.request import urlopen

import duckdb
from measure import MAGIC, TOP, Row, held_by, medians, parser, report, run

from data import made, multiplied_lake
from pipeline import open_lake
from pipeline.api import Lake
from pipeline.metrics.registry import NAMES
from pipeline.sql_files import quote_literal

CLIENTS = 20
SECONDS = 30.0
LITTLE = 1_000  # of so few games a short look is enough
GAME, EVIDENCE, SEEN, NEW = 0.15, 0.3, 0.05, 2.5
SHOW, FIRST_ROWS = 1.0, 2.0
MEMORY_BYTES = 2**30


def main() -> int:
    """Measure the pages for one client and for many at once, and write the results."""
    options = parser(__doc__, games=1_000_000).parse_args()
    lake = open_lake(
        made(f"lake-maintained-{options.games}", lambda path: _make(path, options.games))
    )
    ids = lake.table("games").select("game_id").collect()["game_id"]
    ids = ids.sample(400, seed=1, with_replacement=True)
    models = lake.metrics(metric="win_rate", confidence=None)["model"].unique().sort().to_list()
    games = [f"game?{urlencode({'game': one})}" for one in ids]
    evidence = [
        f"evidence?{urlencode({'metric': name, 'model': model})}"
        for name in NAMES
        for model in models
    ]
    topics = lake.table("games").select("topic").unique().collect()["topic"].drop_nulls().sort()
    by_topic = [
        f"leaderboard?{urlencode({'where': f'topic = {quote_literal(one)}'})}" for one in topics
    ]
    # The dearest condition there is: one on the games that leaves out none of them.
    boards = [f"leaderboard?{urlencode({'where': f'n_players < {n}'})}" for n in range(100, 140)]
    with _server(lake) as (url, process):
        for page in (*games[:10], *evidence[:4], "leaderboard"):  # each worker opens the lake
            _get(url, page)
        rows = [
            Row("a game", _median(url, games[10:30]), GAME, 1.0),
            Row("evidence of a metric and model", _median(url, evidence[4:24]), EVIDENCE, 1.0),
            Row("leaderboard, again", _median(url, ["leaderboard"] * 20), SEEN, 1.0),
            Row("leaderboard, a topic", _median(url, by_topic[: options.runs]), NEW, 1.0),
            Row("leaderboard, every game", _median(url, boards[: options.runs]), NEW, 1.0),
        ]
        seconds = SECONDS if options.games > LITTLE else SECONDS / 10
        taken, peak = _crowd(url, process, games[30:], evidence[24:], seconds)
        for kind, limit in (("game", GAME), ("evidence", EVIDENCE), ("leaderboard", SEEN)):
            found = [seconds for page, seconds in taken if page.startswith(kind)]
            case = f"{kind}, {CLIENTS} clients, median of {len(found)}"
            rows.append(Row(case, statistics.median(found), limit, 1.0))
        rows.append(Row("memory of the server", peak / 2**20, MEMORY_BYTES / 2**20, 1.0, "MiB"))
    rows.append(_bare(lake, ids[0], rows[0].value, options.runs))
    path = str(lake.path)
    commands = {
        "magic show": [*MAGIC, "show", ids[0], "--lake", path],
        "magic evidence --limit 50": [
            *(
                *MAGIC,
                "evidence",
                "judgement",
                "--model",
                models[0],
                "--limit",
                "50",
                "--lake",
                path,
            )
        ],
    }
    times = medians(
        {name: lambda one=one: run(one) for name, one in commands.items()}, options.runs
    )
    rows += [
        Row(name, times[name], limit, 1.0)
        for name, limit in zip(commands, (SHOW, FIRST_ROWS), strict=True)
    ]
    baseline = "the seconds that each may take; DuckDB's query where it is named"
    return report("pages", __doc__, baseline, rows, options.results)


def _make(path: Path, n_games: int) -> None:
    copytree(str(multiplied_lake(n_games, messages=True).path), path)
    run([*MAGIC, "maintain", "--lake", str(path), "--keep-days", "0", "--older-than-hours", "0"])


@contextmanager
def _server(lake: Lake) -> Iterator[tuple[str, int]]:
    command = [*MAGIC, "view", "--lake", str(lake.path), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, cwd=TOP, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = process.stderr.readline()
            yield next(word for word in line.split() if word.startswith("http")), process.pid
        finally:
            process.terminate()


def _get(url: str, page: str) -> float:
    started = time.perf_counter()
    with urlopen(url + page) as answer:
        answer.read()
    return time.perf_counter() - started


def _median(url: str, pages: list[str]) -> float:
    return statistics.median(_get(url, page) for page in pages)


def _crowd(
    url: str, process: int, games: list[str], evidence: list[str], seconds: float
) -> tuple[list[tuple[str, float]], int]:
    """Each page that the clients opened and the seconds it took; the most bytes held meanwhile."""
    taken: list[tuple[str, float]] = []
    end = time.monotonic() + seconds

    def read(number: int) -> None:
        dice = random.Random(number)
        while time.monotonic() < end:
            page = dice.choice([*dice.sample(games, 6), *dice.sample(evidence, 3), "leaderboard"])
            took = _get(url, page)
            taken.append((page, took))
            time.sleep(max(0.0, dice.uniform(0.5, 1.5) - took))

    threads = [threading.Thread(target=read, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    peak = 0
    while any(thread.is_alive() for thread in threads):
        peak = max(peak, held_by(process))
        time.sleep(0.5)
    return taken, peak


def _bare(lake: Lake, game: str, seconds: float, runs: int) -> Row:
    """The page of a game beside DuckDB's bare query of its messages."""
    files = [str(file) for file in lake.table_files("messages")]
    with duckdb.connect() as connection:
        connection.execute("SET parquet_metadata_cache = true")
        query = f"SELECT * FROM read_parquet({files}) WHERE game_id = '{game}'"
        found = medians({"bare": lambda: connection.sql(query).fetchall()}, runs)
    return Row("a game, and DuckDB's query of its messages", seconds, found["bare"])


if __name__ == "__main__":
    sys.exit(main())
