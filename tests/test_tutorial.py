"""The tutorial, done word for word in a clean clone: its commands run and print what it shows.

The clone borrows this environment, but for its own modules; CI makes one itself.
"""

import os
import re
import shutil
import subprocess
import sysconfig
import venv
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.slow(seconds=15)

ROOT = Path(__file__).resolve().parent.parent
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
END = "-- end of the block --"
MAGIC = "import sys\nfrom pipeline.cli import main\nsys.exit(main())\n"
MADE = """
import json, sys
from pathlib import Path
from environment import wanted
folder = Path(sys.argv[1])
(folder / "made-of.json").write_text(json.dumps(wanted(folder, "run")))
"""


class Block(NamedTuple):
    """Commands, and the text that the page shows after them."""

    commands: str
    shown: str


def blocks(page: str) -> list[Block]:
    """The page's blocks of commands, each with the output that follows it, if one does."""
    found: list[Block] = []
    for language, text in FENCED.findall(page):
        if language == "sh":
            found.append(Block(text, ""))
        else:
            assert language == "text" and found and not found[-1].shown, text
            found[-1] = Block(found[-1].commands, text)
    return found


def is_shown(shown: str, printed: str) -> bool:
    """Whether all that was printed is shown; `…` stands for any text, and alone for any lines."""
    parts = []
    for line in shown.splitlines():
        text = "[^\n]*?".join(re.escape(part) for part in line.rstrip().split("…"))
        parts.append("(?:[^\n]*\n)*?" if line == "…" else f"{text}[ ]*\n")
    return re.fullmatch("".join(parts), printed) is not None


@pytest.fixture
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("not a git checkout: there is nothing to clone")
    top = tmp_path_factory.mktemp("clean")
    folder = top / "clone"
    # The checkout can belong to another user, as in a container.
    (top / "gitconfig").write_text("[safe]\n\tdirectory = *\n")
    subprocess.run(
        ["git", "clone", "--quiet", "--no-hardlinks", ROOT, folder],
        env={**os.environ, "GIT_CONFIG_GLOBAL": str(top / "gitconfig")},
        check=True,
    )
    return folder


def borrow_environment(clone: Path) -> None:
    """Gives the clone an environment that `make demo` takes for its own, made of this one."""
    environment = clone / ".venv"
    venv.create(environment, symlinks=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(f"{clone}\n{sysconfig.get_path('purelib')}\n")
    command = environment / "bin" / "magic"
    command.write_text(f"#!{environment / 'bin' / 'python'}\n{MAGIC}")
    command.chmod(0o755)
    subprocess.run(
        [environment / "bin" / "python", "-c", MADE, str(environment)],
        cwd=clone / "requirements",
        check=True,
    )


def test_tutorial_word_for_word(clone: Path) -> None:
    borrow_environment(clone)
    steps = blocks((clone / "docs" / "tutorial.md").read_text(encoding="utf-8"))
    assert len(steps) >= 8
    script = "set -e\n" + "".join(f"{step.commands}echo '{END}'\n" for step in steps)
    kept = {"HOME", "LANG", "TMPDIR"}
    path = os.pathsep.join(
        folder for folder in os.environ["PATH"].split(os.pathsep) if ".venv" not in folder
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=clone,
        env={name: os.environ[name] for name in kept & set(os.environ)} | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    printed = done.stdout.split(f"{END}\n")
    for step, output in zip(steps, printed, strict=False):
        if step.shown:
            assert is_shown(step.shown, output), f"{step.commands}printed\n{output}"
