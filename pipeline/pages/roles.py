"""What a page of a game leaves out as long as roles are hidden.

Messages stay, since they are the game. Whatever else depends on who has which role goes: columns,
rows of events, and what metrics counted, since a metric of roles counts only those of one side.
"""

from collections.abc import Mapping

import polars as pl
from msgspec.structs import replace

from pipeline.games import kinds
from pipeline.reports.parts import EVERYBODY
from pipeline.reports.transcript import Transcript
from pipeline.vocabulary import Phase

_PLAYER_COLUMNS = ("role", "side", "competition")
# A path has the role that its model was tested in, and an outcome says who of the voted was hidden.
_GAME_COLUMNS = (
    *("path", "source", "outcome", "outcome_code", "word", "other_word", "hidden_player"),
    *("tested_player", "setting", "ended_by"),
)
# What all players see of a game, and in it the columns that only one who knows the roles can fill.
# A cause is that of a side: werewolves attack only others.
_SHOWN: Mapping[str, tuple[str, ...]] = {
    "games": _GAME_COLUMNS,
    "players": (),
    "messages": (),
    "votes": ("is_correct",),
    "eliminations": ("cause",),
    "team_proposals": (),
    "team_votes": (),
}
_SPEAKER_COLUMNS = ("player", "seat", "model", "is_tested")
_IS_NOTE = pl.col("seat").is_null() & ~pl.col("visible_to").list.contains(pl.lit(EVERYBODY))


def has_roles(game: Mapping[str, object]) -> bool:
    """Whether the players of the game have hidden roles."""
    kind = kinds().get(str(game["game_type"]))
    # Of a game whose package is gone nobody knows it.
    return kind is None or kind.has_sides


def without_roles(transcript: Transcript) -> Transcript:
    """The game without whatever says a role, but for the texts of messages.

    Whoever was sent a private note of the moderator is left out too, and so is whoever spoke where
    only some roles speak."""
    tables = {
        name: _without(
            rows if name in _SHOWN else rows.clear(), *_PLAYER_COLUMNS, *_SHOWN.get(name, ())
        )
        for name, rows in transcript.tables.items()
    }
    tables["messages"] = _messages(tables["messages"], str(transcript.game["game_type"]))
    return replace(transcript, tables=tables, counted=transcript.counted.clear())


def _messages(messages: pl.DataFrame, game_type: str) -> pl.DataFrame:
    known = kinds().get(game_type)
    is_secret = pl.col("phase").is_in(known.secret_phases if known else [])
    nobody = pl.when(_IS_NOTE | is_secret).then(pl.lit([], pl.List(pl.String)))
    return messages.with_columns(
        nobody.otherwise("visible_to").alias("visible_to"),
        *(pl.when(~is_secret).then(name).alias(name) for name in _SPEAKER_COLUMNS),
    )


def may_say_role(message: Mapping[str, object], *, is_to_all: bool) -> bool:
    """Whether a message of a game with roles is a private one, other than a vote for a player: it
    is often about one's role."""
    return not is_to_all and message["phase"] != Phase.VOTE


def _without(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    known = [name for name in columns if name in rows.columns]
    return rows.with_columns(pl.lit(None, rows.schema[name]).alias(name) for name in known)
