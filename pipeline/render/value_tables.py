"""Values with their intervals: the metrics, the leaderboard, and how sure they are."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import polars.selectors as cs
from msgspec.structs import replace

from pipeline.column import Column
from pipeline.events.contracts import TABLES
from pipeline.lake import StoredLake
from pipeline.metrics import DEFAULT_CONFIDENCE, evidence as evidence_sums
from pipeline.metrics.completeness import (
    count_self_play,
    fewer_games_notes,
    replay_notes,
    self_play_notes,
)
from pipeline.metrics.estimates import SMALL_SAMPLE_NOTE
from pipeline.metrics.registry import (
    ESTIMATE_FIELDS,
    METRIC_VALUE_COLUMNS,
    MISSING_COLUMNS,
    REPLAY_COLUMNS,
    leaderboard_columns,
    metric_spec as declaration,
    metric_title,
)
from pipeline.metrics.request import as_list
from pipeline.render import table
from pipeline.render.table import Estimate, Table
from pipeline.reports import ratings as rated
from pipeline.text_format import UNNAMED_MODEL, escape_to_one_line
from pipeline.vocabulary import ALL_GAME_TYPES

VALUE = Estimate(
    *("value", "ci_low", "ci_high", ("thin",), "counted", "n_games", "reason"),
    lacks="lacks",
    missing=tuple(MISSING_COLUMNS),
    undecided="n_undecided",
    has_evidence=True,
)
_PROGRAM_COLUMNS = (
    "edition",
    "terms",
    "ci_method",
    "effective_items",
    "is_complete",
    *REPLAY_COLUMNS,
)


def metric_estimate(name: str, of: str) -> Estimate:
    """The columns of a metric, or of a value `of` one, in a row of the leaderboard."""
    low, high, thin, lacks, undecided = (f"{name}{end}" for end in ESTIMATE_FIELDS if end)
    return Estimate(
        *(name, low, high, (thin,)),
        lacks=lacks,
        undecided=undecided,
        is_share=declaration(of).is_share,
        has_evidence=True,
    )


def metrics(
    rows: pl.DataFrame, lake: StoredLake | None = None, expected: int | None = None, **_: Any
) -> Table:
    notes = [
        *thin_note(rows, "thin"),
        *lacks_note(rows),
        *missing_games_note(rows.drop_nulls("value")),
        *undecided_votes_note(rows),
        *replay_notes(rows),
        *fewer_games_notes(lake, rows, expected),
    ]
    if lake is not None and "win_rate" in rows["metric"]:
        # Win rates that are so by construction, of the models in the rows.
        games = pl.concat(one.cached(count_self_play) for one in lake.split_by_system())
        models = rows.select("model").unique() if "model" in rows.columns else games
        notes += self_play_notes(games.join(models, on="model", how="semi", nulls_equal=True))
    return Table(
        "metrics",
        rows,
        {**group_columns(rows), **METRIC_VALUE_COLUMNS},
        estimates=(VALUE,),
        hidden=_PROGRAM_COLUMNS,
        optional=("n_unfinished", "n_unreadable", "n_unknown", "reason"),
        folds=(
            table.below("reason"),
            table.by_label,
            table.by_label,
            table.merged("hits, counted", "hits", "counted"),
        ),
        notes=notes,
        hints=["no game of a tested model matches"]
        if rows.is_empty() or (lake is not None and not lake.systems)
        else (),
    )


def evidence_sum(rows: pl.DataFrame, **_: Any) -> Table:
    """The terms of a value with what each adds, and the value in the last row."""
    return Table(
        "evidence_sum",
        rows,
        evidence_sums.EVIDENCE_SUM_COLUMNS,
        estimates=(replace(VALUE, counted=None, has_evidence=False),),
        optional=("weight", "n_unknown", "reason"),
        brief=lambda one: one.with_columns(pl.col("term").fill_null("value")),
        notes=[*thin_note(rows, "thin"), *lacks_note(rows)],
    )


def ratings(rows: pl.DataFrame, **_: Any) -> Table:
    """The odds of each model on each side, and whom they are against where it is one model."""
    sides = rows.drop_nulls(["opponent", "odds"]).unique(["side", "opponent"], maintain_order=True)
    notes = [
        f"{side}: adjusted win odds against {escape_to_one_line(opponent)}"
        for side, opponent in sides.select("side", "opponent").iter_rows()
    ]
    pools = rows.drop_nulls("pool")
    is_shared = pools.is_empty() or pools.select("side", "pool").is_duplicated().any()
    alone = "" if is_shared else "; each pool here has one model, so that these games rank none"
    notes += [f"only odds of one side and one pool can be compared{alone}"] if rows.height else []
    return Table(
        "ratings",
        rows,
        rated.RATING_COLUMNS,
        estimates=[Estimate("odds", "ci_low", "ci_high")],
        optional=("left_out", "opponent", "reason"),
        folds=(table.titled("side"), table.below("reason")),
        notes=notes,
        nothing="no finished game between models has a hidden side",
    )


def group_columns(rows: pl.DataFrame) -> dict[str, Column]:
    """The columns that rows can be grouped by, as tables declare them."""
    known = {**TABLES["games"].columns(), **TABLES["players"].columns()}
    return {name: known.get(name) or Column(dtype) for name, dtype in rows.schema.items()}


def leaderboard(
    rows: pl.DataFrame,
    confidence: float = DEFAULT_CONFIDENCE,
    *,
    lake: StoredLake | None = None,
    expected: int | None = None,
    game_type: str | None = None,
    where: str | None = None,
    columns: str | None = None,
    metric: str | Sequence[str] | None = None,
    **_: Any,
) -> Table:
    names = [name for name in rows.columns if f"{name}_thin" in rows.columns]
    parts = {"game type": None if game_type == ALL_GAME_TYPES else game_type, "rows where": where}
    said = [f"only {name} {one}" for name, one in parts.items() if one is not None]
    of = next(iter(as_list(metric or "win_rate") or ()))
    said += [f"{metric_title(of)} by {columns}"] if columns else []
    part = ", ".join(said)
    slice_note = [f"{part}: a slice has no rank and no letters"] if part else []
    nothing = (
        "no game of a tested model matches" if part else "the lake has no game of a tested model"
    )
    notes = [
        *slice_note,
        *(letters_note(rows, confidence) if "win_rate" in names else ()),
        *thin_note(rows, *(f"{name}_thin" for name in names)),
        *lacks_note(_by_metric(rows, "lacks", "_lacks")),
        *_incomplete(rows),
        *undecided_votes_note(_by_metric(rows, "n_undecided", "_undecided")),
        *replay_notes(rows),
        *fewer_games_notes(lake, rows, expected),
        *_reasons(rows, names),
        *(() if columns else _range_note(rows, names)),
        *self_play_notes(rows.filter(rows["n_self_play"] > 0)),
    ]
    return Table(
        "leaderboard",
        rows,
        {**group_columns(rows), **leaderboard_columns(names)},
        estimates=[metric_estimate(name, of if columns else name) for name in names],
        headings={name: name for name in names if columns},
        hidden=(
            *("family", "n_expected", "is_complete", "lacks", "reasons", *REPLAY_COLUMNS),
            # They are of win rates: beside other values they would seem to be of these.
            *(() if "win_rate" in names else ("rank", "letters")),
        ),
        optional=("rank", "letters", "n_games", "n_missing", "n_self_play", *names),
        star=("model", "is_complete"),
        turned="model",
        asides=("letters", "n_games", "n_missing"),
        notes=notes,
        nothing=nothing,
    )


def _range_note(rows: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """That values above 1 are in the range of their metrics, if there are any."""
    ranges = [
        f"{metric_title(name)} has a range of 0 to {declaration(name, rows['edition'][0]).high:g}"
        for name in names
        if (rows[name] > 1).any()
    ]
    return [f"values above 1: {', '.join(ranges)}"] if ranges else []


def thin_note(rows: pl.DataFrame, *columns: str) -> list[str]:
    """What the mark means, if any value has it."""
    there = [name for name in columns if name in rows.columns]
    is_thin = any((rows[name].list.len() > 0).any() for name in there)
    return [SMALL_SAMPLE_NOTE] if is_thin else []


def lacks_note(rows: pl.DataFrame) -> list[str]:
    """What the star at a value means, and which models' values lack what."""
    if "lacks" not in rows.columns or "model" not in rows.columns:
        return []
    apart = rows.filter(pl.col("lacks").list.len() > 0).select("model", "lacks")
    named = [
        f"{model or UNNAMED_MODEL} lacks {', '.join(lacks)}"
        for model, lacks in apart.unique().sort("model", "lacks").rows()
    ]
    more = [f"{len(named) - table.MOST_NAMED} more"] if len(named) > table.MOST_NAMED else []
    listed = "; ".join([*named[: table.MOST_NAMED], *more])
    return (
        [f"* the value covers fewer competitions than others beside it: {listed}"] if named else []
    )


