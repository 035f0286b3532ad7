"""Games, found by what they are."""

from collections.abc import Iterable, Sequence
from functools import partial

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.games import competitions, names
from pipeline.pages.content import Content, Sorted, choices, game_types, listing
from pipeline.reports.games import COLUMNS, KEY, OUTCOMES
from pipeline.vocabulary import ALL, Edition

LANE = "quick"


class Parameters(Sorted, frozen=True, kw_only=True):
    model: str = ""
    game_type: str = ALL
    outcome: str = ""
    competition: str = ""
    setting_id: str = ""
    system: str = ""
    path: str = ""
    edition: Edition = "paper"


class GamesContent(Content, frozen=True, kw_only=True):
    """`rows` are those of `games`, a page of them; `after` is the key of the next page."""

    game_types: tuple[str, ...]
    competitions: tuple[str, ...]
    outcomes: tuple[str, ...]
    after: str | None


def content(lake: AnsweringLake, asked: Parameters) -> GamesContent:
    """A page of the games that meet all conditions."""
    seen = lake.of_system(asked.system) if asked.system in lake.systems else lake
    return GamesContent(
        title="Games",
        game_types=game_types(seen, asked.game_type),
        competitions=competitions(),
        outcomes=OUTCOMES,
        **listing(asked, _field(asked), COLUMNS, KEY, partial(_games, lake, asked)),
    )


def _field(asked: Parameters) -> str:
    """The field that an error is about."""
    known = {"outcome": OUTCOMES, "competition": competitions(), "game_type": (ALL, *names())}
    wrong = [name for name, words in known.items() if getattr(asked, name) not in ("", *words)]
    return wrong[0] if wrong else "model"


def whole(lake: AnsweringLake, asked: Parameters) -> Iterable[pl.DataFrame]:
    """All games that meet the conditions, whatever the page."""
    return [_games(lake, asked)]


def _games(
    lake: AnsweringLake,
    asked: Parameters,
    after: Sequence[object] | None = None,
    limit: int | None = None,
) -> pl.DataFrame:
    seen = lake.of_system(asked.system) if asked.system else lake
    conditions = ("model", "game_type", "outcome", "competition", "setting_id", "path")
    return seen.games(**choices(asked, *conditions), after=after, limit=limit)
