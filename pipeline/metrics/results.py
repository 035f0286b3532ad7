"""What the columns of values mean: those of `metrics`, and of the leaderboard.

Numbers also say what they are of: the system whose games they count, and the edition that counts
them. Who keeps a number needs both: another system may be the largest after the next ingest.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import polars as pl
from msgspec.structs import replace

from pipeline import column
from pipeline.lake import StoredLake, of_one_system
from pipeline.metrics.known import TITLES, header, metric, names, title
from pipeline.vocabulary import ALL, EXCLUDE, PAPER

L = TypeVar("L", bound=StoredLake)
P = ParamSpec("P")
R = TypeVar("R", bound=pl.DataFrame | Iterator[pl.DataFrame])

_RATIO = {"term": pl.String(), "weight": pl.Float64(), "hits": pl.Float64()}
_RATIO |= {"counted": pl.Int64(), "value": pl.Float64()}
THIN = pl.List(pl.Struct({"term": pl.String(), "n_effective": pl.Float64()}))
LACKS = pl.List(pl.String())
EDITION = column.text("the edition: paper, release or audited")
METRIC = column.text("the metric's name")
MODEL = column.text("the tested model, null if the log does not say", nullable=True)
SYSTEM = column.text("the harness that ran the games; each is counted by itself")
ORIGIN: Mapping[str, column.Column] = {"edition": EDITION, "system": SYSTEM}
SEEN_AS = ("joined_names", "failures")
"""The columns that say which names of models are counted as one, and that failures are losses."""
GAME_TYPE = column.text("the game type, or `all` for all game types of the metric")
LOW = column.share("the lower end of its confidence interval, in the metric's unit")
HIGH = column.share("the upper end of its confidence interval, in the metric's unit")
IS_THIN = column.Column(
    THIN, "the terms with very few settings of their own: the interval can be far off"
)
IS_COMPLETE = column.flag(
    "whether no game is missing: the model finished as many of each setting as are expected, in "
    "the competitions that the value counts"
).shown("complete")

MISSING: Mapping[str, column.Column] = {
    "n_missing": column.count(
        "games that the model has not finished, of `n_expected`: each counts in each competition "
        "that it is of, if the value counts this one; null if not grouped by model"
    ).shown("missing"),
    "n_expected": column.count(
        "games expected in the competitions that the value counts: of each setting that any model "
        "played, the median of what the models that finished one have, or the model's own with "
        "those that it began and has to finish; null if not grouped by model"
    ).shown("expected"),
}
REPLAYS: Mapping[str, column.Column] = {
    "n_replays": column.count(
        "finished games of the model beyond as many as models usually have of their setting and "
        "competition (the lower median), in the competitions that the value counts; null if not "
        "grouped by model"
    ).shown("replays"),
    "n_repeats": column.count(
        "games of the model with the very content of another one; null if not grouped by model"
    ).shown("repeats"),
}

# The columns of `metrics`; those of the groups are between the metric and the value.
VALUES: Mapping[str, column.Column] = {
    "edition": EDITION,
    "metric": METRIC,
    "value": column.share("hits / counted, or the metric's formula over several such ratios"),
    "ci_low": LOW,
    "ci_high": HIGH,
    "ci_method": column.text("how the interval was computed, and its clusters: settings or games"),
    "effective_items": column.number("as many independent rows would give an interval as wide"),
    "thin": IS_THIN,
    "lacks": column.Column(
        LACKS,
        "the competitions that the value of another model counts in the same group, and this one "
        "does not: the two cannot be compared; null if not grouped by model",
    ),
    "hits": column.number("the numerator of the value, null if the value combines several ratios"),
    "counted": column.count(
        "the denominator of the value, null if the value combines several ratios"
    ),
    "terms": column.Column(
        pl.List(pl.Struct(_RATIO)),
        "the ratios that make the value: term, weight, hits, counted and value of each",
    ),
    "n_games": column.count("number of games with a counted row").shown("games"),
    "n_unfinished": column.count(
        "number of unfinished games, which are not counted; null if the groups are within games"
    ).shown("unfinished"),
    "n_unreadable": column.count("rows whose text is not clear, counted or not").shown("not clear"),
    "n_unknown": column.count(
        "rows whose hit is not known, but for outages; they are not counted, or in the edition "
        "release they leave no value"
    ).shown("unknown"),
    "n_undecided": column.count(
        "rows of these whose text does not decide what was done, and no game registered it"
    ).shown("undecided"),
    "reason": column.text("why there is no value, null if there is one"),
    "is_complete": IS_COMPLETE,
    **MISSING,
    **REPLAYS,
}
# A metric in a row of a leaderboard is one column, an estimate. Where it is flat, as for programs,
# its fields are columns with these ends of their names.
ESTIMATE = {
    "": "value",
    "_low": "ci_low",
    "_high": "ci_high",
    "_thin": "thin",
    "_counted": "counted",
    "_games": "n_games",
    "_reason": "reason",
    "_lacks": "lacks",
    "_undecided": "n_undecided",
}
_METRIC = "<metric>"
OF_A_METRIC: Mapping[str, column.Column] = {
    "": column.share(f"the value of {_METRIC} over all game types"),
    "_low": column.share(f"the lower end of the confidence interval of {_METRIC}"),
    "_high": column.share(f"the upper end of the confidence interval of {_METRIC}"),
    "_thin": column.Column(THIN, f"the terms of {_METRIC} with very few settings of their own"),
    "_undecided": column.count(
        f"rows of {_METRIC} that are not counted, since no game registered them and no text decides"
    ),
}
OF_A_SLICE: Mapping[str, column.Column] = {
    **OF_A_METRIC,
    "_lacks": column.Column(
        LACKS, f"the competitions that {_METRIC} of another model counts, and this one not"
    ),
}
LEADERBOARD: Mapping[str, column.Column] = {
    "rank": column.count(
        "the place by win rate, from 1; ties share the better one; null if the model lacks a whole "
        "competition",
        low=1,
        nullable=True,
    ),
    "model": MODEL,
    "letters": column.text(
        "the win rates of two models differ significantly only if they share no letter"
    ),
    "family": column.count("for how many comparisons the letters are adjusted"),
    "n_games": column.count("number of games that the win rate counts").shown("games"),
    **MISSING,
    "n_self_play": column.count(
        "games in which the model plays every seat: it wins and loses each of them"
    ).shown("self-play"),
    **REPLAYS,
    "is_complete": IS_COMPLETE,
    **{f"{_METRIC}{end}": declared for end, declared in OF_A_METRIC.items()},
    "lacks": column.texts("the competitions that others finished a game of, and this model none"),
    "reasons": column.texts("why a metric has no value"),
}

# What the published script prints, in its order.
_OF_SCRIPT = (
    "win_rate",
    "judgement",
    "reasoning",
    "deception",
    "self_awareness",
    "cooperation",
    "coordination",
    "rationality",
)


def wide(
    values: pl.DataFrame, metrics: Sequence[str], by: Sequence[str], ends: Iterable[str]
) -> pl.DataFrame:
    """A row for each group of `by`, with these fields of the estimate of each metric."""
    estimate = values.select(*by, "metric", estimate=pl.struct(ESTIMATE.values()))
    rows = estimate.pivot(
        "metric", on_columns=metrics, index=by, values="estimate", maintain_order=True
    )
    fields = ((name, end) for name in metrics for end in ends)
    return rows.select(
        *by, *(pl.col(name).struct[ESTIMATE[end]].alias(f"{name}{end}") for name, end in fields)
    )


def leaderboard_columns(
    metrics: Sequence[str] | None = None, ends: Mapping[str, column.Column] = OF_A_METRIC
) -> dict[str, column.Column]:
    """The columns of `LEADERBOARD`, with those of these metrics, by default of each there is."""
    columns: dict[str, column.Column] = {}
    for name, declared in LEADERBOARD.items():
        if name == _METRIC:
            columns |= {
                f"{one}{end}": replace(
                    of_end,
                    description=_described(one, end, of_end.description),
                    heading=f"{title(one)}{column.words(end)}",
                )
                for one in (names(PAPER) if metrics is None else metrics)
                for end, of_end in ends.items()
            }
        elif not name.startswith(_METRIC):
            columns[name] = declared
    return columns


def _described(metric_name: str, end: str, text: str) -> str:
    """What a column of a metric is; of its value also how it is made, and the most it can be."""
    text = text.replace(_METRIC, metric_name)
    if end or metric_name not in names(PAPER):  # a value of a column
        return text
    return f"{text}: {header(metric_name)['value'][0]}; at most {metric(metric_name).high:g}"


def origin(lake: StoredLake, edition: str | None = PAPER) -> list[pl.Expr]:
    """The columns of `ORIGIN` for numbers of this lake; without an edition, the system alone."""
    system = [pl.lit(lake.system, pl.String).alias("system"), *seen_as(lake)]
    return system if edition is None else [pl.lit(edition).alias("edition"), *system]


def seen_as(lake: StoredLake) -> list[pl.Expr]:
    """The columns of `SEEN_AS` for numbers of this lake, those that it has something to say in."""
    return [pl.lit(text).alias(name) for name, text in lake.seen_as.items()]


def counted_in(
    columns: Mapping[str, column.Column], *, has_edition: bool = True, has_losses: bool = True
) -> Callable[[Callable[Concatenate[L, P], R]], Callable[Concatenate[L, P], R]]:
    """The function, given the lake of one system; its rows say which that is, and the edition.

    A function that counts several together says so itself, by a null `system`. One that is the same
    whether failures are losses or not does not say so.

    `columns` are those that it returns itself. They are listed in its docstring, with the others.
    """
    of_rows = {**columns, **(ORIGIN if has_edition else {"system": SYSTEM})}

    def with_origin(function: Callable[Concatenate[L, P], R]) -> Callable[Concatenate[L, P], R]:
        column.listed(of_rows)(function)

        @wraps(function)
        def run(lake: L, /, *given: P.args, **options: P.kwargs) -> R:
            edition = str(options.get("edition", PAPER)) if has_edition else None
            lake = lake if has_losses else lake.with_failures(EXCLUDE)
            rows: Any = function(lake, *given, **options)
            said = origin(lake, edition)
            is_whole = isinstance(rows, pl.DataFrame)
            parts = (_with_origin(part, said) for part in ([rows] if is_whole else rows))
            return cast(R, next(parts) if is_whole else parts)

        return of_one_system(run)

    return with_origin


def _with_origin(rows: pl.DataFrame, said: Sequence[pl.Expr]) -> pl.DataFrame:
    """The rows with the columns that say where they are from, or those of them that they have."""
    names = [one.meta.output_name() for one in said]
    own = [pl.col(n) if n in rows.columns else one for n, one in zip(names, said, strict=True)]
    return rows.select(pl.exclude(names), *own)


def magic_json(rows: pl.DataFrame) -> str:
    """One model's release metrics over all game types as the benchmark's script prints them."""
    over_all = rows.filter(pl.col("game_type") == ALL)
    value_of = dict(over_all.select("metric", "value").iter_rows())
    # The script rounds with Python's round, half to even.
    printed = {
        TITLES[name]: None if value_of.get(name) is None else round(value_of[name], 3)
        for name in _OF_SCRIPT
    }
    return json.dumps([{"train_split": {**printed, "Total": 1000}}])
