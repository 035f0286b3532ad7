"""A list of games by who sat in them, how they ended, type, setting and path; page by page."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import polars as pl

from pipeline import column, parameters
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES
from pipeline.game_record import Usage
from pipeline.games import outcome_names
from pipeline.lake import StoredLake
from pipeline.metrics.completeness import expected_games, played_games
from pipeline.metrics.evidence import sorted_page
from pipeline.metrics.registry import MODEL_COLUMN, per_system
from pipeline.metrics.request import (
    as_list,
    check_models,
    check_players,
    check_role_columns,
    check_words,
    selection_condition,
)
from pipeline.metrics.win_rate import RESULT_EXPRESSION, RESULT_NAMES
from pipeline.reports.registry import report
from pipeline.statistics.intervals import scaled_sum

_OF_SEATS = "of the seats of the model asked for, else of the tested ones"
_BY_SEATS: Mapping[str, column.Column] = {
    "models": column.text_list_column("the tested models, sorted"),
    "role": column.text_column(f"the roles {_OF_SEATS}, joined by ', '", nullable=True),
    "side": column.text_column(f"the sides {_OF_SEATS}, joined by ', '", nullable=True),
    "result": column.text_column(
        f"the results {_OF_SEATS}, joined by ', ': `won` (a credit of 1), `lost` (of 0) or "
        "`shared`; null if unfinished, and for seats that are not tested",
        nullable=True,
    ),
    "score": column.number_column(
        f"the points at the end {_OF_SEATS}; null if unknown, or if these seats have different ones"
    ),
    "winners": column.text_list_column(
        "the tested models with a credit of 1, sorted; null if the game has no result"
    ),
}
_KNOWN = {**TABLES["games"].columns(), **_BY_SEATS}
_KNOWN["n_rounds"] = _KNOWN["n_rounds"].with_heading("rounds")
_KNOWN["n_messages"] = _KNOWN["n_messages"].with_heading("messages")
GAMES_COLUMNS: Mapping[str, column.Column] = {
    name: _KNOWN[name]
    for name in (
        *("game_id", "game_type", *_BY_SEATS),
        *("outcome", "is_finished", "n_rounds", "n_messages"),
        *("setting_id", "game_index", "source", "path", "system"),
    )
}
UNFINISHED = "unfinished"
OUTCOME_CHOICES = (*outcome_names(), UNFINISHED)
KEY = ("counting", "path", "game_id")
# Names of files in the order of their numbers: 2 before 10, so each has twelve digits.
_COUNTING = (
    pl.col("path")
    .str.replace_all(r"\d+", "000000000000${0}")
    .str.replace_all(r"\d*(\d{12})", "${1}")
)


@report(columns=GAMES_COLUMNS, is_of_system=False)
def games(
    lake: StoredLake,
    *,
    model: Annotated[
        str | Sequence[str] | None,
        parameters.repeatable_option_spec(
            "MODEL", "Only games in which this model sits, tested or not", "models"
        ),
    ] = None,
    game_type: str | Sequence[str] | None = None,
    competition: Annotated[
        str | Sequence[str] | None,
        parameters.repeatable_option_spec(
            "NAME", "Only games that count for this competition", "games.competitions"
        ),
    ] = None,
    setting_id: Annotated[
        str | None, parameters.option_spec("ID", "Only this setting: its id or beginning.")
    ] = None,
    outcome: Annotated[
        str | Sequence[str] | None,
        parameters.repeatable_option_spec(
            "OUTCOME", "Only this outcome, or `unfinished`", "reports.games.OUTCOMES"
        ),
    ] = None,
    role: Annotated[
        str | Sequence[str] | None,
        parameters.repeatable_option_spec(
            "ROLE",
            'Only games with this role in one of the seats; `magic sql "FROM roles"` lists those '
            "of each game type",
            "games.roles",
        ),
    ] = None,
    result: str | Sequence[str] | None = None,
    between: Annotated[
        tuple[str, str] | None,
        parameters.option_spec("A B", "Only games in which both models sit.", suggested="models"),
    ] = None,
    path: Annotated[
        str | None, parameters.option_spec("TEXT", "Only logs whose path contains this text.")
    ] = None,
    sort: str | None = None,
    descending: bool = False,
    limit: Annotated[
        int | None, parameters.option_spec("N", "Only the first N games.", min=0)
    ] = None,
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
    models, game_types, outcomes = as_list(model), as_list(game_type), as_list(outcome)
    seats = {"competition": as_list(competition), "role": as_list(role)}
    for name, words in seats.items():
        check_role_columns(lake, name, words, game_types)
    check_words("outcome", outcomes, OUTCOME_CHOICES)
    check_words("result", results := as_list(result), RESULT_NAMES)
    check_players(lake, models)
    check_players(lake, between)
    if between is not None and len(set(between)) != 2:
        raise UsageError(f"name two different models, not {', '.join(between)}")
    models = between[:1] if models is None and between else models
    # Without a model, seats and results are of the tested ones.
    is_any = pl.lit(models is not None and seats["competition"] is None)
    is_asked = selection_condition(model=models, **seats) & (is_any | pl.col("is_tested"))
    rows, players = lake.table("games"), lake.table("players")
    for one in between or ():
        rows = rows.join(players.filter(model=one), on="game_id", how="semi")
    if models is not None or any(one is not None for one in seats.values()):
        rows = rows.join(players.filter(is_asked), on="game_id", how="semi")
    if results is not None:
        ended = lake.table("results").filter(is_asked, RESULT_EXPRESSION.is_in(results))
        rows = rows.join(ended, on="game_id", how="semi")
    rows = rows.filter(selection_condition(game_type=game_types))
    if setting_id is not None:
        rows = rows.filter(pl.col("setting_id").str.starts_with(setting_id))
    if path is not None:
        rows = rows.filter(pl.col("path").str.contains(path, literal=True))
    if outcomes is not None:
        is_cut_off = ~pl.col("is_finished") & (UNFINISHED in outcomes)
        rows = rows.filter(is_cut_off | pl.col("outcome").is_in(outcomes))
    if sort in _BY_SEATS:
        rows = _with_seats(lake, rows, is_asked)
    page = sorted_page(
        rows.with_columns(counting=_COUNTING),
        GAMES_COLUMNS,
        KEY,
        offset=offset,
        limit=limit,
        sort=sort,
        descending=descending,
    ).collect()
    if sort not in _BY_SEATS:
        is_shown = pl.col("game_id").is_in(page["game_id"].to_list())
        page = _with_seats(lake, page.lazy(), is_asked, is_shown).collect()
    return page.select(*GAMES_COLUMNS)


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
        results.with_columns(result=RESULT_EXPRESSION, is_asked=is_asked)
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


# The models in a lake: how many games each name has, which look alike, and what each used.

MODELS_COLUMNS: Mapping[str, column.Column] = {
    "model": column.text_column("the name of a model, as logs write it"),
    "n_games": column.count_column("games in which it is under test").with_heading("games"),
    "n_other_games": column.count_column(
        "games in which it has a seat that is not under test"
    ).with_heading("other seats"),
    "is_bot": column.boolean_column(
        "whether a log says of it that it follows rules and is no language model; null if unknown",
        nullable=True,
    ).with_heading("bot"),
    "looks_like": column.text_column(
        "every name under test that looks like it, its own too, with lengths and games; or that it "
        "stands for no model; null for a name like no other, or not under test",
        nullable=True,
    ),
}
_MEASURES = Usage.__struct_fields__
USAGE_COLUMNS: Mapping[str, column.Column] = {
    "model": column.text_column("the name of a model"),
    "measure": column.category_column(
        _MEASURES, "what is measured: tokens in and out, seconds of its calls, or US dollars"
    ),
    "n_games": column.count_column(
        "games whose logs say it of all seats of the model"
    ).with_heading("games"),
    "n_played": column.count_column("all games that the model has a seat in").with_heading("of"),
    "total": column.amount_column("the sum over these games, in the measure's unit"),
    "per_game": column.amount_column("the mean of these games; seats of the model are added up"),
}
_NOBODY = "no model"
_NAMES_OF_NOBODY = ("", "none", "null", "nan", "unknown", "undefined")
# Blanks, hyphens, and signs that nobody sees.
_NOT_READ = r"[\s\p{Z}\p{C}\p{Pd}_\x{FE00}-\x{FE0F}]"


@report(columns=MODELS_COLUMNS, is_of_system=False)
def models(lake: StoredLake) -> pl.DataFrame:
    """List the names of models: how many games each has, and which look alike.

    Names look alike that differ in case, blanks, hyphens, a provider before a slash or signs that
    nobody sees. Nothing is joined by guess: each name is counted by itself. To count several as one
    model, write a map of names, and give it to any command that counts, as --names FILE, or to
    `open_lake`. The lake does not change.

    \b
    A map, such as names.toml:
      [models]
      "openai/gpt-4o" = "gpt-4o"
      "GPT-4o" = "gpt-4o"

    \b
    Examples:
      magic models
      magic models --format csv

    >>> lake.models().filter(model="sim-atlas").rows()
    [('sim-atlas', 28, 0, False, None)]
    """
    return _named(lake).select(*MODELS_COLUMNS)


@report(columns=USAGE_COLUMNS, is_of_system=False)
def usage(lake: StoredLake, *, model: str | Sequence[str] | None = None) -> pl.DataFrame:
    """List what each model used, where logs say it: tokens, seconds and US dollars.

    The sum and the mean of a game are over the games whose logs say what the model used in all of
    its seats: others are left out of the measure. Nothing is ranked by it. Without any such game
    there is no row.

    \b
    Examples:
      magic usage
      magic usage --model gpt-4 --format json

    Raises UsageError for an unknown model.

    >>> lake.usage().rows()
    []
    """
    check_players(lake, model)
    players = lake.table("players").filter(
        pl.col("model").is_not_null(), selection_condition(model=model)
    )
    measures = pl.col(_MEASURES)
    of_game = players.group_by("model", "game_id").agg(
        pl.when(measures.is_not_null().all()).then(scaled_sum(measures)).cast(pl.Float64)
    )
    used, n_games = pl.col("used"), pl.col("used").count().cast(pl.Int64)
    order = pl.col("measure").replace_strict({name: n for n, name in enumerate(_MEASURES)})
    return (
        of_game.unpivot(_MEASURES, index="model", variable_name="measure", value_name="used")
        .group_by("model", "measure")
        .agg(
            n_games=n_games,
            n_played=pl.len().cast(pl.Int64),
            total=scaled_sum(used),
        )
        .filter(pl.col("n_games") > 0)
        .with_columns(per_game=pl.col("total") / pl.col("n_games"))
        .sort("model", order)
        .collect(engine="streaming")
    )


def similar_names(lake: StoredLake) -> list[str]:
    """The names that look alike, a text for each group; those that stand for no model are one."""
    groups = _named(lake).drop_nulls("looks_like").group_by("looks_like", maintain_order=True)
    return groups.agg(pl.col("spelling").str.join(", "))["spelling"].sort().to_list()


def _named(lake: StoredLake) -> pl.DataFrame:
    """`sql/shared/alike_names.sql` says the same: without DuckDB, an ingest need not start it."""
    model, bare, n_games = pl.col("model"), pl.col("bare"), pl.col("n_games")
    is_tested, is_alone = pl.col("is_tested"), n_games.ge(1).sum().over("bare") < 2
    game, players = pl.col("game_id"), lake.table("players").filter(model.is_not_null())
    named = players.group_by(model.cast(pl.String)).agg(
        n_games=game.filter(is_tested).n_unique().cast(pl.Int64),
        n_other_games=game.filter(~is_tested).n_unique().cast(pl.Int64),
        is_bot=pl.col("is_bot").any(ignore_nulls=False),
    )
    plural = pl.when(n_games > 1).then(pl.lit("s")).otherwise(pl.lit(""))
    text = pl.format(
        '"{}" ({} characters, {} game{})', model, model.str.len_chars(), n_games, plural
    )
    without_provider = model.str.replace("^.*/([^/]+)$", "$1").str.normalize("NFC")
    is_nobody = bare.is_in(_NAMES_OF_NOBODY) | (model.str.strip_chars().str.to_lowercase() == "n/a")
    all_like_it = pl.col("spelling").filter(n_games > 0).str.join(", ").over("bare")
    of_several = pl.when(is_nobody).then(pl.lit(_NOBODY)).when(~is_alone)
    return (
        named.collect(engine="streaming")
        .sort("model")
        .with_columns(
            spelling=text, bare=without_provider.str.to_lowercase().str.replace_all(_NOT_READ, "")
        )
        .with_columns(looks_like=pl.when(n_games > 0).then(of_several.then(all_like_it)))
        .sort("looks_like", "model", nulls_last=True)
    )


# The games that are missing: what each model has still to play or to finish.

SETTING_COLUMNS = (
    *("topic", "word", "other_word", "hidden_player", "tested_player", "n_rounds_fixed"),
    *("multiplier", "payoff_cooperate", "payoff_defect", "payoff_one_defect", "payoff_two_defect"),
    "setting",
)
_OF_SIDE = ["model", "competition", "setting_id"]
_OF_GAMES = TABLES["games"].columns()
MISSING_COLUMNS: Mapping[str, column.Column] = {
    "model": MODEL_COLUMN,
    "competition": column.text_column("what the game counts for"),
    "game_type": _OF_GAMES["game_type"],
    "setting_id": _OF_GAMES["setting_id"],
    "game_index": column.count_column(
        "the lowest number of a game of this setting and competition"
    ),
    "n_missing": column.count_column("games of it that the model has still to finish").with_heading(
        "missing"
    ),
    "n_expected": column.count_column("how many were expected: as in `completeness`").with_heading(
        "expected"
    ),
    "n_unfinished": column.count_column("the model's games of it without an end").with_heading(
        "unfinished"
    ),
    "paths": column.text_list_column("the logs of these"),
    **{name: _OF_GAMES[name] for name in SETTING_COLUMNS},
}


@per_system(MISSING_COLUMNS, has_edition=False)
def missing(
    lake: StoredLake,
    *,
    model: str | Sequence[str] | None = None,
    competition: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """The missing games: a row for each model and setting of which it finished fewer than expected.

    The settings are those that any model played; of each the median of what the models that
    finished one have is expected. A game that cannot be repeated is a setting of its
    own, and is missing only if the model began it and did not finish it.

    Raises UsageError for a model without games, and for an unknown competition.

    >>> lake.missing(model="sim-atlas").height
    0
    """
    check_models(lake, model)
    check_role_columns(lake, "competition", competition)
    number = (
        lake.table("results")
        .filter("is_tested")
        .group_by("competition", "setting_id")
        .agg(pl.col("game_index").min())
    )
    cut_off = lake.table("results").filter("is_tested", ~pl.col("is_finished"))
    games = lake.table("games").select("game_id", "path")
    unfinished = (
        cut_off.select(*_OF_SIDE, "game_id")
        .unique()
        .join(games, on="game_id", how="left")
        .group_by(_OF_SIDE)
        .agg(n_unfinished=pl.len().cast(pl.Int64), paths=pl.col("path").drop_nulls().sort())
    )
    # What was fixed before play is the same in all games of a setting.
    fixed = lake.table("games").group_by("setting_id").agg(pl.col(*SETTING_COLUMNS).first())
    n_missing = pl.col("n_expected") - pl.col("n_finished")
    return (
        expected_games(lake.cached(played_games))
        .lazy()
        .filter(selection_condition(model=model, competition=competition), n_missing > 0)
        .with_columns(n_missing=n_missing)
        .join(number, on=["competition", "setting_id"], how="left")
        .join(unfinished, on=_OF_SIDE, how="left", nulls_equal=True)
        .join(fixed, on="setting_id", how="left")
        .with_columns(pl.col("n_unfinished").fill_null(0), pl.col("paths").fill_null([]))
        .select(*MISSING_COLUMNS)
        .sort("model", "competition", "game_index", "setting_id", nulls_last=True)
        .collect()
    )
