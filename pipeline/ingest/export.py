"""What was refused, written out as files.

Their names are numbers of our own, with one of a few endings: nothing that a log or an archive says
becomes a path.
"""

from pathlib import Path

import msgspec
import polars as pl

from pipeline.archives.names import document_ending
from pipeline.errors import UsageError
from pipeline.ingest.refused import refused
from pipeline.lake import open_lake
from pipeline.replacing import replacing

MANIFEST = "manifest.json"
# `file` is null where a document was never read; `is_cut` where the lake has only its beginning.
MANIFEST_SCHEMA: dict[str, pl.DataType] = {
    "file": pl.String(),
    "is_cut": pl.Boolean(),
    "n_written": pl.Int64(),
    "n_bytes": pl.Int64(),
    "source": pl.String(),
    "path": pl.String(),
    "sha256": pl.String(),
    "game_id": pl.String(),
    "rules": pl.List(pl.String()),
}


def export(lake: str | Path, folder: str | Path) -> pl.DataFrame:
    """Writes the bytes of each document in quarantine, and at last a manifest; returns its rows.

    A whole document is in a file that ends as its own does, `.json` for most, one whose beginning
    alone the lake has in one that ends in `.cut`. Raises UsageError for a folder that has something
    in it.
    """
    opened, folder = open_lake(lake), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise UsageError(f"{folder}: the folder is not empty; choose a new one")
    rows = []
    for number, refusal in enumerate(refused(opened), start=1):
        name = None
        if refusal.raw is not None:
            ending = document_ending(refusal.key[1]) if refusal.is_whole else ".cut"
            name = f"document-{number:06d}{ending}"
            with (folder / name).open("xb") as file:
                file.write(refusal.raw)
        written = None if refusal.raw is None else len(refusal.raw)
        rules = [fault.rule for fault in refusal.faults]
        is_cut = refusal.raw is not None and not refusal.is_whole
        rows.append((name, is_cut, written, refusal.n_bytes, *refusal.key, refusal.game_id, rules))
    manifest = pl.DataFrame(rows, MANIFEST_SCHEMA, orient="row")
    text = msgspec.json.format(msgspec.json.encode(manifest.to_dicts()), indent=1)
    with replacing(folder / MANIFEST) as draft:
        draft.write_bytes(text + b"\n")
    return manifest
