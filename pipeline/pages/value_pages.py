"""Pages of metric values: leaderboard, one metric, one model, comparison and changes.

`PAGES` lists them for `pipeline.pages.templating`. They call the methods of the lake.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl
from msgspec.structs import replace

from pipeline.column import display_name, polars_schema
from pipeline.errors import LakeError, UsageError, suggest_names
from pipeline.lake import reopen_lake
from pipeline.lake_methods import LakeWithMethods
from pipeline.metrics.completeness import fewer_games_notes
from pipeline.metrics.registry import has_sql, metric_names, metric_spec, metric_sql, metric_title
from pipeline.metrics.request import as_list, check_models
from pipeline.pages.content import (
    BY,
    EDITION,
    GAME_TYPE,
    METRIC,
    WHERE,
    Content,
    Faults,
    Field,
    Page,
    address,
    answered,
    given,
    grouped,
    head,
    listed,
    models_of,
    number,
    sorting,
)
from pipeline.render import build_result_table
from pipeline.reports import diff as changes
from pipeline.reports.compare import (
    SETTINGS_APART_COLUMNS,
    model_with_system,
    model_without_system,
    system_of,
)
from pipeline.reports.compare.differences import SCHEMA
from pipeline.vocabulary import ALL_GAME_TYPES, RELEASE


def leaderboard(lake: LakeWithMethods, asked: Any) -> Content:
    """Return the leaderboard page; with groups or filters, the values of the selected rows.

    `rows` contains the result of `lake.leaderboard`.
    """
    groups = tuple(name for name in listed(asked.by) if name != "model")
    slice_ = given(asked, "game_type", "where")
    grid = {"columns": asked.columns, "metric": asked.metric} if asked.columns else {}
    fields = {
        "game_type": {"game_type": slice_["game_type"]},
        "where": {"where": slice_["where"]},
        "by": {"by": groups},
        "columns": grid,
    }
    is_sliced = bool(groups or grid or any(slice_.values()))
    rows, faults = answered(partial(lake.leaderboard, edition=asked.edition), fields)
    if rows is None or faults:
        rows = grouped(lake.leaderboard(edition=asked.edition).clear(), groups)
        slice_, grid = {}, {}
    notes = [
        *build_result_table("leaderboard", rows, **slice_, **grid).notes,
        *fewer_games_notes(lake, rows),
    ]
    valued = [name for name in rows.columns if f"{name}_small_sample_terms" in rows.columns]
    # A row without a model stands for no game at all where it has no value.
    rows = rows.filter(pl.any_horizontal(pl.col("model", *valued).is_not_null()))
    if asked.sort in rows.columns:  # nulls last
        keys = ["model", *groups]
        is_down = [asked.order == "down", *(False for _ in keys)]
        rows = rows.sort(asked.sort, *keys, descending=is_down, nulls_last=True)
    return Content(
        title=f"{metric_title(asked.metric)} by {display_name(asked.columns)}"
        if grid
        else "Leaderboard",
        rows=rows,
        parts={"groups": groups, "is_sliced": is_sliced},
        notes=notes,
        faults=faults,
    )


def one_metric(lake: LakeWithMethods, asked: Any) -> Content:
    """Return the page of a metric: its definition, and its values by model, game type and group.

    `rows` contains the result of `lake.metrics` over all game types, and `by_type` the result by
    game type.
    """
    declared, shown = (
        metric_spec(asked.metric, asked.edition),
        head(asked.metric, asked.edition, lake.game_types),
    )
    groups = tuple(name for name in listed(asked.by) if name not in ("model", "game_type"))

    def values(where: str | None = None, by: Sequence[str] = ()) -> pl.DataFrame:
        rows = lake.metrics(
            metric=asked.metric, edition=asked.edition, by=["model", "game_type", *by], where=where
        )
        # A row without a model that stands for no game at all says why; a nameless one has games.
        nameless = rows.filter(pl.col("model").is_null())
        if where and nameless.height and not nameless["n_games"].sum():
            raise UsageError(nameless["reason"][0])
        return rows

    fields = {"": {}, "where": {"where": asked.where or None}, "by": {"by": groups}}
    answer, faults = answered(values, fields)
    rows = pl.DataFrame() if answer is None else grouped(answer, groups)
    is_all = pl.col("game_type") == ALL_GAME_TYPES
    return Content(
        title=shown.title,
        rows=rows.filter(is_all).sort("value", "model", descending=[True, False], nulls_last=True),
        parts={
            "head": shown,
            "source": shown.source,
            "combine": str(declared.combine),
            "terms": pl.DataFrame(
                [
                    {
                        "term": term.name,
                        "game types": ", ".join(term.game_types),
                        "weight": term.weight,
                    }
                    for term in declared.terms
                ]
            ),
            "sql": metric_sql(asked.metric, asked.edition).lstrip()
            if has_sql(asked.metric)
            else "",
            "by_type": rows.filter(~is_all),
            "groups": groups,
        },
        notes=build_result_table("metrics", rows).notes,
        faults=faults,
    )


def one_model(lake: LakeWithMethods, asked: Any) -> Content:
    """Return the page of a model with its values by role and opponent; default: the first model.

    `rows` contains the model's rows of `lake.metrics`, and `field` the rows of all models.
    """
    field = lake.metrics(edition=asked.edition, game_type=ALL_GAME_TYPES)
    models = models_of(lake)
    model, faults = asked.model or next(iter(models), None), Faults()
    with faults.record("model"):
        check_models(lake, as_list(asked.model or None))
    is_model = pl.col("model").eq_missing(pl.lit(model, pl.String))
    rows, valued = field.filter(is_model), field.drop_nulls("value")

    def by(column: str) -> pl.DataFrame:
        """Return the model's values by one more column; an empty frame if the edition has none."""
        if asked.edition == RELEASE or model is None or faults:
            return pl.DataFrame()
        values = lake.metrics(edition=asked.edition, model=model, by=["model", "game_type", column])
        return values.filter(pl.col("game_type") != ALL_GAME_TYPES, pl.col("value").is_not_null())

    return Content(
        title=model or "No model",
        rows=rows,
        parts={
            "model": model,
            "field": field,
            "ticks": dict(valued.group_by("metric", maintain_order=True).agg("value").iter_rows()),
            "by_role": by("role"),
            "by_opponent": by("opponent"),
            "completeness": lake.completeness().filter(is_model),
            "usage": lake.usage(model=model) if model and not faults else pl.DataFrame(),
        },
        choices={"model": models},
        notes=[*build_result_table("metrics", rows).notes, *fewer_games_notes(lake, rows)],
        faults=faults,
    )


