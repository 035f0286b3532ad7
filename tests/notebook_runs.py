"""The notebooks, run on a lake of the sample; `make generated RELEASE=1` renews their outputs."""

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from pipeline.ingest import ingest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SAMPLE = ROOT / "data" / "sample" / "results"
_SVG = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_SAID = re.compile(r'aria-label="([^"]*)"|<text\b[^>]*>([^<]*)')


def checkout(folder: Path) -> Path:
    """A folder like a checkout after `make demo`: a lake of the sample beside the notebooks."""
    shutil.copytree(ROOT / "notebooks", folder / "notebooks")
    ingest(SAMPLE, folder / "lake")
    return folder


def kept(path: Path) -> Any:
    """The notebook as its file has it."""
    # Imported here: it takes a second, and each process of the tests loads this module.
    import nbformat

    return nbformat.read(path, as_version=4)


def executed(path: Path, folder: Path) -> Any:
    """The notebook run from top to bottom, without what differs from run to run."""
    from nbclient import NotebookClient

    notebook = kept(path)
    where = {"metadata": {"path": str(folder / "notebooks")}}
    NotebookClient(notebook, timeout=300, record_timing=False, resources=where).execute()
    for cell in notebook.cells:
        cell.metadata = {}
    notebook.metadata.get("language_info", {}).pop("version", None)
    return notebook


def shown(cell: Any) -> list[Any]:
    """A cell's outputs. Of a drawing only what it says: where that is depends on the fonts.

    What is printed is one output: in how many pieces it comes is chance.
    """
    outputs: list[dict[str, str]] = []
    was_printed = False
    for output in cell.get("outputs", ()):
        is_printed = output["output_type"] == "stream"
        data = output.get("data", {"text/plain": output.get("text", output.get("ename"))})
        said = {kind: _SVG.sub(_said, "".join(text)) for kind, text in data.items()}
        if is_printed and was_printed:
            outputs[-1]["text/plain"] += said["text/plain"]
        else:
            outputs.append(said)
        was_printed = is_printed
    return outputs


def _said(svg: re.Match[str]) -> str:
    return str(sorted("".join(one) for one in _SAID.findall(svg[0])))


def main() -> None:
    import nbformat

    with tempfile.TemporaryDirectory() as name:
        folder = checkout(Path(name))
        for path in NOTEBOOKS:
            nbformat.write(executed(path, folder), path)
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
