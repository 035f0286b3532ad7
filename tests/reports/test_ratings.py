"""Ratings by side: the strength of simulated models is found, and nothing else moves them."""

from collections.abc import Sequence
from importlib.util import find_spec
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from event_tables import assert_same
from joined_logs import other_logs

import pipeline
from pipeline.cli import main
from pipeline.errors import PipelineError, UsageError
from pipeline.ingest import ingest
from pipeline.plugins import install_command
from pipeline.reports.ratings import RATING_COLUMNS
from pipeline.statistics import side_ratings as module
from pipeline.statistics.side_ratings import Fit, Floats, rate_sides

MODELS = [f"m{number}" for number in range(6)]
SETUP = 0.2
SCHEMA = {
    **dict.fromkeys(("game_id", "game_type", "setting_id", "side", "model"), pl.String),
    "is_tested": pl.Boolean,
    "hit": pl.Float64,
}
Strengths = dict[tuple[str, str], float]


def seats(games: Sequence[Any]) -> pl.DataFrame:
    """The seats of games: a setting, the hidden models, the others, who won, and maybe the kind.

    A model whose name begins with `-` is not under test.
    """
    rows = [
        (f"{number:05}", *(kind or ["undercover"]), setting, side, model, model[0] != "-", hit)
        for number, (setting, hidden, others, hit, *kind) in enumerate(games)
        for side, models in (("hidden", hidden), ("civilian", others))
        for model in models
    ]
    return pl.DataFrame(rows, SCHEMA, orient="row")


def strengths(dice: np.random.Generator, models: Sequence[str]) -> Strengths:
    return {(side, one): dice.normal(0, 0.7) for side in ("hidden", "civilian") for one in models}


def played(
    dice: np.random.Generator, true: Strengths, setting: str, hidden: list[str], others: list[str]
) -> tuple[str, list[str], list[str], float]:
    """A game that goes as the strengths have it."""
    of_hidden = np.mean([true["hidden", one] for one in hidden])
    of_others = np.mean([true["civilian", one] for one in others])
    chance = 1 / (1 + np.exp(-(SETUP + of_hidden - of_others)))
    return setting, hidden, others, float(dice.random() < chance)


def arena(dice: np.random.Generator, true: Strengths, n_settings: int, n_games: int) -> Any:
    """Models drawn for each seat: one hidden, two others."""
    return seats(
        [
            played(dice, true, f"s{s}", [*dice.choice(MODELS, 1)], [*dice.choice(MODELS, 2)])
            for s in range(n_settings)
            for _ in range(n_games)
        ]
    )


def truth(rows: pl.DataFrame, true: Strengths) -> pl.DataFrame:
    """The ratings that the strengths come to: what is estimated, in place of an estimate."""

    def known(matrix: Floats, along: Floats, *_: object) -> Fit:
        met = rows.filter([pl.col(one).n_unique().over("game_id") > 1 for one in ("side", "model")])
        nodes = met.select("side", "model").unique().sort("side", "model").rows()
        setups = [SETUP] * (matrix.shape[1] - len(nodes))
        coefficients = np.array([*(true[node] for node in nodes), *setups])
        return Fit(along @ coefficients, np.eye(len(along)), along)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "fit_logistic_regression", known)
        return rate_sides(rows, 0.95)


@pytest.mark.slow
def test_intervals_hold_what_is_true() -> None:
    """In at least .92 of cases, where no model won all or none of its games."""
    n_held = n_known = 0
    for seed in range(40):
        dice = np.random.default_rng(seed)
        true = strengths(dice, [*MODELS, "-opponent"])
        rows = arena(dice, true, 12, 20)
        found = rate_sides(rows, 0.95)
        if found["odds"].has_nulls():
            continue
        both = found.join(
            truth(rows, true).select("side", "model", true="odds"), on=["side", "model"]
        )
        n_held += both.filter(pl.col("true").is_between("ci_low", "ci_high")).height
        n_known += both.height
    assert n_known > 400
    assert n_held / n_known >= 0.92


