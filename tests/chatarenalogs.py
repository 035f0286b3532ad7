"""Logs of ChatArena in its three forms, and the rows of MAgIC's other games played in it."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from rawlogs import PAYOFFS, moderate, say

Rows = list[dict[str, Any]]
COLUMNS = ["agent_name", "content", "turn", "timestamp", "visible_to", "msg_type"]
SCORING = (
    "\nThe scoring is as follows:\n"
    "- If all three choose to cooperate, they each get {cooperate} points.\n"
    "- If all three choose to defect, they each get {defect} point.\n"
    "- If one chooses to defect and the others choose to cooperate, the betrayer gets  "
    "{one_defect} points and the collaborators each get 0 points.\n"
    "- If two choose to defect and the other chooses to cooperate, the betrayers each get "
    "{two_defect} points, and the collaborator gets 0 points.\n"
    "The game is played for {rounds} rounds, and the total score decides.\n"
)
BACKGROUND = (
    "Now the game starts! The background is: \n\nYou have 100 starting points to contribute to the "
    "communal pool each round. Do not exceed the all 100 points in {} rounds.\n"
)
ENDS = {
    "caught": "The accusation is correct! {} is the undercover!",
    "voted_wrong": "The accusation is incorrect. {} is the undercover.",
    "tie": "There are even votes. {} is the undercover.",
}


def table(rows: Rows, columns: Sequence[str] = COLUMNS) -> bytes:
    """The rows as `save_history` writes them to a table."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def banner(number: int, of: int = 100) -> str:
    rule = "=" * 60
    return f"{rule}\n  GAME {number}/{of}\n{rule}\n\n"


def printed(row: Mapping[str, Any]) -> str:
    """A row as Python prints the message."""
    fields = {**row, "logged": False}
    return f"Message({', '.join(f'{name}={value!r}' for name, value in fields.items())})\n"


def transcript(*games: Rows) -> bytes:
    """A transcript of games, one after the other."""
    sections = [banner(n) + "".join(map(printed, rows)) for n, rows in enumerate(games, start=1)]
    return ("\n" + "\n".join(sections)).encode()


def undercover(
    words: Sequence[str] = ("pond", "pond", "lake", "pond"),
    votes: Sequence[int] = (3, 3, 1, 3),
    ending: str | None = "caught",
) -> Rows:
    """A game of Undercover of two rounds of clues, with a player for each word."""
    players = [f"Player {seat}" for seat in range(1, len(words) + 1)]
    rows = [moderate("Now the game starts!")]
    rows += [
        moderate(f"Your word is: {word}", player)
        for player, word in zip(players, words, strict=True)
    ]
    for prompt in ("Now everyone gives one clue.", "Now we starting another round of giving clue"):
        rows += [moderate(prompt), *(say(player, "It is wet.") for player in players)]
    rows.append(
        moderate("Now vote which of the other players (excluding yourself) is the undercover.")
    )
    rows += [
        say(player, f"I vote for Player {seat}.", [player])
        for player, seat in zip(players, votes, strict=True)
    ]
    if ending:
        rows.append(moderate(ENDS[ending].format("Player 3")))
    return rows


def _rounds(rounds: Sequence[Sequence[str]], n_rounds: int) -> Rows:
    rows = []
    for number, texts in enumerate(rounds, start=1):
        said = enumerate(texts, start=1)
        rows += [say(f"Player {seat}", text, "Moderator") for seat, text in said]
        rows.append(
            moderate(f"Round {number} is over." if number < n_rounds else END.format(n_rounds))
        )
    return rows


END = "{} rounds of decisions have been completed."


def dilemma(
    rounds: Sequence[Sequence[str]] = (
        ("Cooperate.", "Defect.", "Cooperate"),
        ("Defect", "Defect.", "I defect."),
    ),
    n_rounds: int = 2,
) -> Rows:
    """A Prisoner's Dilemma of rounds of texts; it is cut off where there are fewer than said."""
    scoring = SCORING.format(**PAYOFFS, rounds=n_rounds)
    return [moderate("Now the game starts!"), moderate(scoring), *_rounds(rounds, n_rounds)]


def pool(
    rounds: Sequence[Sequence[str]] = (
        ("I contribute 10.", "I contribute 20 points.", "I contribute 30."),
        ("I contribute 5.", "I contribute 5.", "I contribute 10."),
    ),
    n_rounds: int = 2,
) -> Rows:
    """A Public Good game of rounds of texts."""
    return [moderate(BACKGROUND.format(n_rounds)), *_rounds(rounds, n_rounds)]
