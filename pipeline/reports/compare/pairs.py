"""Which pairs are compared: of models, or of one model's groups."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import polars as pl

from pipeline.errors import UsageError
from pipeline.metrics import Answer
from pipeline.vocabulary import ALL

MOST_GROUPS = 100
SIDES = ("entity", "other_entity")


def check_pairs(pairs: Sequence[object]) -> None:
    """Raises UsageError for something that is no pair of two models, and for a repeated pair."""
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


def models_of(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...] | None:
    """The models of the pairs, each once; None without pairs, as in a request for all models."""
    return tuple(dict.fromkeys(name for pair in pairs for name in pair)) or None


def entities(answer: Answer) -> pl.DataFrame:
    """The answer's rows, each with the name `entity` that sums and pairs know it by."""
    return answer.rows.with_row_index("entity").with_columns(pl.col("entity").cast(pl.String))


def of_models(
    answer: Answer, pairs: Sequence[tuple[str, str]], label: str = "model"
) -> pl.DataFrame:
    """A row for each metric, group and pair of models: metric, the columns of the group, model,
    other, the entity of each (null if it has no row), and `lacking`, a reason for that.

    With another `label`, the pairs are of values of this column in place of models."""
    everything = entities(answer)
    rows = everything.filter(pl.col(label).is_not_null())
    by = ["metric", *(name for name in answer.request.by if name != label)]
    wanted = pl.DataFrame(list(pairs), schema={label: pl.String, "other": pl.String}, orient="row")
    # A metric without a row that meets the condition has one row, without a model.
    is_nothing = ~pl.col("metric").is_in(rows["metric"].unique().implode())
    groups = (
        everything.filter(is_nothing | pl.col(label).is_not_null())
        .select(*by, nothing=pl.when(is_nothing).then("reason"))
        .unique(maintain_order=True)
        .join(wanted, how="cross")
    )
    entities_of = rows.select(*by, label, "entity")
    others = entities_of.rename({label: "other", "entity": "other_entity"})
    pairs_of = groups.join(
        entities_of, on=[*by, label], how="left", nulls_equal=True, maintain_order="left"
    ).join(others, on=[*by, "other"], how="left", nulls_equal=True, maintain_order="left")
    without = [
        pl.when(pl.col(entity).is_null()).then(pl.col(name))
        for name, entity in zip((label, "other"), SIDES, strict=True)
    ]
    names = pl.concat_str(without, separator=", ", ignore_nulls=True)
    no_rows = pl.when(names != "").then(pl.lit("no rows there of ") + names)
    return pairs_of.with_columns(lacking=pl.coalesce("nothing", no_rows)).drop("nothing")


def of_values(answer: Answer, by: str) -> pl.DataFrame:
    """A row for each metric and pair of groups of one model, in the order of their values."""
    rows = entities(answer).filter(pl.col("model").is_not_null(), pl.col(by).is_not_null())
    if by == "game_type":
        rows = rows.filter(pl.col(by) != ALL)
    most = rows.group_by("metric").len()["len"].max() or 0
    if isinstance(most, int) and most > MOST_GROUPS:
        raise UsageError(
            f"`{by}` has {most:,} groups: all pairs of at most {MOST_GROUPS} are compared; choose "
            "some by a condition (--where), or another column"
        )
    pairs = [
        (name, one["model"], str(one[by]), str(other[by]), one["entity"], other["entity"])
        for (name,), part in rows.partition_by("metric", as_dict=True, maintain_order=True).items()
        for one, other in combinations(part.sort(by, maintain_order=True).to_dicts(), 2)
    ]
    columns = ["metric", "model", by, "other", *SIDES]
    return pl.DataFrame(pairs, dict.fromkeys(columns, pl.String), orient="row")


def within(answer: Answer, settings: pl.DataFrame) -> Answer:
    """The answer with game types in place of competitions, so that roles can be paired by setting.

    A term that is named after a competition is renamed as well, unless a group has two such terms
    of one game type. `settings` are those that were `played`.
    """
    type_of = dict(settings.select("competition", "game_type").unique().drop_nulls().iter_rows())
    renamed = ["stratum"]
    terms = answer.terms.with_columns(pl.col("term").replace(type_of))
    if not terms.select(*answer.request.keys, "term").is_duplicated().any():
        renamed += ["term"]
        answer = answer._replace(terms=terms)
    sums = answer.sums.with_columns(pl.col(renamed).replace(type_of))
    return answer._replace(sums=sums)
