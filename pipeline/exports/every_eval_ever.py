"""Export of metric values in the format of Every Eval Ever 0.3.

There is one file for each model, and one of its samples. A result is a model's value of a metric
for a game type, or for `all`. A sample is one row that a metric counts: the message is the output,
and `answer_attribution` has the answer that was read from it. Paths are those of the datastore:
`data/COLLECTION/DEVELOPER/MODEL/UUID.json`. Called by `pipeline.exports.export`.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl
from msgspec import Struct, json

from pipeline.atomic_files import atomic_new_folder
from pipeline.exports import ExportResult, parse_date_or_last_ingest_date, write_json_file
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
_MAX_NAME_BYTES = 200  # of the 255 bytes that the name of a folder can have
_UNPORTABLE_CHARACTERS = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
_RESERVED_NAMES = re.compile(r"$|\.|(CON|PRN|AUX|NUL|COM\d|LPT\d)(\.|$)|data$", re.IGNORECASE)
# Columns for which a result has fields of its own.
_COLUMNS_WITH_FIELDS = (
    "edition",
    "metric",
    "model",
    "game_type",
    "value",
    "ci_low",
    "ci_high",
    "ci_method",
)
_SAMPLE_ID_COLUMNS = ("game_id", "term", "round", "seat")
_METADATA_COLUMNS = (
    "game_id",
    "message_index",
    "term",
    "seat",
    "player",
    "role",
    "round",
    "parse_status",
)


class _ModelFile(Struct):
    """The file of one model.

    Attributes:
        model: The name of the model.
        path: The path of the file without its extension.
        id: The id of the evaluation.
        results: The id of each value, by metric and game type.
        sha256: The hash of the sample lines written so far.
        n_samples: The number of sample lines written so far.
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
) -> ExportResult:
    """Write the values of all metrics and the rows that they count to a folder of JSON files.

    Unknown values and values of models without a name are left out.

    Args:
        lake: The lake, of one system.
        destination: The new folder.
        edition: The edition of the metrics.
        confidence: Confidence level of the intervals, between 0 and 1.
        without_samples: Whether to write only values, without the counted rows (samples).
        organization: The organization that made the evaluation.
        date: The date in the files in ISO format; by default that of the last ingest.

    Returns:
        The number of values and samples, and notes on what was left out.
    """
    timestamp = str(int(parse_date_or_last_ingest_date(lake, date).timestamp()))
    rows = metrics(lake, edition=edition, confidence=confidence)
    known_values = rows.drop_nulls(["model", "value"])
    collection = _portable_folder_name(lake.system or "magic")
    values_by_model = known_values.partition_by("model", as_dict=True, maintain_order=True)
    model_files = {
        model: _new_model_file(model_values, model, collection, timestamp)
        for (model,), model_values in values_by_model.items()
    }
    with atomic_new_folder(destination) as folder:
        for model_file in model_files.values():
            (folder / model_file.path).parent.mkdir(parents=True, exist_ok=True)
        n_omitted_samples = (
            0
            if without_samples
            else _write_samples_and_count_omitted(lake, edition, folder, model_files)
        )
        for model, model_file in model_files.items():
            values = values_by_model[model,].iter_rows(named=True)
            results = [_result_json(row, model_file, confidence) for row in values]
            header = _file_content_without_results(
                lake, model_file, edition, organization, timestamp
            )
            write_json_file(
                folder / f"{model_file.path}.json", header | {"evaluation_results": results}
            )
    n_samples = sum(model_file.n_samples for model_file in model_files.values())
    notes = _export_notes(
        rows.height - known_values.height, n_samples, n_omitted_samples, [*model_files]
    )
    return ExportResult(destination, known_values.height + n_samples, notes)


def _export_notes(
    n_omitted_values: int, n_samples: int, n_omitted_samples: int, models: list[str]
) -> tuple[str, ...]:
    """Return sentences for the user about written samples and omitted values and samples."""
    models_without_developer = [model for model in models if "/" not in model]
    n_more = len(models_without_developer) - 5
    more_text = f" and {n_more:,} more" if n_more > 0 else ""
    notes = {
        f"{format_count(n_samples, 'sample')} behind the values": n_samples,
        f"left out: {format_count(n_omitted_values, 'value')} that are unknown or of a model "
        "without a name": n_omitted_values,
        f"left out: {format_count(n_omitted_samples, 'sample')} of such values or with an "
        "unknown hit": n_omitted_samples,
        f"filed under the developer `{UNKNOWN}`: {', '.join(models_without_developer[:5])}"
        f"{more_text}; use --names to name them `developer/model`": len(models_without_developer),
    }
    return tuple(note for note, count in notes.items() if count)


def _new_model_file(rows: pl.DataFrame, model: str, collection: str, timestamp: str) -> _ModelFile:
    """Return the path and ids of a model's file; they depend only on its values and the date."""
    ids = {
        (metric, game_type): f"{metric}/{game_type}/{edition}"
        for metric, game_type, edition in rows.select("metric", "game_type", "edition").iter_rows()
    }
    evaluation_id = f"{collection}/{model}/{timestamp}"
    folders = model.partition("/")[::2] if "/" in model else (UNKNOWN, model)
    # The datastore requires UUIDs of version 4. This one is computed from a hash, so that a
    # repeated export has the same files.
    digest = sha256("\n".join([evaluation_id, *ids.values()]).encode()).digest()
    uuid = UUID(bytes=digest[:16], version=4)
    path = "/".join(["data", collection, *map(_portable_folder_name, folders), str(uuid)])
    return _ModelFile(model, path, evaluation_id, ids, sha256())


