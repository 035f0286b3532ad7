"""Comparisons, completeness, plans and differences, on lakes written by hand."""

from collections import Counter
from itertools import product
from random import Random

import polars as pl
import pytest
from event_tables import ENGINES, Frames, lake_of, results_of, table

from pipeline.column import polars_schema
from pipeline.errors import UsageError
from pipeline.metrics import metrics
from pipeline.metrics.registry import ORIGIN_COLUMNS
from pipeline.render import build_result_table
from pipeline.reports import ranking
from pipeline.reports.compare import compare
from pipeline.reports.compare.differences import SCHEMA
from pipeline.reports.completeness import completeness, readability
from pipeline.reports.games import missing
from pipeline.reports.plan import plan
from pipeline.reports.ranking import leaderboard
from pipeline.vocabulary import EDITIONS


def lake_with(rows):
    return Frames({"results": results_of(rows)})


# A wins nine settings that B loses, B one that A loses; ten are drawn between them.
APART = [("A", s, 0, float(s != 9)) for s in range(20)] + [
    ("B", s, 0, float(s >= 9)) for s in range(20)
]


def test_models_are_compared_on_their_settings():
    """9 settings against 1: mid-p = 2·(1 + 10)/2¹⁰ − 10/2¹⁰ = 12/1024."""
    (row,) = compare(lake_with(APART), ("A", "B"), metric="win_rate").to_dicts()
    assert row["value"] == pytest.approx(19 / 20)
    assert row["difference"] == pytest.approx(8 / 20)
    assert row["p_value"] == row["p_holm"] == pytest.approx(12 / 1024)
    assert row["ci_low"] > 0
    assert (row["method"], row["n_settings"], row["family"]) == ("paired by setting", 20, 1)


def test_replays_of_a_setting_are_added_up():
    """The same games twice over are no more evidence."""
    found = compare(lake_with(APART * 2), ("A", "B"), metric="win_rate")
    assert found["p_value"].item() == pytest.approx(12 / 1024)
    assert found["n_settings"].item() == 20


def test_what_is_not_on_common_settings_is_compared_unpaired():
    rows = [("A", s, 0, 1.0) for s in range(20)] + [("B", s, 0, 0.0) for s in range(15, 35)]
    (row,) = compare(lake_with(rows), ("A", "B"), metric="win_rate").to_dicts()
    assert row["method"] == "unpaired"
    assert row["share_paired"] == pytest.approx(1 / 4)
    assert row["p_value"] < 1e-6


def test_one_term_without_common_settings_is_enough_to_be_unpaired():
    """Alike in 40 games of one type; in 20 of the other, on other settings, one wins all."""
    alike = [(model, s, 0, float(s % 2)) for model in "AB" for s in range(40)]
    apart = [("A", s, 0, 1.0) for s in range(20)] + [("B", s, 0, 0.0) for s in range(50, 70)]
    played = [results_of(alike), results_of(apart, "prisoners_dilemma", first=1000)]
    lake = Frames({"results": pl.concat(played)})
    (row,) = compare(lake, ("A", "B"), metric="win_rate").to_dicts()
    assert (row["method"], row["share_paired"]) == ("unpaired", 0.0)
    assert row["difference"] == pytest.approx(1 / 2)
    assert row["p_value"] < 0.001
    assert row["ci_low"] > 0
    assert leaderboard(lake)["group_letters"].to_list() == ["a", "b"]


@pytest.mark.parametrize("rows", [[], [("A", 0, 0, 1.0)]], ids=["no model", "one model"])
def test_without_two_models_there_are_no_pairs(rows):
    found = compare(lake_with(rows))
    assert found.is_empty()
    assert found.schema == {**SCHEMA, **polars_schema(ORIGIN_COLUMNS)}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("A", "A")], "^A is named twice: specify two different models"),
        ([("A", "B"), ("A", "B")], "^specify each pair only once, in either order: A and B$"),
        (
            [("A", "B"), ("A", "C"), ("B", "A")],
            "^specify each pair only once, in either order: A and B$",
        ),
        ([("A", "Z")], "no game of Z"),
        (("A", "B"), r"""^a pair must be two models, such as \("gpt-4", "cohere"\), not 'A'$"""),
        (("AB", "CD"), "not 'AB'$"),
        ([[("A", "B")]], r"not \[\('A', 'B'\)\]$"),
        ([("A", "B", "C")], r"not \('A', 'B', 'C'\)$"),
    ],
)
def test_two_models_are_compared_once(pairs, message):
    with pytest.raises(UsageError, match=message):
        compare(lake_with(APART), *pairs)


