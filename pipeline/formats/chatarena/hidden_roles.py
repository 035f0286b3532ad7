"""Chameleon and Undercover, as MAgIC plays them in ChatArena: who hides the moderator's words say.

Each player is told alone that it is the chameleon, or is given a word. Votes are as the texts say
them, and the ending is the one that is announced.
"""

import re
from collections import Counter
from collections.abc import Mapping

from pipeline.formats.chatarena.talk import FORMAT, SYSTEM, Talk, lacking
from pipeline.formats.hidden_roles import (
    CHAMELEON,
    UNDERCOVER,
    Rules,
    guesses,
    messages,
    n_rounds,
    seats,
)
from pipeline.formats.players import models_of
from pipeline.game import GameRecord, JsonValue, Vote
from pipeline.vocabulary import Phase

# A word ends with its line, or with a sentence that another of several words follows. A title or an
# initial, as in "Dr. Martin Luther King", ends no sentence.
_NAMED = (
    r"\s*(.+?)\s{0,9}"
    r"(?:(?<!\b\w)(?<!\b(?:Dr|Mr|Ms|St))(?<!\bMrs)[.!](?:\s+[\w']+,?\s+\w.*|\s*)|\n.*|)\Z"
)
_TOPIC = re.compile(rf"The topic is:{_NAMED}", re.DOTALL)
_IS_CHAMELEON = re.compile(r"(You are the chameleon!)")
_CODE = re.compile(rf"You are not (?:the )?chameleon\. The word is:{_NAMED}", re.DOTALL)
_WORD = re.compile(rf"Your word is:{_NAMED}", re.DOTALL)
_VOTE = "Now vote which of the other players (excluding yourself) is the "
_ENDINGS_OF_CHAMELEON = {
    "guessed the code wrong": 0,
    "guessed the code correctly": 1,
    "The accusation is incorrect": 2,
    "There are even votes": 3,
    "There are even notes": 3,
}
_ENDINGS_OF_UNDERCOVER = {
    "The accusation is correct": 0,
    "The accusation is incorrect": 1,
    "There are even votes": 2,
    "There are even notes": 2,
}


def is_chameleon(sentence: str) -> bool:
    return bool(
        _IS_CHAMELEON.fullmatch(sentence)
        or _CODE.fullmatch(sentence)
        or sentence.startswith(f"{_VOTE}chameleon")
    )


def chameleon(talk: Talk, model: str | None, title: str) -> GameRecord:
    """The game; raises BrokenDocument where the roles or the word are not in it."""
    hidden = list(talk.by_player(_IS_CHAMELEON))
    if len(hidden) != 1:
        raise lacking(title, f"it tells {len(hidden)} players that they are the chameleon")
    word = talk.last(_CODE)
    if word is None:
        raise lacking(title, "it gives the word to nobody")
    topic, code = talk.last(_TOPIC), word[1].strip()
    players = talk.players([*hidden, *talk.by_player(_CODE)])
    setting: dict[str, JsonValue] = {"topic": topic[1].strip() if topic else None, "code": code}
    models = models_of(players, model)
    endings = _ENDINGS_OF_CHAMELEON
    built = _game(talk, CHAMELEON, hidden[0], models, setting=setting, endings=endings)
    built.guesses = guesses(built, CHAMELEON, code)
    return built


def is_undercover(sentence: str) -> bool:
    return bool(_WORD.fullmatch(sentence) or sentence.startswith(f"{_VOTE}undercover"))


def undercover(talk: Talk, model: str | None, title: str) -> GameRecord:
    """The game; raises BrokenDocument where the words do not say who the undercover is."""
    words = talk.by_player(_WORD)
    players = talk.players(words)
    if without := [player for player in players if player not in words]:
        raise lacking(title, f"it gives no word to {', '.join(without)[:200]}")
    counts = Counter(words.values()).most_common()
    if len(counts) != 2 or counts[1][1] != 1 or counts[0][1] == 1:
        what = f"it gives {len(words)} players {len(counts)} different words"
        raise lacking(title, f"{what}, and not all but one of them the same")
    civilian = counts[0][0]
    hidden = next(player for player, word in words.items() if word != civilian)
    setting: dict[str, JsonValue] = {"undercover_code": words[hidden], "civilian_code": civilian}
    models = models_of(players, model)
    endings = _ENDINGS_OF_UNDERCOVER
    return _game(talk, UNDERCOVER, hidden, models, setting=setting, endings=endings)


def _game(
    talk: Talk,
    rules: Rules,
    hidden: str,
    models: dict[str, str | None],
    *,
    setting: dict[str, JsonValue],
    endings: Mapping[str, int],
) -> GameRecord:
    """The game without its results. All of its players are under test."""
    spoken = messages(rules, talk.history, models)
    course, flag = spoken.course, talk.ending(endings)
    outcome = rules.outcome(flag)
    return GameRecord(
        game_type=rules.kind.name,
        system=SYSTEM,
        format=FORMAT,
        setting={**setting, "hidden": hidden},
        is_repeatable=True,
        is_finished=outcome is not None,
        outcome=outcome,
        outcome_code=flag,
        n_rounds=n_rounds(rules, course),
        seats=seats(rules, hidden, models, set(models)),
        messages=spoken,
        votes=[
            Vote(course.seat[index] or 0, course.round[index] or 1, index, None, is_logged=False)
            for index in course.said(Phase.VOTE)
        ],
    )
