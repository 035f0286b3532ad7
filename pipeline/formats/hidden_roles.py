"""What games with a hidden role share: the phases of their messages, and what an outcome is worth.

Chameleon and Undercover are played the same way: clues, an accusation, and in Chameleon a last
guess by the one who was caught.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import partial

from msgspec import Struct

from pipeline.formats import rows
from pipeline.formats.rows import MODERATOR, History, Prompted, Timeline
from pipeline.game import OUTAGE_MARK, Course, GameRecord, Guess, Messages, Seat
from pipeline.games import chameleon, undercover
from pipeline.games.kind import GameKind
from pipeline.thoughts import answer
from pipeline.vocabulary import ParseStatus, Phase

_PHASE_OF_TYPE: dict[str | None, Phase] = {
    "clue": Phase.CLUE,
    "metric_consistency": Phase.IDENTIFICATION,
    "metric_pgm": Phase.ANALYSIS,
    "pgm": Phase.REFLECTION,
    "accuse": Phase.VOTE,
    "guess": Phase.GUESS,
}
_PROMPTS = {"Now vote": Phase.VOTE, "can guess": Phase.GUESS}

# A guess is read while its document is decoded, since few games have one, and its patterns look
# ahead, which the engine of polars cannot. They are bounded, so that no text makes a search slow: a
# guess is a word or two.
_QUOTED = re.compile(r"[\"“”'‘’]([^\"“”\n]{1,80}?)[\"“”'‘’](?!\w)")
_GUESS = re.compile(
    r"\b(?:code|word)\b[^\"“'‘\n]{0,40}?\b(?:is|be|was)\b:?\s{0,8}"
    r"(?:[\"“'‘]([^\"”\n]{1,80}?)(?:[\"”]|['’](?!\w)|[.!]?\s{0,8}$)|([^\"“\n.!,]{1,80}))",
    re.IGNORECASE | re.MULTILINE,
)
_SECOND_GUESS = re.compile(r"\bor\s{0,8}[\"“'‘]([^\"”\n]{1,80}?)[\"”'’]", re.IGNORECASE)
_REASON = re.compile(r"(?<!\s)\s+(?:because|since|as)\b.*", re.IGNORECASE)


class Rules(Struct, frozen=True, eq=False):
    """What differs between the games. `outcomes` are by the log's `win_flag`, from 0."""

    kind: GameKind
    hidden_role: str
    civilian_role: str
    outcomes: tuple[str, ...]
    every_clue_is_a_round: bool

    def outcome(self, flag: int | None) -> str | None:
        """How a game with this flag ended, None if none ends so."""
        return None if flag is None or not 0 <= flag < len(self.outcomes) else self.outcomes[flag]


CHAMELEON = Rules(
    chameleon.KIND,
    hidden_role="chameleon",
    civilian_role="non_chameleon",
    outcomes=("guessed_wrong", "guessed_right", "voted_wrong", "tie"),
    every_clue_is_a_round=True,
)
UNDERCOVER = Rules(
    undercover.KIND,
    hidden_role="undercover",
    civilian_role="civilian",
    outcomes=("caught", "voted_wrong", "tie"),
    every_clue_is_a_round=False,
)
GUESS_FLAGS = {0: False, 1: True}


def messages(rules: Rules, logged: History, seats: Iterable[str]) -> Messages:
    """The rows as messages: the moderator's prompts move the game on, and rounds are of clues."""
    return rows.messages(logged, seats, _TIMELINES[rules.every_clue_is_a_round], _PROMPTS)


def _timeline(logged: History, prompted: Prompted, *, every_clue_is_a_round: bool) -> Timeline:
    """Each row's phase and round.

    Plain logs call every answer `text`, so that the moderator's prompts tell them apart. In
    Chameleon each clue opens a round of questions, in Undercover each player's clue of its own;
    elsewhere a player's n-th answer in a phase is that of round n.
    """
    prompts = iter(prompted)
    asked_for, clue_round = Phase.CLUE, 0
    n_answers: Counter[tuple[Phase, str]] = Counter()
    timeline = Timeline([], [])
    for player, msg_type in zip(logged.player, logged.msg_type, strict=True):
        round_: int | None = None
        if player == MODERATOR:
            phase = Phase.MODERATION
            asked_for = next(prompts) or asked_for
        elif (phase := _PHASE_OF_TYPE.get(msg_type, asked_for)) is Phase.REFLECTION:
            round_ = clue_round or None
        else:
            n_answers[phase, player] += 1
            round_ = n_answers[phase, player]
            if phase is Phase.CLUE:
                clue_round = round_ = clue_round + 1 if every_clue_is_a_round else round_
        timeline.phase.append(phase)
        timeline.round.append(round_)
    return timeline


# Named, since a course is known by what placed it.
_TIMELINES = {
    by_clue: partial(_timeline, every_clue_is_a_round=by_clue) for by_clue in (True, False)
}


def n_rounds(rules: Rules, course: Course) -> int:
    """The number of rounds of clues that were begun."""
    n_clues = [len(clues) for clues in course.answered(Phase.CLUE).values()]
    return sum(n_clues) if rules.every_clue_is_a_round else max(n_clues, default=0)


def seats(rules: Rules, hidden: str, models: dict[str, str | None], tested: set[str]) -> list[Seat]:
    """The seats in the order of `models`; the player `hidden` has the hidden role."""
    return [
        Seat(
            player=player,
            model=model,
            role=rules.hidden_role if player == hidden else rules.civilian_role,
            is_tested=player in tested,
        )
        for player, model in models.items()
    ]


def guesses(game: GameRecord, rules: Rules, secret: str) -> list[Guess]:
    """The guess of the one who was caught; whether it was right is the game's word, not ours.

    What another player says in answer to that prompt is not it.
    """
    if game.outcome_code not in GUESS_FLAGS:
        return []
    is_correct = GUESS_FLAGS[game.outcome_code]
    hidden, name = next(
        (number, seat.player)
        for number, seat in enumerate(game.seats, start=1)
        if seat.role == rules.hidden_role
    )
    indices = game.messages.course.answered(Phase.GUESS).get(name, ())
    index = indices[-1] if indices else None
    word, status = None, ParseStatus.UNREADABLE
    if index is not None:
        word, status = stated_guess(game.messages.content[index])
    return [
        Guess(
            seat=hidden,
            round=1,
            message_index=index,
            parse_status=status,
            guess=word,
            secret=secret,
            is_correct=is_correct,
        )
    ]


def stated_guess(text: str) -> tuple[str | None, ParseStatus]:
    """The word that a guess names, without quotes, and how clearly it does.

    Strict: a text that names two is `ambiguous`, one that names none `unreadable`.
    """
    if text.startswith(OUTAGE_MARK):
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