# --- differences ----------------------------------------------------------------------------------


def compare(lake: LakeWithMethods, asked: Any) -> Content:
    """Return the comparison page of two models, by default of the first two.

    `rows` contains the result of `lake.compare`. If both models belong to one system, `apart`
    contains the settings with the largest differences, and `names` the models' names in it.
    """
    own = models_of(lake)
    others = [lake.for_system(system) for system in lake.systems if system != lake.system]
    models = (*own, *(model_with_system(part, name) for part in others for name in models_of(part)))
    model = asked.model or next((name for name in own if name != asked.other), "")
    other = asked.other or next((name for name in own if name != model), "")
    systems = [system_of(lake, name) or lake.system for name in (model, other)]
    parts = [lake.for_single_system(system) for system in systems]
    first_model, second_model = (model_without_system(lake, name) for name in (model, other))
    in_edition = metric_names(asked.edition)
    # Those that are defined for the game type.
    defined = tuple(
        name
        for name in in_edition
        if asked.game_type in (ALL_GAME_TYPES, *metric_spec(name, asked.edition).game_types)
    )
    sorted_by = asked.metric or next(iter(defined), in_edition[0])
    # What is asked for, by the field that an error in it is about.
    fields: dict[str, dict[str, Any]] = {
        "other": {"metric": defined or None, "edition": asked.edition},
        "game_type": given(asked, "game_type"),
        "where": given(asked, "where"),
        "by": {"by": listed(asked.by)},
        "margin": {"margin": asked.margin},
    }

    def compared(margin: str = "", **options: Any) -> pl.DataFrame:
        return lake.compare((model, other), margin=number(margin), **options)

    faults, rows, apart, margin = (
        Faults(),
        None,
        pl.DataFrame(schema=polars_schema(SETTINGS_APART_COLUMNS)),
        None,
    )
    for field, part, name in zip(
        ("model", "other"), parts, (first_model, second_model), strict=True
    ):
        with faults.record(field):
            check_models(part, (name,) if name else None)
    if model and other and not faults:
        rows, faults = answered(compared, fields)
    with faults.record("margin"):
        margin = number(asked.margin)
    is_of_one = systems[0] == systems[1]
    if model and other and is_of_one and not faults:
        with faults.record("metric"):
            slice_ = {"edition": asked.edition, **fields["game_type"], **fields["where"]}
            apart = parts[0].settings_apart(first_model, second_model, sorted_by, **slice_)
    rows = pl.DataFrame(schema=SCHEMA) if rows is None else rows
    named = pl.DataFrame({"model": [model, other] if rows.height else []}, {"model": pl.String})
    known = tuple(dict.fromkeys([*models, *filter(None, (model, other))]))
    return Content(
        title=f"{model} and {other}" if model and other else "Compare models",
        rows=rows,
        parts={
            "model": model,
            "other": other,
            "names": (first_model, second_model) if is_of_one else (),
            "metric": sorted_by,
            "apart": apart,
        },
        system=systems[0] if is_of_one else "",
        choices={"model": known, "other": known},
        notes=[
            *build_result_table("compare", rows, margin=margin).notes,
            *fewer_games_notes(lake, named),
        ],
        faults=faults,
    )


