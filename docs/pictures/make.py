"""Makes the pictures of README from the sample: the leaderboard and a transcript.

`make generated RELEASE=1` runs it if a picture is out of date. It needs a Chromium, from $CHROMIUM
or on the path. `made-of.txt` holds a hash of what the pictures show; with `--check`, nothing is
made, and the exit code is 1 if they are out of date.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

import pipeline
from pipeline.ingest import ingest
from pipeline.pages.templating import TEMPLATES
from pipeline.server.app import PageRequest, render_reply

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parent.parent / "data" / "sample" / "results"
METRIC = "judgement"
MADE_OF = HERE / "made-of.txt"


@contextmanager
def viewer(lake: Path) -> Iterator[str]:
    """Start a server for the lake, yield its address, and terminate it after the block."""
    command = [sys.executable, "-m", "pipeline", "view", "--no-browser", "--port", "0"]
    with subprocess.Popen(
        [*command, "--lake", str(lake)], stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stderr
            for line in server.stderr:
                if match := re.search(r"http://\S+?(?=/?\s|/?$)", line):
                    yield match[0]
                    break
        finally:
            server.terminate()


def choose_game_and_message(lake: pipeline.Lake) -> tuple[str, int]:
    """Return the id of the game for the transcript, and the index of the message to center."""
    counted = lake.evidence(METRIC).drop_nulls("message_index")
    return counted["game_id"][0], counted["message_index"][0]


def digest() -> str:
    """Return a hash of the pages in the pictures, with their frame and their style."""
    with TemporaryDirectory() as scratch:
        ingest(SAMPLE, Path(scratch) / "lake")
        lake = pipeline.open_lake(Path(scratch) / "lake")
        game, _ = choose_game_and_message(lake)
        pages = (
            PageRequest("leaderboard", "html", {}),
            PageRequest("game", "html", {"game": game}),
        )
        texts = [render_reply(lake, page).text for page in pages]
    files = (TEMPLATES / "frame.html", TEMPLATES.parent / "static" / "style.css")
    texts += [file.read_text("utf-8") for file in files]
    return sha256("\0".join(texts).encode()).hexdigest()


def main() -> None:
    """Take both pictures in a browser and write the hash of their pages."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with TemporaryDirectory() as scratch, sync_playwright() as driver:
        lake = Path(scratch) / "lake"
        ingest(SAMPLE, lake)
        game, index = choose_game_and_message(pipeline.open_lake(lake))
        with viewer(lake) as address:
            browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1400, "height": 470})
            page.goto(address)
            page.locator("#leaderboard").wait_for(timeout=120_000)
            page.screenshot(path=HERE / "leaderboard.png")
            page.set_viewport_size({"width": 1100, "height": 620})
            page.goto(f"{address}/game?game={game}#m{index}")
            message = page.locator(f"#m{index}")
            message.evaluate("row => row.scrollIntoView({block: 'center', behavior: 'instant'})")
            # Without the last line of the page, which names the place of the lake.
            above = {"x": 0, "y": 0, "width": 1100, "height": 565}
            page.screenshot(path=HERE / "transcript.png", clip=above)
            browser.close()
    MADE_OF.write_text(f"{digest()}\n")


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(digest() != MADE_OF.read_text().strip())
    main()
