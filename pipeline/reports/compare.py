"""Models against each other, and one model's own groups: differences, intervals and p-values."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl
from msgspec.structs import replace

from pipeline.errors import UsageError
from pipeline.lake import Lake, of_one_system
from pipeline.metrics import DEFAULT_CONFIDENCE, PAPER, Answer, answered, metric, metrics
from pipeline.metrics.catalogue import names as edition_names
from pipeline.metrics.grouping import group_columns, with_group
from pipeline.metrics.intervals import by_cluster, terms_of
from pipeline.metrics.request import ALL, RELEASE, Request, several
from pipeline.metrics.thin import THIN
from pipeline.metrics.validation import condition_on, row_schema
from pipeline.statistics.families import holm
from pipeline.statistics.influence import COLUMNS as INFLUENCE
from pipeline.statistics.margins import p_alike
from pipeline.statistics.pairs import (
    BASIS,
    PAIRED,
    REPLAYED,
    GamesOf,
    differences,
    left_out,
    of_basis,
)
from pipeline.vocabulary import Edition

COLUMNS = pl.Schema(
    {
        "metric": pl.String(),
        "model": pl.String(),
        "other": pl.String(),
        "value": pl.Float64(),
        "other_value": pl.Float64(),
        "thin": THIN,
        "other_thin": THIN,
        "difference": pl.Float64(),
        "ci_low": pl.Float64(),
        "ci_high": pl.Float64(),
        "p_value": pl.Float64(),
        "p_holm": pl.Float64(),
        "family": pl.Int64(),
        "method": pl.String(),
        "n_settings": pl.Int64(),
        "share_paired": pl.Float64(),
        "common_value": pl.Float64(),
        "other_common_value": pl.Float64(),
        "is_replayed": pl.Boolean(),
        "reason": pl.String(),
    }
)
ALIKE, BETTER, WORSE, UNDECIDED = "alike", "better", "worse", "undecided"
MOST_GROUPS = 100
DECIMALS = 3
"""Values and differences are shown with so many."""
MOST_NAMED = 5
"""So many rows are named in a note."""
_SIDES = ("entity", "other_entity")
_ASKED = {"one": pl.String()} | {
    name: COLUMNS[name]
    for name in ("other", "value", "other_value", "thin", "other_thin", "reason")
}


APART = pl.Schema(
    {
        "setting_id": pl.String(),
        "game_type": pl.String(),
        "value": pl.Float64(),
        "other_value": pl.Float64(),
        "difference": pl.Float64(),
        "game": pl.String(),
        "other_game": pl.String(),
    }
)


@of_one_system
def compare(
    lake: Lake,
    *pairs: tuple[str, str],
    metric: str | Sequence[str] | None = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
    by: str | Sequence[str] | None = None,
    game_type: str | Sequence[str] | None = None,
    where: str | None = None,
    margin: float | None = None,
    influence: bool = False,
) -> pl.DataFrame:
    """A row for each metric and pair of models: the difference, its interval and p-value.

    A pair is, for example, ("gpt-4", "cohere"); without pairs, all are compared. `metric`, `by`,
    `game_type` and `where` are those of `metrics`: the models are compared in each group of `by`.

    Columns:

    - `metric`: the metric.
    - the columns of `by`: the group.
    - `model`, `other`: the two models.
    - `value`, `other_value`: their values over all their settings, in the metric's unit.
    - `thin`, `other_thin`: their terms with very few settings.
    - `difference`: on the common settings if `method` is `paired by setting`; value −
      other_value if it is `unpaired`. Null, with a `reason`, if either value is null.
    - `ci_low`, `ci_high`: its interval at the level `confidence`.
    - `p_value`: the p-value of no difference.
    - `p_holm`: the same, adjusted by Holm.
    - `family`: how many p-values are adjusted together: those of one metric if all pairs are
      compared, else all.
    - `method`: `paired by setting` or `unpaired`.
    - `n_settings`: settings in common.
    - `share_paired`: how much of the values is about these settings, in 0..1.
    - `common_value`, `other_common_value`: both values on these settings, each counted as much for
      one model as for the other: `difference` is theirs; null if `unpaired`.
    - `is_replayed`: whether one of them played at least `pairs.REPLAYED` times as many games of
      these settings, in any term.
    - `reason`: why the difference is null.

    With a `margin`, also `p_alike` (two one-sided tests: the difference is within ± the margin),
    `p_alike_holm` (adjusted in the same families) and `verdict`: `alike` if p_alike_holm reaches
    the level 1 − confidence, else `better` or `worse` if p_holm does, else `undecided`.
    With `influence`, also `without_low` and `without_high` (the range of the difference if any one
    setting is left out) and `influential` (the clusters that change it most, settings unless games
    are the clusters, with the difference without each).

    Raises UsageError for an unknown model or metric, for a model compared with itself, for a pair
    that is given twice, and for a margin that no difference can reach.
    """
    _check_pairs(pairs)
    if margin is not None:
        check_margin(margin, metric, edition)
    models = tuple(dict.fromkeys(name for pair in pairs for name in pair)) if pairs else None
    request = Request(
        edition=edition,
        by=("model", *several(by or ())),
        models=models,
        game_types=several(game_type),
    )
    answer = _answer(lake, metric, request, where, confidence)
    known = answer.rows["model"].drop_nulls().unique().sort().to_list()
    wanted = [(one, other) for one, other in pairs] or list(combinations(known, 2))
    compared = _compared(answer, _of_models(answer, wanted), confidence, influence=influence)
    compared = adjusted(compared, [] if pairs else ["metric"])
    return _finished(compared, margin, confidence, [] if pairs else ["metric"])


@of_one_system
def contrast(
    lake: Lake,
    model: str,
    by: str,
    *,
    metric: str | Sequence[str] | None = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
    game_type: str | Sequence[str] | None = None,
    where: str | None = None,
    margin: float | None = None,
    influence: bool = False,
) -> pl.DataFrame:
    """One model's own groups against each other: a row for each metric and pair of values of `by`.

    `by` is one column that `metrics` can group by, such as `role`, `round` or `opponent`. Groups
    are paired by setting where they share settings. p_holm is adjusted for all rows. Without
    `metric`, the metrics are those whose rows have the column.

    Columns:

    - `metric`, `model`: what is compared, and of whom.
    - the column named by `by`, and `other`: two of its values, as texts.
    - `value`, `other_value`, `thin`, `other_thin`, `difference`, `ci_low`, `ci_high`,
      `p_value`, `p_holm`, `family`, `method`, `n_settings`, `share_paired`, `common_value`,
      `other_common_value`, `is_replayed`, `reason`: as in `compare`, of the two groups.

    Raises UsageError if a metric has more than `MOST_GROUPS` groups, and for the edition release,
    an unknown model or a column that no metric has.
    """
    if edition == RELEASE:
        raise UsageError("the edition release has no groups of a model: use the edition paper")
    if by in ("model", "game_id", "setting_id"):
        raise UsageError(f"cannot contrast by `{by}`: choose a column such as role or round")
    having = [name for name in edition_names(edition) if by in row_schema(lake, name)]
    names = metric or having or None
    if margin is not None:
        check_margin(margin, names, edition)
    request = Request(
        edition=edition, by=("model", by), models=(model,), game_types=several(game_type)
    )
    answer = _answer(lake, names, request, where, confidence)
    within = _within(answer)
    pairs = _of_values(within, by)
    compared = _compared(within, pairs, confidence, label=by, influence=influence)
    return _finished(adjusted(compared, []), margin, confidence, [])


def check_margin(
    margin: float, names: str | Sequence[str] | None, edition: Edition, *, may_be_0: bool = False
) -> None:
    """Raises UsageError for a margin below which are none or all of the metrics' differences."""
    if not (margin > 0 or (may_be_0 and margin == 0)):
        raise UsageError(f"the margin must be greater than 0, for example 0.05, not {margin:g}")
    asked = several(edition_names(edition) if names is None else names)
    widest = max((one.high - one.low for one in (metric(n, edition) for n in asked)), default=1.0)
    if margin >= widest:
        raise UsageError(
            f"the margin must be less than {widest:g}, since no difference is larger, "
            f"not {margin:g}"
        )


