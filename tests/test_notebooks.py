"""The notebooks run from top to bottom on a lake of the sample."""

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

import nbformat
import pytest
from nbclient import NotebookClient

from pipeline.ingest import ingest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def sample_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lake = tmp_path_factory.mktemp("sample") / "lake"
    ingest(ROOT / "data" / "sample" / "results", lake)
    return lake


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path: Path, sample_lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAGIC_LAKE", str(sample_lake))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    shown = [out for cell in notebook.cells for out in cell.get("outputs", ())]
    assert any("image/png" in out.get("data", {}) for out in shown), "it draws no chart"
    assert not any(out["output_type"] == "error" for out in shown)


def test_are_kept_without_output() -> None:
    for path in NOTEBOOKS:
        for cell in nbformat.read(path, as_version=4).cells:
            assert not cell.get("outputs"), f"{path.name} is kept with output: clear it"


@pytest.mark.slow
def test_the_readmes_way_of_opening_one_serves_it(tmp_path: Path) -> None:
    """`jupyter lab NOTEBOOK`, of the extra `notebooks`, has the notebook's cells."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r"jupyter lab notebooks/first_look\.ipynb", readme)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = project["optional-dependencies"]["notebooks"]
    assert any(needed.startswith("jupyterlab") for needed in extra)
    shutil.copy(ROOT / "notebooks" / "first_look.ipynb", tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "first_look.ipynb", "--no-browser"]
    command += [f"--ServerApp.port={port}", "--IdentityProvider.token=open", "--allow-root"]
    places = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            command, cwd=tmp_path, env=os.environ | places, stdout=log, stderr=log
        )
    try:
        url = f"http://127.0.0.1:{port}/api/contents/first_look.ipynb?token=open"
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
