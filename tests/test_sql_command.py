"""`magic sql`: values of parameters, and results written to files."""

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pipeline
from pipeline.cli import main, output
from pipeline.errors import PipelineError, QueryError, UsageError
from pipeline.plugins import install_command

MODEL = "SELECT count(*) AS n FROM votes WHERE model = $model"


@pytest.fixture(scope="module")
def lake(sample_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sql") / "lake"
    shutil.copytree(sample_lake, path)
    return path


# --- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "values", "rows"),
    [
        (MODEL, {"model": "sim-atlas"}, [(24,)]),
        (MODEL, {"model": "' OR TRUE --"}, [(0,)]),
        ("SELECT $a AS a", {"a": "'; DROP VIEW votes; --"}, [("'; DROP VIEW votes; --",)]),
        ("SELECT $a AS a", {"a": "$b"}, [("$b",)]),
        (
            "SELECT count(*) FROM votes WHERE seat = $s AND is_tested = $t",
            {"s": "2", "t": "true"},
            1,
        ),
        ("SELECT count(*) FROM ingests WHERE started_at > $day", {"day": "2020-01-01"}, [(1,)]),
        ("SELECT $n::INT + 1 AS n", {"n": "41"}, [(42,)]),
        ("SELECT seat FROM players LIMIT $n", {"n": "1"}, 1),
        ("SELECT count(*) FROM query_table($table)", {"table": "votes"}, [(192,)]),
        ("EXPLAIN SELECT $a", {"a": "x"}, 1),
        ("SELECT '$a' AS a -- $b", {}, [("$a",)]),
        ("SELECT $n::INT + 1 AS n, $x::DOUBLE AS x", {"n": 41, "x": 0.5}, [(42, 0.5)]),
    ],
)
def test_a_parameter_is_a_value(
    lake: Path, query: str, values: dict[str, Any], rows: list[tuple[object, ...]] | int
) -> None:
    found = pipeline.open_lake(lake).sql(query, parameters=values).rows()
    assert (len(found) if isinstance(rows, int) else found) == rows


@pytest.mark.parametrize(
    ("query", "values", "fault"),
    [
        (MODEL, {}, r"no value for \$model: give one, for example `--parameter model=VALUE`"),
        (MODEL, {"model": "x", "modle": "y"}, "does not use the parameter modle: write .modle"),
        ("SELECT 1", {"x": "1"}, "does not use the parameter x"),
        ("SELECT '$x'", {"x": "1"}, "does not use the parameter x"),
        ("FROM votes WHERE seat = $s", {"s": "two"}, "Could not convert string 'two'"),
        ("FROM $table", {"table": "votes"}, "syntax error"),
        ("FROM read_csv($file)", {"file": "/etc/passwd"}, "a query can read only the lake"),
        ("SELECT ?", {}, r"no value for \$1"),
        ("SELECT $x AS x", {"x": None}, "`x` must be a text or a number, not None"),
    ],
)
def test_a_wrong_parameter_is_reported(
    lake: Path, query: str, values: dict[str, Any], fault: str
) -> None:
    with pytest.raises((QueryError, UsageError), match=fault) as refusal:
        pipeline.open_lake(lake).sql(query, parameters=values)
    assert "\n" not in getattr(refusal.value, "message", str(refusal.value))


