"""A game's transcript as text for a terminal, as markdown, and as JSON."""

from collections.abc import Iterator, Mapping

import polars as pl

from pipeline.cells import printable
from pipeline.cli import output, terminal
from pipeline.present import layout
from pipeline.present.markdown import escaped
from pipeline.reports.parts import Part, parts_seen, seats, title
from pipeline.reports.transcript import Transcript
from pipeline.statistics.sums import exact_sum
from pipeline.written import json_text

_INDENT = "    "
_STYLES = {"none": "aside", "hit": "hit", "miss": "miss"}
_FACTS = (
    "game_id",
    "setting_id",
    "game_index",
    "outcome",
    "outcome_code",
    "n_rounds",
    "n_messages",
)


def write(transcript: Transcript, form: str) -> None:
    """The whole game; `form` is `text` or `markdown`."""
    game = transcript.game
    _heading(title(game), form, level=1)
    _facts({name: game[name] for name in _FACTS} | {"log": game["path"]}, form)
    _section("Players", seats(transcript.tables), form)
    _heading("Messages", form, level=2)
    for part in transcript.parts:
        _part(part, form)
    for what, rows in _votes(transcript):
        _section(what, rows, form)
    _section(
        f"What the metrics counted, edition {transcript.edition}", _sums(transcript.counted), form
    )
    if transcript.counted.is_empty():
        terminal.note(
            f"no metric of the edition {transcript.edition} counted anything in this game"
        )


def write_seen(transcript: Transcript, seat: int, form: str) -> None:
    """What a seat was shown, and nothing else."""
    seen = transcript.seen_by(seat)
    game = transcript.game
    _heading(f"{game['game_type']}, as seat {seat} saw it", form, level=1)
    _facts({"game_id": game["game_id"]}, form)
    for part in parts_seen(seen):
        _part(part, form)


def as_json(transcript: Transcript) -> str:
    """The game's rows of every table, and what was counted, as one object."""
    return _object(transcript.tables | {"counted": transcript.counted})


def seen_as_json(transcript: Transcript, seat: int) -> str:
    """The same for what a seat was shown."""
    game = transcript.tables["games"].select("game_id", "game_type", pl.lit(seat).alias("seat"))
    return _object({"games": game, "messages": transcript.seen_by(seat)})


def _object(frames: Mapping[str, pl.DataFrame]) -> str:
    fields = (f'"{name}": {json_text(rows)}' for name, rows in frames.items())
    return "{" + ",\n".join(fields) + "}\n"


def _votes(transcript: Transcript) -> Iterator[tuple[str, pl.DataFrame]]:
    votes, for_proposals = transcript.tables["votes"], transcript.tables["proposal_votes"]
    if votes.height:
        rounds = ["round"] if votes["round"].n_unique() > 1 else []
        columns = ("player", "target", "is_correct", "stated_target", "parse_status")
        yield "Votes", votes.select(*rounds, *columns)
    if for_proposals.height:
        yield (
            "Votes for proposals",
            for_proposals.select("round", "player", "candidate", "parse_status"),
        )


def _sums(counted: pl.DataFrame) -> pl.DataFrame:
    sums = {"hits": exact_sum(pl.col("hit")), "counted": pl.len()}
    return (
        counted.sort("message_index")
        .group_by("metric", "term", "model", maintain_order=True)
        .agg(**sums)
    )


# --- how each form is written -------------------------------------------------------------------


def _heading(text: str, form: str, *, level: int) -> None:
    if form == "markdown":
        terminal.out(f"{'#' * level} {escaped(printable(text))}\n\n")
    else:
        terminal.out("" if level == 1 else "\n")
        terminal.out(printable(text), "heading")
        terminal.out("\n")


def _facts(facts: Mapping[str, object], form: str) -> None:
    texts = {name: str(value) for name, value in facts.items() if value is not None}
    if form == "markdown":
        for name, value in texts.items():
            terminal.out(f"- {name}: {escaped(printable(value))}\n")
        terminal.out("\n")
        return
    values = [printable(value) for value in texts.values()]
    for line in layout.records(list(texts), [values], terminal.width()):
        terminal.out(line + "\n")


def _section(title: str, rows: pl.DataFrame, form: str) -> None:
    if rows.height:
        _heading(title, form, level=2)
        output.show(rows, "markdown" if form == "markdown" else "table")
        if form == "markdown":
            terminal.out("\n")


def _part(part: Part, form: str) -> None:
    if part.begins is not None:
        _part(Part("", f"Round {part.begins}", ""), form)
    write = _in_markdown if form == "markdown" else _in_text
    write(part, [printable(line) for line in part.content])


def _in_text(part: Part, lines: list[str]) -> None:
    terminal.out("\n")
    terminal.out(printable(part.heading), "heading")
    terminal.out(f"  {part.aside}" if part.aside else "", "aside")
    terminal.out("\n")
    width = terminal.width()
    room = None if width is None else max(width - len(_INDENT), layout.LONGEST_WORD)
    for line in lines:
        for piece in layout.wrapped(line, room):
            terminal.out(f"{_INDENT}{piece}".rstrip() + "\n")
    styles = _STYLES | {"act": "aside" if lines else ""}
    for item in part.items:
        before = _INDENT
        for text, style in item:
            terminal.out(before)
            terminal.out(printable(text), styles[style])
            before = "  "
        terminal.out("\n")


def _in_markdown(part: Part, lines: list[str]) -> None:
    heading = escaped(printable(part.heading))
    terminal.out(f"**{heading}** {escaped(part.aside)}".rstrip() + "\n\n")
    # As code, in which nothing is markdown.
    terminal.out("".join(f"    {line}\n" for line in lines) + ("\n" if lines else ""))
    items = ["  ".join(printable(text) for text, _ in item) for item in part.items]
    terminal.out("".join(f"- {escaped(item)}\n" for item in items) + ("\n" if items else ""))
