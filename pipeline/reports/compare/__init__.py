"""Models against each other, and one model's own groups: differences, intervals and p-values."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any

import polars as pl
from msgspec.structs import replace

from pipeline import column
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.metrics import (
    DEFAULT_CONFIDENCE,
    PAPER,
    MetricResult,
    compute_metrics,
    metrics,
    registry,
)
from pipeline.metrics.completeness import played_games
from pipeline.metrics.evidence import check_limit
from pipeline.metrics.registry import LACKS_DTYPE, per_system
from pipeline.metrics.request import (
    Request,
    as_list,
    common_row_schema,
    is_game_column,
    parse_condition,
    requested_metrics,
    typed_constant,
)
from pipeline.metrics.row_queries import game_selection, sql_literals
from pipeline.parameters import GAME_TYPES_OPTION, option_spec, split_names
from pipeline.reports.compare.differences import (
    COLUMNS,
    SCHEMA,
    adjusted,
    check_margin,
    check_pairs,
    compared,
    finished,
    models_of,
    of_models,
    of_values,
    on_common,
    within,
)
from pipeline.reports.registry import report
from pipeline.sql_files import quote_identifier
from pipeline.statistics.pairs import pairwise_differences as pairs_differences
from pipeline.vocabulary import ALL_GAME_TYPES, RELEASE, Edition

# Models of different systems, named as MODEL@SYSTEM: compared in the games that both play alike.
#
# Such a comparison is unpaired, also where settings are called the same: two harnesses ask in
# different words. It is of model and harness together.

_AT = "@"
_ALIKE = "those where n_players = 3"


def system_of(lake: StoredLake, name: str) -> str | None:
    """The system that MODEL@SYSTEM names; None for the name of a model, and without a system."""
    system = name.rpartition(_AT)[2]
    is_of_system = (
        _AT in name and system in lake.systems and name not in lake.cached(_names_with_at)
    )
    return system if is_of_system else None


def _names_with_at(lake: StoredLake) -> set[str]:
    """The models whose own names have the sign."""
    models = lake.table("players").filter(pl.col("model").cast(pl.String).str.contains(_AT))
    return {*models.select("model").unique().collect(engine="streaming")["model"]}


def model_without_system(lake: StoredLake, name: str) -> str:
    """The model that MODEL@SYSTEM names; the whole name where it ends with no system."""
    return name if system_of(lake, name) is None else name.rpartition(_AT)[0]


def model_with_system(lake: StoredLake, name: str) -> str:
    """The model with its system: by default the lake's."""
    return name if system_of(lake, name) else f"{name}{_AT}{lake.system}"


def across(
    lake: StoredLake,
    request: Request,
    answer: Callable[[StoredLake, Request], MetricResult],
) -> MetricResult:
    """The answers for the request's models, of several systems, over the types that all play.

    Raises UsageError where there is none, or one that they play by different rules.
    """
    models: dict[str, list[str]] = {}
    for name in request.models or ():
        models.setdefault(str(system_of(lake, name)), []).append(model_without_system(lake, name))
    parts = {system: lake.for_system(system) for system in models}
    types = _same_rules(parts, request)
    found = []
    for system, part in parts.items():
        own = answer(part, replace(request, models=tuple(models[system]), game_types=types))
        named = own.with_columns(pl.col("model").cast(pl.String) + f"{_AT}{system}")
        # No setting is one of another system, too.
        cluster = pl.col("cluster").cast(pl.String) + f"{_AT}{system}"
        found.append(named._replace(sums=named.sums.with_columns(cluster)))
    return MetricResult.of_all(found, replace(request, game_types=types))


