"""A SQL tool that is not ours opens `magic.duckdb`, and shows a user what is in the lake."""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import pipeline

catalog = pytest.importorskip("pipeline.catalog")

TOP = Path(__file__).parent.parent
SECONDS = 120
# It pins the versions of what it is made of, so it has an environment of its own.
HARLEQUIN = shutil.which(os.environ.get("HARLEQUIN", "harlequin"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        HARLEQUIN is None, reason="no Harlequin: install it apart, and name it in $HARLEQUIN"
    ),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux on this machine"),
]


class Screen:
    """A terminal of its own, in which a program runs."""

    def __init__(self, folder: Path, *command: str) -> None:
        self._tmux = ["tmux", "-S", str(folder / "tmux")]
        size = ["-x", "160", "-y", "60"]
        homes = {f"XDG_{kind}_HOME": folder / kind for kind in ("CONFIG", "DATA", "CACHE", "STATE")}
        environment = [f"{name}={path}" for name, path in homes.items()]
        # UTF-8 whatever the machine's own locale is.
        words = ["env", "-u", "COLUMNS", "-u", "LINES", "LC_ALL=C.UTF-8", *environment, *command]
        self._run("-f", os.devnull, "-u", "new-session", "-d", *size, shlex.join(words))

    def _run(self, *words: str) -> str:
        return subprocess.check_output([*self._tmux, *words], text=True)

    def press(self, *keys: str) -> None:
        self._run("send-keys", *keys)

    def type(self, text: str) -> None:
        self._run("send-keys", "-l", text)

    def wait_for(self, *texts: str) -> None:
        """Returns as soon as the screen shows all of the texts."""
        end = time.monotonic() + SECONDS
        while not all(text in (shown := self._run("capture-pane", "-p")) for text in texts):
            assert time.monotonic() < end, f"{texts} not in:\n{shown}"
            time.sleep(0.2)

    def close(self) -> None:
        self._run("kill-server")


@pytest.fixture
def lake(sample_lake: Path, tmp_path: Path) -> Path:
    path = tmp_path / "lake"
    shutil.copytree(sample_lake, path)
    catalog.renew(path)
    return path


@pytest.fixture
def harlequin(lake: Path, tmp_path: Path) -> Iterator[Screen]:
    options = ["--read-only", "--locale", "C", "--no-download-tzdata"]
    screen = Screen(tmp_path, str(HARLEQUIN), *options, str(lake / "magic.duckdb"))
    yield screen
    screen.close()


def test_harlequin_lists_the_schemas_and_runs_a_query(harlequin: Screen, lake: Path) -> None:
    harlequin.wait_for("Query Editor", "magic db")
    harlequin.press("F6")  # to the tree; the line at the bottom says what its keys do
    harlequin.wait_for("Insert Name")
    harlequin.press("Enter")
    harlequin.wait_for("audit sch", "evidence sch", "main sch", "release sch", "terms sch")
    harlequin.press("F2")  # to the editor
    harlequin.wait_for("Format Query")
    harlequin.type(
        "SELECT 'hits: ' || sum(hit)::INT AS answer FROM evidence.judgement "
        "WHERE edition = 'paper' AND model = 'sim-delta'"
    )
    harlequin.press("C-j")
    (row,) = (
        pipeline.open_lake(lake)
        .metrics(metric="judgement", by=["model"])
        .filter(model="sim-delta")
        .rows(named=True)
    )
    harlequin.wait_for(f"hits: {row['hits']:.0f}")
