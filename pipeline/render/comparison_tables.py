"""Differences: of models, of one model's groups, of two states, and what it takes to see one.

And what needs as much: areas with their intervals.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from pipeline.lake import StoredLake
from pipeline.metrics.completeness import fewer_games_notes
from pipeline.metrics.registry import MISSING_COLUMNS, metric_title
from pipeline.render import table as folds
from pipeline.render.table import Estimate, Table, brief_id, declare_table
from pipeline.render.value_tables import group_columns, missing_games_note, thin_note
from pipeline.reports import diff as changes, plan as plans, ranking as radars
from pipeline.reports.compare import SETTINGS_APART_COLUMNS
from pipeline.reports.compare.differences import ALL_COLUMNS
from pipeline.statistics.pairs import PAIRED, REPLAY_RATIO, UNPAIRED
from pipeline.text_format import UNNAMED_MODEL, format_count, group_label, is_shown_as_zero

_DECIMALS = ALL_COLUMNS["difference"].decimals or 0
_THIN, _NEW_THIN = ("thin", "other_thin"), ("thin", "new_thin")
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
_VERDICT = (
    "verdict: alike means that the difference is shown to be within -{0:g}..{0:g}; undecided, that "
    "neither this nor a difference is shown"
)
AREA = "an area ranks nothing: it depends on the order of the axes, and it squares"
_FALLS = (
    "fall seen: the smallest fall that the test of a regression sees with power .8; "
    "– if it would see none, or if there is no test"
)


def compare(
    rows: pl.DataFrame,
    margin: float | None = None,
    lake: StoredLake | None = None,
    expected: int | None = None,
    **_: Any,
) -> Table:
    """The two models of a comparison of no others are the headings of their values."""
    side = rows.columns[rows.columns.index("other") - 1]
    pair = rows.select(side, "other").unique().rows()
    is_one = len(pair) == 1 and None not in pair[0]
    headings = dict(zip(("value", "other_value"), map(str, pair[0]), strict=True)) if is_one else {}
    hidden = (*_PROGRAM_COLUMNS, *((side, "other") if is_one else ()))
    return Table(
        "compare",
        rows,
        {**group_columns(rows), **ALL_COLUMNS},
        estimates=[
            Estimate("difference", "ci_low", "ci_high", _THIN, reason="reason"),
            Estimate("value", missing=tuple(MISSING_COLUMNS)),
            Estimate("other_value", missing=tuple(f"other_{name}" for name in MISSING_COLUMNS)),
        ],
        hidden=hidden,
        also=("method", "common_value", "other_common_value"),
        headings=headings,
        folds=(
            folds.merged("values", "value", "other_value"),
            folds.by_label,
            folds.by_label,
            folds.by_label,
        ),
        notes=[
            _family(rows),
            *([] if margin is None else [_VERDICT.format(margin)]),
            *common_note(rows),
            *replay_note(rows),
            *thin_note(rows, *_THIN),
            *missing_games_note(_by_side(rows, side)),
            *fewer_games_notes(lake, _by_side(rows, side), expected),
            *_reasons(rows, hidden),
            *_signs(rows),
        ],
    )


contrast = compare


def compare_with(rows: pl.DataFrame, margin: float | None = None, **asked: Any) -> Table:
    """The same; the mean over models says of how many it is."""
    mean = pl.format("mean of {}", "n_models")
    called = pl.when(pl.col("n_models") > 1).then(mean).otherwise("model").alias("model")
    seen = rows.with_columns(called, pl.col("other").fill_null("those without"))
    table = compare(seen, margin, **asked)
    # Means that are unpaired where one of their models is paired.
    has_paired = (pl.col("method") == PAIRED).any().over("metric")
    of_means = rows.filter(has_paired, pl.col("n_models") > 1, method=UNPAIRED)
    note = (
        "not all models are paired, so the mean is the difference of the mean values, and not the "
        f"mean of the differences, in {', '.join(of_means['metric'])}"
    )
    return replace(
        table,
        name="compare_with",
        rows=rows,
        hidden=(*table.hidden, "n_models"),
        brief=lambda _: seen,
        notes=[*table.notes, *[note] * (of_means.height > 0)],
    )


def _by_side(rows: pl.DataFrame, side: str) -> pl.DataFrame:
    """model, n_missing, n_expected of either side that has a value; groups are of one model."""
    other = pl.col("other" if side == "model" else "model").alias("model")
    of_others = {name: f"other_{name}" for name in ("value", *MISSING_COLUMNS)}
    both = [rows.select("model", *of_others), rows.select(other, **of_others)]
    return pl.concat(both).drop_nulls("value")


def _family(rows: pl.DataFrame) -> str:
    """For how many p-values they are adjusted: those of a metric, or all."""
    if rows.is_empty():
        return "nothing to compare: there are fewer than two models or groups"
    sizes = rows["family"].drop_nulls().unique().sort().to_list()
    if not sizes:
        return "nothing could be compared"
    size = " to ".join(map(str, dict.fromkeys([sizes[0], sizes[-1]])))
    s = "" if size == "1" else "s"
    is_of_all = sizes == [rows["p_value"].count()]
    what = f"p-value{s}: all that are printed" if is_of_all else f"pair{s} of models in each metric"
    return f"p (Holm) is adjusted for a family of {size} {what}"


def replay_note(rows: pl.DataFrame) -> list[str]:
    """A note for rows in which one model played the common settings much more often."""
    metrics = rows.filter("is_replayed")["metric"].unique(maintain_order=True).to_list()
    note = (
        f"one of the two has {REPLAY_RATIO:g} times as many games of the common settings in "
        f"{', '.join(metrics)}, or more: replays are no new settings"
    )
    return [note] if metrics else []


def common_note(
    rows: pl.DataFrame, values: tuple[str, str] = ("value", "other_value")
) -> list[str]:
    """A note for rows in which the difference is not the subtraction of the values beside it.

    `values` names the columns of the two values that are shown.
    """
    one, other = values
    shown = pl.col("difference").round(_DECIMALS) - pl.col(one).round(_DECIMALS)
    apart = rows.filter((shown + pl.col(other).round(_DECIMALS)).abs() > 1.5 * 10**-_DECIMALS)
    if apart.is_empty():
        return []
    if "other_common_value" not in apart.columns:
        return ["differences are over the common settings: common after less common before"]
    note = "differences are over the common settings, the values beside them over all games"
    about = [name for name in rows.columns[: rows.columns.index("value")] if name != "metric"]
    shown_names = ["metric", *(name for name in about if rows[name].n_unique() > 1)]
    named = [
        f"{' '.join(map(group_label, row[2:]))} {row[0]:.{_DECIMALS}f} and {row[1]:.{_DECIMALS}f}"
        for row in apart.select("common_value", "other_common_value", *shown_names).iter_rows()
    ]
    return [f"{note}; values over the common settings: {folds.named(named)}"]


def _reasons(rows: pl.DataFrame, hidden: Sequence[str]) -> list[str]:
    """Why there is no difference, and which are unpaired."""
    about = [name for name in rows.columns[: rows.columns.index("value")] if name not in hidden]
    without = rows.drop_nulls("reason").select(*about, "reason").rows()
    notes = [f"– {' '.join(map(group_label, what))}: {reason}" for *what, reason in without]
    unpaired = [
        " ".join(map(group_label, what)) for what in rows.filter(method=UNPAIRED)[about].rows()
    ]
    named = [f"unpaired, for too few common settings: {folds.named(unpaired)}"]
    if "game_types" in rows.columns and unpaired:
        types = rows["game_types"].explode().unique().sort()
        named = [
            "unpaired, for two systems: a difference is of the model and of how it was asked",
            f"of the game types that both systems play: {', '.join(types)}",
        ]
    return [*notes, *(named if unpaired else [])]


def _signs(rows: pl.DataFrame) -> list[str]:
    """What the sign of an interval's end means that is shown as 0, if there is such an end."""
    note = "an end of +.00 is just above 0, an end of -.00 just below it"
    return [note] * any(map(is_shown_as_zero, (*rows["ci_low"], *rows["ci_high"])))


