"""What changed between two lakes, or two states of one lake, and which games caused it."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from pipeline import column
from pipeline.column import Column, listed, schema
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import DEFAULT_CONFIDENCE, PAPER, Answer, answered, metric
from pipeline.metrics.counting import rows as rows_of
from pipeline.metrics.known import names
from pipeline.metrics.request import Request
from pipeline.metrics.results import IS_THIN, METRIC
from pipeline.reports.compare.columns import COLUMNS as COMPARED
from pipeline.reports.compare.columns import SCHEMA
from pipeline.reports.compare.differences import of_metric
from pipeline.reports.compare.verdicts import adjusted, check_margin
from pipeline.statistics.margins import fall_seen, p_fall
from pipeline.statistics.pairs import BASIS, of_basis
from pipeline.statistics.sums import exact_sum
from pipeline.vocabulary import Edition

LEVEL = 0.05
SAME_GAMES = "the same games"
_STATES = ("before", "after")
_OF_GAMES: Mapping[str, Column] = {
    "n_common": column.count("games that both count").shown("common"),
    "n_gone": column.count("games that only the first counts").shown("gone"),
    "n_new": column.count("games that only the second counts").shown("new"),
}
_GAMES = schema(_OF_GAMES)
COLUMNS: Mapping[str, Column] = {
    "metric": COMPARED["metric"],
    "model": COMPARED["model"],
    "value": column.share("the value before, in the metric's unit").shown("before"),
    "new_value": column.share("the value after").shown("after"),
    "thin": IS_THIN,
    "new_thin": IS_THIN,
    "difference": column.share(
        "new_value − value; only over the common settings if `method` is `paired by setting`"
    ),
    **{name: COMPARED[name] for name in ("ci_low", "ci_high", "p_value", "p_holm")},
    "family": column.count("how many p-values are adjusted together: all of the result"),
    "method": column.text("how the difference was computed"),
    "n_settings": COMPARED["n_settings"],
    "is_replayed": COMPARED["is_replayed"],
    **_OF_GAMES,
    "is_beyond_noise": column.flag("whether the value changed by more than chance explains").shown(
        "beyond noise"
    ),
    "reason": column.text("why there is no difference"),
}
# With a margin.
OF_MARGIN: Mapping[str, Column] = {
    "p_fall": column.p_value("one-sided, adjusted by Holm: the value fell by more than the margin"),
    "fall_seen": column.share(
        "the smallest fall that this test sees with power .8, at the level of .05 divided by the "
        "number of tests; null if even a fall to 0 would not be seen"
    ),
    "is_regression": column.flag("whether the value fell by more than the margin"),
}
CHANGED_GAMES: Mapping[str, Column] = {
    "metric": METRIC,
    **{
        name: TABLES["results"].columns()[name]
        for name in ("model", "competition", "setting_id", "game_id")
    },
    "change": column.text("`gone` if only the first counts the game, `new` if only the second"),
    "hits": column.number("the game's hits"),
    "counted": column.count("the game's counted rows"),
}


@listed(COLUMNS)
def diff(
    before: StoredLake,
    after: StoredLake | str | Path,
    *,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
    margin: float | None = None,
) -> pl.DataFrame:
    """The change of each value: a row for each metric and model of either lake.

    `after` is a lake or the path of one. If both lakes count the same games, the difference is not
    an estimate and has no p-value. Otherwise they are compared like two models, on the settings
    that both have.

    With a `margin`, also `p_fall`, `fall_seen` and `is_regression`: see `OF_MARGIN`.

    Raises UsageError for an unknown edition or a wrong margin, and LakeError if there is no lake at
    the path.

    >>> lake.diff("lake/").select("n_gone", "n_new").unique().rows()
    [(0, 0)]
    """
    if margin is not None:
        check_margin(margin, None, edition, may_be_0=True)
    before, after = _of_same_system(before, after)
    request = Request(edition=edition)
    by_model = Request(edition=edition, by=("model",))
    answers = [answered(lake, by_model, confidence=confidence) for lake in (before, after)]
    found = [
        row
        for name in names(edition)
        for row in _of_metric(name, (before, after), answers, request, confidence)
    ]
    compared = pl.DataFrame(found, schema={**SCHEMA, "basis": BASIS, **_GAMES})
    is_same = (pl.col("n_gone") == 0) & (pl.col("n_new") == 0)
    rows = compared.with_columns(
        pl.when(is_same).then(None).otherwise("p_value").alias("p_value"),
        pl.when(is_same).then("difference").otherwise("ci_low").alias("ci_low"),
        pl.when(is_same).then("difference").otherwise("ci_high").alias("ci_high"),
        method=pl.when(is_same).then(pl.lit(SAME_GAMES)).otherwise("method"),
    )
    columns = () if margin is None else OF_MARGIN
    rows = adjusted(rows, [])
    if margin is not None:
        rows = _with_falls(rows, margin)
    return (
        rows.with_columns(
            is_beyond_noise=pl.when(is_same)
            .then(pl.col("difference") != 0)
            .otherwise(pl.col("p_holm") < LEVEL)
        )
        .rename({"other_value": "new_value", "other_thin": "new_thin"})
        .select([*list(COLUMNS)[:-1], *columns, "reason"])
    )


def _of_same_system(
    before: StoredLake, after: StoredLake | str | Path
) -> tuple[StoredLake, StoredLake]:
    """The lakes of one system: that of the earlier one, or its largest."""
    if not isinstance(after, StoredLake):
        after = open_lake(after)
    before = before.of_one_system()
    if before.system is None or not after.systems:
        return before, after.of_one_system()
    return before, after.of_system(before.system)


def _with_falls(rows: pl.DataFrame, margin: float) -> pl.DataFrame:
    """The rows with p_fall (one-sided, adjusted), fall_seen and is_regression."""
    level = LEVEL / max(1, rows["p_value"].count())
    falls = [
        _fall(basis, p, margin, level) if p is not None else (None, None)
        for basis, p in rows.select("basis", "p_value").iter_rows()
    ]
    raw, seen = zip(*falls, strict=True) if falls else ((), ())
    found = rows.with_columns(
        raw=pl.Series(raw, dtype=pl.Float64), fall_seen=pl.Series(seen, dtype=pl.Float64)
    )
    is_beyond = pl.col("difference") < -margin
    is_seen = pl.when(pl.col("raw").is_null()).then(is_beyond).otherwise(pl.col("p_fall") <= LEVEL)
    return adjusted(found, [], "raw", "p_fall").with_columns(is_regression=is_seen)


def _fall(
    basis: dict[str, Any], p: float, margin: float, level: float
) -> tuple[float, float | None]:
    """The one-sided p-value of a fall of more than the margin, and the fall that it detects."""
    new, old, correlation = of_basis(basis)
    seen = fall_seen(new, old, margin, level, correlation=correlation)
    return p_fall(new, old, margin, p, correlation), seen


def _of_metric(
    name: str,
    lakes: tuple[StoredLake, StoredLake],
    answers: list[Answer],
    request: Request,
    confidence: float,
) -> list[dict[str, Any]]:
    """The rows of one metric, a model each."""
    games = _games(name, lakes, request)
    valued = [answer.rows.filter(metric=name) for answer in answers]
    models = pl.concat(one.select("model") for one in valued).unique().sort("model")["model"]
    compared = _compared(
        name, answers, valued, models, edition=request.edition, confidence=confidence
    )
    found = []
    for number, model in enumerate(models):
        is_model = pl.col("model").eq_missing(pl.lit(model))
        rows = [one.filter(is_model) for one in valued]
        row: dict[str, Any] = dict.fromkeys([*SCHEMA, "basis"]) | {"metric": name}
        if number in compared:
            row |= compared[number]
            row |= {"value": row["other_value"], "other_value": row["value"]}
            row |= {"thin": row["other_thin"], "other_thin": row["thin"]}
        else:
            state = 0 if rows[0].height else 1
            row["value" if state == 0 else "other_value"] = rows[state]["value"].item()
            row["thin" if state == 0 else "other_thin"] = rows[state]["thin"].to_list()[0]
            row["reason"] = f"only {_STATES[state]}"
        counted = games.filter(is_model).select(_GAMES.names())
        counts = counted.row(0, named=True) if counted.height else dict.fromkeys(_GAMES, 0)
        found.append(row | counts | {"model": model})
    return found


def _compared(
    name: str,
    answers: list[Answer],
    valued: list[pl.DataFrame],
    models: pl.Series,
    *,
    edition: Edition,
    confidence: float,
) -> dict[int, dict[str, Any]]:
    """The comparison of each model that both lakes have, by its number, later with earlier.

    A model in one of the states is an entity, of its number in `models` and that of the state.
    """
    numbers = pl.DataFrame({"model": models, "number": range(len(models))})

    def of_state(frame: pl.DataFrame, state: int) -> pl.DataFrame:
        named = frame.join(numbers, on="model", how="left", nulls_equal=True)
        entity = pl.format("{} {}", "number", pl.lit(state))
        return named.with_columns(entity=entity, label=pl.lit(_STATES[state])).drop("number")

    rows = pl.concat(of_state(one, state) for state, one in enumerate(valued))
    parts = [answer.sums for answer in answers if answer.sums is not None]
    sums = pl.concat(of_state(one.filter(metric=name), state) for state, one in enumerate(parts))
    known = set(rows["entity"])
    both = [n for n in range(len(models)) if {f"{n} 0", f"{n} 1"} <= known]
    pairs = [(f"{n} 1", f"{n} 0") for n in both]

    def games_of(entities: Sequence[str]) -> pl.DataFrame:
        asked = [models[int(entity.split()[0])] for entity in entities]
        asked = sorted({model for model in asked if model is not None})
        found = [
            of_state(answer.by_game(name, asked), state)
            for state, answer in enumerate(answers)
            if answer.by_game is not None
        ]
        return pl.concat(found).select(
            "stratum", "cluster", "term", "game", "h", "c", model="entity"
        )

    found = of_metric(
        name, rows, sums, pairs, edition=edition, confidence=confidence, games_of=games_of
    )
    return dict(zip(both, found.iter_rows(named=True), strict=True))


def _games(name: str, lakes: tuple[StoredLake, StoredLake], request: Request) -> pl.DataFrame:
    """How many counted games of each model are in both lakes, gone, and new."""
    joined = changed_games(lakes, name, request, only_changed=False)
    return joined.group_by("model").agg(
        n_common=(pl.col("change") == "common").sum().cast(pl.Int64),
        n_gone=(pl.col("change") == "gone").sum().cast(pl.Int64),
        n_new=(pl.col("change") == "new").sum().cast(pl.Int64),
    )


def changed_games(
    lakes: tuple[StoredLake, StoredLake], name: str, request: Request, *, only_changed: bool = True
) -> pl.DataFrame:
    """The games that a metric counts in one lake alone: metric, model, competition, setting_id,
    game_id, change (`gone`, `new`; else `common`), hits, counted."""
    key = ["model", "competition", "setting_id", "game_id"]
    before, after = (
        rows_of(metric(name, request.edition), cache(lake.table), request)
        .filter("is_counted")
        .group_by(key)
        .agg(hits=exact_sum(pl.col("hit")), counted=pl.len().cast(pl.Int64))
        .collect(engine="streaming")
        for lake in lakes
    )
    joined = before.join(after, on=key, how="full", coalesce=True, nulls_equal=True)
    change = (
        pl.when(pl.col("counted_right").is_null())
        .then(pl.lit("gone"))
        .when(pl.col("counted").is_null())
        .then(pl.lit("new"))
        .otherwise(pl.lit("common"))
    )
    found = joined.with_columns(change=change).select(
        pl.lit(name).alias("metric"),
        *key,
        "change",
        hits=pl.coalesce("hits", "hits_right"),
        counted=pl.coalesce("counted", "counted_right"),
    )
    changed = found.filter(pl.col("change") != "common") if only_changed else found
    return changed.sort(key, nulls_last=True)


@listed(CHANGED_GAMES)
def diff_games(
    before: StoredLake, after: StoredLake | str | Path, *, edition: Edition = PAPER
) -> pl.DataFrame:
    """The games behind `diff`: a row for each metric and game that only one lake counts.

    `after` is a lake or the path of one.

    >>> lake.diff_games("lake/").height
    0
    """
    before, after = _of_same_system(before, after)
    request = Request(edition=edition)
    return pl.concat(changed_games((before, after), name, request) for name in names(edition))