@pytest.mark.slow
def test_the_command_takes_parameters_and_writes_a_file(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["sql", "SELECT $a AS a, $b AS b", "--lake", str(lake), "--format", "json"]
    given = ["--parameter", "a=x=y", "--parameter", "b="]
    assert main([*asked, *given]) == 0
    assert json.loads(capsys.readouterr().out) == [{"a": "x=y", "b": ""}]
    assert main([*asked, *given[:2]]) == 1
    assert "no value for $b" in capsys.readouterr().err
    file = tmp_path / "rows.csv"
    file.write_text("old")
    command = ["sql", "SELECT '=1' AS a", "--lake", str(lake), "-o", str(file)]
    assert main([*command, "--format", "csv", "--safe"]) == 0
    assert (file.read_text(), capsys.readouterr().out) == ("a\n'=1\n", "")


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (["model"], "'model' is not NAME=VALUE"),
        (["=x"], "is not NAME=VALUE"),
        (["a b=x"], "is not NAME=VALUE"),
        (["a=x", "--parameter", "a=y"], "a is given twice"),
    ],
)
def test_what_is_no_parameter(
    lake: Path, given: list[str], fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", MODEL, "--lake", str(lake), "--parameter", *given]) == 2
    assert fault in capsys.readouterr().err


# --- views of a session ------------------------------------------------------------------------


def test_a_temporary_view_is_one_of_its_query(lake: Path) -> None:
    opened = pipeline.open_lake(lake)
    own = {
        "mine": "SELECT * FROM votes WHERE is_tested",
        'Odd "1"': "SELECT count(*) AS n FROM mine",
    }
    assert opened.sql('FROM "odd ""1"""', temporary=own).row(0)[0] > 0
    with pytest.raises(QueryError, match="no table or view `mine`"):
        opened.sql("FROM mine")


@pytest.mark.parametrize(
    ("name", "select", "fault"),
    [
        ("votes", "SELECT 1", "the lake has a table or view `votes`"),
        ("Judgement", "SELECT 1", "the lake has a table or view `Judgement`"),
        ("x", "SELECT 1; SELECT 2", "only one statement"),
        ("x", "DROP VIEW votes", "`DROP` is not allowed"),
        ("x", "FROM read_csv('/etc/passwd')", "a query can read only the lake"),
        ("x", "FROM '/etc/passwd'", "no table or view"),
        ("x", "SELECT\n  nope\nFROM votes", "nope.*\nLINE"),
        ("x", "SELECT $a", "parameter"),
    ],
)
def test_a_wrong_temporary_view(lake: Path, name: str, select: str, fault: str) -> None:
    with pytest.raises(PipelineError, match=fault):
        pipeline.open_lake(lake).sql("SELECT 1", temporary={name: select})


# --- files --------------------------------------------------------------------------------------

ROWS = pl.DataFrame(
    {
        "text": ['=HYPERLINK("http://x")', "é\x1b[31m,\n", None],
        "=1+1": [1, 2**60, None],
        "share": [0.5, None, 1e300],
        "is_it": [True, None, False],
        "list": [[1, 2], [], None],
    }
)


def cells(file: Path) -> list[list[str]]:
    """The cells of a sheet as they are stored: `inlineStr` for texts, then the value."""
    sheet = zipfile.ZipFile(file).read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in sheet
    rows = re.findall(r"<row .*?</row>", sheet, re.DOTALL)
    return [re.findall(r"<(?:v|t)(?: [^>]*)?>(.*?)</(?:v|t)>", row, re.DOTALL) for row in rows]


def test_each_ending_has_its_format(tmp_path: Path) -> None:
    files = {f".{form}": tmp_path / f"rows.{form}" for form in output.FILE_FORMATS}
    for file in files.values():
        output.write_rows_to_file(ROWS, file)
    flat = ROWS.with_columns(pl.Series("list", ["[1,2]", "[]", None]))
    assert pl.read_csv(files[".csv"]).equals(flat, null_equal=True)
    records = json.loads(files[".json"].read_text())
    assert records == ROWS.to_dicts()
    lines = files[".jsonl"].read_text().splitlines()
    assert [json.loads(line) for line in lines] == records
    assert pl.read_parquet(files[".parquet"]).equals(ROWS, null_equal=True)
    assert cells(files[".xlsx"]) == [
        ["text", "=1+1", "share", "is_it", "list"],
        ["=HYPERLINK(\"http://x\")", "1", "0.5", "1", "[1,2]"],
        ["é_x001B_[31m,\n", str(2**60), "[]"],
        ["1E+300", "0"],
    ]  # fmt: skip
    assert sorted(tmp_path.iterdir()) == sorted(files.values())


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(pl.DataFrame({"text": ["x" * 32_768]}), id="a long text"),
        pytest.param(
            pl.DataFrame([pl.Series(f"c{n}", [n]) for n in range(16_385)]),
            id="many columns",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_a_sheet_has_no_room_for(tmp_path: Path, rows: pl.DataFrame) -> None:
    """The old file stays, and no part of a new one."""
    file = tmp_path / "rows.xlsx"
    file.write_text("old")
    with pytest.raises(PipelineError, match="write CSV or Parquet"):
        output.write_rows_to_file(rows, file)
    assert [*tmp_path.iterdir()] == [file]
    assert file.read_text() == "old"


@pytest.mark.parametrize(
    ("out", "fault"),
    [
        ("rows", "the file extension must select the format; choose from .csv, .json"),
        ("rows.xls", "the file extension must select the format"),
        ("nowhere/rows.csv", "there is no folder"),
        ("folder.csv", "is a folder"),
        ("rows.json --format csv", "another format than --format csv"),
        ("s3://bucket/rows.csv", "this machine"),
    ],
)
def test_a_file_that_cannot_be_written_is_reported_first(
    out: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Before the query is run, which would fail here: there is no lake."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    assert main(["sql", "SELECT 1", "--lake", "none", "-o", *out.split()]) in (1, 2)
    assert fault in capsys.readouterr().err
    monkeypatch.setattr("pipeline.cli.terminal.is_stdin_terminal", lambda: True)
    assert main(["sql", "--lake", "none", "-o", "rows.csv"]) == 2
    assert "give a query" in capsys.readouterr().err


def test_without_the_library_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pipeline.plugins.find_spec", lambda name: None)
    assert main(["sql", "SELECT 1", "--lake", "none", "-o", str(tmp_path / "a.xlsx")]) == 1
    error = capsys.readouterr().err
    assert error == f"magic: an XLSX file needs xlsxwriter: run `{install_command('excel')}`\n"