@pytest.mark.parametrize(("most", "family"), [(3, 3), (2, None)])
def test_of_many_models_no_pairs_are_told_apart(monkeypatch, most, family):
    monkeypatch.setattr(ranking, "MAX_LETTERED_MODELS", most)
    rows = [(model, s, 0, float(s < 20)) for model in "ABC" for s in range(40)]
    ranked = leaderboard(lake_with(rows))
    assert ranked["rank"].to_list() == [1, 1, 1]
    assert ranked["family"].to_list() == [family] * 3
    assert ranked["group_letters"].is_null().all() == (family is None)
    said = any("no letters" in note for note in build_result_table("leaderboard", ranked).notes)
    assert said == (family is None)


def test_letters_are_of_the_games_that_the_release_edition_counts():
    """It needs three types of game; of the first twenty of each both models win all."""
    rows = [(model, s, s, float(s < n)) for model, n in (("A", 40), ("B", 20)) for s in range(40)]
    types = ("cost_sharing", "prisoners_dilemma", "public_good")
    played = [results_of(rows, of, first=100 * place) for place, of in enumerate(types)]
    lake = Frames({"results": pl.concat(played)})
    for num_of_game, letters in ((20, ["a", "a"]), (40, ["a", "b"])):
        found = leaderboard(lake, edition="release", num_of_game=num_of_game)
        assert found.sort("model")["group_letters"].to_list() == letters


MISSING = [("whole", s, 0, 0.0) for s in range(4)] + [
    ("lacking", 0, 0, 1.0),
    ("lacking", 1, 0, 1.0),
    ("lacking", 2, 0, None),
]


def replayed(**times: list[int]) -> Frames:
    """Models with so many finished games of each setting, every one of them won."""
    rows = [
        (model, setting, replay, 1.0)
        for model, of_settings in times.items()
        for setting, n in enumerate(of_settings)
        for replay in range(n)
    ]
    return Frames({"results": results_of(rows)})


def test_bounds_are_beside_the_model_that_finished_most():
    """5 of 5 won where another has 10 games: 5/10 to 10/10; the median is 5, so none is missing."""
    lake = replayed(a=[10], b=[5], c=[5])
    row = readability(lake, model="b").filter(metric="win_rate").row(0, named=True)
    assert (row["value_min"], row["value_max"], row["n_missing"]) == (0.5, 1.0, 0)
    assert row["is_complete"] is True


def test_the_number_of_expected_games_reaches_the_bounds():
    """3 of 3 won of 4: 3/4 to 1; what others have beyond the number plays no part."""
    rows = readability(replayed(a=[2, 1], b=[9, 9]), expected=4).filter(metric="win_rate")
    found = rows.select("model", "value_min", "value_max", "n_missing", "is_complete").rows()
    assert found == [("a", 0.75, 1.0, 1, False), ("b", 1.0, 1.0, 0, True)]
    with pytest.raises(UsageError, match=r"must be 1 (to|or more)"):
        readability(Frames({}), expected=0)


def test_a_game_of_two_tested_seats_is_one():
    """Two games of two seats are as many as two games of one seat."""
    text = [
        "game | seat | model | role | setting_id",
        *(f"{n} | 1 | a | player | {0:032x}" for n in (1, 2)),
    ]
    text += [f"{n} | {seat} | b | player | {0:032x}" for n in (3, 4) for seat in (1, 2)]
    lake = Frames({"results": table("results", "\n".join(text), game_type="public_good")})
    found = completeness(lake).select("model", "expected", "finished", "n_games").rows()
    assert found == [("a", 2, 2, 2), ("b", 2, 2, 2)]


