"""Every value that a query can give is shown as it is, or refused in a line: never null for it."""

import csv
import io
import json
import re
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipeline.api import Lake, open_lake
from pipeline.cli import main
from pipeline.errors import QueryError
from pipeline.lake import open_or_create_lake
from pipeline.query_processes import QueryProcesses
from pipeline.server.app import PageRequest, render_reply

SHOWN = {
    "time": ("TIME '23:59:59.999999'", "23:59:59.999999"),
    "date": ("DATE '9999-12-31'", "9999-12-31"),
    "first date": ("DATE '0001-01-01'", "0001-01-01"),
    "instant": ("TIMESTAMP '2020-02-29 12:00:00'", "2020-02-29"),
    "list": ("[[1, 2], NULL, []]", "[[1,2],null,[]]"),
    "struct": ("{'a': {'b': NULL, 'c': 'x'}}", '{"a":{"b":null,"c":"x"}}'),
    "map": ("MAP {'k': [1]}", "k"),
    "bytes": (r"'\xAA'::BLOB", "xaa"),
    "huge": ("170141183460469231731687303715884105727::HUGEINT", "1.70"),
    "enum": ("'a'::ENUM ('a', 'b')", "a"),
    "uuid": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::UUID", "a0eebc99"),
    "deep": (f"{'[' * 30}7{']' * 30}", "[7]"),
}
REFUSED = {
    "end of a day": ("TIME '24:00:00'", "24:00:00"),
    "end of a day in a list": ("[TIME '24:00:00']", "24:00:00"),
    "far date": ("DATE '290000-01-01'", "years 1 to 9999"),
    "far date in a struct": ("{'a': DATE '290000-01-01'}", "years 1 to 9999"),
    "far date in a map": ("MAP {'k': 'infinity'::DATE}", "years 1 to 9999"),
    "far date in a list of structs": ("[{'a': ['-infinity'::TIMESTAMP]}]", "years 1 to 9999"),
    "interval": ("INTERVAL 1 DAY", "INTERVAL"),
    "bits": ("'101'::BIT", "BIT"),
    "lists 65 deep": (f"{'[' * 65}1{']' * 65}", "levels deep"),
    "lists 400 deep": (f"{'[' * 400}1{']' * 400}", "levels deep"),
    "structs 400 deep": ("{'a': " * 400 + "1" + "}" * 400, "levels deep"),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    path = tmp_path_factory.mktemp("values") / "lake"
    open_or_create_lake(path)
    return open_lake(path)


ALL = "SELECT " + ", ".join(f'{value} AS "{what}"' for what, (value, _) in SHOWN.items())


@pytest.mark.slow
@pytest.mark.usefixtures("queries_here")
@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown"])
def test_values_are_shown_in_every_form(
    lake: Lake, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", ALL, "--lake", str(lake.path), "--format", form]) == 0
    printed = capsys.readouterr().out
    cells = dict.fromkeys(SHOWN, printed)
    if form == "json":
        cells = {what: json.dumps(value) for what, value in json.loads(printed)[0].items()}
    elif form == "csv":
        (cells,) = csv.DictReader(io.StringIO(printed))
    for what, (_, text) in SHOWN.items():
        shown = re.sub(r"[\s\\]", "", cells[what]).replace('""', '"')
        assert text.replace(" ", "") in shown or what in ("list", "deep"), what


@pytest.mark.slow
@pytest.mark.usefixtures("queries_here")
def test_no_value_is_null_in_parquet(lake: Lake, tmp_path: Path) -> None:
    assert main(["sql", ALL, "--lake", str(lake.path), "-o", str(tmp_path / "x.parquet")]) == 0
    for rows in (lake.sql(ALL), pl.read_parquet(tmp_path / "x.parquet")):
        assert rows.columns == [*SHOWN]
        assert rows.null_count().row(0) == (0,) * len(SHOWN)


@pytest.mark.slow
def test_a_process_gives_and_refuses_the_same(lake: Lake) -> None:
    with QueryProcesses(timeout=60, memory=2**30) as sandbox:
        assert_frame_equal(sandbox.run_query(str(lake.path), ALL), lake.sql(ALL))
        expression, reason = REFUSED["lists 400 deep"]
        with pytest.raises(QueryError, match=reason):
            sandbox.run_query(str(lake.path), f"SELECT {expression} AS x")


@pytest.mark.slow
@pytest.mark.usefixtures("queries_here")
@pytest.mark.parametrize("what", REFUSED)
def test_a_value_that_cannot_be_shown_is_refused_in_a_line(
    lake: Lake, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expression, reason = REFUSED[what]
    query = f"SELECT {expression} AS x"
    assert main(["sql", query, "--lake", str(lake.path), "--format", "json"]) == 1
    said = capsys.readouterr()
    assert not said.out
    assert said.err.count("\n") == 1
    assert reason in said.err
    assert "lake" not in said.err.replace("lake's", "")  # which is healthy


@pytest.mark.slow
def test_the_page_refuses_it_too(lake: Lake) -> None:
    expression, reason = REFUSED["far date in a struct"]
    page = render_reply(lake, PageRequest("sql", "json", {"query": f"SELECT {expression} AS x"}))
    assert page.status == 400
    assert reason in json.loads(page.text)["faults"]["query"]
