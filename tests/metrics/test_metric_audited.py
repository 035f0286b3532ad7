"""The edition `audited`: what texts say, read strictly, and the same by both engines."""

import tempfile
from pathlib import Path

import polars as pl
import pytest
from event_tables import ENGINES, assert_same, lake_of, stacked

from pipeline import games
from pipeline.events.contracts import GAME_ROW, table_schema
from pipeline.events.readings import judge_role_analyses_by_text, judge_role_identifications_by_text
from pipeline.metrics import NAMES, metrics
from pipeline.metrics.registry import metric_spec
from pipeline.metrics.row_queries import metric_views
from pipeline.vocabulary import AUDITED, PAPER, GameType, Phase
from pipeline.warehouse import connect, run_query

Tables = dict[str, pl.DataFrame]
ROLES = {
    GameType.CHAMELEON: ("chameleon", "non_chameleon"),
    GameType.UNDERCOVER: ("undercover", "civilian"),
}
CHAMELEON, UNDERCOVER = GameType.CHAMELEON, GameType.UNDERCOVER


def game(game_type: GameType, hidden: int, *rounds: tuple[str | None, ...]) -> Tables:
    """The tables of one game in which all three seats answer in each round, or say nothing."""
    rows: dict[str, list[dict[str, object]]] = {
        name: [] for name in ("players", "messages", "role_analyses", "role_identifications")
    }
    index = 0
    for seat in (1, 2, 3):
        rows["players"].append(acting(game_type, seat, hidden))
    for round_, answers in enumerate(rounds, start=1):
        for seat, text in enumerate(answers, start=1):
            player = acting(game_type, seat, hidden) | {"round": round_, "parse_status": "ok"}
            for table, phase in (
                ("role_analyses", "analysis"),
                ("role_identifications", "identification"),
            ):
                place = {"message_index": None if text is None else index}
                for kind in ("gold", "inter") if table == "role_analyses" else ("",):
                    own = {"kind": kind, "is_correct": False, "is_own_view_stated": False}
                    rows[table].append(player | place | own)
                if text is not None:
                    said = {"phase": phase, "visible_to": [], "content": text}
                    rows["messages"].append(player | place | said)
                    index += 1
    return {
        name: pl.DataFrame(
            [{column: row.get(column) for column in table_schema(name)} for row in found],
            table_schema(name),
        )
        for name, found in rows.items()
    }


def acting(game_type: GameType, seat: int, hidden: int) -> dict[str, object]:
    role = ROLES[game_type][seat != hidden]
    return {
        "game_id": f"{list(GameType).index(game_type):032x}",
        "game_type": game_type,
        "system": "magic",
        "setting_id": "0" * 32,
        "is_finished": True,
        "seat": seat,
        "player": f"Player {seat}",
        "model": "m",
        "role": role,
        "side": games.game_definition(game_type).find_role(role).side,
        "is_tested": True,
        "competition": games.game_definition(game_type).find_role(role).competition,
    }


READ = {
    "role_analyses": ["is_own_view_stated", "is_correct_as_read"],
    "role_identifications": ["claimed_role", "is_correct_as_read"],
}


def read(table: str, **games: Tables) -> dict[tuple[str, int, str], bool | None]:
    """What becomes of each answer of the first round of games, by their name, seat and kind.

    Both engines read it; DuckDB all games at once.
    """
    keys = ["game_id", "round", "seat", *(["kind"] if table == "role_analyses" else [])]
    tables = stacked(games)
    by_polars = pl.concat(as_ingested(stacked({name: of}), table) for name, of in games.items())
    by_polars = by_polars.select(*keys, *READ[table])
    with tempfile.TemporaryDirectory() as folder:
        select = f"SELECT {', '.join((*keys, *READ[table]))} FROM shared.read_{table}"
        with connect(lake_of(Path(folder), tables), metric_views(), select) as connection:
            assert_same(run_query(connection, select).sort(keys), by_polars.sort(keys))
    others = READ[table][0]
    first = by_polars.filter(round=1).drop("round", others)
    named = first.with_columns(pl.col("game_id").str.split("/").list.first())
    return {(name, seat, *kind): found for name, seat, *kind, found in named.iter_rows()}


