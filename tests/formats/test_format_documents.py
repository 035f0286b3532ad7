"""Any document at all: a game, no log, or refused with the place and the rule; nothing else."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st
from rawlogs import GAMES, MODEL, chameleon, chatarena, encode, fault_of, game_of

from pipeline.events.contracts import GAME_TABLES, TABLES, broken_rules, table_schema
from pipeline.events.frames import EventFrames, IdentifiedGame, build_event_frames
from pipeline.events.readings import content_id, game_id, sha256
from pipeline.formats import ignored_reason, read_game, whole_log_decoders_of_built_in_formats
from pipeline.formats.sniffer import DocumentSniffer
from pipeline.game_record import GameRecord, InvalidDocumentError

BOM = b"\xef\xbb\xbf"
BUILDERS = list(GAMES.values())
NAMES = list(GAMES)


def rows_of(game: GameRecord, data: bytes) -> EventFrames:
    """The game's rows of every event table."""
    placed = IdentifiedGame(
        game,
        game_id=game_id(sha256(data), 3, game.assigned_model),
        game_index=3,
        sha256=sha256(data),
        content_id=content_id(game),
        source="/logs",
        path="3.json",
    )
    return build_event_frames([placed])


# What is a log


@given(
    st.sampled_from(BUILDERS).flatmap(
        lambda build: st.dictionaries(
            st.sampled_from([*build(), "game_record", "agents"]), st.none() | st.integers()
        ).map(lambda changed: build() | changed)
    ),
    st.sets(st.sampled_from(["history", "topic", "scores", "result", "vote"])),
)
def test_keys_are_the_same_by_shape_and_by_all(log: dict[str, Any], lost: set[str]) -> None:
    data = encode({key: value for key, value in log.items() if key not in lost})
    assert (
        set(DocumentSniffer("", data, whole_log_decoders_of_built_in_formats()).keys)
        == set(DocumentSniffer("", data).keys)
        == set(log) - lost
    )


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("model", ["chameleon-7b", "undercover", "prisoner", "public_good"])
def test_no_models_name_makes_a_game(name: str, model: str) -> None:
    assert str(game_of(GAMES[name](model=model)).game_type) == name


@pytest.mark.parametrize("build", BUILDERS, ids=NAMES)
def test_a_model_without_a_name_is_refused(build: Callable[..., Any]) -> None:
    """On pages, in links and in comparisons an empty name would mean no model, or all of them."""
    fault = fault_of(build(model=""))
    assert "player" in fault.json_path
    assert fault.rule == "every field has its type"


@pytest.mark.parametrize("build", BUILDERS, ids=NAMES)
def test_a_given_model_does_not_replace_the_logs_own(build: Callable[..., Any]) -> None:
    log = build()
    assert game_of(log, "another") == game_of(log)


@pytest.mark.some(8)
@pytest.mark.parametrize(
    "write",
    [
        lambda log: json.dumps(log).encode(),
        lambda log: json.dumps(log, ensure_ascii=False, indent="\t").encode(),
        lambda log: b" \r\n\t" + encode(log) + b"\n\n",
        lambda log: BOM + encode(log),
        lambda log: encode(dict(reversed(log.items()))),
        lambda log: encode(log | {"added_later": {"by": ["somebody"]}}),
    ],
    ids=["one line", "tabs", "white space", "byte order mark", "keys reversed", "keys unknown"],
)
@pytest.mark.parametrize("build", BUILDERS, ids=NAMES)
def test_how_json_is_written_does_not_matter(
    build: Callable[..., Any], write: Callable[[Any], bytes]
) -> None:
    log = build(model="caf\u00e9 'x' \U0001f98e")
    assert game_of(write(log)) == game_of(log)


# What is none

NO_LOGS = {
    "an empty object": {},
    "an empty list": [],
    "a list of settings": [{"topic": "Rivers", "code": "Danube", "chameleon_name": "Player 1"}],
    "a chameleon setting": {"topic": "Rivers", "code": "Danube", "chameleon_name": "Player 1"},
    "an undercover setting": {"undercover_code": "lake", "undercover_name": "Player 1"},
    "a prisoner setting": {"topic_values": {"cooperate": 1}, "test_player_name": "Player 1"},
    "a public good setting": {"game_round": 5, "multiplier": 2},
    "an airport setting": {"topic": "a fee"},
    "a released chameleon setting": {"game_setting": {"topic": "Rivers"}, "clue": {}},
    "a released airport setting": {"topic": "a fee", "proposal": {}, "test_player_name": "P"},
    "a result of something else": {"result": "win", "scores": [1], "vote": {}},
    "an environment": {"name": "Chameleon", "players": [{"role_desc": "a `history` of games"}]},
    "a history": {"history": []},
    "a history of something else": {"history": [], "result": "win"},
    "text": "history",
    "null": None,
    "a number": 7,
    "the word in a value": {"text": "history"},
    "the key in a part": {"part": {"history": []}},
}


