"""Chameleon: the moderator says who does not know the word, and whether the accusation is right."""

import re

from pipeline.formats import hidden_roles
from pipeline.formats.chatarena import hidden_role
from pipeline.formats.chatarena.talk import Talk, lacking
from pipeline.formats.given import models_of
from pipeline.game import GameRecord, JsonValue

TITLE = "Chameleon"

_TOPIC = re.compile(r"The topic is: (.*)")
_IS_CHAMELEON = re.compile(r"(You are the chameleon!)")
_WORD = re.compile(r"You are not (?:the )?chameleon\. The word is: (.*)", re.DOTALL)
_VOTE = "Now vote which of the other players (excluding yourself) is the chameleon"
_ENDINGS = {
    "guessed the code wrong": 0,
    "guessed the code correctly": 1,
    "The accusation is incorrect": 2,
    "There are even votes": 3,
    "There are even notes": 3,
}


def claims(sentence: str) -> bool:
    return bool(
        _IS_CHAMELEON.fullmatch(sentence) or _WORD.fullmatch(sentence) or sentence.startswith(_VOTE)
    )


def game(talk: Talk, model: str | None) -> GameRecord:
    """The game; raises BrokenDocument where the roles or the word are not in it."""
    hidden = list(talk.by_player(_IS_CHAMELEON))
    words = talk.by_player(_WORD)
    if len(hidden) != 1:
        raise lacking(TITLE, f"it tells {len(hidden)} players that they are the chameleon")
    word = talk.last(_WORD)
    if word is None:
        raise lacking(TITLE, "it gives the word to nobody")
    topic, code = talk.last(_TOPIC), word[1].strip()
    players = talk.players([*hidden, *words])
    rules, flag = hidden_roles.CHAMELEON, talk.ending(_ENDINGS)
    seats = hidden_roles.seats(rules, hidden[0], models_of(players, model), set(players))
    setting: dict[str, JsonValue] = {
        "topic": topic[1].strip() if topic else None,
        "code": code,
        "hidden": hidden[0],
    }
    built = hidden_role.game(talk, rules, seats, setting, flag)
    built.guesses = hidden_roles.guesses(built, rules, code)
    return built