def diff(lake: LakeWithMethods, asked: Any) -> Content:
    """Return the page of changes since an earlier ingest, by default since the one before the last.

    `rows` contains the result of `diff`, `shown` the displayed rows, and `moved` a sentence with
    the number of changed values.
    """
    ingests = lake.table("ingests").select("ingest_id").collect()["ingest_id"].sort()
    earlier = [str(ingest_id) for ingest_id in ingests if ingest_id < lake.ingest_id]
    since = asked.since or next(reversed(earlier), "")
    rows, faults, models = None, Faults(), {*models_of(lake)}
    with faults.record("since"):
        before = _lake_after_ingest(lake, since, earlier) if since else lake
        models |= {*models_of(before)}
    if since and not faults:
        fields = {
            "metric": {"metric": asked.metric or None, "edition": asked.edition},
            "model": {"model": asked.model or None},
        }
        rows, faults = answered(partial(before.diff, lake), fields)
    rows = (
        pl.DataFrame(schema=polars_schema(changes.DIFF_COLUMNS)) if rows is None or faults else rows
    )
    table = build_result_table(
        "diff", rows, all_values=asked.all_values or bool(asked.model and asked.metric)
    )
    return Content(
        title=f"Since ingest {since}" if since else "What changed",
        rows=rows,
        parts={"since": since, "shown": table.rows, "moved": table.notes[0]},
        choices={"since": earlier, "model": sorted(models)},
        notes=table.notes[1:] if rows.height else (),
        faults=faults,
    )


def _lake_after_ingest(
    lake: LakeWithMethods, ingest: str, earlier: Sequence[str]
) -> LakeWithMethods:
    """Return the lake as it was after an earlier ingest; raise UsageError if it is gone."""
    if ingest not in earlier:
        raise UsageError(f"no earlier ingest {ingest}: {suggest_names([ingest], earlier)}")
    try:
        return reopen_lake(lake, int(ingest))
    except UsageError:
        raise UsageError(f"after ingest {ingest} there was no game of {lake.system}") from None
    except LakeError as error:
        raise UsageError(str(error)) from None


PAGES = {
    "leaderboard": Page(
        address(
            EDITION,
            GAME_TYPE,
            WHERE,
            BY,
            Field("columns", "Columns", hint="game_type", size=12),
            replace(METRIC, help="The metric whose values the columns show."),
            Field("percent", "Percent", bool, False),
            *sorting("down"),
            is_of_system=True,
            in_title=("columns",),
            report="leaderboard",
        ),
        leaderboard,
    ),
    "metric": Page(address(METRIC, EDITION, WHERE, BY, is_of_system=True), one_metric),
    "model": Page(
        address(
            Field("model", "Model", are_names=True),
            EDITION,
            is_of_system=True,
            in_title=("model",),
        ),
        one_model,
    ),
    "compare": Page(
        address(
            Field("model", "Model", are_names=True),
            Field("other", "Other", are_names=True),
            replace(
                METRIC,
                label="Metric of settings",
                default="",
                help="The metric of the table of settings.",
            ),
            EDITION,
            GAME_TYPE,
            Field("where", "Filter", hint="role = 'civilian'", size=17),
            Field("by", "Group by", hint="role", size=8),
            Field("margin", "Equivalence margin", hint="0.05", size=5),
            is_of_system=True,
            in_title=("model", "other"),
            report="compare",
        ),
        compare,
    ),
    "diff": Page(
        address(
            Field("since", "Since ingest", are_names=True),
            Field("model", "Model", are_names=True, nothing="all"),
            replace(METRIC, default="", nothing="all"),
            EDITION,
            Field("all_values", "Include unchanged values", bool, False),
            is_of_system=True,
            in_title=("since",),
            report="diff",
        ),
        diff,
    ),
}