def _portable_folder_name(name: str) -> str:
    """Return a name with the characters replaced that some operating system forbids in folders."""
    truncated = name.encode()[:_MAX_NAME_BYTES].decode(errors="ignore")
    portable = _UNPORTABLE_CHARACTERS.sub("_", truncated).rstrip(". ")
    return f"_{portable}" if _RESERVED_NAMES.match(portable) else portable


def _file_content_without_results(
    lake: StoredLake, model_file: _ModelFile, edition: Edition, organization: str, timestamp: str
) -> dict[str, Any]:
    """Return the JSON object of a model's file, without the list of its values."""
    developer, slash, _ = model_file.model.partition("/")
    samples = {
        "format": "jsonl",
        "file_path": f"{model_file.path}_samples.jsonl",
        "hash_algorithm": "sha256",
        "checksum": model_file.sha256.hexdigest(),
        "total_rows": model_file.n_samples,
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": model_file.id,
        "retrieved_timestamp": timestamp,
        "source_metadata": {
            "source_name": "magic-pipeline",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": "other",
            "additional_details": {"state": cite(lake, edition=edition).sentence},
        },
        "eval_library": {"name": "magic-pipeline", "version": __version__},
        "model_info": {
            "name": model_file.model,
            "id": model_file.model,
            "developer": developer if slash else UNKNOWN,
            "additional_details": {"deployment_type": UNKNOWN, "model_availability": UNKNOWN},
        },
        **({"detailed_evaluation_results": samples} if model_file.n_samples else {}),
    }


def _result_json(
    row: Mapping[str, Any], model_file: _ModelFile, confidence: float
) -> dict[str, Any]:
    """Return the JSON object of a metric value, with its interval and counts."""
    metric, game_type, edition = row["metric"], row["game_type"], row["edition"]
    details = {
        name: value if isinstance(value, str) else to_json_text(value)
        for name, value in row.items()
        if name not in _COLUMNS_WITH_FIELDS and value not in (None, [])
    }
    interval = {"lower": row["ci_low"], "upper": row["ci_high"], "confidence_level": confidence}
    uncertainty = {
        "confidence_interval": interval | {"method": row["ci_method"] or UNKNOWN},
        **({} if row["counted"] is None else {"num_samples": row["counted"]}),
    }
    has_interval = row["ci_low"] is not None and row["ci_high"] is not None
    return {
        "evaluation_result_id": model_file.results[metric, game_type],
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
            # For a single game type, the maximum of the terms of that type.
            "max_score": declaration(metric, edition)
            .with_only_game_types(() if game_type == ALL_GAME_TYPES else (game_type,))
            .high,
        },
        "score_details": {
            "score": row["value"],
            "details": details,
            **({"uncertainty": uncertainty} if has_interval else {}),
        },
    }


def _write_samples_and_count_omitted(
    lake: StoredLake, edition: Edition, folder: Path, model_files: Mapping[str, _ModelFile]
) -> int:
    """Write the rows that each metric counts to one file per model; return how many are omitted.

    A row is omitted if its hit is unknown, or if no value of its metric is written.
    """
    n_omitted = 0
    for metric in metric_names(edition):
        for rows in evidence_parts(lake, metric, edition=edition):
            known_rows = rows.drop_nulls("hit").filter(pl.col("model").is_in([*model_files]))
            n_omitted += rows.height - known_rows.height
            for model_rows in known_rows.partition_by("model", maintain_order=True):
                model_file = model_files[model_rows["model"][0]]
                samples = [
                    _sample_json_or_none(row, model_file, edition)
                    for row in model_rows.iter_rows(named=True)
                ]
                lines = [json.encode(sample) + b"\n" for sample in samples if sample]
                n_omitted += len(samples) - len(lines)
                if lines:
                    with (folder / f"{model_file.path}_samples.jsonl").open("ab") as file:
                        file.writelines(lines)
                    model_file.sha256.update(b"".join(lines))
                    model_file.n_samples += len(lines)
    return n_omitted


def _sample_json_or_none(
    row: Mapping[str, Any], model_file: _ModelFile, edition: Edition
) -> dict[str, Any] | None:
    """Return the JSON object of a counted row, or None if no value of its metric is written."""
    metric, game_type, text = row["metric"], row["game_type"], row["content"]
    results = model_file.results
    if (
        result_id := results.get((metric, game_type)) or results.get((metric, ALL_GAME_TYPES))
    ) is None:
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
        "evaluation_id": model_file.id,
        "model_id": model_file.model,
        "evaluation_name": f"{metric}/{game_type}",
        "evaluation_result_id": result_id,
        "sample_id": "/".join(
            str(row[name]) for name in _SAMPLE_ID_COLUMNS if row[name] is not None
        ),
        "interaction_type": "single_turn",
        "input": {
            "raw": f"{game_type}, setting {row['setting_id']}",
            "reference": [] if row["compared_with"] is None else [row["compared_with"]],
        },
        "output": {"raw": [] if text is None else [text]},
        "answer_attribution": [] if text is None else [attribution],
        "evaluation": {"score": row["hit"], "is_correct": row["hit"] == 1},
        "metadata": {name: str(row[name]) for name in _METADATA_COLUMNS if row[name] is not None},
    }
