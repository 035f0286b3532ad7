"""The notebooks run from top to bottom on a lake of the sample, and show what is kept."""

import json
import re
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
def test_runs_and_shows_what_is_kept_for_a_release(
    path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """What it shows is compared before a release, so that a new metric does not change it."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    found = executed(path, folder).cells
    if not pytestconfig.getoption("long"):
        return
    for before, after in zip(kept(path).cells, found, strict=True):
        assert shown(before) == shown(after), f"{before['id']}: {RENEW_FOR_RELEASE}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_kept_as_it_was_run(path: Path) -> None:
    """In order, without an error, a time or a place of the machine, and with a picture early."""
    text = path.read_text(encoding="utf-8")
    cells = json.loads(text)["cells"]
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
