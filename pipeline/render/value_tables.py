"""Tables of values with their intervals: metrics, the leaderboard and ratings.

The functions have the names of results in `pipeline.registry`, by which `build_result_table` finds
them. Depends on `pipeline.metrics` and `pipeline.render.table`.
"""

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
    complete_models_with_fewer_games_notes,
    replayed_and_repeated_games_notes,
    self_play_game_counts_by_model,
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

VALUE_ESTIMATE = Estimate(
    *("value", "ci_low", "ci_high", ("small_sample_terms",), "counted", "n_games", "reason"),
    missing_competitions="missing_competitions",
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


def leaderboard_estimate(column: str, metric: str) -> Estimate:
    """Return the estimate that combines a value of the leaderboard with its interval and marks.

    Args:
        column: The column of the value; the names of the other columns begin with it.
        metric: The metric of the value, which determines whether it is a share.

    Returns:
        The estimate.
    """
    low, high, small_sample_terms, missing_competitions, undecided = (
        f"{column}{suffix}" for suffix in ESTIMATE_FIELDS if suffix
    )
    return Estimate(
        *(column, low, high, (small_sample_terms,)),
        missing_competitions=missing_competitions,
        undecided=undecided,
        is_share=declaration(metric).is_proportion,
        has_evidence=True,
    )


def metrics(
    rows: pl.DataFrame, lake: StoredLake | None = None, expected: int | None = None, **_: Any
) -> Table:
    """Make the table of metric values, with notes on small samples, missing games and replays."""
    notes = [
        *small_sample_notes(rows, "small_sample_terms"),
        *missing_competitions_notes(rows),
        *missing_games_notes(rows.drop_nulls("value")),
        *undecided_rows_notes(rows),
        *replayed_and_repeated_games_notes(rows),
        *complete_models_with_fewer_games_notes(lake, rows, expected),
    ]
    if lake is not None and "win_rate" in rows["metric"]:
        # Self-play gives win rates by construction; the note names the models in the rows.
        games = pl.concat(
            part.compute_once(self_play_game_counts_by_model) for part in lake.split_by_system()
        )
        models = rows.select("model").unique() if "model" in rows.columns else games
        notes += self_play_notes(games.join(models, on="model", how="semi", nulls_equal=True))
    return Table(
        "metrics",
        rows,
        {**column_specs_of_rows(rows), **METRIC_VALUE_COLUMNS},
        estimates=(VALUE_ESTIMATE,),
        hidden=_PROGRAM_COLUMNS,
        optional=("n_unfinished", "n_unreadable", "n_unknown", "reason"),
        layout_steps=(
            table.move_column_to_notes("reason"),
            table.move_first_label_to_titles,
            table.move_first_label_to_titles,
            table.merge_columns("hits, counted", "hits", "counted"),
        ),
        notes=notes,
        hints=["no game of a tested model matches"]
        if rows.is_empty() or (lake is not None and not lake.systems)
        else (),
    )


def evidence_sum(rows: pl.DataFrame, **_: Any) -> Table:
    """Make the table of the terms that add up to a value, and of the value in the last row."""
    return Table(
        "evidence_sum",
        rows,
        evidence_sums.EVIDENCE_SUM_COLUMNS,
        estimates=(replace(VALUE_ESTIMATE, counted=None, has_evidence=False),),
        optional=("weight", "n_unknown", "reason"),
        brief=lambda rows: rows.with_columns(pl.col("term").fill_null("value")),
        notes=[*small_sample_notes(rows, "small_sample_terms"), *missing_competitions_notes(rows)],
    )


def ratings(rows: pl.DataFrame, **_: Any) -> Table:
    """Make the table of the models' ratings; a note names the opponent if there is only one."""
    sides = rows.drop_nulls(["opponent", "odds"]).unique(["side", "opponent"], maintain_order=True)
    notes = [
        f"{side}: adjusted win odds against {escape_to_one_line(opponent)}"
        for side, opponent in sides.select("side", "opponent").iter_rows()
    ]
    pools = rows.drop_nulls("pool")
    has_shared_pool = pools.is_empty() or pools.select("side", "pool").is_duplicated().any()
    pool_text = (
        "" if has_shared_pool else "; each pool here has one model, so that these games rank none"
    )
    notes += (
        [f"only odds of one side and one pool can be compared{pool_text}"] if rows.height else []
    )
    return Table(
        "ratings",
        rows,
        rated.RATING_COLUMNS,
        estimates=[Estimate("odds", "ci_low", "ci_high")],
        optional=("left_out", "opponent", "reason"),
        layout_steps=(table.move_columns_to_titles("side"), table.move_column_to_notes("reason")),
        notes=notes,
        nothing="no finished game between models has a hidden side",
    )


def column_specs_of_rows(rows: pl.DataFrame) -> dict[str, Column]:
    """Return a spec for each column of the rows, because rows can be grouped by any column.

    Args:
        rows: Rows of a result.

    Returns:
        The specs by column, from the event tables `games` and `players`. The spec of a column that
        these tables do not have contains only its type.
    """
    available_columns = {**TABLES["games"].columns(), **TABLES["players"].columns()}
    return {
        name: available_columns.get(name) or Column(dtype) for name, dtype in rows.schema.items()
    }


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
    """Make the table of the leaderboard, with notes on its marks and on missing values."""
    names = [name for name in rows.columns if f"{name}_small_sample_terms" in rows.columns]
    slice_conditions = {
        "game type": None if game_type == ALL_GAME_TYPES else game_type,
        "rows where": where,
    }
    slice_texts = [
        f"only {name} {condition}"
        for name, condition in slice_conditions.items()
        if condition is not None
    ]
    metric_name = next(iter(as_list(metric or "win_rate") or ()))
    slice_texts += [f"{metric_title(metric_name)} by {columns}"] if columns else []
    slice_text = ", ".join(slice_texts)
    slice_note = [f"{slice_text}: a slice has no rank and no letters"] if slice_text else []
    nothing = (
        "no game of a tested model matches"
        if slice_text
        else "the lake has no game of a tested model"
    )
    notes = [
        *slice_note,
        *(group_letters_notes(rows, confidence) if "win_rate" in names else ()),
        *small_sample_notes(rows, *(f"{name}_small_sample_terms" for name in names)),
        *missing_competitions_notes(
            _unpivot_columns_with_suffix(rows, "missing_competitions", "_missing_competitions")
        ),
        *_notes_of_incomplete_models(rows),
        *undecided_rows_notes(_unpivot_columns_with_suffix(rows, "n_undecided", "_undecided")),
        *replayed_and_repeated_games_notes(rows),
        *complete_models_with_fewer_games_notes(lake, rows, expected),
        *_notes_of_missing_value_reasons(rows, names),
        *(() if columns else _values_above_1_notes(rows, names)),
        *self_play_notes(rows.filter(rows["n_self_play"] > 0)),
    ]
    return Table(
        "leaderboard",
        rows,
        {**column_specs_of_rows(rows), **leaderboard_columns(names)},
        estimates=[leaderboard_estimate(name, metric_name if columns else name) for name in names],
        headings={name: name for name in names if columns},
        hidden=(
            *(
                "family",
                "n_expected",
                "is_complete",
                "missing_competitions",
                "reasons",
                *REPLAY_COLUMNS,
            ),
            # Rank and letters belong to win rates, so they are hidden beside other metrics.
            *(() if "win_rate" in names else ("rank", "group_letters")),
        ),
        optional=("rank", "group_letters", "n_games", "n_missing", "n_self_play", *names),
        star=("model", "is_complete"),
        transposed_by="model",
        secondary_columns=("group_letters", "n_games", "n_missing"),
        notes=notes,
        nothing=nothing,
    )


def _values_above_1_notes(rows: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Return a note with the ranges of the metrics that have values above 1, in a list."""
    ranges = [
        f"{metric_title(name)} has a range of 0 to {declaration(name, rows['edition'][0]).high:g}"
        for name in names
        if (rows[name] > 1).any()
    ]
    return [f"values above 1: {', '.join(ranges)}"] if ranges else []


def small_sample_notes(rows: pl.DataFrame, *columns: str) -> list[str]:
    """Return the note that explains the mark for small samples.

    Args:
        rows: Rows with values.
        *columns: The columns that list terms with too few independent settings.

    Returns:
        A list with the note; an empty list if no value has the mark.
    """
    existing_columns = [name for name in columns if name in rows.columns]
    has_small_sample = any((rows[name].list.len() > 0).any() for name in existing_columns)
    return [SMALL_SAMPLE_NOTE] if has_small_sample else []


def missing_competitions_notes(rows: pl.DataFrame) -> list[str]:
    """Return the note that explains the star of values that do not cover all competitions.

    Args:
        rows: Rows with the columns `model` and `missing_competitions`.

    Returns:
        A list with the note; an empty list if no value has this star.
    """
    if "missing_competitions" not in rows.columns or "model" not in rows.columns:
        return []
    incomplete_rows = rows.filter(pl.col("missing_competitions").list.len() > 0).select(
        "model", "missing_competitions"
    )
    model_texts = [
        f"{model or UNNAMED_MODEL} lacks {', '.join(missing_competitions)}"
        for model, missing_competitions in incomplete_rows.unique()
        .sort("model", "missing_competitions")
        .rows()
    ]
    more_text = (
        [f"{len(model_texts) - table.MAX_LISTED_NAMES} more"]
        if len(model_texts) > table.MAX_LISTED_NAMES
        else []
    )
    listed_models = "; ".join([*model_texts[: table.MAX_LISTED_NAMES], *more_text])
    return (
        [f"* the value covers fewer competitions than others beside it: {listed_models}"]
        if model_texts
        else []
    )


def missing_games_notes(rows: pl.DataFrame) -> list[str]:
    """Return the note that explains the star of models with missing games.

    If the numbers of missing games of a model differ between rows, the note has the highest one.

    Args:
        rows: Rows with the columns `model`, `n_missing` and `n_expected`.

    Returns:
        A list with the note; an empty list if no games are missing.
    """
    if not {"model", *MISSING_COLUMNS} <= set(rows.columns):
        return []
    incomplete_models = rows.filter(pl.col("n_missing") > 0).group_by("model", maintain_order=True)
    max_numbers = pl.col(*MISSING_COLUMNS).sort_by(*MISSING_COLUMNS).last()
    model_texts = [
        f"{model or UNNAMED_MODEL}: {'up to ' * (n_numbers > 1)}{n_missing:,} of {n_expected:,}"
        for model, n_missing, n_expected, n_numbers in incomplete_models.agg(
            max_numbers, n=pl.struct(*MISSING_COLUMNS).n_unique()
        ).rows()
    ]
    return [
        "* lacks games that are expected of it; run `magic completeness` for details "
        f"({', '.join(model_texts)} games missing, by competition)"
    ] * bool(model_texts)


def undecided_rows_notes(rows: pl.DataFrame) -> list[str]:
    """Return the note that explains the star of values from which undecided rows are excluded.

    A row is undecided if the game did not register what the player did and no text states it.

    Args:
        rows: Rows with the column `n_undecided`.

    Returns:
        A list with the note; an empty list if no row is undecided.
    """
    if "n_undecided" not in rows.columns:
        return []
    if "game_type" in rows.columns and (total_rows := rows.filter(game_type=ALL_GAME_TYPES)).height:
        rows = total_rows
    keys = [name for name in ("metric", "model") if name in rows.columns]
    sums = rows.group_by(keys, maintain_order=True).agg(pl.col("n_undecided").sum())
    count_texts = [
        f"{count:,} of {' of '.join(name or UNNAMED_MODEL for name in names)}"
        for *names, count in sums.filter(pl.col("n_undecided") > 0).rows()
    ]
    return [
        "* rows not counted, since no game registered them and no text decides: "
        f"{', '.join(count_texts)}; `magic evidence METRIC --unclear` lists them; state in the log "
        "what was done, such as a vote's `target`"
    ] * bool(count_texts)


def _unpivot_columns_with_suffix(rows: pl.DataFrame, value_name: str, suffix: str) -> pl.DataFrame:
    """Turn the columns that end with the suffix into rows: model, metric and the value.

    The column of the values is called `value_name`.
    """
    columns = rows.select("model", cs.ends_with(suffix))
    if columns.width == 1:
        return columns
    values = columns.unpivot(index="model", variable_name="metric", value_name=value_name)
    return values.with_columns(pl.col("metric").str.strip_suffix(suffix))


def group_letters_notes(rows: pl.DataFrame, confidence: float) -> list[str]:
    """Return the note that explains the column `group_letters`, or why it is empty.

    Args:
        rows: Rows of the leaderboard.
        confidence: Confidence level, between 0 and 1.

    Returns:
        A list with the note; an empty list if no pairs of models were compared.
    """
    # Imported here, so that tables without letters do not have to load numpy.
    from pipeline.reports import ranking

    if rows["rank"].count() > ranking.MAX_LETTERED_MODELS and not rows["group_letters"].count():
        return [f"no letters: they compare up to {ranking.MAX_LETTERED_MODELS} ranked models"]
    return [
        f"letters: the win rates of two models differ significantly only if they share no letter; "
        f"{size} pair{' of ranked models is' if size == 1 else 's of ranked models are'} compared "
        f"at the {100 * (1 - confidence):g} % level, adjusted by Holm"
        for size in rows["family"].drop_nulls().unique()
        if size
    ]


def _notes_of_incomplete_models(rows: pl.DataFrame) -> list[str]:
    """Return notes on the models of the leaderboard with missing games or competitions."""
    columns = ("rank", "model", "n_missing", "n_expected", "missing_competitions")
    incomplete_rows = rows.filter(~rows["is_complete"]).select(columns).rows()
    notes = missing_games_notes(
        rows.filter(pl.col("missing_competitions").list.len().fill_null(0) == 0)
    )
    for rank, model, n_missing, n_expected, missing_competitions in incomplete_rows:
        if missing_competitions:
            rank_text = (
                "has no rank" if rank is None else "is ranked because of --include-incomplete"
            )
            notes.append(
                f"* {model or UNNAMED_MODEL} {rank_text}: its win rate covers fewer competitions "
                f"than that of others; it lacks {n_missing:,} of {n_expected:,} games, by "
                f"competition, with all of {', '.join(missing_competitions)}"
            )
    return notes


def _notes_of_missing_value_reasons(rows: pl.DataFrame, names: Sequence[str]) -> list[str]:
    """Return a note for each reason why values are missing, with the models that it concerns."""
    empty_metrics = [name for name in names if not rows[name].count()]
    models_by_reason: dict[str, dict[str, None]] = {}
    for model, reasons in rows.select("model", "reasons").iter_rows():
        for reason in reasons:
            if reason.partition(":")[0] not in empty_metrics:
                models_by_reason.setdefault(reason, {})[model or UNNAMED_MODEL] = None
    notes = [f"– {reason} ({', '.join(names)})" for reason, names in models_by_reason.items()]
    if empty_metrics and rows.height:
        notes.append(f"no model has a value of {', '.join(empty_metrics)}")
    return notes
