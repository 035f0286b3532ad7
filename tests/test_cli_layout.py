"""Cells and tables of the command line: nothing is lost, nothing is wider than the terminal."""

from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from rich.cells import cell_len

from pipeline import cells
from pipeline.cli import folds, layout, output, terminal

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
    lines = list(layout.table(["one", "two lines", "x"], rows, [False, True, False], width))
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


def test_a_heading_for_paper_is_one_line_elsewhere() -> None:
    assert layout.in_one_line("win_\nrate") == "win_rate"
    assert layout.in_one_line("judge-\nment") == "judgement"
    assert layout.in_one_line("other\nvalue") == "other value"


@pytest.mark.parametrize(
    ("width", "first"),
    [
        (None, "is_complete  two words"),
        (22, "is_complete  two words"),
        (21, "is_complete two words"),
        (20, "── 1 ──"),
    ],
)
def test_a_heading_is_never_broken(width: int | None, first: str) -> None:
    names = ["is_complete", "two words"]
    assert next(layout.table(names, [["0.5", "0.75"]] * 2, [False] * 2, width)) == first


def test_an_interval_stays_whole() -> None:
    assert layout.wrapped("-0.530 (-.70 to -.26) †4", 18) == ["-0.530", "(-.70 to -.26) †4"]
    row = ["-0.530 (-.70 to -.26)", "b"]
    assert list(layout.table(["value", "x"], [row, row], [False] * 2, 16))[2:4] == [
        *("-0.530         b", "(-.70 to -.26)")
    ]
    assert next(layout.table(["value", "x"], [row, row], [False] * 2, 15)) == "── 1 ──"


def test_a_title_is_above_the_rows_that_have_it() -> None:
    rows = [["a", "1"], ["b", "2"], ["c", "3"]]
    lines = layout.table(["name", "n"], rows, [False, True], 20, ["x", "x", "y\nz"])
    assert list(lines)[2:] == [
        *("── x ──", "a     1", "b     2"),
        *("── y ⏎ z ──", "c     3"),
    ]


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


# --- what a table gives up for a narrow terminal ------------------------------------------------

ROWS = pl.DataFrame(
    {
        "metric": ["judgement", "judgement", "reasoning"],
        "model": ["a", "b", "a"],
        "value": [0.25, None, 1.0],
        "low": [0.125, None, 0.5],
        "high": [0.5, None, 1.0],
        "thin": ["†4", "", ""],
        "n_games": [3, 3, 3],
        "is_complete": [True, False, None],
        "reason": [None, "no votes", None],
    }
)


def folded(*steps: folds.Fold, rows: pl.DataFrame = ROWS) -> folds.View:
    return folds.fitting(folds.View(rows), steps, lambda _: False)


def test_no_more_is_given_up_than_it_takes() -> None:
    steps = [folds.titled("metric"), folds.titled("model")]
    assert folds.fitting(folds.View(ROWS), steps, lambda _: True) == folds.View(ROWS)
    view = folds.fitting(folds.View(ROWS), steps, lambda one: len(one.columns) < ROWS.width)
    assert view.sections == ("metric",)


def test_an_interval_and_a_mark_go_into_the_cell_of_their_value() -> None:
    view = folded(folds.interval("value", "low", "high"), folds.mark("value"))
    assert view.rows["value"].to_list() == ["0.2500 (.12 to .50) †4", "–", "1.0000 (.50 to 1.00)"]
    assert {"low", "high", "thin"}.isdisjoint(view.rows.columns)


def test_the_end_of_an_interval_next_to_zero_keeps_its_side() -> None:
    assert folds.with_interval("0.1", 0.001, 0.2) == "0.1 (+.00 to .20)"
    assert folds.with_interval("-0.1", -0.2, -0.001) == "-0.1 (-.20 to -.00)"


def test_bounds_and_others_are_one_column() -> None:
    view = folded(folds.bounds("bounds", "low", "high"))
    assert view.rows["bounds"].to_list() == [".12 to .50", "–", ".50 to 1.00"]
    view = folded(folds.rounded(2), folds.merged("both", "value", "n_games", note="what it is"))
    assert view.rows["both"].to_list() == ["0.25, 3", "–, 3", "1.00, 3"]
    assert view.notes == ("what it is",)


def test_what_all_rows_share_is_a_note_and_what_they_do_not_stays() -> None:
    view = folded(folds.alike("n_games", "model", "elsewhere"))
    assert view.notes == ("in all rows: n_games 3",)
    assert [name for name in ROWS.columns if name not in view.rows.columns] == ["n_games"]
    assert folded(folds.alike("n_games"), rows=ROWS.head(1)).rows.columns == ROWS.columns


def test_a_star_is_where_the_answer_is_no_and_not_where_it_is_unknown() -> None:
    view = folded(folds.starred("is_complete", "model", "not complete", where=False))
    assert view.rows["model"].to_list() == ["a", "b *", "a"]
    assert view.notes == ("* not complete",)
    view = folded(folds.starred("is_complete", "model", "complete", where=True))
    assert view.rows["model"].to_list() == ["a *", "b", "a"]
    view = folded(folds.starred("is_complete", "model", "x", where=True), rows=ROWS.tail(2))
    assert view.notes == ()


def test_a_text_below_names_its_rows() -> None:
    view = folded(folds.below("reason", "metric", "model"))
    assert view.notes == ("– no votes (judgement b)",)
    many = pl.DataFrame({"model": list("abcdefg"), "reason": ["why"] * 7})
    view = folded(folds.below("reason", "model", title=""), rows=many)
    assert view.notes == ("why (a, b, c, d, e and 2 more)",)


def test_titles_leave_a_column() -> None:
    assert folded(folds.titled(*ROWS.columns)).sections == ()
    view = folded(folds.titled("metric"), folds.titled("model"), folds.titled("elsewhere"))
    assert view.sections == ("metric", "model")
    assert view.columns == ROWS.columns[2:]


@pytest.mark.parametrize("rows", [ROWS, ROWS.clear(), ROWS.head(1)])
def test_whatever_has_to_be_given_up_the_lines_fit(
    rows: pl.DataFrame, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in range(20, 100):
        monkeypatch.setattr(terminal, "width", lambda width=width: width)
        steps = [folds.short(n_games="games"), folds.titled("metric"), folds.titled("model")]
        output.show(rows, "table", folds=steps)
        lines = capsys.readouterr().out.splitlines()
        assert max(map(cell_len, lines), default=0) <= max(width, 40)
        assert bool(lines) or rows.is_empty()


ANYWHERE = [
    folds.below("x", "y"),
    folds.short(x="y"),
    folds.interval("x", "y", "z"),
    folds.bounds("x", "y", "z"),
    folds.merged("x", "y", "z"),
    folds.mark("x", "y"),
    folds.alike("x"),
    folds.begun("x"),
    folds.starred("x", "y", "z", where=True),
]


@pytest.mark.parametrize("rows", [ROWS, ROWS.clear()])
def test_a_step_for_columns_that_are_not_there_changes_no_row(rows: pl.DataFrame) -> None:
    for step in ANYWHERE:
        view = folded(step, rows=rows)
        assert_frame_equal(view.rows, rows)
        assert view.notes == ()
