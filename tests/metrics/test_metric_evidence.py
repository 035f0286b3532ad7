"""Evidence is the rows that were counted: it sums to the metric, by model and by game."""

import tempfile
from pathlib import Path

import duckdb
import polars as pl
import pytest
from cases.judgement import TABLES
from event_tables import ENGINES, Frames, assert_same, lake_of, table
from hypothesis import given, settings, strategies as st
from random_tables import event_tables

from pipeline import warehouse
from pipeline.errors import UsageError
from pipeline.events.contracts import table_schema
from pipeline.metrics import metrics
from pipeline.metrics.evidence import (
    EVIDENCE_COLUMNS,
    evidence,
    evidence_page,
    evidence_parts,
    evidence_totals,
)
from pipeline.metrics.registry import ORIGIN_COLUMNS, metric_names
from pipeline.vocabulary import AUDITED, EDITIONS, PAPER, RELEASE

NO_MESSAGES = pl.DataFrame(schema=table_schema("messages"))
SUMS = {"hits": pl.col("hit").sum(), "counted": pl.len().cast(pl.Int64)}


def terms(values: pl.DataFrame, *by: str) -> pl.DataFrame:
    """The hits and counts of each term that counted anything."""
    result = values.select(*by, "terms").explode("terms").unnest("terms")
    return result.filter(pl.col("counted") > 0).select(*by, "term", "hits", "counted")