def _answer(
    lake: Lake,
    names: str | Sequence[str] | None,
    request: Request,
    where: str | None,
    confidence: float,
) -> Answer:
    asked = several(edition_names(request.edition) if names is None else names)
    if where is not None:
        request = replace(request, where=condition_on(lake, asked, where))
    return answered(lake, request, names=asked, confidence=confidence)


@of_one_system
def settings_apart(
    lake: Lake, model: str, other: str, metric: str, *, edition: Edition = PAPER, limit: int = 10
) -> pl.DataFrame:
    """The settings that both models played in which the values of a metric differ most.

    The edition `release` has no values of settings: no rows.

    Columns:

    - `setting_id`, `game_type`: the setting.
    - `value`, `other_value`: both models' values in it, in the metric's unit.
    - `difference`: value − other_value.
    - `game`, `other_game`: the id of the first of each model's games of the setting, by index.

    Raises UsageError for an unknown model or metric, and for a model compared with itself.
    """
    if limit < 0:
        raise UsageError(f"the limit must be 0 or more, not {limit}")
    _check_pairs([(model, other)])
    pair = pl.DataFrame(schema=APART)
    if edition == RELEASE:
        return pair
    values = metrics(
        lake,
        metric=metric,
        edition=edition,
        model=[model, other],
        by=["model", "setting_id", "game_type"],
        confidence=None,
    ).filter(pl.col("game_type") != ALL, pl.col("value").is_not_null())
    keys = ["setting_id", "game_type"]
    of_one, of_other = (values.filter(model=name).select(*keys, "value") for name in (model, other))
    found = (
        of_one.join(of_other.rename({"value": "other_value"}), on=keys)
        .with_columns(difference=pl.col("value") - pl.col("other_value"))
        .sort(-pl.col("difference").abs(), *keys)
        .head(limit)
    )
    games = _first_games(lake, found["setting_id"].to_list())
    for name, column in ((model, "game"), (other, "other_game")):
        own = games.filter(model=name).select("setting_id", pl.col("game_id").alias(column))
        found = found.join(own, on="setting_id", how="left", maintain_order="left")
    return pl.concat([pair, found.select(APART.names())])


