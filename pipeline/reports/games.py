"""A list of games by model, type, setting, outcome and path; page by page for long lists."""

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline import column
from pipeline.column import Column, listed
from pipeline.events.contracts import TABLES
from pipeline.games import names, outcomes
from pipeline.lake import StoredLake
from pipeline.metrics.paging import order_by, page_of
from pipeline.metrics.request import chosen, several
from pipeline.metrics.validation import check_competitions, check_players, check_words

_KNOWN = {**TABLES["games"].columns(), "models": column.texts("the tested models, sorted")}
_KNOWN["n_rounds"] = _KNOWN["n_rounds"].shown("rounds")
_KNOWN["n_messages"] = _KNOWN["n_messages"].shown("messages")
COLUMNS: Mapping[str, Column] = {
    name: _KNOWN[name]
    for name in (
        *("game_id", "game_type", "models", "outcome", "is_finished", "n_rounds", "n_messages"),
        *("setting_id", "game_index", "source", "path"),
    )
}
UNFINISHED = "unfinished"
OUTCOMES = (*outcomes(), UNFINISHED)
KEY = ("path", "game_id")


@listed(COLUMNS)
def games(
    lake: StoredLake,
    *,
    model: str | Sequence[str] | None = None,
    game_type: str | Sequence[str] | None = None,
    competition: str | Sequence[str] | None = None,
    setting_id: str | None = None,
    outcome: str | Sequence[str] | None = None,
    path: str | None = None,
    sort: str | None = None,
    descending: bool = False,
    after: Sequence[object] | None = None,
    limit: int | None = None,
) -> pl.DataFrame:
    """A row for each game that meets all conditions, sorted by path, at most `limit`.

    `model` plays in the game, tested or not. `competition` is one that the game counts for: with
    `model`, for this model. `setting_id` is the id or its beginning, and `path` a part of the path
    of the log. `outcome` is a word of the column `outcome`, or `unfinished`. Rows are sorted by the
    column `sort` first, nulls last. `after` is this column, the path and the game_id of the last
    row of the page before, and how many rows alike in these were shown.

    Raises UsageError for an unknown model, game type, competition or outcome, and for a column that
    rows cannot be sorted by.

    >>> caught = lake.games(game_type="undercover", outcome="caught")
    >>> caught.select("models", "n_rounds", "path").rows()[0]
    (['sim-atlas'], 2, 'undercover/sim-atlas_competition_as_non_undercover_vs_gpt4/0.json')
    """
    models, game_types, outcomes = several(model), several(game_type), several(outcome)
    check_words("game type", game_types, names())
    competitions = several(competition)
    check_competitions(lake, competitions)
    check_words("outcome", outcomes, OUTCOMES)
    check_players(lake, models)
    rows = lake.table("games")
    order = order_by(sort, KEY, COLUMNS)
    if models is not None or competitions is not None:
        rows = rows.join(_sides(lake, models, competitions), on="game_id", how="semi")
    rows = rows.filter(chosen(game_type=game_types))
    if setting_id is not None:
        rows = rows.filter(pl.col("setting_id").str.starts_with(setting_id))
    if path is not None:
        rows = rows.filter(pl.col("path").str.contains(path, literal=True))
    if outcomes is not None:
        is_cut_off = ~pl.col("is_finished") & (UNFINISHED in outcomes)
        rows = rows.filter(is_cut_off | pl.col("outcome").is_in(outcomes))
    page = page_of(rows, order, after, limit, descending=descending).collect()
    return _with_models(lake, page).select(*COLUMNS)


def _sides(
    lake: StoredLake, models: Sequence[str] | None, competitions: Sequence[str] | None
) -> pl.LazyFrame:
    """The players with these models; where competitions are asked for, the results in these."""
    rows = lake.table("players" if competitions is None else "results")
    if competitions is not None:
        rows = rows.filter("is_tested")
    return rows.filter(chosen(model=models, competition=competitions))


def _with_models(lake: StoredLake, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the names of the tested models, sorted."""
    ids = rows["game_id"].to_list()
    models = (
        lake.table("players")
        .filter(pl.col("game_id").is_in(ids), "is_tested")
        .group_by("game_id")
        .agg(models=pl.col("model").drop_nulls().unique().sort())
        .collect()
    )
    return rows.join(models, on="game_id", how="left", maintain_order="left")