def ordered(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.sort(rows.columns, nulls_last=True)


# Every metric; and hits and misses, also where a hit can be unknown.
PARTS = [
    *((PAPER, name, None) for name in metric_names(PAPER)),
    *((AUDITED, name, True) for name in ("judgement", "reasoning")),
    *((RELEASE, "win_rate", hit) for hit in (None, True, False)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("edition", "name", "hit"), PARTS)
def test_parts_are_the_same_rows(name, edition, hit, public_lake, monkeypatch):
    """They come in the same order, and their totals are the sums of them."""
    monkeypatch.setattr(warehouse, "BATCH_ROWS", 100)
    monkeypatch.setattr("pipeline.metrics.evidence._MAX_MESSAGE_BYTES_FOR_POLARS", 0)
    rows = evidence(public_lake, name, edition=edition, hit=hit)
    parts = list(evidence_parts(public_lake, name, edition=edition, hit=hit))
    assert len(parts) > rows.height / 100
    assert_same(pl.concat(parts), rows)
    first = pl.concat(evidence_parts(public_lake, name, edition=edition, hit=hit, limit=7))
    assert_same(first, rows.head(7))
    for engine in ("polars", "duckdb"):
        few = evidence(public_lake, name, edition=edition, hit=hit, limit=7, engine=engine)
        assert_same(few, rows.head(7))

    n_games = pl.col("game_id").n_unique().cast(pl.Int64)
    totals = evidence_totals(public_lake, name, edition=edition, hit=hit)
    assert_same(totals, rows.select(**SUMS, n_games=n_games))


@pytest.mark.slow
def test_more_than_fits_into_memory_goes_to_the_disk(tmp_path, monkeypatch):
    """Three million texts are sorted in 64 MiB with a disk, and not without one."""
    lake = lake_of(tmp_path, {})
    select = "SELECT md5(CAST(range AS VARCHAR)) AS text FROM range(3_000_000) ORDER BY text"
    monkeypatch.setattr(warehouse, "BOUNDED_MEMORY", 2**26)
    with warehouse.connect_with_memory_limit(lake, {}, select, sorts_texts=True) as connection:
        assert (
            sum(part.height for part in warehouse.iter_polars_batches(connection, select))
            == 3_000_000
        )
    with (
        warehouse.connect(lake, {}, select, memory=2**26, threads=1) as connection,
        pytest.raises(duckdb.OutOfMemoryException),
    ):
        list(warehouse.iter_polars_batches(connection, select))


LAKE = Frames(
    TABLES
    | {
        "messages": table(
            "messages",
            """
            game | message_index | content
            1    | 0             | I vote for Player 3
            """,
            game_type="chameleon",
            role="non_chameleon",
            phase="vote",
            visible_to=[],
        )
    }
)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(
    asked=st.sampled_from(
        [(edition, name) for edition in EDITIONS for name in metric_names(edition)]
    ),
    tables=event_tables(),
    size=st.sampled_from([3, 7, 50]),
    most_by_polars=st.sampled_from([-1, 50_000]),
    unclear=st.booleans(),
)
def test_pages_are_the_whole(asked, tables, size, most_by_polars, unclear):
    """Whatever rows and engine, and however many fit on a page, none is lost, and none twice."""
    edition, name = asked
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.metrics.evidence._MAX_GAMES_FOR_POLARS", most_by_polars)
        lake = lake_of(Path(folder), tables | {"messages": NO_MESSAGES})
        wanted = {"edition": edition, "unclear": unclear}
        whole = evidence(lake, name, **wanted)
        assert_same(evidence(lake, name, **wanted, engine="duckdb"), whole)
        parts = [
            evidence_page(lake, name, **wanted, offset=offset, limit=size)
            for offset in range(0, whole.height + 1, size)
        ]
        assert_same(pl.concat(parts), whole)


def test_a_row_has_its_message_and_none_where_the_log_has_none():
    rows = evidence(LAKE, "judgement")
    assert rows.columns == [*EVIDENCE_COLUMNS, *ORIGIN_COLUMNS]
    assert rows.height == metrics(LAKE, metric="judgement", by=[])["counted"].item()
    spoken = rows.filter(pl.col("content").is_not_null())
    assert spoken["content"].to_list() == ["I vote for Player 3"]
    assert spoken.select("game_id", "message_index").row(0) == (f"{1:032x}", 0)


def test_hits_and_misses_are_all_and_share_nothing():
    everything = evidence(LAKE, "judgement")
    hits, misses = (evidence(LAKE, "judgement", hit=wanted) for wanted in (True, False))
    assert hits.height
    assert (hits["hit"] > 0).all()
    assert (misses["hit"] == 0).all()
    assert_same(ordered(pl.concat([hits, misses])), ordered(everything))


@pytest.mark.some(4)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("edition", EDITIONS)
def test_rows_that_are_not_clear_are_listed_whether_they_are_counted_or_not(
    engine, edition, tmp_path
):
    """Of the votes of cases/judgement.py, by a plain loop: those that Judgement looks at, and the
    others of which the text is not clear, which have no hit.
    """
    lake = lake_of(tmp_path, TABLES | {"messages": NO_MESSAGES})
    expected = []
    for row in TABLES["votes"].to_dicts():
        is_in_scope = (row["game_index"] or 99) < 21 if edition == RELEASE else row["is_finished"]
        is_own = row["is_tested"] and row["side"] == "civilian" and is_in_scope
        is_outage = edition != RELEASE and row["parse_status"] == "outage"
        hit = row["is_correct"] if is_own and not is_outage else None
        if row["parse_status"] != "ok" or (is_own and hit is None):
            key = row["game_id"], row["seat"], row["model"], row["role"]
            expected.append((*key, hit, is_own and hit is not None))
    asked = {"edition": edition, "engine": engine, "unclear": True}
    found = evidence(lake, "judgement", **asked)
    assert {None, True} <= {hit for *_, hit, _ in expected}
    by_row = found.select(
        "game_id", "seat", "model", "role", pl.col("hit").cast(pl.Boolean), "is_counted"
    )
    assert sorted(by_row.rows(), key=repr) == sorted(expected, key=repr)
    pages = [evidence_page(lake, "judgement", **asked, offset=n, limit=2) for n in (0, 2, 4, 6)]
    assert_same(pl.concat(pages), found)
    totals = evidence_totals(lake, "judgement", **asked)
    n_games = found["game_id"].n_unique()
    assert totals.row(0) == (found["hit"].sum(), found.height, n_games)
    with pytest.raises(UsageError, match="neither hits nor misses"):
        evidence(lake, "judgement", hit=True, **asked)


@pytest.mark.parametrize("engine", ENGINES)
def test_only_what_is_asked_for(engine, public_lake):
    found = evidence(public_lake, "reasoning", engine=engine, model="gpt-4", game_type="undercover")
    assert set(found.select("model", "game_type").iter_rows()) == {("gpt-4", "undercover")}
    assert evidence(public_lake, "reasoning", engine=engine, model=[]).is_empty()
    few = evidence(public_lake, "cooperation", engine=engine, edition=RELEASE, num_of_game=3)
    assert few["game_index"].max() == 2


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"metric": "judgment"}, "no metric `judgment`: did you mean `judgement`"),
        ({"metric": "judgement", "limit": -1}, "the limit must be 0 or more, not -1"),
        ({"metric": "judgement", "model": ["nobody"]}, "no game of nobody: "),
        ({"metric": "judgement", "engine": "sparc"}, "no engine `sparc`: did you mean `spark`"),
        ({"metric": "judgement", "master": "local"}, "a master works only with the engine spark"),
        ({"metric": "judgement", "edition": "draft"}, "no edition `draft`"),
        ({"metric": "judgement", "game_type": ["chess"]}, "no game type chess"),
        ({"metric": "judgement", "num_of_game": 3}, "with the edition release, not with paper"),
    ],
)
def test_refused(question, message):
    with pytest.raises(UsageError, match=message):
        evidence(LAKE, **question)