def missing_games_note(rows: pl.DataFrame) -> list[str]:
    """What the star means if games are missing: of which models, and how many of how many.

    Where a model's values are of other games each, the most that one of them lacks.
    """
    if not {"model", *MISSING_COLUMNS} <= set(rows.columns):
        return []
    lacking = rows.filter(pl.col("n_missing") > 0).group_by("model", maintain_order=True)
    most = pl.col(*MISSING_COLUMNS).sort_by(*MISSING_COLUMNS).last()
    said = [
        f"{model or UNNAMED_MODEL}: {'up to ' * (n_numbers > 1)}{n:,} of {of:,}"
        for model, n, of, n_numbers in lacking.agg(
            most, n=pl.struct(*MISSING_COLUMNS).n_unique()
        ).rows()
    ]
    return [
        "* lacks games that are expected of it; run `magic completeness` for details "
        f"({', '.join(said)} games missing, by competition)"
    ] * bool(said)


def undecided_votes_note(rows: pl.DataFrame) -> list[str]:
    """What the star says of rows that no game registered and no text decides: whose, how many."""
    if "n_undecided" not in rows.columns:
        return []
    if "game_type" in rows.columns and (of_all := rows.filter(game_type=ALL_GAME_TYPES)).height:
        rows = of_all
    keys = [name for name in ("metric", "model") if name in rows.columns]
    sums = rows.group_by(keys, maintain_order=True).agg(pl.col("n_undecided").sum())
    said = [
        f"{n:,} of {' of '.join(name or UNNAMED_MODEL for name in names)}"
        for *names, n in sums.filter(pl.col("n_undecided") > 0).rows()
    ]
    return [
        "* rows not counted, since no game registered them and no text decides: "
        f"{', '.join(said)}; `magic evidence METRIC --unclear` lists them; state in the log what "
        "was done, such as a vote's `target`"
    ] * bool(said)


