"""Games, found by what they are."""

from collections.abc import Iterable
from typing import Any

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.games import competitions, roles
from pipeline.metrics.win_rate import RESULTS
from pipeline.pages.address import (
    AFTER,
    GAME_TYPE,
    SAME_EDITION,
    Field,
    address,
    given,
    sorting,
    text,
    word,
)
from pipeline.pages.content import Content, listing, sort_of
from pipeline.reports.games import COLUMNS, KEY, OUTCOMES

LANE = "quick"
_CONDITIONS = (
    *("model", "game_type", "role", "result", "outcome", "competition", "setting_id", "path"),
)
Parameters = address(
    *sorting(),
    AFTER,
    text("model", "Model", "any", 16),
    GAME_TYPE,
    word("role", "Role", lambda *_: roles(), nothing="any"),
    word("result", "Result", lambda *_: RESULTS, nothing="any"),
    word("outcome", "Outcome", lambda *_: OUTCOMES, nothing="any"),
    word("competition", "Competition", lambda *_: competitions(), nothing="any"),
    text("setting_id", "Setting begins with", "id", 12),
    Field("system"),
    text("path", "File contains", "path"),
    SAME_EDITION,
)


def content(lake: AnsweringLake, asked: Any) -> Content:
    """A page of the games that meet all conditions."""
    fields = {name: given(asked, name) for name in _CONDITIONS} | {"sort": sort_of(asked)}

    def games(**conditions: Any) -> pl.DataFrame:
        return _seen(lake, asked).games(**conditions)

    return listing(asked, COLUMNS, KEY, games, fields, title="Games")


def whole(lake: AnsweringLake, asked: Any) -> Iterable[pl.DataFrame]:
    """All games that meet the conditions, whatever the page."""
    return [_seen(lake, asked).games(**given(asked, *_CONDITIONS), **sort_of(asked))]


def _seen(lake: AnsweringLake, asked: Any) -> AnsweringLake:
    return lake.of_system(asked.system) if asked.system else lake
