"""Tables of differences, plans and radar areas: comparisons of models, groups and states.

The functions have the names of results in `pipeline.registry`, by which `build_result_table` finds
them. Depends on `pipeline.reports` and `pipeline.render.table`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from pipeline.lake import StoredLake
from pipeline.metrics.completeness import complete_models_with_fewer_games_notes
from pipeline.metrics.registry import MISSING_COLUMNS, metric_title
from pipeline.render import table as folds
from pipeline.render.table import Estimate, Table, make_table_function, short_id
from pipeline.render.value_tables import (
    column_specs_of_rows,
    missing_games_notes,
    small_sample_notes,
)
from pipeline.reports import diff as changes, plan as plans, ranking as radars
from pipeline.reports.compare import SETTINGS_APART_COLUMNS
from pipeline.reports.compare.differences import ALL_COLUMNS
from pipeline.statistics.pairs import PAIRED, REPLAY_RATIO, UNPAIRED
from pipeline.text_format import (
    UNNAMED_MODEL,
    format_count,
    is_nonzero_but_rounds_to_zero,
    printable_group_value,
)

_DECIMALS = ALL_COLUMNS["difference"].decimals or 0
_SMALL_SAMPLE_COLUMNS, _DIFF_SMALL_SAMPLE_COLUMNS = (
    ("small_sample_terms", "other_small_sample_terms"),
    ("small_sample_terms", "new_small_sample_terms"),
)
_PROGRAM_COLUMNS = (
    *(
        "family",
        "ci_method",
        "method",
        "share_paired",
        "common_value",
        "other_common_value",
        "is_replayed",
    ),
    *("p_alike", "p_alike_holm", "reason", "game_types"),
)
_VERDICT_NOTE = (
    "verdict: alike means that the difference is shown to be within -{0:g}..{0:g}; undecided means "
    "that neither this nor a difference is shown"
)
AREA_NOTE = "do not rank models by area: it depends on the order of the axes, and it is quadratic"
_DETECTABLE_DROP_NOTE = (
    "detectable drop: the smallest drop that the test of a regression detects with power .8; "
    "– if it can detect none, or if there is no test"
)


def compare(
    rows: pl.DataFrame,
    margin: float | None = None,
    lake: StoredLake | None = None,
    expected: int | None = None,
    **_: Any,
) -> Table:
    """Make the table of a comparison, whose headings are the two models if there is one pair."""
    label_column = rows.columns[rows.columns.index("other") - 1]
    pairs = rows.select(label_column, "other").unique().rows()
    has_one_pair = len(pairs) == 1 and None not in pairs[0]
    headings = (
        dict(zip(("value", "other_value"), map(str, pairs[0]), strict=True)) if has_one_pair else {}
    )
    hidden = (*_PROGRAM_COLUMNS, *((label_column, "other") if has_one_pair else ()))
    return Table(
        "compare",
        rows,
        {**column_specs_of_rows(rows), **ALL_COLUMNS},
        estimates=[
            Estimate("difference", "ci_low", "ci_high", _SMALL_SAMPLE_COLUMNS, reason="reason"),
            Estimate("value", missing=tuple(MISSING_COLUMNS)),
            Estimate("other_value", missing=tuple(f"other_{name}" for name in MISSING_COLUMNS)),
        ],
        hidden=hidden,
        page_columns=("method", "common_value", "other_common_value"),
        headings=headings,
        layout_steps=(
            folds.merge_columns("values", "value", "other_value"),
            folds.move_first_label_to_titles,
            folds.move_first_label_to_titles,
            folds.move_first_label_to_titles,
        ),
        notes=[
            _holm_family_note(rows),
            *([] if margin is None else [_VERDICT_NOTE.format(margin)]),
            *differences_over_common_settings_notes(rows),
            *unequal_replays_notes(rows),
            *small_sample_notes(rows, *_SMALL_SAMPLE_COLUMNS),
            *missing_games_notes(_missing_games_of_both_sides(rows, label_column)),
            *complete_models_with_fewer_games_notes(
                lake, _missing_games_of_both_sides(rows, label_column), expected
            ),
            *_missing_difference_and_unpaired_notes(rows, hidden),
            *_signed_zero_bound_notes(rows),
        ],
    )


contrast = compare


def compare_with(rows: pl.DataFrame, margin: float | None = None, **options: Any) -> Table:
    """Make the table of models with and without a method, with rows for the means over models."""
    mean = pl.format("mean of {}", "n_models")
    display_name = pl.when(pl.col("n_models") > 1).then(mean).otherwise("model").alias("model")
    displayed_rows = rows.with_columns(display_name, pl.col("other").fill_null("those without"))
    table = compare(displayed_rows, margin, **options)
    # Unpaired means over models of which at least one is paired.
    has_paired_model = (pl.col("method") == PAIRED).any().over("metric")
    unpaired_means = rows.filter(has_paired_model, pl.col("n_models") > 1, method=UNPAIRED)
    note = (
        "not all models are paired, so the mean is the difference of the mean values, and not the "
        f"mean of the differences, in {', '.join(unpaired_means['metric'])}"
    )
    return replace(
        table,
        name="compare_with",
        rows=rows,
        hidden=(*table.hidden, "n_models"),
        brief=lambda _: displayed_rows,
        notes=[*table.notes, *[note] * (unpaired_means.height > 0)],
    )


def _missing_games_of_both_sides(rows: pl.DataFrame, label_column: str) -> pl.DataFrame:
    """Return a row with model, n_missing and n_expected for each compared value."""
    other_model = pl.col("other" if label_column == "model" else "model").alias("model")
    other_columns = {name: f"other_{name}" for name in ("value", *MISSING_COLUMNS)}
    sides = [rows.select("model", *other_columns), rows.select(other_model, **other_columns)]
    return pl.concat(sides).drop_nulls("value")


def _holm_family_note(rows: pl.DataFrame) -> str:
    """Return the note that says for how many p-values Holm's method adjusts."""
    if rows.is_empty():
        return "nothing to compare: there are fewer than two models or groups"
    sizes = rows["family"].drop_nulls().unique().sort().to_list()
    if not sizes:
        return "nothing could be compared"
    size = " to ".join(map(str, dict.fromkeys([sizes[0], sizes[-1]])))
    plural_suffix = "" if size == "1" else "s"
    family_text = (
        f"p-value{plural_suffix}: all that are printed"
        if sizes == [rows["p_value"].count()]
        else f"pair{plural_suffix} of models in each metric"
    )
    return f"p (Holm) is adjusted for a family of {size} {family_text}"


