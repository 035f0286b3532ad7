"""A value of a model that lost games is marked wherever it stands: how many of how many."""

import polars as pl
import pytest
from dilemmas import against_a_bot, lake_of_documents

import pipeline
from pipeline.pages import page_definition as page_of, parse_page_parameters, render_page_fragment
from pipeline.pages.report import format_report
from pipeline.render import build_result_table

SAID = "3 of 6 games missing, by competition"
NOTE = "(nova: 3 of 6 games missing, by competition)"
SLICES = [{"where": "n_rounds = 1"}, {"game_type": "prisoners_dilemma"}]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> pipeline.Lake:
    """All models won every second of six games; nova has only those that it won."""
    games = (
        against_a_bot(
            model,
            is_won=replay == 0,
            setting={"number": setting},
            is_repeatable=True,
            events=[
                {"actor": "Uma", "round": 1, "acts": [{"act": "decisions", "choice": "defect"}]},
                {"text": f"replay {replay}"},
            ],
        )
        for model in ("nova", "orion", "vega")
        for setting in range(3)
        for replay in range(2)
        if model != "nova" or replay == 0
    )
    return lake_of_documents(tmp_path_factory.mktemp("lost") / "logs", games)


def test_values_and_slices_say_how_many_of_how_many(lake: pipeline.Lake) -> None:
    """The numbers are of all games: of a game that is not there nobody knows the rest."""
    asked = [{}, *SLICES]
    for rows in (
        *(lake.metrics(metric="win_rate", by="model", **one) for one in asked),
        lake.metrics(metric="win_rate", by=["model", "role"]),
        *(lake.leaderboard(metric="win_rate", **one) for one in asked),
    ):
        numbers = rows.sort("model").select("model", "is_complete", "n_missing", "n_expected")
        others = [(name, True, 0, 6) for name in ("orion", "vega")]
        assert numbers.rows() == [("nova", False, 3, 6), *others]
    assert lake.metrics(by="role")["n_missing"].count() == 0
    whole = lake.evidence_sum("win_rate", model="nova").row(-1, named=True)
    assert (whole["n_missing"], whole["n_expected"]) == (3, 6)


def test_values_are_marked_in_every_table(lake: pipeline.Lake) -> None:
    compared = lake.compare(("nova", "orion"), metric="win_rate")
    sides = compared.select("n_missing", "n_expected", "other_n_missing", "other_n_expected")
    assert sides.rows() == [(3, 6, 0, 6)]
    pairs = lake.compare(("orion", "nova"), metric="win_rate")
    for name, rows in (
        ("metrics", lake.metrics(metric="win_rate", by="model")),
        ("leaderboard", lake.leaderboard()),
        *(("leaderboard", lake.leaderboard(**one)) for one in SLICES),
        ("compare", compared),
        ("compare", pairs),
    ):
        shown = build_result_table(name, rows)
        assert sum(NOTE in note for note in shown.notes) == 1
        for text in (shown.text(), shown.markdown(), shown.latex(), shown.html()):
            assert text.count("*") - text.count("**") >= 2, text
    assert build_result_table("compare", compared).visible_fields[1].cell_texts == ["1.000 *"]
    complete = lake.metrics(metric="win_rate", by="model", model="orion")
    assert "*" not in build_result_table("metrics", complete).text()


@pytest.mark.some(3)
@pytest.mark.parametrize(
    ("page", "asked"),
    [
        ("leaderboard", {}),
        ("leaderboard", {"where": "n_rounds = 1"}),
        ("leaderboard", {"by": "role"}),
        ("metric", {"metric": "win_rate"}),
        ("model", {"model": "nova"}),
        ("compare", {"model": "nova", "other": "orion"}),
        ("evidence", {"metric": "win_rate", "model": "nova"}),
    ],
)
def test_pages_mark_it(lake: pipeline.Lake, page: str, asked: dict[str, str]) -> None:
    given = parse_page_parameters(page, asked)
    found = page_of(page).content(lake, given)
    text = str(render_page_fragment(page, found, given, lambda page, **_: f"#{page}"))
    assert "*</span>" in text or page == "evidence"
    assert (NOTE if page != "evidence" else "3 of 6 expected games are missing") in text


@pytest.mark.slow
def test_the_report_marks_it(lake: pipeline.Lake) -> None:
    of_nova = format_report(lake).split('<article id="model-')[1]
    assert "nova" in of_nova
    assert SAID in of_nova
    assert "*</span>" in of_nova


def test_a_value_of_other_games_each_says_the_most_that_is_missing() -> None:
    rows = pl.DataFrame(
        {"metric": ["a", "b", "c"], "model": "nova", "value": [0.5, 0.5, None]}
        | {"n_missing": [2, 3, 9], "n_expected": [4, 1000, 9]}
    )
    (note,) = build_result_table("metrics", rows).notes
    assert note.endswith("(nova: up to 3 of 1,000 games missing, by competition)")
