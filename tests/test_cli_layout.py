"""Cells and tables of the command line: nothing is lost, nothing is wider than the terminal."""

from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given, strategies as st
from rich.cells import cell_len

from pipeline import text_format
from pipeline.cli import output, terminal
from pipeline.render import table as folds, terminal as layout
from pipeline.render.table import Estimate, Table

TEXTS = st.text("ab c-_/.,é漢😀\n", max_size=60)


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(TEXTS, st.integers(2, 30))
def test_wrapped_text_fits_and_loses_nothing(text: str, width: int) -> None:
    lines = layout.wrap_text(text.replace("\n", " "), width)
    assert all(cell_len(line) <= width for line in lines)
    assert squeezed("".join(lines)) == squeezed(text)


@given(
    st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=4),
    st.integers(40, 90),
)
def test_a_table_fits_and_loses_nothing(rows: list[tuple[str, str, str]], width: int) -> None:
    lines = list(
        layout.iter_table_lines(["one", "two lines", "x"], rows, [False, True, False], width)
    )
    assert all(cell_len(line) <= width for line in lines)
    shown = sorted(squeezed("".join(lines)))
    for row in rows:
        for cell in row:
            assert set(squeezed(cell)) <= set(shown)


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("a cost_sharing game", 12, ["a", "cost_sharing", "game"]),
        ("results/chameleon/0.json", 12, ["results/", "chameleon/0.", "json"]),
        ("abcdefgh", 3, ["abc", "def", "gh"]),
        ("gpt-3.5-turbo-pgm", 8, ["gpt-3.5-", "turbo-", "pgm"]),
        ("llama-2-70b", 6, ["llama-", "2-70b"]),
        ("0.692 (.63 to .75)", 12, ["0.692", "(.63 to .75)"]),
        ("at -0.1620, 2026-11-22.", 11, ["at -0.1620,", "2026-11-22."]),
        ("-0.530 (-.70 to -.26) †4", 18, ["-0.530", "(-.70 to -.26) †4"]),
    ],
)
def test_words_numbers_and_intervals_stay_whole(text: str, width: int, lines: list[str]) -> None:
    assert layout.wrap_text(text, width) == lines


NUMBERS, INTERVAL = ["0.6500", "-0.4771", "1,079.08"], ["-0.530 (-.70 to -.26)", "b"]
HEADINGS, PLAN = ["is_complete", "two words"], ["physical", "╭──╮\n│ a│\n╰──╯\n"]


@pytest.mark.parametrize(
    ("names", "rows", "width", "line", "expected"),
    [
        # A heading, a number or an interval is never broken.
        (HEADINGS, [["0.5", "0.75"]] * 2, None, 0, "is_complete  two words"),
        (HEADINGS, [["0.5", "0.75"]] * 2, 22, 0, "is_complete  two words"),
        (HEADINGS, [["0.5", "0.75"]] * 2, 21, 0, "is_complete two words"),
        (HEADINGS, [["0.5", "0.75"]] * 2, 20, 0, "── 1 ──"),
        (["value", "low", "high"], [NUMBERS] * 2, 23, -1, "0.6500 -0.4771 1,079.08"),
        (["value", "low", "high"], [NUMBERS] * 2, 22, 0, "── 1 ──"),
        (["value", "x"], [INTERVAL] * 2, 16, 2, "-0.530         b"),
        (["value", "x"], [INTERVAL] * 2, 16, 3, "(-.70 to -.26)"),
        (["value", "x"], [INTERVAL] * 2, 15, 0, "── 1 ──"),
        # Columns are aligned, and as wide as their cells where there is no limit.
        (["name", "n"], [["a", "1"], ["漢字", "22"]], None, 2, "a     1"),
        (["name", "n"], [["a", "1"], ["漢字", "22"]], None, 3, "漢字  22"),
        (["text"], [["word " * 100 + "end"]], None, -1, "word " * 100 + "end"),
        # A row alone keeps lines of its own.
        (["key", "value"], [PLAN], 60, 1, "value  ╭──╮"),
        (["key", "value"], [PLAN], 60, 2, "       │ a│"),
        (["key", "value"], [PLAN] * 2, 60, 2, "physical  ╭──╮ ⏎ │ a│ ⏎ ╰──╯ ⏎"),
    ],
)
def test_a_line_of_a_table(
    names: list[str], rows: list[list[str]], width: int | None, line: int, expected: str
) -> None:
    lines = list(
        layout.iter_table_lines(names, rows, [name in ("low", "high") for name in names], width)
    )
    assert lines[line] == expected