def unequal_replays_notes(rows: pl.DataFrame) -> list[str]:
    """Return the note on metrics in which one model played the common settings much more often.

    Args:
        rows: Rows of a comparison.

    Returns:
        A list with the note; an empty list if there is no such metric.
    """
    metrics = rows.filter("is_replayed")["metric"].unique(maintain_order=True).to_list()
    note = (
        f"one of the two has {REPLAY_RATIO:g} times as many games of the common settings in "
        f"{', '.join(metrics)}, or more: replays are not new settings"
    )
    return [note] if metrics else []


def differences_over_common_settings_notes(
    rows: pl.DataFrame, value_columns: tuple[str, str] = ("value", "other_value")
) -> list[str]:
    """Return the note on differences that are not the difference of the two displayed values.

    Such differences are computed from fewer games: those of the common settings.

    Args:
        rows: Rows of a comparison.
        value_columns: The columns of the two displayed values.

    Returns:
        A list with the note; an empty list if there are no such differences.
    """
    value_column, other_column = value_columns
    displayed_difference = pl.col("difference").round(_DECIMALS) - pl.col(value_column).round(
        _DECIMALS
    )
    deviating_rows = rows.filter(
        (displayed_difference + pl.col(other_column).round(_DECIMALS)).abs() > 1.5 * 10**-_DECIMALS
    )
    if deviating_rows.is_empty():
        return []
    if "other_common_value" not in deviating_rows.columns:
        return ["differences are over the common settings: common after minus common before"]
    note = "differences are over the common settings, but the values beside them over all games"
    label_columns = [
        name for name in rows.columns[: rows.columns.index("value")] if name != "metric"
    ]
    displayed_labels = ["metric", *(name for name in label_columns if rows[name].n_unique() > 1)]
    value_texts = [
        f"{' '.join(map(printable_group_value, row[2:]))} {row[0]:.{_DECIMALS}f} and "
        f"{row[1]:.{_DECIMALS}f}"
        for row in deviating_rows.select(
            "common_value", "other_common_value", *displayed_labels
        ).iter_rows()
    ]
    return [f"{note}; values over the common settings: {folds.join_first_names(value_texts)}"]


def _missing_difference_and_unpaired_notes(rows: pl.DataFrame, hidden: Sequence[str]) -> list[str]:
    """Return notes on why differences are missing, and on why pairs are unpaired."""
    label_columns = [
        name for name in rows.columns[: rows.columns.index("value")] if name not in hidden
    ]
    rows_without_difference = rows.drop_nulls("reason").select(*label_columns, "reason").rows()
    notes = [
        f"– {' '.join(map(printable_group_value, labels))}: {reason}"
        for *labels, reason in rows_without_difference
    ]
    unpaired_labels = [
        " ".join(map(printable_group_value, labels))
        for labels in rows.filter(method=UNPAIRED)[label_columns].rows()
    ]
    unpaired_notes = [
        "unpaired, because there are too few common settings: "
        f"{folds.join_first_names(unpaired_labels)}"
    ]
    if "game_types" in rows.columns and unpaired_labels:
        types = rows["game_types"].explode().unique().sort()
        unpaired_notes = [
            "unpaired, because of two systems: a difference combines model and prompts",
            f"only game types that both systems play are counted: {', '.join(types)}",
        ]
    return [*notes, *(unpaired_notes if unpaired_labels else [])]


