"""Makes the pictures of README from the sample: the leaderboard and a transcript.

Run it from the checkout, with the development tools installed: `.venv/bin/python
docs/pictures/make.py`. It needs a Chromium, from $CHROMIUM or on the path.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

import pipeline
from pipeline.ingest import ingest

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parent.parent / "data" / "sample" / "results"
METRIC = "judgement"


@contextmanager
def viewer(lake: Path) -> Iterator[str]:
    """The address of a server for the lake, which ends with the block."""
    command = [sys.executable, "-m", "pipeline.cli", "view", "--no-browser", "--port", "0"]
    with subprocess.Popen(
        [*command, "--lake", str(lake)], stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stderr
            for line in server.stderr:
                if found := re.search(r"http://\S+?(?=/?\s|/?$)", line):
                    yield found[0]
                    break
        finally:
            server.terminate()


def main() -> None:
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with TemporaryDirectory() as scratch, sync_playwright() as driver:
        lake = Path(scratch) / "lake"
        ingest(SAMPLE, lake)
        counted = pipeline.open_lake(lake).evidence(METRIC).drop_nulls("message_index")
        game, index = counted.row(0, named=True)["game_id"], counted["message_index"][0]
        with viewer(lake) as address:
            browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1400, "height": 470})
            page.goto(address)
            page.screenshot(path=HERE / "leaderboard.png")
            page.set_viewport_size({"width": 1100, "height": 620})
            page.goto(f"{address}/game?game={game}#m{index}")
            message = page.locator(f"#m{index}")
            message.evaluate("row => row.scrollIntoView({block: 'center', behavior: 'instant'})")
            # Without the last line of the page, which names the place of the lake.
            above = {"x": 0, "y": 0, "width": 1100, "height": 565}
            page.screenshot(path=HERE / "transcript.png", clip=above)
            browser.close()


if __name__ == "__main__":
    main()
