"""A metric that a lake is given answers everywhere as one of the package does."""

import pickle
import re
from pathlib import Path

import polars as pl
import pytest
from msgspec.structs import replace
from polars.testing import assert_frame_equal

import pipeline
from pipeline.api import Lake
from pipeline.errors import MetricError, QueryError, UsageError
from pipeline.lake_methods import with_registered_metrics
from pipeline.metrics.evidence import evidence_parts, evidence_totals, format_sum_sentence
from pipeline.metrics.registry import (
    NAMES,
    Combine,
    Metric,
    RegisteredMetric,
    Rows,
    Term,
    metric_spec,
    metric_sql,
    register_lake_metrics_temporarily,
)
from pipeline.vocabulary import HIDDEN_ROLE_GAMES, PAPER

PAGE = (Path(__file__).parents[2] / "docs" / "adding.md").read_text(encoding="utf-8")
(SQL,) = re.findall(r"```sql\n(-- metric: silence\n.*?)```", PAGE, re.DOTALL)
TERMS = (Term("votes", HIDDEN_ROLE_GAMES),)


def declared(**changed: object) -> Metric:
    """The metric of docs/adding.md: votes that name nobody, over votes."""
    target = pl.col("target")
    own = {"term": pl.lit("votes"), "what": target.fill_null("nobody")}
    rows = Rows("votes", **(own | {"hit": target.is_null().cast(pl.Float64)} | changed))
    return Metric(terms=TERMS, rows=(rows,))


@pytest.fixture(scope="module")
def lake(two_models: Lake) -> Lake:
    return two_models


@pytest.fixture(scope="module")
def given(lake: Lake) -> Lake:
    return lake.with_metric(declared(), name="silence", sql=SQL)


def test_the_engines_agree_and_so_do_values_and_evidence(given: Lake) -> None:
    values = given.metrics(metric="silence")
    assert set(values["model"]) == {"gpt-4", "cohere"}
    assert values["ci_low"].null_count() == 0
    assert_frame_equal(given.metrics(metric="silence", engine="duckdb"), values)
    whole = values.filter(game_type="all")
    evidence = given.evidence("silence")
    assert evidence.height == whole["counted"].sum() > 0
    assert evidence["hit"].sum() == whole["hits"].sum()
    assert_frame_equal(given.evidence("silence", engine="duckdb"), evidence)
    assert_frame_equal(given.evidence_page("silence", limit=1000), evidence)


def test_a_hit_that_looks_at_other_rows_sees_them_whatever_is_asked_for(lake: Lake) -> None:
    """A vote is a hit where another one of its round is for the same player."""
    window = "count(*) OVER (PARTITION BY game_id, round, target) > 1"
    given = lake.with_metric(
        declared(hit=pl.len().over("game_id", "round", "target") > 1),
        name="silence",
        sql=SQL.replace("target IS NULL", window),
    )
    counts = ["hits", "counted"]
    of_seats = given.metrics(metric="silence", by=["seat", "model"]).filter(hits=1.0)
    assert of_seats.height > 0
    seat, model, *expected = of_seats.select("seat", "model", *counts).row(0)
    for engine in ("polars", "duckdb"):
        asked = {"where": f"seat = {seat}", "model": model, "engine": engine}
        found = given.metrics(metric="silence", by=["model"], **asked)
        assert found.select(counts).row(0) == (*expected,)
        assert given.evidence("silence", **asked)["hit"].sum() == expected[0]


