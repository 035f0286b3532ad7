"""docs/games.md: what an outcome counts is what a log of it is read as; its query runs."""

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from rawlogs import chameleon, cost_sharing, game_of, prisoners_dilemma, public_good, undercover

from pipeline.games import game_definition
from pipeline.lake import open_lake
from pipeline.vocabulary import GameType
from pipeline.warehouse import connect, run_query

TOP = Path(__file__).resolve().parent.parent
PAGE = (TOP / "docs" / "games.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("<!-- outcomes -->")[2].partition("<!-- end of outcomes -->")[0]
# Logs of each outcome; the last two games have one outcome, won or lost.
LOGS = {
    ("chameleon", "guessed_wrong"): [("chameleon", {"flag": 0})],
    ("chameleon", "guessed_right"): [("chameleon", {"flag": 1})],
    ("chameleon", "voted_wrong"): [("chameleon", {"flag": 2})],
    ("chameleon", "tie"): [("chameleon", {"flag": 3})],
    ("undercover", "caught"): [("undercover", {"flag": 0})],
    ("undercover", "voted_wrong"): [("undercover", {"flag": 1})],
    ("undercover", "tie"): [("undercover", {"flag": 2})],
    ("cost_sharing", "agreed"): [("cost_sharing", {"result": "agree"})],
    ("cost_sharing", "not_agreed"): [("cost_sharing", {"result": "fail"})],
    ("prisoners_dilemma", "completed"): [
        ("prisoners_dilemma", {"result": result}) for result in ("win", "lose")
    ],
    ("public_good", "completed"): [
        ("public_good", {"result": result}) for result in ("win", "lose")
    ],
}
BUILDERS = {
    "chameleon": chameleon,
    "undercover": undercover,
    "cost_sharing": cost_sharing,
    "prisoners_dilemma": prisoners_dilemma,
    "public_good": public_good,
}


def rows() -> Iterator[tuple[str, str, str, Fraction, bool]]:
    """Of the page's table game, outcome, role, win_credit and is_win."""
    game = outcome = ""
    for line in TABLE.strip().splitlines()[2:]:
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        game, outcome = cells[0] or game, cells[1] or outcome
        yield game, outcome, cells[3], Fraction(cells[4]), cells[5] == "yes"


@pytest.mark.parametrize(("game", "outcome"), LOGS)
def test_an_outcome_counts_what_the_page_says(game: str, outcome: str) -> None:
    said = [(role, credit, won) for g, o, role, credit, won in rows() if (g, o) == (game, outcome)]
    found = []
    for name, options in LOGS[game, outcome]:
        hidden = "Player 1"
        for tested in ("hidden", "civilian") if game in ("chameleon", "undercover") else ("",):
            roles = {"hidden": hidden, "tested": tested} if tested else {}
            log = BUILDERS[name](**options, **roles)
            (result,) = game_of(log).results
            assert game_of(log).outcome == outcome
            credit = Fraction(result.win_credit).limit_denominator(10)
            found.append((result.role, credit, result.is_win))
    assert found == said


def test_every_outcome_and_role_is_on_the_page() -> None:
    listed = {(game, role) for game, _, role, *_ in rows()}
    assert listed == {
        (name, role.name) for name in GameType for role in game_definition(name).roles
    }
    outcomes = {ending.outcome for name in GameType for ending in game_definition(name).endings}
    # Only CK-Arena's Undercover goes on until as many of both sides are left.
    assert {outcome for _, outcome, *_ in rows()} == outcomes - {"parity", "survived"}
    assert {(game, outcome) for game, outcome, *_ in rows()} == set(LOGS)


def query_of(column: str) -> str:
    """The query of the page that has this column."""
    queries = re.findall(r"```sql\n(.*?);\n```", PAGE, re.DOTALL)
    (select,) = (query for query in queries if column in query)
    return str(select)


def test_points_of_public_good_add_up_to_the_final_score(sample_lake: Path) -> None:
    """The query of the page; without its exception PGM games differ, and no others."""
    lake = open_lake(sample_lake)
    select = query_of("AS points")
    is_off = (pl.col("points") - pl.col("final_score")).abs() > 1e-9
    with connect(lake, {}, select) as connection:
        rows = run_query(connection, select)
        assert rows.height == lake.table("contributions").collect().n_unique(["game_id", "seat"])
        assert rows.filter(is_off | is_off.is_null()).is_empty()
        off = run_query(connection, select.replace("= 'pgm'", "= 'none'")).filter(is_off)
    games = lake.table("games").filter(game_type="public_good", format_version="pgm").collect()
    assert set(off["game_id"]) == set(games["game_id"]) != set()


def test_own_shares_are_those_of_the_own_party(sample_lake: Path) -> None:
    """The query of the page, beside a look at the logs: seat 1 is Airline A, and so on."""
    lake = open_lake(sample_lake)
    proposals = lake.table("proposals").collect()
    assert set(proposals.select("party", "party_seat").unique().iter_rows()) == {
        *(("A", 1), ("B", 2), ("C", 3))
    }
    select = query_of("own_share")
    with connect(lake, {}, select) as connection:
        found = dict(run_query(connection, select).iter_rows())
    own = {}
    for row in proposals.iter_rows(named=True):
        if row["is_tested"] and row["party"] == "ABC"[row["seat"] - 1] and row["share"] is not None:
            own.setdefault(row["model"], []).append(row["share"])
    assert found == pytest.approx({model: sum(s) / len(s) for model, s in own.items()})
