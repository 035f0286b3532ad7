"""Cells and tables of the command line: nothing is lost, nothing is wider than the terminal."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pipeline import cells
from pipeline.cli import layout, terminal

TEXTS = st.text("ab c-_/.,é漢😀\n", max_size=60)


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(TEXTS, st.integers(2, 30))
def test_wrapped_text_fits_and_loses_nothing(text: str, width: int) -> None:
    lines = layout.wrapped(text.replace("\n", " "), width)
    assert all(cell_len(line) <= width for line in lines)
    assert squeezed("".join(lines)) == squeezed(text)


@given(
    st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=4),
    st.integers(40, 90),
)
def test_a_table_fits_and_loses_nothing(rows: list[tuple[str, str, str]], width: int) -> None:
    lines = list(layout.table(["one", "two\nlines", "x"], rows, [False, True, False], width))
    assert all(cell_len(line) <= width for line in lines)
    shown = sorted(squeezed("".join(lines)))
    for row in rows:
        for cell in row:
            assert set(squeezed(cell)) <= set(shown)


def test_words_stay_whole_where_there_is_room() -> None:
    assert layout.wrapped("a cost_sharing game", 12) == ["a", "cost_sharing", "game"]
    assert layout.wrapped("results/chameleon/0.json", 12) == ["results/", "chameleon/0.", "json"]
    assert layout.wrapped("abcdefgh", 3) == ["abc", "def", "gh"]


def test_numbers_stay_whole() -> None:
    assert layout.wrapped("gpt-3.5-turbo-pgm", 8) == ["gpt-3.5-", "turbo-", "pgm"]
    assert layout.wrapped("llama-2-70b", 6) == ["llama-", "2-70b"]
    assert layout.wrapped("0.692 (.63–.75)", 9) == ["0.692", "(.63–.75)"]
    assert layout.wrapped("at -0.1620, 2026-11-22.", 11) == ["at -0.1620,", "2026-11-22."]
    names, row = ["value", "low", "high"], ["0.6500", "-0.4771", "1,079.08"]
    right = [True] * 3
    assert list(layout.table(names, [row, row], right, 23))[-1] == "0.6500 -0.4771 1,079.08"
    assert next(layout.table(names, [row, row], right, 22)) == "── 1 ──"


def test_a_heading_in_a_block_has_no_hyphen_of_its_lines() -> None:
    lines = list(
        layout.table(["win\nrate", "differ-\nence"], [["a" * 20] * 2] * 2, [False] * 2, 30)
    )
    assert lines[1:3] == ["win rate    " + "a" * 20, "difference  " + "a" * 20]


@pytest.mark.parametrize(
    ("width", "heading"),
    [
        (None, ["judgement  reasoning"]),
        (20, ["judgement  reasoning"]),
        (19, ["           rea-", "judgement  soning"]),
        (14, ["judge-  rea-", "ment    soning"]),
    ],
)
def test_a_heading_is_hyphenated_only_where_it_has_to_be(
    width: int | None, heading: list[str]
) -> None:
    names = ["judge-\nment", "rea-\nsoning"]
    lines = list(layout.table(names, [["0.5", "0.75"]] * 2, [False] * 2, width))
    assert lines[: len(heading)] == heading


@given(st.integers(14, 60), st.lists(st.tuples(TEXTS, TEXTS), max_size=3))
def test_a_heading_with_hyphens_fits(width: int, rows: list[tuple[str, str]]) -> None:
    names = ["judge-\nment", "self\naware-\nness"]
    shown = list(layout.table(names, rows, [True, False], max(width, 40)))
    assert all(cell_len(line) <= max(width, 40) for line in shown)
    assert "judgement" in squeezed("".join(shown)).replace("-", "")


def test_a_table_is_aligned_by_columns() -> None:
    lines = layout.table(["name", "n"], [["a", "1"], ["漢字", "22"]], [False, True], None)
    assert list(lines) == ["name   n", "────  ──", "a      1", "漢字  22"]


def test_a_row_alone_with_lines_of_its_own_keeps_them() -> None:
    plan = ["physical", "╭──╮\n│ a│\n╰──╯\n"]
    lines = list(layout.table(["key", "value"], [plan], [False, False], 60))
    assert lines == ["key    physical", "value  ╭──╮", "       │ a│", "       ╰──╯"]
    assert "╭──╮ ⏎ │ a│" in list(layout.table(["key", "value"], [plan] * 2, [False, False], 60))[2]


def test_a_table_without_limit_is_as_wide_as_its_cells() -> None:
    lines = list(layout.table(["text"], [["word " * 100 + "end"]], [False], None))
    assert cell_len(lines[-1]) == 503


def test_a_table_without_limit_is_not_padded_to_its_longest_text() -> None:
    rows = [["a", "1"], ["b" * 5000, "22"]]
    lines = list(layout.table(["text", "n"], rows, [False, True], None))
    assert lines[2] == "a" + " " * layout.PADDED + "  1"
    assert lines[3] == "b" * 5000 + "  22"
    assert max(map(len, lines[:3])) == layout.PADDED + 4


def test_a_table_too_wide_is_shown_row_by_row() -> None:
    names = [f"column_{number}" for number in range(12)]
    lines = list(layout.table(names, [["value"] * 12] * 2, [False] * 12, 60))
    assert lines[0] == "── 1 ──"
    assert lines[1] == "column_0   value"
    assert len(lines) == 26


def test_records_keep_line_breaks() -> None:
    lines = list(layout.records(["a", "long"], [["x", "one\ntwo"]], 40))
    assert lines == ["a     x", "long  one", "      two"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (True, "true"),
        (3, "3"),
        (0.5, "0.5000"),
        (0.00001, "1e-05"),
        (2.0, "2"),
        (1e20, "1e+20"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        ("", ""),
        (b"a\xff", "a\\xff"),
        ([1, None, "x"], '[1,null,"x"]'),
        ({"a": {"b": [b"c"]}}, '{"a":{"b":["c"]}}'),
        (datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC), "2024-05-06 07:08:09 UTC"),
    ],
)
def test_cells(value: object, text: str) -> None:
    assert cells.texts([value]) == [text]


def test_the_floats_of_a_column_have_the_same_decimals() -> None:
    assert cells.texts([1.0, 0.25, None, 0.0]) == ["1.0000", "0.2500", "–", "0.0000"]
    assert cells.texts([1.0, 0.25], decimals=3) == ["1.000", "0.250"]


def test_printable_text_has_no_control_characters() -> None:
    assert terminal.printable("a\x1b[2J\tb\r\n\x9b\u202e\u200bé") == (
        "a\\x1b[2J\\tb\\r\n\\x9b\\u202e\\u200bé"
    )


def test_a_table_in_parts_widens_only_where_nothing_is_wrapped() -> None:
    parts = [[("a", "1"), ("b", "2")], [("longer", "10,000")]]
    lines = list(layout.tables(["name", "n"], iter(parts), [False, True], None))
    assert lines == ["name  n", "────  ─", "a     1", "b     2", "longer  10,000"]
    assert list(layout.table(["name", "n"], parts[0] + parts[1], [False, True], None)) == [
        *("name         n", "──────  ──────"),
        *("a            1", "b            2", "longer  10,000"),
    ]


def test_a_table_in_parts_that_does_not_fit_counts_its_rows_on() -> None:
    row = ("word " * 30, "word " * 30, "word " * 30)
    lines = list(layout.tables(["a", "b", "c"], iter([[row, row], [row]]), [False] * 3, 12))
    assert [line for line in lines if line.startswith("──")] == ["── 1 ──", "── 2 ──", "── 3 ──"]