def _by_metric(rows: pl.DataFrame, name: str, end: str) -> pl.DataFrame:
    """Of each model and metric what a leaderboard's columns with this end have, in one column."""
    values = rows.select("model", cs.ends_with(end))
    if values.width == 1:
        return values
    columns = values.unpivot(index="model", variable_name="metric", value_name=name)
    return columns.with_columns(pl.col("metric").str.strip_suffix(end))


def letters_note(rows: pl.DataFrame, confidence: float) -> list[str]:
    """How many comparisons the letters are adjusted for: of other models it is another number."""
    # Only a leaderboard has letters: the values of metrics need not wait for numpy.
    from pipeline.reports import ranking

    if rows["rank"].count() > ranking.MAX_LETTERED_MODELS and not rows["letters"].count():
        return [f"no letters: they compare up to {ranking.MAX_LETTERED_MODELS} ranked models"]
    return [
        f"letters: the win rates of two models differ significantly only if they share no letter; "
        f"{size} pair{' of ranked models is' if size == 1 else 's of ranked models are'} compared "
        f"at the {100 * (1 - confidence):g} % level, adjusted by Holm"
        for size in rows["family"].drop_nulls().unique()
        if size
    ]


def _incomplete(rows: pl.DataFrame) -> list[str]:
    """Who lacks games, how many of how many, and who a whole competition."""
    columns = ("rank", "model", "n_missing", "n_expected", "lacks")
    lacking = rows.filter(~rows["is_complete"]).select(columns).rows()
    notes = missing_games_note(rows.filter(pl.col("lacks").list.len().fill_null(0) == 0))
    for rank, model, n, of, lacks in lacking:
        if lacks:
            rankless = (
                "has no rank" if rank is None else "is ranked because of --include-incomplete"
            )
            notes.append(
                f"* {model or UNNAMED_MODEL} {rankless}: its win rate covers fewer competitions "
                "than "
                f"that of others; it lacks {n:,} of {of:,} games, by competition, with all of "
                f"{', '.join(lacks)}"
            )
    return notes


def _reasons(rows: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Why values are missing: each reason once, with its models."""
    left_out = [name for name in names if not rows[name].count()]
    models: dict[str, dict[str, None]] = {}
    for model, reasons in rows.select("model", "reasons").iter_rows():
        for reason in reasons:
            if reason.partition(":")[0] not in left_out:
                models.setdefault(reason, {})[model or UNNAMED_MODEL] = None
    notes = [f"– {reason} ({', '.join(names)})" for reason, names in models.items()]
    if left_out and rows.height:
        notes.append(f"no model has a value of {', '.join(left_out)}")
    return notes
