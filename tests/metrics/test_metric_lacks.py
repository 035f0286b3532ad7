"""A value over fewer competitions than those beside it says so, whatever chose its rows."""

from pathlib import Path

import pytest

from pipeline.api import Lake, open_lake
from pipeline.metrics.evidence import format_sum_sentence

MODEL = "sim-atlas"
# One model without the hidden side, as where it had other seats at larger tables.
WHERE = f"model <> '{MODEL}' OR role IN ('civilian', 'non_chameleon', 'player')"
METRICS = ("win_rate", "judgement", "reasoning", "deception", "self_awareness")
LACKED = ["chameleon_as_chameleon", "undercover_as_undercover"]
NOTE = (
    "* the value covers fewer competitions than others beside it: "
    f"{MODEL} lacks {', '.join(LACKED)}"
)


@pytest.fixture(scope="module")
def lake(sample_lake: Path) -> Lake:
    return open_lake(sample_lake)


@pytest.mark.some(1)
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_value_says_which_competitions_it_lacks(lake: Lake, engine: str) -> None:
    """Judgement counts civilians alone, so it lacks nothing; Deception has no value to mark."""
    rows = lake.metrics(metric=METRICS, by="model", where=WHERE, engine=engine)
    missing_competitions = {
        (row["metric"], row["model"]): row["missing_competitions"]
        for row in rows.iter_rows(named=True)
    }
    assert missing_competitions.pop(("win_rate", MODEL)) == LACKED
    assert missing_competitions.pop(("reasoning", MODEL)) == LACKED
    assert missing_competitions.pop(("self_awareness", MODEL)) == LACKED
    assert missing_competitions.pop(("deception", MODEL)) is None
    others = {key: names for key, names in missing_competitions.items() if names is not None}
    assert {tuple(names) for names in others.values()} == {()}


def test_what_is_beside_a_value_is_of_its_group(lake: Lake) -> None:
    """Of one role or type of game all models may have all; without models nothing is beside it."""
    of_roles = lake.metrics(metric="win_rate", by=["model", "role"], where=WHERE)
    assert not any(of_roles["missing_competitions"].to_list())
    of_types = lake.metrics(metric="win_rate", where=WHERE).filter(model=MODEL)
    missing_competitions = dict(of_types.select("game_type", "missing_competitions").iter_rows())
    assert (
        missing_competitions["all"],
        missing_competitions["chameleon"],
        missing_competitions["public_good"],
    ) == (LACKED, LACKED[:1], [])
    alone = lake.metrics(metric="win_rate", by="model", game_type="undercover", where=WHERE)
    assert alone.filter(model=MODEL)["missing_competitions"].to_list() == [LACKED[1:]]
    assert (
        lake.metrics(by="role")["missing_competitions"].null_count()
        == lake.metrics(by="role").height
    )
    assert not any(lake.metrics()["missing_competitions"].drop_nulls().to_list())


def test_it_is_marked_in_every_form(lake: Lake) -> None:
    shown = lake.present("metrics", metric="win_rate", by="model", where=WHERE)
    assert NOTE in shown.notes
    (value,) = [one for one in shown.visible_fields if one.name == "value"]
    marks = dict(zip(shown.rows["model"], (cell.mark for cell in value.cells), strict=True))
    assert marks.pop(MODEL).endswith("*")
    assert not any(mark.endswith("*") for mark in marks.values())
    assert '"missing_competitions":["chameleon_as_chameleon"' in shown.json()
    assert "chameleon_as_chameleon" in shown.csv()
    whole = lake.evidence_sum("win_rate", model=MODEL, where=WHERE)
    assert f"missing competitions: {', '.join(LACKED)}" in format_sum_sentence("win_rate", whole)
    pages = (
        ("metric", {"metric": "win_rate"}),
        ("leaderboard", {}),
        ("evidence", {"metric": "win_rate", "model": MODEL}),
    )
    for name, asked in pages:
        said = f"issing competitions: {', '.join(LACKED)}"
        assert said in lake.page(name, **asked, where=WHERE).html, name
        assert "what other models have" not in lake.page(name, **asked).html


def test_the_sum_of_one_model_is_that_of_all(lake: Lake) -> None:
    """Others are counted only to tell what it lacks, and one that has no row keeps its reason."""
    for name in ("win_rate", "deception", "judgement"):
        (row,) = lake.metrics(metric=name, by="model").filter(model=MODEL).to_dicts()
        (*_, whole) = lake.evidence_sum(name, model=MODEL).to_dicts()
        assert {key: row[key] for key in whole if key in row} == {
            key: value for key, value in whole.items() if key in row
        }
    none = lake.evidence_sum("win_rate", model=MODEL, where=f"model <> '{MODEL}'")
    assert "no row meets the condition" in format_sum_sentence("win_rate", none)
