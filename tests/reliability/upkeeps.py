"""Kills and interrupts `magic maintain` at random instants: what opens afterwards, what is left.

Half of the ends come right when a table's commit appears, every second of these when that of
`ingests` does, which makes all of it visible. An upkeep changes which files hold the rows, and
nothing else: whenever it ends the lake has to open with every row as it was, and `magic verify` has
to find no fault; the next upkeep has to leave no file that the lake does not name.
"""

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from lab import Tables, differences, instant, started, tables, undisturbed, write_logs

from pipeline.errors import LakeError
from pipeline.events.contracts import TABLES
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.lake.maintain import maintain
from pipeline.lake.tables import COMMITS_TABLE
from pipeline.verify import verify

SIGNALS = {"killed": signal.SIGKILL, "Ctrl-C": signal.SIGINT}
AT_RANDOM = "any time"
_SECONDS_TO_END = 60


def main(arguments: list[str] | None = None) -> int:
    """Ends an upkeep as often as asked for; 1 if anything was not as it has to be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=120)
    parser.add_argument("--games", type=int, default=280)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="magic-upkeeps-") as folder:
        return run(Path(folder), asked.times, asked.games, asked.seed)


def run(top: Path, times: int, n_games: int, seed: int) -> int:
    """Ends so many upkeeps of a lake of so many games, each model's ingested by itself."""
    dice = random.Random(seed)
    for model in sorted(path for path in write_logs(top / "logs", n_games).iterdir()):
        ingest(model, top / "base", jobs=1)
    before = tables(top / "base")
    shutil.copytree(top / "base", top / "undisturbed")
    seconds = undisturbed(started("maintain", "--lake", top / "undisturbed"))
    print(f"{before['games'].height} games, {seconds:.1f} s undisturbed, seed {seed}", flush=True)
    committed = [table for table in TABLES if table != COMMITS_TABLE and before[table].height]
    result: Counter[str] = Counter()
    wrong = []
    for number in range(times):
        lake = top / "lake"
        shutil.rmtree(lake, ignore_errors=True)
        shutil.copytree(top / "base", lake)
        how = list(SIGNALS)[number % 2]
        when = (AT_RANDOM, COMMITS_TABLE, AT_RANDOM, dice.choice(committed))[number // 2 % 4]
        faults = _end(lake, how, when, instant(dice, seconds)) + _state(lake, before)
        is_done = not faults and open_lake(lake).ingest_id > open_lake(top / "base").ingest_id
        result[f"{how} at {when}, {'merged' if is_done else 'as before'}"] += 1
        faults = faults or _again(lake, before)
        if faults:
            wrong.append(f"{number}, {how} at {when}: {'; '.join(faults)}")
            print(wrong[-1], flush=True)
    for kind, n in sorted(result.items()):
        print(f"{n:5} {kind}")
    print(f"{times} upkeeps ended, {len(wrong)} differences")
    return int(bool(wrong))


def _end(lake: Path, how: str, when: str, at: float) -> list[str]:
    """Ends an upkeep at an instant, or when a table's next commit appears; what is wrong then."""
    upkeep = started("maintain", "--lake", lake)
    if when == AT_RANDOM:
        time.sleep(at)
    else:
        log = lake / when / "_delta_log"
        commit = log / f"{len(list(log.glob('*.json'))):020d}.json"
        while not commit.exists() and upkeep.poll() is None:
            pass  # a pause would miss what comes right after
    upkeep.send_signal(SIGNALS[how])
    try:
        _, complaint = upkeep.communicate(timeout=_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        upkeep.kill()
        return ["the upkeep goes on"]
    # Python ends by the signal itself where that comes when all is done and it is taken down. In
    # a library's call of Python the interrupt can become an error of that library.
    is_ended = upkeep.returncode in (0, 130, -SIGNALS[how]) and "Traceback" not in complaint
    return [] if is_ended or "Exception ignored in" in complaint else [complaint or "no word"]


def _state(lake: Path, before: Tables) -> list[str]:
    """What is wrong with a lake of which the upkeep was ended."""
    try:
        faults = differences(tables(lake), before)
    except (LakeError, OSError) as error:
        return [str(error)]
    if not (verified := verify(lake)).is_whole:
        faults.append(f"magic verify: {verified.faults['check'].to_list()}")
    return faults


def _again(lake: Path, before: Tables) -> list[str]:
    """Does the upkeep once more; what is wrong then."""
    maintain(lake, keep_days=0, older_than_hours=0)
    faults = differences(tables(lake), before)
    opened = open_lake(lake)
    for table in TABLES:
        lying = {str(file) for file in (lake / table).glob("*.parquet")}
        if lying != set(opened.table_files(table)):
            faults.append(f"files of {table}")
    return faults


if __name__ == "__main__":
    sys.exit(main())