def test_missing_settings_are_named_with_what_was_fixed_in_them():
    """The model lacks setting 3, and a game of setting 2 has no end: its path is named."""
    fixed = [f"{n} | f{s:031x} | {s * 1.5}" for n, s in enumerate([0, 1, 2, 3, 0, 1, 2], start=1)]
    games = table(
        "games",
        "game | setting_id | multiplier\n" + "\n".join(fixed),
        **{"game_type": "public_good", "sha256": "0" * 64, "content_id": "0" * 32},
        **{"format": "magic", "format_version": "plain", "source": "logs", "path": "7.json"},
        **{"n_players": 3, "n_rounds": 5, "n_messages": 0},
    )
    lake = Frames({"results": results_of(MISSING), "games": games})
    columns = ["model", "setting_id", "game_index", "n_unfinished", "paths", "multiplier"]
    assert missing(lake).select(columns).rows() == [
        ("lacking", f"f{2:031x}", 0, 1, ["7.json"], 3.0),
        ("lacking", f"f{3:031x}", 0, 0, [], 4.5),
    ]
    assert missing(lake, model="whole").is_empty()
    assert missing(lake, competition="cost_sharing").is_empty()
    of_one = missing(lake, competition=["public_good", "cost_sharing"])
    assert of_one.equals(missing(lake))
    assert missing(lake, competition=[]).is_empty()
    with pytest.raises(UsageError, match="no competition public_goods: did you mean"):
        missing(lake, competition="public_goods")
    counts = (
        completeness(lake).group_by("model").agg((pl.col("expected") - pl.col("finished")).sum())
    )
    assert dict(counts.iter_rows()) == {"whole": 0, "lacking": 2}


def test_models_are_asked_for_by_name():
    lake = lake_with(MISSING)
    for ask in (completeness, readability, missing):
        found = ask(lake, model="lacking")
        assert set(found["model"]) == {"lacking"}
        assert found.equals(ask(lake, model=["lacking"]))
        with pytest.raises(UsageError, match="no game of nobody"):
            ask(lake, model="nobody")


AS_CIVILIAN = {"game_type": "undercover", "role": "civilian"}
AS_UNDERCOVER = {"game_type": "undercover", "role": "undercover"}
AS_NEGOTIATOR = {"game_type": "cost_sharing"}


UNDECIDED = """
game | model | seat | role     | is_correct | parse_status
1    | none  | 1    | civilian | -          | ambiguous
1    | none  | 2    | civilian | -          | unreadable
2    | some  | 1    | civilian | yes        | ok
2    | some  | 2    | civilian | -          | ambiguous
2    | some  | 3    | civilian | no         | ambiguous
"""


@pytest.mark.parametrize("edition", EDITIONS)
def test_bounds_add_votes_that_nobody_registered_and_no_text_decides(edition):
    """None: 0 of 0 votes, two unknown: no value, at least 0 of 2 and at most 2 of 2. Some: 1 of 2,
    one unknown: 1/3 to 2/3. The published script has no value without a vote in Chameleon."""
    text = "game | model | role\n1 | none | civilian\n2 | some | civilian"
    of_type = {"game_type": "undercover", "setting_id": "f" * 32}
    tables = {
        name: table(name, rows, **of_type)
        for name, rows in (("votes", UNDECIDED), ("results", text))
    }
    found = readability(Frames(tables), edition=edition).filter(metric="judgement")
    columns = ("value", "value_min", "value_max", "counted", "n_unreadable", "n_unknown")
    bounds = {"none": (None, 0, 1), "some": (1 / 2, 1 / 3, 2 / 3)}
    if edition == "release":
        bounds = dict.fromkeys(bounds, (None, None, None))
    assert found.select("model", *columns).rows() == [
        ("none", *bounds["none"], 0, 2, 2),
        ("some", *bounds["some"], 2, 2, 1),
    ]


@pytest.mark.some(1)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_without_such_votes_is_marked(tmp_path, engine):
    """Of `some` one vote is not counted, of `none` two; an audited analysis that nobody can judge
    is unknown by its definition, and makes no mark."""
    text = "game | model | role\n1 | none | civilian\n2 | some | civilian"
    of_type = {"game_type": "undercover", "setting_id": "f" * 32}
    analyses = "game | model | role | is_correct_as_read\n2 | some | civilian | -\n"
    tables = {"votes": UNDECIDED, "results": text, "role_analyses": analyses}
    lake = lake_of(tmp_path, {name: table(name, rows, **of_type) for name, rows in tables.items()})
    whose = (
        "no text decides: 2 of judgement of none, 1 of judgement of some; `magic evidence METRIC"
    )
    rows = metrics(lake, engine=engine, metric=["judgement"])
    assert rows.select("model", "n_undecided").unique(maintain_order=True).rows() == [
        ("none", 2),
        ("some", 1),
    ]
    board = leaderboard(lake, engine=engine)
    assert board.select("model", "judgement_undecided").sort("model").rows() == [
        ("none", 2),
        ("some", 1),
    ]
    for shown in (build_result_table("metrics", rows), build_result_table("leaderboard", board)):
        assert sum(whose in note for note in shown.notes) == 1
        (cells,) = (one.cells for one in shown.visible_fields if one.name in ("value", "judgement"))
        assert {str(cell).endswith("*") for cell in cells if cell.text == "0.500"} == {True}
    audited = metrics(lake, engine=engine, edition="audited", metric=["reasoning"], by="model")
    assert audited.filter(model="some").select("n_unknown", "n_undecided").row(0) == (1, 0)


