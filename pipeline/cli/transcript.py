"""Output of a game's transcript as text for a terminal, as Markdown and as JSON.

`magic show` uses this module. The items of a transcript come from `reports.transcript_items`.
"""

from collections.abc import Mapping

import polars as pl

from pipeline.cli import output, terminal
from pipeline.render import markdown, terminal as layout
from pipeline.reports.transcript import Transcript
from pipeline.reports.transcript_items import (
    TranscriptItem,
    game_title,
    messages_as_transcript_items,
    player_table,
)
from pipeline.serialization import to_json_records
from pipeline.statistics.intervals import order_independent_sum
from pipeline.text_format import escape_to_one_line, escape_unprintable, line_breaks_to_symbols

_INDENT = "    "
_STYLES = {"none": "aside", "hit": "hit", "miss": "miss"}
_GAME_FIELDS = (
    "game_id",
    "setting_id",
    "game_index",
    "outcome",
    "outcome_code",
    "n_rounds",
    "n_messages",
)
_VOTE_COLUMNS = ("player", "target", "is_correct", "stated_target", "parse_status")
_PROPOSAL_VOTE_COLUMNS = ("round", "player", "candidate", "parse_status")


def write_transcript(transcript: Transcript, form: str) -> None:
    """Write the transcript of a game to stdout: players, messages, votes and counted rows.

    Args:
        transcript: The game.
        form: `text` or `markdown`.
    """
    game, edition = transcript.game, transcript.edition
    output.print_heading(game_title(game), form, level=1)
    _write_fields_that_are_not_none(
        {name: game[name] for name in _GAME_FIELDS} | {"log": game["path"]}, form
    )
    _write_section_if_not_empty("Players", player_table(transcript.tables), form)
    output.print_heading("Messages", form)
    for item in transcript.items:
        _write_item(item, form)
    votes = transcript.tables["votes"]
    rounds = ["round"] if votes["round"].n_unique() > 1 else []
    sections = {
        "Votes": votes.select(*rounds, *_VOTE_COLUMNS),
        "Votes for proposals": transcript.tables["proposal_votes"].select(_PROPOSAL_VOTE_COLUMNS),
        f"What the metrics counted, edition {edition}": transcript.counted.sort("message_index")
        .group_by("metric", "term", "model", maintain_order=True)
        .agg(hits=order_independent_sum(pl.col("hit")), counted=pl.len()),
    }
    for name, rows in sections.items():
        _write_section_if_not_empty(name, rows, form)
    if transcript.counted.is_empty():
        terminal.print_note(f"no metric of the edition {edition} counted anything in this game")


def write_messages_seen_by_seat(transcript: Transcript, seat: int, form: str) -> None:
    """Write to stdout the messages of a game that the player of one seat could see.

    Args:
        transcript: The game.
        seat: The number of the player's seat.
        form: `text` or `markdown`.

    Raises:
        UsageError: If the game does not have the seat.
    """
    # Read before anything is written, because a seat that the game does not have is an error.
    messages, game = transcript.items_seen_by(seat), transcript.game
    output.print_heading(f"{game['game_type']}, as seat {seat} saw it", form, level=1)
    _write_fields_that_are_not_none({"game_id": game["game_id"]}, form)
    for item in messages_as_transcript_items(messages):
        _write_item(item, form)


def transcript_to_json(transcript: Transcript, seat: int | None) -> str:
    """Return the rows of a game as JSON: an object with a list of rows for each table.

    Args:
        transcript: The game.
        seat: The number of a player's seat; None for the whole game.

    Returns:
        The rows of each table, and in `counted` the rows that the metrics counted. With a seat, the
        game's ids in `games` and the messages that the player could see in `messages`.

    Raises:
        UsageError: If the game does not have the seat.
    """
    edition, system = transcript.edition, transcript.game["system"]
    counted = transcript.counted.with_columns(edition=pl.lit(edition), system=pl.lit(system))
    frames = transcript.tables | {"counted": counted}
    if seat is not None:
        game = transcript.tables["games"].select("game_id", "game_type", seat=pl.lit(seat))
        frames = {"games": game, "messages": transcript.items_seen_by(seat)}
    fields = (f'"{name}": {to_json_records(rows)}' for name, rows in frames.items())
    return "{" + ",\n".join(fields) + "}\n"


def _write_fields_that_are_not_none(fields: Mapping[str, object], form: str) -> None:
    texts = {
        name: escape_to_one_line(str(value)) for name, value in fields.items() if value is not None
    }
    if form == "markdown":
        terminal.write_result(
            "".join(f"- {name}: {markdown.escape_text(text)}\n" for name, text in texts.items())
            + "\n"
        )
        return
    for line in layout.format_records(
        [*texts], [[*texts.values()]], terminal.terminal_width_or_none()
    ):
        terminal.write_result(line + "\n")


def _write_section_if_not_empty(title: str, rows: pl.DataFrame, form: str) -> None:
    if rows.height:
        output.print_heading(title, form)
        output.print_table(rows, "markdown" if form == "markdown" else "table")
        terminal.write_result("\n" if form == "markdown" else "")


def _write_item(item: TranscriptItem, form: str) -> None:
    if item.started_round is not None:
        _write_item(TranscriptItem("", f"Round {item.started_round}", ""), form)
    write = _write_item_as_markdown if form == "markdown" else _write_item_as_text
    write(
        item,
        line_breaks_to_symbols(escape_unprintable(item.heading)),
        [escape_unprintable(line) for line in item.content],
    )


def _write_item_as_text(item: TranscriptItem, heading: str, lines: list[str]) -> None:
    terminal.write_result("\n")
    terminal.write_result(heading, "heading")
    terminal.write_result(f"  {item.phase_and_round}" if item.phase_and_round else "", "aside")
    terminal.write_result("\n")
    width = terminal.terminal_width_or_none()
    text_width = None if width is None else max(width - len(_INDENT), layout.MAX_WORD_LENGTH)
    for line in lines:
        for wrapped_line in layout.wrap_text(line, text_width):
            terminal.write_result(f"{_INDENT}{wrapped_line}".rstrip() + "\n")
    styles = _STYLES | {"act": "aside" if lines else ""}
    for action_line in item.items:
        for part_number, (part_text, style) in enumerate(action_line):
            terminal.write_result("  " if part_number else _INDENT)
            terminal.write_result(line_breaks_to_symbols(part_text), styles[style])
        terminal.write_result("\n")


def _write_item_as_markdown(item: TranscriptItem, heading: str, lines: list[str]) -> None:
    terminal.write_result(
        f"**{markdown.escape_text(heading)}** {markdown.escape_text(item.phase_and_round)}".rstrip()
        + "\n\n"
    )
    # Indented as code, so that no character of a message is interpreted as Markdown.
    terminal.write_result("".join(f"    {line}\n" for line in lines) + ("\n" if lines else ""))
    list_items = [
        "  ".join(line_breaks_to_symbols(escape_unprintable(text)) for text, _ in action_line)
        for action_line in item.items
    ]
    terminal.write_result(
        "".join(f"- {markdown.escape_text(action_line)}\n" for action_line in list_items)
        + ("\n" if list_items else "")
    )
