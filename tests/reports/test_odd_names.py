"""Names that stand for something else too, or for nothing, and games that nobody finished."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from dilemmas import dilemma, lake_of_documents

from pipeline.api import open_lake
from pipeline.cli import main
from pipeline.errors import MetricError, UsageError
from pipeline.metrics import judgement
from pipeline.metrics.registry import Metric, Rows, Term
from pipeline.text_format import printable_group_value
from pipeline.vocabulary import GameType


def game(number: int, scores: dict[str | None, int], prompt: str | None = None) -> dict[str, Any]:
    return dilemma(scores, setting={"prompt": prompt, "n": number}, game_index=number)


def test_an_empty_text_is_a_column_like_others(tmp_path: Path) -> None:
    prompts = ["", None, "v2", "", None, "v2"]
    games = (
        game(number, {"m": int(prompt is not None), "q": int(prompt is None)}, prompt)
        for number, prompt in enumerate(prompts)
    )
    lake = lake_of_documents(tmp_path / "logs", games)
    asked = {"columns": "setting.prompt", "metric": "win_rate"}
    rows = lake.leaderboard(**asked)
    assert rows.select("model", '""', "v2", "–").rows() == [("m", 1, 1, 0), ("q", 0, 0, 1)]
    page = lake.page("leaderboard", **asked)
    assert page.rows.select("model", '""').rows() == [("m", 1), ("q", 0)]
    text = lake.present("leaderboard", **asked).text(200)
    assert '""' in text and "low" not in text
    assert [printable_group_value(group) for group in ("", None, "v2")] == ['""', "–", "v2"]


@pytest.mark.slow
def test_a_model_without_a_name_is_on_the_page(tmp_path: Path) -> None:
    games = (game(number, {None: 1, "m": 0}) for number in range(3))
    lake = lake_of_documents(tmp_path / "logs", games)
    ranks = lake.leaderboard().select("rank", "model", "win_rate").rows()
    assert ranks == [(1, "m", 0.0), (None, None, 1.0)]
    page = lake.page("leaderboard")
    assert page.rows.select("rank", "model", "win_rate").rows() == ranks
    assert "win_rate: None" not in page.html
    assert "a nameless model" in " ".join(lake.present("radar").notes)
    assert lake.page("metric", metric="win_rate", where="game_index < 2").rows.height == 2


def test_signs_in_the_name_of_a_model(tmp_path: Path) -> None:
    """A system is after `@`, and a method after any sign: a name may have both in itself."""
    names = dict.fromkeys(["h:pgm", "h", "a@lab", "g"], 0)
    games = (game(n, names | {"h:pgm": 1}) for n in range(3))
    lake = lake_of_documents(tmp_path / "logs", games)
    found = lake.compare(("h:pgm", "a@lab"), metric="win_rate")
    assert found.select("other", "value", "other_value").rows() == [("a@lab", 1.0, 0.0)]
    with pytest.raises(UsageError, match="only `compare` takes a model of a system"):
        lake.plan(model=["a@lab", "b@lab"])
    found = lake.compare_with("pgm", metric="win_rate")
    assert found.select("model", "other", "difference").rows() == [("h:pgm", "h", 1.0)]


def test_a_name_that_either_lake_has_is_not_lacking(tmp_path: Path, capsys: Any) -> None:
    old = lake_of_documents(tmp_path / "old", (game(n, {"a": 0, "b": 1}) for n in range(3)))
    new = lake_of_documents(tmp_path / "new", (game(n, {"x/a": 0, "b": 1}) for n in range(3)))
    names = tmp_path / "names.toml"
    names.write_text('[models]\n"x/a" = "a"\n"x/c" = "c"\n')
    assert main(["diff", str(old.path), str(new.path), "--names", str(names)]) == 0
    said = capsys.readouterr().err
    assert 'no game has a model "x/c"' in said
    assert 'model "x/a"' not in said


LENGTH = Rows(
    "results",
    where=pl.col("is_tested"),
    term=pl.lit("letters"),
    what=pl.col("model"),
    hit=pl.col("model").cast(pl.String).str.len_chars() / 100,
)


def length(weight: float) -> Metric:
    terms = (Term("letters", (GameType.PRISONERS_DILEMMA,), weight=weight),)
    return Metric(terms=terms, rows=(LENGTH,), high=max(weight, 1))


@pytest.mark.slow
def test_what_is_no_share_is_not_in_percent(tmp_path: Path) -> None:
    lake = lake_of_documents(tmp_path / "logs", (game(n, {"abc": 0, "b": 1}) for n in range(3)))
    for weight, shown, note in ((100, "3.000", "their own unit"), (1, "3.0", "in percent")):
        mine = lake.with_metric(length(weight), name="letters_of_it")
        table = mine.present("leaderboard", metric="letters_of_it", percent=True)
        assert f" {shown} " in table.text(200)
        assert any(note in one for one in table.notes)


@pytest.mark.parametrize("name", ["system", "edition", "failures", "rank"])
def test_a_metric_is_not_called_as_a_column_of_results(sample_lake: Path, name: str) -> None:
    with pytest.raises(MetricError, match="cannot be the name"):
        open_lake(sample_lake).with_metric(judgement.PAPER, name=name)


def chameleon(number: int, failure: str | None, *, is_correct: bool) -> dict[str, Any]:
    """A game whose chameleon guesses; with a failure of another seat it does not end."""
    seats = [
        {"player": "A", "model": "k", "role": "chameleon"},
        {"player": "B", "model": "m", "role": "non_chameleon", "failure": failure},
        {"player": "C", "model": "m", "role": "non_chameleon"},
    ]
    guess = {"act": "guesses", "guess": "w" if is_correct else "v", "is_correct": is_correct}
    return dilemma(
        {},
        game_index=number,
        game_type="chameleon",
        setting={"code": "w", "n": number},
        seats=seats,
        is_finished=failure is None,
        events=[{"actor": "A", "round": 1, "acts": [guess]}],
        **({} if failure else {"end": {"outcome": "guessed_right"}}),
    )


@pytest.mark.some(1)
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_guess_of_a_game_that_was_failed_counts_for_nobody(tmp_path: Path, engine: str) -> None:
    games = [chameleon(0, None, is_correct=True)]
    games += [chameleon(n, "timeout", is_correct=False) for n in (1, 2)]
    lake = lake_of_documents(tmp_path / "logs", games)
    lost = lake.with_failures("loss")
    asked: dict[str, Any] = {"metric": "deception", "by": "model", "engine": engine}
    found = [
        one.metrics(**asked).filter(model="m")["terms"].explode().struct.unnest()
        for one in (lake, lost)
    ]
    guesses = [one.filter(term="wrong_guesses").select("hits", "counted").rows() for one in found]
    assert guesses == [[(0.0, 1)], [(0.0, 1)]]
    for ask in (lost.cite, lost.readability):
        with pytest.raises(UsageError, match="release"):
            ask(edition="release")
