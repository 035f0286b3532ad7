"""Pages of metric values: leaderboard, one metric, one model, comparison and changes.

`VALUE_PAGES` lists them for `pipeline.pages.templating`. They call the methods of the lake.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl
from msgspec.structs import replace

from pipeline.column import display_name, polars_schema
from pipeline.errors import LakeError, UsageError, known_names_hint
from pipeline.lake import reopen_lake
from pipeline.lake_methods import LakeWithMethods
from pipeline.metrics.completeness import complete_models_with_fewer_games_notes
from pipeline.metrics.registry import has_sql, metric_names, metric_spec, metric_sql, metric_title
from pipeline.metrics.request import as_list, check_models_are_tested
from pipeline.pages.content import (
    BY_FIELD,
    EDITION_FIELD,
    GAME_TYPE_FIELD,
    METRIC_FIELD,
    WHERE_FIELD,
    Field,
    FormErrors,
    Page,
    PageContent,
    add_missing_group_columns,
    call_without_invalid_arguments,
    create_parameters_class,
    describe_metric,
    filter_arguments,
    parse_number_field,
    sort_fields,
    split_distinct_names,
    tested_model_names,
)
from pipeline.render import build_result_table
from pipeline.reports import diff as changes
from pipeline.reports.compare import (
    SETTINGS_APART_COLUMNS,
    model_with_system,
    model_without_system,
    system_in_model_name,
)
from pipeline.reports.compare.differences import SCHEMA
from pipeline.vocabulary import ALL_GAME_TYPES, RELEASE


def leaderboard_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Return the values of all metrics by model, with the filters, groups and sort of the form.

    `rows` contains the result of `lake.leaderboard`.
    """
    groups = tuple(name for name in split_distinct_names(parameters.by) if name != "model")
    filters = filter_arguments(parameters, "game_type", "where")
    # The options of a leaderboard with a column for each value of a grouping column.
    column_options = (
        {"columns": parameters.columns, "metric": parameters.metric} if parameters.columns else {}
    )
    arguments_by_field = {
        "game_type": {"game_type": filters["game_type"]},
        "where": {"where": filters["where"]},
        "by": {"by": groups},
        "columns": column_options,
    }
    is_sliced = bool(groups or column_options or any(filters.values()))
    rows, errors = call_without_invalid_arguments(
        partial(lake.leaderboard, edition=parameters.edition), arguments_by_field
    )
    if rows is None or errors:
        no_rows = lake.leaderboard(edition=parameters.edition).clear()
        rows, filters, column_options = add_missing_group_columns(no_rows, groups), {}, {}
    notes = [
        *build_result_table("leaderboard", rows, **filters, **column_options).notes,
        *complete_models_with_fewer_games_notes(lake, rows),
    ]
    value_columns = [name for name in rows.columns if f"{name}_small_sample_terms" in rows.columns]
    # A row without a model and without values stands for no game.
    rows = rows.filter(pl.any_horizontal(pl.col("model", *value_columns).is_not_null()))
    if parameters.sort in rows.columns:
        tie_breakers = ["model", *groups]
        is_descending = [parameters.order == "down", *(False for _ in tie_breakers)]
        rows = rows.sort(parameters.sort, *tie_breakers, descending=is_descending, nulls_last=True)
    return PageContent(
        title=f"{metric_title(parameters.metric)} by {display_name(parameters.columns)}"
        if column_options
        else "Leaderboard",
        rows=rows,
        parts={"groups": groups, "is_sliced": is_sliced},
        notes=notes,
        faults=errors,
    )


