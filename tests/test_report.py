"""The report: every value in it is the API's, every link leads somewhere, and nothing runs."""

import base64
import hashlib
import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from accessibility import grave
from markdowns import rendered
from msgspec.structs import replace
from polars.testing import assert_frame_equal
from test_latex import HOSTILE
from test_plots import EVIL

import pipeline
from pipeline.api import Lake
from pipeline.cli import main
from pipeline.errors import UsageError
from pipeline.ingest import ingest
from pipeline.metrics import NAMES
from pipeline.metrics.estimates import SMALL_SAMPLE_NOTE
from pipeline.metrics.registry import ORIGIN_COLUMNS
from pipeline.pages.report import MAX_TEXT_CHARACTERS, Report, compute_report, iter_report_html
from pipeline.simulate import simulate
from pipeline.text_format import UNSAFE_CHARACTERS, escape_unprintable

VOID = {"meta", "br", "hr", "img", "input", "link", "line", "circle", "path", "rect", "wbr"}
WORDS = (EVIL, *HOSTILE, "<script>alert(1)</script>", "{{ 7 * 7 }} {% raw %}", "w" * 50_000)


class Page(HTMLParser):
    """A page as a tree of elements: each has its tag, attributes, text and children."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root: dict[str, Any] = {"tag": "", "at": {}, "in": [], "text": ""}
        self.open = [self.root]
        self.all: list[dict[str, Any]] = []
        self.faults: list[str] = []
        self.feed(text)
        self.close()
        self.faults += [f"{one['tag']} is not closed" for one in self.open[1:]]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        twice = [name for name, n in Counter(name for name, _ in attrs).items() if n > 1]
        self.faults += [f"{tag} has {name} twice" for name in twice]
        made = {"tag": tag, "at": dict(attrs), "in": [], "text": ""}
        self.open[-1]["in"].append(made)
        self.all.append(made)
        if tag not in VOID:
            self.open.append(made)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if self.open[-1]["tag"] != tag:
            self.faults.append(f"{tag} ends within {self.open[-1]['tag']}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1]["text"] += data

    def find(self, tag: str, within: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        for one in (within or self.root)["in"]:
            if one["tag"] == tag:
                yield one
            yield from self.find(tag, one) if one["in"] else ()

    def section(self, name: str) -> dict[str, Any]:
        return next(one for one in self.all if one["at"].get("id") == name)


def shown(element: dict[str, Any]) -> str:
    """All text of an element and of those in it."""
    return element["text"] + "".join(map(shown, element["in"]))


def numbers(cell: dict[str, Any]) -> list[float]:
    """The numbers that a cell has for programs; none for a dash."""
    return [float(one["at"]["value"]) for one in Page("").find("data", cell)]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Games of three models with names and words of an enemy; one lacks some games."""
    top = tmp_path_factory.mktemp("report")
    simulated = simulate(top / "logs", models=3, games=2, seed=8)
    evil = json.dumps(EVIL)[1:-1]
    for place, log in enumerate(sorted(simulated.results.rglob("*.json"))):
        text = log.read_text().replace(simulated.models[0], evil)
        word = json.dumps(WORDS[place % len(WORDS)])[1:-1]
        log.write_text(text.replace("I ", f"{word} ", 1))
        if simulated.models[1] in text and "/chameleon/" in str(log) and place % 3 == 0:
            log.unlink()
    (simulated.results / "broken.json").write_text('{"history": [')
    ingest(simulated.results, top / "lake")
    return pipeline.open_lake(top / "lake")


@pytest.fixture(scope="module")
def content(lake: Lake) -> Report:
    return compute_report(lake, title="A <b>title</b>", games_per_cell=2)


@pytest.fixture(scope="module")
def text(content: Report) -> str:
    return "".join(iter_report_html(content))


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


@pytest.mark.slow
def test_the_file_is_well_formed_and_its_links_lead_somewhere(page: Page, text: str) -> None:
    assert page.faults == []
    assert text.startswith("<!doctype html>")
    ids = Counter(one["at"]["id"] for one in page.all if "id" in one["at"])
    assert [name for name, n in ids.items() if n > 1] == []
    targets = [one["at"].get("href", "") for one in page.find("a")]
    assert {target for target in targets if not target.startswith("#")} == set()
    assert {target[1:] for target in targets} <= set(ids)
    used = {name for one in page.all for name in one["at"].get("aria-labelledby", "").split()}
    assert used <= set(ids)
    for said in ("do not rank models by area", "Self-Awareness", "<svg"):  # of the radar
        assert said in text