def tables_of_answers() -> dict[str, pl.DataFrame]:
    """A game of each type with what tells a hit, and one of which the log does not say it."""
    hidden = {"game_type": "chameleon", "role": "non_chameleon"}
    seats = """
        game | seat | player   | role          | final_score
        1    | 1    | Player 1 | non_chameleon | -
        1    | 2    | -        | chameleon     | -
        2    | 1    | Player 1 | non_chameleon | -
        """
    points = """
        game | seat | player | final_score
        4    | 1    | Ann    | 12
        4    | 2    | Bo     | -1/4
        """
    players = [table("players", seats, game_type="chameleon")]
    players += [table("players", points, game_type="prisoners_dilemma")]
    return {
        "players": pl.concat(players),
        "votes": table(
            "votes",
            """
                game | seat | target   | is_correct
                1    | 1    | Player 1 | no
                2    | 1    | -        | no
                """,
            **hidden,
        ),
        "guesses": table(
            "guesses",
            """
                game | round | guess | secret
                1    | 2     | -     | apple
                1    | 1     | pear  | apple
                """,
            game_type="chameleon",
            role="chameleon",
        ),
        "results": table("results", "game | guess_is_correct\n1 | no\n2 | yes", **hidden),
        "role_identifications": table(
            "role_identifications",
            "game | player | claimed_role\n1 | Player 1 | chameleon\n2 | Player 1 | -",
            **hidden,
        ),
        "contributions": table(
            "contributions",
            """
                game | seat | amount | is_least | is_tested
                3    | 1    | 5/2    | no       | yes
                3    | 2    | 2      | yes      | no
                """,
            game_type="public_good",
        ),
        "decisions": table(
            "decisions", "game | choice\n4 | cooperate", game_type="prisoners_dilemma"
        ),
    }


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("judgement", [("Player 1", "seat 2 (chameleon)"), ("nobody", None)]),
        (
            "deception",
            [("guessed wrong", "guessed pear, nothing, the word: apple"), ("guessed right", None)],
        ),
        (
            "self_awareness",
            [
                ("chameleon", "Player 1 (non chameleon)"),
                ("no clear role", "Player 1 (non chameleon)"),
            ],
        ),
        ("rationality", [("cooperate", "defect"), ("not least", "gave 2.5, the least: 2")]),
    ],
)
def test_a_row_has_what_it_is_compared_with(name, expected, tmp_path):
    lake = lake_of(tmp_path, tables_of_answers())
    for engine in ENGINES:
        rows = evidence(lake, name, engine=engine).select("what", "compared_with")
        assert rows.rows() == expected, engine


VOTES = {
    "in the order of their messages, which decides the tie": (
        {1: (1, 9), 2: (2, 8), 3: (3, 7)},
        3,
        "final votes: Player 3, Player 2, Player 1",
    ),
    "one that names nobody": ({1: (None, 7), 2: (2, 8)}, 2, "final votes: nobody, Player 2"),
    "some without a message": (
        {1: (1, None), 2: (2, None), 3: (3, 7)},
        3,
        "final votes: Player 3, Player 1, Player 2; agreed: that of Player 3",
    ),
    "none with one": (
        {1: (1, None), 2: (2, None)},
        2,
        "final votes: Player 1, Player 2; agreed: that of Player 2",
    ),
    "none with one, and an author who is not tested": (
        {1: (1, None), 2: (2, None)},
        None,
        "final votes: Player 1, Player 2",
    ),
}


@pytest.mark.parametrize("case", VOTES)
def test_an_agreement_is_compared_with_the_votes_as_they_were_cast(case, tmp_path):
    votes, author, expected = VOTES[case]
    cast = "game | seat | candidate_seat | candidate | message_index | is_final_round\n"
    for seat, (candidate, index) in votes.items():
        named = f"{candidate} | Player {candidate}" if candidate else "- | -"
        cast += f"1 | {seat} | {named} | {'-' if index is None else index} | yes\n"
    sides = "game | seat | player | agreed | proposed_agreement\n"
    for seat in votes:
        sides += f"1 | {seat} | Player {seat} | yes | {'yes' if seat == author else 'no'}\n"
    of_type = {"game_type": "cost_sharing"}
    tables = {
        "proposal_votes": table("proposal_votes", cast, **of_type),
        "results": table("results", sides, **of_type),
    }
    lake = lake_of(tmp_path, tables)
    for engine in ENGINES:
        rows = evidence(lake, "coordination", engine=engine)
        assert rows["compared_with"].to_list() == [expected] * len(votes), engine
        assert rows["hit"].to_list() == [float(seat == author) for seat in votes]


def test_a_win_is_compared_with_the_outcome_or_the_points(public_lake):
    rows = evidence(public_lake, "win_rate").filter(pl.col("compared_with").is_not_null())
    first = dict(rows.group_by("game_type").agg(pl.col("compared_with").first()).iter_rows())
    assert first["prisoners_dilemma"].startswith("Player 1 ")
    assert first["undercover"] in ("caught", "tie", "voted wrong")
