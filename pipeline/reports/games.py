"""The games of a lake, its models, what the models used, and the games that are missing.

Used by `pipeline.lake_methods`, the CLI and the pages; depends on the tables of games and players.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import polars as pl

from pipeline import column, parameters
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES
from pipeline.game_record import Usage
from pipeline.games import outcome_names
from pipeline.lake import StoredLake
from pipeline.metrics.completeness import (
    expected_games_by_model_and_setting,
    game_counts_by_model_and_setting,
)
from pipeline.metrics.evidence import sort_rows_and_select_page
from pipeline.metrics.registry import MODEL_COLUMN, lake_method_for_single_system
from pipeline.metrics.request import (
    as_list,
    check_competitions_or_roles_exist,
    check_known_names,
    check_models_are_tested,
    check_players,
    selection_condition,
)
from pipeline.metrics.win_rate import RESULT_EXPRESSION, RESULT_NAMES
from pipeline.reports.registry import report
from pipeline.statistics.intervals import order_independent_sum_of_any_size

_SELECTED_SEATS = "of the seats of the requested model, otherwise of the tested seats"
_SEAT_COLUMNS: Mapping[str, column.Column] = {
    "models": column.text_list_column("the tested models, sorted"),
    "role": column.text_column(f"the roles {_SELECTED_SEATS}, joined by ', '", nullable=True),
    "side": column.text_column(f"the sides {_SELECTED_SEATS}, joined by ', '", nullable=True),
    "result": column.text_column(
        f"the results {_SELECTED_SEATS}, joined by ', ': `won` (a credit of 1), `lost` (of 0) or "
        "`shared`; null for an unfinished game and for seats that are not tested",
        nullable=True,
    ),
    "score": column.number_column(
        f"the final points {_SELECTED_SEATS}; null if unknown, or if the seats differ in points"
    ),
    "winners": column.text_list_column(
        "the tested models with a credit of 1, sorted; null if the game has no result"
    ),
}
_AVAILABLE_COLUMNS = {**TABLES["games"].columns(), **_SEAT_COLUMNS}
_AVAILABLE_COLUMNS["n_rounds"] = _AVAILABLE_COLUMNS["n_rounds"].with_heading("rounds")
_AVAILABLE_COLUMNS["n_messages"] = _AVAILABLE_COLUMNS["n_messages"].with_heading("messages")
GAMES_COLUMNS: Mapping[str, column.Column] = {
    name: _AVAILABLE_COLUMNS[name]
    for name in (
        *("game_id", "game_type", *_SEAT_COLUMNS),
        *("outcome", "is_finished", "n_rounds", "n_messages"),
        *("setting_id", "game_index", "source", "path", "system"),
    )
}
UNFINISHED = "unfinished"
OUTCOME_CHOICES = (*outcome_names(), UNFINISHED)
SORT_KEY = ("counting", "path", "game_id")
# Numbers in paths get twelve digits, so that 2 is sorted before 10.
_NATURAL_SORT_KEY = (
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
            "NAME", "Only games that count for this competition", "games.win_rate_competition_names"
        ),
    ] = None,
    setting_id: Annotated[
        str | None, parameters.option_spec("ID", "Only this setting: its id or beginning.")
    ] = None,
    outcome: Annotated[
        str | Sequence[str] | None,
        parameters.repeatable_option_spec(
            "OUTCOME", "Only this outcome, or `unfinished`", "reports.games.OUTCOME_CHOICES"
        ),
    ] = None,
    role: Annotated[
        str | Sequence[str] | None,
        parameters.repeatable_option_spec(
            "ROLE",
            'Only games with this role in one of the seats; `magic sql "FROM roles"` lists those '
            "of each game type",
            "games.role_names",
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

    A game is listed if all conditions hold. The games are sorted by the path of their log. Role,
    side, result and score describe the seats of the requested model, otherwise those of the first
    of two models, otherwise the tested seats. If these seats differ, all their roles, sides and
    results are listed, and the score is empty. A result is `shared` if the credit for it is between
    0 and 1. A seat that is not tested has no result.

    \b
    Examples:
      magic games --outcome unfinished
      magic games --model gpt-4 --role undercover --lost
      magic games --model gpt-4 --game-type chameleon --limit 10
      magic games --path undercover/ --format csv > games.csv

    Raises UsageError for an unknown model, game type, competition, role, result or outcome, for a
    competition or role that none of the requested game types has, if `between` names one model
    twice, and for a column by which rows cannot be sorted.

    A seat of the model (without a model: a tested seat) must have the competition, role and result
    (won, lost or shared). With `role`, the columns describe the seats in this role. Rows are sorted
    by the column `sort` first, with nulls last; the first `offset` rows are skipped.

    >>> caught = lake.games(game_type="undercover", outcome="caught")
    >>> caught.select("models", "n_rounds", "path").rows()[0]
    (['sim-atlas'], 2, 'undercover/sim-atlas_competition_as_non_undercover_vs_gpt4/0.json')
    """
    models, game_types, outcomes = as_list(model), as_list(game_type), as_list(outcome)
    seats = {"competition": as_list(competition), "role": as_list(role)}
    for name, names in seats.items():
        check_competitions_or_roles_exist(lake, name, names, game_types)
    check_known_names("outcome", outcomes, OUTCOME_CHOICES)
    check_known_names("result", results := as_list(result), RESULT_NAMES)
    check_players(lake, models)
    check_players(lake, between)
    if between is not None and len(set(between)) != 2:
        raise UsageError(f"specify two different models, not {', '.join(between)}")
    models = between[:1] if models is None and between else models
    # Without a model, only tested seats are considered.
    includes_untested = pl.lit(models is not None and seats["competition"] is None)
    is_selected = selection_condition(model=models, **seats) & (
        includes_untested | pl.col("is_tested")
    )
    game_rows, players = lake.table("games"), lake.table("players")
    for model_name in between or ():
        game_rows = game_rows.join(players.filter(model=model_name), on="game_id", how="semi")
    if models is not None or any(model_name is not None for model_name in seats.values()):
        game_rows = game_rows.join(players.filter(is_selected), on="game_id", how="semi")
    if results is not None:
        matching_results = lake.table("results").filter(
            is_selected, RESULT_EXPRESSION.is_in(results)
        )
        game_rows = game_rows.join(matching_results, on="game_id", how="semi")
    game_rows = game_rows.filter(selection_condition(game_type=game_types))
    if setting_id is not None:
        game_rows = game_rows.filter(pl.col("setting_id").str.starts_with(setting_id))
    if path is not None:
        game_rows = game_rows.filter(pl.col("path").str.contains(path, literal=True))
    if outcomes is not None:
        is_unfinished_match = ~pl.col("is_finished") & (UNFINISHED in outcomes)
        game_rows = game_rows.filter(is_unfinished_match | pl.col("outcome").is_in(outcomes))
    if sort in _SEAT_COLUMNS:
        game_rows = _add_columns_of_selected_seats(lake, game_rows, is_selected)
    page = sort_rows_and_select_page(
        game_rows.with_columns(counting=_NATURAL_SORT_KEY),
        GAMES_COLUMNS,
        SORT_KEY,
        offset=offset,
        limit=limit,
        sort=sort,
        descending=descending,
    ).collect()
    if sort not in _SEAT_COLUMNS:
        is_on_page = pl.col("game_id").is_in(page["game_id"].to_list())
        page = _add_columns_of_selected_seats(lake, page.lazy(), is_selected, is_on_page).collect()
    return page.select(*GAMES_COLUMNS)