def _same_rules(parts: Mapping[str, StoredLake], request: Request) -> tuple[str, ...]:
    """The game types that all systems play, of those asked for; each with the same rules."""
    asked = request.game_types
    rules = pl.concat(_rules(part, system, request) for system, part in parts.items())
    types = sorted(set.intersection(*[set(rules.filter(system=one)["game_type"]) for one in parts]))
    wanted = tuple(one for one in types if asked is None or one in asked)
    names = " and ".join(parts)
    if not wanted:
        what = f"none of {', '.join(asked)}" if asked else "no game type in common"
        raise UsageError(f"cannot compare {names}: they play {what}")
    for one in wanted:
        by_system = dict(rules.filter(game_type=one).select("system", "rules").iter_rows())
        if len(set(by_system.values())) > 1:
            said = "; ".join(f"in {system} {text}" for system, text in by_system.items())
            others = [f"the game type {other}" for other in wanted if other != one]
            hint = f"; choose games alike: {' or '.join([*others, _ALIKE])}"
            raise UsageError(f"cannot compare {names}: the rules of {one} differ: {said}{hint}")
    return wanted


def _rules(lake: StoredLake, system: str, request: Request) -> pl.DataFrame:
    """What a lake says of the rules of each game type: its sides and roles, and how many play.

    A condition on games alone chooses among these.
    """
    played, chosen = lake.table("games"), game_selection(lake.table, request)
    played = chosen.keep_selected(played) if chosen else played
    role = pl.format("{} ({})", pl.col("role").cast(pl.String), pl.col("side").cast(pl.String))
    players = lake.table("players").filter(pl.col("role").is_not_null())
    players = players.join(played.select("game_id"), on="game_id", how="semi")
    roles = players.group_by("game_type").agg(role.unique().sort().str.join(", ").alias("roles"))
    sizes = pl.col("n_players").unique().sort().cast(pl.String).str.join(" or ")
    games = played.group_by("game_type").agg(sizes)
    text = pl.format("{} players: {}", pl.col("n_players"), pl.col("roles").fill_null("no roles"))
    return (
        games.join(roles, on="game_type", how="left")
        .with_columns(
            pl.col("game_type").cast(pl.String), text.alias("rules"), system=pl.lit(system)
        )
        .select("game_type", "system", "rules")
        .collect()
    )


# Models with and without a method: which belong together, and the mean of their differences.
#
# The mean over models is a difference of two values, each the mean of its side: a weighted sum of
# the ratios of all its models. So it has p, interval and pairing of any two models (`differences`),
# with what all models together add at a setting as that setting's contribution. Where some models
# are paired and others are not, it is unpaired, and so not the mean of the differences: those of
# paired models are over their common settings.

OF_METHOD: Mapping[str, column.Column] = {
    **COLUMNS,
    "n_models": column.count_column(
        "1; or the number of models whose mean it is: then `model` and `other` are null"
    ).with_heading("models"),
}
_WITH, _WITHOUT = "with", "without"


def suffix_pairs(models: Iterable[str], method: str) -> list[tuple[str, str]]:
    """The models whose names end with the method, each with that of the rest of its name.

    Raises UsageError if there is no such pair.
    """
    pairs = _by_suffix(set(models), method)
    if not pairs:
        raise UsageError(
            f"no model is there with and without `{method}`: name what the names of models with it "
            "end with, such as pgm, or a column and its value, such as setting.prompt=v2"
        )
    return pairs


def _by_suffix(models: set[str], method: str) -> list[tuple[str, str]]:
    suffix = re.compile(rf"(.+)[-+_: ]{re.escape(method.lstrip('-+_: '))}", re.IGNORECASE)
    found = ((name, suffix.fullmatch(name)) for name in sorted(models))
    return [(name, match[1]) for name, match in found if match and match[1] in models]


