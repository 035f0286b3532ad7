"""What is read from a text while its document is decoded: an outage, a player's number, a guess.

Everything else that prose says is read for all games at once, in `pipeline.events.prose`. A guess
is not: few games have one, and its patterns look ahead, which the engine of polars cannot.
"""

import re
from functools import lru_cache

from pipeline.game import OUTAGE_MARK
from pipeline.thoughts import answer
from pipeline.vocabulary import ParseStatus, Phase

# Bounded, so that no text makes a search slow: a guess is a word or two.
_QUOTED = re.compile(r"[\"“”'‘’]([^\"“”\n]{1,80}?)[\"“”'‘’](?!\w)")
_GUESS = re.compile(
    r"\b(?:code|word)\b[^\"“'‘\n]{0,40}?\b(?:is|be|was)\b:?\s{0,8}"
    r"(?:[\"“'‘]([^\"”\n]{1,80}?)(?:[\"”]|['’](?!\w)|[.!]?\s{0,8}$)|([^\"“\n.!,]{1,80}))",
    re.IGNORECASE | re.MULTILINE,
)
_SECOND_GUESS = re.compile(r"\bor\s{0,8}[\"“'‘]([^\"”\n]{1,80}?)[\"”'’]", re.IGNORECASE)
_REASON = re.compile(r"(?<!\s)\s+(?:because|since|as)\b.*", re.IGNORECASE)
_PLAYER = re.compile(r"Player ([1-9][0-9]{0,8})")


def is_outage(text: str) -> bool:
    """Whether the text stands where a player's API failed to answer."""
    return text.startswith(OUTAGE_MARK)


@lru_cache
def player_number(name: str) -> int | None:
    """The N of a name that is just `Player N`, else None."""
    match = _PLAYER.fullmatch(name)
    return int(match[1]) if match else None


def stated_guess(text: str) -> tuple[str | None, ParseStatus]:
    """The word that a guess names, without quotes, and how clearly it does.

    Strict: a text that names two is `ambiguous`, one that names none `unreadable`.
    """
    if is_outage(text):
        return None, ParseStatus.OUTAGE
    text = answer(text, Phase.GUESS)
    words = {_bare(quoted or bare) for quoted, bare in _GUESS.findall(text)}
    if words:
        words |= {_bare(other) for other in _SECOND_GUESS.findall(text)}
    else:
        words = {_bare(quoted) for quoted in _QUOTED.findall(text)}
    words.discard("")
    if len(words) == 1:
        return words.pop(), ParseStatus.OK
    return None, ParseStatus.AMBIGUOUS if words else ParseStatus.UNREADABLE


def _bare(word: str) -> str:
    return _REASON.sub("", word).strip(" \t\"“”'‘’.!").removesuffix("<eos>").strip()