def _add_columns_of_selected_seats(
    lake: StoredLake,
    game_rows: pl.LazyFrame,
    is_selected: pl.Expr,
    game_condition: pl.Expr | bool = True,
) -> pl.LazyFrame:
    """Add the models, roles, sides, results and scores of the selected seats to each game.

    Args:
        lake: The lake of the games.
        game_rows: The games.
        is_selected: The condition that selects seats.
        game_condition: Only seats that meet it are read; it selects at least the games.
    """
    # A condition on several columns is slow in a group, so it is computed as a column first.
    seats = (
        lake.table("players")
        .filter(game_condition)
        .with_columns(is_selected=is_selected)
        .group_by("game_id")
    )
    results = lake.table("results").filter(game_condition, "is_tested")
    score = pl.col("final_score").filter("is_selected")
    seat_columns = seats.agg(
        models=_sorted_model_names("is_tested"),
        role=_join_distinct_values_of_selected_seats("role"),
        side=_join_distinct_values_of_selected_seats("side"),
        score=pl.when(score.n_unique() == 1).then(score.first()),
    )
    has_all_results = pl.col("result").null_count() == 0
    result_columns = (
        results.with_columns(result=RESULT_EXPRESSION, is_selected=is_selected)
        .group_by("game_id")
        .agg(
            result=_join_distinct_values_of_selected_seats("result"),
            winners=pl.when(has_all_results).then(_sorted_model_names(pl.col("result") == "won")),
        )
    )
    for game_columns in (seat_columns, result_columns):
        game_rows = game_rows.join(game_columns, on="game_id", how="left", maintain_order="left")
    return game_rows