@pytest.mark.slow
def test_every_method_knows_it_beside_the_others(given: Lake, lake: Lake) -> None:
    board = given.leaderboard()
    assert_frame_equal(board.drop("^silence.*$"), lake.leaderboard())
    assert board["silence"].null_count() == 0
    names = {"silence"} | set(lake.metrics(by=["model"])["metric"])
    for rows in (
        *(given.metrics(by=["model"]), given.metrics(by=["model"], edition="audited")),
        *(given.compare(), given.diff(given), given.readability()),
    ):
        assert set(rows["metric"]) == names
    assert "silence" not in given.metrics(edition="release")["metric"]
    assert given.plan("silence", 0.2).height == 1
    assert "silence" in given.contrast("gpt-4", "role")["metric"]
    game_id = given.games(game_type="undercover")["game_id"][0]
    assert "silence" in given.game(game_id).counted["metric"]
    assert "silence" in next(given.transcripts([game_id])).counted["metric"]
    (value,) = given.sql("SELECT sum(counted) AS n FROM silence WHERE game_type = 'all'")["n"]
    assert given.sql("SELECT count(*) AS n FROM evidence.silence")["n"][0] == value
    assert "silence" in given.sql("SELECT DISTINCT metric FROM terms.metrics")["metric"]
    assert given.schema("silence")["column"].to_list()[:3] == ["system", "model", "game_type"]
    assert given.plot_metric("silence").to_dict(validate=False)
    assert re.search(r">\s*Silence\s*<", given.page("leaderboard").html)
    assert "votes that name nobody / votes" in given.page("metric", metric="silence").html
    assert given.page("evidence", metric="silence").rows.height


def test_lakes_with_a_metric_of_one_name_do_not_mix(lake: Lake) -> None:
    """A transcript is also shown when no method of its lake runs."""
    (game_id,) = lake.games(game_type="undercover", limit=1)["game_id"]
    for table in ("messages", "votes"):
        own = {"what": pl.lit("asked"), "hit": pl.lit(1.0)}
        is_of_term = pl.col("game_type").is_in(HIDDEN_ROLE_GAMES)
        rows = Rows(table, pl.lit("votes"), where=is_of_term, **own)
        game = lake.with_metric(Metric(TERMS, (rows,)), name="mine").game(game_id)
        assert game.sources["mine"] == {table}
        assert "mine: asked" in game.text


def test_a_copy_for_another_process_knows_it_and_the_first_lake_does_not(
    given: Lake, lake: Lake
) -> None:
    copy = pickle.loads(pickle.dumps(given))
    asked = {"metric": "silence", "by": ["model"]}
    assert_frame_equal(copy.metrics(**asked), given.metrics(**asked))
    two = given.with_metric(declared(), name="quiet")
    assert {"silence", "quiet"} <= set(two.metrics()["metric"])
    for unknowing in (lake, pipeline.open_lake(str(lake.path))):
        with pytest.raises(UsageError, match="no metric `silence`"):
            unknowing.metrics(metric="silence")
    assert "silence" not in lake.leaderboard().columns


def test_without_sql_polars_counts_and_the_rest_says_so(lake: Lake) -> None:
    given = lake.with_metric(declared(), name="quiet", title="Never named")
    assert given.metrics(metric="quiet", by=["model"])["value"].null_count() == 0
    assert "Never named" in given.page("metric", metric="quiet").html
    with pytest.raises(UsageError, match="`quiet` was added without SQL: give `sql=`"):
        given.metrics(engine="duckdb")
    counted = given.evidence("quiet")
    assert given.page("evidence", metric="quiet").rows.equals(counted.head(50))
    pages = [given.evidence_page("quiet", limit=7)]
    pages.append(given.evidence_page("quiet", limit=7, offset=7))
    assert pl.concat(pages).equals(counted.head(14))
    with register_lake_metrics_temporarily(given):
        assert pl.concat(evidence_parts(given, "quiet")).equals(counted)
        (first,), totals = evidence_parts(given, "quiet", limit=3), evidence_totals(given, "quiet")
    assert first.height == 3 and totals["counted"][-1] == given.evidence("quiet").height
    with pytest.raises(QueryError, match="no table or view `quiet`"):
        given.sql("FROM quiet")
    assert "quiet" in given.sql("SELECT DISTINCT metric FROM metrics")["metric"].to_list()
    assert "quiet" not in given.sql("SELECT DISTINCT metric FROM terms.metrics")["metric"]


