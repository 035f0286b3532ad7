"""What Every Eval Ever 0.3 asks of a file of values and of a line of samples, in short.

Keys that have to be there, and the objects that take no other; its own package checks the rest
(`test_export_readers.py`).
"""

from typing import Any

_TEXT, _NUMBER = {"type": "string"}, {"type": "number"}
_OF_VALUES = ("schema_version", "evaluation_id", "retrieved_timestamp")
_OF_SAMPLE = ("schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id")


def _object(*names: str, **properties: Any) -> dict[str, Any]:
    """An object that has these keys, of any value, and the properties."""
    return {"type": "object", "required": [*names, *properties], "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _closed(asked: dict[str, Any], *others: str) -> dict[str, Any]:
    """The object with no key besides those it needs and the others."""
    keys: dict[str, Any] = {name: {} for name in (*asked["required"], *others)}
    return {**asked, "properties": keys | asked["properties"], "additionalProperties": False}


_RESULT = _object(
    evaluation_name=_TEXT,
    source_data=_object(dataset_name=_TEXT, source_type={"enum": ["url", "hf_dataset", "other"]}),
    metric_config=_object(
        lower_is_better={"type": "boolean"}, min_score=_NUMBER, max_score=_NUMBER
    ),
    score_details={
        **_object(score=_NUMBER),
        "properties": {
            "score": _NUMBER,
            "details": {"additionalProperties": _TEXT},
            "uncertainty": {
                "properties": {
                    "confidence_interval": _object(lower=_NUMBER, upper=_NUMBER),
                    "standard_error": _object(value=_NUMBER),
                }
            },
        },
    },
)
VALUES = _closed(
    _object(
        *_OF_VALUES,
        source_metadata=_object(
            "source_type", "source_organization_name", "evaluator_relationship"
        ),
        eval_library=_object(name=_TEXT, version=_TEXT),
        model_info=_object(
            name=_TEXT,
            id=_TEXT,
            additional_details=_object("deployment_type", "model_availability"),
        ),
        evaluation_results=_list(_RESULT),
    ),
    "evaluation_timestamp",
    "detailed_evaluation_results",
)
SAMPLES = _closed(
    _object(
        *_OF_SAMPLE,
        interaction_type={"enum": ["single_turn", "multi_turn", "agentic"]},
        input=_object(raw=_TEXT, reference=_list(_TEXT)),
        output=_object(raw=_list(_TEXT)),
        evaluation=_object(score=_NUMBER, is_correct={"type": "boolean"}),
        answer_attribution=_list(
            _object(
                turn_idx={"type": "integer"},
                source=_TEXT,
                extracted_value=_TEXT,
                extraction_method=_TEXT,
                is_terminal={"type": "boolean"},
            )
        ),
    ),
    *("evaluation_result_id", "sample_hash", "messages", "token_usage", "performance"),
    *("error", "metadata"),
)


def keep(schema: dict[str, Any], value: Any) -> None:
    from jsonschema import Draft202012Validator  # takes two seconds to load

    # Not by `validate`, which would look at the schema itself for every sample.
    Draft202012Validator(schema).validate(value)
