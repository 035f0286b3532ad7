"""Writers, readers and upkeep on one lake at once: what is there in the end, and what readers saw.

In each round some logs are new and some are changed; then each writer ingests some of the folders,
all of them the one whose logs changed. A writer that lost a race says so and tries again. In the
end the tables have to be those that the same ingests make one after the other.
"""

import argparse
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from typing import Any

import polars as pl
from lab import change_logs, differences, tables, write_logs

import pipeline
from pipeline.errors import LakeError
from pipeline.events.contracts import GAME_TABLES
from pipeline.ingest import ingest
from pipeline.lake import open_lake, open_or_create_lake
from pipeline.lake.maintain import maintain
from pipeline.verify import verify

SHARED = "shared"
N_PARTS = 6
# Which of several copies bears a game, and when, depends on who came first.
PROVENANCE = ("source", "path", "ingest_id", "reason")
_MOST_TRIES = 50


def main(arguments: list[str] | None = None) -> int:
    """Goes so many rounds; 1 if anything was not as it has to be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--games", type=int, default=140, help="games of a round")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="magic-writers-") as folder:
        return run(
            Path(folder),
            n_writers=asked.writers,
            n_rounds=asked.rounds,
            n_readers=asked.readers,
            n_games=asked.games,
            seed=asked.seed,
        )


def run(
    top: Path, *, n_writers: int, n_rounds: int, n_readers: int, n_games: int, seed: int
) -> int:
    """Lets so many processes at one lake."""
    context = multiprocessing.get_context("spawn")
    lake, alone, logs = top / "lake", top / "alone", top / "logs"
    open_or_create_lake(lake)
    open_or_create_lake(alone)
    write_logs(top / "simulated", n_games)
    (logs / SHARED).mkdir(parents=True)
    start, end, stop = (
        context.Barrier(n_writers + 1),
        context.Barrier(n_writers + 1),
        context.Event(),
    )
    result: Any = context.Queue()
    writers = [
        context.Process(target=write, args=(lake, plan, start, end, result))
        for plan in _plans(logs, n_writers, n_rounds, seed)
    ]
    others = [context.Process(target=read, args=(lake, stop, result)) for _ in range(n_readers)]
    others.append(context.Process(target=keep_up, args=(lake, stop, result)))
    for process in (*writers, *others):
        process.start()
    for number in range(n_rounds):
        _next_logs(top / "simulated" / "results", logs, number)
        start.wait()
        end.wait()
        for plan in _plans(logs, n_writers, n_rounds, seed):
            ingest(plan[number], alone, jobs=1)
    stop.set()
    reports = [result.get() for _ in (*writers, *others)]
    for process in (*writers, *others):
        process.join()
    return _judge(lake, alone, reports, n_writers * n_rounds)


def _plans(logs: Path, n_writers: int, n_rounds: int, seed: int) -> list[list[list[Path]]]:
    """For each writer and round the folders to be ingested: those of two writers overlap."""
    dice = random.Random(seed)
    return [
        [
            [logs / SHARED, *(logs / f"{number}-{part}" for part in dice.sample(range(N_PARTS), 3))]
            for number in range(n_rounds)
        ]
        for _ in range(n_writers)
    ]


def _next_logs(simulated: Path, logs: Path, number: int) -> None:
    """The logs of a round: those of new models in parts, and changes to those that all read."""
    change_logs(simulated, every=3, name=f"round-{number}")
    found = sorted(simulated.rglob("*.json"))
    for part in range(N_PARTS):
        folder = logs / f"{number}-{part}"
        folder.mkdir()
        for place, log in enumerate(found[part::N_PARTS]):
            shutil.copy(log, folder / f"{place}.json")
    for place, log in enumerate(found[number % 5 :: 5]):
        shutil.copy(log, logs / SHARED / f"{place}.json")


def write(lake: Path, plan: list[list[Path]], start: Barrier, end: Barrier, result: Any) -> None:
    """Ingests what the plan says, each round when all are ready, and again where a race is lost."""
    n_lost = 0
    faults = []
    for sources in plan:
        start.wait()
        for _ in range(_MOST_TRIES):
            try:
                ingest(sources, lake, jobs=1)
                break
            except LakeError as error:
                n_lost += 1
                if "again" not in str(error):
                    faults.append(str(error))
        else:
            faults.append(f"{_MOST_TRIES} races lost for {sources}")
        end.wait()
    result.put({"races lost": n_lost, "faults": faults})


def read(lake: Path, stop: Event, result: Any) -> None:
    """Reads one state after another, by polars and in SQL, and holds its tables together."""
    n_states, faults = 0, []
    while not stop.is_set():
        opened = open_lake(lake)
        games = opened.table("games").select("game_id", "n_messages").collect()
        ids = set(games["game_id"])
        for name in GAME_TABLES:
            found = set(opened.table(name).select("game_id").collect()["game_id"])
            if not found <= ids or (name in ("players", "results") and found != ids):
                faults.append(f"ingest {opened.ingest_id}: {name} and games differ")
        if games["n_messages"].sum() != opened.table("messages").select(pl.len()).collect().item():
            faults.append(f"ingest {opened.ingest_id}: messages and games differ")
        torn = pipeline.open_lake(lake).sql(
            "SELECT (SELECT count(*) FROM games) AS n, "
            "(SELECT count(DISTINCT game_id) FROM players) AS seated"
        )
        if torn["n"].item() != torn["seated"].item():
            faults.append(f"SQL: {torn.to_dicts()}")
        n_states += 1
    result.put({"states read": n_states, "faults": faults})


def keep_up(lake: Path, stop: Event, result: Any) -> None:
    """Merges the lake's files again and again."""
    n_merges = 0
    while not stop.is_set():
        maintain(lake)
        n_merges += 1
        time.sleep(0.5)
    result.put({"upkeeps": n_merges, "faults": []})


def _judge(lake: Path, alone: Path, reports: list[dict[str, Any]], n_ingests: int) -> int:
    faults = [fault for report in reports for fault in report.pop("faults")]
    # What became of each document depends on who came first, that of each game does not.
    found, expected = (tables(place, without=PROVENANCE) for place in (lake, alone))
    for each in (found, expected):
        del each["documents"]
    faults += [f"{name} differs from the sequential one" for name in differences(found, expected)]
    verified = verify(lake)
    faults += [f"magic verify: {row}" for row in verified.faults.to_dicts()]
    for report in reports:
        print(", ".join(f"{n} {what}" for what, n in report.items()))
    for fault in faults:
        print(fault)
    n_games = found["games"].height
    print(f"{n_ingests} ingests, {n_games} games in the end, {len(faults)} differences")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