def _sorted_model_names(condition: pl.Expr | str) -> pl.Expr:
    return pl.col("model").filter(condition).drop_nulls().unique().sort().implode()


def _join_distinct_values_of_selected_seats(name: str) -> pl.Expr:
    """Return the distinct values of a column as one string, null if a value is unknown."""
    values = pl.col(name).filter("is_selected")
    has_all_values = (values.len() > 0) & (values.null_count() == 0)
    return pl.when(has_all_values).then(values.unique().sort().str.join(", "))


# The models of a lake: the number of games of each name, similar names, and what each model used.

MODELS_COLUMNS: Mapping[str, column.Column] = {
    "model": column.text_column("the name of a model, as in the logs"),
    "n_games": column.count_column("games in which it is under test").with_heading("games"),
    "n_other_games": column.count_column(
        "games in which it has a seat that is not under test"
    ).with_heading("other seats"),
    "is_bot": column.boolean_column(
        "whether a log says that it is a rule-based bot and not a language model; null if unknown",
        nullable=True,
    ).with_heading("bot"),
    "looks_like": column.text_column(
        "all similar names under test, including its own, with their lengths and games; or `no "
        "model` for a name such as `unknown`; null for a unique name, or one not under test",
        nullable=True,
    ),
}
_MEASURES = Usage.__struct_fields__
USAGE_COLUMNS: Mapping[str, column.Column] = {
    "model": column.text_column("the name of a model"),
    "measure": column.category_column(
        _MEASURES, "what is measured: input and output tokens, seconds of its calls, or US dollars"
    ),
    "n_games": column.count_column(
        "games whose logs state the measure for all seats of the model"
    ).with_heading("games"),
    "n_played": column.count_column("all games in which the model has a seat").with_heading("of"),
    "total": column.amount_column("the sum over these games, in the measure's unit"),
    "per_game": column.amount_column(
        "the mean over these games; the seats of the model in a game are added up"
    ),
}
_NO_MODEL = "no model"
_NAMES_OF_NO_MODEL = ("", "none", "null", "nan", "unknown", "undefined")
# Blanks, hyphens and invisible characters.
_IGNORED_CHARACTERS = r"[\s\p{Z}\p{C}\p{Pd}_\x{FE00}-\x{FE0F}]"


