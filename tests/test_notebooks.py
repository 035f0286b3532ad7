"""The notebooks run from top to bottom on a lake of the sample, and show what is kept."""

import ast
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from pathlib import Path

import pytest
from generated import RENEW_FOR_RELEASE
from notebook_runs import NOTEBOOKS, ROOT, checkout, executed, kept, shown


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkout(tmp_path_factory.mktemp("sample"))


@pytest.mark.some(1)
@pytest.mark.slow(seconds=10)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_and_shows_what_is_kept(
    path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    before_run = kept(path).cells
    found = executed(path, folder).cells
    for before, after in zip(before_run, found, strict=True):
        assert shown(before) == shown(after), f"{before['id']}: {RENEW_FOR_RELEASE}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_kept_as_it_was_run(path: Path) -> None:
    """In order, without an error, a time or a place of the machine, and with a picture early."""
    text = path.read_text(encoding="utf-8")
    cells = kept(path).cells
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert all(re.fullmatch(r"[a-z][a-z-]+", cell["id"]) for cell in cells)
    assert all(not cell["metadata"] for cell in cells)
    outputs = [out for cell in code for out in cell["outputs"]]
    assert {out["output_type"] for out in outputs} <= {"execute_result", "stream"}
    assert all(out.get("name") != "stderr" for out in outputs)
    assert not re.search(r"/(home|root|tmp|work|Users)/|\d\d:\d\d:\d\d", text)
    first = code[0]["outputs"][0]["data"]
    assert "image/svg+xml" in first or "<svg" in "".join(first["text/html"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_defines_little_and_imports_what_is_public(path: Path) -> None:
    cells = kept(path).cells
    code = "\n".join(cell["source"] for cell in cells if cell["cell_type"] == "code")
    tree = ast.parse(code)
    assert sum(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in ast.walk(tree)) <= 1
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names}
            module = getattr(node, "module", None)
            assert module is None or (module == "pipeline" and names <= {"plots"})
            assert module or names <= {"altair", "polars", "pipeline"}
        if isinstance(node, ast.Attribute):
            assert node.attr[0] != "_"


@pytest.mark.slow
def test_the_readmes_way_of_opening_one_serves_it(tmp_path: Path) -> None:
    """`jupyter lab NOTEBOOK`, of the extra `notebooks`, has the notebook's cells."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r"jupyter lab notebooks/01_first_look\.ipynb", readme)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = project["optional-dependencies"]["notebooks"]
    assert any(needed.startswith("jupyterlab") for needed in extra)
    shutil.copy(ROOT / "notebooks" / "01_first_look.ipynb", tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "01_first_look.ipynb", "--no-browser"]
    command += [f"--ServerApp.port={port}", "--IdentityProvider.token=open", "--allow-root"]
    places = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=tmp_path, env=os.environ | places, stdout=log, stderr=log
        )
    try:
        url = f"http://127.0.0.1:{port}/api/contents/01_first_look.ipynb?token=open"
        result = json.loads(answer(url, server))
    finally:
        server.terminate()
        server.wait(30)
    assert result["type"] == "notebook"
    assert result["content"]["cells"]


def answer(url: str, server: subprocess.Popen[bytes]) -> bytes:
    """What the server answers, once it does."""
    for _ in range(300):
        assert server.poll() is None
        try:
            with urllib.request.urlopen(url, timeout=10) as answered:
                return answered.read()
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the server does not answer")
