"""What is said in a log, and to whom: what all its games are read from."""

import re
from collections.abc import Iterable, Mapping

from pipeline.formats.broken import broken
from pipeline.formats.players import NOT_NAMES, check_players, names_in, player_number
from pipeline.formats.rows import EVERYONE, MODERATOR, Row, history
from pipeline.game import BrokenDocument

SYSTEM = FORMAT = "chatarena"
SHOWN = 200


class Talk:
    """The rows of a game. Only the moderator's decide what the game is and how it ends."""

    def __init__(self, rows: list[Row]) -> None:
        self.history = history(rows)
        moderated = [row for row in rows if row.agent_name == MODERATOR]
        # What the moderator says, in order, and what of it is not for all, with its readers.
        self.sentences = [row.content for row in moderated]
        self._private = [
            (row.content, names_in(row.visible_to))
            for row in moderated
            if row.visible_to != EVERYONE
        ]

    def last(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The last match of a pattern anywhere in what the moderator says."""
        matches = map(pattern.search, reversed(self.sentences))
        return next(filter(None, matches), None)

    def by_player(self, pattern: re.Pattern[str]) -> dict[str, str]:
        """What the moderator says by a pattern's group to players of their own, by player."""
        return {
            player: match[1].strip()
            for text, readers in self._private
            if (match := pattern.fullmatch(text))
            for player in readers
            if player not in NOT_NAMES
        }

    def players(self, named: Iterable[str] = ()) -> list[str]:
        """Those who speak or are named, by their numbers. Raises BrokenDocument for nobody."""
        names = {*self.history.player, *named} - {MODERATOR}
        if not names:
            raise broken("$", "at least one player speaks", "only the moderator does")
        check_players(names, "$")
        return sorted(names, key=lambda name: (player_number(name) or 0, name))

    def ending(self, words: Mapping[str, int]) -> int | None:
        """The number of the ending that the moderator announced last, None for none."""
        match = self.last(re.compile("|".join(map(re.escape, words))))
        return words[match[0]] if match else None


def lacking(title: str, what: str, sentence: str | None = None) -> BrokenDocument:
    """The error for a game that is known, and whose rows do not say what is needed.

    `sentence` is what should say it, and cannot be read.
    """
    why = what if sentence is None else f"{what}: {sentence[:SHOWN]!r}"
    return broken("$", f"the moderator's words say all that a game of {title} needs", why)
