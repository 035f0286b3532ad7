"""Slices: metrics by what their game was, and of rows that a condition chooses, in both engines."""

import tempfile
from pathlib import Path

import duckdb
import polars as pl
import pytest
from event_tables import ENGINES, ODD, assert_same, lake_of, table
from hypothesis import HealthCheck, given, settings, strategies as st
from random_tables import event_tables, shuffled

from pipeline.errors import UsageError
from pipeline.events.contracts import table_schema
from pipeline.metrics import metrics
from pipeline.metrics.evidence import evidence
from pipeline.metrics.request import parse_condition_for_schema

FEW = settings(
    max_examples=max(3, settings.default.max_examples // 6),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
GROUPINGS = (
    ("topic",),
    ("model", "game_type", "outcome"),
    ("opponent", "game_type"),
    ("round", "multiplier"),
    ("outcome_code", "topic"),
    ("payoff_defect", "other_word"),
    ("setting", "tested_player"),
    ("model", "setting.dial.max-n"),
    ("model",),
    (),
)
CONDITIONS = (
    "topic = 'Fruits'",
    "topic IS NULL OR outcome_code > 0",
    "NOT (opponent LIKE 'gpt%' AND n_rounds BETWEEN 2 AND 3)",
    "model IN ('m', 'Zoë''s \"7B\" chat') OR role IS DISTINCT FROM 'player'",
    "round > 1",
    "parse_status <> 'ok' AND is_tested",
    "multiplier NOT IN (1.5, NULL)",
    "payoff_defect < 2.5 OR hidden_player = 'Player 2'",
    'setting LIKE \'%"code":"café%\' AND n_rounds_fixed IS NULL',
    """setting.dial."max-n" = '1.5' OR setting.dial IS NULL""",
    "false",
)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_unfinished_game_is_of_no_round(engine, tmp_path):
    """Two votes of a game with an end, one of a game without: it counts where games are told."""
    votes = """
game | round | target   | is_finished
1    | 1     | Player 2 |
1    | 2     | -        |
2    | 1     | Player 2 | no
"""
    results = "game | is_finished\n1 |\n2 | no"
    tables = {"votes": votes, "results": results}
    common = {"game_type": "undercover", "role": "civilian"}
    lake = lake_of(tmp_path, {name: table(name, text, **common) for name, text in tables.items()})

    def n_unfinished(**question) -> list[int | None]:
        found = metrics(lake, metric="judgement", engine=engine, confidence=None, **question)
        return found["n_unfinished"].to_list()

    assert n_unfinished(by=("model",)) == [1]
    assert n_unfinished(by=("model",), where="game_index > 0") == [1]
    assert n_unfinished(by=("model", "round")) == [None, None]
    assert n_unfinished(by=("model",), where="target IS NOT NULL") == [None]


def with_games(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The tables, where `games` and `results` say this or that of each game."""
    results = tables["results"].with_columns(opponent=_one_of(["gpt-4", ODD, None]))
    games = tables["games"].with_columns(
        topic=_one_of(["Fruits", "it's; $by", None]),
        outcome=_one_of(["tie", "agreed", None]),
        multiplier=_one_of([1.5, 3.0, None]),
        other_word=_one_of(["Tee\n", "", None]),
        hidden_player=_one_of(["Player 1", "Player 2", None]),
        tested_player=_one_of(["Player 3", None]),
        payoff_defect=_one_of([2.0, 2.5, None]),
        setting=_one_of(
            [
                '{"code":"café","dial":{"max-n":1.5}}',
                '{"dial":{"max-n":"1.5"}}',
                '{"dial":{"max-n":true}}',
            ]
        ),
        n_rounds=_one_of([1, 2, 3]),
        outcome_code=_one_of([0, 1, None]),
        sha256=pl.lit("0" * 64),
        content_id="game_id",
        format=pl.lit("magic"),
        format_version=_one_of(["plain", "pgm"]),
        source=pl.lit("logs"),
        path=pl.format("{}.json", "game_id"),
        n_players=3,
        n_messages=0,
    )
    schema = table_schema("games")
    return {**tables, "results": results, "games": games.cast(schema)}


def _one_of(values: list) -> pl.Expr:
    """One of the values, the same for all rows of a game."""
    place = (pl.col("game_id").hash(len(values)) % len(values)).cast(pl.UInt32)
    return pl.lit(pl.Series(values)).gather(place)


@FEW
@given(
    tables=event_tables(),
    by=st.sampled_from(GROUPINGS),
    where=st.none() | st.sampled_from(CONDITIONS),
    edition=st.sampled_from(["paper", "audited"]),
)
def test_engines_agree(tables, by, where, edition):
    asked = {"by": by, "where": where, "edition": edition}
    result = with_games(tables)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        assert_same(
            metrics(lake_of(Path(one), result), engine="duckdb", **asked),
            metrics(lake_of(Path(other), shuffled(result, 1), 3), engine="polars", **asked),
        )


@pytest.mark.parametrize(
    ("game_type", "engine"),
    [("chameleon", "duckdb"), ("all", "polars"), (["chameleon", "undercover"], "duckdb")],
)
def test_only_the_game_types_asked_for_come(game_type, engine, public_lake):
    """With a condition on rows, as on a round, which `results` does not have."""
    asked = {"metric": "judgement", "by": ["model", "game_type"], "where": "round >= 1"}
    found = metrics(public_lake, game_type=game_type, engine=engine, **asked)
    assert set(found["game_type"]) == {*([game_type] if isinstance(game_type, str) else game_type)}
    assert found.select("model", "game_type").is_unique().all()


@pytest.mark.parametrize("where", ["target IS NULL", "topic LIKE 'F_uits' AND round = 1"])
def test_evidence_of_a_slice(where, public_lake):
    rows = evidence(public_lake, "judgement", where=where)
    assert_same(rows, evidence(public_lake, "judgement", where=where, engine="duckdb"))
    counted = metrics(public_lake, metric="judgement", by=[], where=where)["counted"].item()
    assert 0 < rows.height == counted < 800


# --- conditions ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def by_duckdb():
    with duckdb.connect() as connection:
        connection.register("rows", ROWS.to_arrow())
        yield connection


ROWS = pl.DataFrame(
    {
        "i": [0, 1, 2, 3, 4],
        "text": ["x", "xy", None, "it's\nz", "%"],
        "flag": [True, False, None, True, False],
        "n": [1, 2, None, -3, 0],
        "f": [0.1, 2.5, None, 0.0, -1.0],
        "A b": ["x", None, "q", "", ""],
    }
)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("text = 'x' OR NOT flag", [0, 1, 4]),
        ("n IN (1, 2.5, -3)", [0, 3]),
        ("n NOT IN (1, 2)", [3, 4]),
        ("n NOT IN (1, NULL)", []),
        ("n IN (NULL, 1)", [0]),
        ("NOT (n IN (2, NULL))", []),
        ("n IN (NULL)", []),
        ("n IN (1, 2) IS NULL", [2]),
        ("n IN (1.0, 2.5, -3, 9223372036854775807)", [0, 3]),
        ("n NOT IN (1.5, 2, 5e9)", [0, 3, 4]),
        ("n IN (i, 1, 1.5)", [0]),
        ("f IN (0.0, 2.5, -0.0)", [1, 3]),
        ("f IN (0, -1, 2.5)", [1, 3, 4]),
        ("f NOT IN (0, 2.5, NULL)", []),
        ("text IN ('x', '%', 'stranger')", [0, 4]),
        ("text NOT IN ('x', '%')", [1, 3]),
        ("text NOT IN ('x', NULL)", []),
        ("text IN (\"A b\", '%')", [0, 4]),
        ("'x' IN (text, 'y')", [0]),
        ("flag IN (true)", [0, 3]),
        ("flag NOT IN (true, NULL)", []),
        ("flag NOT IN (true, true)", [1, 4]),
        ("n BETWEEN 1 AND 2", [0, 1]),
        ("n NOT BETWEEN 1 AND 2", [3, 4]),
        ("text IS NULL", [2]),
        ("text IS NOT NULL AND flag", [0, 3]),
        ("text LIKE 'x%'", [0, 1]),
        ("text NOT LIKE 'x%'", [3, 4]),
        ("text LIKE 'it_s%z'", [3]),
        ("text LIKE '.'", []),
        ("text LIKE '\\%'", []),
        ("text = 'it''s\nz'", [3]),
        ("text IS DISTINCT FROM 'x'", [1, 2, 3, 4]),
        ("text IS NOT DISTINCT FROM NULL", [2]),
        ('"A b" = text', [0]),
        ("f >= 1e-1", [0, 1]),
        ("n = -3 or n <> n", [3]),
        ("true", [0, 1, 2, 3, 4]),
        ("NULL", []),
        ("text IN ('x') -- 'and' /* so on", [0]),
    ],
)
def test_a_condition_means_the_same_in_both(where, expected, by_duckdb):
    found = parse_condition_for_schema(where, ROWS.schema)
    assert ROWS.filter(pl.sql_expr(found.sql))["i"].to_list() == expected
    select = f'SELECT i FROM "rows" WHERE ({found.sql}) ORDER BY i'
    assert [i for (i,) in by_duckdb.execute(select).fetchall()] == expected


TEXTS = ", ".join(f"'{number}'" for number in range(3000))


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (" AND ".join(f"n <> {number}" for number in range(1, 3001)), [3, 4]),
        (f"text NOT IN ({TEXTS})", [0, 1, 3, 4]),
    ],
    ids=["AND", "NOT IN"],
)
def test_a_condition_may_be_long(where, expected):
    """Of as many games as somebody looks at."""
    found = parse_condition_for_schema(where, ROWS.schema)
    assert ROWS.filter(pl.sql_expr(found.sql))["i"].to_list() == expected


@pytest.mark.parametrize(
    "where",
    [
        "",
        "n",
        "1",
        "n = 'x'",
        "text > 1",
        "text < 9.5",
        "text = 1e3",
        "text BETWEEN 1.5 AND 11.5",
        "text IN (0.5)",
        "text = TRUE",
        "text = (n)",
        "flag = 1",
        "flag IN (1, 0)",
        "n = flag",
        "'x' = 1.5",
        "n = 12345678901234567890123",
        "n + 1 = 2",
        "-n = 3",
        "lower(text) = 'x'",
        "read_csv('/etc/passwd') IS NULL",
        "(SELECT true)",
        "text IN (SELECT 'x')",
        "text IN ()",
        "EXISTS (SELECT 1)",
        "text = 'x'; DROP TABLE votes",
        "text = 'x') OR (flag",
        "flag AS x",
        "flag FROM votes",
        "SELECT 1",
        "DROP TABLE votes",
        "text LIKE 'x' ESCAPE '!'",
        "text ILIKE 'X'",
        "text LIKE text",
        "text COLLATE nocase = 'x'",
        "n::int = 1",
        "CASE WHEN flag THEN flag END",
        "votes.text = 'x'",
        "$1 = text",
        "*",
        "text = ",
        "flag AND stranger",
        "(" * 2000 + "flag" + ")" * 2000,
        "NOT " * 3000 + "flag",
        "flag" + " = flag" * 3000,
        "text IN ('x', 1)",
        "n IN (1, 'x')",
        "1 IN ('x', 'y')",
    ],
)
def test_what_is_no_condition_is_refused(where):
    with pytest.raises(UsageError, match=r"^[^\n]*condition[^\n]*$"):
        parse_condition_for_schema(where, ROWS.schema)


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("role = 'a' AND", "something is missing near `AND`"),
        ("role BETWEEN 1", "something is missing near `1`"),
        ("(role = 'a'", "`)` is missing after `'a'`"),
        ("role = 1 2", "`2` is not expected there"),
        ("role = 'a", "a quotation mark is not closed"),
        ("(" * 9999, "it is nested too deeply"),
    ],
)
def test_what_is_no_sql_is_told_in_words_of_sql(where, reason):
    with pytest.raises(UsageError) as refusal:
        parse_condition_for_schema(where, ROWS.schema)
    assert str(refusal.value) == f"the condition `{where}` cannot be read as SQL: {reason}"


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (
            {"where": "zebra = 'x'"},
            "no column zebra for a condition: if it is a text, .*: 'zebra'; else choose from ",
        ),
        (
            {"where": "target_seat = 1"},
            "no column target_seat for a condition: not all metrics have it; choose .* judgement$",
        ),
        ({"where": "target_set = 1"}, "no column target_set for .*: did you mean `target_seat`"),
        (
            {"where": "is_correct AND role = 'x'"},
            "no column is_correct for .* the metric from judgement, reasoning, self_awareness$",
        ),
        (
            {"where": "topic = 'x'", "edition": "release"},
            "release edition .* leave out the condition",
        ),
        ({"by": ["model", "topic"], "edition": "release"}, "group by model and game_type"),
        ({"by": ["topics"]}, "no column `topics` to group by: did you mean `topic`"),
        ({"by": ["settings.topic"]}, "no column `settings.topic` to group by: "),
        ({"where": "role.x = 'a'"}, "cannot contain `role.x`"),
    ],
)
def test_refused(question, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        metrics(lake_of(tmp_path, {}), **question)


@pytest.mark.some(1)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_key_of_the_setting_is_a_column(engine, public_lake):
    """Of Chameleon the key `topic` is the column `topic`."""
    asked = {"metric": "judgement", "game_type": "chameleon", "engine": engine}
    for chosen in ({}, {"where": "{} = 'Desserts'"}):
        own, key = (
            metrics(
                public_lake,
                by=["model", name],
                **asked,
                **{word: text.format(name) for word, text in chosen.items()},
            )
            for name in ("topic", "setting.topic")
        )
        # A reason repeats the condition as it was given.
        assert_same(own.drop("reason"), key.drop("reason").rename({"setting.topic": "topic"}))
    with pytest.raises(UsageError, match=r"`setting.topik` .*: did you mean `setting.topic`"):
        metrics(public_lake, by=["setting.topik"], **asked)


@pytest.mark.slow
def test_a_value_that_no_player_has_is_named_with_the_nearest_one(public_lake):
    """A misspelt value leaves nothing: the reason names it, and the values of the column."""
    found = metrics(public_lake, metric="judgement", by=[], where="role = 'Civilian'")
    assert found["reason"].item().endswith("; no role Civilian: did you mean `civilian`?")
    where = "role = 'civilian' AND side IN ('it''s', 'xyz')"
    found = metrics(public_lake, metric="judgement", by=[], where=where)
    reason = found["reason"].item()
    assert "; no side it's, xyz: choose from civilian, hidden" in reason
    assert "no role" not in reason
    found = metrics(public_lake, metric="judgement", by=[], where="role = 'civilian' AND seat = 77")
    assert found["reason"].item() == (
        "no row meets the condition; `magic schema` explains role, seat"
    )