def _signed_zero_bound_notes(rows: pl.DataFrame) -> list[str]:
    """Return a note on the sign of interval ends that are displayed as 0, if there are any."""
    note = "an end of +.00 is just above 0, an end of -.00 just below it"
    return [note] * any(map(is_nonzero_but_rounds_to_zero, (*rows["ci_low"], *rows["ci_high"])))


def diff(rows: pl.DataFrame, all_values: bool = True, **_: Any) -> Table:
    """Make the table of the values that changed between two lakes, with a note as a summary.

    With `all_values`, unchanged values are displayed, too.
    """
    changed_rows = rows.filter(pl.any_horizontal("^(is_significant|is_regression)$"))
    size = max(rows["family"].drop_nulls().to_list(), default=0)
    n_changed_games = (rows["n_removed"] + rows["n_new"]).sum()
    no_p_values_reason = (
        "nothing can be compared" if n_changed_games else "both states count the same games"
    )
    displayed_rows = rows if all_values else changed_rows
    common_notes = differences_over_common_settings_notes(displayed_rows, ("new_value", "value"))
    return Table(
        "diff",
        displayed_rows,
        {**changes.DIFF_COLUMNS, **changes.MARGIN_COLUMNS},
        estimates=[Estimate("difference", "ci_low", "ci_high", _DIFF_SMALL_SAMPLE_COLUMNS)],
        hidden=(
            *("family", "level", "ci_method", "p_value", "n_settings", "is_replayed"),
            "is_regression",
            *(() if common_notes else ("common_value", "new_common_value")),
            *(() if all_values or "is_regression" in rows.columns else ("is_significant",)),
        ),
        optional=("reason",),
        layout_steps=(
            folds.move_column_to_notes("reason"),
            folds.move_column_to_notes("method"),
            folds.move_columns_to_titles("metric"),
            folds.merge_columns("before, after", "value", "new_value"),
            folds.merge_columns("common", "common_value", "new_common_value"),
            folds.merge_columns(
                "games", "n_common", "n_removed", "n_new", note="games: in both, removed, new"
            ),
            folds.replace_flag_column_by_stars(
                "is_significant", "difference", note="significant", starred_value=True
            ),
        ),
        notes=[
            _change_summary_note(rows),
            f"p (Holm) is adjusted for a family of {size} p-value{'' if size == 1 else 's'} in all"
            if size
            else f"no p-values: {no_p_values_reason}",
            *([_DETECTABLE_DROP_NOTE] if "detectable_drop" in rows.columns else []),
            *common_notes,
            *unequal_replays_notes(displayed_rows),
            *small_sample_notes(displayed_rows, *_DIFF_SMALL_SAMPLE_COLUMNS),
            *_signed_zero_bound_notes(displayed_rows),
        ],
        hints=[] if displayed_rows.height == rows.height else ["to list all values: --all"],
    )


def _change_summary_note(rows: pl.DataFrame) -> str:
    """Return a note with the number of changed values, and the new and removed models."""
    changed_flags = rows["is_significant"].drop_nulls()
    n_changed, n_values_text = changed_flags.sum(), format_count(len(changed_flags), "value")
    level_text = (
        f" significantly at level {rows['level'][0]:.3g}" if rows["p_value"].count() else ""
    )
    texts = [f"{n_changed} of {n_values_text} moved{level_text}"]
    # Values that neither state has do not count as values that could not be compared.
    incomparable_rows = rows.filter(
        pl.col("is_significant").is_null(),
        pl.col("value").is_not_null() | pl.col("new_value").is_not_null(),
    )
    for adjective, reason in (("new", changes.ONLY_AFTER), ("removed", changes.ONLY_BEFORE)):
        has_reason = (pl.col("reason") == reason).fill_null(value=False).all().over("model")
        models = rows.filter(has_reason)["model"].drop_nulls().unique(maintain_order=True).to_list()
        incomparable_rows = incomparable_rows.filter(
            ~pl.col("model").is_in(models).fill_null(value=False)
        )
        texts += (
            [f"{format_count(len(models), 'model')} {adjective}: {folds.join_first_names(models)}"]
            if models
            else []
        )
    if not incomparable_rows.is_empty():
        texts.append(f"{format_count(incomparable_rows.height, 'value')} could not be compared")
    return "; ".join(texts)


