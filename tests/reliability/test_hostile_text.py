"""Text from logs is shown, never obeyed: by terminals, by spreadsheets, as a path."""

import csv
import html
import io
import json
import re
import unicodedata
from collections.abc import Iterator
from functools import cache, reduce
from operator import getitem
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from format_logs import logs_in_files
from hostile import ESCAPES, MARKUP
from hypothesis import given, strategies as st
from markdowns import rendered

from pipeline import open_lake
from pipeline.cli import main, output, terminal
from pipeline.errors import QueryError
from pipeline.formats import read_game
from pipeline.game_record import InvalidDocumentError
from pipeline.ingest import ingest
from pipeline.registry import COMMANDS as NAMES
from pipeline.render import markdown
from pipeline.reports.audit import FINDING_KINDS
from pipeline.simulate import simulate


@cache
def steering() -> frozenset[str]:
    """What moves the cursor, turns text round, or shows nothing and so can hide something."""
    signs = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    # As the Unicode tables of polars have it.
    is_invisible = pl.col("sign").str.contains(r"^\p{Default_Ignorable_Code_Point}$")
    invisible = pl.DataFrame({"sign": signs}).filter(is_invisible)["sign"].to_list()
    assert len(invisible) > 4000
    controls = (sign for sign in signs if unicodedata.category(sign) == "Cc")
    turning = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
    return frozenset((*controls, *turning, *"\u2028\u2029\ufeff", *invisible))


FORMULAS = {
    "=1+1": "'=1+1",
    "=cmd|'/c calc'!A1": "'=cmd|'/c calc'!A1",
    "+1": "'+1",
    "-1": "'-1",
    "@SUM(1)": "'@SUM(1)",
    "\t=1": "'\\t=1",
    "\r=1": "'\\r=1",
    "\n=1": "'\n=1",
    "  =1": "'  =1",
    "＝1": "'＝1",
    "1=1": "1=1",
    "a-b": "a-b",
    "": "",
    '"=1"': '"=1"',
    "\x1b[2J": "\\x1b[2J",
}


def test_what_steers_a_terminal_or_hides_is_written_out() -> None:
    for sign in sorted(steering()):
        shown = "\n" if sign == "\n" else sign.encode("unicode_escape").decode()
        for before, after in ("ab", "模型", "  ", ("", "")):
            assert (
                terminal.escape_unprintable(f"{before}{sign}{after}") == f"{before}{shown}{after}"
            )


def test_nothing_hides_behind_signs_that_are_joined() -> None:
    """A joiner or a mark of colour is let through alone, and only between what it changes."""
    for text in (
        "👩\u200d",
        "👩\u200d\u200d💻",
        "\u200d💻",
        "❤\ufe0f\ufe0f",
        "❤\ufe0f\ufe01",
        "ب\u200cb",
    ):
        shown = terminal.escape_unprintable(text)
        assert r"\u200" in shown or r"\ufe0" in shown


