"""Values for Every Eval Ever: what it asks of a file, and the lake's own numbers."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from every_eval_ever import SAMPLES, VALUES, keep

import pipeline

Log = dict[str, Any]


def checked(folder: Path) -> dict[str, tuple[Log, list[Log]]]:
    """By model, the values and the samples: they are as is asked, and name each other."""
    found = {}
    for file in folder.rglob("*.json"):
        log = json.loads(file.read_text())
        keep(VALUES, log)
        samples = []
        if detail := log.get("detailed_evaluation_results"):
            lines = folder / detail["file_path"]
            assert lines == file.with_name(f"{file.stem}_samples.jsonl")
            assert sha256(lines.read_bytes()).hexdigest() == detail["checksum"]
            samples = [json.loads(line) for line in lines.read_bytes().split(b"\n")[:-1]]
            assert len(samples) == detail["total_rows"]
        ids = {one["evaluation_result_id"] for one in log["evaluation_results"]}
        assert len(ids) == len(log["evaluation_results"])
        for sample in samples:
            keep(SAMPLES, sample)
            assert sample["evaluation_id"] == log["evaluation_id"]
            assert sample["model_id"] == log["model_info"]["id"]
            assert sample["evaluation_result_id"] in ids
        found[log["model_info"]["id"]] = log, samples
    return found


@pytest.mark.slow
def test_each_value_is_there_with_its_interval(two_models: pipeline.Lake, tmp_path: Path) -> None:
    lake, edition = two_models, "audited"
    lake.export("every-eval-ever", tmp_path / "out", edition=edition, confidence=0.9)
    logs = checked(tmp_path / "out")
    rows = lake.metrics(edition=edition, confidence=0.9).drop_nulls("value")
    assert rows["model"].n_unique() == len(logs)
    n_results = sum(len(log["evaluation_results"]) for log, _ in logs.values())
    assert rows.height == n_results
    for row in rows.iter_rows(named=True):
        log, _ = logs[row["model"]]
        id_ = f"{row['metric']}/{row['game_type']}/{edition}"
        (one,) = (r for r in log["evaluation_results"] if r["evaluation_result_id"] == id_)
        score = one["score_details"]
        assert score["score"] == row["value"]
        config = one["metric_config"]
        assert config["min_score"] <= row["value"] <= config["max_score"]
        if row["ci_low"] is not None:
            interval = score["uncertainty"]["confidence_interval"]
            assert (interval["lower"], interval["upper"]) == (row["ci_low"], row["ci_high"])
            assert interval["confidence_level"] == 0.9
        counted = row["counted"]
        assert score["details"].get("counted") == (None if counted is None else str(counted))
        assert score["details"]["n_games"] == str(row["n_games"])


def test_a_score_of_one_game_type_is_out_of_what_that_type_gives(
    sample_lake: Path, tmp_path: Path
) -> None:
    lake = pipeline.open_lake(sample_lake)
    lake.export("every-eval-ever", tmp_path / "out", without_samples=True)
    highest = {
        one["evaluation_name"]: one["metric_config"]["max_score"]
        for log, _ in checked(tmp_path / "out").values()
        for one in log["evaluation_results"]
    }
    assert highest["rationality/prisoners_dilemma"] == 1
    assert highest["rationality/all"] == 2
    assert highest["deception/undercover"] == 1
    assert highest["deception/chameleon"] == highest["deception/all"] == 1.25
    assert highest["judgement/undercover"] == highest["win_rate/all"] == 1


@pytest.mark.slow
def test_samples_are_what_the_values_count(two_models: pipeline.Lake, tmp_path: Path) -> None:
    """Their scores sum to the hits, and each says what was read from which text."""
    lake = two_models
    lake.export("every-eval-ever", tmp_path / "out")
    for model, (_, samples) in checked(tmp_path / "out").items():
        for metric in ("judgement", "self_awareness"):
            rows = lake.evidence(metric, model=model)
            own = [one for one in samples if one["evaluation_name"].startswith(f"{metric}/")]
            assert [one["evaluation"]["score"] for one in own] == rows["hit"].to_list()
            said = [(one["output"]["raw"], one["answer_attribution"]) for one in own]
            for (texts, attributions), row in zip(said, rows.iter_rows(named=True), strict=True):
                assert texts == [row["content"]]
                (attribution,) = attributions
                assert attribution["extracted_value"] == row["what"]
                assert attribution["source"] == "output.raw"


def test_silent_acts_have_no_attribution(arena: pipeline.Lake, tmp_path: Path) -> None:
    arena.export("every-eval-ever", tmp_path / "out")
    samples = [one for _, some in checked(tmp_path / "out").values() for one in some]
    texts = [(one["output"]["raw"], one["answer_attribution"]) for one in samples]
    assert any(raw for raw, _ in texts)
    assert any(not raw for raw, _ in texts)
    assert all(bool(raw) == bool(attribution) for raw, attribution in texts)


def test_the_date_and_names_with_a_developer(arena: pipeline.Lake, tmp_path: Path) -> None:
    named = arena.with_names({"m-1": "lab/m-1"})
    options = {"date": "2026-11-27", "organization": "Lab", "without_samples": True}
    exported = named.export("every-eval-ever", tmp_path / "out", **options)
    logs = checked(tmp_path / "out")
    assert logs.keys() == {"lab/m-1", "m-2", "m-3"}
    assert all(not samples for _, samples in logs.values())
    assert exported.n_rows == sum(len(log["evaluation_results"]) for log, _ in logs.values())
    assert not list((tmp_path / "out").rglob("*.jsonl"))
    log, _ = logs["lab/m-1"]
    assert log["retrieved_timestamp"] == "1795737600"
    assert log["source_metadata"]["source_organization_name"] == "Lab"
    assert [path.name for path in (tmp_path / "out" / "data" / "lab" / "lab").iterdir()] == ["m-1"]
    assert "filed under the developer `unknown`: m-2, m-3;" in exported.notes[-1]


def test_hostile_names_are_no_paths(hostile: pipeline.Lake, tmp_path: Path) -> None:
    hostile.export("every-eval-ever", tmp_path / "out", without_samples=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    logs = checked(tmp_path / "out")
    tested = hostile.table("results").select(pl.col("model").unique()).collect()["model"]
    assert logs.keys() == set(tested)
    for file in (tmp_path / "out").rglob("*.json"):
        parts = file.relative_to(tmp_path / "out").parts
        assert len(parts) == 5
        assert not any(sign in part for part in parts for sign in '<>:"\\|?*\n\x1b')
        assert "data" not in parts[1:]
        assert not any(part.startswith(".") for part in parts)
