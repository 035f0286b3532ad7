"""The keys of a JSON object have no order, and enough of them say which format a document is of.

An object whose keys are names of players is left as it is, unless they are numbered: they are in
the order of the seats.
"""

import gzip
import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from format_logs import logs_in_files
from test_format_contract import EVERY_FORMAT, model_of

from pipeline.archives import iter_documents
from pipeline.events.readings import content_id
from pipeline.formats import Format, find_splitter, ignored_reason, read_game
from pipeline.game_record import InvalidDocumentError

# What holds an object, or a list of objects, whose keys are no fields.
BY_PLAYER = {
    # The first vote, and the order of the shares, are the log's own.
    *("vote", "votes", "proposal"),
    *("allocation", "players", "agent_performance", "setting"),
}
ORDERS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "as they are": list,
    "sorted": sorted,
    "reversed": lambda items: items[::-1],
}


def in_order(value: Any, order: Callable[[list[Any]], list[Any]], parent: str = "") -> Any:
    """The value with the keys of each object in another order."""
    if isinstance(value, list):
        return [in_order(part, order, parent) for part in value]
    if not isinstance(value, dict):
        return value
    is_by_player = parent in BY_PLAYER or parent.startswith("Player ")
    is_of_fields = not is_by_player or {"role", "name", "target", "message"} & value.keys()
    keys = order(list(value)) if is_of_fields else list(value)
    return {key: in_order(value[key], order, key) for key in keys}


def values_of(data: bytes) -> list[Any]:
    """The JSON of a document, each of its lines if it has several; none for another one."""
    try:
        return [json.loads(data)]
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in data.splitlines()]
    except ValueError:
        return []


def contents(folder: Path, name: str, data: bytes, model: str | None) -> list[str]:
    """The contents of the games in a file, as an ingest finds them there."""
    (folder / name).write_bytes(data)
    found = iter_documents(folder / name, choose=find_splitter)
    games = [read_game(document.data or b"", model, document.path) for document in found]
    return [content_id(game) for game in games if game is not None]


def json_logs(format_: Format) -> Iterator[tuple[str, list[Any]]]:
    for file, data in logs_in_files(format_.NAME):
        if listed := values_of(data):
            yield file.format(3), listed


@cache
def known_logs(format_: Format) -> list[tuple[str, list[Any], list[str]]]:
    """The JSON logs of a format, each with its contents as it is written in a line."""
    with TemporaryDirectory() as folder:
        return [
            (name, listed, contents(Path(folder), name, in_lines(listed), model_of(format_)))
            for name, listed in json_logs(format_)
        ]


def in_lines(listed: list[Any], indent: int | None = None) -> bytes:
    return "\n".join(json.dumps(value, indent=indent) for value in listed).encode()


@pytest.mark.some(10, 20)
@EVERY_FORMAT
@pytest.mark.parametrize("indent", [None, 2], ids=["in a line", "over lines"])
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_neither_the_order_of_keys_nor_blanks_matter(
    format_: Format, order: Callable[[list[Any]], list[Any]], indent: int | None, tmp_path: Path
) -> None:
    """As `jq -S .` and other programs write it."""
    for name, listed, before in known_logs(format_):
        assert len(before) == 1
        data = in_lines([in_order(value, order) for value in listed], indent) + b"\n"
        assert contents(tmp_path, name, data, model_of(format_)) == before


@pytest.mark.some(20, 30)
@EVERY_FORMAT
@pytest.mark.parametrize("indent", [None, 2], ids=["in a line", "over lines"])
@pytest.mark.parametrize("name", ["3.txt", "3.log", "3", "3.jsonl", "3.txt.gz"])
def test_json_is_known_by_its_content(
    format_: Format, name: str, indent: int | None, tmp_path: Path
) -> None:
    """Whatever the file is called; in a file for lines, too, one document can go over many."""
    compress = gzip.compress if name.endswith(".gz") else bytes
    for _, listed, before in known_logs(format_):
        data, model = in_lines(listed, indent), model_of(format_)
        assert contents(tmp_path, name, compress(data), model) == before
        first = json.dumps(listed[0], indent=indent).encode()
        with pytest.raises(InvalidDocumentError):
            contents(tmp_path, name, compress(data[: first.rindex(b":")]), model)