def test_other_text_is_left_alone() -> None:
    text = (
        "Zoë said: “¿qué?” – 你好, नमस्ते, क्\u200dष, می\u200cخواهم, שלום, 한국어, "
        "👩\u200d💻, ❤\ufe0f\u200d🔥, ❤\ufe0f, 1\ufe0f\u20e3"
    )
    assert terminal.escape_unprintable(text) == text


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of games whose models, words and places are all named by an enemy."""
    top = tmp_path_factory.mktemp("hostile")
    simulated = simulate(top / "logs", models=1, games=1, seed=3)
    evil = iter(list(ESCAPES.values()) * 100)
    for log in simulated.results.rglob("*.json"):
        text = log.read_text()
        escaped = json.dumps(next(evil))[1:-1]
        text = text.replace(simulated.models[0], escaped).replace("I ", f"{escaped} ")
        log.write_text(text)
    (simulated.results / "chameleon" / "\x1b[2J\n\u202e.json").write_bytes(b'{"history": [\x1b[2J')
    ingest(simulated.results, top / "lake")
    return top / "lake"


@pytest.mark.parametrize(
    "command",
    [
        "leaderboard",
        "search i a --format markdown",
        "documents --path . --format json",
        "quarantine --raw --format csv --safe",
        "sql SELECT/**/[model,content]/**/AS/**/l,{'a':content}/**/AS/**/s/**/FROM/**/messages",
    ],
)
@pytest.mark.usefixtures("queries_here")
def test_no_command_lets_it_through(
    lake: Path, command: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main([*command.split(), "--lake", str(lake)]) == 0
    for text in capsysbinary.readouterr():
        assert set(text.decode()) & steering() - {"\n"} == set()


@pytest.mark.some(3)
@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
def test_an_error_does_not_either(
    lake: Path, escape: str, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = open_lake(lake)
    for asked in ("SELECT '{}'::INT", 'SELECT "{}" FROM games', "FROM '{}'", "FROM {}"):
        with pytest.raises(QueryError) as refusal:
            opened.sql(asked.format(escape))
        terminal.print_error(str(refusal.value))
        err = capsys.readouterr().err
        assert set(err) & steering() == {"\n"}
        assert err.count("\n") == 1


# --- markdown -----------------------------------------------------------------------------------


def as_html(text: str) -> str:
    return html.escape(" ".join(text.split(" ")), quote=False).replace('"', "&quot;")


@pytest.mark.parametrize("text", MARKUP)
def test_markdown_shows_text_as_it_is(
    text: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    output.print_table(pl.DataFrame({"x": ["first", text], text: ["a", "b"]}), "markdown")
    shown = rendered(capsysbinary.readouterr().out.decode())
    plain = as_html(text)
    assert shown == ["x", plain.replace("\n", " "), "first", "a", plain.replace("\n", "<br>"), "b"]
    assert rendered(markdown.format_notes([text])) == [as_html(" ".join(text.split()))]


@given(st.text(st.sampled_from("ab1 \\`*_[]()<>&|~$#+-=.!:/;\"'"), max_size=12))
def test_markdown_shows_any_text_as_it_is(text: str) -> None:
    (shown,) = rendered("| x |\n|---|\n| " + markdown.escape_text(text) + " |\n")[1:]
    assert shown == as_html(text.strip(" "))
    assert not re.search("<(?!$)", markdown.escape_text(text))


def test_names_do_not_become_paths(lake: Path) -> None:
    """Not a model's, a player's or a document's: every file is named by us."""
    ours = re.compile(
        r"(part|sorted)-[0-9a-f-]+\.parquet|\d{20}\.(json|checkpoint\.parquet)|\.lock|magic\.duckdb"
    )
    files = [path for path in lake.rglob("*") if path.is_file()]
    assert files
    assert [path.name for path in files if not ours.fullmatch(path.name)] == []
    assert not Path("/tmp/escaped").exists()


# --- spreadsheets -------------------------------------------------------------------------------


def safe_csv(frame: pl.DataFrame, capsysbinary: pytest.CaptureFixture[bytes]) -> str:
    output.print_table(frame, "csv-safe")
    return capsysbinary.readouterr().out.decode()


