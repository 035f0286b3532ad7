"""What holds of every format and metric, for the tests of whoever writes one.

`docs/plugins.md` shows how. Each function takes logs of the format, or a lake, and raises
AssertionError, in words, for what does not hold.
"""

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import polars as pl
from msgspec import Struct

from pipeline.archives import Document
from pipeline.archives.sources import file_type
from pipeline.errors import PipelineError
from pipeline.events.contracts import GAME_TABLES, TABLES
from pipeline.events.frames import EventFrames, IdentifiedGame, build_event_frames
from pipeline.events.readings import content_id, game_id, sha256
from pipeline.formats import ERROR_REASON, Format, available_formats, read_game
from pipeline.formats.interchange import encode_game
from pipeline.formats.sniffer import DocumentSniffer
from pipeline.game_record import GameRecord, InvalidDocumentError
from pipeline.ingest.decode import (
    UNEXPECTED_ERROR_RULE,
    AssignedModels,
    GameIds,
    decode_documents,
    scan_document,
)
from pipeline.lake import StoredLake
from pipeline.metrics.custom import aggregate_for_check
from pipeline.metrics.registry import (
    RegisteredMetric,
    has_sql,
    metric_spec,
    metric_sql,
    metric_titles,
)
from pipeline.metrics.row_queries import check_plugin_metrics
from pipeline.vocabulary import PAPER

N_MUTANTS = 200
_STATUSES = {"game", "quarantined", "ignored"}
_ODD: tuple[Any, ...] = (None, True, 0, -1, 2**40, 2**70, 0.5, "", "x", "Player 99", [], {}, [[]])


class Logs(Struct, frozen=True):
    """A format with logs to test it.

    Attributes:
        format_: The format.
        logs: The bytes of each log.
        model: The model that played, for a format whose logs do not name it.
        file: The file name of a log, with `{}` for its number.
    """

    format_: Format
    logs: Sequence[bytes]
    model: str | None = None
    file: str = "{}.json"

    def games(self) -> list[GameRecord]:
        """Return the games of the logs, in order."""
        read_games = (read_game(data, self.model, self.file.format(0)) for data in self.logs)
        return [game for game in read_games if game is not None]


def check_format(logs: Logs, n_mutants: int = N_MUTANTS) -> None:
    """Run all checks of a format."""
    for check in (check_claims, check_contracts, check_cut_short, check_batches, check_converted):
        check(logs)
    check_mutants(logs, n_mutants)


def check_metric(name: str, lake: StoredLake) -> None:
    """Check that an installed metric counts rows of each term, equally in SQL and polars."""
    declared = RegisteredMetric(
        metric_spec(name), metric_titles()[name], metric_sql(name, PAPER) if has_sql(name) else None
    )
    try:
        check_plugin_metrics()
        counted = aggregate_for_check(lake, name, declared)
    except PipelineError as error:
        raise AssertionError(str(error)) from None
    lacking = {term.name for term in declared.declared.terms} - {*counted["term"]}
    assert not lacking, f"{name}: the lake has no row to count of {', '.join(sorted(lacking))}"


def check_claims(logs: Logs) -> None:
    """Check that only this format claims each log, and that it reads the log without errors."""
    name, file = logs.format_.NAME, logs.file.format(0)
    assert logs.logs, f"{name} has no logs to be checked by"
    for number, data in enumerate(logs.logs):
        claimants = [
            format_.NAME
            for format_ in available_formats()
            if format_.claims(DocumentSniffer(file, data))
        ]
        assert claimants == [name], f"log {number} of {name} is claimed by {claimants}"
        game = read_game(data, logs.model, file)
        assert game is not None, f"log {number} of {name} is no game"
        assert game.format == name, f"log {number} of {name} is of the format {game.format}"
        assert game.faults == [], f"log {number} of {name}: {game.faults}"
        assert game.assigned_model == (None if logs.format_.NAMES_MODELS else logs.model)


def check_contracts(logs: Logs) -> None:
    """Check that the table rows of each log satisfy the table contracts."""
    for number, game in enumerate(logs.games()):
        broken = _rows([(number, game)]).invalid_games
        assert broken == {}, f"log {number} of {logs.format_.NAME}: {broken}"