def diff(rows: pl.DataFrame, all_values: bool = True, **_: Any) -> Table:
    """The first note says what moved; unless `all_values`, other rows are left out."""
    moved = rows.filter(pl.any_horizontal("^(is_beyond_chance|is_regression)$"))
    size = max(rows["family"].drop_nulls().to_list(), default=0)
    is_other = (rows["n_gone"] + rows["n_new"]).sum()
    without = "nothing can be compared" if is_other else "both states count the same games"
    shown = rows if all_values else moved
    common = common_note(shown, ("new_value", "value"))
    return Table(
        "diff",
        shown,
        {**changes.DIFF_COLUMNS, **changes.MARGIN_COLUMNS},
        estimates=[Estimate("difference", "ci_low", "ci_high", _NEW_THIN)],
        hidden=(
            *("family", "level", "ci_method", "p_value", "n_settings", "is_replayed"),
            "is_regression",
            *(() if common else ("common_value", "new_common_value")),
            *(() if all_values or "is_regression" in rows.columns else ("is_beyond_chance",)),
        ),
        optional=("reason",),
        folds=(
            folds.below("reason"),
            folds.below("method"),
            folds.titled("metric"),
            folds.merged("before, after", "value", "new_value"),
            folds.merged("common", "common_value", "new_common_value"),
            folds.merged("games", "n_common", "n_gone", "n_new", note="games: in both, gone, new"),
            folds.starred("is_beyond_chance", "difference", note="beyond chance", where=True),
        ),
        notes=[
            _moved(rows),
            f"p (Holm) is adjusted for a family of {size} p-value{'' if size == 1 else 's'} in all"
            if size
            else f"no p-values: {without}",
            *([_FALLS] if "fall_seen" in rows.columns else []),
            *common,
            *replay_note(shown),
            *thin_note(shown, *_NEW_THIN),
            *_signs(shown),
        ],
        hints=[] if shown.height == rows.height else ["to list all values: --all"],
    )