def by_value(
    ask: Callable[[str], MetricResult],
    method: str,
    where: str | None,
    schema: Mapping[str, pl.DataType],
) -> tuple[MetricResult, list[tuple[str, str]]]:
    """The answer with two values of each model, and these as pairs: with the method and without.

    The method is a column of rows of this schema and its value, as in setting.prompt=v2; a model
    with it is called so. `ask` answers for rows that meet a condition, and `where` is one. Raises
    UsageError if no model has both, and for a wrong column or value.
    """
    name, _, value = method.partition("=")
    wanted = typed_constant(name, value, schema.get(name, pl.String()))
    # A comment may end the condition.
    also = f" AND ({where}\n)" if where else ""
    own, others = (
        ask(f"({quote_identifier(name)} {sign} {wanted}){also}")
        for sign in ("=", "IS DISTINCT FROM")
    )
    both = [{*answer.rows["model"].drop_nulls()} for answer in (own, others)]
    if not (models := set.intersection(*both)):
        is_named = _by_suffix(set.union(*both), value)
        hint = f"; names of models end with it, so ask for `{value}` alone" if is_named else ""
        raise UsageError(f"no model has games with {name} {value} and games without{hint}")
    ending = f", {name} {value}"
    own = own.with_columns(pl.col("model") + ending)
    pairs = [(f"{model}{ending}", model) for model in sorted(models)]
    return MetricResult.of_all([own, others], others.request), pairs


def with_means(answer: MetricResult, rows: pl.DataFrame, confidence: float) -> pl.DataFrame:
    """The rows of `compared`, and after those of each metric that has several their mean.

    A mean is over the models that have a difference.
    """
    valued = rows.drop_nulls("difference").filter(pl.len().over("metric") > 1)
    sides = pl.concat(
        valued.select("metric", pair="model", side=pl.lit(side), model=model)
        for side, model in ((_WITH, "model"), (_WITHOUT, "other"))
    ).with_columns(n=pl.len().over("metric", "side"))
    term = pl.format("{}: {}", "pair", "term")
    terms, sums = (
        frame.join(sides, on=["metric", "model"]).with_columns(model="side", term=term)
        for frame in (answer.terms, answer.sums)
    )
    terms = terms.with_columns(weight=pl.col("weight") / pl.col("n"))
    means = valued.group_by("metric", maintain_order=True).agg(
        pl.col("value", "other_value").mean(),
        pl.col("thin", "other_thin").explode().drop_nulls(),
        n_models=pl.len().cast(pl.Int64),
    )
    found = [
        pairs_differences(
            sums.lazy().filter(metric=name),
            terms.lazy().filter(metric=name),
            [(_WITH, _WITHOUT)],
            confidence,
        ).select(pl.lit(name).alias("metric"), pl.exclude("one", "other"))
        for name in means["metric"]
    ]
    own = rows.with_columns(n_models=pl.lit(1, pl.Int64))
    if not found:
        return own
    known = means.join(pl.concat(found), on="metric").with_columns(
        common_value=on_common("one"), other_common_value=on_common("other")
    )
    order = {name: at for at, name in enumerate(rows["metric"].unique(maintain_order=True))}
    both = pl.concat([own, known], how="diagonal").select(*SCHEMA, "n_models", "basis")
    return both.sort(pl.col("metric").replace_strict(order), maintain_order=True)


# The settings in which two models differ most.

_FIRST = "the id of the first game in it that counts, by index, of "
SETTINGS_APART_COLUMNS: Mapping[str, column.Column] = {
    **{name: TABLES["games"].columns()[name] for name in ("setting_id", "game_type")},
    "value": column.proportion_column("the model's value in the setting, in the metric's unit"),
    "other_value": column.proportion_column("the value of the other"),
    "difference": column.proportion_column("value − other_value"),
    "game": column.text_column(f"{_FIRST}the model", nullable=True),
    "other_game": column.text_column(f"{_FIRST}the other", nullable=True),
}


