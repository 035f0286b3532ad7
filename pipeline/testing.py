"""Checks that every format and metric must pass, for the tests of a package that defines one.

`docs/plugins.md` shows how. Each check takes logs of the format, or a lake, and raises
AssertionError with a message if the check fails.
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
from pipeline.metrics.custom import check_metric_and_return_sums
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
_EXPECTED_STATUSES = {"game", "quarantined", "ignored"}
_UNUSUAL_JSON_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**40,
    2**70,
    0.5,
    "",
    "x",
    "Player 99",
    [],
    {},
    [[]],
)


class Logs(Struct, frozen=True):
    """A format with logs to test it.

    Attributes:
        format_: The format.
        logs: The bytes of each log.
        model: The model that played, for a format whose logs do not name it.
        file: The file name of a log, with `{}` for its number.
        has_end: Whether a log shows that it is complete. If not, as in a CSV table, a truncated log
            can be read as a finished game.
    """

    format_: Format
    logs: Sequence[bytes]
    model: str | None = None
    file: str = "{}.json"
    has_end: bool = True

    def games(self) -> list[GameRecord]:
        """Return the games that are read from the logs, in the order of the logs."""
        read_games = (read_game(data, self.model, self.file.format(0)) for data in self.logs)
        return [game for game in read_games if game is not None]


def check_format(logs: Logs, n_mutants: int = N_MUTANTS) -> None:
    """Run all checks of this module on a format and its logs."""
    for check in (
        check_only_this_format_claims_logs,
        check_table_contracts,
        check_truncated_logs_are_not_finished_games,
        check_rows_do_not_depend_on_batch,
        check_conversion_is_lossless,
    ):
        check(logs)
    check_damaged_logs_do_not_crash(logs, n_mutants)


def check_metric(name: str, lake: StoredLake) -> None:
    """Check that a plugin's metric counts rows of the lake, and equally in SQL and polars.

    Every part of the metric (`Term`) must count at least one row.
    """
    metric = RegisteredMetric(
        metric_spec(name), metric_titles()[name], metric_sql(name, PAPER) if has_sql(name) else None
    )
    try:
        check_plugin_metrics()
        sums = check_metric_and_return_sums(lake, name, metric)
    except PipelineError as error:
        raise AssertionError(str(error)) from None
    empty_terms = {term.name for term in metric.declared.terms} - {*sums["term"]}
    assert not empty_terms, (
        f"{name}: the lake has no row to count of {', '.join(sorted(empty_terms))}"
    )


def check_only_this_format_claims_logs(logs: Logs) -> None:
    """Check that no other format accepts any of the logs, and that all are read without errors."""
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


def check_table_contracts(logs: Logs) -> None:
    """Check that the table rows of each log have the types and values that the tables require."""
    for number, game in enumerate(logs.games()):
        invalid_games = _event_frames([(number, game)]).invalid_games
        assert invalid_games == {}, f"log {number} of {logs.format_.NAME}: {invalid_games}"


def check_truncated_logs_are_not_finished_games(logs: Logs) -> None:
    """Check that a truncated log is rejected, ignored or read as an unfinished game."""
    file = logs.file.format(0)
    is_json = file_type(file).kind == "json"
    for data in logs.logs:
        for n_tenths in range(1, 10):
            try:
                game = read_game(data[: len(data) * n_tenths // 10], logs.model, file)
            except InvalidDocumentError:
                continue
            assert not is_json, (
                f"JSON truncated at {n_tenths}/10 is not rejected by {logs.format_.NAME}"
            )
            assert game is None or not game.is_finished or not logs.has_end, (
                f"truncated at {n_tenths}/10, a log of {logs.format_.NAME} is finished: look "
                "for its end, or test with `has_end=False` if such logs have none"
            )


def check_rows_do_not_depend_on_batch(logs: Logs) -> None:
    """Check that a log has the same table rows whichever logs are read before it or with it."""
    games = logs.games()
    ids = [content_id(game) for game in games]
    reversed_logs = Logs(logs.format_, [*reversed(logs.logs)], logs.model, logs.file)
    ids_of_reversed_logs = [content_id(game) for game in reversed_logs.games()]
    assert ids_of_reversed_logs[::-1] == ids, "a log is another game in another order"
    numbered_games = list(enumerate(games))
    all_tables = _sorted_tables(_event_frames(numbered_games))
    reversed_tables = _sorted_tables(_event_frames(numbered_games[::-1]))
    tables_of_each_game = [_sorted_tables(_event_frames([game])) for game in numbered_games]
    for table, rows in all_tables.items():
        separate_rows = pl.concat([tables[table] for tables in tables_of_each_game]).sort(pl.all())
        assert rows.equals(separate_rows), f"rows of {table} depend on what is read with them"
        assert rows.equals(reversed_tables[table]), f"rows of {table} depend on the order of logs"


def check_conversion_is_lossless(logs: Logs) -> None:
    """Check that a log that is converted to interchange JSON is read as the same game."""
    for number, game in enumerate(logs.games()):
        converted_game = read_game(encode_game(game))
        is_same = converted_game is not None and content_id(converted_game) == content_id(game)
        assert is_same, f"log {number} of {logs.format_.NAME} is another game when converted"


def check_damaged_logs_do_not_crash(logs: Logs, n_mutants: int = N_MUTANTS, seed: int = 0) -> None:
    """Check that randomly damaged logs do not raise unexpected errors in an ingest."""
    damaged_logs = list(iter_damaged_logs(logs.logs, n_mutants, seed))
    documents = [
        Document("/logs", logs.file.format(number), data)
        for number, data in enumerate(damaged_logs)
    ]
    scanned_documents = [
        scan_document(document, number) for number, document in enumerate(documents)
    ]
    batch = decode_documents(
        documents, scanned_documents, AssignedModels.from_model_argument(logs.model), GameIds()
    )
    unexpected_statuses = {
        document.status_alone for document in batch.scanned_documents
    } - _EXPECTED_STATUSES
    assert not unexpected_statuses, f"documents are {unexpected_statuses}"
    assert len(batch.scanned_documents) == len(damaged_logs), "not every document has a status"
    for fault in batch.quarantine_rows:
        is_expected = not fault.rule.startswith((UNEXPECTED_ERROR_RULE, ERROR_REASON))
        assert is_expected, f"{fault.message}\nfor the document {fault.raw!r}"
    for table, rows in batch.tables.items():
        required_columns = [
            name for name, column in TABLES[table].columns().items() if not column.nullable
        ]
        assert not pl.DataFrame(rows.select(required_columns)).null_count().sum_horizontal().sum()


def iter_damaged_logs(logs: Sequence[bytes], n_mutants: int, seed: int = 0) -> Iterator[bytes]:
    """Yield copies of the logs with random damage: truncated, or with changed bytes or values."""
    dice = Random(seed)
    for _ in range(n_mutants):
        data = dice.choice(logs)
        for _ in range(dice.choice((1, 1, 1, 2, 4))):
            data = dice.choice(
                (
                    _damage_json_value,
                    _damage_json_value,
                    _cut_out_part_or_truncate,
                    _flip_bytes,
                    _repeat_part,
                )
            )(dice, data)
        yield data


def _damage_json_value(dice: Random, data: bytes) -> bytes:
    """Replace, remove or repeat a random value of a JSON log, or a random line of another log."""
    try:
        log = json.loads(data)
    except ValueError:
        return _damage_line(dice, data)
    containers_and_keys = list(_iter_containers_and_keys(log))
    if not containers_and_keys:
        return _cut_out_part_or_truncate(dice, data)
    parent, key = dice.choice(containers_and_keys)
    change = dice.randrange(3)
    if change == 0:
        del parent[key]
    elif change == 1 and isinstance(parent, list):
        parent.insert(key, parent[key])
    else:
        parent[key] = dice.choice(_UNUSUAL_JSON_VALUES)
    return json.dumps(log).encode()


def _damage_line(dice: Random, data: bytes) -> bytes:
    """Remove, repeat, move or damage a random line of a log; truncate a log of one line."""
    lines = data.split(b"\n")
    if len(lines) == 1:
        return _cut_out_part_or_truncate(dice, data)
    number = dice.randrange(len(lines))
    if lines[number][:1] == b"{" and dice.random() < 0.7:
        lines[number] = _damage_json_value(dice, lines[number])
    else:
        line, new_number = lines.pop(number), dice.randrange(len(lines))
        lines[new_number:new_number] = [line] * dice.randrange(3)
    return b"\n".join(lines)


def _iter_containers_and_keys(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each list or object within a JSON value, with each of its indices or keys."""
    if not isinstance(value, dict | list):
        return
    for key, element in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        yield from _iter_containers_and_keys(element)


def _cut_out_part_or_truncate(dice: Random, data: bytes) -> bytes:
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


def _event_frames(numbered_games: Sequence[tuple[int, GameRecord]]) -> EventFrames:
    identified_games = []
    for number, game in numbered_games:
        digest = sha256(str(number).encode())
        id_ = game_id(digest, number, game.assigned_model)
        identified_games.append(
            IdentifiedGame(game, id_, number, digest, content_id(game), "/logs", f"{number}.json")
        )
    return build_event_frames(identified_games)


def _sorted_tables(rows: EventFrames) -> dict[str, pl.DataFrame]:
    return {table: rows.table(table).sort(pl.all()) for table in GAME_TABLES}
