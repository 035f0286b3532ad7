"""One whole game, or two of them side by side."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from msgspec import Struct

from pipeline.answers import AnsweringLake
from pipeline.errors import UsageError
from pipeline.metrics.known import titles
from pipeline.pages.address import SAME_EDITION, Field, address
from pipeline.pages.content import Content
from pipeline.pages.roles import has_roles, may_say_role, without_roles
from pipeline.present.table import ID_SHOWN
from pipeline.reports.parts import EVERYBODY, Part, parts, seats, title
from pipeline.reports.tables import unknown_notes
from pipeline.reports.transcript import Transcript

LANE = "quick"


Parameters = address(
    Field("game"),
    Field("beside"),
    Field("metric"),
    SAME_EDITION,
    Field("roles", kind=bool, default=True),
)


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
    if part.message is None:
        return False
    return may_say_role(part.message, is_to_all=part.to == EVERYBODY)