def test_the_better_model_is_ranked_first() -> None:
    true = {
        (side, one): float(place)
        for side in ("hidden", "civilian")
        for place, one in enumerate(MODELS)
    }
    found = rate_sides(arena(np.random.default_rng(1), true, 120, 8), 0.95)
    for side in ("hidden", "civilian"):
        assert found.filter(side=side)["model"].to_list() == MODELS[::-1]
        assert found.filter(side=side)["rank"].to_list() == [1, 2, 3, 4, 5, 6]


def test_two_models_have_the_odds_of_their_games() -> None:
    """12 of 16 hidden wins of `a` against `-z`, two of them ties: 11 to 5."""
    games = [(f"s{n}", ["a"], ["-z"], 1.0) for n in range(10)]
    games += [(f"t{n}", ["a"], ["-z"], 0.0) for n in range(4)]
    games += [(f"u{n}", ["a"], ["-z"], 0.5) for n in range(2)]
    (row,) = rate_sides(seats(games), 0.95).rows(named=True)
    assert row["odds"] == pytest.approx(11 / 5)
    assert (row["n_games"], row["n_settings"], row["opponent"]) == (16, 16, "-z")
    # A game is a cluster: the squares of what each deviates by, over the information of all.
    error = sqrt(10 * 5**2 + 4 * 11**2 + 2 * 3**2) / 16 / (11 * 5 / 16)
    for end in (row["odds"] / row["ci_low"], row["ci_high"] / row["odds"]):
        assert 1.96 * error < log(end) < 1.3 * 1.96 * error


def close(one: pl.DataFrame, other: pl.DataFrame) -> None:
    pl.testing.assert_frame_equal(one, other, check_exact=False, rel_tol=1e-6)


def test_order_names_and_self_play_move_nothing() -> None:
    dice = np.random.default_rng(2)
    rows = arena(dice, strengths(dice, MODELS), 40, 4)
    found = rate_sides(rows, 0.95)
    close(rate_sides(rows.sample(fraction=1, shuffle=True, seed=3), 0.95), found)
    renamed = pl.col("model").replace({one: f"x{9 - n}" for n, one in enumerate(MODELS)})
    other = rate_sides(rows.with_columns(renamed), 0.95).sort("side", "rank")
    close(other, found.with_columns(renamed).sort("side", "rank"))
    alone = [(f"z{n}", ["m1"], ["m1", "m1"], 1.0) for n in range(9)]
    of_alone = seats(alone).with_columns(game_id=pl.lit("z") + pl.col("game_id"))
    close(rate_sides(pl.concat([rows, of_alone]), 0.95), found)


def test_pools_that_no_game_links_are_not_ranked_together() -> None:
    pairs = [("a", "b"), ("c", "d")]
    games = [
        (f"s{n}", [hidden], [other], float(n % 3 > at))
        for one, two in pairs
        for at, (hidden, other) in enumerate([(one, two), (two, one)])
        for n in range(6)
    ]
    found = rate_sides(seats(games), 0.95)
    assert found.filter(side="hidden").n_unique("pool") == 4
    assert set(found["rank"]) == {1}
    games += [(f"t{n}", ["a"], ["d"], float(n % 2)) for n in range(6)]
    assert rate_sides(seats(games), 0.95).filter(side="hidden").n_unique("pool") < 4


def mixed(hidden: str, other: str, *kind: str) -> list[Any]:
    """Eight games of a pair, of which the hidden side wins three."""
    return [(f"s{n}", [hidden], [other], float(n % 3 == 1), *kind) for n in range(8)]


def swept(hidden: str, other: str, hit: float, *kind: str) -> list[Any]:
    """Four games of a pair with one result."""
    return [(f"s{n}", [hidden], [other], hit, *kind) for n in range(4)]


