"""The command line: every command and form, a user's mistakes, hostile text, exit codes."""

import ast
import io
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import polars as pl
import pytest
from logs.interchange import PUBLIC_GOOD
from rawlogs import OUTAGE
from rich.cells import cell_len

import pipeline
from pipeline import query_processes
from pipeline.archives import count_files_and_bytes
from pipeline.cli import main, options as suggestions, output, terminal
from pipeline.cli.exit_codes import CHECK_FAILED
from pipeline.errors import LakeError
from pipeline.events.contracts import TABLES
from pipeline.formats.interchange import EXAMPLE
from pipeline.ingest import ingest
from pipeline.metrics import NAMES, TITLES
from pipeline.metrics.registry import metric_names
from pipeline.render.row_tables import NO_GAMES_MESSAGE
from pipeline.simulate import simulate
from pipeline.vocabulary import DocumentStatus
from pipeline.warehouse.filesystem import LakeFiles

TOP = Path(__file__).resolve().parent.parent
PROGRAM = [sys.executable, "-m", "pipeline"]
START = query_processes.start_python_process
MODEL = "gpt-4"
PAIR = (MODEL, "sim-birch-pgm")
EVIL = "\x1b[31mevil\x07 [bold]x[/bold] \u202e|`*\n\x9b2J"
COMMANDS = (
    "audit",
    "catalog",
    "cite",
    "compare",
    "completeness",
    "convert",
    "diff",
    "documents",
    "evidence",
    "export",
    "games",
    "ingest",
    "leaderboard",
    "maintain",
    "metrics",
    "models",
    "plan",
    "quarantine",
    "radar",
    "ratings",
    "report",
    "schema",
    "search",
    "show",
    "simulate",
    "sql",
    "tables",
    "usage",
    "validate",
    "verify",
    "view",
)
# Its server runs until it is ended: tests of its own start and end it.
SERVING = "view"
# Both what a terminal obeys and what hides or turns text.
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")