def _moved(rows: pl.DataFrame) -> str:
    """How many values moved beyond chance, and which models are new or gone."""
    is_moved = rows["is_beyond_chance"].drop_nulls()
    n_moved, of_values = is_moved.sum(), format_count(len(is_moved), "value")
    beyond = ""
    if rows["p_value"].count():
        beyond = f" beyond chance at level {rows['level'][0]:.3g}"
    said = [f"{n_moved} of {of_values} moved{beyond}"]
    # What neither state has was not to be compared.
    left = rows.filter(
        pl.col("is_beyond_chance").is_null(),
        pl.col("value").is_not_null() | pl.col("new_value").is_not_null(),
    )
    for what, reason in (("new", changes.ONLY_AFTER), ("gone", changes.ONLY_BEFORE)):
        is_so = (pl.col("reason") == reason).fill_null(value=False).all().over("model")
        models = rows.filter(is_so)["model"].drop_nulls().unique(maintain_order=True).to_list()
        left = left.filter(~pl.col("model").is_in(models).fill_null(value=False))
        said += (
            [f"{format_count(len(models), 'model')} {what}: {folds.named(models)}"]
            if models
            else []
        )
    if not left.is_empty():
        said.append(f"{format_count(left.height, 'value')} could not be compared")
    return "; ".join(said)


def plan(rows: pl.DataFrame, **_: Any) -> Table:
    return Table(
        "plan",
        rows,
        plans.PLAN_COLUMNS,
        estimates=[Estimate("sd", thin=_THIN)],
        hidden=("metric", "power", "level", "games_per_setting", "reason"),
        folds=[folds.titled("model")],
        notes=[
            *thin_note(rows, *_THIN),
            *(
                f"– {one or UNNAMED_MODEL} and {other or UNNAMED_MODEL}: {reason}"
                for one, other, reason in rows.drop_nulls("reason")
                .select("model", "other", "reason")
                .iter_rows()
            ),
            *_needed(rows),
        ],
    )


def _needed(rows: pl.DataFrame) -> list[str]:
    """How many settings are enough: for a pair with what it lacks, else for half and for all."""
    planned = rows.drop_nulls("settings").sort("settings")
    if planned.is_empty():
        return []
    half, most = (planned.row(at, named=True) for at in ((planned.height - 1) // 2, -1))
    differences = planned["difference"].unique()
    what = f"{abs(differences[0]):.3g}" if len(differences) == 1 else "the observed differences"
    if rows.height == 1:
        enough = (
            f"about {most['settings']:,} settings: {most['n_more']:,} more; at "
            f"{most['games_per_setting']:.2g} games a setting {most['games']:,} games of each model"
        )
    else:
        n_without = rows.height - planned.height
        pairs = f"the {planned.height} of {rows.height} pairs that have a plan"
        enough = (
            f"{half['settings']} settings are enough for half of "
            f"{pairs if n_without else 'the pairs'}, {most['settings']} for all"
        )
        if n_without:
            enough += f" of these; {format_count(n_without, 'pair')} cannot be planned"
    return [
        f"to detect {what} in {most['metric']} with power {most['power']:g} at level "
        f"{most['level']:.3g}: {enough}"
    ]


# The settings that differ most; a page also has the games, of which a terminal shows the beginnings
# of ids. And the games that only one of two states has.
settings_apart = declare_table(
    "settings_apart",
    SETTINGS_APART_COLUMNS,
    brief=lambda rows: rows.with_columns(map(brief_id, ("setting_id", "game", "other_game"))),
)
diff_games = declare_table(
    "diff_games",
    changes.CHANGED_GAMES_COLUMNS,
    folds=(
        folds.begun("setting_id", "game_id"),
        folds.alike("change", "hits", "counted"),
        folds.titled("metric", "model"),
    ),
)


def radar(rows: pl.DataFrame, **_: Any) -> Table:
    """Values in percent, of which areas are made."""
    values = (*radars.RADAR_AXES, "win_rate")
    models = [
        f"– {model or UNNAMED_MODEL}{': no area' if area is None else ''}: {'; '.join(why)}"
        for model, area, why in rows.select("model", "area", "reasons").rows()
        if why
    ]
    if len(axes := radars.area_axes(rows)) < len(radars.RADAR_AXES):
        without = (
            f"areas are of {', '.join(map(metric_title, axes))}: no model has a value of the "
            "other metrics"
            if axes
            else f"no model has an area: it needs at least {radars.MIN_RADAR_AXES} metrics, and a "
            "value of each metric that any model has"
        )
        models.insert(0, without)
    return Table(
        "radar",
        rows,
        radars.RADAR_COLUMNS,
        estimates=[
            Estimate("area", "ci_low", "ci_high", ("thin",)),
            *(Estimate(name) for name in values),
        ],
        hidden=("is_complete", "n_expected", "reasons"),
        optional=("n_missing",),
        star=("model", "is_complete"),
        turned="model",
        notes=[AREA, *thin_note(rows, "thin"), *models, *missing_games_note(rows)],
        nothing="the lake has no game of a tested model",
    ).in_percent(*values)
