"""What players used, as logs say it: what is no amount is null and a fault, and costs no game."""

import json
from pathlib import Path
from typing import Any

import pytest
from bargainlogs import AGENTS, game as bargain, round_of
from inspect_logs import chameleon, eval_log, json_log, sample
from logs.kaggle import FORFEIT, failed, repeated
from poollogs import PUNISHING, final, init, lines, punish, put, say
from rawlogs import encode, record_of

from pipeline.archives import iter_documents
from pipeline.events.readings import content_id
from pipeline.formats import find_splitter
from pipeline.formats.interchange import EXAMPLE, encode_game, schema
from pipeline.game_record import GameRecord, Usage

NOTHING = Usage()
# Each with what is read of it as a number, and as a whole one; null is a fault too.
ODD: list[tuple[Any, float | None, int | None]] = [
    (0, 0.0, 0),
    (7, 7.0, 7),
    (7.0, 7.0, 7),
    (0.5, 0.5, None),
    (10**12, 1e12, 10**12),
    (10**12 + 1, None, None),
    (-1, None, None),
    (-0.1, None, None),
    (2**63, None, None),
    (1e308, None, None),
    (10**400, None, None),
    (True, None, None),
    ("7", None, None),
    ("NaN", None, None),
    ([], None, None),
    ({"a": 1}, None, None),
]
EVERY_VALUE = pytest.mark.parametrize(
    ("value", "number", "whole"), ODD, ids=[str(odd[0])[:20] for odd in ODD]
)


def paths(game: GameRecord) -> list[str]:
    return [fault.json_path for fault in game.faults]


def document(**parts: Any) -> dict[str, Any]:
    game: dict[str, Any] = json.loads(EXAMPLE)
    game["seats"][1] |= parts
    return game


# Interchange JSON


@EVERY_VALUE
def test_interchange(value: Any, number: float | None, whole: int | None) -> None:
    names = Usage.__struct_fields__
    game = record_of(encode(document(**dict.fromkeys(names, value))))
    wanted = Usage(whole, whole, number, number)
    assert list(game.usage) == [NOTHING, wanted, NOTHING]
    unread = [name for name in names if getattr(wanted, name) is None]
    assert paths(game) == [f"$.seats[1].{name}" for name in unread]
    assert len(game.results) == 3


def test_what_was_used_is_written_and_is_no_content() -> None:
    """Games are the same content whether their logs say it or not; the schema declares it."""
    game = record_of(encode(document(failure="timeout", input_tokens=9, cost=0.25)))
    again = record_of(encode_game(game))
    assert (again.usage, again.failures) == (game.usage, {2: "timeout"})
    assert content_id(game) == content_id(record_of(EXAMPLE.encode()))
    seat = schema()["$defs"]["Seat"]["properties"]
    assert seat["input_tokens"] == {"type": ["integer", "null"], "minimum": 0, "default": None}
    assert seat["cost"] == {"type": ["number", "null"], "minimum": 0, "default": None}


# Kaggle


def called(**parts: Any) -> dict[str, Any]:
    """The dilemma, with more said of the second player's call in the third round."""
    log = repeated()
    for step in log["steps"][2:]:
        call = {"prompt_tokens": 10, "generation_tokens": 3, "duration_secs": 0.5}
        step[1]["action"]["call_details"] = [{"model": "epsilon-2", **call}]
    log["steps"][4][1]["action"]["call_details"][0] |= parts
    return log


def test_kaggle_adds_up_calls() -> None:
    game = record_of(encode(called()))
    assert list(game.usage) == [NOTHING, Usage(50, 15, 2.5)]
    assert game.faults == []
    silent = record_of(encode(called(prompt_tokens=None)))
    assert list(silent.usage) == [NOTHING, Usage(None, 15, 2.5)]
    assert silent.faults == []


@EVERY_VALUE
def test_kaggle(value: Any, number: float | None, whole: int | None) -> None:
    game = record_of(encode(called(generation_tokens=value, duration_secs=value)))
    tokens = None if whole is None else 12 + whole
    seconds = None if number is None else 2.0 + number
    other, used = game.usage
    assert (other, used.input_tokens, used.output_tokens) == (NOTHING, 50, tokens)
    assert used.seconds == (seconds and pytest.approx(seconds))
    unread = [("generation_tokens", whole), ("duration_secs", number)]
    at = "$.steps[4][1].action.call_details[0]"
    assert paths(game) == [f"{at}.{name}" for name, read_as in unread if read_as is None]
    assert len(game.decisions) == 10


