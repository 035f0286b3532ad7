"""MAgIC's usual logs, which are decoded in one pass and share what they have alike.

A log with a key of another program is decoded part by part, and one that is read by itself shares
nothing. Either way the game, or the rule that the log breaks, has to be the same.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pipeline.archives import iter_documents
from pipeline.conversion import iter_converted_documents
from pipeline.formats import read_game, record_builder, whole_log_decoders_of_built_in_formats
from pipeline.formats.sniffer import DocumentSniffer
from pipeline.game_record import InvalidDocumentError
from pipeline.simulate import simulate

N_MUTANTS = 400
# What stands in a log in place of a value that belongs there.
VALUES: list[Any] = [
    *(None, 0, 1, 2, -1, 1.5, 10**30, True, "", "x", [], {}, [""], [1, 2, 3], [1, 0, 1]),
    *("Player 1", "Player 2", "Player 4", "Moderator", "all", ["Player 1"], "agree", "win", "fail"),
    *("chameleon", "undercover", "I vote for Player 2", "Airline A: 30% Airline B: 20%"),
    *({"gold": [1, 0], "inter": [1]}, {"Player 1": "Player 2"}, {"0": {"Player 1": 2}}),
]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Simulated games of all seven competitions."""
    results = simulate(tmp_path_factory.mktemp("usual") / "logs", models=2, games=3, seed=9).results
    found = [document.data for document in iter_documents(results)]
    return [data for data in found if data and b'"history"' in data]


def told(data: bytes) -> bytes:
    """All that is read of a document."""
    try:
        game = read_game(data)
    except InvalidDocumentError as error:
        return msgspec.json.encode(error.fault)
    return msgspec.json.encode(game)


def with_another_key(data: bytes) -> bytes:
    return data.rstrip()[:-1] + b', "of another program": 0}'


def alone(data: bytes) -> bytes:
    record_builder.clear_cache()
    return told(data)


def assert_alike(logs: list[bytes]) -> None:
    together = [told(data) for data in logs]
    assert together == [told(with_another_key(data)) for data in logs]
    assert together == [alone(data) for data in logs]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value in a log."""
    if not isinstance(value, dict | list):
        return
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*at, key)
        yield from places(part, (*at, key))


def mutant(data: bytes, chance: random.Random) -> bytes:
    """The log with one value lost, changed, listed twice, or in another order."""
    log = json.loads(data)
    ways = list(places(log))
    outside = [way for way in ways if way[0] != "history"]
    *to, last = chance.choice(chance.choice([ways, outside]))
    holder = log
    for key in to:
        holder = holder[key]
    match chance.randrange(4):
        case 0:
            del holder[last]
        case 1 if isinstance(holder, list):
            holder.insert(last, holder[last])
        case 1:
            items = list(holder.items())
            holder.clear()
            holder.update(reversed(items))
        case _:
            holder[last] = chance.choice(VALUES)
    return json.dumps(log).encode()


def test_simulated_games(logs: list[bytes]) -> None:
    looks = [DocumentSniffer("", data, whole_log_decoders_of_built_in_formats()) for data in logs]
    assert all(look.keys and look.whole_log for look in looks)
    assert {json.loads(told(data))["game_type"] for data in logs} == {
        *("chameleon", "undercover", "cost_sharing", "prisoners_dilemma", "public_good")
    }
    assert_alike(logs)


def test_mutants(logs: list[bytes]) -> None:
    chance = random.Random(57)
    mutants = [mutant(chance.choice(logs), chance) for _ in range(N_MUTANTS)]
    assert_alike(mutants)


def test_a_key_twice(logs: list[bytes]) -> None:
    """Of a key that comes twice, decoders keep the last, whatever type the first has."""
    keys = (b'"Player 1": ', b'"0": ', b'"win_flag": ', b'"history": ', b'"game_setting": ')
    twice = [
        data.replace(key, key + value + b", " + key, 1)
        for data in logs[::3]
        for key in keys
        for value in (b"null", b"{}", b'"x"', b'{"model": "x"}')
    ]
    assert_alike(twice)


def test_what_games_have_alike_does_not_pile_up(
    tmp_path: Path, logs: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of a log can be as long as a document; a conversion has as many as there are."""
    monkeypatch.setattr("pipeline.conversion._MAX_BATCH_BYTES", max(map(len, logs)))
    for number, data in enumerate(logs):
        (tmp_path / f"{number}.json").write_bytes(data)
    record_builder.clear_cache()
    most = 0
    for converted in iter_converted_documents(tmp_path):
        assert converted.line
        most = max(most, record_builder.call_cached.cache_info().currsize)
    alone(logs[0])
    assert 0 < most < 5 * record_builder.call_cached.cache_info().currsize


@pytest.mark.slow
def test_public_games(shared: Path) -> None:
    archive = shared / "corpus" / "magic-public.tar.zst"
    found = [document.data for document in iter_documents(archive)]
    assert_alike([data for data in found if data and data[:1] == b"{"])