def plan(rows: pl.DataFrame, **_: Any) -> Table:
    """Make the table of the number of settings that are needed to compare each pair of models."""
    return Table(
        "plan",
        rows,
        plans.PLAN_COLUMNS,
        estimates=[Estimate("sd", small_sample_terms=_SMALL_SAMPLE_COLUMNS)],
        hidden=("metric", "power", "level", "games_per_setting", "reason"),
        layout_steps=[folds.move_columns_to_titles("model")],
        notes=[
            *small_sample_notes(rows, *_SMALL_SAMPLE_COLUMNS),
            *(
                f"– {model or UNNAMED_MODEL} and {other_model or UNNAMED_MODEL}: {reason}"
                for model, other_model, reason in rows.drop_nulls("reason")
                .select("model", "other", "reason")
                .iter_rows()
            ),
            *_needed_settings_notes(rows),
        ],
    )


def _needed_settings_notes(rows: pl.DataFrame) -> list[str]:
    """Return a note that says how many settings are enough for half of the pairs and for all.

    For a single pair, it says how many settings and games the pair needs.
    """
    planned_rows = rows.drop_nulls("settings").sort("settings")
    if planned_rows.is_empty():
        return []
    median_pair, largest_pair = (
        planned_rows.row(index, named=True) for index in ((planned_rows.height - 1) // 2, -1)
    )
    differences = planned_rows["difference"].unique()
    difference_text = (
        f"{abs(differences[0]):.3g}" if len(differences) == 1 else "the observed differences"
    )
    if rows.height == 1:
        needed_text = (
            f"about {largest_pair['settings']:,} settings: {largest_pair['n_more']:,} more; at "
            f"{largest_pair['games_per_setting']:.2g} games a setting "
            f"{largest_pair['games']:,} games of each model"
        )
    else:
        n_unplanned = rows.height - planned_rows.height
        pairs_text = f"the {planned_rows.height} of {rows.height} pairs that have a plan"
        needed_text = (
            f"{median_pair['settings']} settings are enough for half of "
            f"{pairs_text if n_unplanned else 'the pairs'}, {largest_pair['settings']} for all"
        )
        if n_unplanned:
            needed_text += f" of these; {format_count(n_unplanned, 'pair')} cannot be planned"
    return [
        f"to detect {difference_text} in {largest_pair['metric']} with power "
        f"{largest_pair['power']:g} at level "
        f"{largest_pair['level']:.3g}: {needed_text}"
    ]


# The settings that differ most (terminals display short ids, and pages also link the games), and
# the games that only one of two states has.
settings_apart = make_table_function(
    "settings_apart",
    SETTINGS_APART_COLUMNS,
    brief=lambda rows: rows.with_columns(map(short_id, ("setting_id", "game", "other_game"))),
)
diff_games = make_table_function(
    "diff_games",
    changes.CHANGED_GAMES_COLUMNS,
    layout_steps=(
        folds.shorten_ids("setting_id", "game_id"),
        folds.move_constants_to_note("change", "hits", "counted"),
        folds.move_columns_to_titles("metric", "model"),
    ),
)


def radar(rows: pl.DataFrame, **_: Any) -> Table:
    """Make the table of the areas of radar charts, and of the metrics that form them."""
    metrics = (*radars.RADAR_AXES, "win_rate")
    model_notes = [
        f"– {model or UNNAMED_MODEL}{': no area' if area is None else ''}: {'; '.join(reasons)}"
        for model, area, reasons in rows.select("model", "area", "reasons").rows()
        if reasons
    ]
    if len(axes := radars.metrics_in_radar_areas(rows)) < len(radars.RADAR_AXES):
        axes_note = (
            f"areas are of {', '.join(map(metric_title, axes))}: no model has a value of the "
            "other metrics"
            if axes
            else f"no model has an area: it needs at least {radars.MIN_RADAR_AXES} metrics, and a "
            "value of each metric that any model has"
        )
        model_notes.insert(0, axes_note)
    return Table(
        "radar",
        rows,
        radars.RADAR_COLUMNS,
        estimates=[
            Estimate("area", "ci_low", "ci_high", ("small_sample_terms",)),
            *(Estimate(name) for name in metrics),
        ],
        hidden=("is_complete", "n_expected", "reasons"),
        optional=("n_missing",),
        star=("model", "is_complete"),
        transposed_by="model",
        notes=[
            AREA_NOTE,
            *small_sample_notes(rows, "small_sample_terms"),
            *model_notes,
            *missing_games_notes(rows),
        ],
        nothing="the lake has no game of a tested model",
    ).in_percent(*metrics)
