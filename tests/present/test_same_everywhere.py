"""Every value, interval, mark, note and heading is the same in every form."""

import csv
import io
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_latex import table_of, typeset

from pipeline.api import Lake, open_lake
from pipeline.column import display_name
from pipeline.render import ResultTable, result_names
from pipeline.render.table import Estimate, Field, Table
from pipeline.text_format import split_bold_parts

ASKED: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "compare": ((("sim-atlas", "sim-delta"),), {"margin": 0.1}),
    "compare_with": (("role=civilian",), {"metric": ["reasoning"], "margin": 0.1}),
    "contrast": (("sim-atlas", "role"), {"metric": ["reasoning"]}),
    "evidence": (("judgement",), {}),
    "evidence_sum": (("deception",), {}),
    "findings": (("stated_votes",), {}),
    "metrics": ((), {"by": ["model", "role"]}),
    "plan": (("judgement", 0.1), {}),
    "schema": (("votes",), {}),
    "search": ((["vote"],), {}),
    "settings_apart": (("sim-delta", "sim-atlas", "win_rate"), {}),
}


@pytest.fixture(scope="module")
def lake(sample_lake: Path) -> Lake:
    return open_lake(sample_lake)


IN_PERCENT = "leaderboard in percent"


DEAR = ("audit", "diff", "plan", "ratings")
NAMES = [
    pytest.param(name, marks=pytest.mark.slow) if name in DEAR else name for name in result_names()
]


@pytest.fixture(scope="module", params=[*NAMES, IN_PERCENT])
def table(request: pytest.FixtureRequest, lake: Lake) -> ResultTable:
    name = request.param
    if name == IN_PERCENT:
        return lake.present("leaderboard", percent=True)
    if not hasattr(lake, name):
        pytest.skip("no method of a lake")
    if name in ("diff", "diff_games"):
        return lake.present(name, lake)
    given, asked = ASKED.get(name, ((), {}))
    return lake.present(name, *given, **asked)


def cells_of_html(text: str) -> list[list[str]]:
    """The rows of a table as texts, without what is for readers of the screen or of drawings."""
    seen = re.sub(r'<(\w+) class="vh">.*?</\1>', "", text, flags=re.DOTALL)
    return [
        [
            unescape(re.sub("<[^>]*>", "", cell)).strip()
            for cell in re.findall("<t[dh](?: [^>]*)?>(.*?)</t[dh]>", row, re.DOTALL)
        ]
        for row in re.findall("<tr.*?</tr>", seen, re.DOTALL)
    ]


def in_any_order(text: str) -> list[str]:
    """The words of a cell: an interval may be below its mark."""
    return sorted(re.findall(r"\([^()]*\)|\S+", text.replace("⏎", " ")))


def expected(table: Table) -> list[list[list[str]]]:
    return [
        [in_any_order("".join(split_bold_parts(str(cell)))) for cell in row]
        for row in zip(*(one.cells for one in table.visible_fields), strict=True)
    ]


def test_headings_are_words_from_the_declarations(table: ResultTable) -> None:
    for one in table.visible_fields:
        declared = table.columns.get(one.name)
        named = {one.estimate.heading} if one.estimate else set()
        if declared:
            named |= {declared.heading or display_name(one.name)}
        named |= {*table.headings.values()} or {one.name}
        assert one.heading in named
        assert "_" not in one.heading


def test_the_terminal_shows_the_cells(table: ResultTable) -> None:
    lines = table.text().splitlines()
    assert all(note in lines for note in table.notes)
    if table.as_records:
        return
    heading, rule, *rows = lines
    assert re.split("  +", heading.strip()) == [one.heading for one in table.visible_fields]
    starts = [found.start() for found in re.finditer("─+", rule)]
    shown = [
        [row[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)]
        for row in rows[: table.visible_rows.height]
    ]
    if all(len(cell) < 100 for one in table.visible_fields for cell in one.cell_texts):
        assert [list(map(in_any_order, row)) for row in shown] == expected(table)


def test_markdown_shows_the_cells(table: ResultTable) -> None:
    lines = [_of_markdown(line) for line in table.markdown().splitlines()]
    heading, _, *rows = (line for line in lines if line[:2] == "| ")
    assert heading == f"| {' | '.join(one.heading for one in table.visible_fields)} |"
    for row, wanted in zip(rows, expected(table), strict=True):
        assert in_any_order(row.replace("| ", "").removesuffix(" |").removesuffix("|")) == sorted(
            word for cell in wanted for word in cell
        )
    assert [line[2:] for line in lines if line[:2] == "- "] == table.document_notes