PAIRS = [*mixed("a", "b"), *mixed("b", "a"), *mixed("c", "d"), *mixed("d", "c")]
ALL, NONE = "it won all of its games", "it won none of its games"
# Games that count, games that are separated, the reasons of models that have no others, and what
# is said to be left out.
SEPARATED: dict[str, tuple[list[Any], list[Any], set[str], set[str]]] = {
    "nothing but wins": ([], swept("a", "b", 1), {ALL, NONE}, set()),
    "wins and a draw": ([*swept("a", "b", 1), ("t", ["a"], ["b"], 0.5)], [], set(), set()),
    "a model that won all": (PAIRS, swept("won", "b", 1), {ALL}, {"4 of undercover"}),
    "a model that met only models that won all or none": (
        PAIRS,
        [*swept("won", "c2", 1), *swept("none", "c2", 0)],
        {ALL, NONE, module._REASON_SEPARATED},
        set(),
    ),
    "a kind always lost": (PAIRS, swept("a", "b", 0, "werewolf"), set(), {"4 of werewolf"}),
    "a kind won in its one game": (
        PAIRS,
        swept("a", "b", 1, "werewolf")[:1],
        set(),
        {"1 of werewolf"},
    ),
    "two kinds, of which one is always won and one always lost": (
        PAIRS,
        [*swept("a", "b", 0, "werewolf"), *swept("a", "b", 1, "chameleon")],
        set(),
        {"4 of chameleon, 4 of werewolf"},
    ),
    "a kind always won in one of two pools, where another is mixed": (
        [*mixed("a", "b"), *mixed("c", "d", "werewolf")],
        swept("c", "d", 1),
        set(),
        {"4 of undercover"},
    ),
    "a pool in two parts, of which one won all against the other": (
        PAIRS,
        [game for x in "ab" for y in "cd" for game in (*swept(x, y, 1), *swept(y, x, 0))],
        set(),
        {"8 of undercover"},
    ),
}


@pytest.mark.parametrize("case", SEPARATED)
def test_separated_games_are_left_out(case: str) -> None:
    """The odds are those of the other games."""
    counted, separated, reasons, texts = SEPARATED[case]
    found = rate_sides(seats([*counted, *separated]), 0.95)
    numbers = found.drop_nulls("odds").drop("n_games", "n_settings", "left_out", "least", "most")
    close(numbers, rate_sides(seats(counted), 0.95).select(numbers.columns))
    assert numbers.select(pl.all_horizontal(cs.float().is_finite()))["odds"].all()
    assert {*found["reason"].drop_nulls()} == reasons
    assert {*found["left_out"].drop_nulls()} == texts


MIXED = [(f"s{n}", ["a"], ["b"], float(n % 2)) for n in range(8)]
# Games, and the reason of each model.
NO_INTERVAL: dict[str, tuple[list[Any], dict[str, str | None]]] = {
    "as many games as strengths": (
        [("s0", ["a"], ["b"], 0.5), ("s1", ["b"], ["a"], 0.5)],
        dict.fromkeys("ab", module._REASON_FEW_GAMES),
    ),
    "one setting": (
        [("s", *game[1:]) for game in MIXED],
        dict.fromkeys("ab", module._REASON_FEW_GAMES),
    ),
    "one setting of a model": (
        [*MIXED, *(("s0", ["c"], ["b"], float(n % 2)) for n in range(4))],
        {"a": None, "b": None, "c": module._REASON_ONE_SETTING},
    ),
    "two settings that say the opposite": (
        [(f"s{n % 2}", ["a"], ["b"], float(n % 2 == (n > 1))) for n in range(20)],
        dict.fromkeys("ab", module._REASON_WIDE_INTERVAL),
    ),
    "draws alone": (swept("a", "b", 0.5), dict.fromkeys("ab", module._REASON_NO_VARIATION)),
    "a win and a loss in each setting": (
        [*swept("a", "b", 1), *swept("a", "b", 0)],
        dict.fromkeys("ab", module._REASON_NO_VARIATION),
    ),
}


