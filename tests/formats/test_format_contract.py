"""What holds of every format: its logs in `tests/logs/<format>.py` go the whole way to metrics.

Such a module has `LOGS`, a list of documents; `FILE`, the name of a file of one of them, such as
`{}.csv`, where that is not `{}.json`, or a list of such names; `MODEL`, where the format does not
name who played; `HAS_END = False`, where a log does not show that it is complete; and `ANSWERS`,
known values of the edition paper, by metric, model and game type, where it has any.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from event_tables import ENGINES
from format_logs import logs_by_file

from pipeline import testing
from pipeline.formats import Format, available_formats
from pipeline.ingest import ingest
from pipeline.lake import open_lake
from pipeline.metrics import metrics
from pipeline.verify import verify

EVERY_FORMAT = pytest.mark.parametrize(
    "format_", available_formats(), ids=lambda format_: format_.NAME
)


def logs_of(format_: Format) -> ModuleType:
    return import_module(f"logs.{format_.NAME}")


def model_of(format_: Format) -> str | None:
    """The model to name for the format's logs, None where they name it themselves."""
    return None if format_.NAMES_MODELS else logs_of(format_).MODEL


def checked_logs(format_: Format) -> Iterator[testing.Logs]:
    """The logs of a format, those of each kind of file together."""
    for file, logs in logs_by_file(format_.NAME).items():
        has_end = getattr(logs_of(format_), "HAS_END", True)
        yield testing.Logs(format_, logs, model_of(format_), file, has_end)


CHECKS = (
    testing.check_only_this_format_claims_logs,
    testing.check_table_contracts,
    testing.check_truncated_logs_are_not_finished_games,
    testing.check_rows_do_not_depend_on_batch,
    testing.check_conversion_is_lossless,
    testing.check_damaged_logs_do_not_crash,
)


@pytest.mark.some(12, 24)
@EVERY_FORMAT
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_holds_of_a_format(check: Callable[[testing.Logs], None], format_: Format) -> None:
    for logs in checked_logs(format_):
        check(logs)


def test_the_lake_is_whole(lake_of_formats: Path) -> None:
    """Each event refers to a message of its seat, each result to a tested side, and so on."""
    faults = verify(lake_of_formats).faults.filter(severity="error")
    assert faults.is_empty(), faults.rows()
    again = ingest(lake_of_formats.parent / "logs", lake_of_formats, model="m", dry_run=True)
    assert again.statuses["unchanged"] == again.n_seen


@pytest.mark.some(1)
@pytest.mark.parametrize("engine", ENGINES)
def test_metrics_are_the_known_answers(lake_of_formats: Path, engine: str) -> None:
    lake = open_lake(lake_of_formats)
    keys = ["metric", "model", "game_type"]
    found, wanted = {}, {}
    for name, system in lake.table("games").select("format", "system").unique().collect().rows():
        format_ = next(format_ for format_ in available_formats() if name == format_.NAME)
        if not (answers := getattr(logs_of(format_), "ANSWERS", None)):
            continue
        asked = {"engine": engine, "metric": sorted({metric for metric, *_ in answers})}
        rows = metrics(lake.for_system(system), **asked, by=keys[1:], confidence=None)
        values = {tuple(key): value for *key, value in rows.select(*keys, "value").iter_rows()}
        for (metric, model, game_type), answer in answers.items():
            key = metric, model if format_.NAMES_MODELS else "m", game_type
            found[name, key], wanted[name, key] = values.get(key), answer
    assert len(wanted) > 40
    assert found == pytest.approx(wanted)