def check_cut_short(logs: Logs) -> None:
    """Check that a truncated log is rejected, ignored or read as an unfinished game."""
    file = logs.file.format(0)
    is_json = file_type(file).kind == "json"
    for data in logs.logs:
        for share in range(1, 10):
            try:
                game = read_game(data[: len(data) * share // 10], logs.model, file)
            except InvalidDocumentError:
                continue
            assert not is_json, f"JSON cut at {share}/10 is not refused by {logs.format_.NAME}"
            assert game is None or not game.is_finished, f"cut at {share}/10, a game is finished"


def check_batches(logs: Logs) -> None:
    """Check that the rows of a log do not depend on other logs that are read before or with it."""
    games = logs.games()
    ids = [content_id(game) for game in games]
    again = Logs(logs.format_, [*reversed(logs.logs)], logs.model, logs.file).games()[::-1]
    assert [content_id(game) for game in again] == ids, "a log is another game in another order"
    numbered = list(enumerate(games))
    whole, reverse = _sort_tables(_rows(numbered)), _sort_tables(_rows(numbered[::-1]))
    alone = [_sort_tables(_rows([game])) for game in numbered]
    for table in GAME_TABLES:
        rows = pl.concat([tables[table] for tables in alone]).sort(pl.all())
        assert whole[table].equals(rows), f"rows of {table} depend on what is read with them"
        assert whole[table].equals(reverse[table]), f"rows of {table} depend on the order of logs"


def check_converted(logs: Logs) -> None:
    """Check that interchange JSON preserves everything that was read of a log."""
    for number, game in enumerate(logs.games()):
        again = read_game(encode_game(game))
        is_same = again is not None and content_id(again) == content_id(game)
        assert is_same, f"log {number} of {logs.format_.NAME} is another game when converted"


def check_mutants(logs: Logs, n_mutants: int = N_MUTANTS, seed: int = 0) -> None:
    """Check that randomly damaged logs are read, quarantined or ignored without other errors."""
    damaged = list(mutants(logs.logs, n_mutants, seed))
    documents = [Document("/logs", logs.file.format(n), data) for n, data in enumerate(damaged)]
    seen = [scan_document(document, number) for number, document in enumerate(documents)]
    batch = decode_documents(documents, seen, AssignedModels.from_argument(logs.model), GameIds())
    strange = {document.status_alone for document in batch.seen} - _STATUSES
    assert not strange, f"documents are {strange}"
    assert len(batch.seen) == len(damaged), "not every document is accounted for"
    for fault in batch.faults:
        is_foreseen = not fault.rule.startswith((UNEXPECTED_ERROR_RULE, ERROR_REASON))
        assert is_foreseen, f"{fault.message}\nfor the document {fault.raw!r}"
    for table, rows in batch.tables.items():
        required_columns = [
            name for name, column in TABLES[table].columns().items() if not column.nullable
        ]
        assert not pl.DataFrame(rows.select(required_columns)).null_count().sum_horizontal().sum()


def mutants(logs: Sequence[bytes], n_mutants: int, seed: int = 0) -> Iterator[bytes]:
    """Yield randomly damaged logs: truncated, with changed bytes, or with changed JSON values."""
    dice = Random(seed)
    for _ in range(n_mutants):
        data = dice.choice(logs)
        for _ in range(dice.choice((1, 1, 1, 2, 4))):
            data = dice.choice((_with_odd_value, _with_odd_value, _cut, _flip_bytes, _repeat_part))(
                dice, data
            )
        yield data


def _with_odd_value(dice: Random, data: bytes) -> bytes:
    """Return a log with one JSON value or line replaced, removed or repeated."""
    try:
        log = json.loads(data)
    except ValueError:
        return _with_odd_line(dice, data)
    places = list(_places(log))
    if not places:
        return _cut(dice, data)
    parent, key = dice.choice(places)
    change = dice.randrange(3)
    if change == 0:
        del parent[key]
    elif change == 1 and isinstance(parent, list):
        parent.insert(key, parent[key])
    else:
        parent[key] = dice.choice(_ODD)
    return json.dumps(log).encode()


def _with_odd_line(dice: Random, data: bytes) -> bytes:
    """Return a log with one line removed, repeated, moved or replaced; truncate a single line."""
    lines = data.split(b"\n")
    if len(lines) == 1:
        return _cut(dice, data)
    number = dice.randrange(len(lines))
    if lines[number][:1] == b"{" and dice.random() < 0.7:
        lines[number] = _with_odd_value(dice, lines[number])
    else:
        line, place = lines.pop(number), dice.randrange(len(lines))
        lines[place:place] = [line] * dice.randrange(3)
    return b"\n".join(lines)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container within a value, with the key of each of its elements."""
    if not isinstance(value, dict | list):
        return
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        yield from _places(part)


def _cut(dice: Random, data: bytes) -> bytes:
    start, end = sorted(dice.randrange(len(data) + 1) for _ in range(2))
    return data[:start] + data[end:] if dice.random() < 0.5 else data[:end]


def _flip_bytes(dice: Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(min(len(data), dice.randrange(1, 4))):
        changed[dice.randrange(len(data))] = dice.randrange(256)
    return bytes(changed)


def _repeat_part(dice: Random, data: bytes) -> bytes:
    start, end = sorted(dice.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:]


def _rows(games: Sequence[tuple[int, GameRecord]]) -> EventFrames:
    """Return the table rows of numbered games."""
    placed = []
    for number, game in games:
        digest = sha256(str(number).encode())
        id_ = game_id(digest, number, game.assigned_model)
        path = f"{number}.json"
        placed.append(IdentifiedGame(game, id_, number, digest, content_id(game), "/logs", path))
    return build_event_frames(placed)


def _sort_tables(rows: EventFrames) -> dict[str, pl.DataFrame]:
    return {table: rows.table(table).sort(pl.all()) for table in GAME_TABLES}