def as_ingested(tables: Tables, table: str) -> pl.DataFrame:
    """The table's rows as an ingest reads them, of which this is the only game."""
    batch = {name: rows.with_columns(pl.lit(0).alias(GAME_ROW)) for name, rows in tables.items()}
    rows = batch[table].drop(READ[table])
    if table == "role_identifications":
        return judge_role_identifications_by_text(
            rows, batch["messages"].filter(phase=Phase.IDENTIFICATION)
        )
    spoken = batch["messages"].filter(phase=Phase.ANALYSIS)
    return judge_role_analyses_by_text(rows, spoken, batch["players"])


def gold(*answers: str | None, game_type: GameType = CHAMELEON, hidden: int = 3) -> list:
    found = read("role_analyses", game=game(game_type, hidden, answers))
    return [found["game", seat, "gold"] for seat in (1, 2, 3)]


def inter(*answers: str | None, game_type: GameType = CHAMELEON, hidden: int = 3) -> list:
    found = read("role_analyses", game=game(game_type, hidden, answers))
    return [found["game", seat, "inter"] for seat in (1, 2, 3)]


def rating(of: int, word: str) -> str:
    return f"Player {of} is {word}, because Player 1 is more suspicious otherwise."


def analysis(me: int, *own: str, **others: list[str]) -> str:
    """An answer in Chameleon's form: own ratings, and those of `p2=[...]` as told."""
    result = [
        line
        for name, lines in others.items()
        for line in (f"I think now Player {name[1:]} thinks:", *lines)
    ]
    lines = [f"As Player {me},", "I think:", *own, "As for other players' thoughts:", *result]
    return "\n".join(lines)


NOBODY = [rating(2, "no change"), rating(3, "no change")]


def test_who_singles_out_the_hidden_player_is_right():
    one = analysis(1, rating(2, "less suspicious"), rating(3, "more suspicious"))
    other = analysis(2, rating(1, "More suspicious"), rating(3, "no change"))
    assert gold(one, other, "I guess the code is tea") == [True, False, None]


def test_nobody_and_two_are_not_the_hidden_player():
    """The engine takes the first seat for the most suspicious where all are rated alike."""
    two = analysis(2, rating(1, "more suspicious"), rating(3, "more suspicious"))
    assert gold(analysis(1, *NOBODY), two, None, hidden=1) == [False, False, None]
    assert gold(analysis(1, *NOBODY), two, None, hidden=3) == [False, False, None]


def test_the_chameleons_silence_about_itself_is_not_counted_wherever_it_sits():
    silent = 'I guess the secret code is "tea"\nI think now Player 2 think:\n' + rating(
        3, "more suspicious"
    )
    assert gold(silent, None, None, hidden=1)[0] is None
    assert gold("nothing of the kind", None, None, hidden=3)[0] is False


CLAIMS = [
    ("1. I think Player 3 is undercover, because", True),
    ("I think **Player 3** is the undercover.", True),
    ("I think that Player 3 might be the undercover", True),
    ("I think Player 3 is a possible undercover", True),
    ("I THINK PLAYER_3 IS UNDERCOVER", True),
    ("I think Player 2 is undercover", False),
    ("I think I am the undercover", False),
    ("I think Player 3 is not the undercover", False),
    ("I think Player 3 is undercover. I think Player 2 is undercover.", False),
    ("I think Player 2 thinks Player 3 is undercover", False),
    ("I am not sure.", False),
    ("", False),
    (None, None),
]


def test_undercover():
    games = {str(n): game(UNDERCOVER, 3, (said, None, None)) for n, (said, _) in enumerate(CLAIMS)}
    found = read("role_analyses", **games)
    assert [(said, found[str(n), 1, "gold"]) for n, (said, _) in enumerate(CLAIMS)] == CLAIMS


def test_the_undercover_may_say_so():
    assert gold(None, None, "I think I am the undercover", game_type=UNDERCOVER)[2] is True


def test_inter_compares_with_what_the_others_say_themselves():
    """Player 1 says 3, and that 2 thinks 1; 2 says 1. The chameleon says nothing of itself."""
    one = analysis(1, *NOBODY, p2=[rating(1, "more suspicious")], p3=[rating(2, "more suspicious")])
    two = analysis(2, rating(1, "more suspicious"), p1=[rating(3, "more suspicious")])
    chameleon = (
        "I guess tea\nAs for other players' view now:\nI think now Player 1 think:\n"
        + "\n".join(NOBODY)
        + "\nI think now Player 2 think:\n"
        + rating(1, "more suspicious")
    )
    assert inter(one, two, chameleon) == [True, False, True]
    # Of whom nothing is told, nothing is told rightly; who says nothing cannot be compared with.
    assert inter(one, two, "I guess tea") == [True, False, False]
    assert inter(one, None, "I guess tea") == [None, None, False]


