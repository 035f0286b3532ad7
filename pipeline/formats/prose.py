"""What a player's text says: a player named, an amount, a share, a guess, an outage.

Every reading is strict: a text that says two things is `ambiguous`, one that says none is
`unreadable`, and neither is given a value.
"""

import re

from pipeline.vocabulary import ParseStatus

OUTAGE_MARK = "<<<<<<END_OF_CONVERSATION>>>>>>"

_NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), start=1
    )
}
_PLAYER = rf"player[\s_]*(\d+|{'|'.join(_NUMBER_WORDS)})\b"
_MENTION = re.compile(_PLAYER, re.IGNORECASE)
_VOTE = re.compile(
    rf"\bvot(?:e|es|ing)\b[^\d\n.]{{0,40}}?{_PLAYER}(?:(?:\s*,|\s+or|\s+and)\s+{_PLAYER})?",
    re.IGNORECASE,
)
_OWN_PROPOSAL = re.compile(r"\bmy own proposal\b", re.IGNORECASE)
_INTRODUCTION = re.compile(rf"\b(?:as|i am|i'm)\s+(?:player\s+)?{_PLAYER}", re.IGNORECASE)

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SHARE_NUMBER = re.compile(r"\d+(?:[.,]\d{1,2}|[.,]\d{4,})?|\d+[.]\d+")
_STATED_AMOUNT = re.compile(r"contribut\w*[^\d\n.]{0,80}?(\d+(?:\.\d+)?)", re.IGNORECASE)

# Bounded, so that no text makes a search slow: a guess is a word or two.
_QUOTED = re.compile(r"[\"“”'‘’]([^\"“”\n]{1,80}?)[\"“”'‘’](?!\w)")
_GUESS = re.compile(
    r"\b(?:code|word)\b[^\"“'‘\n]{0,40}?\b(?:is|be|was)\b:?\s{0,8}"
    r"(?:[\"“'‘]([^\"”\n]{1,80}?)(?:[\"”]|['’](?!\w)|[.!]?\s{0,8}$)|([^\"“\n.!,]{1,80}))",
    re.IGNORECASE | re.MULTILINE,
)
_SECOND_GUESS = re.compile(r"\bor\s{0,8}[\"“'‘]([^\"”\n]{1,80}?)[\"”'’]", re.IGNORECASE)
_REASON = re.compile(r"(?<!\s)\s+(?:because|since|as)\b.*", re.IGNORECASE)


def is_outage(text: str) -> bool:
    """Whether the text stands where a player's API failed to answer."""
    return text.startswith(OUTAGE_MARK)


def player_number(name: str) -> int | None:
    """The N of a name that is just `Player N`, else None."""
    match = re.fullmatch(r"Player ([1-9][0-9]{0,8})", name)
    return int(match[1]) if match else None


def stated_player(text: str, speaker: str) -> tuple[str | None, ParseStatus]:
    """The player that a vote's text names, as `Player N`, and how surely it does.

    What follows `vote` decides; only where no such words stand, a single name in the rest of the
    text does. A speaker's introduction of itself ("As Player 3, ...") names nobody.
    """
    if is_outage(text):
        return None, ParseStatus.OUTAGE
    named = _names([number for pair in _VOTE.findall(text) for number in pair if number])
    if not named and _OWN_PROPOSAL.search(text):
        named = {speaker}
    if not named:
        named = _names(_MENTION.findall(_INTRODUCTION.sub("", text)))
    return _only(named)


def _names(numbers: list[str]) -> set[str]:
    return {f"Player {_NUMBER_WORDS.get(number.lower(), number)}" for number in numbers}


def _only(found: set[str]) -> tuple[str | None, ParseStatus]:
    if len(found) == 1:
        return found.pop(), ParseStatus.OK
    return None, ParseStatus.AMBIGUOUS if found else ParseStatus.UNREADABLE


def stated_amount(text: str) -> float | None:
    """The number after `contribute` (or `contribution`), or the only number that there is."""
    if match := _STATED_AMOUNT.search(text):
        return float(match[1])
    numbers = _NUMBER.findall(text)
    return float(numbers[0].replace(",", "")) if len(numbers) == 1 else None


def share(text: str | None) -> tuple[float | None, ParseStatus]:
    """The fraction of the whole (0..1) that a share's text gives in percent.

    One number, a percent sign or none, a decimal comma allowed. Several numbers, or one that may
    be a thousand as well as a decimal, are ambiguous; no number, or more than all, is unreadable.
    """
    if text is None:
        return None, ParseStatus.UNREADABLE
    numbers = _NUMBER.findall(text)
    if not numbers:
        return None, ParseStatus.UNREADABLE
    if len(numbers) > 1 or not _SHARE_NUMBER.fullmatch(numbers[0]):
        return None, ParseStatus.AMBIGUOUS
    percent = float(numbers[0].replace(",", "."))
    if percent > 100:
        return None, ParseStatus.UNREADABLE
    return percent / 100, ParseStatus.OK


def stated_guess(text: str) -> tuple[str | None, ParseStatus]:
    """The word that a guess names, without quotes, and how surely it does."""
    if is_outage(text):
        return None, ParseStatus.OUTAGE
    found = {_bare(quoted or bare) for quoted, bare in _GUESS.findall(text)}
    if found:
        found |= {_bare(other) for other in _SECOND_GUESS.findall(text)}
    else:
        found = {_bare(quoted) for quoted in _QUOTED.findall(text)}
    found.discard("")
    return _only(found)


def _bare(word: str) -> str:
    return _REASON.sub("", word).strip(" \t\"“”'‘’.!").removesuffix("<eos>").strip()