TEAM = ["a", "b", "c"]
# Tested models that are on one side in every game, beside those that are in no such game.
TOGETHER: dict[str, list[Any]] = {
    "the same seats": [(f"s{n % 9}", ["-x"], TEAM, float(n % 3 == 1)) for n in range(27)],
    "one of them twice": [
        (f"s{n % 9}", ["-x"], [*TEAM, TEAM[n % 3]], float(n % 4 == 1)) for n in range(36)
    ],
    "two hidden": [(f"s{n % 9}", TEAM, ["-x"], float(n % 2)) for n in range(27)],
    "all on both sides": [(f"s{n % 9}", TEAM, TEAM, float(n % 3 == 1)) for n in range(27)],
}


@pytest.mark.parametrize("case", TOGETHER)
def test_models_that_always_sat_together_have_no_rank(case: str) -> None:
    found = rate_sides(seats([*TOGETHER[case], *mixed("-x", "d")]), 0.95)
    team = found.filter(pl.col("model").is_in(TEAM))
    assert {*team["reason"]} == {module._REASON_ALWAYS_TOGETHER}
    assert team.select("pool", "rank", "odds", "ci_low", "ci_high").null_count().row(0) == (
        *[team.height] * 5,
    )
    assert found.filter(model="d")["odds"].null_count() == 0


def test_an_opponent_beside_the_model_under_test_is_no_reason() -> None:
    """As in MAgIC, where each game has one model under test."""
    games = [(f"s{n}", ["-x"], ["a", "-y"], float(n % 3 == 1)) for n in range(9)]
    assert rate_sides(seats(games), 0.95)["odds"].to_list() == [pytest.approx(2.0)]


@pytest.mark.parametrize("case", NO_INTERVAL)
def test_without_an_interval_there_are_no_odds(case: str) -> None:
    games, reasons = NO_INTERVAL[case]
    found = rate_sides(seats(games), 0.95)
    assert dict(found.select("model", "reason").rows()) == reasons
    assert found["odds"].is_null().to_list() == found["reason"].is_not_null().to_list()


def test_a_fit_that_ends_nowhere_gives_no_odds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last guard: whatever a fit is, no odds are not finite."""
    for logit, error in ((np.nan, 1.0), (13.0, 1.0), (1.0, np.nan), (1.0, np.inf)):
        monkeypatch.setattr(
            Fit, "weighted_sum_and_standard_error", lambda *_, given=(logit, error): given
        )
        found = rate_sides(seats(MIXED), 0.95)
        assert {*found["reason"]} == {module._REASON_EXTREME}
        assert found["odds"].null_count() == found.height


def test_no_games() -> None:
    assert {*RATING_COLUMNS} <= {*rate_sides(seats([]), 0.95).columns}
    assert rate_sides(seats([("s", ["a"], ["a"], 1.0)]), 0.95).is_empty()


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("ratings")
    other_logs(top / "logs")
    ingest(top / "logs", top / "lake")
    return top / "lake"


def test_a_lake_a_command_and_a_page(lake: Path, capsys: Any) -> None:
    opened = pipeline.open_lake(lake)
    rows = opened.ratings()
    assert {*rows.columns} == {*RATING_COLUMNS, "system"}
    assert_same(opened.page("ratings").rows, rows)
    assert main(["ratings", "--lake", str(lake), "--game-type", "werewolf"]) == 0
    assert "only odds of one side" in capsys.readouterr().err
    with pytest.raises(UsageError, match="no game type chess"):
        opened.ratings(game_type="chess")


def test_only_games_of_the_type_count(sample_lake: Path) -> None:
    """The sample has 32 games of Chameleon and 32 of Undercover."""
    opened = pipeline.open_lake(sample_lake)
    parts = [
        opened.ratings(game_type=name)["n_games"].sum() for name in ("chameleon", "undercover")
    ]
    assert min(parts) > 0
    assert sum(parts) == opened.ratings()["n_games"].sum()


@pytest.mark.slow
def test_without_the_extra(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "pipeline.plugins.find_spec",
        lambda name: None if name == "statsmodels" else find_spec(name),
    )
    with pytest.raises(PipelineError) as error:
        pipeline.open_lake(lake).ratings()
    assert str(error.value) == f"a rating needs statsmodels: run `{install_command('ratings')}`"