# By metric and edition: the table and column of its hits, what its rows have in common, and what
# another term adds to the value, of which nothing is unknown.
HITS = {
    ("win_rate", "paper"): ("results", "win_credit", {"game_type": "public_good"}, 0),
    ("judgement", "paper"): ("votes", "is_correct", AS_CIVILIAN, 0),
    ("reasoning", "audited"): ("role_analyses", "is_correct_as_read", AS_CIVILIAN, 0),
    ("self_awareness", "audited"): ("role_identifications", "is_correct_as_read", AS_CIVILIAN, 0),
    ("deception", "paper"): ("results", "is_win", AS_UNDERCOVER, 1 / 4),
    ("cooperation", "paper"): ("results", "agreed", AS_NEGOTIATOR, 0),
    ("coordination", "paper"): (
        "results",
        "proposed_agreement",
        {**AS_NEGOTIATOR, "agreed": True},
        0,
    ),
    ("rationality", "paper"): ("contributions", "is_least", {"game_type": "public_good"}, 1),
}


@pytest.mark.parametrize(("name", "edition"), HITS)
def test_bounds_are_the_least_and_the_most_of_all_that_could_be(name, edition):
    """Of 40 models with up to five rows: what is unknown, an outage or unreadable is taken for a
    miss and for a hit, in every combination."""
    rows_of, column, common, more = HITS[name, edition]
    dice = Random(name)
    models = {
        f"m{n}": [
            (
                dice.choice((1, 0, 0, None)),
                dice.choice(("ok", "ok", "ambiguous", "unreadable", "outage")),
            )
            for _ in range(dice.randrange(1, 6))
        ]
        for n in range(40)
    }
    is_number = column == "win_credit"
    cells = {None: "-", 1: "1" if is_number else "yes", 0: "0" if is_number else "no"}
    header, lines, sides = f"game | model | {column} | parse_status", [], []
    for model, rows in models.items():
        for hit, status in rows:
            game = 2 * len(lines) + 1
            lines.append(f"{game} | {model} | {cells[hit]} | {status}")
            sides.append(f"{game} | {model}")
    tables = {rows_of: alone(table(rows_of, "\n".join([header, *lines]), **common))}
    if rows_of != "results":
        tables["results"] = alone(table("results", "\n".join(["game | model", *sides]), **common))
    others = [f"{2 * n + 2} | {model}" for n, model in enumerate(models)]
    if name == "rationality":
        games = "\n".join(["game | model", *others])
        of_type = {"game_type": "prisoners_dilemma"}
        tables["decisions"] = alone(table("decisions", games, choice="defect", **of_type))
    if name == "deception":
        guessed = "\n".join(["game | model | guess_is_correct", *(f"{one} | no" for one in others)])
        of_type = {"game_type": "chameleon", "role": "non_chameleon"}
        tables["results"].extend(alone(table("results", guessed, **of_type)))
    found = readability(Frames(tables), edition=edition).filter(metric=name)
    assert found.height == len(models)
    for row in found.iter_rows(named=True):
        counted = [
            hit for hit, status in models[row["model"]] if hit is not None and status != "outage"
        ]
        possible = [
            (0, 1) if hit is None or status in ("outage", "unreadable") else (hit,)
            for hit, status in models[row["model"]]
        ]
        values = [more + sum(hits) / len(hits) for hits in product(*possible)]
        value = more + sum(counted) / len(counted) if counted else None
        assert row["value"] == (value if value is None else pytest.approx(value)), row
        bounds = (row["value_min"], row["value_max"])
        assert bounds == pytest.approx((min(values), max(values))), row
        statuses = Counter(status for _, status in models[row["model"]])
        assert row["n_unreadable"] == statuses.total() - statuses["ok"], row
        assert row["n_ambiguous"] == statuses["ambiguous"], row
        assert row["n_outages"] == statuses["outage"], row


def alone(rows):
    """Each game as a setting that nobody can repeat: no other model lacks it."""
    return rows.with_columns(setting_id="game_id")