@pytest.mark.parametrize(
    ("log", "failures"),
    [
        (repeated(), {}),
        (FORFEIT, {2: "forfeit: UNPARSABLE"}),
        (failed(("DONE", "DONE"), (-1, 1), submission=7), {1: "forfeit"}),
        (failed(("TIMEOUT", "DONE"), (None, 1)), {1: "timeout"}),
        (failed(("ERROR", "TIMEOUT"), (None, None)), {2: "timeout"}),
        (failed(("ERROR", "ERROR"), (None, None)), {1: "error", 2: "error"}),
        (failed(("ACTIVE", "ACTIVE"), (None, None)), {}),
    ],
)
def test_who_failed(log: dict[str, Any], failures: dict[int, str]) -> None:
    """Where one ran out of time, the other is left with an error that is not its own."""
    assert record_of(encode(log)).failures == failures


# Inspect


def sampled(folder: Path, game: dict[str, Any] | None = None, **parts: Any) -> GameRecord:
    log = eval_log([sample(0, game or chameleon(0), **parts)])
    (folder / "x.eval").write_bytes(log)
    (found,) = iter_documents(folder / "x.eval", choose=find_splitter)
    return record_of(found.data or b"", found.path)


USED = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 9, "total_cost": 0.5}


def test_inspect_by_role_and_by_the_only_seat_of_a_model(tmp_path: Path) -> None:
    """Tokens of caches are tokens, and what another role did of the model is not counted twice."""
    game = sampled(
        tmp_path,
        role_usage={"red": USED | {"input_tokens_cache_read": 2, "input_tokens_cache_write": None}},
        model_usage={"mockllm/model": USED, "mockllm/model-red": USED},
        events=[
            {"event": "model", "role": "red", "model": "mockllm/model-red", "working_time": 1.5},
            {"event": "model", "role": "red", "model": "mockllm/model-red", "working_time": None},
            {"event": "model", "role": None, "model": "mockllm/model", "working_time": 2},
            {"event": "tool", "role": "red", "working_time": 100},
        ],
    )
    assert list(game.usage) == [Usage(7, 2, 1.5, 0.5), NOTHING, Usage(5, 2, 2.0, 0.5)]
    assert game.faults == []


def test_inspect_gives_no_seat_what_a_grader_used(tmp_path: Path) -> None:
    """Of 9 tokens that the model of the third seat read, a grader read 3; blue's model is unused.

    A grader of several models may have used any of them, so then nothing is known.
    """
    calls = [
        {"event": "model", "role": role, "model": "mockllm/model", "working_time": seconds}
        for role, seconds in ((None, 2), ("grader", 100))
    ]
    usage = {
        "role_usage": {"grader": USED | {"input_tokens": 3}},
        "model_usage": {"mockllm/model": USED | {"input_tokens": 9, "output_tokens": 4}},
        "events": calls,
    }
    assert sampled(tmp_path, **usage).usage[2] == Usage(6, 2, 2.0, 0.0)
    several = [{"model": "mockllm/model"}, {"model": "mockllm/other"}]
    roles = {"model": "mockllm/model", "model_roles": {"grader": several}}
    log = json_log([sample(0, chameleon(0), **usage)], eval=roles)
    (tmp_path / "several.json").write_bytes(log)
    (found,) = iter_documents(tmp_path / "several.json", choose=find_splitter)
    unknown = record_of(found.data or b"", found.path).usage[2]
    assert (unknown.input_tokens, unknown.output_tokens) == (None, None)


@pytest.mark.parametrize(
    ("called", "used"),
    [
        ([(None, None), ("green", None)], Usage(9, 2, 4.0, 0.5)),
        ([(None, None), ("judge", None)], Usage(seconds=2.0)),
        ([(None, None), ("judge", 9)], Usage(seconds=2.0)),
        ([(None, None), ("judge", 10)], Usage(9, 2, 2.0, 0.5)),
    ],
)
def test_inspect_without_usage_by_role_says_who_called(
    called: list[tuple[str | None, int | None]], used: Usage, tmp_path: Path
) -> None:
    """A call of a role without a seat can be in the model's 9 tokens, unless it took more."""
    calls = [
        {
            **{"event": "model", "role": role, "model": "mockllm/model", "working_time": 2},
            "output": {"usage": tokens and {"input_tokens": tokens}},
        }
        for role, tokens in called
    ]
    usage = {"mockllm/model": USED | {"input_tokens": 9}}
    assert sampled(tmp_path, model_usage=usage, events=calls).usage[2] == used


def test_inspect_subtracts_what_a_role_used_of_the_model_that_it_called(tmp_path: Path) -> None:
    """The header binds no model to the judge, so only its calls say whose tokens it used."""
    calls = [{"event": "model", "role": "judge", "model": "mockllm/judge"}]
    usage = {name: USED | {"input_tokens": 9} for name in ("mockllm/model", "mockllm/judge")}
    found = sampled(tmp_path, model_usage=usage, role_usage={"judge": USED}, events=calls)
    assert found.usage[2] == Usage(9, 2, None, 0.5)