def _first_games(lake: Lake, settings: Sequence[str]) -> pl.DataFrame:
    """model, setting_id, game_id: the finished game of each model and setting that comes first."""
    is_theirs = pl.col("setting_id").is_in(list(settings))
    games = lake.table("results").filter("is_tested", "is_finished", is_theirs)
    first = games.sort("game_index", "game_id", nulls_last=True)
    return first.group_by("model", "setting_id").agg(pl.col("game_id").first()).collect()


def _check_pairs(pairs: Sequence[object]) -> None:
    """Raises UsageError for what is no pair of models, or one too many."""
    named: Counter[tuple[str, ...]] = Counter()
    for pair in pairs:
        match pair:
            case [str(one), str(other)] if one != other:
                named[tuple(sorted((one, other)))] += 1
            case [str(one), str()]:
                raise UsageError(f"{one} is named twice: name two different models")
            case _:
                # Such as a name alone, or a list of pairs, from calls that look right.
                raise UsageError(
                    f'a pair must be two models, such as ("gpt-4", "cohere"), not {pair!r}'
                )
    if twice := [" and ".join(pair) for pair, n in named.items() if n > 1]:
        raise UsageError(f"give each pair only once, in either order: {', '.join(twice)}")


def compare_rows(
    answer: Answer, pairs: Sequence[tuple[str, str]], *, confidence: float = DEFAULT_CONFIDENCE
) -> pl.DataFrame:
    """The rows of `compare` for an answer by model; the family is all p-values."""
    return adjusted(_compared(answer, _of_models(answer, pairs), confidence), []).drop("basis")


def _entities(answer: Answer) -> pl.DataFrame:
    """The answer's rows, each with the name `entity` that sums and pairs know it by."""
    numbered = answer.rows.with_row_index("entity").with_columns(pl.col("entity").cast(pl.String))
    return with_group(numbered.lazy(), answer.request).collect()


