"""What holds of every format: its logs in `tests/logs/<format>.py` go the whole way to metrics.

Such a module has `LOGS`, a list of documents; `FILE`, the name of a file of one of them, such as
`{}.csv`, where that is not `{}.json`, or a list of such names; `MODEL`, where the format does not
name who played; and `ANSWERS`, known values of the edition paper, by metric, model and game type,
where it has any.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from event_tables import ENGINES
from format_logs import logs_by_file

from pipeline import testing
from pipeline.formats import Format, formats
from pipeline.ingest import ingest
from pipeline.lake import StoredLake, open_lake
from pipeline.metrics import metrics
from pipeline.verify import verify

EVERY_FORMAT = pytest.mark.parametrize("format_", formats(), ids=lambda format_: format_.NAME)


def logs_of(format_: Format) -> ModuleType:
    return import_module(f"logs.{format_.NAME}")


def model_of(format_: Format) -> str | None:
    """The model to name for the format's logs, None where they name it themselves."""
    return None if format_.NAMES_MODELS else logs_of(format_).MODEL


def file_of(format_: Format, number: int = 0) -> str:
    """The name of the file that a log of the format is in."""
    names = getattr(logs_of(format_), "FILE", "{}.json")
    return (names if isinstance(names, str) else names[number]).format(number)


def checked_logs(format_: Format) -> Iterator[testing.Logs]:
    """The logs of a format, those of each kind of file together."""
    for file, logs in logs_by_file(format_.NAME).items():
        yield testing.Logs(format_, logs, model_of(format_), file)


CHECKS = (
    testing.check_claims,
    testing.check_contracts,
    testing.check_cut_short,
    testing.check_batches,
    testing.check_converted,
    testing.check_mutants,
)


@pytest.mark.some(12)
@EVERY_FORMAT
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_what_holds_of_a_format(check: Callable[[testing.Logs], None], format_: Format) -> None:
    for logs in checked_logs(format_):
        check(logs)


@pytest.fixture(scope="module", params=formats(), ids=lambda format_: format_.NAME)
def ingested(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Format, StoredLake]:
    """A format, and a lake that its logs were ingested into twice."""
    format_, top = request.param, tmp_path_factory.mktemp("format")
    (top / "logs").mkdir()
    for number, data in enumerate(logs_of(format_).LOGS):
        (top / "logs" / file_of(format_, number)).write_bytes(data)
    for is_new in (True, False):
        report = ingest(top / "logs", Path(top / "lake"), model=model_of(format_), jobs=1)
        status = "ingested" if is_new else "unchanged"
        assert report.statuses[status] == len(logs_of(format_).LOGS)
    return format_, open_lake(top / "lake")


@pytest.mark.some(4)
@pytest.mark.slow
def test_the_lake_is_whole(ingested: tuple[Format, StoredLake]) -> None:
    """Each event refers to a message of its seat, each result to a tested side, and so on."""
    _, lake = ingested
    faults = verify(lake.path).faults.filter(severity="error")
    assert faults.is_empty(), faults.rows()


@pytest.mark.some(6)
@pytest.mark.parametrize("engine", ENGINES)
def test_metrics_are_the_known_answers(ingested: tuple[Format, StoredLake], engine: str) -> None:
    format_, lake = ingested
    keys = ["metric", "model", "game_type"]
    values = metrics(lake, engine=engine, by=keys[1:], confidence=None)
    found = {tuple(key): value for *key, value in values.select(*keys, "value").iter_rows()}
    answers = getattr(logs_of(format_), "ANSWERS", {})
    assert {key: found[key] for key in answers} == pytest.approx(answers)
