"""What a page of a game leaves out as long as roles are hidden.

Messages stay, since they are the game. Whatever else depends on who has which role goes: columns,
rows of events, and what metrics counted, since a metric of roles counts only those of one side.
"""

from collections.abc import Mapping

import polars as pl

from pipeline.games import kind
from pipeline.reports.said import EVERYBODY
from pipeline.reports.transcript import Transcript
from pipeline.vocabulary import Phase

_OF_PLAYER = ("role", "side", "competition")
# A path has the role that its model was tested in, and an outcome says who of the voted was hidden.
_OF_GAME = (
    *("path", "source", "outcome", "outcome_code", "word", "other_word", "hidden_player"),
    *("tested_player", "setting"),
)
_OF_VOTE = ("is_correct",)
_SHOWN = ("games", "players", "messages", "votes")
_IS_NOTE = pl.col("seat").is_null() & ~pl.col("visible_to").list.contains(pl.lit(EVERYBODY))
_OF_ONESELF = (Phase.IDENTIFICATION, Phase.ANALYSIS, Phase.REFLECTION, Phase.GUESS)


def has_roles(game: Mapping[str, object]) -> bool:
    """Whether the players of the game have hidden roles."""
    return kind(str(game["game_type"])).has_sides


def without_roles(found: Transcript) -> Transcript:
    """The game without whatever says a role, but for the messages; whoever was sent a private note
    of the moderator is left out too."""
    tables = {
        name: _without(rows if name in _SHOWN else rows.clear(), *_OF_PLAYER)
        for name, rows in found.tables.items()
    }
    tables["games"] = _without(tables["games"], *_OF_GAME)
    tables["votes"] = _without(tables["votes"], *_OF_VOTE)
    nobody = pl.when(~_IS_NOTE).then("visible_to").otherwise(pl.lit([], pl.List(pl.String)))
    tables["messages"] = tables["messages"].with_columns(visible_to=nobody)
    return Transcript(tables, found.counted.clear(), found.edition)


def may_say_role(message: Mapping[str, object], *, is_to_all: bool) -> bool:
    """Whether a message of a game with roles is a private one that is often about one's role."""
    return not is_to_all and (message["seat"] is None or message["phase"] in _OF_ONESELF)


def _without(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    known = [name for name in columns if name in rows.columns]
    return rows.with_columns(pl.lit(None, rows.schema[name]).alias(name) for name in known)
