"""Opens an export with its own reader, and prints what that says as JSON.

Run by a Python that has the readers, not by that of the project: `reading.py KIND PATH`.
"""

import asyncio
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any


def battles(path: Path) -> dict[str, Any]:
    import evalica
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    rows = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    won = evalica.Winner
    winners = {"model_a": won.X, "model_b": won.Y, "tie": won.Draw}
    scores = evalica.bradley_terry(rows.model_a, rows.model_b, rows.winner.map(winners)).scores
    pairs = PairDataset.from_pandas(rows)
    rated = BradleyTerry(n_competitors=len(pairs.competitors)).compute_ratings_and_cis(pairs)
    return {
        "n_rows": len(rows),
        "evalica": scores.to_dict(),
        "arena_rank": dict(zip(rated["competitors"], map(float, rated["ratings"]), strict=True)),
    }


def inspect_scout(path: Path) -> dict[str, Any]:
    from inspect_scout import transcripts_from
    from inspect_scout._transcript.database.schema import validate_transcript_schema
    from inspect_scout._transcript.types import TranscriptContent

    async def read() -> dict[str, Any]:
        found = {}
        async with transcripts_from(str(path)).reader() as reader:
            async for info in reader.index():
                one = await reader.read(info, TranscriptContent(messages="all"))
                found[info.transcript_id] = {
                    "model": info.model,
                    "success": info.success,
                    "trust_content": info.trust_content,
                    "role": dict(info.metadata)["role"],
                    "messages": [(message.role, message.text) for message in one.messages],
                }
        return found

    faults = [fault.message for fault in validate_transcript_schema(path)]
    return {"faults": faults, "transcripts": asyncio.run(read())}


def dataset(path: Path) -> dict[str, Any]:
    import mlcroissant

    opened = mlcroissant.Dataset(jsonld=path / "croissant.json")
    issues = opened.metadata.issues
    counts = {one.id: len(list(opened.records(one.id))) for one in opened.metadata.record_sets}
    return {"errors": [*issues.errors], "warnings": [*issues.warnings], "rows": counts}


def main(kind: str, path: str) -> None:
    readers = {"battles": battles, "inspect-scout": inspect_scout, "dataset": dataset}
    libraries = ("arena-rank", "evalica", "inspect-scout", "mlcroissant")
    said = readers[kind](Path(path).resolve())
    print(json.dumps({**said, "versions": {name: version(name) for name in libraries}}))


if __name__ == "__main__":
    main(*sys.argv[1:])
