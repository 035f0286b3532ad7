"""Undercover, as MAgIC plays it in ChatArena: each player is given a word, one of them another."""

import re
from collections import Counter

from pipeline.formats import hidden_roles
from pipeline.formats.chatarena import hidden_role
from pipeline.formats.chatarena.talk import Talk, lacking
from pipeline.formats.given import models_of
from pipeline.game import GameRecord, JsonValue

TITLE = "Undercover"

_WORD = re.compile(r"Your word is: (.*)", re.DOTALL)
_VOTE = "Now vote which of the other players (excluding yourself) is the undercover"
_ENDINGS = {
    "The accusation is correct": 0,
    "The accusation is incorrect": 1,
    "There are even votes": 2,
    "There are even notes": 2,
}


def claims(sentence: str) -> bool:
    return bool(_WORD.fullmatch(sentence) or sentence.startswith(_VOTE))


def game(talk: Talk, model: str | None) -> GameRecord:
    """The game; raises BrokenDocument where the words do not say who the undercover is."""
    words = talk.by_player(_WORD)
    players = talk.players(words)
    if without := [player for player in players if player not in words]:
        raise lacking(TITLE, f"it gives no word to {', '.join(without)[:200]}")
    counts = Counter(words.values()).most_common()
    if len(counts) != 2 or counts[1][1] != 1 or counts[0][1] == 1:
        what = f"it gives {len(words)} players {len(counts)} different words"
        raise lacking(TITLE, f"{what}, and not all but one of them the same")
    civilian = counts[0][0]
    hidden = next(player for player, word in words.items() if word != civilian)
    rules, flag = hidden_roles.UNDERCOVER, talk.ending(_ENDINGS)
    seats = hidden_roles.seats(rules, hidden, models_of(players, model), set(players))
    setting: dict[str, JsonValue] = {
        "undercover_code": words[hidden],
        "civilian_code": civilian,
        "hidden": hidden,
    }
    return hidden_role.game(talk, rules, seats, setting, flag)