# Each game is a setting of its own, but for the first two.
RELEASED = """
game | game_type         | role      | model | win_credit | agreed | is_finished
1    | undercover        | civilian  | m     | 1          | -      |
2    | undercover        | civilian  | other | 1          | -      |
3    | undercover        | civilian  | other | 0          | -      |
4    | chameleon         | chameleon | m     | 1/2        | -      |
5    | cost_sharing      | player    | m     | 1          | yes    |
6    | cost_sharing      | player    | m     | -          | -      | no
7    | prisoners_dilemma | player    | m     | 0          | -      |
8    | public_good       | player    | m     | 1          | -      |
"""
DECISIONS = """
game | round | choice    | parse_status
7    | 1     | defect    | ok
7    | 2     | cooperate | ok
7    | 3     | defect    | outage
"""
CONTRIBUTIONS = """
game | seat | text           | is_tested
8    | 1    | I contribute 1 |
8    | 2    | I contribute 2 | no
8    | 3    | I contribute 3 | no
"""


LACKING = f"""
game | model   | game_type         | win_credit | setting_id
1    | lacking | public_good       | 1          | {0:032x}
2    | whole   | public_good       | 0          | {0:032x}
3    | whole   | prisoners_dilemma | 1          | {1:032x}
4    | whole   | prisoners_dilemma | 1          | {2:032x}
"""
READ = """
game | model | game_type         | win_credit
7    | m     | prisoners_dilemma | 0
8    | m     | public_good       | 0
"""


@pytest.mark.parametrize(
    ("tables", "metric", "model", "bounds", "numbers"),
    [
        # 2 of 2 won, and 2 of 4 settings missing: 2/4 to 4/4.
        ({"results": results_of(MISSING)}, "win_rate", "lacking", (1 / 2, 1, 1), {"n_missing": 2}),
        # 1 of 1 in the competition that it played; the other counts as 0 of 2 or as 2 of 2.
        (
            {"results": table("results", LACKING)},
            *("win_rate", "lacking", (1 / 2, 1, 1), {"n_missing": 2}),
        ),
        # Defections 2 of 3, one of them of whoever said neither, and 1 least contribution of 1.
        (
            {
                "results": table("results", READ),
                "decisions": table(
                    "decisions",
                    DECISIONS.replace("outage", "unreadable"),
                    game_type="prisoners_dilemma",
                ),
                "contributions": table(
                    "contributions",
                    "game | amount | is_least\n8 | 1 | yes",
                    game_type="public_good",
                ),
            },
            *("rationality", "m", (4 / 3, 5 / 3, 5 / 3), {"n_unreadable": 1, "is_complete": True}),
        ),
    ],
)
def test_bounds_count_what_is_missing_or_unreadable_as_misses_and_as_hits(
    tables, metric, model, bounds, numbers
):
    """The least value, the value, and the most."""
    row = readability(Frames(tables)).filter(metric=metric, model=model).row(0, named=True)
    assert (row["value_min"], row["value"], row["value_max"]) == pytest.approx(bounds)
    assert {name: row[name] for name in numbers} == numbers
    assert row["is_complete"] is (row["n_missing"] == 0)


def test_bounds_of_the_release_edition_are_of_its_own_ratios():
    """Of m. Wins: 1 and 1/2 of 20 games, and in three other competitions 1 of 2, 0 of 1, 1 of 1,
    the mean over seven; at most the missing game and the negotiation without end are won as well:
    2 and 1/2 of 20, 2 of 2. Cooperation 1 of 2 or, with that one, 2 of 2. Rationality: defections 2
    of 3, one of them an outage, and a least contribution of 1: 3 of 4, at least 2.
    """
    setting = "f" + pl.col("game_id").replace(f"{2:032x}", f"{1:032x}").str.slice(1)
    lake = Frames(
        {
            "results": table("results", RELEASED).with_columns(setting_id=setting),
            "decisions": table("decisions", DECISIONS, game_type="prisoners_dilemma", model="m"),
            "contributions": table(
                "contributions", CONTRIBUTIONS, game_type="public_good", model="m"
            ),
        }
    )
    found = readability(lake, edition="release").filter(model="m")
    result = {row["metric"]: row for row in found.iter_rows(named=True)}
    bounds = {
        "win_rate": ((1.5 / 20 + 1.5) / 7, (1.5 / 20 + 1.5) / 7, (2.5 / 20 + 2) / 7),
        "cooperation": (1 / 2, 1 / 2, 1),
        "rationality": (2 / 4, 3 / 4, 3 / 4),
    }
    for name, expected in bounds.items():
        row = result[name]
        assert (row["value_min"], row["value"], row["value_max"]) == pytest.approx(expected), name
        assert row["is_complete"] is False
    assert (result["win_rate"]["n_missing"], result["cooperation"]["n_missing"]) == (2, 1)
    assert result["rationality"]["n_outages"] == 1


