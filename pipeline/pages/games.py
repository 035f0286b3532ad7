"""Games, found by what they are."""

from collections.abc import Iterable, Sequence

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.column import schema
from pipeline.games import competitions
from pipeline.metrics.paging import order_by
from pipeline.metrics.request import ALL
from pipeline.pages.content import ROWS, Content, Faults, Sorted, game_types, key, paged
from pipeline.reports.games import COLUMNS, KEY, OUTCOMES
from pipeline.vocabulary import Edition

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
    faults, after = Faults(), None
    rows = pl.DataFrame(schema=schema(COLUMNS))
    with faults.of(_field(asked)):
        after = key(asked.after)
        rows = _games(lake, asked, after, ROWS + 1)
    shown, next_key = paged(rows, order_by(asked.sort, KEY), after)
    return GamesContent(
        title="Games",
        rows=shown,
        game_types=game_types(),
        competitions=competitions(),
        outcomes=OUTCOMES,
        after=next_key,
        faults=faults,
    )


def _field(asked: Parameters) -> str:
    """The field that an error is about."""
    known = {"outcome": OUTCOMES, "competition": competitions(), "game_type": (ALL, *game_types())}
    wrong = [name for name, words in known.items() if getattr(asked, name) not in ("", *words)]
    return wrong[0] if wrong else "model"


def whole(lake: AnsweringLake, asked: Parameters) -> Iterable[pl.DataFrame]:
    """All games that meet the conditions, whatever the page."""
    return [_games(lake, asked, None, None)]


def _games(
    lake: AnsweringLake, asked: Parameters, after: Sequence[object] | None, limit: int | None
) -> pl.DataFrame:
    seen = lake.of_system(asked.system) if asked.system else lake
    return seen.games(
        model=asked.model or None,
        game_type=None if asked.game_type == ALL else asked.game_type,
        outcome=asked.outcome or None,
        competition=asked.competition or None,
        setting_id=asked.setting_id or None,
        path=asked.path or None,
        sort=asked.sort or None,
        descending=asked.order == "down",
        after=after,
        limit=limit,
    )
