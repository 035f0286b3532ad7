"""Judgement beside chance."""

from pathlib import Path

import polars as pl
import pytest
from event_tables import assert_same, grid, lake_of, table

import pipeline
from pipeline import warehouse
from pipeline.ingest import ingest
from pipeline.metrics.row_queries import metric_views
from pipeline.simulate import simulate

PLAYERS = """
game | game_type | seat | model | role
1    | werewolf  | 1    | w     | werewolf
1    | werewolf  | 2    | w     | werewolf
1    | werewolf  | 3    | w     | possessed
1    | werewolf  | 4    | m     | villager
1    | werewolf  | 5    | m     | seer
1    | werewolf  | 6    | -     | villager
2    | chameleon | 1    | m     | non_chameleon
2    | chameleon | 2    | m     | non_chameleon
2    | chameleon | 3    | m     | chameleon
3    | werewolf  | 1    | alone | villager
3    | werewolf  | 2    | w     | werewolf
"""
ELIMINATIONS = """
game | game_type | seat | role     | round | cause  | is_before_vote
1    | werewolf  | 4    | villager | 1     | vote   | no
1    | werewolf  | 1    | werewolf | 2     | metric | yes
3    | werewolf  | 2    | werewolf | 1     | vote   | no
"""
VOTES = """
game | game_type | seat | round | model | role          | target | is_correct | parse_status | is_finished | is_valid
1    | werewolf  | 4    | 1     | m     | villager      | p1     | yes        |              |             |
1    | werewolf  | 5    | 1     | m     | seer          | p3     | no         |              |             |
1    | werewolf  | 5    | 2     | m     | seer          | p1     | yes        |              |             | no
1    | werewolf  | 6    | 2     | -     | villager      | -      | no         | unreadable   |             | no
1    | werewolf  | 2    | 1     | w     | werewolf      | p1     | yes        |              |             |
2    | chameleon | 1    | 1     | m     | non_chameleon | p3     | yes        |              |             |
2    | chameleon | 2    | 1     | m     | non_chameleon | p3     | yes        | outage       |             |
3    | werewolf  | 1    | 1     | alone | villager      | p2     | yes        |              |             |
3    | werewolf  | 1    | 2     | alone | villager      | p2     | yes        |              |             | no
"""  # noqa: E501
# In round 1, two of the five others are werewolves: 2/5; the possessed is not sought. In round 2,
# seats 1 and 4 are out, so one of three is: 1/3. At a table of three it is 1/2. The werewolf's vote
# and the outage are not counted. In round 2 of game 3 nobody else is left: no chance is defined.
EXPECTED = """
model | game_type | value | chance | hits | expected | counted | n_games
alone | all       | 1     | -      | 2    | -        | 2       | 1
alone | werewolf  | 1     | -      | 2    | -        | 2       | 1
m     | all       | 3/4   | 49/120 | 3    | 49/30    | 4       | 2
m     | chameleon | 1     | 1/2    | 1    | 1/2      | 1       | 1
m     | werewolf  | 2/3   | 17/45  | 2    | 17/15    | 3       | 1
-     | all       | 0     | 1/3    | 0    | 1/3      | 1       | 1
-     | werewolf  | 0     | 1/3    | 0    | 1/3      | 1       | 1
"""


def test_the_hand_worked_case(tmp_path: Path) -> None:
    tables = {
        "players": table("players", PLAYERS),
        "votes": table("votes", VOTES),
        "eliminations": table("eliminations", ELIMINATIONS),
    }
    lake = lake_of(tmp_path, tables)
    query = (
        "SELECT * EXCLUDE (system) FROM judgement_by_chance ORDER BY model NULLS LAST, game_type"
    )
    with warehouse.connect(lake, metric_views(), query) as connection:
        rows = warehouse.run_query(connection, query)
    expected = pl.DataFrame(
        [_row(cells) for cells in grid(EXPECTED)], schema=rows.schema, orient="row"
    )
    assert_same(rows, expected)


def _row(cells: dict[str, str]) -> list[object]:
    def number(cell: str) -> float | None:
        above, _, below = cell.partition("/")
        return None if cell == "-" else int(above) / int(below or 1)

    model, game_type, *numbers = cells.values()
    return [None if model == "-" else model, game_type, *map(number, numbers)]


@pytest.mark.slow
def test_a_table_of_three_has_a_chance_of_a_half(tmp_path: Path) -> None:
    """All of MAgIC's games with votes have three players, and nobody is out before the votes."""
    simulate(tmp_path / "logs", models=2, games=2, seed=3)
    ingest(tmp_path / "logs", tmp_path / "lake")
    lake = pipeline.open_lake(tmp_path / "lake")
    rows = lake.judgement_by_chance()
    assert rows.height == 6
    assert set(rows["chance"]) == {0.5}
    of_metric = lake.metrics(metric="judgement").drop_nulls("value")
    shared = ["model", "game_type", "value", "hits", "counted", "n_games"]
    assert_same(rows.select(shared), of_metric.sort("model", "game_type").select(shared))
