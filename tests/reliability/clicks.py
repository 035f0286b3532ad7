"""Clients click through `magic view` while ingests commit: no error, no torn page.

Each answer says of which ingest it is; all answers for one page and one ingest must be equal. At
the end, Ctrl-C must end the server within a second.
"""

import argparse
import itertools
import json
import random
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "pages"))

from lab import (  # noqa: E402
    magic as command,
    undisturbed,
    write_logs,
)
from servers import Served, start, stop  # noqa: E402

PAGES = (
    *("leaderboard", "metric?metric=judgement", "completeness", "games", "tables", "audit"),
    *("evidence?metric=reasoning", "documents", "search?words=vote"),
)
SECONDS_TO_END = 1.0
OK, ENDED_WELL = 200, 0


def main(arguments: list[str]) -> int:
    """Clicks for so many seconds; 1 where an answer is an error or two states are mixed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--pause", type=float, default=1.0, help="mean seconds between two clicks")
    parser.add_argument("--ending", type=float, default=SECONDS_TO_END, help="to end by Ctrl-C")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="magic-clicks-") as folder:
        return run(Path(folder), asked)


def run(top: Path, asked: argparse.Namespace) -> int:
    """Clicks while one part of the logs after another is ingested, and then all again."""
    parts = sorted(path for path in write_logs(top / "logs", 560).iterdir() if path.is_dir())
    ingest(parts[0], top / "lake")
    served = start(top / "lake")
    is_over, pause = Event(), asked.seconds / (2 * len(parts))
    seen: dict[tuple[str, int], set[str]] = defaultdict(set)
    with ThreadPoolExecutor(asked.clients) as pool:
        clients = [
            pool.submit(click, served, number, asked.pause, seen, is_over)
            for number in range(asked.clients)
        ]
        end = time.monotonic() + asked.seconds
        for part in itertools.chain(parts[1:], itertools.cycle(parts)):
            is_over.wait(min(pause, max(0.0, end - time.monotonic())))
            if time.monotonic() >= end:
                break
            ingest(part, top / "lake")
        is_over.set()
        wrong = [fault for client in clients for fault in client.result()]
    began = time.monotonic()
    code = stop(served)
    seconds = time.monotonic() - began
    ingests = sorted({ingest_id for _, ingest_id in seen})
    wrong += [
        f"{page}: two answers after ingest {n}" for (page, n), all_ in seen.items() if len(all_) > 1
    ]
    if code != ENDED_WELL or seconds > asked.ending:
        wrong.append(f"Ctrl-C ended the server with exit code {code} after {seconds:.2f} s")
    if len(ingests) < 2:
        wrong.append(f"only the states after ingests {ingests} were seen")
    for fault in wrong:
        print(fault)
    print(
        f"{asked.clients} clients, {asked.seconds:g} s: pages of {len(ingests)} states, "
        f"ended in {seconds:.2f} s; {len(wrong)} differences"
    )
    return int(bool(wrong))


def ingest(part: Path, lake: Path) -> None:
    undisturbed(command("ingest", part, "--lake", lake))


def click(
    served: Served,
    number: int,
    pause: float,
    seen: dict[tuple[str, int], set[str]],
    is_over: Event,
) -> list[str]:
    """Opens one page after another; what is wrong with those that are no answer."""
    dice, wrong = random.Random(number), []
    while not is_over.wait(dice.uniform(0, 2 * pause)):
        page = dice.choice(PAGES)
        name, _, parameters = page.partition("?")
        answer = served.get(f"/{name}.json?{parameters}")
        if answer.status != OK:
            wrong.append(f"{page}: {answer.status} {answer.text[:200]}")
            continue
        found = json.loads(answer.text)
        seen[page, found["ingest"]].add(json.dumps(found["rows"]))
    return wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