def test_a_title_is_above_the_rows_that_have_it() -> None:
    rows = [["a", "1"], ["b", "2"], ["c", "3"]]
    lines = layout.iter_table_lines(["name", "n"], rows, [False, True], 20, ["x", "x", "y\nz"])
    assert list(lines)[2:] == [
        *("── x ──", "a     1", "b     2"),
        *("── y ⏎ z ──", "c     3"),
    ]


def test_a_table_without_limit_is_not_padded_to_its_longest_text() -> None:
    rows = [["a", "1"], ["b" * 5000, "22"]]
    lines = list(layout.iter_table_lines(["text", "n"], rows, [False, True], None))
    assert lines[2] == "a" + " " * layout.MAX_PADDED_WIDTH + "  1"
    assert lines[3] == "b" * 5000 + "  22"
    assert max(map(len, lines[:3])) == layout.MAX_PADDED_WIDTH + 4


def test_records_keep_line_breaks() -> None:
    lines = list(layout.format_records(["a", "long"], [["x", "one\ntwo"]], 40))
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
    assert text_format.format_values([value]) == [text]


def test_the_floats_of_a_column_have_the_same_decimals() -> None:
    assert text_format.format_values([1.0, 0.25, None, 0.0]) == ["1.0000", "0.2500", "–", "0.0000"]
    assert text_format.format_values([1.0, 0.25], decimals=3) == ["1.000", "0.250"]


def test_printable_text_has_no_control_characters() -> None:
    assert terminal.escape_unprintable("a\x1b[2J\tb\r\n\x9b\u202e\u200bé") == (
        "a\\x1b[2J\\tb\\r\n\\x9b\\u202e\\u200bé"
    )


def test_a_table_in_parts_widens_only_where_nothing_is_wrapped() -> None:
    parts = [[("a", "1"), ("b", "2")], [("longer", "10,000")]]
    lines = list(
        layout.iter_table_lines_of_row_batches(["name", "n"], iter(parts), [False, True], None)
    )
    assert lines == ["name  n", "────  ─", "a     1", "b     2", "longer  10,000"]
    assert list(
        layout.iter_table_lines(["name", "n"], parts[0] + parts[1], [False, True], None)
    ) == [
        *("name         n", "──────  ──────"),
        *("a            1", "b            2", "longer  10,000"),
    ]


def test_a_table_in_parts_that_does_not_fit_counts_its_rows_on() -> None:
    row = ("word " * 30, "word " * 30, "word " * 30)
    lines = list(
        layout.iter_table_lines_of_row_batches(
            ["a", "b", "c"], iter([[row, row], [row]]), [False] * 3, 12
        )
    )
    assert [line for line in lines if line.startswith("──")] == ["── 1 ──", "── 2 ──", "── 3 ──"]


# --- what a table gives up for a narrow terminal ------------------------------------------------

ROWS = pl.DataFrame(
    {
        "metric": ["judgement", "judgement", "reasoning"],
        "model": ["a", "b", "a"],
        "value": [0.25, None, 1.0],
        "low": [0.125, None, 0.5],
        "high": [0.5, None, 1.0],
        "small_sample_terms": [[{"term": "t", "n_effective": 1.9 + 1e-15}], None, []],
        "n_games": [3, 3, 3],
        "is_complete": [True, False, None],
        "reason": [None, "no votes", None],
    }
)
ESTIMATE = Estimate("value", "low", "high", ("small_sample_terms",))


def table(rows: pl.DataFrame = ROWS, *steps: folds.LayoutStep) -> Table:
    return Table.from_frame("", rows, estimates=[ESTIMATE], layout_steps=steps)


def folded(*steps: folds.LayoutStep, rows: pl.DataFrame = ROWS) -> folds.TableLayout:
    view = folds.TableLayout(tuple(table(rows).visible_fields))
    return folds.apply_steps_until_fitting(view, steps, lambda _: False)


def texts(view: folds.TableLayout, name: str) -> list[str]:
    (own,) = view.select_fields(name)
    return own.cell_texts


def columns(view: folds.TableLayout) -> list[str]:
    return [one.name for one in view.fields]


def test_no_more_is_given_up_than_it_takes() -> None:
    whole = folds.TableLayout(tuple(table().visible_fields))
    steps = [folds.move_columns_to_titles("metric"), folds.move_columns_to_titles("model")]
    assert folds.apply_steps_until_fitting(whole, steps, lambda _: True) == whole
    n_columns = len(whole.fields)
    view = folds.apply_steps_until_fitting(whole, steps, lambda one: len(one.fields) < n_columns)
    assert [one.name for one in view.sections] == ["metric"]


def test_an_interval_and_a_mark_are_in_the_cell_of_their_value() -> None:
    assert texts(folded(), "value") == ["0.2500 (.12 to .50) †1.9", "–", "1.0000 (.50 to 1.00)"]
    assert columns(folded()) == ["metric", "model", "value", "n_games", "is_complete", "reason"]


