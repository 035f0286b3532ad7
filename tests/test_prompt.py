"""The prompt of `magic sql` as a user at a terminal has it: keys go in, a screen comes out."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from pipeline.cli.completion import SqlCompleter

pexpect = pytest.importorskip("pexpect")

TOP = Path(__file__).parent.parent
FOREVER = "SELECT max(hash(range)) FROM range(1000000000000);"
SECONDS = 120  # until a text is there: on a slow machine much may come before it
CTRL_C, CTRL_D, TAB, ENTER = "\x03", "\x04", "\t", "\r"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

Terminal = Any


@pytest.fixture(scope="module")
def lake(sample_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prompt") / "lake"
    shutil.copytree(sample_lake, path)
    return path


@pytest.fixture
def opened(lake: Path, tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Opens a prompt in a terminal of its own, which is closed in the end."""
    terminals = []

    def open_terminal(*arguments: str, **environment: str) -> Terminal:
        terminal = pexpect.spawn(
            sys.executable,
            ["-m", "pipeline.cli", "sql", "--lake", str(lake), *arguments],
            env=os.environ
            | {"TERM": "xterm", "PAGER": "cat", "PROMPT_TOOLKIT_NO_CPR": "1"}
            | {"XDG_STATE_HOME": str(tmp_path), "PYTHONPATH": str(TOP)}
            | environment,
            encoding="utf-8",
            timeout=SECONDS,
            dimensions=(24, 100),
        )
        terminals.append(terminal)
        terminal.expect("magic>")
        return terminal

    yield open_terminal
    for terminal in terminals:
        terminal.close(force=True)


def rows_of(terminal: Terminal, keys: str, end: str = r"\d+ rows? in [\d.]+ s\r") -> list[str]:
    """The lines that the terminal shows below the rule of a table, until the end."""
    terminal.send(keys)
    terminal.expect("─\r?\n")
    terminal.expect(end)
    return [line.strip() for line in ESCAPES.sub("", terminal.before).splitlines()]


@pytest.mark.slow
def test_keys_at_the_prompt(opened: Callable[..., Terminal], tmp_path: Path) -> None:
    """Tab, several statements, a pasted query, Ctrl-C in a long query, Ctrl-D."""
    terminal = opened()
    # Keys that come right after Tab must not cancel it.
    assert rows_of(terminal, f"SELECT count(*) AS n FROM vot{TAB};{ENTER}") == ["192"]
    terminal.expect("magic>")

    terminal.send(f"SELECT 1 AS a; SELECT wrong; SELECT 3;{ENTER}")
    terminal.expect("1 row in")
    terminal.expect("statement 2 of 3 failed, the next ones are not run.*wrong")
    terminal.expect("magic>")

    query = ["SELECT", *(f"  {n} + -- line {n};" for n in range(1, 49)), "  0 AS total;"]
    assert len(query) == 50
    pasted = "\x1b[200~" + "\r".join(query) + "\x1b[201~"
    assert rows_of(terminal, pasted + ENTER) == [str(sum(range(49)))]
    terminal.expect("magic>")
    # A terminal without bracketed paste sends each line as if it were typed.
    assert rows_of(terminal, "\r".join(query) + ENTER) == [str(sum(range(49)))]
    terminal.expect("magic>")

    terminal.send(FOREVER + ENTER)
    terminal.expect("running the query")
    terminal.send(CTRL_C)
    terminal.expect("magic: interrupted")
    terminal.expect("magic>")
    assert children(terminal.pid) == 1  # the process that waits for the next query
    assert rows_of(terminal, f"SELECT 6 * 7 AS answer;{ENTER}") == ["42"]
    terminal.expect("magic>")

    terminal.send(f"SELECT 1{CTRL_C}")  # drops what was typed
    terminal.expect("magic>")
    terminal.send(CTRL_D)
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == 0
    history = tmp_path / "magic-pipeline" / "sql_history"
    assert "FROM votes" in history.read_text()


def children(pid: int) -> int:
    """The number of processes that this one has started and that have not ended."""
    lines = pexpect.run(f"ps --ppid {pid} -o stat=").decode().splitlines()
    return sum(not line.startswith("Z") for line in lines)


@pytest.mark.slow
def test_a_query_is_highlighted_where_colours_are_wanted(opened: Callable[..., Terminal]) -> None:
    coloured = r"\x1b\[[0-9;]*3[0-9;]*mSELECT"
    terminal = opened()
    terminal.send(f"SELECT 41 + 1;{ENTER}")
    terminal.expect(coloured)
    terminal.expect("42")
    plain = opened(NO_COLOR="1")
    plain.send(f"SELECT 41 + 1;{ENTER}")
    plain.expect("42")
    assert not re.search(coloured, plain.before)