@pytest.mark.parametrize(
    ("total", "tokens"),
    [
        (1_100, 1_000),  # the 800 of the cache are among the input tokens
        (1_900, 1_800),  # they are apart from them
        (None, 1_800),
        (5_000, 1_800),  # other tokens are in this total
    ],
)
def test_inspect_s_total_says_whether_tokens_of_caches_are_input_tokens(
    total: int | None, tokens: int, tmp_path: Path
) -> None:
    used = {"input_tokens": 1_000, "input_tokens_cache_read": 800, "output_tokens": 100}
    game = sampled(tmp_path, role_usage={"red": used | {"total_tokens": total}}, model_usage={})
    assert game.usage[0] == Usage(tokens, 100, None, None)


def test_a_document_says_it_first(tmp_path: Path) -> None:
    game = chameleon(0)
    game["seats"][0] |= {"cost": 9, "seconds": 3}
    found = sampled(tmp_path, game, role_usage={"red": USED}, model_usage={})
    assert list(found.usage) == [Usage(5, 2, 3.0, 9.0), NOTHING, NOTHING]


@EVERY_VALUE
def test_inspect(value: Any, number: float | None, whole: int | None, tmp_path: Path) -> None:
    usage = {"input_tokens": value, "output_tokens": value, "total_cost": value}
    timed = [{"event": "model", "role": "red", "working_time": value}]
    game = sampled(tmp_path, role_usage={"red": usage}, events=timed, model_usage={})
    assert list(game.usage) == [Usage(whole, whole, number, number), NOTHING, NOTHING]
    assert len(game.faults) == 2 * (whole is None) + 2 * (number is None)


@pytest.mark.parametrize("odd", ["", 5, [], [1], {"red": 5}, {"red": [5]}, None, "NaN"])
def test_inspect_of_another_shape(odd: Any, tmp_path: Path) -> None:
    game = sampled(tmp_path, role_usage=odd, model_usage=odd, events=odd)
    assert list(game.usage) == [NOTHING] * 3
    assert {*paths(game)} <= {
        *("$.sample.events", "$.sample.role_usage", "$.sample.model_usage"),
        *("$.sample.events[0]", "$.sample.role_usage[...]", "$.sample.model_usage[...]"),
    }
    assert len(game.results) == 3
    assert (game.faults == []) == (odd is None)


@pytest.mark.parametrize(
    ("parts", "failures"),
    [
        ({}, {}),
        ({"limit": {"type": "token", "limit": 10}}, {1: "token limit", 2: "token limit"}),
        ({"error": {"message": "boom"}}, {1: "error: boom", 2: "error: boom"}),
        ({"limit": {"type": "operator"}}, {}),
    ],
)
@pytest.mark.parametrize("is_one_model", [True, False])
@pytest.mark.parametrize("is_finished", [True, False])
def test_what_stopped_a_sample_is_the_failure_of_its_only_model(
    parts: Any, failures: dict[int, str], tmp_path: Path, *, is_one_model: bool, is_finished: bool
) -> None:
    game = chameleon(0) | ({} if is_finished else {"is_finished": False, "end": None})
    if is_one_model:
        game["seats"][1]["model"] = "mockllm/model-red"
        game["seats"][2] |= {"model": "bot", "is_bot": True}
    wanted = failures if is_one_model and not is_finished else {}
    assert sampled(tmp_path, game, **parts).failures == wanted


# Other systems


@EVERY_VALUE
def test_pgg_bench(value: Any, number: float | None, whole: int | None) -> None:
    """Seconds of talk, contributions and punishments; a seat of which one is not known has none."""
    events = [
        say(1, 1, "Hi.") | {"response_time_s": value},
        *(put(seat, 1, 5) | {"response_time_s": 1.5} for seat in (1, 2, 3)),
        punish(2, 1, 1, 1) | {"response_time_s": 2},
        punish(3, 1, 1, 1),
    ]
    game = record_of(lines([init(1, **PUNISHING), *events, final(5, 5, 5)]), "x.jsonl")
    seconds = None if number is None else 1.5 + number
    assert list(game.usage) == [Usage(seconds=seconds), Usage(seconds=3.5), NOTHING]
    assert paths(game) == (["$[1].response_time_s"] if number is None else [])
    assert len(game.contributions) == 3


@EVERY_VALUE
def test_bargain(value: Any, number: float | None, whole: int | None) -> None:
    """The mean of the requests is logged; nothing is known without their number."""
    mine, yours = {"alpha_1": [0, 1, 2, 3]}, {"beta_2": [0, 1, 2, 3]}
    log = bargain(round_of(1, (mine, yours), (1, 2), AGENTS), agreed=True, final_round=1)
    ends = log["agent_performance"]
    ends["alpha_1"] |= {"avg_response_time": 2.5, "total_requests": value, "total_cost": value}
    ends["beta_2"] |= {"avg_response_time": 2.5}
    game = record_of(encode(log))
    seconds = None if number is None else 2.5 * number
    assert list(game.usage) == [Usage(seconds=seconds, cost=number), NOTHING]
    assert len(game.faults) == 2 * (number is None)
    assert len(game.proposals) > 0