@per_system(SETTINGS_APART_COLUMNS)
def settings_apart(
    lake: StoredLake,
    model: str,
    other: str,
    metric: str,
    *,
    edition: Edition = PAPER,
    game_type: str | Sequence[str] | None = None,
    where: str | None = None,
    limit: int = 10,
) -> pl.DataFrame:
    """The settings in which two models differ most, of those that both played.

    `game_type` and `where` choose rows as in `metrics`. The edition `release` has no values by
    setting, so it has no rows.

    Raises UsageError for an unknown model or metric, for a model compared with itself, and for a
    wrong condition.

    >>> apart = lake.settings_apart("sim-delta", "sim-atlas", "win_rate", limit=2)
    >>> apart.select("game_type", "value", "other_value").rows()
    [('public_good', 1.0, 0.0), ('cost_sharing', 1.0, 0.0)]
    """
    check_limit(limit)
    check_pairs([(model, other)])
    nothing = pl.DataFrame(schema=column.polars_schema(SETTINGS_APART_COLUMNS))
    if edition == RELEASE:
        return nothing
    choices = {
        "metric": metric,
        "edition": edition,
        "model": [model, other],
        "game_type": game_type,
        "where": where,
    }
    keys = ["setting_id", "game_type"]
    values = _values(lake, choices, keys)
    of_one, of_other = (values.filter(model=name).select(*keys, "value") for name in (model, other))
    apart = (
        of_one.join(of_other.rename({"value": "other_value"}), on=keys)
        .with_columns(difference=pl.col("value") - pl.col("other_value"))
        .sort(-pl.col("difference").abs(), *keys)
        .head(limit)
    )
    games = _first_games(lake, choices, apart["setting_id"].to_list())
    for name, game in ((model, "game"), (other, "other_game")):
        game_ids = games.filter(model=name).select("setting_id", pl.col("game_id").alias(game))
        apart = apart.join(game_ids, on="setting_id", how="left", maintain_order="left")
    return pl.concat([nothing, apart.select(*SETTINGS_APART_COLUMNS)])


def _values(lake: StoredLake, choices: Mapping[str, Any], by: Sequence[str]) -> pl.DataFrame:
    """The values of both models by these columns, one of which is the game type."""
    values = metrics(lake, by=["model", *by], confidence=None, **choices)
    return values.filter(pl.col("game_type") != ALL_GAME_TYPES, pl.col("value").is_not_null())


def _first_games(
    lake: StoredLake, choices: Mapping[str, Any], settings: Sequence[str]
) -> pl.DataFrame:
    """model, setting_id, game_id: the first game of each model and setting that counts."""
    is_theirs = f"setting_id IN ({sql_literals(settings)})"
    where = f"({choices['where']}) AND {is_theirs}" if choices["where"] else is_theirs
    counted = _values(
        lake, {**choices, "where": where}, ["setting_id", "game_type", "game_id", "game_index"]
    )
    first = counted.sort("game_index", "game_id", nulls_last=True)
    return first.group_by("model", "setting_id").agg(pl.col("game_id").first())


_GameTypes = Annotated[str | Sequence[str] | None, GAME_TYPES_OPTION]