@pytest.mark.parametrize(
    "data", [b"null", b"7", b'"history"', b"[]", b"{}", b"[1, [2]]", b" true\n"]
)
def test_json_without_keys_is_not_called_text(data: bytes) -> None:
    assert ignored_reason(data, "a.json") == "not a log: JSON without keys"


@pytest.mark.parametrize("document", NO_LOGS.values(), ids=NO_LOGS)
def test_settings_and_other_json_are_no_logs(document: object) -> None:
    assert read_game(encode(document)) is None
    assert read_game(BOM + encode(document), "m") is None


# What is refused


REASONS = {
    b"": "the document is empty",
    BOM: "the document is empty",
    b'{"topic": "caf\xe9"}': "byte 0xe9 at position 14 is not UTF-8",
    b'{"history": [], "topic": "\xff"}': "byte 0xff at position 26 is not UTF-8",
    b"[" * 100_000: "lists or objects are nested too deeply",
    b'{"topic": "Rivers"': "the text ends too early",
    b'{\n "topic": "\xc3\xa9", x}': "JSON is malformed: object keys must be strings in line 2",
    '{"topic": "é"}'.encode("utf-16"): "text in UTF-16: convert it by `iconv -f UTF-16 -t UTF-8`",
    '{"topic": "é"}'.encode("utf-16-le"): "text in UTF-16LE: convert it",
    '["é"]'.encode("utf-16-be"): "text in UTF-16BE: convert it",
    '["é"]'.encode("utf-32"): "text in UTF-32: convert it",
    '["é"]'.encode("utf-32-be"): "text in UTF-32BE: convert it",
    b"\x1f\x8b\x08\0": "still compressed with gzip: unpack it",
    b"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n": "a Git LFS pointer in place of",
}


ODD: dict[str, tuple[float | str, str]] = {
    "NaN": (float("nan"), "NaN is no number of JSON"),
    "infinity": (float("inf"), "Infinity is no number of JSON"),
    "less than all": (float("-inf"), "-Infinity is no number of JSON"),
    "a first half": ("a \ud83e", "\\ud83e is half of a character"),
    "a second half": ("\udd8e b", "\\udd8e is half of a character"),
}


@pytest.mark.parametrize(("value", "message"), ODD.values(), ids=ODD)
@pytest.mark.parametrize("build", [*BUILDERS, chatarena])
def test_what_json_does_not_have_is_named_with_its_place(
    build: Callable[..., Any], value: object, message: str
) -> None:
    log = build()
    (log["history"] if isinstance(log, dict) else log)[2]["more"] = ["NaN", {"x": value}]
    fault = fault_of(log, MODEL)
    start = "$.history" if isinstance(log, dict) else "$"
    assert fault.json_path == f"{start}[2].more[1].x"
    assert fault.message.startswith(message)


@pytest.mark.parametrize("data", REASONS, ids=REASONS.values())
def test_what_does_not_decode_says_why_in_plain_words(data: bytes) -> None:
    fault = fault_of(data, "m")
    assert fault.message.startswith(REASONS[data])
    assert (fault.json_path, "JSON" in fault.rule) == ("$", True)


@pytest.mark.parametrize("build", BUILDERS, ids=NAMES)
def test_a_log_that_lost_its_history_is_refused(build: Callable[..., Any]) -> None:
    log = build()
    del log["history"]
    assert fault_of(log).rule == "`history` is present"
    log["win_flag"] = "of another type"
    assert fault_of(log).rule == "`history` is present"


def test_a_history_without_any_games_keys_is_refused() -> None:
    fault = fault_of({"history": [], "game_setting": {}})
    assert fault.json_path == "$"
    assert "keys" in fault.rule


