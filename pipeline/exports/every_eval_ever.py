"""Values of metrics as Every Eval Ever 0.3 stores them: a file for each model, and one of samples.

A result is a model's value of a metric for a game type, or for `all`. A sample is one row that a
metric counts: the message is the output, and `answer_attribution` says what was read from it.
The folders are those of its datastore: `data/COLLECTION/DEVELOPER/MODEL/UUID.json`.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl
from msgspec import Struct, json

from pipeline.atomic_files import new_folder
from pipeline.exports import Exported, instant, write_json
from pipeline.lake import StoredLake
from pipeline.metrics import ALL_GAME_TYPES, DEFAULT_CONFIDENCE, metrics
from pipeline.metrics.evidence import evidence_parts
from pipeline.metrics.registry import metric_names, metric_spec as declaration, metric_title
from pipeline.reports.cite import BENCHMARK_CITATION, EDITION_DESCRIPTIONS, cite
from pipeline.text_format import format_count, to_json_text
from pipeline.version import __version__
from pipeline.vocabulary import AUDITED, PAPER, Edition

SCHEMA_VERSION = "0.3.0"
UNKNOWN = "unknown"
_LONGEST_NAME = 200  # bytes, of 255 that a name of a folder can have
_NOT_PORTABLE = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
_RESERVED = re.compile(r"$|\.|(CON|PRN|AUX|NUL|COM\d|LPT\d)(\.|$)|data$", re.IGNORECASE)
# What a result has in places of its own.
_PLACED = ("edition", "metric", "model", "game_type", "value", "ci_low", "ci_high", "ci_method")
_ID = ("game_id", "term", "round", "seat")
_ABOUT = ("game_id", "message_index", "term", "seat", "player", "role", "round", "parse_status")


class _Record(Struct):
    """A model's file without its ending, its id, and the hash of the `n_samples` lines beside it.

    `results` are the ids of its values, by metric and game type.
    """

    model: str
    path: str
    id: str
    results: dict[tuple[str, str], str]
    sha256: Any
    n_samples: int = 0


def write(
    lake: StoredLake,
    destination: Path,
    *,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
    without_samples: bool = False,
    organization: str = UNKNOWN,
    date: str | None = None,
) -> Exported:
    """Writes the values of all metrics and what they count to a new folder.

    A value that is unknown, and one of a model without a name, cannot be said and is left out.
    """
    at = str(int(instant(lake, date).timestamp()))
    rows = metrics(lake, edition=edition, confidence=confidence)
    known = rows.drop_nulls(["model", "value"])
    collection = _component(lake.system or "magic")
    of_models = known.partition_by("model", as_dict=True, maintain_order=True)
    records = {
        model: _record(of_model, model, collection, at) for (model,), of_model in of_models.items()
    }
    with new_folder(destination) as folder:
        for record in records.values():
            (folder / record.path).parent.mkdir(parents=True, exist_ok=True)
        n_left = 0 if without_samples else _write_samples(lake, edition, folder, records)
        for model, record in records.items():
            values = of_models[model,].iter_rows(named=True)
            results = [_result(row, record, confidence) for row in values]
            about = _about(lake, record, edition, organization, at)
            write_json(folder / f"{record.path}.json", about | {"evaluation_results": results})
    n_samples = sum(record.n_samples for record in records.values())
    notes = _notes(rows.height - known.height, n_samples, n_left, [*records])
    return Exported(destination, known.height + n_samples, notes)


def _notes(n_values: int, n_samples: int, n_left: int, models: list[str]) -> tuple[str, ...]:
    flat = [model for model in models if "/" not in model]
    more = f" and {len(flat) - 5:,} more" * (len(flat) > 5)
    notes = {
        f"{format_count(n_samples, 'sample')} behind the values": n_samples,
        f"left out: {format_count(n_values, 'value')} unknown, or of a nameless model": n_values,
        f"left out: {format_count(n_left, 'sample')} of such values, or of unknown outcome": n_left,
        f"filed under the developer `{UNKNOWN}`: {', '.join(flat[:5])}{more}; name them as in "
        "`developer/model` by --names": len(flat),
    }
    return tuple(note for note, n in notes.items() if n)


def _record(rows: pl.DataFrame, model: str, collection: str, at: str) -> _Record:
    ids = {
        (metric, game_type): f"{metric}/{game_type}/{edition}"
        for metric, game_type, edition in rows.select("metric", "game_type", "edition").iter_rows()
    }
    id_ = f"{collection}/{model}/{at}"
    folders = model.partition("/")[::2] if "/" in model else (UNKNOWN, model)
    # A UUID of version 4 is what the datastore asks for; a random one would differ each time.
    unique = sha256("\n".join([id_, *ids.values()]).encode()).digest()
    uuid = UUID(bytes=unique[:16], version=4)
    path = "/".join(["data", collection, *map(_component, folders), str(uuid)])
    return _Record(model, path, id_, ids, sha256())


def _component(name: str) -> str:
    """A name as that of a folder on any system, as the datastore writes it."""
    short = name.encode()[:_LONGEST_NAME].decode(errors="ignore")
    portable = _NOT_PORTABLE.sub("_", short).rstrip(". ")
    return f"_{portable}" if _RESERVED.match(portable) else portable


def _about(
    lake: StoredLake, record: _Record, edition: Edition, organization: str, at: str
) -> dict[str, Any]:
    """What a file says besides its results."""
    developer, slash, _ = record.model.partition("/")
    samples = {
        "format": "jsonl",
        "file_path": f"{record.path}_samples.jsonl",
        "hash_algorithm": "sha256",
        "checksum": record.sha256.hexdigest(),
        "total_rows": record.n_samples,
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": record.id,
        "retrieved_timestamp": at,
        "source_metadata": {
            "source_name": "magic-pipeline",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": "other",
            "additional_details": {"state": cite(lake, edition=edition).citation_sentence},
        },
        "eval_library": {"name": "magic-pipeline", "version": __version__},
        "model_info": {
            "name": record.model,
            "id": record.model,
            "developer": developer if slash else UNKNOWN,
            "additional_details": {"deployment_type": UNKNOWN, "model_availability": UNKNOWN},
        },
        **({"detailed_evaluation_results": samples} if record.n_samples else {}),
    }


def _result(row: Mapping[str, Any], record: _Record, confidence: float) -> dict[str, Any]:
    """A value with its interval, and what was counted; all details are texts."""
    metric, game_type, edition = row["metric"], row["game_type"], row["edition"]
    details = {
        name: value if isinstance(value, str) else to_json_text(value)
        for name, value in row.items()
        if name not in _PLACED and value not in (None, [])
    }
    interval = {"lower": row["ci_low"], "upper": row["ci_high"], "confidence_level": confidence}
    uncertainty = {
        "confidence_interval": interval | {"method": row["ci_method"] or UNKNOWN},
        **({} if row["counted"] is None else {"num_samples": row["counted"]}),
    }
    has_interval = row["ci_low"] is not None and row["ci_high"] is not None
    return {
        "evaluation_result_id": record.results[metric, game_type],
        "evaluation_name": f"{metric}/{game_type}",
        "source_data": {
            "dataset_name": f"games of the system {row['system'] or UNKNOWN}",
            "source_type": "other",
            "additional_details": {"game_type": game_type, "benchmark": BENCHMARK_CITATION},
        },
        "metric_config": {
            "evaluation_description": f"{metric_title(metric)}: {EDITION_DESCRIPTIONS[edition]}",
            "metric_id": f"magic.{metric}",
            "metric_name": metric_title(metric),
            "metric_unit": "proportion",
            "metric_parameters": {"edition": edition, "game_type": game_type},
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            # Of one game type, what the terms of that type can give.
            "max_score": declaration(metric, edition)
            .among(() if game_type == ALL_GAME_TYPES else (game_type,))
            .high,
        },
        "score_details": {
            "score": row["value"],
            "details": details,
            **({"uncertainty": uncertainty} if has_interval else {}),
        },
    }


def _write_samples(
    lake: StoredLake, edition: Edition, folder: Path, records: Mapping[str, _Record]
) -> int:
    """Writes what each metric counts, model by model; returns how many rows cannot be said."""
    n_left = 0
    for metric in metric_names(edition):
        for rows in evidence_parts(lake, metric, edition=edition):
            known = rows.drop_nulls("hit").filter(pl.col("model").is_in([*records]))
            n_left += rows.height - known.height
            for some in known.partition_by("model", maintain_order=True):
                record = records[some["model"][0]]
                samples = [_sample(row, record, edition) for row in some.iter_rows(named=True)]
                lines = [json.encode(one) + b"\n" for one in samples if one]
                n_left += len(samples) - len(lines)
                if lines:
                    with (folder / f"{record.path}_samples.jsonl").open("ab") as file:
                        file.writelines(lines)
                    record.sha256.update(b"".join(lines))
                    record.n_samples += len(lines)
    return n_left


def _sample(row: Mapping[str, Any], record: _Record, edition: Edition) -> dict[str, Any] | None:
    """A counted row as a sample of its result, None without one."""
    metric, game_type, text = row["metric"], row["game_type"], row["content"]
    results = record.results
    if (id_ := results.get((metric, game_type)) or results.get((metric, ALL_GAME_TYPES))) is None:
        return None
    attribution = {
        "turn_idx": 0,
        "source": "output.raw",
        "extracted_value": row["what"] or "",
        "extraction_method": "text" if edition == AUDITED else "as the game registered it",
        "is_terminal": True,
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": record.id,
        "model_id": record.model,
        "evaluation_name": f"{metric}/{game_type}",
        "evaluation_result_id": id_,
        "sample_id": "/".join(str(row[name]) for name in _ID if row[name] is not None),
        "interaction_type": "single_turn",
        "input": {
            "raw": f"{game_type}, setting {row['setting_id']}",
            "reference": [] if row["compared_with"] is None else [row["compared_with"]],
        },
        "output": {"raw": [] if text is None else [text]},
        "answer_attribution": [] if text is None else [attribution],
        "evaluation": {"score": row["hit"], "is_correct": row["hit"] == 1},
        "metadata": {name: str(row[name]) for name in _ABOUT if row[name] is not None},
    }