def test_a_mean_in_its_own_unit(lake: Lake, tmp_path: Path) -> None:
    """The mean length of clues in characters, as docs/adding.md has it."""
    (page,) = re.findall(r"`clue_length.py`:\n\n```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "clue_length.py").write_text(page)
    given = lake.with_metric_file(tmp_path / "clue_length.py")
    clues = (pl.col("phase") == "clue") & pl.col("is_tested") & pl.col("is_finished")
    length = pl.col("content").str.len_chars().clip(upper_bound=400)
    expected = (
        given.table("messages")
        .filter(clues, pl.col("parse_status") != "outage")
        .group_by("model")
        .agg(value=length.mean())
        .sort("model")
        .collect()
    )
    values = given.metrics(metric="clue_length", by=["model"]).sort("model")
    assert values["value"].to_list() == pytest.approx(expected["value"].to_list())
    assert (expected["value"] > 1).all()
    within = pl.col("value").is_between("ci_low", "ci_high") & (pl.col("ci_high") <= 400)
    assert values.select(within.all()).item()


LAYOUTS = {
    "comments and semicolons": f"\n/* first; ' */\n{SQL}; -- done\n;  /* ; */",
    "on one line": " ".join(line for line in SQL.splitlines() if not line.strip().startswith("--")),
    "a list of columns, a quoted name, more CTEs": SQL.replace(
        "WITH attempts AS (",
        """WITH RECURSIVE "first"(n) AS MATERIALIZED (SELECT 1 -- )
    ), "Attempts" AS (""",
    ).replace(
        """
SELECT
    system,""",
        """, last AS (
SELECT
    E') SELECT \\'' AS text FROM attempts)
SELECT
    system,""",
    ),
    "FROM first": SQL.replace("\nSELECT\n    system", "\nFROM attempts SELECT\n    system").replace(
        "FROM attempts\nWHERE", "WHERE"
    ),
    "a Boolean hit": SQL.replace("CAST(target IS NULL AS DOUBLE)", "target IS NULL"),
}


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_sql_of_any_layout(lake: Lake, given: Lake, layout: str) -> None:
    assert LAYOUTS[layout] != SQL
    flag = declared(hit=pl.col("target").is_null())  # a yes or no, as in one of the layouts
    other = lake.with_metric(flag, name="silence", title="Silence", sql=LAYOUTS[layout])
    asked = {"metric": "silence", "engine": "duckdb"}
    assert_frame_equal(other.metrics(**asked), given.metrics(**asked))
    for query in ("FROM silence ORDER BY ALL", "FROM evidence.silence ORDER BY ALL"):
        # The columns of values have the types of the final SELECT.
        assert_frame_equal(other.sql(query), given.sql(query), check_dtypes="evidence" in query)
    asked = {"engine": "duckdb", "hit": True}
    assert_frame_equal(other.evidence("silence", **asked), given.evidence("silence", **asked))


def test_wrong_sql_is_shown_with_its_line(lake: Lake) -> None:
    """Also that of the final SELECT, which no other engine needs."""
    given = "\n" + SQL.replace("sum(hit) AS hits", "sum(hitss) AS hits")
    with pytest.raises(MetricError) as refusal:
        lake.with_metric(declared(), name="x", sql=given)
    line = given[: given.index("hitss")].count("\n") + 1
    said = str(refusal.value).splitlines()
    heading = f"LINE {line}: "
    assert said[1:] == [f"{heading}    sum(hitss) AS hits,", f"{'':{len(heading) + 8}}^^^^^"]


def test_rows_of_unknown_hit_are_counted_and_named(lake: Lake) -> None:
    """They are not in the value, so whoever reads it has to know how many there are."""
    target = pl.col("target")
    hit = pl.when(target != "Player 1").then((target == "Player 2").cast(pl.Float64))
    is_known = "parse_status <> 'outage' AND target <> 'Player 1'"
    as_sql = "CASE WHEN target <> 'Player 1' THEN CAST(target = 'Player 2' AS DOUBLE) END"
    sql = SQL.replace("CAST(target IS NULL AS DOUBLE)", as_sql)
    mine = lake.with_metric(
        declared(hit=hit), name="first", sql=sql.replace("parse_status <> 'outage'", is_known)
    )
    votes = lake.table("votes").filter("is_tested", "is_finished", target="Player 1")
    (n_unknown,) = votes.select(pl.len()).collect()["len"]
    values = mine.metrics(metric="first", by="model")
    assert values["n_unknown"].sum() == n_unknown > 0
    assert_frame_equal(mine.metrics(metric="first", by="model", engine="duckdb"), values)
    whole = mine.evidence_sum("first")
    assert whole["n_unknown"].to_list() == [None, n_unknown]
    said = f"{n_unknown} rows of unknown hit not counted"
    assert said in format_sum_sentence("first", whole)
    assert said in mine.page("evidence", metric="first").html
    with pytest.raises(MetricError, match=r"polars counts .* 1 n_unknown; SQL .* 0 n_unknown"):
        lake.with_metric(
            declared(hit=hit),
            name="first",
            sql=sql.replace("WHERE is_tested", f"WHERE {is_known}\n        AND is_tested"),
        )


def test_hits_of_a_metric_that_nobody_checked_are_refused(lake: Lake) -> None:
    """As of a package, whose metric is counted in lakes that it has not seen."""
    unchecked = with_registered_metrics(
        lake, {"x": RegisteredMetric(declared(hit=pl.lit(2.0)), "X")}
    )
    for ask in (unchecked.metrics, unchecked.leaderboard, unchecked.readability):
        with pytest.raises(MetricError, match=r"`x` has a hit that is not within 0\.\.1"):
            ask()


WRONG = {
    "a name that is taken": (declared(), {"name": "judgement"}, "cannot be the name"),
    "a name of a table": (declared(), {"name": "votes"}, "cannot be the name"),
    "a name as of the end of a value": (declared(), {"name": "win_rate_low"}, "cannot be the name"),
    "a name as of a count": (declared(), {"name": "judgement_undecided"}, "cannot be the name"),
    "a name that is no word": (declared(), {"name": "a b"}, "cannot be the name"),
    "an unknown column": (declared(hit=pl.col("nope")), {}, 'by polars: .*"nope"'),
    "an unknown term": (declared(term=pl.lit("x")), {}, "the term `x` in the game type chameleon"),
    "a hit of 2": (declared(hit=pl.lit(2.0)), {}, r"a hit of 2\.0, which is not within 0\.\.1"),
    "a game type that nobody plays": (
        Metric((Term("votes", ("chameleon", "nogame")),), declared().rows),
        {},
        "the term `votes` of `x` names an unknown game type: nogame; ",
    ),
    "a game type with another letter": (
        Metric((Term("votes", ("werewolv",)),), declared().rows),
        {},
        "names an unknown game type: werewolv; did you mean `werewolf`?",
    ),
    "a term without a game type": (
        Metric((*TERMS, Term("more", ())), declared().rows, high=2),
        {},
        "the term `more` of `x` names no game type",
    ),
    "two terms of one name": (
        Metric(
            (Term("votes", ("chameleon",)), Term("votes", ("undercover",))), declared().rows, high=2
        ),
        {},
        "`x` has several terms `votes`",
    ),
    "no term": (Metric((), declared().rows), {}, "`x` has no Term"),
    "one hit of 1.5": (
        declared(hit=pl.when(pl.col("seat") == 1).then(1.5).otherwise(0.0)),
        {},
        r"a hit of 1\.5, which",
    ),
    "SQL without attempts": (declared(), {"sql": "SELECT\n    1"}, "needs a CTE `attempts`"),
    "two queries": (declared(), {"sql": f"{SQL};\nSELECT 1"}, "only one statement at a time"),
    "SQL that writes": (
        declared(),
        {"sql": f"{SQL.replace('WITH', 'WITH gone AS (DELETE FROM votes RETURNING 1),', 1)}"},
        "by duckdb: a query can only read, and `DELETE` is not allowed",
    ),
    "SQL with a wrong column": (
        declared(),
        {"sql": SQL.replace("is_finished", "is_done")},
        "by duckdb: .*is_done",
    ),
    "SQL that says something else": (
        declared(),
        {"sql": SQL.replace("target IS NULL", "target IS NOT NULL")},
        "the two definitions of `x` differ for cohere in chameleon, term votes: polars counts",
    ),
    "SQL that counts other rows": (
        declared(),
        {"sql": SQL.replace("FROM votes\n    WHERE", "FROM votes\n    WHERE round > 9 AND")},
        "SQL counts no hits, no counted",
    ),
    "a last SELECT of other values": (
        declared(),
        {"sql": SQL.replace("sum(hit) / count(*) AS value", "1 - sum(hit) / count(*) AS value")},
        "last SELECT .* differs .* for cohere in all: it has value 1, .* counted is value 0, ",
    ),
    "a last SELECT of other games": (
        declared(),
        {"sql": SQL.replace("count(DISTINCT game_id)", "count(game_id)")},
        "last SELECT .* n_games 4; .* n_games 2",
    ),
    "a last SELECT without all game types": (
        declared(),
        {"sql": SQL.replace(", (system, model))", ")")},
        "for cohere in all: it has value no, ",
    ),
    "a last SELECT without a column": (
        declared(),
        {"sql": SQL.replace("AS counted", "AS n")},
        "needs the columns system, model, game_type, which are strings, and value, hits, counted",
    ),
    "a last SELECT of texts": (
        declared(),
        {"sql": SQL.replace("sum(hit) / count(*) AS value", "'much' AS value")},
        "needs the columns .* which are numbers",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_taken(lake: Lake, case: str) -> None:
    metric, options, message = WRONG[case]
    with pytest.raises(MetricError, match=message):
        lake.with_metric(metric, **({"name": "x"} | options))


@pytest.mark.slow
def test_the_values_of_our_own_files_are_those_of_metrics(lake_of_formats: Path) -> None:
    """In a lake of several systems, which play some of the games: with one term and several."""
    lake = pipeline.open_lake(lake_of_formats)
    assert len(lake.systems) > 1
    for name in NAMES:
        lake.with_metric(
            metric_spec(name), name=f"own_{name}", sql=metric_sql(name, PAPER)
        )  # is not refused


def test_a_game_type_that_a_term_names_twice_counts_once(lake: Lake, given: Lake) -> None:
    twice = Metric((Term("votes", HIDDEN_ROLE_GAMES * 2),), declared().rows)
    own = lake.with_metric(twice, name="silence")
    assert_frame_equal(own.metrics(metric="silence"), given.metrics(metric="silence"))


@pytest.mark.parametrize(
    ("combine", "weights", "least"),
    [
        (Combine.SUM, (400.0,), 400),
        (Combine.SUM, (1.0, 1.0), 2),
        (Combine.SUM, (0.1, 0.2, 0.7), 1),
        (Combine.MEAN, (400.0, 1.0), 1),
        (Combine.POOLED, (1.0, 1.0), 1),
    ],
)
def test_the_end_of_the_range_is_no_less_than_values_can_be(
    combine: Combine, weights: tuple[float, ...], least: float
) -> None:
    terms = tuple(Term(f"t{n}", ("chameleon",), weight) for n, weight in enumerate(weights))
    assert Metric(terms, declared().rows, combine, high=least).high == least
    for high in (least * 0.99, 0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(MetricError, match=f"which is {least}, not "):
            Metric(terms, declared().rows, combine, high=high)


def test_a_part_of_a_hit_counts_whatever_a_metric_says_of_its_hits(lake: Lake) -> None:
    halves = declared(hit=pl.lit(0.5))
    values = [
        lake.with_metric(replace(halves, has_partial_hits=is_said), name="halves")
        .metrics(metric="halves", by=None, confidence=None)["value"]
        .item()
        for is_said in (True, False)
    ]
    assert values == [0.5, 0.5]
