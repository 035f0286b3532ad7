"""ChatArena transcripts: a bare JSON list of message rows, of the game Chameleon.

Roles, word, votes, guess and outcome are all in the rows; the model is not, so whoever ingests
them has to name it. Every seat is tested.
"""

import re

import msgspec

from pipeline.formats import hidden_roles
from pipeline.formats.answers import player_number
from pipeline.formats.broken import broken, decode
from pipeline.formats.look import Look
from pipeline.formats.players import check_players
from pipeline.formats.rows import MODERATOR, History, Row, history
from pipeline.game import Game, Vote
from pipeline.vocabulary import GameType, Phase

NAME = "chatarena"
SYSTEM = "chatarena"
VERSION = "1"
NAMES_MODELS = False

_TOPIC = re.compile(r"The topic is: (.*)")
_WORD = re.compile(r"You are not (?:the )?chameleon\. The word is: (.*)")
_IS_CHAMELEON = "You are the chameleon!"
_ENDINGS = {
    "guessed the code wrong": 0,
    "guessed the code correctly": 1,
    "The accusation is incorrect": 2,
    "There are even votes": 3,
}
_ROWS = msgspec.json.Decoder(list[Row])


def claims(look: Look) -> bool:
    return look.first == "[" and "agent_name" in look.keys


def read(look: Look, model: str | None) -> Game:
    """The game in a list of message rows."""
    logged = history(decode(_ROWS, look.data))
    hidden, word, topic = _roles(logged)
    speakers = set(logged.player) - {MODERATOR}
    players = sorted(speakers | {hidden}, key=lambda name: (player_number(name) or 0, name))
    check_players(players, "$")
    seats = hidden_roles.seats(
        hidden_roles.CHAMELEON, hidden, dict.fromkeys(players, model), set(players)
    )
    spoken = hidden_roles.messages(hidden_roles.CHAMELEON, logged, players)
    course = spoken.course
    flag = _win_flag(logged)
    outcome = hidden_roles.CHAMELEON.outcome(flag)
    game = Game(
        game_type=GameType.CHAMELEON,
        system=SYSTEM,
        format=NAME,
        format_version=VERSION,
        setting={"topic": topic, "code": word, "hidden": hidden},
        is_repeatable=True,
        is_finished=outcome is not None,
        outcome=outcome,
        outcome_code=flag,
        n_rounds=hidden_roles.n_rounds(hidden_roles.CHAMELEON, course),
        seats=seats,
        messages=spoken,
    )
    game.votes = [
        Vote(course.seat[index] or 0, course.round[index] or 1, index, None, is_logged=False)
        for index in course.said(Phase.VOTE)
    ]
    game.guesses = hidden_roles.guesses(game, hidden_roles.CHAMELEON, word)
    game.results = hidden_roles.results(game, hidden_roles.CHAMELEON)
    return game


def _roles(logged: History) -> tuple[str, str, str | None]:
    """Who the chameleon is, the secret word, and the topic, as the moderator named them."""
    hidden = word = topic = None
    for player, text, visible_to in zip(
        logged.player, logged.content, logged.visible_to, strict=True
    ):
        if player != MODERATOR:
            continue
        if text == _IS_CHAMELEON and isinstance(visible_to, str):
            hidden = visible_to
        if found := _WORD.match(text):
            word = found[1].strip()
        if found := _TOPIC.search(text):
            topic = found[1].strip()
    if hidden is None or word is None:
        raise broken(
            "$",
            "the moderator says to one player that it is the chameleon, and gives the others "
            "the word",
            f"no such rows among {len(logged.player)}",
        )
    return hidden, word, topic


def _win_flag(logged: History) -> int | None:
    for player, text in zip(reversed(logged.player), reversed(logged.content), strict=True):
        if player == MODERATOR:
            for words, flag in _ENDINGS.items():
                if words in text:
                    return flag
    return None
