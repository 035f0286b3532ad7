"""The page of one whole game, or of two side by side.

As long as roles are hidden, messages stay, since they are the game. Whatever else depends on who
has which role goes: columns, rows of events, and what metrics counted, since a metric of roles
counts only those of one side.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from pipeline.answers import AnsweringLake
from pipeline.errors import UsageError
from pipeline.games import kinds
from pipeline.metrics.known import titles
from pipeline.pages.content import SAME_EDITION, Content, Field, Page, address
from pipeline.present.table import ID_SHOWN
from pipeline.reports.parts import EVERYBODY, Part, parts, seats, title
from pipeline.reports.tables import unknown_notes
from pipeline.reports.transcript import Transcript
from pipeline.vocabulary import Phase


class OneGame(Struct, frozen=True):
    """One game as it is shown.

    `counted` are the places of the parts in which something was counted, and `private` those of
    messages that may say a role, which are hidden.
    """

    game: Mapping[str, Any]
    players: tuple[Mapping[str, Any], ...]
    parts: tuple[Part, ...]
    counted: tuple[str, ...]
    private: tuple[str, ...]


def content(lake: AnsweringLake, asked: Any) -> Content:
    """The game, and the one beside it.

    `rows` are the messages of the first game; `games` are one or two. `are_roles_hidden` says that
    the game has roles and that they are not shown, and so neither is what was counted in it.
    """
    if not asked.game:
        raise UsageError("this page needs a game: choose one on the page of games")
    ids = [asked.game, *([asked.beside] if asked.beside else [])]
    whole = [lake.game(one, edition=asked.edition) for one in ids]
    hides = [has_roles(one.game) and not asked.roles for one in whole]
    transcripts = [without_roles(one) if h else one for one, h in zip(whole, hides, strict=True)]
    shown = tuple(
        _one_game(one, asked, hides_roles=h) for one, h in zip(transcripts, hides, strict=True)
    )
    counted = pl.concat([one.counted for one in transcripts])
    marked = counted["metric"].unique(maintain_order=True)
    return Content(
        title=" beside ".join(map(_title, transcripts)),
        rows=transcripts[0].tables["messages"],
        parts={
            "games": shown,
            "counted": counted,
            "metrics": {name: titles()[name] for name in marked},
            "are_roles_hidden": any(hides),
        },
        unknown=unknown_notes(lake, {str(one.game["game_type"]) for one in transcripts}),
    )


def _title(one: Transcript) -> str:
    return f"{title(one.game).capitalize()} {str(one.game['game_id'])[:ID_SHOWN]}"


def _one_game(transcript: Transcript, asked: Any, *, hides_roles: bool) -> OneGame:
    is_wanted = pl.lit(value=True) if not asked.metric else pl.col("metric") == asked.metric
    shown = parts(transcript.tables, transcript.counted.filter(is_wanted), transcript.sources)
    return OneGame(
        game=transcript.game,
        players=tuple(seats(transcript.tables).to_dicts()),
        parts=tuple(shown),
        counted=tuple(part.place for part in shown if part.is_counted),
        private=tuple(part.place for part in shown if hides_roles and _may_say_role(part)),
    )


def _may_say_role(part: Part) -> bool:
    """Whether it is a private message, other than a vote for a player: it is often about a role."""
    is_private = part.message is not None and part.to != EVERYBODY
    return is_private and part.message["phase"] != Phase.VOTE  # type: ignore[index]


# --- hidden roles -------------------------------------------------------------------------------

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


def _without(rows: pl.DataFrame, *columns: str) -> pl.DataFrame:
    known = [name for name in columns if name in rows.columns]
    return rows.with_columns(pl.lit(None, rows.schema[name]).alias(name) for name in known)


PAGES = {
    "game": Page(
        address(
            Field("game"),
            Field("beside"),
            Field("metric"),
            SAME_EDITION,
            Field("roles", kind=bool, default=True),
        ),
        content,
        lane="quick",
    )
}