@report(columns=MODELS_COLUMNS, is_of_system=False)
def models(lake: StoredLake) -> pl.DataFrame:
    """List the names of models: how many games each has, and which look alike.

    Two names are similar if they differ only in case, blanks, hyphens, invisible characters or a
    provider before a slash. Similar names are not merged automatically: each name is counted
    separately. To count several names as one model, write a map of names and pass it to any command
    that counts (--names FILE) or to `open_lake`. The lake does not change.

    \b
    A map of names, such as names.toml:
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
    return _count_games_by_model_name(lake).select(*MODELS_COLUMNS)


@report(columns=USAGE_COLUMNS, is_of_system=False)
def usage(lake: StoredLake, *, model: str | Sequence[str] | None = None) -> pl.DataFrame:
    """List what each model used, where logs say it: tokens, seconds and US dollars.

    The sum and the mean per game are over the games whose logs state what the model used in all of
    its seats; other games are excluded from the measure. A model without such a game has no row.
    The measures do not affect any ranking.

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
    measure_columns = pl.col(_MEASURES)
    usage_by_game = players.group_by("model", "game_id").agg(
        pl.when(measure_columns.is_not_null().all())
        .then(order_independent_sum_of_any_size(measure_columns))
        .cast(pl.Float64)
    )
    used, n_games = pl.col("used"), pl.col("used").count().cast(pl.Int64)
    measure_order = pl.col("measure").replace_strict(
        {name: position for position, name in enumerate(_MEASURES)}
    )
    return (
        usage_by_game.unpivot(_MEASURES, index="model", variable_name="measure", value_name="used")
        .group_by("model", "measure")
        .agg(
            n_games=n_games,
            n_played=pl.len().cast(pl.Int64),
            total=order_independent_sum_of_any_size(used),
        )
        .filter(pl.col("n_games") > 0)
        .with_columns(per_game=pl.col("total") / pl.col("n_games"))
        .sort("model", measure_order)
        .collect(engine="streaming")
    )


def describe_similar_model_names(lake: StoredLake) -> list[str]:
    """Return one line of text for each group of model names that look alike.

    Args:
        lake: The lake whose model names are compared.

    Returns:
        For each group the names with their lengths and numbers of games, separated by commas. Names
        that mean that the model is unknown are one group.
    """
    groups = (
        _count_games_by_model_name(lake)
        .drop_nulls("looks_like")
        .group_by("looks_like", maintain_order=True)
    )
    return groups.agg(pl.col("spelling").str.join(", "))["spelling"].sort().to_list()


def _count_games_by_model_name(lake: StoredLake) -> pl.DataFrame:
    """Return one row for each model name, with its numbers of games and the names like it.

    `sql/shared/alike_names.sql` computes the same. This function does not use DuckDB, so that an
    ingest does not have to start it.
    """
    model, normalized_name, n_games = pl.col("model"), pl.col("bare"), pl.col("n_games")
    is_tested, is_unique = pl.col("is_tested"), n_games.ge(1).sum().over("bare") < 2
    game_id, players = pl.col("game_id"), lake.table("players").filter(model.is_not_null())
    name_counts = players.group_by(model.cast(pl.String)).agg(
        n_games=game_id.filter(is_tested).n_unique().cast(pl.Int64),
        n_other_games=game_id.filter(~is_tested).n_unique().cast(pl.Int64),
        is_bot=pl.col("is_bot").any(ignore_nulls=False),
    )
    plural = pl.when(n_games > 1).then(pl.lit("s")).otherwise(pl.lit(""))
    spelling = pl.format(
        '"{}" ({} characters, {} game{})', model, model.str.len_chars(), n_games, plural
    )
    without_provider = model.str.replace("^.*/([^/]+)$", "$1").str.normalize("NFC")
    is_no_model = normalized_name.is_in(_NAMES_OF_NO_MODEL) | (
        model.str.strip_chars().str.to_lowercase() == "n/a"
    )
    similar_spellings = pl.col("spelling").filter(n_games > 0).str.join(", ").over("bare")
    description = pl.when(is_no_model).then(pl.lit(_NO_MODEL)).when(~is_unique)
    return (
        name_counts.collect(engine="streaming")
        .sort("model")
        .with_columns(
            spelling=spelling,
            bare=without_provider.str.to_lowercase().str.replace_all(_IGNORED_CHARACTERS, ""),
        )
        .with_columns(looks_like=pl.when(n_games > 0).then(description.then(similar_spellings)))
        .sort("looks_like", "model", nulls_last=True)
    )


