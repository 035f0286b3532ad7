"""Tables in LaTeX: they show texts as they are, and have the values of the frame."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st

from pipeline import open_lake
from pipeline.cli import main
from pipeline.render import latex
from pipeline.render.table import Table

WORDS = {
    "textbackslash": "\\",
    "textasciitilde": "~",
    "textasciicircum": "^",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "textasciigrave": "`",
    "char34": '"',
    "textbraceleft": "{",
    "textbraceright": "}",
    "times": "×",
}
HOSTILE = (
    r"\input{/etc/passwd} \write18{rm} \end{tabular}",
    "100 % & 5$ #1 a_b {c} ~x ^2",
    "[1em] *",
    "a -- b --- c ''d'' ``e`` ,,f ?`g",
    '"a "o ^^41 ^^M',
    "\\",
    "a\n\nb",
)


def typeset(text: str) -> str:
    """What LaTeX prints of a text without commands that do anything; fails for any other."""
    token = re.compile(r"\\([a-z]+\d*)\{\}|\\([$&#%_])|\{([\[\]*])\}|(\{\})|([^\\{}$&#%_~^<>\"`])")
    shown = []
    while text:
        found = token.match(text)
        assert found, f"LaTeX would obey {text!r}"
        word, sign, grouped, nothing, plain = found.groups()
        shown.append(WORDS[word] if word else "" if nothing else sign or grouped or plain)
        text = text[found.end() :]
    return "".join(shown)


def table_of(text: str) -> list[list[str]]:
    """The cells of a table, its headings first, each as it is printed."""
    inner = text.partition("\\toprule\n")[2].partition("\\bottomrule")[0]
    lines = [line for line in inner.splitlines() if line != r"\midrule"]
    assert all(line.endswith(r" \\") for line in lines)
    # What is below in a cell follows what is above.
    flat = (re.sub(r"\\shortstack\[l\]\{(.*?[^\\])\}(?= & | \\\\)", _flat, line) for line in lines)
    return [re.split(" & ", line.removesuffix(r" \\")) for line in flat]


def _flat(found: re.Match[str]) -> str:
    return re.sub(r"\\\\(\\scriptsize )?", " ", found[1])


def number(cell: str) -> float | None:
    """The number of a cell, with its power of ten."""
    if cell == "–":
        return None
    return float(cell.strip("$").replace(r" \times 10^{", "e").rstrip("}"))


def table_text(text: str) -> str:
    return "".join(latex.table(Table("", pl.DataFrame({"x": [text]}))))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_is_printed_as_it_is(text: str) -> None:
    assert typeset(latex.escape_text(text)) == text.replace("\n", " ")


@given(st.text(st.sampled_from("ab1 \\`*_[]()<>&|~$#+-=.!^%{}?:/;\"',\n"), max_size=12))
def test_any_text_is_printed_as_it_is(text: str) -> None:
    escaped = latex.escape_text(text)
    assert typeset(escaped) == text.replace("\n", " ")
    # Fonts join these into other signs.
    assert not re.search("--|''|,,|``|[?!]`", escaped)


def test_numbers_have_a_minus_and_powers_of_ten() -> None:
    numbers = pl.DataFrame({"a": [-0.5], "b": [2.5e-05], "c": [12], "d": [None]})
    (*_, row, _) = latex.table(Table("", numbers))
    assert row == "$-0.5000$ & $2.5 \\times 10^{-5}$ & 12 & – \\\\\n"


def test_signs_that_need_another_engine_are_announced() -> None:
    assert "LuaLaTeX" in table_text("模型")
    assert "LuaLaTeX" not in table_text("Zoë – „a“ …")


def test_metrics_are_those_of_the_api(sample_lake: Path, capsysbinary: Any) -> None:
    assert main(["metrics", "--lake", str(sample_lake), "--format", "latex"]) == 0
    headings, *cells = table_of(capsysbinary.readouterr().out.decode())
    rows = open_lake(sample_lake).metrics()
    value = headings.index("value")
    assert [typeset(row[headings.index("model")]) for row in cells] == rows["model"].to_list()
    shown = [number(row[value].split(" ")[0]) for row in cells]
    assert shown == pytest.approx(rows["value"].to_list(), abs=5.1e-4)
