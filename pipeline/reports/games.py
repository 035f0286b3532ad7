"""A list of games by who sat in them, how they ended, type, setting and path; page by page."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import polars as pl

from pipeline import column, declared
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES
from pipeline.games import outcomes
from pipeline.lake import StoredLake
from pipeline.metrics.paging import page_of
from pipeline.metrics.request import check_of_roles, check_players, check_words, chosen, several
from pipeline.metrics.win_rate import RESULT, RESULTS
from pipeline.reports.declared import report

_OF_SEATS = "of the seats of the model asked for, else of the tested ones"
_BY_SEATS: Mapping[str, column.Column] = {
    "models": column.texts("the tested models, sorted"),
    "role": column.text(f"the roles {_OF_SEATS}, joined by ', '", nullable=True),
    "side": column.text(f"the sides {_OF_SEATS}, joined by ', '", nullable=True),
    "result": column.text(
        f"the results {_OF_SEATS}, joined by ', ': `won` (a credit of 1), `lost` (of 0) or "
        "`shared`; null if unfinished, and for seats that are not tested",
        nullable=True,
    ),
    "score": column.number(
        f"the points at the end {_OF_SEATS}; null if unknown, or if these seats have different ones"
    ),
    "winners": column.texts(
        "the tested models with a credit of 1, sorted; null if the game has no result"
    ),
}
_KNOWN = {**TABLES["games"].columns(), **_BY_SEATS}
_KNOWN["n_rounds"] = _KNOWN["n_rounds"].shown("rounds")
_KNOWN["n_messages"] = _KNOWN["n_messages"].shown("messages")
COLUMNS: Mapping[str, column.Column] = {
    name: _KNOWN[name]
    for name in (
        *("game_id", "game_type", *_BY_SEATS),
        *("outcome", "is_finished", "n_rounds", "n_messages"),
        *("setting_id", "game_index", "source", "path", "system"),
    )
}
UNFINISHED = "unfinished"
OUTCOMES = (*outcomes(), UNFINISHED)
KEY = ("counting", "path", "game_id")
# Names of files in the order of their numbers: 2 before 10, so each has twelve digits.
_COUNTING = (
    pl.col("path")
    .str.replace_all(r"\d+", "000000000000${0}")
    .str.replace_all(r"\d*(\d{12})", "${1}")
)


@report("Games behind them", columns=COLUMNS, is_of_system=False)
def games(
    lake: StoredLake,
    *,
    model: Annotated[
        str | Sequence[str] | None,
        declared.several("MODEL", "Only games in which this model sits, tested or not", "models"),
    ] = None,
    game_type: str | Sequence[str] | None = None,
    competition: Annotated[
        str | Sequence[str] | None,
        declared.several(
            "NAME", "Only games that count for this competition", "games.competitions"
        ),
    ] = None,
    setting_id: Annotated[
        str | None, declared.option("ID", "Only this setting: its id or beginning.")
    ] = None,
    outcome: Annotated[
        str | Sequence[str] | None,
        declared.several("OUTCOME", "Only this outcome, or `unfinished`", "reports.games.OUTCOMES"),
    ] = None,
    role: Annotated[
        str | Sequence[str] | None,
        declared.several(
            "ROLE",
            'Only games with this role in one of the seats; `magic sql "FROM roles"` lists those '
            "of each game type",
            "games.roles",
        ),
    ] = None,
    result: str | Sequence[str] | None = None,
    between: Annotated[
        tuple[str, str] | None,
        declared.option("A B", "Only games in which both models sit.", suggested="models"),
    ] = None,
    path: Annotated[
        str | None, declared.option("TEXT", "Only logs whose path contains this text.")
    ] = None,
    sort: str | None = None,
    descending: bool = False,
    limit: Annotated[int | None, declared.option("N", "Only the first N games.", min=0)] = None,
    offset: int = 0,
) -> pl.DataFrame:
    """List games: who played in which role, with which result, and the log they are from.

    All conditions must hold; the games are sorted by the path of their log. Role, side, result and
    score are of the seats of the model asked for, else of the first of two models, else of the
    tested seats. Of seats that differ, roles, sides and results are listed, and the score is left
    out. A result is `shared` if the credit for it is between 0 and 1. A seat that is not tested has
    none.

    \b
    Examples:
      magic games --outcome unfinished
      magic games --model gpt-4 --role undercover --lost
      magic games --model gpt-4 --game-type chameleon --limit 10
      magic games --path undercover/ --format csv > games.csv

    Raises UsageError for an unknown model, game type, competition, role, result or outcome, for a
    competition or role of none of the game types asked for, for one model twice in `between`, and
    for a column that rows cannot be sorted by.

    A competition, a role and a result (won, lost or shared) are of one of the seats of this model,
    or else of a tested one; with `role` the columns are of the seats in this role. Rows are sorted
    by the column `sort` first, nulls last; the first `offset` are left out.

    >>> caught = lake.games(game_type="undercover", outcome="caught")
    >>> caught.select("models", "n_rounds", "path").rows()[0]
    (['sim-atlas'], 2, 'undercover/sim-atlas_competition_as_non_undercover_vs_gpt4/0.json')
    """
    models, game_types, outcomes = several(model), several(game_type), several(outcome)
    seats = {"competition": several(competition), "role": several(role)}
    for name, words in seats.items():
        check_of_roles(lake, name, words, game_types)
    check_words("outcome", outcomes, OUTCOMES)
    check_words("result", results := several(result), RESULTS)
    check_players(lake, models)
    check_players(lake, between)
    if between is not None and len(set(between)) != 2:
        raise UsageError(f"name two different models, not {', '.join(between)}")
    models = between[:1] if models is None and between else models
    # Without a model, seats and results are of the tested ones.
    is_any = pl.lit(models is not None and seats["competition"] is None)
    is_asked = chosen(model=models, **seats) & (is_any | pl.col("is_tested"))
    rows, players = lake.table("games"), lake.table("players")
    for one in between or ():
        rows = rows.join(players.filter(model=one), on="game_id", how="semi")
    if models is not None or any(one is not None for one in seats.values()):
        rows = rows.join(players.filter(is_asked), on="game_id", how="semi")
    if results is not None:
        ended = lake.table("results").filter(is_asked, RESULT.is_in(results))
        rows = rows.join(ended, on="game_id", how="semi")
    rows = rows.filter(chosen(game_type=game_types))
    if setting_id is not None:
        rows = rows.filter(pl.col("setting_id").str.starts_with(setting_id))
    if path is not None:
        rows = rows.filter(pl.col("path").str.contains(path, literal=True))
    if outcomes is not None:
        is_cut_off = ~pl.col("is_finished") & (UNFINISHED in outcomes)
        rows = rows.filter(is_cut_off | pl.col("outcome").is_in(outcomes))
    if sort in _BY_SEATS:
        rows = _with_seats(lake, rows, is_asked)
    page = page_of(
        rows.with_columns(counting=_COUNTING),
        COLUMNS,
        KEY,
        offset=offset,
        limit=limit,
        sort=sort,
        descending=descending,
    ).collect()
    if sort not in _BY_SEATS:
        is_shown = pl.col("game_id").is_in(page["game_id"].to_list())
        page = _with_seats(lake, page.lazy(), is_asked, is_shown).collect()
    return page.select(*COLUMNS)


def _with_seats(
    lake: StoredLake, rows: pl.LazyFrame, is_asked: pl.Expr, is_shown: pl.Expr | bool = True
) -> pl.LazyFrame:
    """The games with the columns `_BY_SEATS`, of the seats `is_asked`; read where `is_shown`."""
    # A condition of several columns takes long in each group, and a column does not.
    seats = (
        lake.table("players").filter(is_shown).with_columns(is_asked=is_asked).group_by("game_id")
    )
    results = lake.table("results").filter(is_shown, "is_tested")
    score = pl.col("final_score").filter("is_asked")
    of_seats = seats.agg(
        models=_names("is_tested"),
        role=_joined("role"),
        side=_joined("side"),
        score=pl.when(score.n_unique() == 1).then(score.first()),
    )
    is_known = pl.col("result").null_count() == 0
    of_results = (
        results.with_columns(result=RESULT, is_asked=is_asked)
        .group_by("game_id")
        .agg(
            result=_joined("result"),
            winners=pl.when(is_known).then(_names(pl.col("result") == "won")),
        )
    )
    for columns in (of_seats, of_results):
        rows = rows.join(columns, on="game_id", how="left", maintain_order="left")
    return rows


def _names(is_one: pl.Expr | str) -> pl.Expr:
    return pl.col("model").filter(is_one).drop_nulls().unique().sort().implode()


def _joined(name: str) -> pl.Expr:
    """The different values of what is asked for, in one text; null if one is unknown, or none."""
    values = pl.col(name).filter("is_asked")
    is_known = (values.len() > 0) & (values.null_count() == 0)
    return pl.when(is_known).then(values.unique().sort().str.join(", "))
