"""Tiny formats for tests, of which a file is not one game: a Public Good of one round each.

They are known to the ingests of one process. Amounts are written as `Ann=2 Bo=6`.
"""

import csv
import io
import json
import re
from types import SimpleNamespace

import pytest

import pipeline.formats
from pipeline.archives.splitting import (
    Splitter,
    iter_csv_rows,
    list_splitter,
    read_whole_file,
    section_splitter,
)
from pipeline.formats.record_builder import (
    LoggedMessage,
    build_contributions,
    build_messages,
    results_of_tested_seats,
)
from pipeline.formats.sniffer import DocumentSniffer, invalid_document_error
from pipeline.game_record import GameRecord, Seat
from pipeline.vocabulary import PLAYER, GameType, Outcome, Phase

_BANNER = re.compile(rb"=+\r?\n *TINY GAME \d+")


def game(name: str, amounts: dict[str, float]) -> GameRecord:
    """A finished game of one round, which whoever puts in least wins."""
    if not amounts:
        raise invalid_document_error("$", "somebody puts something in", "nobody does")
    seats = [Seat(player, f"model-{player}", PLAYER, is_tested=True) for player in amounts]
    spoken = [
        LoggedMessage(player, f"I contribute {amount:g}", Phase.CONTRIBUTION, 1)
        for player, amount in amounts.items()
    ]
    built = GameRecord(
        game_type=GameType.PUBLIC_GOOD,
        system=name,
        format=name,
        format_version="1",
        setting={"multiplier": 2, "rounds": 1},
        is_finished=True,
        outcome=Outcome.COMPLETED,
        n_rounds=1,
        seats=seats,
        messages=build_messages(spoken, seats),
    )
    built.contributions = build_contributions(built, list(amounts.values()))
    least = min(amounts.values())
    wins = {seat: amount == least for seat, amount in enumerate(amounts.values(), start=1)}
    built.results = results_of_tested_seats(built, wins)
    return built


def _put(text: str) -> dict[str, float]:
    return {player: float(amount) for player, amount in re.findall(r"(\w+)=(\d+)", text)}


def _sections(path: str, head: bytes) -> Splitter | None:
    return section_splitter(_BANNER) if _BANNER.match(head.lstrip()) else None


def _rows(path: str, head: bytes) -> Splitter | None:
    return iter_csv_rows if head.startswith(b"tiny,put") else None


def _entries(path: str, head: bytes) -> Splitter | None:
    return list_splitter("tiny_games") if head.startswith(b'{"tiny_games"') else None


def _events(path: str, head: bytes) -> Splitter | None:
    return read_whole_file if head.startswith(b'{"tiny_event"') else None


SECTIONS = SimpleNamespace(
    NAME="tiny_sections",
    NAMES_MODELS=True,
    splitter=_sections,
    claims=lambda look: _BANNER.match(look.data) is not None,
    read=lambda look, model: game("tiny_sections", _put(look.data.decode())),
)


def _row(look: DocumentSniffer, model: str | None) -> GameRecord:
    (row,) = csv.DictReader(io.StringIO(look.data.decode()))
    return game("tiny_rows", _put(row["put"]))


ROWS = SimpleNamespace(
    NAME="tiny_rows",
    NAMES_MODELS=True,
    splitter=_rows,
    claims=lambda look: look.data.startswith(b"tiny,put"),
    read=_row,
)
ENTRIES = SimpleNamespace(
    NAME="tiny_entries",
    NAMES_MODELS=True,
    splitter=_entries,
    claims=lambda look: "tiny_put" in look.keys,
    read=lambda look, model: game("tiny_entries", json.loads(bytes(look.top["tiny_put"]))),
)


def _lines(look: DocumentSniffer, model: str | None) -> GameRecord:
    events = [json.loads(line) for line in look.data.splitlines()]
    return game("tiny_events", {event["tiny_event"]: event["amount"] for event in events})


EVENTS = SimpleNamespace(
    NAME="tiny_events",
    NAMES_MODELS=True,
    splitter=_events,
    claims=lambda look: "tiny_event" in look.keys,
    read=_lines,
)
_REAL = pipeline.formats.available_formats()
_UNCACHED = pipeline.formats._splitter_finders_by_format_name.__wrapped__
FORMATS = (SECTIONS, ROWS, ENTRIES, EVENTS)


def make_known(monkeypatch: pytest.MonkeyPatch, *more: SimpleNamespace) -> None:
    """Has these formats known beside those that there are."""
    known = (*_REAL, *FORMATS, *more)
    monkeypatch.setattr(pipeline.formats, "available_formats", lambda: known)
    monkeypatch.setattr(pipeline.formats, "_splitter_finders_by_format_name", _UNCACHED)