def test_a_model_that_lacks_some_settings_is_ranked_by_its_value():
    found = leaderboard(lake_with(MISSING))
    result = found.select(
        "rank", "model", "n_missing", "is_complete", "missing_competitions"
    ).rows()
    assert result == [(1, "lacking", 2, False, []), (2, "whole", 0, True, [])]


@pytest.fixture
def lake_of_two_competitions():
    """Three models play a Public Good, and two of them a Prisoner's Dilemma."""
    rows = [(model, s, 0, float(s < won)) for model, won in MODELS.items() for s in range(20)]
    both = [row for row in rows if row[0] != "half"]
    played = [results_of(rows), results_of(both, "prisoners_dilemma", first=1000)]
    return Frames({"results": pl.concat(played)})


MODELS = {"good": 18, "bad": 2, "half": 20}


def test_a_model_that_lacks_a_competition_stands_apart(lake_of_two_competitions):
    """Its win rate is the mean of one competition, that of the others of two."""
    found = leaderboard(lake_of_two_competitions)
    result = found.select(
        "rank", "model", "group_letters", "family", "n_missing", "missing_competitions"
    ).rows()
    missing_competitions = ["prisoners_dilemma"]
    assert result == [
        (1, "good", "a", 1, 0, []),
        (2, "bad", "b", 1, 0, []),
        (None, "half", None, None, 20, missing_competitions),
    ]
    among = leaderboard(lake_of_two_competitions, include_incomplete=True)
    assert among.select("rank", "model").rows() == [(1, "half"), (2, "good"), (3, "bad")]


def test_letters_have_the_size_of_their_family():
    """That of the models asked for: of fewer models fewer pairs are compared."""
    rows = [(model, s, 0, float(s < won)) for model, won in MODELS.items() for s in range(20)]
    lake = lake_with(rows)
    for models, size, letters in (
        (None, 3, ["a", "a", "b"]),
        (["good", "bad"], 1, ["a", "b"]),
        (["good"], 0, ["a"]),
    ):
        board = leaderboard(lake, model=models)
        assert board["family"].unique().to_list() == [size]
        assert board["group_letters"].to_list() == letters


SELF_PLAY = """
game | model | game_type  | role      | win_credit
1    | solo  | undercover | undercover | 1
1    | solo  | undercover | civilian   | 0
2    | solo  | undercover | undercover | 2/3
2    | solo  | undercover | civilian   | 1/3
3    | one   | undercover | undercover | 1
3    | other | undercover | civilian   | 0
4    | one   | undercover | civilian   | 1
"""


def test_games_in_which_a_model_holds_every_seat_are_counted_beside_its_win_rate():
    found = leaderboard(Frames({"results": table("results", SELF_PLAY)}))
    result = {row["model"]: row for row in found.iter_rows(named=True)}
    assert {model: row["n_self_play"] for model, row in result.items()} == {
        "solo": 2,
        "one": 0,
        "other": 0,
    }
    assert result["solo"]["win_rate"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"difference": 0}, "the difference must not be 0"),
        *(
            ({"difference": n}, r"win_rate is impossible: .* are within 0\.\.1")
            for n in (1.01, -2, float("inf"), float("nan"))
        ),
        *(
            ({"n_pairs": n}, f"n_pairs must be {said}")
            for n, said in (
                (0, "1 or more"),
                (10**400, "1000000 or less"),
                *((n, "a whole number") for n in (1.5, float("nan"), "3", True, None)),
            )
        ),
        ({"power": 1}, "the power must be less than 1 and greater"),
        ({"confidence": 1}, "the confidence must be between 0 and 1, for example 0.95, not 1"),
        ({"power": 0.1, "confidence": 0.8}, "greater than 1 - confidence, not 0.1"),
    ],
)
def test_a_plan_is_for_what_can_be_planned(asked, message):
    with pytest.raises(UsageError, match=message):
        plan(lake_with(APART), "win_rate", **{"difference": -1.0, **asked})