def _of_models(answer: Answer, pairs: Sequence[tuple[str, str]]) -> pl.DataFrame:
    """A row for each metric, group and pair of models: metric, the other groups, model, other,
    their entities, null where a model has no row, and `lacking`, what is to be said of that."""
    everything = _entities(answer)
    rows = everything.filter(pl.col("model").is_not_null())
    by = ["metric", *(name for name in answer.request.by if name != "model")]
    wanted = pl.DataFrame(
        list(pairs), schema={"model": pl.String, "other": pl.String}, orient="row"
    )
    # Of a metric of which a condition leaves nothing there is one row, without a model.
    is_nothing = ~pl.col("metric").is_in(rows["metric"].unique().implode())
    groups = (
        everything.filter(is_nothing | pl.col("model").is_not_null())
        .select(*by, nothing=pl.when(is_nothing).then("reason"))
        .unique(maintain_order=True)
        .join(wanted, how="cross")
    )
    own = rows.select(*by, "model", "entity")
    others = own.rename({"model": "other", "entity": "other_entity"})
    found = groups.join(
        own, on=[*by, "model"], how="left", nulls_equal=True, maintain_order="left"
    ).join(others, on=[*by, "other"], how="left", nulls_equal=True, maintain_order="left")
    without = [
        pl.when(pl.col(entity).is_null()).then(pl.col(name))
        for name, entity in zip(("model", "other"), _SIDES, strict=True)
    ]
    names = pl.concat_str(without, separator=", ", ignore_nulls=True)
    said = pl.when(names != "").then(pl.lit("no rows there of ") + names)
    return found.with_columns(lacking=pl.coalesce("nothing", said)).drop("nothing")


def _of_values(answer: Answer, by: str) -> pl.DataFrame:
    """The same for each metric and pair of a model's groups, in the order of their values."""
    rows = _entities(answer).filter(pl.col("model").is_not_null(), pl.col(by).is_not_null())
    if by == "game_type":
        rows = rows.filter(pl.col(by) != ALL)
    most = rows.group_by("metric").len()["len"].max() or 0
    if isinstance(most, int) and most > MOST_GROUPS:
        raise UsageError(
            f"`{by}` has {most:,} groups: all pairs of at most {MOST_GROUPS} are compared; choose "
            "some by a condition (--where), or another column"
        )
    found = [
        (name, one["model"], str(one[by]), str(other[by]), one["entity"], other["entity"])
        for (name,), part in rows.partition_by("metric", as_dict=True, maintain_order=True).items()
        for one, other in combinations(part.sort(by, maintain_order=True).to_dicts(), 2)
    ]
    return (
        pl.DataFrame(found, ["metric", "model", by, "other", *_SIDES], orient="row")
        if found
        else (
            pl.DataFrame(schema=dict.fromkeys(["metric", "model", by, "other", *_SIDES], pl.String))
        )
    )


def _within(answer: Answer) -> Answer:
    """The answer with game types for competitions, so that roles that share a setting are paired.

    A term that is a competition is also named by its game type, unless a group has two of one type.
    """
    if answer.sums is None or "game_type" not in answer.sums.columns:
        return answer
    type_of = dict(answer.sums.select("stratum", "game_type").unique().drop_nulls().iter_rows())
    named = pl.element().struct.with_fields(term=pl.field("term").replace(type_of))
    terms = answer.rows["terms"].list.eval(named)
    counted = pl.element().struct["counted"] > 0
    names = terms.list.eval(pl.element().struct["term"].filter(counted))
    renamed = ["stratum"]
    if (names.list.n_unique() == names.list.len()).all():
        renamed += ["term"]
        answer = answer._replace(rows=answer.rows.with_columns(terms=terms))
    of_types, count = pl.col(renamed).replace(type_of), answer.by_game
    if count is not None:
        answer = answer._replace(by_game=lambda *asked: count(*asked).with_columns(of_types))
    assert answer.sums is not None
    return answer._replace(sums=answer.sums.with_columns(of_types))


def _compared(
    answer: Answer,
    pairs: pl.DataFrame,
    confidence: float,
    *,
    label: str = "model",
    influence: bool = False,
) -> pl.DataFrame:
    """The rows of `pairs` with their differences, without p_holm and family."""
    rows, request = _entities(answer), answer.request
    assert answer.sums is not None, "values without intervals cannot be compared"
    sums = by_entity(answer.sums, rows, request)
    found = [
        of_metric(
            name,
            rows.filter(metric=name).with_columns(label=pl.col(label).cast(pl.String)),
            sums.filter(metric=name),
            list(part.select(_SIDES).iter_rows()),
            edition=request.edition,
            confidence=confidence,
            games_of=games_of(answer, rows, name),
            influence=influence,
        )
        for (name,), part in pairs.partition_by("metric", as_dict=True, maintain_order=True).items()
    ]
    groups = pairs.drop(_SIDES, "lacking", strict=False)
    compared = pl.concat(found) if found else _nothing(influence)
    if "lacking" in pairs.columns:
        compared = compared.with_columns(reason=pl.coalesce(pairs["lacking"], "reason"))
    named = pl.concat([groups, compared], how="horizontal")
    return named.with_columns(
        p_holm=pl.lit(None, pl.Float64), family=pl.lit(None, pl.Int64)
    ).select(
        *groups.columns,
        *(name for name in COLUMNS if name not in ("metric", "model", "other")),
        *(INFLUENCE if influence else ()),
        "basis",
    )