@report(columns=COLUMNS, is_for_papers=True)
def compare(
    lake: StoredLake,
    *pairs: tuple[str, str],
    metric: str | Sequence[str] | None = None,
    game_type: _GameTypes = None,
    where: str | None = None,
    by: Annotated[
        str | Sequence[str] | None,
        option_spec(
            "COLUMNS",
            "Compare the models in each group of these columns; with one MODEL, compare its "
            "groups of this column.",
            suggested="columns",
            check=split_names,
        ),
    ] = None,
    margin: float | None = None,
    expected: int | None = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """Compare two models in each metric: difference, interval, p-value.

    Games are paired by competition and setting; replays of a setting are added up. If the models
    share too few settings, they are compared unpaired, and the row says so. The null hypothesis of
    the p-value is that the two models behave alike. `p (Holm)` is adjusted by Holm's method for all
    p-values printed; of all pairs of models, for those of one metric. The interval excludes 0 if
    and only if the p-value of a paired comparison reaches the level; an end of 0.00 was moved
    there. A note says where one model played the common settings much more often than the other.

    A game type, a condition and columns choose and group rows as in `magic metrics`. With one model
    and one column, all pairs of its groups are compared, such as its roles. With a margin D,
    `verdict` is alike (the difference is shown to be within -D..D), better, worse or undecided.

    MODEL@SYSTEM names a model of another system. Models of two systems are compared unpaired, in
    the game types that both play by the same rules.

    With `--with pgm`, a row is a model that is there with and without it, such as gpt-4-pgm and
    gpt-4; further rows have the mean over these models, whose interval knows that they share
    settings.

    \b
    Examples:
      magic compare gpt-4 gpt-4-pgm
      magic compare gpt-4 gpt-4-pgm --by role --where "n_rounds = 3"
      magic compare gpt-4 --by role --metric reasoning
      magic compare gpt-4 --by setting.temperature
      magic compare gpt-4 gpt-4-pgm --margin 0.05
      magic compare gpt-4@magic gpt-4@my-harness --metric judgement
      magic compare gpt-4 gpt-4-pgm --metric judgement --confidence 0.9
      magic compare --with pgm --metric win_rate
      magic compare --all-pairs --metric win_rate --format csv

    Raises UsageError for an unknown model or metric, for a model compared with itself, for a pair
    that is given twice, and for a margin that no difference can reach.

    A row is a metric and a pair. A pair is, for example, ("gpt-4", "cohere"); without pairs, all
    are compared. The columns of `by` follow the metric. Of models of two systems `system` is null,
    and `game_types` names the types in which they are compared.

    With a `margin`, also `p_alike` (two one-sided tests: the difference is within ± the margin),
    `p_alike_holm` (adjusted in the same families) and `verdict`: `alike` if p_alike_holm reaches
    the level 1 − confidence, else `better` or `worse` if p_holm does, else `undecided`.

    >>> rows = lake.compare(("sim-delta", "sim-atlas"), metric="win_rate")
    >>> rows.select(pl.col("difference").round(3), "method", "n_settings").row(0)
    (0.53, 'paired by setting', 20)
    >>> lake.compare(metric="win_rate", by="game_type").height
    36
    """
    check_pairs(pairs)
    check_margin(margin, metric, edition, lake.game_types)
    systems = {system_of(lake, name) or lake.system for pair in pairs for name in pair}
    is_of_several = len(systems) > 1
    if is_of_several:
        pairs = tuple(
            (model_with_system(lake, one), model_with_system(lake, other)) for one, other in pairs
        )
    else:
        lake = next((lake.for_system(one) for one in systems if one), lake)
        pairs = tuple(
            (model_without_system(lake, one), model_without_system(lake, other))
            for one, other in pairs
        )
        check_pairs(pairs)
    metrics = requested_metrics(metric, edition)
    request = Request(
        edition=edition,
        by=("model", *(as_list(by) or ())),
        models=models_of(pairs),
        game_types=as_list(game_type),
        where=parse_condition(metrics, where),
        expected=expected,
    )

    def answer_of(part: StoredLake, asked: Request) -> MetricResult:
        names = metrics
        if is_of_several and metric is None and game_type is None:
            # Of the game types that all systems play.
            types = {*(asked.game_types or ())}
            names = tuple(
                one for one in names if types & {*registry.metric_spec(one, edition).game_types}
            )
        return compute_metrics(part, asked, names=names, confidence=confidence)

    answer = across(lake, request, answer_of) if is_of_several else answer_of(lake, request)
    models = answer.rows["model"].drop_nulls().unique().sort().to_list()
    wanted = [(one, other) for one, other in pairs] or list(combinations(models, 2))
    family = [] if pairs else ["metric"]
    rows = compared(answer, of_models(answer, wanted), confidence)
    done = finished(adjusted(rows, family), margin, confidence, family)
    if not is_of_several:
        return done.with_columns(system=pl.lit(lake.system, pl.String))
    played = {*(answer.request.game_types or ())}
    types = [
        sorted(played & {*registry.metric_spec(name, edition).game_types})
        for name in done["metric"]
    ]
    return done.with_columns(
        game_types=pl.Series(types, dtype=LACKS_DTYPE), system=pl.lit(None, pl.String)
    )


@report(columns=COLUMNS, is_for_papers=True, title="Groups compared")
def contrast(
    lake: StoredLake,
    model: Annotated[str, option_spec("MODEL", "The model.", suggested="models")],
    by: Annotated[str, option_spec("COLUMN", "The column of its groups.", suggested="columns")],
    *,
    metric: str | Sequence[str] | None = None,
    game_type: _GameTypes = None,
    where: str | None = None,
    margin: float | None = None,
    expected: int | None = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """The difference between groups of one model: a row for each metric and pair of groups.

    `by` is one column that `metrics` can group by, such as `role`, `round` or `opponent`: it and
    `other` have two of its values, as texts, after `metric` and `model`. Groups
    are paired by setting where they share settings. p_holm is adjusted for all rows. Without
    `metric`, the metrics are those whose rows have the column.

    Raises UsageError if a metric has more than `MOST_GROUPS` groups, and for the edition release,
    an unknown model or a column that no metric has.

    >>> rows = lake.contrast("sim-delta", "role", metric="judgement", where="side = 'civilian'")
    >>> rows.select("role", "other", "difference").rows()
    [('civilian', 'non_chameleon', -0.125)]
    """
    if edition == RELEASE:
        raise UsageError("the edition release has no groups of a model: use the edition paper")
    if by in ("model", "game_id", "setting_id"):
        raise UsageError(f"cannot contrast by `{by}`: choose a column such as role or round")
    having = [
        n
        for n in registry.metric_names(edition)
        if is_game_column(by) or by in common_row_schema(n)
    ]
    names = requested_metrics(metric or having or None, edition)
    check_margin(margin, names, edition, lake.game_types)
    request = Request(
        edition=edition,
        by=("model", by),
        models=(model,),
        game_types=as_list(game_type),
        where=parse_condition(names, where),
        expected=expected,
    )
    answer = compute_metrics(lake, request, names=names, confidence=confidence)
    answer = within(answer, lake.cached(played_games))
    pairs = of_values(answer, by)
    rows = compared(answer, pairs, confidence, label=by)
    return finished(adjusted(rows, []), margin, confidence, [])


@report(columns=OF_METHOD, is_for_papers=True, title="With and without a method")
def compare_with(
    lake: StoredLake,
    method: Annotated[
        str,
        option_spec(
            "METHOD",
            "Compare models with and without a method: what the names of those with it end with, "
            "such as pgm, or a column and its value, such as setting.prompt=v2.",
            "--with",
        ),
    ],
    *,
    metric: str | Sequence[str] | None = None,
    game_type: _GameTypes = None,
    where: str | None = None,
    margin: float | None = None,
    expected: int | None = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """What a method adds: a row for each metric and each model that is there with and without it.
    A method is what the names of models with it end with, such as pgm, or a column and its value,
    such as setting.prompt=v2.

    "pgm" compares gpt-4-pgm or gpt-4+pgm with gpt-4. "setting.prompt=v2" compares games of
    one model that have this value with its other games. With several models, a further row of each
    metric has the mean over them, paired by setting if all of them are: what they add at a setting
    is added up, so the interval knows that they share settings. If only some are, it is the
    difference of the mean values, which is not the mean of the models' differences. Other
    arguments, and the pairing, are those of `compare`; p_holm is adjusted for all rows.

    Raises UsageError if no model is there with and without it, and for what `compare` refuses.

    >>> rows = lake.compare_with("role=civilian", metric="reasoning", where="side = 'civilian'")
    >>> rows.select("model", pl.col("difference").round(3), "n_models").tail(2).rows()
    [('sim-delta, role civilian', 0.01, 1), (None, 0.021, 4)]
    """
    check_margin(margin, metric, edition, lake.game_types)
    metrics = requested_metrics(metric, edition)
    name, has_value, _ = method.partition("=")

    def ask(condition: str | None) -> MetricResult:
        request = Request(
            edition=edition,
            by=("model",),
            game_types=as_list(game_type),
            where=parse_condition(metrics, condition),
            expected=expected,
            varied=(name,) if has_value else (),
        )
        return compute_metrics(lake, request, names=metrics, confidence=confidence)

    if has_value:
        parse_condition(metrics, where)  # by itself, before it is part of another
        answer, pairs = by_value(ask, method, where, common_row_schema(metrics[0]))
    else:
        answer = ask(where)
        pairs = suffix_pairs(answer.rows["model"].drop_nulls(), method)
    rows = compared(answer, of_models(answer, pairs), confidence)
    return finished(adjusted(with_means(answer, rows, confidence), []), margin, confidence, [])
