"""What docs/interchange.md shows works, and its script gives the numbers of its CSV file."""

import csv
import re
import subprocess
import sys
import tarfile
from ast import literal_eval
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
import zstandard
from rawlogs import games_of

from pipeline.formats import read_game
from pipeline.formats.interchange import EXAMPLE
from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import metrics

PAGE = (Path(__file__).parents[1] / "docs" / "interchange.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    found = re.search(rf"^```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


def test_the_game_on_the_page_is_read() -> None:
    assert block("json") == EXAMPLE
    game = read_game(block("json").encode())
    assert game is not None
    assert game.faults == []
    (frame,) = games_of([game])
    votes = {
        vote.player: (vote.target, vote.stated_target, vote.parse_status) for vote in frame.votes
    }
    assert votes == {"Ida": ("Wu", "Wu", "ok"), "Wu": ("Eve", None, "ok")}


@pytest.fixture(scope="module")
def table(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The CSV file of the real archive."""
    top = tmp_path_factory.mktemp("csv")
    archive = shared / "real" / "pd-cheap-talk.tar.zst"
    with (
        archive.open("rb") as packed,
        zstandard.ZstdDecompressor().stream_reader(packed) as plain,
        tarfile.open(fileobj=plain, mode="r|") as members,
    ):
        members.extractall(top, filter="data")
    (file,) = top.rglob("*.csv")
    return file


def rows_of(table: Path) -> list[dict[str, str]]:
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def games(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the page's script makes of it."""
    top = tmp_path_factory.mktemp("games")
    (top / "from_csv.py").write_text(block("python"), encoding="utf-8")
    command = [sys.executable, str(top / "from_csv.py"), str(table)]
    done = subprocess.run(command, capture_output=True, check=True)
    (top / "games.jsonl").write_bytes(done.stdout)
    return top / "games.jsonl"


@pytest.fixture(scope="module")
def lake(games: Path) -> StoredLake:
    ingest(games, games.parent / "lake", jobs=1)
    return open_lake(games.parent / "lake")


def test_the_tables_have_the_numbers_of_the_file(lake: StoredLake, table: Path) -> None:
    """Choices, points, texts and who won, counted with Python's own loops over the CSV."""
    rows = rows_of(table)
    choices: Counter[tuple[str, int]] = Counter()
    n_wins = n_texts = 0
    for row in rows:
        one, other = (literal_eval(row[f"agent_{n}_scores"]) for n in (1, 2))
        for n, points in ((1, one), (2, other)):
            choices.update(zip(literal_eval(row[f"agent_{n}_actions"]), points, strict=True))
            n_texts += len(literal_eval(row[f"agent_{n}_messages"]))
        n_wins += sum(one) != sum(other)
    counted = lake.table("decisions").group_by("choice", "payoff").len().collect()
    assert {(choice, payoff): n for choice, payoff, n in counted.iter_rows()} == choices
    assert lake.table("messages").collect().height == n_texts == 2660
    results = lake.table("results").collect()
    assert (results.height, results["is_win"].sum()) == (2 * len(rows), n_wins) == (380, n_wins)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_metrics_are_those_of_the_file(lake: StoredLake, table: Path, engine: str) -> None:
    rows = rows_of(table)
    actions = [x for row in rows for n in (1, 2) for x in literal_eval(row[f"agent_{n}_actions"])]
    n_defect = actions.count("defect")
    assert (n_defect, len(actions)) == (1797, 2660)
    found = metrics(lake, metric="rationality", engine=engine, by=["model", "game_type"])
    value = found.filter(pl.col("game_type") == "prisoners_dilemma")["value"].item()
    assert value == pytest.approx(n_defect / len(actions))
