"""ChatArena's tables and transcripts: what of them is read, and what is refused at which place."""

from pathlib import Path

import pytest
from chatarenalogs import COLUMNS, banner, printed, table, transcript
from hypothesis import given, strategies as st
from rawlogs import MODEL, chatarena, encode, fault_of, moderate, record_of, say

from pipeline.formats import read_game
from pipeline.formats.systems import chatarena as reprs
from pipeline.formats.systems.chatarena import splitter
from pipeline.ingest import ingest
from pipeline.lake import open_lake

TABLE, TRANSCRIPT = "a.csv", "a.txt#1"


NOT_NAMES = ("[]", "()", "None", "nan", "none", "nobody", "null")


@pytest.mark.parametrize("nobody", [None, "", [], [""], ["none"], *NOT_NAMES])
def test_what_stands_for_nobody_is_no_name(nobody: str | list[str] | None) -> None:
    """In each form a text shown so is a thought: no clue, no vote and no turn."""
    rows = chatarena(ending="tie")
    thoughts = [
        {**row, "content": "Player 1? Player 2?", "visible_to": nobody} for row in rows[4:7]
    ]
    thinking = [*rows[:4], *thoughts, *rows[4:7], *rows[7:8], *thoughts, *rows[8:]]
    written = [(encode(thinking), "a.json"), (transcript(thinking), TRANSCRIPT)]
    if nobody not in (None, ""):  # an empty cell is no value, and all are shown the text
        written.append((table(thinking), TABLE))
    for data, path in written:
        game = record_of(data, MODEL, path)
        course = game.messages.course
        assert [course.phase.count(phase) for phase in ("clue", "vote", "reflection")] == [3, 3, 6]
        assert game.faults == []


@pytest.mark.parametrize("written", ["()", "set()", "('Player 1',)", "{'Player 1'}"])
def test_other_lists_of_python(written: str) -> None:
    printed_rows = transcript(chatarena()).replace(b"['Player 1']", written.encode())
    heard = () if written.endswith("()") else ("Player 1",)
    assert record_of(printed_rows, MODEL, TRANSCRIPT).messages.course.visible_to[8] == heard


def test_a_reader_whom_nobody_knows_is_a_fault() -> None:
    """And where a player is called like that, it is one."""
    rows = chatarena()
    rows[4]["visible_to"] = ["Player 1", "Zed"]
    (fault,) = record_of(encode(rows), MODEL, "a.json").faults
    assert (fault.json_path, fault.message) == ("$[4].visible_to", "'Zed'")
    none = encode(rows).replace(b"Player 1", b"None").replace(b"Zed", b"None")
    game = record_of(none, MODEL, "a.json")
    assert (game.faults, game.messages.course.visible_to[8]) == ([], ("None",))


# Tables


def test_a_table_is_one_game_and_a_transcript_one_a_section(tmp_path: Path) -> None:
    """However the rows of a table go over lines."""
    rows = chatarena(['I vote\nfor "Player 2", \r\nI think'] * 3, "tie")
    (tmp_path / "game.csv").write_bytes(table(rows))
    (tmp_path / "runs.txt").write_bytes(transcript(chatarena(), chatarena(ending="tie")))
    ingest(tmp_path, tmp_path / "lake", model=MODEL, jobs=1)
    games = open_lake(tmp_path / "lake").table("games")
    outcomes = dict(games.select("path", "outcome").collect().iter_rows())
    assert outcomes == {"game.csv": "tie", "runs.txt#1": "voted_wrong", "runs.txt#2": "tie"}
    messages = open_lake(tmp_path / "lake").table("messages").join(games, on="game_id")
    said = messages.filter(path="game.csv").sort("message_index").collect()["content"].to_list()
    assert said == [row["content"] for row in rows]


def test_values_of_a_table() -> None:
    course = record_of(table(chatarena()), MODEL, TABLE).messages.course
    assert set(course.turn) == {0}
    assert course.visible_to[:3] == ("all", ("Player 1", "Player 3"), "Player 2")
    assert set(course.msg_type) == {"text"}


def test_empty_cells_are_null() -> None:
    rows = [{**row, "turn": "", "msg_type": ""} for row in chatarena()]
    course = record_of(table(rows), MODEL, TABLE).messages.course
    assert (set(course.turn), set(course.msg_type)) == ({None}, {None})


