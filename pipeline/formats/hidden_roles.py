"""What games with a hidden role share: the phases of their messages, and what an outcome is worth.

Chameleon and Undercover are played the same way: clues, an accusation, and in Chameleon a last
guess by the one who was caught.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial

from msgspec import Struct

from pipeline.formats import record_builder
from pipeline.formats.record_builder import (
    EVERYONE,
    MODERATOR,
    History,
    Prompted,
    Spoken,
    Timeline,
    is_nobody,
    messages as building_messages,
    target,
)
from pipeline.formats.sniffer import invalid_document_error
from pipeline.game_record import (
    OUTAGE_MARK,
    Ability,
    Elimination,
    GameRecord,
    Guess,
    JsonValue,
    MessageColumns,
    Messages,
    RecordError,
    Seat,
    Vote,
)
from pipeline.games import GameDefinition, magic_games
from pipeline.games.other_games import WEREWOLF as KIND
from pipeline.thinking_text import remove_thoughts
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

    kind: GameDefinition
    hidden_role: str
    civilian_role: str
    outcomes: tuple[str, ...]
    every_clue_is_a_round: bool

    def outcome_of_flag(self, flag: int | None) -> str | None:
        """How a game with this flag ended, None if none ends so."""
        return None if flag is None or not 0 <= flag < len(self.outcomes) else self.outcomes[flag]


CHAMELEON = Rules(
    magic_games.CHAMELEON,
    hidden_role="chameleon",
    civilian_role="non_chameleon",
    outcomes=("guessed_wrong", "guessed_right", "voted_wrong", "tie"),
    every_clue_is_a_round=True,
)
UNDERCOVER = Rules(
    magic_games.UNDERCOVER,
    hidden_role="undercover",
    civilian_role="civilian",
    outcomes=("caught", "voted_wrong", "tie"),
    every_clue_is_a_round=False,
)
GUESS_FLAGS = {0: False, 1: True}


def messages(rules: Rules, logged: History, seats: Iterable[str]) -> Messages:
    """The rows as messages: the moderator's prompts move the game on, and rounds are of clues."""
    return record_builder.row_messages(
        logged, seats, _TIMELINES[rules.every_clue_is_a_round], _PROMPTS
    )


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


def n_rounds(rules: Rules, course: MessageColumns) -> int:
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
    text = remove_thoughts(text, Phase.GUESS)
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


# What happens in a game of werewolf, day by day, as any format tells it, made into a game.
#
# A day is a round; the night after day d belongs to round d, and the first night to round 0.

# Whispers and attacks are stored for each werewolf. The largest games known have 15 players.
MOST_PLAYERS = 25
MOST_DAYS = 1_000
WEREWOLF = "werewolf"
TALK, WHISPER = "talk", "whisper"
EXECUTED, ATTACKED = "vote", "attack"


class Village:
    """The players of a game, who of them is still in it, and all that they did so far."""

    def __init__(self, seats: list[Seat]) -> None:
        self.seats = seats
        self.faults: list[RecordError] = []
        self.eliminations: list[Elimination] = []
        self.abilities: list[Ability] = []
        self._known = {seat.player: seat.player for seat in seats}
        self._numbers = {seat.player: number for number, seat in enumerate(seats, start=1)}
        self._roles = {seat.player: seat.role for seat in seats}
        self._living = dict.fromkeys(self._numbers)
        self._spoken: list[Spoken] = []
        self._votes: dict[tuple[int, str], Vote] = {}
        self._attacked: set[int] = set()
        self._n_used: dict[tuple[int, str], int] = {}

    def is_in_game(self, player: str) -> bool:
        """Whether a player is still in the game."""
        return player in self._living

    def is_player(self, player: str, at: str) -> bool:
        """Whether whoever acts is a player; if not, it is a fault, `at` where the log says so."""
        if player not in self._roles:
            self.faults.append(RecordError(at, "whoever acts is a player", repr(player[:50])))
        return player in self._roles

    def role(self, player: str) -> str | None:
        """The role of a player, None for who is none."""
        return self._roles.get(player)

    def target(self, value: object, at: str) -> str | None:
        """The player at whom an act is aimed; None for nobody, with a fault where it is no name."""
        return target(value, self._known, at, self.faults)

    def somebody(self, name: str | None) -> str | None:
        """A name, null where it is a word for nobody and no player is called so."""
        return None if name not in self._roles and is_nobody(name) else name

    def living(self, role: str) -> tuple[str, ...]:
        """The players of a role who are still in the game."""
        return tuple(player for player in self._living if self._roles[player] == role)

    def add_message(
        self, player: str, text: str, day: int, turn: int | None = None, *, is_whisper: bool = False
    ) -> None:
        """Adds what a player says to all, or whispers: then the living werewolves hear it."""
        phase, heard_by = (WHISPER, self.living(WEREWOLF)) if is_whisper else (TALK, EVERYONE)
        self._spoken.append(Spoken(player, text, phase, day, heard_by, turn))

    def vote(self, player: str, target: str | None, day: int) -> None:
        """Adds a vote, in place of the player's vote before if a tie is voted on again."""
        self._votes[day, player] = Vote(self._numbers[player], day, None, target)

    def use(
        self, player: str, kind: str, target: str | None, day: int, finding: str | None = None
    ) -> None:
        """Adds the use of an ability, and what the player learnt by it."""
        number = self._n_used[day, player] = self._n_used.get((day, player), 0) + 1
        seat = self._numbers[player]
        self.abilities.append(Ability(seat, day, None, number, kind, target, finding))

    def attack(self, target: str, day: int, at: str) -> None:
        """Adds an attack on a player, which is that of all living werewolves."""
        if day in self._attacked:
            raise invalid_document_error(
                at, "the werewolves attack once a night", repr(target[:50])
            )
        self._attacked.add(day)
        attacked = self.target(target, at)
        for wolf in self.living(WEREWOLF):
            self.use(wolf, "attack", attacked, day)

    def eliminate(self, player: str, day: int, cause: str, at: str) -> None:
        """Takes a player out of the game; raises BrokenDocument where it is not in it."""
        if player not in self._living:
            raise invalid_document_error(
                at, "whoever leaves the game is still in it", repr(player[:50])
            )
        self.eliminations.append(Elimination(self._numbers[player], day, None, cause))
        del self._living[player]

    def build_game(
        self,
        system: str,
        *,
        outcome: str | None,
        n_rounds: int,
        setting: Mapping[str, JsonValue] | None = None,
        ended_by: str | None = None,
    ) -> GameRecord:
        """The game, finished if it has an outcome; the format is called as its system.

        Its setting begins with how many players have each role.
        """
        roles = [seat.role for seat in self.seats]
        composition: JsonValue = {role: roles.count(role) for role in sorted(set(roles))}
        return GameRecord(
            game_type=KIND.name,
            system=system,
            format=system,
            setting={"roles": composition, **(setting or {})},
            is_finished=outcome is not None,
            outcome=outcome,
            ended_by=ended_by,
            n_rounds=n_rounds,
            seats=self.seats,
            messages=building_messages(self._spoken, self.seats),
            votes=list(self._votes.values()),
            abilities=self.abilities,
            eliminations=self.eliminations,
            faults=self.faults,
        )


def role_of(word: str, at: str) -> str:
    """The role that a log's word at a path stands for; raises BrokenDocument for another word."""
    role = KIND.role(word.lower())
    if role is None:
        rule = f"a role is one of {', '.join(known.name for known in KIND.roles)}"
        raise invalid_document_error(at, rule, repr(word[:50]))
    return role.name