# The missing games: those that each model still has to play or to finish.

SETTING_COLUMNS = (
    *("topic", "word", "other_word", "hidden_player", "tested_player", "n_rounds_fixed"),
    *("multiplier", "payoff_cooperate", "payoff_defect", "payoff_one_defect", "payoff_two_defect"),
    "setting",
)
_SETTING_KEY = ["model", "competition", "setting_id"]
_GAME_TABLE_COLUMNS = TABLES["games"].columns()
MISSING_COLUMNS: Mapping[str, column.Column] = {
    "model": MODEL_COLUMN,
    "competition": column.text_column("the competition for which the game counts"),
    "game_type": _GAME_TABLE_COLUMNS["game_type"],
    "setting_id": _GAME_TABLE_COLUMNS["setting_id"],
    "game_index": column.count_column(
        "the lowest number of a game of this setting and competition"
    ),
    "n_missing": column.count_column(
        "games of the setting that the model still has to finish"
    ).with_heading("missing"),
    "n_expected": column.count_column(
        "number of expected games, as in `completeness`"
    ).with_heading("expected"),
    "n_unfinished": column.count_column("the model's unfinished games of the setting").with_heading(
        "unfinished"
    ),
    "paths": column.text_list_column("the paths of the logs of the unfinished games"),
    **{name: _GAME_TABLE_COLUMNS[name] for name in SETTING_COLUMNS},
}


@lake_method_for_single_system(MISSING_COLUMNS, has_edition=False)
def missing(
    lake: StoredLake,
    *,
    model: str | Sequence[str] | None = None,
    competition: str | Sequence[str] | None = None,
) -> pl.DataFrame:
    """Return a row for each model and setting of which it finished fewer games than expected.

    The settings are those that any model played. The expected number of games of a setting is the
    median over the models that finished one. A game that cannot be repeated is a setting of its
    own, and is missing only if the model began it and did not finish it.

    Raises UsageError for a model without games, and for an unknown competition.

    >>> lake.missing(model="sim-atlas").height
    0
    """
    check_models_are_tested(lake, model)
    check_competitions_or_roles_exist(lake, "competition", competition)
    first_indices = (
        lake.table("results")
        .filter("is_tested")
        .group_by("competition", "setting_id")
        .agg(pl.col("game_index").min())
    )
    unfinished_results = lake.table("results").filter("is_tested", ~pl.col("is_finished"))
    game_paths = lake.table("games").select("game_id", "path")
    unfinished = (
        unfinished_results.select(*_SETTING_KEY, "game_id")
        .unique()
        .join(game_paths, on="game_id", how="left")
        .group_by(_SETTING_KEY)
        .agg(n_unfinished=pl.len().cast(pl.Int64), paths=pl.col("path").drop_nulls().sort())
    )
    # The columns that were fixed before play are equal in all games of a setting.
    setting_columns = (
        lake.table("games").group_by("setting_id").agg(pl.col(*SETTING_COLUMNS).first())
    )
    n_missing = pl.col("n_expected") - pl.col("n_finished")
    return (
        expected_games_by_model_and_setting(lake.compute_once(game_counts_by_model_and_setting))
        .lazy()
        .filter(selection_condition(model=model, competition=competition), n_missing > 0)
        .with_columns(n_missing=n_missing)
        .join(first_indices, on=["competition", "setting_id"], how="left")
        .join(unfinished, on=_SETTING_KEY, how="left", nulls_equal=True)
        .join(setting_columns, on="setting_id", how="left")
        .with_columns(pl.col("n_unfinished").fill_null(0), pl.col("paths").fill_null([]))
        .select(*MISSING_COLUMNS)
        .sort("model", "competition", "game_index", "setting_id", nulls_last=True)
        .collect()
    )
