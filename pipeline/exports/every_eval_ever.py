"""Values of metrics as Every Eval Ever 0.3 stores them: a file for each model, and one of samples.

A result is a model's value of a metric for a game type, or for `all`. A sample is one row that a
metric counts: the message is the output, and `answer_attribution` says what was read from it.
The folders are those of its datastore: `data/COLLECTION/DEVELOPER/MODEL/UUID.json`.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import polars as pl
from msgspec import Struct

from pipeline.cells import as_json, counted
from pipeline.exports.exported import Exported, instant, write_json
from pipeline.lake import StoredLake
from pipeline.metrics import ALL, DEFAULT_CONFIDENCE, declarations, metrics
from pipeline.metrics.evidence import evidence_parts
from pipeline.metrics.known import names, title
from pipeline.metrics.request import Request
from pipeline.replacing import filling
from pipeline.reports.cite import BENCHMARK, EDITION_TEXTS, cite
from pipeline.version import __version__
from pipeline.vocabulary import AUDITED, PAPER, Edition

SCHEMA_VERSION = "0.3.0"
UNKNOWN = "unknown"
_LONGEST_NAME = 200  # bytes, of 255 that a name of a folder can have
_NOT_PORTABLE = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
_RESERVED = re.compile(r"(CON|PRN|AUX|NUL|COM\d|LPT\d)(\.|$)|data$|unknown$", re.IGNORECASE)
_ID = ("game_id", "term", "round", "seat")
# What a result has in places of its own.
_PLACED = ("edition", "metric", "model", "game_type", "value", "ci_low", "ci_high", "ci_method")


class _Record(Struct):
    """A model's file: where it is, its id, the ids of its results, and of its samples the hash."""

    path: str
    evaluation_id: str
    model: str
    results: dict[tuple[str, str], str]
    sha256: Any
    n_samples: int = 0

    @property
    def samples(self) -> str:
        return f"{self.path}_samples.jsonl"


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

    A value that is unknown, and one of no model's name, cannot be said and is left out.
    """
    at = str(int(instant(lake, date).timestamp()))
    rows = metrics(lake, edition=edition, confidence=confidence)
    known = rows.drop_nulls(["model", "value"])
    collection = _component(lake.system or "magic")
    records = {
        model: _record(of_model, model, collection, edition, at)
        for (model,), of_model in known.partition_by(
            "model", as_dict=True, maintain_order=True
        ).items()
    }
    metric_configs = _metric_configs(lake, edition)
    with filling(destination) as folder:
        for record in records.values():
            (folder / record.path).parent.mkdir(parents=True, exist_ok=True)
        n_left = 0 if without_samples else _write_samples(lake, edition, folder, records)
        for model, record in records.items():
            results = [
                _result(row, record, lake, metric_configs, confidence)
                for row in known.filter(model=model).iter_rows(named=True)
            ]
            about = _about(lake, record, edition, organization, at)
            write_json(folder / f"{record.path}.json", about | {"evaluation_results": results})
    n_samples = sum(record.n_samples for record in records.values())
    return Exported(
        destination,
        known.height + n_samples,
        tuple(_notes(rows.height - known.height, n_samples, n_left, records)),
    )


def _notes(n_values: int, n_samples: int, n_left: int, records: Iterable[str]) -> Iterator[str]:
    yield f"{counted(n_samples, 'sample')} behind the values"
    if n_values:
        yield f"left out: {counted(n_values, 'value')} that are unknown, or of a nameless model"
    if n_left:
        yield f"left out: {counted(n_left, 'sample')} of such values, or of unknown outcome"
    if flat := [model for model in records if "/" not in model]:
        yield (
            f"filed under the developer `{UNKNOWN}`: {', '.join(flat[:5])}"
            f"{', …' * (len(flat) > 5)}; name it as in `developer/model` by --names"
        )


def _record(rows: pl.DataFrame, model: str, collection: str, edition: str, at: str) -> _Record:
    developer, slash, name = model.partition("/")
    folders = (developer, name) if slash else (UNKNOWN, model)
    id_ = f"{collection}/{model}/{at}"
    # A UUID of version 4 is what the datastore asks for; a random one would differ each time.
    uuid = UUID(bytes=hashlib.sha256(f"{id_}/{edition}".encode()).digest()[:16], version=4)
    path = "/".join(["data", collection, *map(_component, folders), str(uuid)])
    ids = rows.select("metric", "game_type").iter_rows()
    results = {(metric, kind): f"{metric}/{kind}/{edition}" for metric, kind in ids}
    return _Record(path, id_, model, results, hashlib.sha256())


def _component(name: str) -> str:
    """A name as that of a folder on any system, as the datastore writes it."""
    short = name.encode()[:_LONGEST_NAME].decode(errors="ignore")
    portable = _NOT_PORTABLE.sub("_", short).rstrip(". ")
    is_own = portable != UNKNOWN and _RESERVED.match(portable)
    return f"_{portable}" if is_own or not portable else portable


def _about(
    lake: StoredLake, record: _Record, edition: Edition, organization: str, at: str
) -> dict[str, Any]:
    """What a record says besides its results."""
    details = {"deployment_type": "unknown", "model_availability": "unknown"}
    about = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": record.evaluation_id,
        "retrieved_timestamp": at,
        "source_metadata": {
            "source_name": "magic-pipeline",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": "other",
            "additional_details": {"state": cite(lake, edition=edition).sentence},
        },
        "eval_library": {"name": "magic-pipeline", "version": __version__},
        "model_info": {
            "name": record.model,
            "id": record.model,
            "developer": record.model.partition("/")[0] if "/" in record.model else UNKNOWN,
            "additional_details": details,
        },
    }
    if record.n_samples:
        about["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": record.samples,
            "hash_algorithm": "sha256",
            "checksum": record.sha256.hexdigest(),
            "total_rows": record.n_samples,
        }
    return about


def _metric_configs(lake: StoredLake, edition: Edition) -> dict[str, dict[str, Any]]:
    """What each metric is, by its name."""
    declared = declarations(lake, names(edition), Request(edition=edition))
    return {
        name: {
            "evaluation_description": f"{title(name)} ({EDITION_TEXTS[edition]})",
            "metric_id": f"magic.{name}",
            "metric_name": title(name),
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": of_metric.high,
        }
        for name, of_metric in declared.items()
    }


def _result(
    row: Mapping[str, Any],
    record: _Record,
    lake: StoredLake,
    configs: Mapping[str, dict[str, Any]],
    confidence: float,
) -> dict[str, Any]:
    """A value with its interval, and what was counted."""
    metric, game_type = row["metric"], row["game_type"]
    parameters = {"edition": row["edition"], "game_type": game_type}
    score: dict[str, Any] = {
        "score": row["value"],
        "details": {name: _text(value) for name, value in row.items() if _is_detail(name, value)},
    }
    if row["ci_low"] is not None and row["ci_high"] is not None:
        interval = {"lower": row["ci_low"], "upper": row["ci_high"], "confidence_level": confidence}
        n_samples = {} if row["counted"] is None else {"num_samples": row["counted"]}
        interval |= {"method": row["ci_method"]} if row["ci_method"] else {}
        score["uncertainty"] = {"confidence_interval": interval, **n_samples}
    return {
        "evaluation_result_id": record.results[metric, game_type],
        "evaluation_name": f"{metric}/{game_type}",
        "source_data": {
            "dataset_name": f"games of the system {lake.system or UNKNOWN}",
            "source_type": "other",
            "additional_details": {"game_type": game_type, "benchmark": BENCHMARK},
        },
        "metric_config": {**configs[metric], "metric_parameters": parameters},
        "score_details": score,
    }


def _is_detail(name: str, value: object) -> bool:
    return name not in _PLACED and value is not None and value != []


def _text(value: object) -> str:
    """A value as a text, which all details are."""
    return value if isinstance(value, str) else as_json(value)


def _write_samples(
    lake: StoredLake, edition: Edition, folder: Path, records: Mapping[str, _Record]
) -> int:
    """Writes what each metric counts, model by model; returns how many rows cannot be said."""
    n_left = 0
    encoder = msgspec.json.Encoder()
    for metric in names(edition):
        for rows in evidence_parts(lake, metric, edition=edition):
            for (model,), some in rows.partition_by(
                "model", as_dict=True, maintain_order=True
            ).items():
                record = records.get(model)
                samples = [
                    sample
                    for row in (some.iter_rows(named=True) if record else ())
                    if record and (sample := _sample(row, record, edition))
                ]
                n_left += some.height - len(samples)
                if record and samples:
                    lines = b"".join(encoder.encode(one) + b"\n" for one in samples)
                    with (folder / record.samples).open("ab") as file:
                        file.write(lines)
                    record.sha256.update(lines)
                    record.n_samples += len(samples)
    return n_left


def _sample(row: Mapping[str, Any], record: _Record, edition: Edition) -> dict[str, Any] | None:
    """A counted row as a sample of its result, None for one of unknown outcome."""
    metric, game_type = row["metric"], row["game_type"]
    id_ = record.results.get((metric, game_type)) or record.results.get((metric, ALL))
    if id_ is None or row["hit"] is None:
        return None
    has_text = row["content"] is not None
    attribution = {
        "turn_idx": 0,
        "source": "output.raw",
        "extracted_value": row["what"] or "",
        "extraction_method": (
            "read from the text" if edition == AUDITED else "as the game registered it"
        ),
        "is_terminal": True,
    }
    place = ("game_id", "message_index", "term", "seat", "player", "role", "round", "parse_status")
    compared = row["compared_with"]
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": record.evaluation_id,
        "model_id": record.model,
        "evaluation_name": f"{metric}/{game_type}",
        "evaluation_result_id": id_,
        "sample_id": "/".join(str(row[name]) for name in _ID if row[name] is not None),
        "interaction_type": "single_turn",
        "input": {
            "raw": f"{game_type}, setting {row['setting_id']}",
            "reference": [] if compared is None else [compared],
        },
        "output": {"raw": [row["content"]] if has_text else []},
        "answer_attribution": [attribution] if has_text else [],
        "evaluation": {"score": row["hit"], "is_correct": row["hit"] == 1},
        "metadata": {name: str(row[name]) for name in place if row[name] is not None},
    }