@EVERY_FORMAT
def test_a_list_of_logs_is_read_or_refused(format_: Format, tmp_path: Path) -> None:
    for _, listed in json_logs(format_):
        if len(listed) == 1 and isinstance(listed[0], dict):
            data = json.dumps(listed).encode()
            try:
                assert contents(tmp_path, "3.json", data, model_of(format_))
            except InvalidDocumentError as error:
                assert error.fault.message == f"a JSON list of logs of {format_.NAME}"


# Logs of other programs, with some of the keys of a format of ours.
FOREIGN: dict[str, Any] = {
    "a chat": {"history": [{"role": "user", "content": "hi"}], "model": "m"},
    "a tournament": {"history": [[1, 2]], "result": "win", "scores": [1, 2], "topic": "x"},
    "another Avalon": {"players": ["A"], "missions": [], "winner": "good", "seed": 1},
    "another Werewolf": {"players": ["A"], "rounds": [], "werewolves": ["A"], "winner": "A"},
    "another negotiation": {"config": {}, "agreed": True, "final_round": 3, "log": []},
    "the name of an episode": {"name": "werewolf", "players": []},
    "a summary of an environment": {"env_id": "Avalon-v0", "agent": "m", "rewards": {}},
    "another record": {"game_record": {"players": [], "moves": [], "winner": 1}},
    "a record that is a list": {"game_record": [{"players": []}]},
    "a record that is a text": {"game_record": "1. e4 e5"},
    "agents that talk": [{"agent_name": "A", "content": "hi", "timestamp": 1}],
    "agents that take turns": [{"agent_name": "A", "turn": 1, "content": "hi"}],
    "a list of names": [{"agent_name": "A"}],
    "a map of names": {"short_name_map": {"A": "a"}},
    "another beginning": {"type": "init", "settings": {"seed": 1}},
    "another type": {"type": "header", "short_name_map": {}, "settings": {}},
}


@pytest.mark.parametrize("log", FOREIGN.values(), ids=FOREIGN)
def test_a_log_of_another_program_is_ignored_and_named(log: Any) -> None:
    data = json.dumps(log).encode()
    assert read_game(data, "m", "a.json") is None
    assert "JSON with other keys (" in ignored_reason(data, "a.json")


def test_a_log_of_another_environment_is_named() -> None:
    log = {"env_id": "Chess-v0", "agent": "m", "game_info": {}, "logs": []}
    data = json.dumps(log).encode()
    assert read_game(data, "m", "a.json") is None
    assert ignored_reason(data, "a.json") == "not read: a TextArena log of Chess-v0"


# Without these nobody can say whose log it is: other games are played in the same way.
TELLING = {
    "interchange": {"magic_interchange"},
    "kaggle": {"name"},
    "inspect": {"sample"},
    "textarena": {"env_id"},
    "ck_arena": {"game_record"},
    "goods": {"short_name_map"},
    "pgg_bench": {"short_name_map"},
    "chatarena": {"agent_name"},
}


@EVERY_FORMAT
def test_a_log_that_lost_a_key_is_a_game_or_refused(format_: Format) -> None:
    """It is never passed over as a log of another program."""
    for name, listed in json_logs(format_):
        for key in keys_of(listed) - TELLING.get(format_.NAME, set()):
            rest = json.loads(json.dumps(listed))
            for entry in entries_of(rest):
                entry.pop(key, None)
            try:
                data = "\n".join(map(json.dumps, rest)).encode()
                assert read_game(data, model_of(format_), name) is not None, (
                    f"without {key}: ignored"
                )
            except InvalidDocumentError:
                continue


def entries_of(listed: list[Any]) -> list[dict[str, Any]]:
    """What has the keys of a format: an object, each in a list, or the first of several."""
    first = listed[0]
    return first if isinstance(first, list) else [first.get("game_record", first)]


def keys_of(listed: list[Any]) -> set[str]:
    return set().union(*entries_of(listed))