@pytest.mark.parametrize("build", BUILDERS, ids=NAMES)
@pytest.mark.parametrize(
    ("history", "json_path"),
    [
        (None, "$.history"),
        ({}, "$.history"),
        ("", "$.history"),
        (["Hello"], "$.history[0]"),
        ([{"agent_name": "Player 1"}], "$.history[0]"),
        ([{"agent_name": "Player 1", "content": None}], "$.history[0].content"),
        ([{"agent_name": 1, "content": ""}], "$.history[0].agent_name"),
        ([{"agent_name": "", "content": "", "visible_to": 3}], "$.history[0].visible_to"),
        ([{"agent_name": "", "content": "", "visible_to": [3]}], "$.history[0].visible_to[0]"),
        ([{"agent_name": "", "content": "", "turn": "1"}], "$.history[0].turn"),
        ([{"agent_name": "", "content": "", "turn": 2**63}], "$.history[0].turn"),
    ],
)
def test_a_history_of_another_shape_is_refused(
    build: Callable[..., Any], history: object, json_path: str
) -> None:
    assert fault_of(build() | {"history": history}).json_path == json_path


@pytest.mark.parametrize("build", BUILDERS[:2], ids=NAMES[:2])
@pytest.mark.parametrize(
    ("key", "value", "json_path"),
    [
        ("player_backends", None, "$.player_backends"),
        ("player_backends", {"Player 1": "m"}, "$.player_backends[...]"),
        ("player_backends", {"Player 1": {"model": 4}}, "$.player_backends[...].model"),
        ("player_backends", {}, "$"),
        ("game_setting", None, "$.game_setting"),
        ("game_setting", {}, "$.game_setting"),
        ("win_flag", "2", "$.win_flag"),
        ("win_flag", 0.5, "$.win_flag"),
        ("result", 1, "$.result"),
    ],
)
def test_a_game_without_what_makes_it_one_is_refused(
    build: Callable[..., Any], key: str, value: object, json_path: str
) -> None:
    assert fault_of(build() | {key: value}).json_path == json_path


def test_a_hidden_player_who_does_not_play_is_refused() -> None:
    log = chameleon()
    log["game_setting"]["chameleon_name"] = "Player 9"
    assert "'Player 9'" in fault_of(log).message


# Whatever stands anywhere in a log, a game's rows satisfy the contracts, or it is refused

SCALARS = (
    st.none()
    | st.booleans()
    | st.sampled_from([-1, 0, 1, 7, 10**9, 2**63, -(2**63) - 1, 10**400, 0.5, 1e308])
    | st.sampled_from(
        ["", "Player 1", "Player 0", "Player 99", "Player 999999999", "\x00", "agree"]
    )
    | st.sampled_from(["Moderator", "all", "-pgm", "win", "9" * 400, "\ud83e\udd8e", "caf\u00e9'"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["0", "Player 1", "A", "model", "gold"]), inner)
    ),
    max_leaves=4,
)


def places_in(value: Any, so_far: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything in a document."""
    children = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, child in children:
        yield (*so_far, key)
        yield from places_in(child, (*so_far, key))


@st.composite
def bent_logs(draw: st.DrawFn) -> bytes:
    """A log of any game with a few of its values replaced, repeated or taken out."""
    build = draw(st.sampled_from([*BUILDERS, chatarena]))
    is_hidden_role = build in BUILDERS[:2]
    log: Any = build(flag=draw(st.sampled_from([0, 1, 2]))) if is_hidden_role else build()
    for _ in range(draw(st.integers(1, 3))):
        paths = list(places_in(log))
        if not paths:
            break
        *path, key = draw(st.sampled_from(paths))
        parent = log
        for step in path:
            parent = parent[step]
        action = draw(st.sampled_from(["replace", "remove", "repeat", "rename"]))
        if action == "remove":
            del parent[key]
        elif action == "repeat" and isinstance(parent, list):
            parent.insert(key, parent[key])
        elif action == "rename" and isinstance(parent, dict):
            parent[draw(st.sampled_from(["Player 1", "Player 4", "1", "B", ""]))] = parent.pop(key)
        else:
            parent[key] = draw(VALUES)
    return encode(log)


@given(bent_logs())
def test_a_bent_log_is_a_game_that_satisfies_the_contracts_or_is_refused(data: bytes) -> None:
    try:
        game = read_game(data, MODEL)
    except InvalidDocumentError as error:
        assert error.fault.json_path.startswith("$")
        assert error.fault.rule
        return
    if game is None:
        return
    rows = rows_of(game, data)
    assert list(rows.tables) == list(GAME_TABLES)
    breaks = set()
    for table in GAME_TABLES:
        assert dict(rows.table(table).schema) == table_schema(table)
        # A row that breaks its contract is known as one; it must not raise.
        found = rows.table(table)
        for is_broken in broken_rules(TABLES[table], found).values():
            breaks |= set(found.filter(is_broken)["game_id"])
    assert set(rows.invalid_games) == breaks