@pytest.mark.slow
def test_nothing_runs_and_nothing_is_fetched(page: Page, text: str) -> None:
    tags = {one["tag"] for one in page.all}
    assert not tags & {"script", "iframe", "object", "embed", "img", "form", "link", "base", "b1"}
    attributes = {name for one in page.all for name in one["at"]}
    assert not {name for name in attributes if name.startswith("on") or name in ("style", "src")}
    policy = next(one for one in page.find("meta") if one["at"].get("http-equiv"))["at"]["content"]
    (style,) = page.find("style")
    digest = base64.b64encode(hashlib.sha256(style["text"].encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"url\(|@import", style["text"])
    fetched = {one["at"].get("xlink:href", "#") for one in page.all}
    assert [target for target in fetched if not target.startswith("#")] == []
    assert set(UNSAFE_CHARACTERS.findall(text)) <= {"\n"}


@pytest.mark.slow
def test_hostile_texts_are_shown_as_they_are(page: Page, content: Report) -> None:
    names = [shown(cell) for cell in page.find("th", page.section("leaderboard"))]
    assert any(name.startswith('<img src=x onerror="alert(1)">') for name in names)
    assert shown(next(page.find("h1"))) == "A <b>title</b>"
    said = {shown(one)[:MAX_TEXT_CHARACTERS] for one in page.find("p", page.section("games"))}
    messages = [text for one in content.games for text in one.tables["messages"]["content"]]
    spoken = {text[:MAX_TEXT_CHARACTERS] for text in messages if text.isprintable()}
    assert spoken
    assert spoken <= said


@pytest.mark.slow
def test_the_leaderboard_is_that_of_the_api(page: Page, lake: Lake) -> None:
    board = lake.leaderboard()
    _, *rows = page.find("tr", page.section("leaderboard"))
    for row, expected in zip(rows, board.iter_rows(named=True), strict=True):
        cells = row["in"]
        assert shown(cells[0]) == str(expected["rank"] or "–")
        assert shown(cells[3]) == str(expected["n_games"])
        assert shown(cells[1]).endswith("*") is not expected["is_complete"]
        for cell, name in zip(cells[-len(NAMES) :], NAMES, strict=True):
            ends = [expected[name], expected[f"{name}_low"], expected[f"{name}_high"]]
            ends += [expected[f"{name}_undecided"] or None]
            wanted = [] if expected[name] is None else [e for e in ends if e is not None]
            assert numbers(cell) == wanted
    assert SMALL_SAMPLE_NOTE in shown(page.section("leaderboard"))
    assert lake.cite().sentence in shown(page.section("top"))
    assert lake.cite().bibtex.strip() in shown(page.section("cite"))


@pytest.mark.slow
def test_every_value_and_count_of_a_model_is_that_of_the_api(page: Page, lake: Lake) -> None:
    models = lake.leaderboard()["model"].to_list()
    rows = {
        (model, row["at"].get("data-metric")): row
        for at, model in enumerate(models, start=1)
        for row in page.find("tr", page.section(f"model-{at}"))
    }
    for expected in lake.metrics(by=["model"]).iter_rows(named=True):
        name, estimate, hits, counted, games, *_ = rows[expected["model"], expected["metric"]]["in"]
        assert shown(name) == expected["metric"]
        ends = [expected[one] for one in ("value", "ci_low", "ci_high")]
        assert numbers(estimate)[:3] == [one for one in ends if one is not None]
        assert numbers(hits) == [one for one in [expected["hits"]] if one is not None]
        assert shown(counted) == str("–" if expected["counted"] is None else expected["counted"])
        assert shown(games) == str(expected["n_games"])


@pytest.mark.slow
def test_comparisons_are_those_of_the_api_from_both_sides(page: Page, lake: Lake) -> None:
    rows = lake.compare()
    models = lake.leaderboard()["model"].to_list()
    found = {}
    tables = page.find("table", page.section("comparison"))
    for name, table in zip(rows["metric"].unique(maintain_order=True), tables, strict=True):
        _, *lines = page.find("tr", table)
        for one, line in zip(models, lines, strict=True):
            for other, cell in zip(models, line["in"][1:], strict=True):
                found[name, one, other] = numbers(cell)[:1]
    for row in rows.iter_rows(named=True):
        name, one, other = row["metric"], row["model"], row["other"]
        difference = [row["difference"]] if row["difference"] is not None else []
        assert found[name, one, other] == difference
        assert found[name, other, one] == [-one for one in difference]


def frame_of(page: Page, table: dict[str, Any]) -> list[list[object]]:
    """The cells: numbers as they are for programs, of a range both, and others as texts."""
    _, *rows = page.find("tr", table)
    return [[part for cell in row["in"] for part in numbers(cell) or [shown(cell)]] for row in rows]


def cells_of(frame: pl.DataFrame) -> list[list[object]]:
    return [
        [
            one
            if isinstance(one, int | float) and not isinstance(one, bool)
            else "–"
            if one is None
            else ("yes" if one else "no")
            if isinstance(one, bool)
            else escape_unprintable(str(one))
            for one in row
        ]
        for row in frame.rows()
    ]


@pytest.mark.slow
def test_completeness_audit_and_documents_are_those_of_the_api(page: Page, lake: Lake) -> None:
    games, texts = page.find("table", page.section("completeness"))
    completeness = lake.completeness().drop("game_type", "n_missing", "system")
    assert frame_of(page, games) == cells_of(completeness)
    readability = lake.readability().drop(ORIGIN_COLUMNS)
    read = cells_of(readability.filter(pl.col("value").is_not_null()))
    assert [row for row in frame_of(page, texts) if row[2] != "–"] == read
    (audit,) = page.find("table", page.section("audit"))
    assert frame_of(page, audit) == cells_of(lake.audit().drop("title", "effect", "system"))
    documents, logs = page.find("table", page.section("logs"))
    counts = lake.document_counts().select("status", "reason", "n_documents")
    assert frame_of(page, documents) == cells_of(counts)
    formats = lake.table("games").collect().group_by("format", "format_version").len()
    n_of_format = [(*row[:2], int(row[2])) for row in frame_of(page, logs)]
    assert sorted(n_of_format) == sorted(formats.rows())


@pytest.mark.slow
def test_a_value_leads_to_its_rows_and_these_to_the_messages(
    page: Page, content: Report, lake: Lake
) -> None:
    """The sample is bounded, and has all rows of its games that the metric counted."""
    n_links = 0
    for (model, name), cell in content.cells.items():
        assert bool(cell.value["n_games"]) <= cell.n_games <= 2
        everything = lake.evidence(name, model=[model]).drop(
            "metric", "is_counted", *ORIGIN_COLUMNS
        )
        games = pl.col("game_id").is_in(cell.evidence["game_id"].unique().implode())
        own = cell.evidence.select(everything.columns).sort(pl.all(), nulls_last=True)
        assert_frame_equal(own, everything.filter(games).sort(pl.all(), nulls_last=True))
        for game_id, index in own.select("game_id", "message_index").iter_rows():
            target = f"g{content.game_numbers[game_id]}" + ("" if index is None else f"-m{index}")
            element = page.section(target)
            if index is not None:
                spoken = lake.table("messages").filter(game_id=game_id, message_index=index)
                said = escape_unprintable(spoken.collect()["content"].item())
                assert said[:MAX_TEXT_CHARACTERS] in shown(element)
                assert name in shown(element)
            n_links += 1
    assert n_links > 20
    ids = [one.game["game_id"] for one in content.games]
    assert ids == sorted(ids)
    with pytest.raises(UsageError, match="0 to 20"):
        compute_report(lake, games_per_cell=21)


@pytest.mark.slow
def test_every_command_that_is_named_runs(
    lake: Lake, content: Report, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = [cell for cell in content.cells.values() if cell.value["n_games"]]
    for cell in (cells[0], cells[-1]):
        words = shlex.split(cell.evidence_command)
        assert main([*words[1:], "--lake", str(lake.path), "--format", "json"]) == 0
        assert len(json.loads(capsys.readouterr().out)) >= cell.evidence.height


def test_commands_count_as_the_report_does(content: Report) -> None:
    citation = replace(
        content.citation, edition="audited", system="a b", joined_names="a as b", failures="loss"
    )
    report = replace(content, citation=citation)
    options = " --edition audited --names FILE --failures loss"
    assert report.command_options() == f"{options} --system 'a b'"
    assert report.command_options("system") == options
    assert content.command_options() == content.names_note == ""


@pytest.mark.slow
def test_commands_of_a_report_with_view_options_run(
    lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One of each command, with the file of names under the name that the report gives it."""
    (tmp_path / "FILE").write_text('[models]\n"gpt-4" = "merged"\n', encoding="utf-8")
    of_options = lake.with_names(tmp_path / "FILE").with_failures("loss")
    report = compute_report(of_options, games_per_cell=1)
    text = unescape("".join(iter_report_html(report)))
    assert "FILE is the file of --names" in text
    commands = re.findall(r"<code>(magic (?:evidence|show|audit)[^<]*)</code>", text)
    first = {one.split()[1]: one for one in reversed(commands)}
    with chdir(tmp_path):
        for command in first.values():
            words = shlex.split(command.replace("GAME", report.games[0].game["game_id"]))
            words = [word.replace("KIND", "scores") for word in words[1:]]
            assert main([*words, "--lake", str(lake.path)]) == 0, command
    assert {*first} == {"evidence", "show", "audit"}
    assert "merged" in capsys.readouterr().out


@pytest.mark.slow
def test_an_edition_has_its_report(lake: Lake) -> None:
    """Its values are those of the edition, and its commands name it."""
    found = compute_report(lake, edition="release", games_per_cell=3)
    text = "".join(iter_report_html(found))
    assert found.citation.sentence.split(",")[0] in text
    assert Page(text).faults == []
    for (model, name), cell in found.cells.items():
        rows = lake.metrics(metric=name, edition="release", by=["model"]).filter(model=model)
        assert cell.value["value"] == rows["value"].item()
    commands = re.findall(r"<code>(magic (?:show|evidence)[^<]*)</code>", text)
    assert commands
    assert [one for one in commands if "--edition release" not in one] == []


# --- in a browser -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("theme", "width", "has_scripts"), [("light", 1400, True), ("dark", 375, False)]
)
def test_it_opens_from_disk_and_every_click_leads_on(
    text: str, browser: Any, tmp_path: Path, theme: str, width: int, *, has_scripts: bool
) -> None:
    """No request, no complaint, nothing inaccessible; also dark, narrow and without scripts."""
    file = tmp_path / "report.html"
    file.write_text(text)
    said: list[str] = []
    asked: list[str] = []
    window = {"width": width, "height": 800}
    context = browser.new_context(
        color_scheme=theme, viewport=window, java_script_enabled=has_scripts
    )
    tab = context.new_page()
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("dialog", lambda dialog: said.append(dialog.message))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(file.as_uri())
    if has_scripts:
        assert grave(tab) == []
        displays = "[...document.querySelectorAll('table')].map(t => getComputedStyle(t).display)"
        assert {*tab.evaluate(displays)} == {"table"}  # headings stand above their cells
    else:  # a row is a card, with nothing to the right of it
        for place in ("main", "#leaderboard .cards"):
            assert tab.locator(place).bounding_box()["width"] <= width, place
    assert tab.locator("#leaderboard td.aside").first.is_visible()
    tab.locator("#leaderboard td a").first.click()
    evidence = tab.locator("details:target")
    evidence.locator("summary").click()
    evidence.locator("a").first.click()
    assert re.search(r"#g\d+(-m\d+)?$", tab.url)
    assert tab.locator(":target").is_visible()
    context.close()
    assert said == []
    assert set(asked) == {file.as_uri()}


# --- the command, markdown and LaTeX ------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "begins"),
    [
        (["-o", "report.htm"], "<!doctype html>"),  # a file's ending names the format
        (["--format", "latex"], "\\section"),
    ],
)
@pytest.mark.slow
def test_a_lake_without_a_game_has_a_report(
    options: list[str], begins: str, lake_without_games: Path, tmp_path: Path
) -> None:
    with chdir(tmp_path):
        assert main(["report", "--lake", str(lake_without_games), *options]) == 0
    (file,) = tmp_path.glob("report.*")
    assert file.suffix == (".tex" if begins.startswith("\\") else ".htm")
    text = file.read_text()
    assert text.startswith(begins)
    assert file.suffix == ".tex" or not Page(text).faults
    assert "<figure>" not in text


def test_a_command_that_cannot_write_says_so(
    lake_without_games: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["report", "--lake", str(lake_without_games)]
    assert main([*command, "--format", "latex", "--games-per-cell", "1"]) == 2
    assert main([*command, "-o", "nowhere/report.html"]) == 1
    capsys.readouterr()
    monkeypatch.setitem(sys.modules, "pipeline.pages.report", None)
    assert main(command) == 1
    told = capsys.readouterr().err
    assert "[view]" in told
    assert told.count("\n") == 1


def test_markdown_has_the_values_and_shows_texts_as_they_are(lake: Lake, capsys: Any) -> None:
    assert main(["report", "--lake", str(lake.path), "--format", "markdown", "-o", "-"]) == 0
    text = capsys.readouterr().out
    cells = rendered(text)
    board = lake.leaderboard()
    for row in board.iter_rows(named=True):
        assert any(f"{row['win_rate']:.3f} (" in cell for cell in cells)
    assert any(cell.startswith("&lt;img src=x") for cell in cells)
    assert "<img" not in text
    assert lake.cite().sentence in text
