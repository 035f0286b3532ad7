"""Mistakes of a kind of game, which are errors when it is loaded; acts and their columns."""

from types import NoneType
from typing import get_args

import polars as pl
import pytest
from msgspec.structs import fields, replace

from pipeline import column, games
from pipeline.action_tables import ACTION_TABLES
from pipeline.events.contracts import TABLES
from pipeline.game_record import Event
from pipeline.games import Ending, EventTable, GameDefinition, Role, check_definition
from pipeline.plugins import OWN_PACKAGE, PluginError
from pipeline.vocabulary import Side


class Hunt(Event, frozen=True, gc=False):
    prey: str
    target: str | None


PREY = {"prey": column.text_column("what is hunted")}
TARGET = {"target": column.text_column("who is robbed", nullable=True)}
SEAT = {"target_seat": column.small_integer_column("the seat of whoever is robbed", nullable=True)}
KIND = GameDefinition(
    "hunt",
    roles=(Role("wolf", Side.HIDDEN, "wolves"), Role("villager", Side.CIVILIAN, "village")),
    endings=(Ending("won", hidden=1, civilian=0.0), Ending("tie", hidden=0.5), Ending("aborted")),
    tables={"hunts": EventTable(Hunt, "One hunt.", PREY | TARGET | SEAT)},
)


def of_columns(columns: dict[str, column.Column]) -> GameDefinition:
    return replace(KIND, tables={"hunts": EventTable(Hunt, "One hunt.", columns)})


MISTAKES = {
    "a credit is from 0 to 1, but a credit of `won` is 1.5": replace(
        KIND, endings=(Ending("won", hidden=1.5),)
    ),
    "a credit is from 0 to 1, but a credit of `won` is -1": replace(
        KIND, endings=(Ending("won", hidden=1, civilian=-1),)
    ),
    "a credit is from 0 to 1, but a credit of `won` is nan": replace(
        KIND, endings=(Ending("won", hidden=float("nan")),)
    ),
    "several roles have the name `wolf`": replace(
        KIND, roles=(*KIND.roles, Role("wolf", Side.CIVILIAN, "village"))
    ),
    "several endings have the outcome `tie`": replace(KIND, endings=(*KIND.endings, Ending("tie"))),
    "the column `pray` of `hunts` is not a field of Hunt": of_columns(
        PREY | TARGET | {"pray": column.text_column("what is hunted")}
    ),
    "the column `prey_seat` of `hunts` is not a field of Hunt": of_columns(
        PREY | TARGET | {"prey_seat": column.small_integer_column("a seat")}
    ),
    "the field `target` of Hunt is not a column of `hunts`": of_columns(PREY),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_names_the_kind_and_its_package(mistake: str) -> None:
    kind = MISTAKES[mistake]
    for package, of_package in ((OWN_PACKAGE, ""), ("some-games", " of the package some-games")):
        with pytest.raises(PluginError) as raised:
            check_definition(kind, package)
        assert str(raised.value) == f"the game `hunt`{of_package}: {mistake}"


@pytest.mark.parametrize("name", ["votes", "documents", "roles"])
def test_a_table_of_every_lake_is_no_table_of_a_kind(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = TABLES.keys() - {
        table for kind in games.game_definitions().values() for table in kind.tables
    }
    of_kind = replace(KIND, tables={name: KIND.tables["hunts"]})
    monkeypatch.setattr(games, "game_definitions", lambda: {"hunt": of_kind})
    monkeypatch.setattr(games, "_all_sourced_definitions", lambda: (("some-games", of_kind),))
    with pytest.raises(PluginError) as raised:
        games.tables_of_single_game_types(shared)
    assert "the game `hunt` of the package some-games" in str(raised.value)
    assert f"is called `{name}`" in str(raised.value)


def test_a_field_of_an_act_holds_what_its_column_does() -> None:
    texts = tuple[str, ...]
    types = {
        **{str: pl.String, int: pl.Int32, float: pl.Float64, bool: pl.Boolean},
        texts: pl.List(pl.String),
    }
    of_kinds = [
        table for kind in games.game_definitions().values() for table in kind.tables.values()
    ]
    for table in [*ACTION_TABLES.values(), *of_kinds]:
        for field in fields(table.event):
            column = table.columns.get(field.name)
            can_be_null = NoneType in get_args(field.type)
            held = get_args(field.type)[0] if can_be_null else field.type
            if column is not None and held in types:
                assert column.dtype == types[held], field
                assert column.nullable == can_be_null, field