@pytest.mark.parametrize(
    "columns", [["", *COLUMNS], [*COLUMNS, "note"], COLUMNS[:2] + COLUMNS[:1:-1], COLUMNS[::-1]]
)
def test_columns_may_be_added_or_change_places(columns: list[str]) -> None:
    assert record_of(table(chatarena(), columns), MODEL, TABLE).outcome == "voted_wrong"


@pytest.mark.parametrize(
    "head", [b"a,b\n", b"agent_name,content\n", b"", b"\n", b"name,agent_name"]
)
def test_other_tables_are_not_asked_for(head: bytes) -> None:
    assert splitter(TABLE, head) is None
    assert read_game(head, MODEL, TABLE) is None


@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        (b",0,1700000000000000000,Player 2", b",0,1700000000000000000,Player 2,more", "$[2]"),
        (b",0,1700000000000000000,Player 2", b",first,1700000000000000000,Player 2", "$[2].turn"),
        (b"\"['Player 1', 'Player 3']\"", b"\"['Player 1', Player 3]\"", "$[1].visible_to"),
        (b"msg_type", b"msg_type,turn", "$"),
        (b"Rivers", b"\xff", "$"),
        (b"Moderator,There", b'Moderator,"There', "$"),
    ],
)
def test_a_broken_table_is_refused_at_its_place(old: bytes, new: bytes, at: str) -> None:
    data = table(chatarena(ending="tie"))
    assert data.count(old) >= 1
    assert fault_of(data.replace(old, new, 1), MODEL, TABLE).json_path == at


def test_a_cell_longer_than_the_csv_module_allows() -> None:
    rows = [*chatarena(), say("Player 1", "x" * 200_000)]
    assert len(record_of(table(rows), MODEL, TABLE).messages.content[-1]) == 200_000


# Transcripts


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends(end: str) -> None:
    data = transcript(chatarena()).strip().replace(b"\n", end.encode())
    assert splitter("a.txt", data[:4096]) is not None
    assert record_of(data, MODEL, TRANSCRIPT).outcome == "voted_wrong"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("Message(agent_name='Player 1')", "content"),
        ("Message(agent_name=None, content='x')", "a text"),
        ("Message(agent_name='Player 1', content='x', turn='1')", "an integer"),
        ("Message(agent_name='Player 1', content='x'", "character"),
        ("Message(agent_name='Player 1', content='x') + 1", "character"),
        ("Message(agent_name='Player 1', content=open('x'))", "character"),
        (r"Message(agent_name='Player 1', content='\ud83e')", "character"),
        (r"Message(agent_name='Player 1', content='\q')", "character"),
        ("Message('Player 1', 'x')", "character"),
        ("Message(content='x', agent_name='Player 1', content='y')", "twice"),
    ],
)
def test_a_broken_message_is_refused_at_its_place(line: str, message: str) -> None:
    data = transcript(chatarena()).strip() + f"\n{line}\n".encode()
    fault = fault_of(data, MODEL, TRANSCRIPT)
    assert fault.json_path.startswith(f"$[{len(chatarena())}]")
    assert message in fault.message


def test_other_lines_are_a_fault_of_the_game() -> None:
    data = transcript(chatarena()).strip() + b"\nThe chameleon won.\n\nIn 3 s.\n"
    (fault,) = record_of(data, MODEL, TRANSCRIPT).faults
    assert fault.message == f"2 other lines, the first of them line {len(chatarena()) + 5}"


def test_a_game_without_messages_is_refused() -> None:
    assert "the moderator says nothing" in fault_of(banner(1).encode(), MODEL, TRANSCRIPT).message


@pytest.mark.parametrize(
    "head",
    [
        b"GAME 1/2\n",
        b"=====\n  ROUND 1/2\n=====\n",
        b"=====\n  GAME 1/2\n=====\nscore: 1",
        b"=====\n  GAME 1/2\nMessage(",
    ],
)
def test_other_texts_are_not_asked_for(head: bytes) -> None:
    assert splitter("a.txt", head) is None
    assert read_game(head, MODEL, TRANSCRIPT) is None


@given(st.text(), st.lists(st.text(), max_size=3), st.integers(-(10**19), 10**19))
def test_what_python_prints_is_read(text: str, names: list[str], number: int) -> None:
    """All that `repr` writes, but for half a surrogate pair."""
    row = {**moderate(text, names), "turn": number}
    assert reprs.parse_message_repr(printed(row).rstrip("\n"), "$") == {**row, "logged": False}