def by_entity(sums: pl.DataFrame, rows: pl.DataFrame, request: Request) -> pl.DataFrame:
    """The sums over the groups of these rows, each of an `entity`; of each game if it is known."""
    keys = group_columns(request)
    of_group = by_cluster(sums, request, also=["game"] if "game" in sums.columns else ())
    return of_group.collect().join(rows.select(*keys, "entity"), on=keys, nulls_equal=True)


def games_of(answer: Answer, rows: pl.DataFrame, name: str) -> GamesOf | None:
    """What counts a metric's games of entities, which are rows of the answer."""
    if answer.by_game is None:
        return None
    count = answer.by_game

    def counted(entities: Sequence[str]) -> pl.DataFrame:
        own = rows.filter(pl.col("entity").is_in(entities), metric=name)
        models = own["model"].drop_nulls().unique().sort().to_list()
        found = by_entity(count(name, models), own, answer.request)
        return found.select("stratum", "cluster", "term", "game", "h", "c", model="entity")

    return counted


def of_metric(
    name: str,
    rows: pl.DataFrame,
    sums: pl.DataFrame,
    pairs: Sequence[tuple[str | None, str | None]],
    *,
    edition: Edition,
    confidence: float,
    games_of: GamesOf | None = None,
    influence: bool = False,
) -> pl.DataFrame:
    """Of each pair of entities, in their order: values, difference and reason.

    `rows` are the metric's values, each of an `entity` with a `label` for its reason; `sums` are
    hits and counted items by entity, stratum, cluster and term, `games_of` those by game.
    """
    terms = terms_of(rows.lazy(), metric(name, edition), ["entity"]).collect()
    row_of = {row["entity"]: row for row in rows.iter_rows(named=True)}
    parts = terms.group_by("entity").agg("term").iter_rows()
    terms_by = {entity: set(own) for entity, own in parts}
    reasons = [_reason(pair, row_of, terms_by) for pair in pairs]
    comparable = [
        (one, other)
        for (one, other), reason in zip(pairs, reasons, strict=True)
        if reason is None and one is not None and other is not None
    ]
    of_entities = sums.select("stratum", "cluster", "term", "h", "c", model="entity").lazy()
    of_terms = terms.rename({"entity": "model"}).lazy()
    found = differences(of_entities, of_terms, comparable, confidence, games_of)
    if influence:
        without = left_out(of_entities, of_terms, found)
        found = found.join(without, on=["one", "other"], how="left")
    asked = [
        {
            "one": one,
            "other": other,
            "value": row_of.get(one, {}).get("value"),
            "other_value": row_of.get(other, {}).get("value"),
            "thin": row_of.get(one, {}).get("thin"),
            "other_thin": row_of.get(other, {}).get("thin"),
            "reason": reason,
        }
        for (one, other), reason in zip(pairs, reasons, strict=True)
    ]
    joined = pl.DataFrame(asked, schema=_ASKED).join(
        found, on=["one", "other"], how="left", maintain_order="left"
    )
    on_common = {"common_value": _on_common("one"), "other_common_value": _on_common("other")}
    return joined.with_columns(**on_common).drop("one", "other")


def _on_common(side: str) -> pl.Expr:
    """The value of a side that a paired difference is made of, null for an unpaired one."""
    rate = pl.col("basis").struct.field(side)
    value = rate.struct.field("rate") * rate.struct.field("range")
    return pl.when(pl.col("method") == PAIRED).then(value)


def _nothing(influence: bool) -> pl.DataFrame:
    """No row, with the columns of `of_metric`."""
    own = {
        n: t
        for n, t in COLUMNS.items()
        if n not in ("metric", "model", "other", "p_holm", "family")
    }
    return pl.DataFrame(
        schema=own | {"basis": BASIS} | (dict.fromkeys(INFLUENCE, pl.Null) if influence else {})
    )