def test_formulas_become_text(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    frame = pl.DataFrame({"=x": list(FORMULAS), "n": [-1] * len(FORMULAS)})
    text = safe_csv(frame, capsysbinary)
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == ["'=x", "n"]
    assert [row[0] for row in rows] == list(FORMULAS.values())
    assert {row[1] for row in rows} == {"-1"}  # a number is none, whatever its sign


def test_every_kind_of_text_is_made_safe(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    frame = pl.DataFrame(
        {
            "category": pl.Series(["=1"], dtype=pl.Categorical),
            "enum": pl.Series(["=1"], dtype=pl.Enum(["=1"])),
            "bytes": [b"=1"],
            "list": [["=1"]],
            "none": pl.Series([None], dtype=pl.String),
        }
    )
    (_, row) = csv.reader(io.StringIO(safe_csv(frame, capsysbinary)))
    assert row == ["'=1", "'=1", "'=1", '["=1"]', ""]


def test_csv_as_it_is_keeps_what_it_holds(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    output.print_table(pl.DataFrame({"x": list(FORMULAS)}), "csv")
    result = capsysbinary.readouterr().out.decode()
    _, *rows = csv.reader(io.StringIO(result, newline=""))
    assert [row[0] if row else "" for row in rows] == list(FORMULAS)


@pytest.mark.usefixtures("queries_here")
def test_the_option_is_there_wherever_a_form_is(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", "SELECT '=1' AS x", "--lake", str(lake), "--format", "csv", "--safe"]) == 0
    assert capsys.readouterr().out == "x\n'=1\n"
    assert main(["tables", "--lake", str(lake), "--safe"]) == 2
    assert "only with --format csv" in capsys.readouterr().err
    assert main(["schema", "votes", "--format", "csv", "--safe"]) == 0


# Every field of a log in every command.

EVIL = "\x1b[2J\x9b1m\u202egnp\n\n# </script>| a_b%{$\\x`"
ASKED = {
    "audit": ["", "--by model,system", *FINDING_KINDS],
    "catalog": ["-o {tmp}/x.duckdb"],
    "cite": ["", "--format bibtex"],
    "compare": ["--all-pairs", "{model} other", "{model} {other}", "{model} --by role"],
    "completeness": ["", "--missing"],
    "convert": ["{logs}", "{logs} -o {tmp}/x.jsonl"],
    "diff": ["{lake} {lake}", "{lake} {lake} --games"],
    "documents": ["", "--path .", "--format markdown"],
    "evidence": ["judgement", "cooperation", "judgement --limit 2000", "reasoning --misses"],
    "export": ["battles {tmp}/b.csv", "inspect-scout {tmp}/s", "dataset {tmp}/d --redact-names"],
    "games": ["", "--model {model}", "--path nope", "--outcome unfinished"],
    "ingest": ["{logs}", "{logs} --format json", "{logs} --strict"],
    "leaderboard": ["", "--edition audited", "--system {system}"],
    "maintain": ["--dry-run"],
    "metrics": ["", "--by model,system", "--by role", "--game-type nope", "--model nope"],
    "models": ["", "--format markdown"],
    "usage": ["", "--format markdown"],
    "plan": ["--metric judgement --difference 0.1"],
    "quarantine": ["", "--raw", "--raw --format markdown"],
    "radar": [""],
    "ratings": [""],
    "report": ["--format markdown -o {tmp}/r.md"],
    "schema": [""],
    "search": ["said", "said --format json", "nothing-like-it"],
    "show": ["{game}", "{game} --seat 1", "{game} --format json", "{game} --format markdown"],
    "simulate": ["--models 1 --games 1 --out {tmp}/new"],
    "sql": [
        "PIVOT/**/players/**/ON/**/model/**/USING/**/count(*)",
        "FROM/**/messages",
        "FROM/**/games",
        "SELECT/**/system::INT/**/FROM/**/games",
    ],
    "tables": [""],
    "validate": ["{logs}", "{logs}/0.json"],
    "verify": [""],
    "view": [],  # for its pages see tests/pages/test_hostile_pages.py
}
OF_FORMATS = ("magic", "interchange", "chatarena", "avalon", "bargain", "werewolf_arena", "goods")
WITHOUT_LAKE = ("convert", "diff", "simulate", "validate")


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of each text within a value of JSON."""
    if isinstance(value, str):
        yield path
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, inner in items:
        yield from leaves(inner, (*path, key))


def poisoned(log: dict[str, Any]) -> dict[str, Any]:
    """The log with an enemy's text at the end of every text that may be any."""
    named = [*{seat[key] for seat in log["seats"] for key in ("player", "model") if seat.get(key)}]
    text = json.dumps(log)
    for name in named:
        text = text.replace(json.dumps(name), json.dumps(name + EVIL))
    log = json.loads(text)
    for *path, last in list(leaves(log)):
        place = reduce(getitem, path, log)
        before = place[last]
        if before.endswith(EVIL):
            continue
        place[last] = before + EVIL
        try:
            assert not read_game(json.dumps(log).encode(), None, "x.json").faults
        except (InvalidDocumentError, AssertionError):
            place[last] = before
    return log


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A lake of such logs: games of all formats, of two systems. What a command may name of it."""
    top = tmp_path_factory.mktemp("everywhere")
    for name in OF_FORMATS:
        for number, (file, data) in enumerate(logs_in_files(name)):
            path = top / "plain" / name / file.format(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    assert (
        main(["convert", str(top / "plain"), "-o", str(top / "games.jsonl"), "--model", "m"]) == 0
    )
    logs = top / f"logs {EVIL.replace('/', '')}"
    logs.mkdir()
    for number, line in enumerate((top / "games.jsonl").read_text().splitlines()):
        (logs / f"{number}.json").write_text(json.dumps(poisoned(json.loads(line))))
    (logs / "broken.json").write_text(json.dumps({"magic_interchange": 1, "system": EVIL, EVIL: 1}))
    ingest(logs, top / "lake", model=f"given {EVIL}")
    opened = open_lake(top / "lake").for_single_system()
    (model, game), (other, _) = (
        opened.table("players")
        .select("model", "game_id")
        .unique("model", maintain_order=True)
        .drop_nulls()
        .head(2)
        .collect()
        .rows()
    )
    return {
        "lake": str(top / "lake"),
        "logs": str(logs),
        "tmp": str(top),
        "model": model,
        "other": other,
        "game": game,
        "system": str(opened.system),
    }


@pytest.mark.some(5)
@pytest.mark.slow
@pytest.mark.parametrize("command", [name for name in NAMES if ASKED[name]])
def test_no_field_of_a_log_reaches_a_terminal(
    command: str, everywhere: dict[str, str], monkeypatch, capsysbinary
) -> None:
    """Neither what steers it, nor a line of its own that begins as an enemy wants."""
    codes = []
    monkeypatch.setattr(terminal, "is_stdout_terminal", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    for asked in ASKED[command]:
        arguments = [part.format(**everywhere) for part in asked.split()]
        lake = [] if command in WITHOUT_LAKE else ["--lake", everywhere["lake"]]
        codes.append(main([command, *arguments, *lake]))
        for text in capsysbinary.readouterr():
            assert set(text.decode()) & steering() - {"\n"} == set(), asked
            assert not re.search("^# </script>", text.decode(), re.MULTILINE), asked
    assert 0 in codes, codes
