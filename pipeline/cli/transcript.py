"""A game's transcript as text for a terminal, as markdown, and as JSON."""

from collections.abc import Mapping

import polars as pl

from pipeline.cli import output, terminal
from pipeline.render import markdown, terminal as layout
from pipeline.reports.transcript import Transcript
from pipeline.reports.transcript_items import (
    TranscriptItem,
    game_title,
    items_seen_by_player,
    player_table,
)
from pipeline.serialization import to_json_records
from pipeline.statistics.intervals import exact_sum
from pipeline.text_format import escape_to_one_line, escape_unprintable, replace_line_breaks

_INDENT = "    "
_STYLES = {"none": "aside", "hit": "hit", "miss": "miss"}
_FACTS = ("game_id", "setting_id", "game_index", "outcome", "outcome_code")
_COUNTS = ("n_rounds", "n_messages")
_VOTES = ("player", "target", "is_correct", "stated_target", "parse_status")
_VOTES_FOR_PROPOSALS = ("round", "player", "candidate", "parse_status")


def write_transcript(transcript: Transcript, form: str) -> None:
    """Write the whole game as `text` or `markdown`."""
    game, edition = transcript.game, transcript.edition
    output.print_heading(game_title(game), form, level=1)
    _format_facts({name: game[name] for name in (*_FACTS, *_COUNTS)} | {"log": game["path"]}, form)
    _format_section("Players", player_table(transcript.tables), form)
    output.print_heading("Messages", form)
    for part in transcript.items:
        _format_item(part, form)
    votes = transcript.tables["votes"]
    rounds = ["round"] if votes["round"].n_unique() > 1 else []
    sections = {
        "Votes": votes.select(*rounds, *_VOTES),
        "Votes for proposals": transcript.tables["proposal_votes"].select(_VOTES_FOR_PROPOSALS),
        f"What the metrics counted, edition {edition}": transcript.counted.sort("message_index")
        .group_by("metric", "term", "model", maintain_order=True)
        .agg(hits=exact_sum(pl.col("hit")), counted=pl.len()),
    }
    for name, rows in sections.items():
        _format_section(name, rows, form)
    if transcript.counted.is_empty():
        terminal.print_note(f"no metric of the edition {edition} counted anything in this game")


def write_seat_view(transcript: Transcript, seat: int, form: str) -> None:
    """Write the messages that a seat could see."""
    seen, game = transcript.items_seen_by(seat), transcript.game
    output.print_heading(f"{game['game_type']}, as seat {seat} saw it", form, level=1)
    _format_facts({"game_id": game["game_id"]}, form)
    for part in items_seen_by_player(seen):
        _format_item(part, form)


def transcript_to_json(transcript: Transcript, seat: int | None) -> str:
    """Return the game's rows of each table and the counted rows.

    With a seat, return what the seat could see.
    """
    said = {"edition": transcript.edition, "system": transcript.game["system"]}
    counted = transcript.counted.with_columns(
        pl.lit(text).alias(name) for name, text in said.items()
    )
    frames = transcript.tables | {"counted": counted}
    if seat is not None:
        game = transcript.tables["games"].select("game_id", "game_type", seat=pl.lit(seat))
        frames = {"games": game, "messages": transcript.items_seen_by(seat)}
    fields = (f'"{name}": {to_json_records(rows)}' for name, rows in frames.items())
    return "{" + ",\n".join(fields) + "}\n"


# --- how each form is written -------------------------------------------------------------------


def _format_facts(facts: Mapping[str, object], form: str) -> None:
    texts = {
        name: escape_to_one_line(str(value)) for name, value in facts.items() if value is not None
    }
    if form == "markdown":
        terminal.write_result(
            "".join(f"- {name}: {markdown.escape_text(text)}\n" for name, text in texts.items())
            + "\n"
        )
        return
    for line in layout.format_records([*texts], [[*texts.values()]], terminal.terminal_width()):
        terminal.write_result(line + "\n")


def _format_section(title: str, rows: pl.DataFrame, form: str) -> None:
    if rows.height:
        output.print_heading(title, form)
        output.print_table(rows, "markdown" if form == "markdown" else "table")
        terminal.write_result("\n" if form == "markdown" else "")


def _format_item(part: TranscriptItem, form: str) -> None:
    if part.started_round is not None:
        _format_item(TranscriptItem("", f"Round {part.started_round}", ""), form)
    write = _format_item_as_markdown if form == "markdown" else _format_item_as_text
    write(
        part,
        replace_line_breaks(escape_unprintable(part.heading)),
        [escape_unprintable(line) for line in part.content],
    )


def _format_item_as_text(part: TranscriptItem, heading: str, lines: list[str]) -> None:
    terminal.write_result("\n")
    terminal.write_result(heading, "heading")
    terminal.write_result(f"  {part.phase_and_round}" if part.phase_and_round else "", "aside")
    terminal.write_result("\n")
    width = terminal.terminal_width()
    room = None if width is None else max(width - len(_INDENT), layout.MAX_WORD_LENGTH)
    for line in lines:
        for piece in layout.wrap_text(line, room):
            terminal.write_result(f"{_INDENT}{piece}".rstrip() + "\n")
    styles = _STYLES | {"act": "aside" if lines else ""}
    for item in part.items:
        for number, (text, style) in enumerate(item):
            terminal.write_result("  " if number else _INDENT)
            terminal.write_result(replace_line_breaks(text), styles[style])
        terminal.write_result("\n")


def _format_item_as_markdown(part: TranscriptItem, heading: str, lines: list[str]) -> None:
    terminal.write_result(
        f"**{markdown.escape_text(heading)}** {markdown.escape_text(part.phase_and_round)}".rstrip()
        + "\n\n"
    )
    # As code, in which nothing is markdown.
    terminal.write_result("".join(f"    {line}\n" for line in lines) + ("\n" if lines else ""))
    items = [
        "  ".join(replace_line_breaks(escape_unprintable(text)) for text, _ in item)
        for item in part.items
    ]
    terminal.write_result(
        "".join(f"- {markdown.escape_text(item)}\n" for item in items) + ("\n" if items else "")
    )