class Outcome(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    @property
    def records(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(self.out)
        return found


Magic = Callable[..., Outcome]


@pytest.fixture
def magic(
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    queries_here: None,
) -> Magic:
    """Runs a command in this process, in an empty folder; queries have none of their own."""
    monkeypatch.delenv("MAGIC_LAKE", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Outcome:
        code = main([str(argument) for argument in arguments])
        out, err = capsysbinary.readouterr()
        return Outcome(code, out, err.decode())

    return run


@pytest.fixture(scope="session")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of two models, one more that names itself with control sequences."""
    folder = tmp_path_factory.mktemp("cli") / "logs"
    summary = simulate(folder, models=2, games=2, seed=1)
    first = summary.models[0]
    for log in summary.results.rglob("*.json"):
        log.write_text(log.read_text().replace(first, MODEL))
    chameleon = next(summary.results.glob("chameleon/*_as_chameleon_*/0.json"))
    document = json.loads(chameleon.read_text())
    for backend in document["player_backends"].values():
        if not backend["model"].endswith("-fix"):
            backend["model"] = EVIL
    own = summary.results / "chameleon" / "own"
    own.mkdir()
    (own / "7.json").write_text(json.dumps(document))
    return summary.results


@pytest.fixture(scope="session")
def lake(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cli") / "lake"
    ingest(logs, place)
    return place


@pytest.fixture(scope="session")
def broken(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One document that is cut short, and one of which a part is missing."""
    folder = tmp_path_factory.mktemp("broken")
    log = next(logs.glob("undercover/*/1.json"))
    document = json.loads(log.read_text())
    del document["consistency_metric"]
    (folder / "1.json").write_text(json.dumps(document))
    (folder / "cut\x1b[2J[red].json").write_bytes(b'{"history": [\x1b[31m')
    return folder


@pytest.fixture(scope="session")
def broken_lake(broken: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cli") / "broken"
    ingest(broken, place)
    return place


@pytest.fixture(scope="session")
def lake_of_bots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A game of bots, which nobody tests."""
    folder = tmp_path_factory.mktemp("bots")
    seats = [{**seat, "is_bot": True} for seat in PUBLIC_GOOD["seats"]]
    (folder / "game.json").write_text(json.dumps({**PUBLIC_GOOD, "seats": seats}))
    ingest(folder / "game.json", folder / "lake")
    return folder / "lake"


# --- help ---------------------------------------------------------------------------------------


def test_help_lists_every_command(magic: Magic) -> None:
    result = magic("--help")
    assert result.code == 0
    listed = result.text.partition("Logs:\n")[2]
    assert sorted(re.findall(r"^  (\w+)  ", listed, re.MULTILINE)) == sorted(COMMANDS)
    assert magic().text == result.text


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("metrics --metric r", {"reasoning", "rationality"}),
        ("metrics --by model,rou", {"model,round"}),
        ("metrics --edition re", {"release"}),
        ("metrics --game-type pub", {"public_good"}),
        ("evidence jud", {"judgement"}),
        ("schema proposal", {"proposals", "proposal_votes"}),
        ("plan --metric coo", {"cooperation", "coordination"}),
        ("compare --lake {lake} sim-", {"sim-birch-pgm"}),
        ("plan --lake {lake} sim-", {"sim-birch-pgm"}),
        ("leaderboard --lake {lake} --model sim-", {"sim-birch-pgm"}),
        ("leaderboard --lake {lake}/none --model sim-", set()),
        ("diff {lake} {lake} --model sim-", {"sim-birch-pgm"}),
        ("diff {lake}/none {lake} --system ma", {"magic"}),
        ("diff {lake}/none --lake {lake} --model sim-", {"sim-birch-pgm"}),
        ("diff {lake}/none --as-of 1 --lake {lake} --model sim-", set()),
        ("diff --as-of 1 --lake {lake} --model sim-", {"sim-birch-pgm"}),
        ("ingest res", {"file,res"}),
        ("ingest results --lake la", {"dir,la"}),
        ("sql -f qu", {"file,qu"}),
        ("diff before af", {"dir,af"}),
    ],
)
def test_the_shell_completes_names(
    lake: Path,
    line: str,
    offered: set[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in completing(f"magic {line.format(lake=lake)}").items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        main([])
    printed = capsys.readouterr()
    assert printed.err == ""
    assert {*offers(printed.out)} == offered


def completing(line: str) -> dict[str, str]:
    """How bash asks what to offer for the last word of a line."""
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    return asked | {"_MAGIC_COMPLETE": "bash_complete"}


def offers(printed: str) -> list[str]:
    """What bash is told to offer."""
    return [offer.removeprefix("plain,") for offer in printed.split()]


def test_a_game_is_completed(lake: Path, magic: Magic) -> None:
    (first, *_) = magic(
        "sql", "SELECT game_id FROM games", "--lake", lake, "--format", "json"
    ).records
    found = suggestions.COMPLETION_FUNCTIONS["games"](
        SimpleNamespace(params={"lake": str(lake)}), first["game_id"][:8]
    )
    assert found == [first["game_id"]]


def examples(text: str) -> list[str]:
    """The commands under `Examples:` of a help text."""
    block = text.partition("Examples:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in block.splitlines()]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_examples_and_the_lake(magic: Magic, command: str) -> None:
    result = magic(command, "--help")
    assert result.code == 0
    found = examples(result.text)
    assert found
    assert all(line.startswith(f"magic {command}") for line in found)
    assert max(map(len, result.text.splitlines())) <= 80
    assert ("MAGIC_LAKE" in result.text) == (command not in ("convert", "simulate", "validate"))


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the examples of the help name: models, and lakes with each game twice."""
    place = tmp_path_factory.mktemp("workshop") / "examples"
    shutil.copytree(TOP / "data" / "sample" / "results", place / "results")
    for log in (place / "results").rglob("*.json"):
        text = log.read_text().replace("sim-birch-pgm", f"{MODEL}-pgm")
        log.write_text(text.replace("sim-atlas", MODEL))
    shutil.copytree(place / "results", place / "chat-logs")
    (place / "runs").mkdir()
    shutil.make_archive(str(place / "more"), "zip", place / "results")
    archive = shutil.make_archive(str(place / "runs" / "one"), "tar", place / "results")
    Path(archive).rename(place / "runs" / "one.tar.zst")  # told by its bytes
    (place / "query.sql").write_text("SELECT 1")
    (place / "models.toml").write_text('"*" = "gpt-3.5-turbo"')
    assert main(["convert", str(place / "results"), "-o", str(place / "games.jsonl")]) == 0
    ingest([place / "results", place / "chat-logs"], place / "lake")
    for lake in ("before", "after"):
        shutil.copytree(place / "lake", place / lake)
    return place


@pytest.mark.some(4)
@pytest.mark.slow
@pytest.mark.parametrize("command", [one for one in COMMANDS if one != SERVING])
def test_examples_of_the_help_run(
    magic: Magic,
    command: str,
    workshop: Path,
    broken_lake: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(workshop, ".", dirs_exist_ok=True)
    if command == "report":  # which takes long: it has one of a game
        shutil.rmtree("lake")
        shutil.copytree(broken_lake, "lake")
    monkeypatch.setattr(sys, "stdin", io.StringIO("FROM games"))
    (game, *_) = pipeline.open_lake("lake").table("games").collect()["game_id"]
    for example in examples(magic(command, "--help").text):
        if "--engine spark" in example or "://" in example:
            continue  # needs a cluster or a store: tests/spark and tests/stores have those
        if "setting.temperature" in example or "@my-harness" in example:
            continue  # of another system's games
        words = shlex.split(example.split(" > ")[0].replace("0f3a9c", game[:8]))
        result = magic(*words[1:])
        may_fail = {3} if command == "ingest" else {CHECK_FAILED} if "--fail-" in example else set()
        assert result.code in {0, *may_fail}, result.err
        assert result.out or result.err.startswith("wrote ")


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("ingest . --lake ''", "--lake"),
        ("ingest '' --lake lake", "a source"),
        ("validate ''", "a source"),
        ("metrics --lake=", "--lake"),
        ("diff '' lake", "the lake"),
        ("catalog -o ''", "--out"),
        ("report --out ''", "--out"),
        ("simulate --out=", "--out"),
        ("sql --file ''", "--file"),
        ("quarantine --export ''", "--export"),
        ("export dataset ''", "destination"),
        ("ingest . --models-from ''", "--models-from"),
        ("metrics --metric-file ''", "--metric-file"),
    ],
)
def test_an_empty_path_is_not_the_current_folder(
    command: str,
    names: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As a variable of a script leaves it that is not set."""
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)) == 2
    complaint = f"magic: the path of {names} is empty, perhaps because a variable is not set"
    assert capsys.readouterr().err.startswith(complaint)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("asked", "others"),
    [
        (
            "main(['--help']); main(['ingest', '--help'])",
            ["polars", "deltalake", "rich", "msgspec"],
        ),
        pytest.param("main(['metrics', '--lake', {lake!r}])", [], marks=pytest.mark.slow),
    ],
)
def test_a_command_waits_for_nothing_that_only_others_need(
    lake: Path, asked: str, others: list[str]
) -> None:
    """What writes files, asks in SQL or compares models takes its time to load."""
    heavy = [*others, "pyarrow", "numpy", "scipy", "duckdb", "filelock"]
    script = (
        f"import sys; from pipeline.cli import main; {asked.format(lake=str(lake))};"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, cwd=TOP)
    assert done.stdout
    assert done.stderr.decode().splitlines()[-1] == "[]"


def test_version(magic: Magic) -> None:
    assert magic("--version") == (0, f"magic {pipeline.__version__}\n".encode(), "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_once(
    shell: str, magic: Magic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/bin/{shell}")
    start = tmp_path / f".{shell}rc"
    start.write_text("alias ll='ls -l'")
    for _ in range(2):
        result = magic("--install-completion")
        assert result.code == 0
    script = Path(result.err.split(" was written to ")[1].partition("; start")[0])
    assert script.read_bytes() == magic("--show-completion").out
    sourced = [] if shell == "fish" else [f"source '{script}'"]
    assert start.read_text().splitlines() == ["alias ll='ls -l'", *sourced]
    if shutil.which(shell):
        assert subprocess.run([shell, "-n", script], check=False).returncode == 0


def test_completion_for_another_shell_says_which_there_are(
    magic: Magic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELL", "/bin/ksh")
    result = magic("--install-completion")
    assert (result.code, result.out) == (1, b"")
    assert "not one of bash, zsh, fish" in result.err


# --- forms --------------------------------------------------------------------------------------

SHOWING = {
    "audit of a kind": ["audit", "role_identifications"],
    "evidence": ["evidence", "deception"],
    "metrics": ["metrics"],
    "leaderboard": ["leaderboard"],
    "diff": ["diff", "--as-of", "1"],
    "completeness by metric": ["completeness", "--readability"],
    "plan": ["plan", "--metric", "win_rate", "--difference", "0.1"],
    "sql": ["sql", "SELECT game_id, n_rounds, [1, 2] AS l, {'a': 0.5::DOUBLE} AS s FROM games"],
    "documents": ["documents"],
    "quarantine in full": ["quarantine", "--raw"],
    "maintain": ["maintain", "--dry-run"],
}


@pytest.fixture(params=SHOWING)
def showing(request: pytest.FixtureRequest, lake: Path, broken_lake: Path) -> list[str]:
    """A command that prints a table, with its lake."""
    command = SHOWING[request.param]
    used = broken_lake if command[0] == "quarantine" else lake
    return [*command, "--lake", str(used)]


@pytest.mark.some(2)
def test_forms_say_the_same(magic: Magic, showing: list[str]) -> None:
    records = magic(*showing, "--format", "json").records
    parquet = pl.read_parquet(io.BytesIO(magic(*showing, "--format", "parquet").out))
    csv = pl.read_csv(io.BytesIO(magic(*showing, "--format", "csv").out), infer_schema=False)
    assert records
    assert list(records[0]) == parquet.columns == csv.columns
    assert len(records) == parquet.height == csv.height
    for name, dtype in parquet.schema.items():
        result = [record[name] for record in records]
        if dtype == pl.Binary:
            assert [text is None for text in result] == parquet[name].is_null().to_list()
            continue
        assert result == parquet[name].to_list()
        if dtype.is_nested():
            texts = [None if text is None else json.loads(text) for text in csv[name]]
            assert texts == result
        elif dtype == pl.String:
            assert csv[name].to_list() == result


@pytest.mark.slow
def test_forms_for_eyes(magic: Magic, showing: list[str]) -> None:
    """They have the same headings, which are words but for names of the user's."""
    table = magic(*showing)
    assert table.code == 0
    assert table.out
    assert not UNSAFE.search(table.text)
    markdown = magic(*showing, "--format", "markdown").text
    assert not UNSAFE.search(markdown)
    rows = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
    headings = [one.replace("\\", "") for one in rows[0].strip("| ").split(" | ")]
    assert showing[0] == "sql" or not any("_" in one for one in headings)
    if "--raw" not in showing:
        lines = table.text.splitlines()
        rule = next(at for at, line in enumerate(lines) if line.startswith("─"))
        assert re.split("  +", lines[rule - 1].strip()) == headings


# Tables of which each row is a line, or two where a cell has an interval.
NARROW = (
    "audit --by game_type,format_version",
    "compare sim-atlas sim-delta --margin .1",
    "compare sim-atlas --by role --metric reasoning",
    "compare --all-pairs",
    "completeness --readability",
    "diff {lake} {lake} --fail-on-regression .1",
    "games",
    "metrics",
    "plan --metric judgement --difference 0.1",
    "documents",
)


@pytest.mark.some(1)
@pytest.mark.parametrize("command", NARROW)
def test_a_table_fits_the_terminal(
    command: str, magic: Magic, sample_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line is too long, no row becomes a block of lines, and no heading is broken."""
    show = output.print_table
    widths = (80, 100, 120)

    def shown_thrice(*arguments: Any, **options: Any) -> None:
        for width in widths:
            terminal.write_result("≡")
            monkeypatch.setattr(terminal, "terminal_width_or_none", lambda width=width: width)
            show(*arguments, **options)

    monkeypatch.setattr(output, "print_table", shown_thrice)
    words = command.format(lake=sample_lake).split()
    result = magic(*words, *([] if words[0] == "diff" else ["--lake", sample_lake]))
    tables = [table.split("\n")[:-1] for table in result.text.split("≡")[1:]]
    for width, lines in zip(widths, tables, strict=True):
        assert max(map(cell_len, lines)) <= width
        assert "── 1 ──" not in lines
        assert lines[1].startswith("──")
        assert not re.search(r"_( |$)| _", lines[0])


@pytest.mark.slow
def test_what_a_narrow_table_gives_up_is_in_the_notes(
    magic: Magic, sample_lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "nothing to count: wrong_guesses"
    asked = ["metrics", "--metric", "deception", "--lake"]
    assert reason in magic(*asked, sample_lake).text
    monkeypatch.setattr(terminal, "terminal_width_or_none", lambda: 80)
    narrow = magic(*asked, sample_lake)
    assert reason not in narrow.text
    assert f"{reason} (deception sim-atlas chameleon, deception sim-atlas all)" in narrow.err


def test_notes_on_a_terminal_break_between_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    texts = "not one word of this note is broken", "and its lines are kept"
    terminal.print_note(*texts)
    assert capsys.readouterr().err.splitlines() == [*texts]
    monkeypatch.setattr(terminal, "is_stderr_terminal", lambda: True)
    terminal.print_note(*texts)
    assert capsys.readouterr().err.splitlines() == [
        *("not one word of this", "note is broken"),
        *("and its lines are", "kept"),
    ]


def test_json_keeps_numbers_exactly_and_has_no_nan(magic: Magic, lake: Path) -> None:
    query = r"""SELECT 0.1::DOUBLE + 0.2::DOUBLE AS f, 'nan'::DOUBLE AS nan, NULL AS none,
        9007199254740993 AS big, 1.50::DECIMAL(4, 2) AS money,
        TIMESTAMPTZ '2024-05-06 07:08:09+00' AS at, 'a\xFF'::BLOB AS bytes"""
    assert magic("sql", query, "--lake", lake, "--format", "json").records == [
        {
            "f": 0.1 + 0.2,
            "nan": None,
            "none": None,
            "big": 9007199254740993,
            "money": 1.5,
            "at": "2024-05-06T07:08:09Z",
            "bytes": "a\\xff",
        }
    ]


@pytest.mark.slow
def test_no_rows_are_an_empty_list_and_a_header(magic: Magic, lake: Path) -> None:
    query = ["sql", "SELECT game_id, path FROM games WHERE FALSE", "--lake", lake, "--format"]
    assert magic(*query, "json").records == []
    assert magic(*query, "csv").text == "game_id,path\n"
    assert magic(*query, "table").text.splitlines()[0] == "game_id  path"


def test_parquet_is_not_written_to_a_terminal(
    magic: Magic, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    result = magic("tables", "--lake", lake, "--format", "parquet")
    assert (result.code, result.out) == (2, b"")
    assert one_line(result.err)


# --- commands -----------------------------------------------------------------------------------


def test_ingest_tells_what_came_of_it(
    magic: Magic, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is well, also for `--strict`; a long one says where it is, also where nobody looks."""
    monkeypatch.setenv("MAGIC_LAKE", str(tmp_path / "lake"))
    monkeypatch.setattr("pipeline.cli.terminal.SECONDS_BETWEEN_PROGRESS_LINES", 0)
    result = magic("ingest", logs, "--strict")
    assert result.code == 0
    assert re.search(r"reading: 33 documents and 0 MiB in \d+ s$", result.err, re.MULTILINE)
    setting = logs / "prisoner" / "setting" / "0.json"
    why = "not a log: JSON with other keys (test_player_name, topic_values)"
    assert f"2 ignored: {why}, for example {setting}\n" in result.err
    rows = {tuple(line.split()[:2]): line.split()[-1] for line in result.text.splitlines()}
    assert rows["documents", "ingested"] == "29"
    assert "documents  unchanged" not in result.text
    again = magic("ingest", logs, "--format", "json")
    counts = json.loads(again.out)
    assert (counts["ingest_id"], counts["n_documents"], counts["n_unchanged"]) == (2, 33, 29)
    assert counts["new_games"] == {}
    assert {"reason": why, "n_documents": 2, "example": str(setting)} in counts["ignored"]
    assert sum(ignored["n_documents"] for ignored in counts["ignored"]) == 4
    committed = magic("sql", "--format", "json", "FROM ingests ORDER BY ingest_id")
    of_ingests = committed.records[-1]
    shared = counts.keys() & of_ingests.keys()
    assert {name: counts[name] for name in shared} == {name: of_ingests[name] for name in shared}


def test_ingest_says_the_same_in_every_form(magic: Magic, broken: Path, tmp_path: Path) -> None:
    command = ["ingest", broken, "--lake", tmp_path / "lake", "--dry-run", "--format"]
    counts = json.loads(magic(*command, "json").out)
    assert counts["ingest_id"] is None
    rows = pl.read_csv(io.BytesIO(magic(*command, "csv").out))
    assert rows.equals(pl.read_parquet(io.BytesIO(magic(*command, "parquet").out)))
    of = {(counted, kind): n for counted, kind, n in rows.iter_rows()}
    for status in DocumentStatus:
        assert of["documents", status] == counts[f"n_{status}"]
    of_games = {kind: n for (counted, kind), n in of.items() if counted == "new games"}
    assert of_games == counts["new_games"]
    assert of["faulty parts", None] == counts["n_faulty_parts"] == 1
    shown = magic(*command, "markdown")
    assert not UNSAFE.search(shown.text)
    assert "nothing was written" in shown.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_ingest_says_that_it_found_no_game(magic: Magic, logs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "truth.json").write_text("[]")
    (folder / "notes.txt").write_text("")
    command = ["ingest", folder, "--lake", tmp_path / "lake"]
    for options in ([], ["--strict"], ["--dry-run"]):
        result = magic(*command, *options)
        assert result.code == 1
        assert "no game was found in 2 documents" in result.err
        assert "not a log: JSON without keys, for example" in result.err
        assert "not a log: it is empty" in result.err
        assert "docs/" not in result.err
    assert magic(*command, "--strict", "--allow-empty").code == 0
    result = magic("ingest", logs / "chameleon" / "own", "--lake", tmp_path / "lake")
    assert "no game was found" not in result.err


def test_ingest_tells_of_votes_that_no_text_decides(magic: Magic, tmp_path: Path) -> None:
    """Of five votes of Ida, two are read from text, one of these in vain. The others are one that
    is registered, an outage, and one in a second copy of a game."""
    said, unstated = '"text": "I vote for Wu."', ', "target": "Wu"'
    undecided = EXAMPLE.replace(said, '"text": "Hm."').replace(unstated, "")
    games = {
        "undecided.json": undecided,
        "decided.json": EXAMPLE.replace(unstated, ""),
        "registered.json": EXAMPLE.replace(said, '"text": "Hm."'),
        "outage.json": undecided.replace("Hm.", OUTAGE.format("Ida")),
        "z/copy.json": undecided,
    }
    (tmp_path / "logs" / "z").mkdir(parents=True)
    for name, game in games.items():
        (tmp_path / "logs" / name).write_text(game)
    lake = tmp_path / "lake"
    result = magic("ingest", tmp_path / "logs", "--lake", lake, "--format", "json")
    counts = json.loads(result.out)
    assert (counts["n_ingested"], counts["n_duplicate"]) == (4, 1)
    assert (counts["n_read_votes"], counts["n_undecided_votes"]) == (2, 1)
    assert "1 of 2 votes could not be read from text" in result.err
    assert f"`magic evidence --lake {lake} judgement --unclear`" in result.err


def free_text_game(game_type: str, sought: str, other: str, texts: list[str]) -> dict[str, object]:
    """A game of four seats, the last not under test, in which each votes by one of the texts."""
    roles = [sought, other, other, other]
    seats = [
        {"player": f"P{n}", "model": f"m{n}", "role": role, "is_tested": n < 4}
        for n, role in enumerate(roles, start=1)
    ]
    events = [
        {"actor": f"P{n}", "round": 1, "text": text, "acts": [{"act": "votes"}]}
        for n, text in enumerate(texts, start=1)
    ]
    return {
        "magic_interchange": 1,
        "system": "lab",
        "game_type": game_type,
        "setting": {"code": "apple"} if game_type == "chameleon" else {},
        "is_finished": False,
        "seats": seats,
        "events": events,
    }


def test_unclear_lists_the_votes_of_every_role_and_game(magic: Magic, tmp_path: Path) -> None:
    """Of twelve votes in free text five name nobody. Judgement looks at two of these: at those of
    P2 and P3 in the finished game of werewolves. The others are a werewolf's, one of P4, who is not
    under test, and one in an unfinished game of another kind."""
    unclear = "Hm."
    wolves = free_text_game("werewolf", "werewolf", "villager", [unclear] * 4)
    wolves |= {"is_finished": True, "end": {"outcome": "villagers_won"}}
    clear = [f"I vote for P{n}." for n in (2, 1, 1, 1)]
    games = {
        "0.json": wolves,
        "1.json": {**wolves, "events": free_text_game("werewolf", "", "", clear)["events"]},
        "2.json": free_text_game("chameleon", "chameleon", "non_chameleon", [unclear, *clear[1:]]),
    }
    (tmp_path / "logs").mkdir()
    for name, game in games.items():
        (tmp_path / "logs" / name).write_text(json.dumps(game))
    lake = tmp_path / "lake"
    ingest(tmp_path / "logs", lake, jobs=1)
    command = ["evidence", "judgement", "--lake", lake]
    rows = magic(*command, "--unclear", "--format", "json").records
    found = [
        (row["game_type"], row["player"], row["role"], row["is_counted"], row["content"])
        for row in rows
    ]
    assert sorted(found) == [
        ("chameleon", "P1", "chameleon", False, unclear),
        ("werewolf", "P1", "werewolf", False, unclear),
        *(("werewolf", f"P{n}", "villager", False, unclear) for n in (2, 3, 4)),
    ]
    assert [row["player"] for row in rows if row["term"]] == ["P2", "P3"]
    # The two votes that are counted are those of P2 and P3 in the second game.
    counted = magic(*command, "--format", "json")
    assert [(row["player"], row["hit"]) for row in counted.records] == [("P2", 1.0), ("P3", 1.0)]
    assert "judgement: 2 of 2 = " in counted.err


@pytest.mark.slow
def test_ingest_tells_of_games_in_another_form(magic: Magic, logs: Path, tmp_path: Path) -> None:
    first = next(logs.rglob("0.json"))
    shutil.copy(first, tmp_path / "0.json")
    (tmp_path / "1.json").write_text(json.dumps(json.loads(first.read_text()), indent=1))
    result = magic("ingest", tmp_path, "--lake", tmp_path / "lake", "--format", "json")
    assert json.loads(result.out)["n_in_other_form"] == 2
    assert "1 game is a repeat of another" in result.err
    named = f"`magic audit --lake {tmp_path / 'lake'} repeated_games` lists repeats"
    assert named in result.err


@pytest.mark.slow
def test_an_argument_that_is_no_text(magic: Magic, logs: Path, tmp_path: Path) -> None:
    """A file may have any name; nothing else may be other than UTF-8."""
    odd = os.fsdecode(b"caf\xe9")
    shutil.copytree(logs / "chameleon" / "own", tmp_path / "in" / odd)
    assert magic("ingest", tmp_path / "in" / odd, "--lake", tmp_path / "lake").code == 0
    for command in (
        ["ingest", logs, "--model", odd],
        ["sql", f"SELECT '{odd}'"],
        ["metrics", "--where", f"model = '{odd}'"],
    ):
        result = magic(*command)
        assert (result.code, one_line(result.err)) == (2, True)
        assert "neither valid UTF-8 nor a file" in result.err


@pytest.mark.slow
def test_strict_exits_with_3(magic: Magic, broken: Path, tmp_path: Path) -> None:
    for options in (["--dry-run"], []):
        command = ["ingest", broken, "--lake", tmp_path / "lake", *options]
        lenient = magic(*command)
        assert lenient.code == 0
        assert "1 document and 1 part quarantined" in lenient.err
        shutil.rmtree(tmp_path / "lake", ignore_errors=True)
        assert magic(*command, "--strict") == lenient._replace(code=3)


def test_metrics_filters_and_groups(magic: Magic, lake: Path) -> None:
    result = magic(
        *("metrics", "--lake", lake, "--format", "json", "--model", MODEL, "--engine", "duckdb"),
        *("--metric", "judgement", "--metric", "cooperation", "--game-type", "all"),
    )
    assert [(r["metric"], r["model"], r["game_type"]) for r in result.records] == [
        ("judgement", MODEL, "all"),
        ("cooperation", MODEL, "all"),
    ]
    whole = magic("metrics", "--lake", lake, "--format", "json", "--by", "")
    assert "model" not in whole.records[0]
    assert len(whole.records) == len(NAMES)
    by_role = magic(
        *("metrics", "--lake", lake, "--by", "model, role", "--metric", "judgement"),
        *("--format", "json"),
    )
    assert {"model", "role"} <= set(by_role.records[0])


def test_groups_add_up(magic: Magic, lake: Path) -> None:
    asked = ("metrics", "--metric", "judgement", "--lake", lake, "--format", "json")
    expected = magic(*asked, "--by", "model,game_type,role")
    result = magic(*asked, "--by", "model", "--by", "game_type, role")
    assert {"model", "game_type", "role"} <= set(result.records[0])
    assert result.out == expected.out


@pytest.mark.slow
def test_metrics_of_no_row_have_reasons(magic: Magic, lake: Path) -> None:
    """The model is there, and no row of it."""
    chosen = ["--model", MODEL, "--where", "role = 'nobody'"]
    result = magic("metrics", "--lake", lake, *chosen, "--format", "json")
    assert result.code == 0
    assert [row["metric"] for row in result.records] == list(metric_names("paper"))
    assert all(row["reason"].startswith("no row meets") for row in result.records)
    assert "matches" not in result.err
    asked = ("--by", "model", "--metric", "judgement", "--game-type", "public_good")
    no_row = magic("metrics", *asked, "--lake", lake)
    assert "nothing to count" in no_row.text
    assert "matches" not in no_row.err


@pytest.mark.parametrize(
    ("where", "hint"),
    [
        ("model = gpt-4", "write it in single quotes: 'gpt-4'"),
        ("model <> gpt-3.5-turbo", "write it in single quotes: 'gpt-3.5-turbo'"),
        ("role = civilian", "if it is a text, write it in single quotes: 'civilian'\n"),
        ("role IN (civilian)", "write it in single quotes: 'civilian'"),
        ('role = "civilian"', "write it in single quotes: 'civilian'"),
        ("model = gpt 4", "strings need single quotes, as in role = 'civilian'"),
        ("rolle = 'civilian'", "did you mean `role`?"),
    ],
)
def test_a_condition_without_quotes_is_told_to_have_some(
    magic: Magic, lake: Path, where: str, hint: str
) -> None:
    said = magic("metrics", "--metric", "judgement", "--where", where, "--lake", lake).err
    assert hint in said


def test_a_column_that_is_like_no_other_leads_to_the_list(magic: Magic, lake: Path) -> None:
    said = magic("sql", 'SELECT * FROM votes WHERE model = "gpt-4"', "--lake", lake).err
    run = f"run `magic schema --lake {lake}"
    assert f"no column `gpt-4`: {run} votes` to list the columns; if it is" in said
    assert f"{run} games votes`" in magic("sql", "SELECT x FROM votes, games", "--lake", lake).err


def test_commands_to_run_next_name_the_lake(
    magic: Magic, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Quoted, in notes and in errors; not where the lake is the one without a name."""
    elsewhere = tmp_path / "my lake"
    elsewhere.symlink_to(lake)
    option = f"--lake '{elsewhere}'"
    games = magic("games", "--limit", 1, "--lake", elsewhere).err
    assert re.search(rf"to read a game: `magic show {re.escape(option)} \w{{8}}`", games)
    assert f'`magic sql {option} "SELECT' in magic("show", "none", "--lake", elsewhere).err
    assert "; see `magic games --help`" in magic("games", "--lake", elsewhere, "--x").err
    monkeypatch.setenv("MAGIC_LAKE", str(elsewhere))
    assert '`magic sql "SELECT' in magic("show", "none").err


def test_what_is_no_log_by_its_name_is_not_validated(magic: Magic, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# games")
    (tmp_path / "games.jsonl").write_text("{}")
    result = magic("validate", tmp_path)
    assert "0 of 1 document is valid" in result.err
    assert "1 other file ignored: not a log: the name ends in .md" in result.err
    assert "README" not in result.text


def test_magic_json_is_one_line_with_the_scripts_names(magic: Magic, lake: Path) -> None:
    result = magic(
        *("metrics", "--lake", lake, "--edition", "release", "--num-of-game", 20),
        *("--model", MODEL, "--format", "magic-json"),
    )
    assert result.code == 0
    assert result.text.count("\n") == 1
    names = (
        *("Win Rate", "Judgement", "Reasoning", "Deception", "Self-Awareness", "Cooperation"),
        *("Coordination", "Rationality", "Total"),
    )
    assert tuple(result.records[0]["train_split"]) == names  # type: ignore[arg-type]


@pytest.mark.some(1)
@pytest.mark.parametrize("width", [40, 100])
def test_leaderboard_fits(
    magic: Magic, lake: Path, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models are columns, as many as fit; each value has its interval below."""
    monkeypatch.setattr(terminal, "terminal_width_or_none", lambda: width)
    command = ["leaderboard", "--lake", lake, "--edition", "release"]
    result = magic(*command)
    lines = result.text.splitlines()
    assert max(map(cell_len, lines)) <= width
    records = magic(*command, "--format", "json").records
    assert len(records) == 3
    for name in metric_names("release"):
        heading = TITLES[name]
        own = [line.removeprefix(heading).split() for line in lines if line.startswith(heading)]
        shown = [word for words in own for word in words if word[0] != "†"]
        values = [record[name] for record in records]
        assert shown == ["–" if value is None else f"{value:.3f}" for value in values]
    of_models = [line.split()[1:] for line in lines if line.startswith("letters")]
    assert [word for words in of_models for word in words] == [
        record["group_letters"] or "–" for record in records
    ]
    assert re.search(r"^ +\(\.\d\d to [.1]\d+", result.text, re.MULTILINE)
    assert any(line.startswith("– ") for line in result.err.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("command", ["leaderboard", "diff {broken_lake}"])
def test_the_size_of_a_family_is_said_where_p_values_are_adjusted(
    magic: Magic, lake: Path, broken_lake: Path, command: str
) -> None:
    asked = [*command.format(broken_lake=broken_lake).split(), "--lake", lake]
    assert "family" in magic(*asked, "--format", "json").records[0]
    assert re.search("adjusted|no p-values", magic(*asked, "--format", "table").err)


def test_a_verdict_is_explained(magic: Magic, lake: Path) -> None:
    asked = ("compare", *PAIR, "--metric", "win_rate", "--lake", lake)
    assert "verdict" not in magic(*asked).err
    assert "within -0.1..0.1" in magic(*asked, "--margin", "0.1").err


@pytest.mark.slow
def test_signs_are_plain_where_the_terminal_has_no_utf8(lake: Path) -> None:
    """Ours are, a table's rule among them; what else is lacking is escaped."""
    done = subprocess.run(
        [*PROGRAM, "leaderboard", "--lake", lake],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    text = done.stdout.decode("ascii")
    assert "----" in text
    assert re.search(r"\d\.\d{3} \(\.\d\d to [.1]\d+\) !\d", text)
    assert not re.search(r"\\u(2500|2013|2020)", text)
    assert done.stderr.decode("ascii").splitlines()[1].startswith("! and a number: a term")


def test_a_schema_fits(magic: Magic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "terminal_width_or_none", lambda: 60)
    result = magic("schema", *TABLES, "metrics", "evidence.judgement")
    assert max(map(cell_len, result.text.splitlines())) <= 60
    text = " ".join(result.text.split())
    assert "A row is one vote cast by a tested player of the civilian side, if it was" in text
    assert "One accusation vote." in text


def test_of_a_table_that_is_cut_no_number_of_rows_is_told(
    magic: Magic, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that were read for lines that nobody sees were not shown."""
    command = ["evidence", "win_rate", "--misses", "--lake", lake]
    monkeypatch.setattr(output, "MAX_TERMINAL_LINES", 4)
    monkeypatch.setattr(terminal, "terminal_width_or_none", lambda: 200)
    cut = magic(*command)
    assert "truncated after 4 lines" in cut.err
    assert "are shown" not in cut.err
    assert "rows without a hit" in cut.err
    assert "; 1 of them is shown" in magic(*command, "--limit", 1).err


@pytest.mark.parametrize(
    ("query", "is_cut"),
    [
        ("FROM range(998)", False),
        ("FROM range(999)", True),
        pytest.param("SELECT repeat('a ', 900) FROM range(99)", True, marks=pytest.mark.slow),
    ],
)
def test_a_result_is_cut_only_if_it_is_longer(
    magic: Magic, lake: Path, query: str, is_cut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "terminal_width_or_none", lambda: 80)
    result = magic("sql", query, "--lake", lake)
    assert len(result.text.splitlines()) == output.MAX_TERMINAL_LINES == 1000
    assert ("truncated after" in result.err) == is_cut
    assert ("To see all rows, write to a file" in result.err) == is_cut
    monkeypatch.setattr(terminal, "terminal_width_or_none", lambda: None)
    assert magic("sql", query, "--lake", lake).err == ""


def test_notes_stay_with_a_table_in_markdown(magic: Magic, lake: Path) -> None:
    command = ["leaderboard", "--lake", lake, "--edition", "release", "--model", MODEL]
    notes = magic(*command).err.splitlines()
    result = magic(*command, "--format", "markdown")
    assert result.err == ""
    table, _, items = result.text.partition("\n\n")
    assert table.startswith("| ")
    assert len(items.splitlines()) == len(notes) > 0
    assert items.startswith("- ")


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("leaderboard", "the lake has no game of a tested model"),
        ("leaderboard --engine duckdb --format parquet", "the lake has no game of a tested model"),
        (
            "compare --all-pairs",
            "nothing to compare: there are fewer than two models or groups",
        ),
        ("completeness", NO_GAMES_MESSAGE),
        ("completeness --missing", NO_GAMES_MESSAGE),
        ("completeness --readability", NO_GAMES_MESSAGE),
    ],
)
def test_a_report_of_no_games_is_empty_and_says_so(
    magic: Magic, lake_without_games: Path, command: str, said: str
) -> None:
    result = magic(*command.split(), "--lake", lake_without_games)
    assert (result.code, result.err) == (0, f"{said}\n")
    assert result.out or "--format" not in command


@pytest.mark.slow
def test_of_bots_alone_nothing_is_complete(magic: Magic, lake_of_bots: Path) -> None:
    for options in ([], ["--readability"], ["--fail-if-incomplete"]):
        result = magic("completeness", *options, "--lake", lake_of_bots)
        assert NO_GAMES_MESSAGE in result.err
    assert result.code == CHECK_FAILED
    assert "no game of a tested model matches" in magic("metrics", "--lake", lake_of_bots).err


@pytest.mark.slow
def test_what_is_missing_is_named_and_can_fail_a_build(
    magic: Magic, logs: Path, tmp_path: Path
) -> None:
    """Of copies of some logs one lacks a game, of one model, and one has no end, of the other."""
    asked = ["completeness", "--fail-if-incomplete", "--lake"]
    shutil.copytree(logs / "prisoner", tmp_path / "logs")
    gone, cut_off = sorted((tmp_path / "logs").glob("*_vs_*/*.json"))[::3]
    gone.unlink()
    cut_off.write_text(json.dumps(json.loads(cut_off.read_text()) | {"result": None}))
    ingest(tmp_path / "logs", tmp_path / "lake")
    result = magic(*asked, tmp_path / "lake", "--incomplete", "--format", "json")
    assert result.code == CHECK_FAILED
    assert [row["competition"] for row in result.records] == ["prisoners_dilemma"] * 2
    listed = magic("completeness", "--missing", "--lake", tmp_path / "lake", "--format", "json")
    missing = sorted((row["game_index"], row["n_unfinished"]) for row in listed.records)
    assert (listed.code, missing) == (0, [(0, 0), (1, 1)])
    model, setting = (listed.records[0][name] for name in ("model", "setting_id"))
    of_one = magic(*asked, tmp_path / "lake", "--model", model, "--missing")
    assert (of_one.code, "incomplete: " in of_one.err) == (CHECK_FAILED, True)
    assert setting in of_one.text
    assert listed.records[1]["setting_id"] not in of_one.text


@pytest.mark.slow
def test_evidence_of_several_terms_shows_them_and_counts_what_was_asked_for(
    magic: Magic, lake: Path
) -> None:
    def words(*asked: str) -> tuple[list[str], str]:
        result = magic("evidence", *asked, "--lake", lake, "--format", "markdown")
        return result.text.splitlines()[0].strip("| ").split(" | "), result.err

    columns, note = words("deception")
    assert "term" in columns
    _, hits = words("deception", "--hits")
    assert hits.startswith(note)
    records = magic("evidence", "deception", "--hits", "--lake", lake, "--format", "json").records
    assert f"\n{len(records)} rows with a hit, in " in hits
    _, note = words("cooperation", "--misses", "--where", "agreed")
    assert note.endswith("\nno row without a hit\n")
    columns, note = words("judgement", "--unclear")
    assert "parse status" in columns
    n_unclear = pipeline.open_lake(lake).metrics(metric="judgement", by=())["n_unreadable"].item()
    assert f"\n{n_unclear} rows not clear or of unknown hit, in " in note


def test_tables_counts_rows(magic: Magic, lake: Path) -> None:
    records = magic("tables", "--lake", lake, "--format", "json").records
    opened = pipeline.open_lake(lake)
    for record in records:
        n_rows = opened.table(str(record["table"])).select(pl.len()).collect().item()
        assert record["n_rows"] == n_rows
    assert {"games", "votes", "ingests"} <= {record["table"] for record in records}


def test_schema_prints_every_contract_without_a_lake(magic: Magic) -> None:
    result = magic("schema", "--format", "json")
    found = {(record["table"], record["column"]): record for record in result.records}
    assert found["votes", "seat"] | {"description": ""} == {
        "table": "votes",
        "column": "seat",
        "type": "int32",
        "is_nullable": False,
        "is_key": True,
        "low": 1.0,
        "high": None,
        "words": None,
        "pattern": None,
        "description": "",
    }
    assert found["votes", "parse_status"]["words"] == ["ok", "ambiguous", "unreadable", "outage"]
    assert all(record["description"] for record in result.records)


@pytest.mark.slow
def test_schema_tells_of_every_view(magic: Magic, lake: Path) -> None:
    """Each by its name with its schema, if that is not the main one; here one of each schema."""
    told = ("metrics", "evidence.judgement", "audit.scores", "shared.stated_views")
    name = "concat_ws('.', nullif(schema_name, 'main'), view_name)"
    with pipeline.open_lake(lake).connect() as connection:
        seen = connection.sql(f"SELECT {name} FROM duckdb_views() WHERE NOT internal").fetchall()
        columns = {name: connection.sql(f"FROM {name} LIMIT 0").columns for name in told}
    of_schemas = {view.rpartition(".")[0]: view for (view,) in seen if view not in TABLES}
    asked = sorted({*told, *of_schemas.values()})
    result = magic("schema", *asked, "--format", "json").records
    assert {record["table"] for record in result} == set(asked)
    assert all(record["description"] for record in result)
    for name in told:
        found = [record["column"] for record in result if record["table"] == name]
        assert found == columns[name]


def test_quarantine_tells_part_and_rule(magic: Magic, broken_lake: Path) -> None:
    result = magic("quarantine", "--lake", broken_lake)
    part = next(line for line in result.text.splitlines() if line.startswith("1.json"))
    assert "$.consistency_metric" in part
    full = magic("quarantine", "--lake", broken_lake, "--raw", "--format", "json")
    assert {record["raw"] for record in full.records} >= {'{"history": [\x1b[31m'}


@pytest.mark.slow
def test_what_is_simulated_can_be_ingested(magic: Magic, tmp_path: Path) -> None:
    command = ("simulate", "--models", 1, "--games", 1, "--seed", 5, "--jobs", 1)
    result = magic(*command, "--out", tmp_path / "a", "--archive", "tar", "--format", "json")
    assert (result.code, result.records[0]["n_games"]) == (0, 7)
    assert [file.suffix for file in (tmp_path / "a").iterdir()].count(".tar") == 1
    assert magic("ingest", tmp_path / "a", "--lake", tmp_path / "lake").code == 0


# --- sql ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["-- a note\nSELECT 1 AS n", "--note\nSELECT 1 AS n"])
def test_a_query_may_begin_with_a_comment(magic: Magic, lake: Path, query: str) -> None:
    options = ("--format", "json", "--lake", lake)
    for command in (["sql", query, *options], ["sql", *options, "--", query]):
        assert magic(*command).records == [{"n": 1}]


@pytest.mark.slow
def test_sql_in_as_much_memory_as_can_be_counted(
    magic: Magic, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process of its own, as without tests."""
    monkeypatch.setattr("pipeline.query_processes.start_python_process", START)
    command = ("sql", "--lake", lake, "SELECT 1 AS n", "--format", "json")
    assert magic(*command, "--memory", "8388607TiB").records == [{"n": 1}]


@pytest.mark.slow
def test_sql_from_a_file_and_from_stdin(
    magic: Magic, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT count(*) AS n FROM games"
    (tmp_path / "query.sql").write_text(query)
    expected = [{"n": 29}]
    assert magic("sql", "--lake", lake, query, "--format", "json").records == expected
    result = magic("sql", "--lake", lake, "-f", tmp_path / "query.sql", "--format", "json")
    assert result.records == expected
    for arguments in ([], ["-f", "-"]):
        monkeypatch.setattr(sys, "stdin", io.StringIO(query))
        assert magic("sql", "--lake", lake, *arguments, "--format", "json").records == expected


# --- mistakes -----------------------------------------------------------------------------------


def one_line(err: str) -> bool:
    """Whether it is one clear line of ours, and of a query the line that is wrong, with a mark."""
    is_one = re.fullmatch(r"magic: [^\n]+\n(LINE \d+: [^\n]+\n *\^+\n)?", err)
    return is_one is not None and "Traceback" not in err


MISTAKES = {
    "no such path": (1, "ingest {tmp}/nothing --lake {tmp}/new", "nothing"),
    "a tilde that is no home": (1, "metrics --lake ./~root", "magic: ./~root: no such lake"),
    "nobody's home": (1, "metrics --lake ~nobody-of-this-name", "name: no such lake"),
    "control sequences": (1, "ingest '\x1b[31mno\nwhere' --lake {tmp}/new", "matches this pattern"),
    "no match": (1, "ingest '{tmp}/*.zip' --lake {tmp}/new", "pattern"),
    "empty folder": (1, "ingest {tmp}/empty --lake {tmp}/new", "no file"),
    "no source": (2, "ingest", "SOURCE"),
    "a model without a name": (2, "ingest {logs} --lake {tmp}/new --model ' '", "name is empty"),
    "too many processes": (2, "ingest {logs} --lake {tmp}/new --jobs 9999", "at most"),
    "a lake that is no text": (2, "ingest {logs} --lake {tmp}/l\udce9", "UTF-8"),
    "a lake at an odd URL": (1, "metrics --lake s3://bucket//lake", "between slashes"),
    "a source at an odd URL": (1, "ingest s3://bucket/a/../b --lake {tmp}/new", "between slashes"),
    "an export to a URL": (2, "quarantine --export s3://bucket/x --lake {lake}", "this machine"),
    "a simulation at a URL": (2, "simulate --out file:///x/y", "this machine"),
    "upkeep since no time": (2, "maintain --keep-days nan --lake {lake}", "keep"),
    "into something else": (1, "ingest {logs} --lake {logs}", "not a lake"),
    "into a file": (1, "ingest {logs} --lake {tmp}/file", "file"),
    "no lake": (1, "tables --lake {tmp}/nothing", "no such lake"),
    "not a lake": (1, "metrics --lake {tmp}/empty", "not a lake"),
    "not a lake for sql": (1, "sql 'FROM games' --lake {tmp}/empty", "not a lake"),
    "an empty folder": (1, "metrics --lake {tmp}/empty", "nothing was ingested here"),
    "a file for a lake": (1, "metrics --lake {tmp}/file", "a lake is a folder"),
    "a report of no known format": (
        2,
        "report -o {tmp}/x.pdf --lake {lake}",
        "must name the format",
    ),
    "a report into no folder": (1, "report -o {tmp}/no/x.md --lake {lake}", "create it first"),
    "a report into a folder": (1, "report --format latex -o {tmp}/empty --lake {lake}", "a folder"),
    "other contract": (1, "leaderboard --lake {tmp}/other", "contract version 999"),
    "ingest into other contract": (1, "ingest {logs} --lake {tmp}/other", "contract version 999"),
    "unknown metric": (2, "metrics --metric wit --lake {lake}", "win_rate"),
    "unknown column": (2, "metrics --by weather --lake {lake}", "weather"),
    "unknown game type": (2, "metrics --game-type chess --lake {lake}", "chess"),
    "unknown system": (
        2,
        "leaderboard --system magik --lake {lake}",
        "no game of the system `magik`: did you mean `magic`?",
    ),
    "unknown edition": (2, "metrics --edition third --lake {lake}", "third"),
    "unknown engine": (2, "leaderboard --engine pandas --lake {lake}", "pandas"),
    "master of no Spark": (2, "metrics --master local --lake {lake}", "only with the engine spark"),
    "unknown form": (2, "tables --format xml --lake {lake}", "xml"),
    "unknown table": (2, "schema vote", "no table or view `vote`: did you mean `votes`?"),
    "unknown view": (2, "schema votes judgment", "did you mean `judgement`?"),
    "unknown view of a schema": (
        1,
        "sql 'FROM evidence.reasonin' --lake {lake}",
        "no table or view `evidence.reasonin`: did you mean `evidence.reasoning`?",
    ),
    "unknown command": (2, "metric", "metrics"),
    "a command with a slip": (2, "leaderbord", "'leaderbord': did you mean 'leaderboard'?\n"),
    "no whole number": (
        2,
        "sql 'FROM games' --timeout soon --lake {lake}",
        "'--timeout': 'soon' is not a valid integer; see `magic sql --help`",
    ),
    "unknown option": (2, "metrics --edtion paper", "--edtion"),
    "an option like another": (2, "metrics --modle x --lake {lake}", "did you mean '--model'"),
    "an option like no other": (2, "metrics --percent --lake {lake}", "'--percent'; see `magic"),
    "no role of these games": (2, "games --role spy --lake {lake}", "spy: choose from chameleon, "),
    "unknown option of sql": (2, "sql --formt json --lake {lake}", "--formt"),
    "two options in one": (2, "sql '--format json' --lake {lake}", "--format json"),
    "two queries": (2, "sql '-- a\nFROM games' 'FROM games' --lake {lake}", "unexpected"),
    "option without value": (2, "metrics --edition", "--edition"),
    "no size": (2, "sql 'SELECT 1' --memory much --lake {lake}", "'much' is not a size"),
    "memory of no machine": (2, "sql 'SELECT 1' --memory 99999999999t --lake {lake}", "--memory"),
    "ingest in no machine": (2, "ingest {logs} --memory 9999999999g --lake {tmp}/new", "--memory"),
    "a document of no machine": (
        2,
        f"ingest {{logs}} --max-document {'9' * 400} --lake {{tmp}}/new",
        "is too large",
    ),
    "no share": (2, "metrics --confidence 95 --lake {lake}", "between 0 and 1"),
    "one model to compare": (2, "compare gpt-4 --lake {lake}", "two models"),
    "compare with itself": (2, "compare gpt-4 gpt-4 --lake {lake}", "two different models"),
    "hits and misses": (
        2,
        "evidence judgement --hits --misses --lake {lake}",
        "cannot be combined with --hits",
    ),
    "misses and rows that are not clear": (
        2,
        "evidence judgement --unclear --misses --lake {lake}",
        "--unclear cannot be combined with --misses",
    ),
    "misses and hits": (
        2,
        "evidence judgement --misses --hits --lake {lake}",
        "cannot be combined with --hits",
    ),
    "a transcript for a spreadsheet": (2, "show game --safe --lake {lake}", "--safe"),
    "compare with a stranger": (2, "compare gpt-4 stranger --lake {lake}", "no game of stranger"),
    "metrics of a stranger": (
        2,
        "metrics --model gpt-4 --model gpt4 --lake {lake}",
        "no game of gpt4",
    ),
    "evidence of a stranger": (
        2,
        "evidence judgement --model gpt4 --lake {lake}",
        "no game of gpt4",
    ),
    "games of a stranger": (
        2,
        "games --model nobody --lake {lake}",
        "no game of nobody: choose from",
    ),
    "messages of a stranger": (2, "search vote --model gpt4 --lake {lake}", "no game of gpt4"),
    "audit of a stranger": (2, "audit --model gpt4 --lake {lake}", "no game of gpt4"),
    "findings of a stranger": (2, "audit scores --model gpt4 --lake {lake}", "no game of gpt4"),
    "leaderboard of a stranger": (
        2,
        "leaderboard --model gpt-4 --model gpt4 --engine duckdb --lake {lake}",
        "no game of gpt4",
    ),
    "games that are missing and expected": (
        2,
        "completeness --missing --expected 2 --lake {lake}",
        "--missing works with neither --expected nor --readability",
    ),
    "a plan for no difference": (
        2,
        "plan --metric judgement --difference 0 --lake {lake}",
        "difference must not be 0",
    ),
    "a plan for more than there is": (
        2,
        "plan --metric judgement --difference 5 --lake {lake}",
        "difference of 5 in judgement is impossible: its values are within 0..1",
    ),
    "a plan for no metric": (2, "plan --metric wit --difference 0.1 --lake {lake}", "win_rate"),
    "diff of no lake": (2, "diff --lake {lake}", "--as-of"),
    "diff of three states": (2, "diff {lake} {lake} --as-of 1", "--as-of"),
    "diff of no such ingest": (1, "diff {lake} --as-of 99", "no ingest 99"),
    "games without release": (2, "metrics --num-of-game 20 --lake {lake}", "release"),
    "no games": (2, "metrics --num-of-game 0 --edition release --lake {lake}", "--num-of-game"),
    "release by role": (
        2,
        "metrics --edition release --by role --lake {lake}",
        "model",
    ),
    "magic-json of all models": (2, "metrics --format magic-json --edition release", "--model"),
    "magic-json of the paper": (2, "metrics --format magic-json --model m", "release"),
    "magic-json of nobody": (
        2,
        "metrics --format magic-json --edition release --model nobody --lake {lake}",
        "nobody",
    ),
    "bad SQL": (1, "sql 'SELEC 1' --lake {lake}", "SELEC"),
    "no such column": (1, "sql 'SELECT weather FROM games' --lake {lake}", "weather"),
    "no such table": (1, "sql 'FROM weather' --lake {lake}", "weather"),
    "writing SQL": (1, "sql 'DELETE FROM games' --lake {lake}", "a query can only read"),
    "copying SQL": (
        1,
        "sql \"COPY (SELECT 1) TO '{tmp}/x.csv'\" --lake {lake}",
        "`COPY` is not allowed: write only the SELECT, and name the file, as in `magic sql --lake",
    ),
    "two statements": (1, "sql 'SELECT 1; DROP VIEW games' --lake {lake}", "one statement"),
    "no query": (2, "sql '  ' --lake {lake}", "the query is empty"),
    "query and file": (2, "sql 'SELECT 1' -f {tmp}/file --lake {lake}", "not both"),
    "no such file": (1, "sql -f {tmp}/nothing.sql --lake {lake}", "nothing.sql"),
    "no SQL in the file": (2, "sql -f {tmp}/binary --lake {lake}", "UTF-8"),
    "simulate nowhere": (2, "simulate", "--out"),
    "simulate onto something": (2, "simulate --out {logs}", "empty"),
    "simulate an odd archive": (2, "simulate --out {tmp}/new --archive rar", "rar"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(
    magic: Magic, mistake: str, logs: Path, lake: Path, tmp_path: Path
) -> None:
    code, command, fragment = MISTAKES[mistake]
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("SELECT 2")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    if "{tmp}/other" in command:
        with_other_contract(lake, tmp_path / "other")
    result = magic(*shlex.split(command.format(tmp=tmp_path, logs=logs, lake=lake)))
    assert one_line(result.err), result.err
    assert not UNSAFE.search(result.err)
    assert fragment in result.err
    assert (result.code, result.out) == (code, b"")
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "x.csv").exists()


def with_other_contract(lake: Path, place: Path) -> None:
    """A copy of the lake that says it was written to another contract."""
    shutil.copytree(lake, place)
    log = place / "ingests" / "_delta_log" / f"{0:020}.json"
    ours = re.compile(r'(magic\.contractVersion\\?": ?\\?")\d+')
    result, n_changed = ours.subn(r"\g<1>999", log.read_text())
    assert n_changed
    log.write_text(result)


# --- hostile text -------------------------------------------------------------------------------


@pytest.mark.slow
def test_json_and_parquet_keep_text_as_it_is(magic: Magic, lake: Path) -> None:
    query = ("sql", "SELECT DISTINCT model FROM votes WHERE model LIKE '%evil%'", "--lake", lake)
    assert magic(*query, "--format", "json").records == [{"model": EVIL}]
    parquet = pl.read_parquet(io.BytesIO(magic(*query, "--format", "parquet").out))
    assert parquet["model"].to_list() == [EVIL]
    assert EVIL in magic(*query, "--format", "csv").text


def test_only_the_heading_of_a_table_is_bold(
    magic: Magic, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "is_stdout_terminal", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    table = magic("sql", "SELECT seat, player FROM votes LIMIT 1", "--lake", lake).text
    assert table.startswith("\x1b[1mseat")
    assert table.count("\x1b[1m") == 1
    # A row that is too wide is shown as a block of lines, which has no heading.
    assert "\x1b[1m" not in magic("sql", "FROM votes LIMIT 1", "--lake", lake).text


def test_csv_is_made_safe_for_a_terminal(
    magic: Magic, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "is_stdout_terminal", lambda: True)
    result = magic("sql", "SELECT DISTINCT model FROM votes", "--lake", lake, "--format", "csv")
    assert not UNSAFE.search(result.text)


# --- interruptions ------------------------------------------------------------------------------


def raising(error: BaseException | type[BaseException]) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


interrupted = raising(KeyboardInterrupt)


def test_an_interrupted_ingest_is_one_line(
    magic: Magic, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.ingest.ingest", interrupted)
    result = magic("ingest", logs, "--lake", tmp_path / "lake")
    line = "magic: interrupted: the lake is intact; run the same command again\n"
    assert result == (130, b"", line)


@pytest.mark.parametrize(
    "where",
    ["pipeline.reports.ranking.compute_metrics", "click.Group.make_context"],
    ids=["in the command", "before it begins"],
)
def test_any_interrupted_command_is_one_line(
    where: str, magic: Magic, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, interrupted)
    assert magic("leaderboard", "--lake", lake) == (130, b"", "magic: interrupted\n")


def test_what_the_command_imports_first_is_little() -> None:
    """A Ctrl-C in the meantime has a traceback."""
    program = (
        "import os, sys; before = {*sys.modules}; import pipeline.cli; "
        "print({*sys.modules} - before)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, check=True)
    own = ("pipeline", "pipeline.version", "pipeline.cli", "pipeline.cli.exit_codes")
    assert ast.literal_eval(done.stdout.decode()) == {*own}


@pytest.mark.parametrize("command", ["verify", "metrics --engine duckdb"])
def test_a_ctrl_c_while_duckdb_reads_a_file_is_an_interruption(
    command: str, magic: Magic, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB makes an error without a word of it, and it was called damage."""
    read = LakeFiles.open

    def interrupted_open(files: LakeFiles, path: str, mode: str = "rb", **options: object) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return read(files, path, mode, **options)

    monkeypatch.setattr(LakeFiles, "open", interrupted_open)
    # A shell ignores SIGINT for what it starts in the background, such as these tests.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        result = magic(*command.split(), "--lake", lake)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (result.code, result.err) == (130, "magic: interrupted\n")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        # Without a text there is no empty line.
        (LakeError, r"\S"),
        (TimeoutError, r"\S"),
        # Upkeep may delete a file meanwhile, which is no damage.
        (
            FileNotFoundError("No such file: ...x.parquet (set POLARS_VERBOSE=1 to see it all)"),
            "deleted while it was being read",
        ),
    ],
)
def test_an_error_is_one_line(
    error: Exception, said: str, magic: Magic, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.reports.ranking.compute_metrics", raising(error))
    result = magic("leaderboard", "--lake", lake)
    assert result.code == 1
    assert one_line(result.err)
    assert re.search(said, result.err.removeprefix("magic:"))
    assert "POLARS" not in result.err


def test_a_defect_of_ours_keeps_its_traceback(
    magic: Magic, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.reports.ranking.compute_metrics", raising(ZeroDivisionError))
    with pytest.raises(ZeroDivisionError):
        magic("leaderboard", "--lake", lake)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "parquet"])
def test_a_reader_who_leaves_is_no_error(lake: Path, form: str) -> None:
    command = [*PROGRAM, "sql", "FROM range(200000)", "--lake", str(lake), "--format", form]
    with subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.read(3)
        run.stdout.close()
        assert (run.stderr.read(), run.wait()) == (b"", 0)


@pytest.mark.slow
def test_progress_is_for_terminals_only(magic: Magic, logs: Path, tmp_path: Path) -> None:
    quiet = magic("ingest", logs, "--lake", tmp_path / "quiet")
    assert re.fullmatch(r"(2 ignored: [^\n]+\n){2}", quiet.err)
    ours, theirs = pty.openpty()
    seen = subprocess.run(
        [*PROGRAM, "ingest", str(logs), "--lake", str(tmp_path / "seen")],
        cwd=TOP,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=True,
    )
    os.close(theirs)
    drawn = os.read(ours, 65536).decode()
    os.close(ours)
    assert seen.stdout == quiet.out
    assert f"{count_files_and_bytes(logs)[0]} documents" in drawn


@pytest.mark.slow
def test_the_leaderboard_says_why_a_value_is_above_1(magic: Magic, sample_lake: Path) -> None:
    shown = magic("leaderboard", "--lake", sample_lake)
    assert b" 1.250 " in shown.out
    ranges = "values above 1: Deception has a range of 0 to 1.25, Rationality has a range of 0 to 2"
    assert ranges in shown.err
    judged = magic("leaderboard", "--metric", "judgement", "--lake", sample_lake)
    assert "range of 0 to" not in judged.err
