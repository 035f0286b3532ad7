"""Models with and without a method: which belong together, and the mean of their differences.

The mean over models is a difference of two values, each the mean of its side: a weighted sum of the
ratios of all its models. So it has p, interval and pairing of any two models (`differences`), with
what all models together add at a setting as that setting's contribution. Where some models are
paired and others are not, it is unpaired, and so not the mean of the differences: those of paired
models are over their common settings.
"""

import re
from collections.abc import Callable, Iterable, Mapping

import polars as pl

from pipeline import column
from pipeline.errors import UsageError
from pipeline.metrics import Answer
from pipeline.metrics.condition import constant
from pipeline.reports.compare.differences import COLUMNS, SCHEMA, on_common
from pipeline.sqlfiles import identifier
from pipeline.statistics.pairs import differences

OF_METHOD: Mapping[str, column.Column] = {
    **COLUMNS,
    "n_models": column.count(
        "1; or the number of models whose mean it is: then `model` and `other` are null"
    ).shown("models"),
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
    ask: Callable[[str], Answer],
    method: str,
    where: str | None,
    schema: Mapping[str, pl.DataType],
) -> tuple[Answer, list[tuple[str, str]]]:
    """The answer with two values of each model, and these as pairs: with the method and without.

    The method is a column of rows of this schema and its value, as in setting.prompt=v2; a model
    with it is called so. `ask` answers for rows that meet a condition, and `where` is one. Raises
    UsageError if no model has both, and for a wrong column or value.
    """
    name, _, value = method.partition("=")
    wanted = constant(name, value, schema.get(name, pl.String()))
    # A comment may end the condition.
    also = f" AND ({where}\n)" if where else ""
    own, others = (
        ask(f"({identifier(name)} {sign} {wanted}){also}") for sign in ("=", "IS DISTINCT FROM")
    )
    both = [{*answer.rows["model"].drop_nulls()} for answer in (own, others)]
    if not (models := set.intersection(*both)):
        is_named = _by_suffix(set.union(*both), value)
        hint = f"; names of models end with it, so ask for `{value}` alone" if is_named else ""
        raise UsageError(f"no model has games with {name} {value} and games without{hint}")
    ending = f", {name} {value}"
    own = own.with_columns(pl.col("model") + ending)
    pairs = [(f"{model}{ending}", model) for model in sorted(models)]
    return Answer.of_all([own, others], others.request), pairs


def with_means(answer: Answer, rows: pl.DataFrame, confidence: float) -> pl.DataFrame:
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
        differences(
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