def metric_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Return the definition of a metric, and its values by model, game type and group.

    `rows` contains the result of `lake.metrics` over all game types, and `by_type` the result by
    game type.
    """
    spec = metric_spec(parameters.metric, parameters.edition)
    description = describe_metric(parameters.metric, parameters.edition, lake.game_types)
    groups = tuple(
        name for name in split_distinct_names(parameters.by) if name not in ("model", "game_type")
    )

    def compute_values(where: str | None = None, by: Sequence[str] = ()) -> pl.DataFrame:
        rows = lake.metrics(
            metric=parameters.metric,
            edition=parameters.edition,
            by=["model", "game_type", *by],
            where=where,
        )
        # A row without a model and without games has the reason why no game matches the filter.
        rows_without_model = rows.filter(pl.col("model").is_null())
        if where and rows_without_model.height and not rows_without_model["n_games"].sum():
            raise UsageError(rows_without_model["reason"][0])
        return rows

    arguments_by_field: dict[str, dict[str, Any]] = {
        "": {},
        "where": {"where": parameters.where or None},
        "by": {"by": groups},
    }
    values, errors = call_without_invalid_arguments(compute_values, arguments_by_field)
    rows = pl.DataFrame() if values is None else add_missing_group_columns(values, groups)
    is_all = pl.col("game_type") == ALL_GAME_TYPES
    return PageContent(
        title=description.title,
        rows=rows.filter(is_all).sort("value", "model", descending=[True, False], nulls_last=True),
        parts={
            "head": description,
            "source": description.source,
            "combine": str(spec.combine),
            "terms": pl.DataFrame(
                [
                    {
                        "term": term.name,
                        "game types": ", ".join(term.game_types),
                        "weight": term.weight,
                    }
                    for term in spec.terms
                ]
            ),
            "sql": metric_sql(parameters.metric, parameters.edition).lstrip()
            if has_sql(parameters.metric)
            else "",
            "by_type": rows.filter(~is_all),
            "groups": groups,
        },
        notes=build_result_table("metrics", rows).notes,
        faults=errors,
    )


def model_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Return the metric values of one model, also by role and opponent; by default the first model.

    `rows` contains the model's rows of `lake.metrics`, and `field` the rows of all models.
    """
    rows_of_all_models = lake.metrics(edition=parameters.edition, game_type=ALL_GAME_TYPES)
    models = tested_model_names(lake)
    model, errors = parameters.model or next(iter(models), None), FormErrors()
    with errors.catch_usage_error("model"):
        check_models_are_tested(lake, as_list(parameters.model or None))
    is_model = pl.col("model").eq_missing(pl.lit(model, pl.String))
    rows = rows_of_all_models.filter(is_model)

    def values_by_game_type_and(column: str) -> pl.DataFrame:
        if parameters.edition == RELEASE or model is None or errors:
            return pl.DataFrame()
        values = lake.metrics(
            edition=parameters.edition, model=model, by=["model", "game_type", column]
        )
        return values.filter(pl.col("game_type") != ALL_GAME_TYPES, pl.col("value").is_not_null())

    return PageContent(
        title=model or "No model",
        rows=rows,
        parts={
            "model": model,
            "field": rows_of_all_models,
            "ticks": dict(
                rows_of_all_models.drop_nulls("value")
                .group_by("metric", maintain_order=True)
                .agg("value")
                .iter_rows()
            ),
            "by_role": values_by_game_type_and("role"),
            "by_opponent": values_by_game_type_and("opponent"),
            "completeness": lake.completeness().filter(is_model),
            "usage": lake.usage(model=model) if model and not errors else pl.DataFrame(),
        },
        choices={"model": models},
        notes=[
            *build_result_table("metrics", rows).notes,
            *complete_models_with_fewer_games_notes(lake, rows),
        ],
        faults=errors,
    )


# --- differences ----------------------------------------------------------------------------------