def _reason(
    pair: tuple[str | None, str | None],
    row_of: Mapping[str | None, dict[str, Any]],
    terms: Mapping[str, set[str]],
) -> str | None:
    """Why two entities that there are cannot be compared, null if they can."""
    one, other = pair
    if one is None or other is None:
        return None
    for entity in (one, other):
        if row_of[entity]["value"] is None:
            return f"{row_of[entity]['label']}: {row_of[entity]['reason']}"
    only = [(one, terms[one] - terms[other]), (other, terms[other] - terms[one])]
    found = [
        f"only {row_of[name]['label']} has {', '.join(sorted(own))}" for name, own in only if own
    ]
    return "; ".join(found) or None


def replay_note(rows: pl.DataFrame) -> list[str]:
    """What to say of the rows in which one of the two replayed, if there are any."""
    of = rows.filter("is_replayed")["metric"].unique(maintain_order=True).to_list()
    said = (
        f"one of the two has {REPLAYED:g} times as many games of the common settings in "
        f"{', '.join(of)}, or more: replays are no new settings"
    )
    return [said] if of else []


def common_note(
    rows: pl.DataFrame, values: tuple[str, str] = ("value", "other_value")
) -> list[str]:
    """What to say of the rows in which the difference is not that of the values, as rounded.

    `values` are the columns of the two values that are shown beside the difference.
    """
    one, other = values
    shown = pl.col("difference").round(DECIMALS) - pl.col(one).round(DECIMALS)
    apart = rows.filter((shown + pl.col(other).round(DECIMALS)).abs() > 1.5 * 10**-DECIMALS)
    if apart.is_empty():
        return []
    note = "differences are over the common settings, the values beside them over all games"
    if "common_value" not in apart.columns:
        return [note]
    of_row = ["metric", *(name for name in _labels(rows) if rows[name].n_unique() > 1)]
    named = [
        f"{' '.join(map(str, row[2:]))} {row[0]:.{DECIMALS}f} and {row[1]:.{DECIMALS}f}"
        for row in apart.select("common_value", "other_common_value", *of_row).iter_rows()
    ]
    more = [f"{len(named) - MOST_NAMED} more"] if named[MOST_NAMED:] else []
    return [f"{note}; values over the common settings: {', '.join(named[:MOST_NAMED] + more)}"]


def _labels(rows: pl.DataFrame) -> list[str]:
    """The columns that say what a row compares, beside the metric."""
    return [name for name in rows.columns[: rows.columns.index("value")] if name != "metric"]


def adjusted(
    rows: pl.DataFrame, by: Sequence[str], p: str = "p_value", into: str = "p_holm"
) -> pl.DataFrame:
    """The rows with p-values adjusted for the number of those in the family."""
    numbered = rows.with_row_index("place")
    # No rows have no parts, and are one family without a p-value.
    is_parted = by and not numbered.is_empty()
    families = numbered.partition_by(by, maintain_order=True) if is_parted else [numbered]
    parts = []
    for family in families:
        known = family.filter(pl.col(p).is_not_null())
        p_holm = pl.Series(into, holm(known[p].to_list()), pl.Float64)
        parts.append(known.select("place", p_holm, family=pl.lit(known.height, pl.Int64)))
    found = numbered.drop(into, "family", strict=False).join(
        pl.concat(parts), on="place", how="left", maintain_order="left"
    )
    return found.select(*rows.columns, *([] if into in rows.columns else [into]))


def _finished(
    rows: pl.DataFrame, margin: float | None, confidence: float, by: Sequence[str]
) -> pl.DataFrame:
    """The rows without their basis; with a margin also p_alike, p_alike_holm and verdict."""
    if margin is None:
        return rows.drop("basis")
    p_values = [None if basis is None else _p_alike(basis, margin) for basis in rows["basis"]]
    found = rows.drop("basis").with_columns(p_alike=pl.Series(p_values, dtype=pl.Float64))
    found = adjusted(found, by, "p_alike", "p_alike_holm")
    level = 1 - confidence
    is_apart, is_above = pl.col("p_holm") <= level, pl.col("difference") > 0
    verdict = (
        pl.when(pl.col("difference").is_null())
        .then(None)
        .when(pl.col("p_alike_holm") <= level)
        .then(pl.lit(ALIKE))
        .when(is_apart & is_above)
        .then(pl.lit(BETTER))
        .when(is_apart)
        .then(pl.lit(WORSE))
        .otherwise(pl.lit(UNDECIDED))
    )
    return found.with_columns(verdict=verdict)


def _p_alike(basis: dict[str, Any], margin: float) -> float:
    one, other, correlation = of_basis(basis)
    return p_alike(one, other, margin, correlation)
