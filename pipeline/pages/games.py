"""Games, found by what they are."""

import json
from collections.abc import Iterable, Sequence

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.metrics.request import ALL
from pipeline.pages.content import ROWS, Address, Content, Faults, game_types
from pipeline.pages.evidence import key
from pipeline.reports.games import COLUMNS, OUTCOMES
from pipeline.vocabulary import Edition

LANE = "quick"


class Parameters(Address, frozen=True, kw_only=True):
    model: str = ""
    game_type: str = ALL
    outcome: str = ""
    setting_id: str = ""
    path: str = ""
    edition: Edition = "paper"
    after: str = ""


class GamesContent(Content, frozen=True, kw_only=True):
    """`rows` are those of `games`, a page of them; `after` is the key of the next page."""

    game_types: tuple[str, ...]
    outcomes: tuple[str, ...]
    after: str | None


def content(lake: AnsweringLake, asked: Parameters) -> GamesContent:
    """A page of the games that meet all conditions."""
    faults = Faults()
    rows = pl.DataFrame(schema=dict.fromkeys(COLUMNS, pl.String))
    is_of_model = asked.model and asked.game_type in (ALL, *game_types())
    is_of_outcome = asked.outcome not in ("", *OUTCOMES)
    with faults.of("outcome" if is_of_outcome else "model" if is_of_model else "game_type"):
        after = [str(one) for one in key(asked.after) or []] or None
        rows = _games(lake, asked, after, ROWS + 1)
    shown = rows.head(ROWS)
    is_more = rows.height > ROWS
    return GamesContent(
        title="Games",
        rows=shown,
        game_types=game_types(),
        outcomes=OUTCOMES,
        after=json.dumps(shown.select("path", "game_id").row(-1)) if is_more else None,
        faults=faults,
    )


def whole(lake: AnsweringLake, asked: Parameters) -> Iterable[pl.DataFrame]:
    """All games that meet the conditions, whatever the page."""
    return [_games(lake, asked, None, None)]


def _games(
    lake: AnsweringLake, asked: Parameters, after: Sequence[str] | None, limit: int | None
) -> pl.DataFrame:
    return lake.games(
        model=asked.model or None,
        game_type=None if asked.game_type == ALL else asked.game_type,
        outcome=asked.outcome or None,
        setting_id=asked.setting_id or None,
        path=asked.path or None,
        after=after,
        limit=limit,
    )