def compare_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Return the differences between two models in each metric, by default the first two models.

    `rows` contains the result of `lake.compare`. If both models belong to one system, `apart`
    contains the settings with the largest differences, and `names` the models without the system.
    """
    models_of_system = tested_model_names(lake)
    models = [*models_of_system]
    for system in lake.systems:
        if system != lake.system:
            system_lake = lake.for_system(system)
            models += [
                model_with_system(system_lake, name) for name in tested_model_names(system_lake)
            ]
    model = parameters.model or next(
        (name for name in models_of_system if name != parameters.other), ""
    )
    other = parameters.other or next((name for name in models_of_system if name != model), "")
    systems = [system_in_model_name(lake, name) or lake.system for name in (model, other)]
    lakes = [lake.for_single_system(system) for system in systems]
    names = [model_without_system(lake, name) for name in (model, other)]
    metrics = metric_names(parameters.edition)
    metrics_of_game_type = tuple(
        name
        for name in metrics
        if parameters.game_type
        in (ALL_GAME_TYPES, *metric_spec(name, parameters.edition).game_types)
    )
    metric_of_settings = parameters.metric or next(iter(metrics_of_game_type), metrics[0])
    arguments_by_field: dict[str, dict[str, Any]] = {
        "other": {"metric": metrics_of_game_type or None, "edition": parameters.edition},
        "game_type": filter_arguments(parameters, "game_type"),
        "where": filter_arguments(parameters, "where"),
        "by": {"by": split_distinct_names(parameters.by)},
        "margin": {"margin": parameters.margin},
    }

    def compare_models(margin: str = "", **options: Any) -> pl.DataFrame:
        return lake.compare((model, other), margin=parse_number_field(margin), **options)

    errors, rows, apart, margin = (
        FormErrors(),
        None,
        pl.DataFrame(schema=polars_schema(SETTINGS_APART_COLUMNS)),
        None,
    )
    for field, system_lake, name in zip(("model", "other"), lakes, names, strict=True):
        with errors.catch_usage_error(field):
            check_models_are_tested(system_lake, (name,) if name else None)
    if model and other and not errors:
        rows, errors = call_without_invalid_arguments(compare_models, arguments_by_field)
    with errors.catch_usage_error("margin"):
        margin = parse_number_field(parameters.margin)
    is_one_system = systems[0] == systems[1]
    if model and other and is_one_system and not errors:
        with errors.catch_usage_error("metric"):
            filters = filter_arguments(parameters, "game_type", "where")
            filters["edition"] = parameters.edition
            apart = lakes[0].settings_apart(names[0], names[1], metric_of_settings, **filters)
    rows = pl.DataFrame(schema=SCHEMA) if rows is None else rows
    compared = pl.DataFrame({"model": [model, other] if rows.height else []}, {"model": pl.String})
    choices = tuple(dict.fromkeys([*models, *filter(None, (model, other))]))
    return PageContent(
        title=f"{model} and {other}" if model and other else "Compare models",
        rows=rows,
        parts={
            "model": model,
            "other": other,
            "names": tuple(names) if is_one_system else (),
            "metric": metric_of_settings,
            "apart": apart,
        },
        system=systems[0] if is_one_system else "",
        choices={"model": choices, "other": choices},
        notes=[
            *build_result_table("compare", rows, margin=margin).notes,
            *complete_models_with_fewer_games_notes(lake, compared),
        ],
        faults=errors,
    )


def diff_content(lake: LakeWithMethods, parameters: Any) -> PageContent:
    """Return the changes of metric values since an ingest, by default the one before the last.

    `rows` contains the result of `diff`, `shown` the displayed rows, and `moved` a sentence with
    the number of changed values.
    """
    ingests = lake.table("ingests").select("ingest_id").collect()["ingest_id"].sort()
    earlier = [str(ingest_id) for ingest_id in ingests if ingest_id < lake.ingest_id]
    since = parameters.since or next(reversed(earlier), "")
    rows, errors, models = None, FormErrors(), {*tested_model_names(lake)}
    with errors.catch_usage_error("since"):
        before = _lake_after_ingest(lake, since, earlier) if since else lake
        models |= {*tested_model_names(before)}
    if since and not errors:
        arguments_by_field = {
            "metric": {"metric": parameters.metric or None, "edition": parameters.edition},
            "model": {"model": parameters.model or None},
        }
        rows, errors = call_without_invalid_arguments(
            partial(before.diff, lake), arguments_by_field
        )
    rows = (
        pl.DataFrame(schema=polars_schema(changes.DIFF_COLUMNS)) if rows is None or errors else rows
    )
    table = build_result_table(
        "diff",
        rows,
        all_values=parameters.all_values or bool(parameters.model and parameters.metric),
    )
    return PageContent(
        title=f"Since ingest {since}" if since else "What changed",
        rows=rows,
        parts={"since": since, "shown": table.rows, "moved": table.notes[0]},
        choices={"since": earlier, "model": sorted(models)},
        notes=table.notes[1:] if rows.height else (),
        faults=errors,
    )


def _lake_after_ingest(
    lake: LakeWithMethods, ingest: str, earlier: Sequence[str]
) -> LakeWithMethods:
    """Return the lake in its state after an earlier ingest; raise UsageError if it is deleted."""
    if ingest not in earlier:
        raise UsageError(f"no earlier ingest {ingest}: {known_names_hint([ingest], earlier)}")
    try:
        return reopen_lake(lake, int(ingest))
    except UsageError:
        raise UsageError(f"after ingest {ingest} there was no game of {lake.system}") from None
    except LakeError as error:
        raise UsageError(str(error)) from None


VALUE_PAGES = {
    "leaderboard": Page(
        create_parameters_class(
            EDITION_FIELD,
            GAME_TYPE_FIELD,
            WHERE_FIELD,
            BY_FIELD,
            Field("columns", "Columns", hint="game_type", size=12),
            replace(METRIC_FIELD, help="The metric whose values the columns show."),
            Field("percent", "Percent", bool, False),
            *sort_fields("down"),
            is_of_system=True,
            in_title=("columns",),
            report="leaderboard",
        ),
        leaderboard_content,
    ),
    "metric": Page(
        create_parameters_class(
            METRIC_FIELD, EDITION_FIELD, WHERE_FIELD, BY_FIELD, is_of_system=True
        ),
        metric_content,
    ),
    "model": Page(
        create_parameters_class(
            Field("model", "Model", are_names=True),
            EDITION_FIELD,
            is_of_system=True,
            in_title=("model",),
        ),
        model_content,
    ),
    "compare": Page(
        create_parameters_class(
            Field("model", "Model", are_names=True),
            Field("other", "Other", are_names=True),
            replace(
                METRIC_FIELD,
                label="Metric of settings",
                default="",
                help="The metric of the table of settings.",
            ),
            EDITION_FIELD,
            GAME_TYPE_FIELD,
            Field("where", "Filter", hint="role = 'civilian'", size=17),
            Field("by", "Group by", hint="role", size=8),
            Field("margin", "Equivalence margin", hint="0.05", size=5),
            is_of_system=True,
            in_title=("model", "other"),
            report="compare",
        ),
        compare_content,
    ),
    "diff": Page(
        create_parameters_class(
            Field("since", "Since ingest", are_names=True),
            Field("model", "Model", are_names=True, nothing="all"),
            replace(METRIC_FIELD, default="", nothing="all"),
            EDITION_FIELD,
            Field("all_values", "Include unchanged values", bool, False),
            is_of_system=True,
            in_title=("since",),
            report="diff",
        ),
        diff_content,
    ),
}