def test_inter_of_undercover_needs_both_to_be_right():
    def answer(own: int, **result: int) -> str:
        lines = [
            f"I think Player {n[1:]} thinks Player {who} is undercover" for n, who in result.items()
        ]
        return "\n".join([f"I think Player {own} is the undercover", *lines])

    answers = (answer(2, p2=3, p3=1), answer(3, p1=2, p3=2), answer(1, p1=2, p2=3))
    assert inter(*answers, game_type=UNDERCOVER) == [True, False, True]


def test_rounds_are_compared_with_themselves():
    early = analysis(2, rating(1, "more suspicious"))
    late = analysis(2, rating(3, "more suspicious"))
    result = analysis(1, *NOBODY, p2=[rating(1, "more suspicious")])
    tables = game(CHAMELEON, 3, (result, early, None), (result, late, None))
    rows = as_ingested(tables, "role_analyses").filter(seat=1, kind="inter").sort("round")
    assert rows["is_correct_as_read"].to_list() == [True, False]


IDENTIFICATIONS = [
    ("I am Player 1, my role is non-chameleon.", True),
    ("I am Player 1, my role is the non-chameleon because I was told the word.", True),
    ('I\'m Player 1. My role is a "non chameleon"', True),
    ("As Player 1, I believe that my role is non-chameleon. I am Player 1.", True),
    ("I am player_1, my role is Non-Chameleon It may be that the chameleon is vague", True),
    ("I am Player 2, my role is non-chameleon.", False),
    ("I am Player 1, my role is chameleon.", False),
    ("I am Player 1, my role is non-chameleon/chameleon.", False),
    ("I am Player 1, my role is chameleon or non-chameleon.", False),
    ("I am Player 1, my role is not sure", False),
    ("My role is non-chameleon.", False),
    ("As Player 2, I say that I am Player 1, my role is non-chameleon", False),
    ("", False),
    (None, None),
]


def test_identification():
    games = {
        str(n): game(CHAMELEON, 3, (said, None, None))
        for n, (said, _) in enumerate(IDENTIFICATIONS)
    }
    found = read("role_identifications", **games)
    assert [
        (said, found[str(n), 1]) for n, (said, _) in enumerate(IDENTIFICATIONS)
    ] == IDENTIFICATIONS


@pytest.mark.parametrize("table", READ)
def test_the_columns_are_what_sql_reads_in_the_messages(table, public_lake):
    """Of many games at once, whose answers an ingest has to keep apart."""
    kind = ", kind" if table == "role_analyses" else ""
    for column in READ[table]:
        select = (
            f"SELECT rows.{column} AS ingested, read.{column} AS read, count(*) AS n "
            f"FROM {table} AS rows FULL JOIN shared.read_{table} AS read "
            f"USING (game_id, seat, round{kind}) GROUP BY ALL"
        )
        with connect(public_lake, metric_views(), select) as connection:
            rows = run_query(connection, select)
        assert rows.filter(pl.col("ingested").ne_missing(pl.col("read"))).is_empty()
        n_roles = 4 if column == "claimed_role" else 2
        assert rows["ingested"].drop_nulls().n_unique() == n_roles


@pytest.mark.parametrize("engine", ENGINES)
def test_on_the_public_games(engine, public_lake):
    """Only what is judged by texts differs from `paper`; no text of these games holds thoughts."""
    of = {
        edition: metrics(public_lake, edition=edition, engine=engine)
        for edition in (PAPER, AUDITED)
    }
    keys = ["metric", "model", "game_type"]
    same = [name for name in NAMES if metric_spec(name, AUDITED) is metric_spec(name, PAPER)]
    assert set(NAMES) - set(same) == {"reasoning", "self_awareness", "rationality"}
    unchanged = pl.col("metric").is_in([*same, "rationality"])
    assert_same(
        of[AUDITED].filter(unchanged).drop("edition"), of[PAPER].filter(unchanged).drop("edition")
    )
    total = (
        of[AUDITED].filter(game_type="all").group_by("metric").agg(pl.col("hits", "counted").sum())
    )
    found = {name: (hits, counted) for name, hits, counted in total.iter_rows()}
    assert found["reasoning"] == (2571, 5385)
    assert found["self_awareness"] == (2341, 3000)
    assert of[AUDITED].select(keys).equals(of[PAPER].select(keys))
