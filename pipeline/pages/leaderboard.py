"""Models by metrics: every value with its interval, what it counts, and where its rows are."""

from functools import partial
from typing import Any

import polars as pl

from pipeline.answers import AnsweringLake
from pipeline.metrics.known import names
from pipeline.metrics.results import ESTIMATE, REPLAYS, origin, wide
from pipeline.pages.address import BY, EDITION, GAME_TYPE, WHERE, address, sorting
from pipeline.pages.content import Content, answered, grouped, listed
from pipeline.present import present
from pipeline.present.values import lacks_note
from pipeline.vocabulary import ALL

LANE = "long"
MODEL_COLUMNS = (
    *("rank", "letters", "n_games", "n_missing", "n_expected", "n_self_play", *REPLAYS),
    *("is_complete", "lacks"),
)


# These come first, then the groups, and the metrics last.
BEFORE = ("rank", "model", "letters", "n_games", "n_missing")


Parameters = address(EDITION, GAME_TYPE, WHERE, BY, *sorting("down"), is_of_system=True)


def content(lake: AnsweringLake, asked: Any) -> Content:
    """The leaderboard as `Lake.leaderboard` gives it, or the values of a slice of the rows.

    `rows` has a row for each model (and group of `by`). Its columns are those of `leaderboard`, but
    without `reasons`, and for each metric `<metric>`, `<metric>_low`, `<metric>_high`,
    `<metric>_thin`, `<metric>_counted`, `<metric>_games`, `<metric>_reason`. At the end are the
    edition and the system.
    """
    groups = tuple(name for name in listed(asked.by) if name != "model")
    fields = {
        "game_type": {"game_type": asked.game_type},
        "where": {"where": asked.where or None},
        "by": {"by": groups},
    }
    board, faults = answered(partial(lake.board, edition=asked.edition), fields)
    ranking, values = board or lake.board(edition=asked.edition)
    if faults:
        ranking, values = (grouped(rows.clear(), groups) for rows in (ranking, values))
    is_sliced = bool(groups or asked.where or asked.game_type != ALL)
    left_out = values.filter(pl.col("model").is_null())
    values = values.filter(pl.col("model").is_not_null())
    valued = values.filter(pl.col("value").is_not_null())["metric"].unique().to_list()
    there = values["metric"].unique().to_list()
    known = [name for name in names(asked.edition) if name in there or not is_sliced]
    absent = [name for name in known if name not in valued] if valued else []
    ranks = ranking.select("model", *groups, "family", *MODEL_COLUMNS)
    # What the values of a slice lack is said at them, else at the model.
    ends = ESTIMATE if is_sliced else [end for end in ESTIMATE if end != "_lacks"]
    keys = ["model", *groups]
    estimates = wide(values, known, keys, ends)
    rows = ranks.join(estimates, on=keys, nulls_equal=True, maintain_order="left")
    rows = rows.select(*BEFORE, *groups, pl.exclude(*BEFORE, *groups))
    notes = [] if is_sliced else [*present("leaderboard", ranking).notes]
    notes += lacks_note(values) if is_sliced else []
    notes += [f"no model has a value of {', '.join(absent)}"] if is_sliced and absent else []
    notes += [f"{row['metric']}: {row['reason']}." for row in left_out.iter_rows(named=True)]
    return Content(
        title="Leaderboard",
        rows=_sorted(rows, asked, keys).with_columns(origin(lake, asked.edition)),
        parts={"groups": groups, "is_sliced": is_sliced},
        notes=notes,
        faults=faults,
    )


def _sorted(rows: pl.DataFrame, asked: Any, keys: list[str]) -> pl.DataFrame:
    """The rows by the column asked for, by default as the leaderboard has them; nulls last."""
    if asked.sort not in rows.columns:
        return rows
    is_down = [asked.order == "down", *(False for _ in keys)]
    return rows.sort(asked.sort, *keys, descending=is_down, nulls_last=True)