def _of_markdown(line: str) -> str:
    """A line as it is read, whatever is bold."""
    plain = re.sub(r"\*\*([\d.]+)\*\*", r"\1", line)
    return unescape(re.sub(r"\\(.)", r"\1", plain).replace("<br>", " "))


def test_latex_shows_the_cells(table: ResultTable) -> None:
    text = table.latex()
    heading, *rows = table_of(text)
    assert [typeset(one) for one in heading] == [one.heading for one in table.visible_fields]
    for row, wanted in zip(rows, expected(table), strict=True):
        assert [in_any_order(_of_latex(cell)) for cell in row] == wanted
    notes = text.partition(r"\begin{itemize}\footnotesize" + "\n")[2].splitlines()[:-1]
    assert [typeset(note.removeprefix(r"\item ")) for note in notes] == table.document_notes


def _of_latex(cell: str) -> str:
    """A cell as it is printed, with a hyphen for a minus and an `e` for a power of ten."""
    plain = re.sub(r" \\times 10\^\{(-?)(\d+)\}", lambda power: f"e{power[1]}{power[2]:0>2}", cell)
    light = re.sub(r"\\textbf\{([\d.]+)\}", r"\1", plain)
    return typeset(re.sub(r"\$([-+<>\d.e]+)\$", r"\1", light))


def test_html_shows_the_cells(table: ResultTable) -> None:
    if table.rows.is_empty():
        return
    text = table.html()
    heading, *rows = cells_of_html(text)
    assert [one.lower() for one in heading] == [one.heading.lower() for one in table.visible_fields]
    for row, wanted in zip(rows, expected(table), strict=True):
        assert [in_any_order(cell) for cell in row] == wanted
    notes = re.findall("<li>(.*?)</li>", text)
    assert list(map(unescape, notes)) == table.document_notes


def test_programs_have_every_column_and_digit(table: ResultTable) -> None:
    rows = table.rows.to_dicts()
    assert [list(row) for row in json.loads(table.json())] == [list(row) for row in rows]
    assert next(csv.reader(io.StringIO(table.csv()))) == table.rows.columns
    for record, row in zip(json.loads(table.json()), rows, strict=True):
        for name, value in row.items():
            if isinstance(value, float | int | str):
                assert record[name] == value


def test_an_estimate_is_its_columns(table: ResultTable) -> None:
    """What a cell says, read back, is what the frame has, as rounded."""
    for one in table.visible_fields:
        if one.estimate and one.estimate.value:
            check_estimate(one, one.estimate, table)


# How far a number and an end are from what is shown, and how many times as large that is.
UNITS = {None: (5.1e-4, 5.1e-3, 1), "%": (0.051, 0.051, 100), "area": (0.51, 0.51, 1)}


def number(text: str) -> float:
    return float(text.replace(",", ""))


def check_estimate(one: Field, estimate: Estimate, table: Table) -> None:
    for cell, row in zip(one.cells, table.visible_rows.iter_rows(named=True), strict=True):
        value = row[estimate.value]
        assert (cell.text == "–") == (value is None)
        if value is None:
            continue
        unit, of_end, times = UNITS[table.columns[one.name].unit]
        assert number(cell.text) == pytest.approx(times * value, abs=unit)
        both = [row[end] for end in (estimate.low, estimate.high) if end]
        ends = [times * end for end in both if end is not None]
        shown = [number(end) for end in cell.interval_text.strip("()").split(" to ") if end]
        assert shown == pytest.approx(ends, abs=of_end)
        terms = [term for name in estimate.small_sample_terms for term in row[name] or ()]
        marked = [float(cell.mark.removeprefix("†"))] if cell.mark else []
        assert marked == pytest.approx(sorted(t["n_effective"] for t in terms)[:1], abs=0.1)


def test_hostile_texts_are_texts_in_html() -> None:
    evil = "<script>alert(1)</script>\x1b[2J\u202e"
    rows = pl.DataFrame({"model": [evil], evil: [evil]})
    text = ResultTable(**vars(Table.from_frame(evil, rows, notes=[evil]))).html()
    assert [sign for sign in ("<script", "\x1b", "\u202e") if sign in text] == []