@pytest.mark.parametrize(
    ("few", "shown"), [(1.9000000000000001, "1.9"), (19 * 0.1, "1.9"), (4.99, "4.9"), (3.0, "3")]
)
def test_few_settings_are_rounded_down_and_short(few: float, shown: str) -> None:
    assert text_format.format_rounded_down(few) == shown


def test_the_end_of_an_interval_next_to_zero_keeps_its_side() -> None:
    assert text_format.format_interval(0.001, 0.2) == "+.00 to .20"
    assert text_format.format_interval(-0.2, -0.001) == "-.20 to -.00"


def test_a_range_and_others_are_one_column() -> None:
    bounds = Table.from_frame(
        "", ROWS, estimates=[Estimate(low="low", high="high", heading="bounds")]
    )
    (field,) = (one for one in bounds.visible_fields if one.heading == "bounds")
    assert field.cell_texts == [".12 to .50", "–", ".50 to 1.00"]
    view = folded(folds.merge_columns("both", "metric", "n_games"))
    assert texts(view, "metric") == ["judgement, 3", "judgement, 3", "reasoning, 3"]
    assert view.notes == ("both: metric, n games",)


def test_what_all_rows_share_is_a_note_and_what_they_do_not_stays() -> None:
    view = folded(folds.move_constants_to_note("n_games", "model", "elsewhere"))
    assert view.notes == ("in all rows: n games 3",)
    assert [name for name in columns(folded()) if name not in columns(view)] == ["n_games"]
    assert columns(folded(folds.move_constants_to_note("n_games"), rows=ROWS.head(1))) == columns(
        folded()
    )


def test_a_star_is_where_the_answer_is_no_and_not_where_it_is_unknown() -> None:
    view = folded(
        folds.replace_flag_column_by_stars(
            "is_complete", "model", note="not complete", starred_value=False
        )
    )
    assert texts(view, "model") == ["a", "b *", "a"]
    assert view.notes == ("* not complete",)
    view = folded(
        folds.replace_flag_column_by_stars(
            "is_complete", "model", note="complete", starred_value=True
        )
    )
    assert texts(view, "model") == ["a *", "b", "a"]
    star = folds.replace_flag_column_by_stars("is_complete", "model", note="x", starred_value=True)
    assert folded(star, rows=ROWS.tail(2)).notes == ()


def test_a_text_below_names_its_rows() -> None:
    view = folded(folds.move_column_to_notes("reason"))
    assert view.notes == ("– no votes (judgement b)",)
    many = pl.DataFrame({"model": list("abcdefg"), "why": ["so"] * 7, "n": [5] * 7})
    view = folds.move_column_to_notes("why")(
        folds.TableLayout(tuple(Table.from_frame("", many).visible_fields))
    )
    assert view.notes == ("why: so (a, b, c, d, e and 2 more)",)


def test_titles_leave_a_column() -> None:
    assert folded(folds.move_columns_to_titles(*columns(folded()))).sections == ()
    view = folded(
        folds.move_columns_to_titles("metric"),
        folds.move_columns_to_titles("model"),
        folds.move_columns_to_titles("elsewhere"),
    )
    assert [one.name for one in view.sections] == ["metric", "model"]
    assert columns(view) == columns(folded())[2:]


@pytest.mark.parametrize("rows", [ROWS, ROWS.clear(), ROWS.head(1)])
def test_whatever_has_to_be_given_up_the_lines_fit(
    rows: pl.DataFrame, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in range(20, 100):
        monkeypatch.setattr(terminal, "terminal_width_or_none", lambda width=width: width)
        output.print_table(
            table(
                rows, folds.move_columns_to_titles("metric"), folds.move_columns_to_titles("model")
            ),
            "table",
        )
        lines = capsys.readouterr().out.splitlines()
        assert max(map(cell_len, lines), default=0) <= max(width, 40)
        assert bool(lines) or rows.is_empty()


ANYWHERE = [
    folds.move_column_to_notes("x"),
    folds.merge_columns("x", "y", "z"),
    folds.move_constants_to_note("x"),
    folds.shorten_ids("x"),
    folds.move_columns_to_titles("x"),
    folds.replace_flag_column_by_stars("x", "y", note="z", starred_value=True),
]


@pytest.mark.parametrize("rows", [ROWS, ROWS.clear()])
def test_a_step_for_columns_that_are_not_there_changes_nothing(rows: pl.DataFrame) -> None:
    for step in ANYWHERE:
        assert folded(step, rows=rows) == folded(rows=rows)
