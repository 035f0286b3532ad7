"""What holds of every format: its logs in `tests/logs/<format>.py` go the whole way to metrics.

Such a module has `LOGS`, a list of documents; `FILE`, the name of a file of one of them, such as
`{}.csv`, where that is not `{}.json`, or a list of such names; `MODEL`, where the format does not
name who played; and `ANSWERS`, known values of the edition paper, by metric, model and game type,
where it has any.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from event_tables import ENGINES, checked

from pipeline.archives.names import form_of
from pipeline.events.contracts import GAME_TABLES
from pipeline.events.frames import IdentifiedGame, frames
from pipeline.events.identity import content_id, game_id, sha256
from pipeline.formats import Format, formats, read
from pipeline.formats.look import Look
from pipeline.game import BrokenDocument
from pipeline.ingest import ingest
from pipeline.lake import Lake, open_lake
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


@EVERY_FORMAT
def test_one_format_alone_reads_a_log(format_: Format) -> None:
    others = [other for other in formats() if other is not format_]
    assert logs_of(format_).LOGS
    for number, data in enumerate(logs_of(format_).LOGS):
        game = read(data, model_of(format_), file_of(format_, number))
        assert game is not None
        assert game.format == format_.NAME
        assert game.faults == []
        assert game.assigned_model == model_of(format_)
        look = Look(file_of(format_, number), data)
        assert [other.NAME for other in others if other.claims(look)] == []


@EVERY_FORMAT
def test_rows_keep_their_contracts(format_: Format) -> None:
    for number, data in enumerate(logs_of(format_).LOGS):
        game = read(data, model_of(format_), file_of(format_, number))
        assert game is not None
        identity = game_id(sha256(data), 0, game.assigned_model)
        placed = IdentifiedGame(
            game, identity, 0, sha256(data), content_id(game), "/logs", "0.json"
        )
        rows = frames([placed])
        assert rows.broken == {}
        for table in GAME_TABLES:
            checked(table, rows.table(table))


@EVERY_FORMAT
def test_a_log_that_is_cut_short_is_refused(format_: Format) -> None:
    """Half a game must never count as one: it is refused, or of no format, or unfinished."""
    for number, data in enumerate(logs_of(format_).LOGS):
        file = file_of(format_, number)
        is_json = form_of(file).kind == "json"
        for share in range(1, 10):
            try:
                half = data[: len(data) * share // 10]
                game = read(half, model_of(format_), file)
            except BrokenDocument:
                continue
            assert not is_json
            assert game is None or not game.is_finished


@pytest.fixture(scope="module", params=formats(), ids=lambda format_: format_.NAME)
def ingested(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Format, Lake]:
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


@pytest.mark.slow
def test_the_lake_is_whole(ingested: tuple[Format, Lake]) -> None:
    """Each event refers to a message of its seat, each result to a tested side, and so on."""
    _, lake = ingested
    faults = verify(lake.path).faults.filter(severity="error")
    assert faults.is_empty(), faults.rows()


@pytest.mark.parametrize("engine", ENGINES)
def test_metrics_are_the_known_answers(ingested: tuple[Format, Lake], engine: str) -> None:
    format_, lake = ingested
    keys = ["metric", "model", "game_type"]
    values = metrics(lake, engine=engine, by=keys[1:], confidence=None)
    found = {tuple(key): value for *key, value in values.select(*keys, "value").iter_rows()}
    answers = getattr(logs_of(format_), "ANSWERS", {})
    assert {key: found[key] for key in answers} == pytest.approx(answers)
