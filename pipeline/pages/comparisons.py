"""The pages of comparisons: of two models, and of the lake with what it was."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl
from msgspec.structs import replace

from pipeline.answers import AnsweringLake
from pipeline.column import schema
from pipeline.errors import LakeError, UsageError, choose
from pipeline.lake import reopened
from pipeline.metrics.known import metric, names
from pipeline.metrics.request import check_models
from pipeline.pages.content import (
    EDITION,
    GAME_TYPE,
    METRIC,
    Content,
    Faults,
    Field,
    Page,
    address,
    answered,
    given,
    listed,
    models_of,
    number,
)
from pipeline.present import present
from pipeline.reports import diff as changes
from pipeline.reports.compare.across import bare, full, system_of
from pipeline.reports.compare.differences import SCHEMA
from pipeline.reports.compare.settings import APART
from pipeline.vocabulary import ALL


def compare(lake: AnsweringLake, asked: Any) -> Content:
    """The comparison of two models, also of other systems; without names, of the first two.

    `rows` are those of `compare`; `apart` are the settings with the largest differences, if both
    are of one system, and `names` are theirs in it.
    """
    own = models_of(lake)
    others = [lake.of_system(system) for system in lake.systems if system != lake.system]
    models = (*own, *(full(part, name) for part in others for name in models_of(part)))
    model = asked.model or next((name for name in own if name != asked.other), "")
    other = asked.other or next((name for name in own if name != model), "")
    systems = [system_of(lake, name) or lake.system for name in (model, other)]
    parts = [lake.of_one_system(system) for system in systems]
    one, two = (bare(lake, name) for name in (model, other))
    in_edition = names(asked.edition)
    # Those that are defined for the game type.
    defined = tuple(
        name
        for name in in_edition
        if asked.game_type in (ALL, *metric(name, asked.edition).game_types)
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

    faults, rows, apart, margin = Faults(), None, pl.DataFrame(schema=schema(APART)), None
    for field, part, name in zip(("model", "other"), parts, (one, two), strict=True):
        with faults.of(field):
            check_models(part, (name,) if name else None)
    if model and other and not faults:
        rows, faults = answered(compared, fields)
    with faults.of("margin"):
        margin = number(asked.margin)
    is_of_one = systems[0] == systems[1]
    if model and other and is_of_one and not faults:
        with faults.of("metric"):
            slice_ = {"edition": asked.edition, **fields["game_type"], **fields["where"]}
            apart = parts[0].settings_apart(one, two, sorted_by, **slice_)
    rows = pl.DataFrame(schema=SCHEMA) if rows is None else rows
    known = tuple(dict.fromkeys([*models, *filter(None, (model, other))]))
    return Content(
        title=f"{model} and {other}" if model and other else "Compare models",
        rows=rows,
        parts={
            "model": model,
            "other": other,
            "names": (one, two) if is_of_one else (),
            "metric": sorted_by,
            "apart": apart,
        },
        system=systems[0] if is_of_one else "",
        choices={"model": known, "other": known},
        notes=present("compare", rows, margin=margin).notes,
        faults=faults,
    )


def diff(lake: AnsweringLake, asked: Any) -> Content:
    """What changed since an earlier ingest, by default the one before the lake's last one.

    `rows` are those of `diff`, `shown` those that moved, or all. `moved` says how many.
    """
    ingests = lake.table("ingests").select("ingest_id").collect()["ingest_id"].sort()
    earlier = [str(one) for one in ingests if one < lake.ingest_id]
    since = asked.since or next(reversed(earlier), "")
    rows, faults, models = None, Faults(), {*models_of(lake)}
    with faults.of("since"):
        before = _state(lake, since, earlier) if since else lake
        models |= {*models_of(before)}
    if since and not faults:
        fields = {
            "metric": {"metric": asked.metric or None, "edition": asked.edition},
            "model": {"model": asked.model or None},
        }
        rows, faults = answered(partial(before.diff, lake), fields)
    rows = pl.DataFrame(schema=schema(changes.COLUMNS)) if rows is None or faults else rows
    is_whole = asked.all_values or bool(asked.model and asked.metric)
    table = present("diff", rows, all_values=is_whole)
    return Content(
        title=f"Since ingest {since}" if since else "What changed",
        rows=rows,
        parts={"since": since, "shown": table.rows, "moved": table.notes[0]},
        choices={"since": earlier, "model": sorted(models)},
        notes=table.notes[1:] if rows.height else (),
        faults=faults,
    )


def _state(lake: AnsweringLake, ingest: str, earlier: Sequence[str]) -> AnsweringLake:
    """The lake as it was after one of the earlier ingests; raises UsageError if it is gone."""
    if ingest not in earlier:
        raise UsageError(f"no earlier ingest {ingest}: {choose([ingest], earlier)}")
    try:
        return reopened(lake, int(ingest))
    except UsageError:
        raise UsageError(f"after ingest {ingest} there was no game of {lake.system}") from None
    except LakeError as error:
        raise UsageError(str(error)) from None


PAGES = {
    "compare": Page(
        address(
            Field("model", "Model", are_names=True),
            Field("other", "Other", are_names=True),
            replace(
                METRIC, label="Settings by", default="", help="The metric of the settings below."
            ),
            EDITION,
            GAME_TYPE,
            Field("where", "Only rows where", hint="role = 'civilian'", size=17),
            Field("by", "By", hint="role", size=8),
            Field("margin", "Alike within", hint="0.05", size=5),
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
            Field("all_values", "also what did not move", bool, False),
            is_of_system=True,
            in_title=("since",),
            report="diff",
        ),
        diff,
    ),
}
