"""Makes README's pictures from the sample: `.venv/bin/python docs/pictures.py`.

It needs the development tools and Chromium.
"""

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "pages"))

from servers import start, stop  # noqa: E402

from pipeline.ingest import ingest  # noqa: E402


def main() -> None:
    with TemporaryDirectory() as folder, sync_playwright() as started:
        lake = Path(folder) / "lake"
        ingest(HERE.parent / "data" / "sample" / "results", lake)
        served = start(lake)
        row = served.json("/evidence.json?metric=judgement&model=sim-delta&hit=hits")["rows"][0]
        game = f"/game?game={row['game_id']}&metric=judgement#m{row['message_index']}"
        path = shutil.which("chromium")
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, address, height in (
            ("leaderboard", "/leaderboard", 480),
            ("transcript", game, 560),
        ):
            tab = browser.new_page(viewport={"width": 1280, "height": height})
            tab.goto(served.url(address))
            if name == "leaderboard":
                tab.evaluate("document.querySelector('footer').remove()")  # it names a folder
            tab.screenshot(path=HERE / f"{name}.png")
        stop(served)


if __name__ == "__main__":
    main()