@pytest.mark.slow
def test_commands_at_the_prompt(opened: Callable[..., Terminal], tmp_path: Path) -> None:
    file = tmp_path / "two queries.sql"
    file.write_text("SELECT 7 AS seven;\nSELECT count(*) AS n FROM votes WHERE model = $model;")
    terminal = opened("--parameter", "model=nobody")
    terminal.send(f".tables{ENTER}")
    terminal.expect("in evidence: .*judgement")
    terminal.send(f".schema evidence.judg{TAB}{ENTER}")
    terminal.expect("one vote cast by a tested player")
    terminal.send(f".param model=sim-atlas{ENTER}.param{ENTER}")
    terminal.expect(r"\$model = sim-atlas")
    assert rows_of(terminal, f".read {file}{ENTER}") == ["7"]
    terminal.expect("─\r?\n *24\r")
    terminal.send(f".format csv{ENTER}VALUES (1, 2);{ENTER}")
    terminal.expect("col0,col1\r?\n1,2\r")
    terminal.send(f".tabels{ENTER}")
    terminal.expect("no command .tabels: did you mean `.tables`")
    terminal.send(f".read {tmp_path}/nothing{ENTER}")
    terminal.expect("nothing: No such file")
    terminal.send(f".format xml{ENTER}")
    terminal.expect("one of table, json, csv, markdown")
    terminal.send(f".help{ENTER}")
    terminal.expect("Ctrl-D")
    terminal.send(f".quit{ENTER}")
    terminal.expect(pexpect.EOF)


@pytest.mark.slow
def test_a_long_result_stays_in_the_pager(opened: Callable[..., Terminal]) -> None:
    """And a short one is left at once."""
    terminal = opened(PAGER="less")
    terminal.send(f"SELECT 41 + 1 AS n;{ENTER}")
    terminal.expect("42")
    terminal.expect("1 row in")
    terminal.expect("magic>")
    terminal.send(f"FROM range(200);{ENTER}")
    terminal.expect(":")
    terminal.send("q")
    terminal.expect("200 rows")
    terminal.expect("magic>")


@pytest.mark.slow
def test_a_pager_is_given_what_a_terminal_shows(
    opened: Callable[..., Terminal], tmp_path: Path
) -> None:
    """What is hostile in a result is written out; a pager that ends early has shown enough."""
    seen = tmp_path / "seen"
    terminal = opened(PAGER=f"tee '{seen}' | head -n 5")
    query = "SELECT range || chr(27) || '[2J' AS n FROM range(5000) ORDER BY range;"
    rows_of(terminal, query + ENTER, r"5,000 rows in [\d.]+ s\r")
    terminal.expect("magic>")
    assert "\x1b[2J" not in seen.read_text()
    assert "4\\x1b[2J" in seen.read_text()
    terminal.send(f".quit{ENTER}")
    terminal.expect(pexpect.EOF)


@pytest.mark.slow
def test_a_pager_that_is_not_there_is_reported(opened: Callable[..., Terminal]) -> None:
    terminal = opened(PAGER="no-such-pager")
    terminal.send(f"FROM range(100);{ENTER}")
    terminal.expect("magic: the pager `no-such-pager` cannot be run: set .PAGER to another")
    terminal.expect("magic>")


def offered(text: str) -> list[str]:
    """What Tab offers at the `|` of the text."""
    before, _, after = text.partition("|")
    document = Document(before + after, len(before))
    completer = SqlCompleter([".tables", ".format", ".schema", ".read"])
    return [one.text for one in completer.get_completions(document, CompleteEvent())]


@pytest.mark.parametrize(
    ("text", "some", "none"),
    [
        ("SELECT * FROM vo|", {"votes"}, {"SELECT"}),
        ("SELECT * FROM |", {"votes", "judgement", "evidence."}, {"seat", "evidence.judgement"}),
        ("FROM votes JOIN ga|", {"games"}, set()),
        ("FROM votes, ga|", {"games"}, set()),
        ("FROM evidence.jud|", {"evidence.judgement"}, {"judgement"}),
        ("WITH mine AS (FROM votes) FROM mi|", {"mine"}, set()),
        ("SELECT stat| FROM votes", {"stated_target"}, {"stated_amount"}),
        ("SELECT is_| FROM judgement", set(), {"is_correct"}),
        ("SELECT hi| FROM evidence.judgement", {"hit"}, set()),
        ("SELECT v.stat| FROM votes AS v", {"v.stated_target"}, set()),
        ("SELECT v.to| FROM votes AS p, games v", {"v.topic"}, {"p.topic"}),
        ("FROM votes WHERE tar|", {"target", "target_seat"}, {"votes"}),
        ("FROM votes GROUP BY sea|", {"seat"}, set()),
        ("SELECT amo| FROM votes; FROM contributions", set(), {"amount"}),
        ("SELECT list_agg|", {"list_aggregate"}, set()),
        ("SELECT read_|", set(), {"read_csv"}),
        ("sel|", {"SELECT"}, set()),
        ("SELECT 'fro|", set(), {"FROM"}),
        ("SELECT 1 -- fro|", set(), {"FROM"}),
        ("SELECT 'it''s' fro|", {"FROM"}, set()),
        (".ta|", {".tables"}, {".format"}),
        (".schema votes evidence.j|", {"evidence.judgement"}, set()),
        (".format m|", {"markdown"}, {"parquet"}),
    ],
)
def test_tab_offers_what_fits(text: str, some: set[str], none: set[str]) -> None:
    names = offered(text)
    assert some <= set(names)
    assert not none & set(names)
    assert len(set(names)) == len(names)
