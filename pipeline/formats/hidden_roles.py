"""What games with a hidden role share: phases of messages, seats, guesses, and a werewolf builder.

Chameleon and Undercover are played in the same way: clues, an accusation, and in Chameleon a last
guess by the player who was caught. `WerewolfGameBuilder` is for the formats of werewolf games.
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
    LoggedColumns,
    LoggedMessage,
    PromptedPhases,
    Timeline,
    build_messages,
    find_target,
    means_nobody,
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
from pipeline.games.other_games import WEREWOLF as WEREWOLF_DEFINITION
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

# A guess is parsed while its document is decoded, because few games have one, and because its
# patterns use lookahead, which polars does not support. The patterns are bounded, because a guess
# is a word or two and no text may make the search slow.
_QUOTED = re.compile(r"[\"“”'‘’]([^\"“”\n]{1,80}?)[\"“”'‘’](?!\w)")
_GUESS = re.compile(
    r"\b(?:code|word)\b[^\"“'‘\n]{0,40}?\b(?:is|be|was)\b:?\s{0,8}"
    r"(?:[\"“'‘]([^\"”\n]{1,80}?)(?:[\"”]|['’](?!\w)|[.!]?\s{0,8}$)|([^\"“\n.!,]{1,80}))",
    re.IGNORECASE | re.MULTILINE,
)
_SECOND_GUESS = re.compile(r"\bor\s{0,8}[\"“'‘]([^\"”\n]{1,80}?)[\"”'’]", re.IGNORECASE)
_REASON = re.compile(r"(?<!\s)\s+(?:because|since|as)\b.*", re.IGNORECASE)


class HiddenRoleRules(Struct, frozen=True, eq=False):
    """The rules in which Chameleon and Undercover differ.

    Attributes:
        kind: The definition of the game.
        hidden_role: The name of the hidden role.
        civilian_role: The name of the other role.
        outcomes: The outcomes, indexed by the log's `win_flag` from 0.
        every_clue_is_a_round: Whether each clue opens a round; otherwise each player's n-th clue
            belongs to round n.
    """

    kind: GameDefinition
    hidden_role: str
    civilian_role: str
    outcomes: tuple[str, ...]
    every_clue_is_a_round: bool

    def outcome_of_flag(self, flag: int | None) -> str | None:
        """Return the outcome for a log's `win_flag`; None if no game ends with this flag."""
        return None if flag is None or not 0 <= flag < len(self.outcomes) else self.outcomes[flag]


CHAMELEON = HiddenRoleRules(
    magic_games.CHAMELEON,
    hidden_role="chameleon",
    civilian_role="non_chameleon",
    outcomes=("guessed_wrong", "guessed_right", "voted_wrong", "tie"),
    every_clue_is_a_round=True,
)
UNDERCOVER = HiddenRoleRules(
    magic_games.UNDERCOVER,
    hidden_role="undercover",
    civilian_role="civilian",
    outcomes=("caught", "voted_wrong", "tie"),
    every_clue_is_a_round=False,
)
GUESS_FLAGS = {0: False, 1: True}


def messages_with_phases(
    rules: HiddenRoleRules, logged: LoggedColumns, seats: Iterable[str]
) -> Messages:
    """Return the messages of a game with phases from the moderator's prompts and rounds from clues.

    Args:
        rules: The rules of the game.
        logged: The logged rows, by column.
        seats: The players in the order of their seats.
    """
    return record_builder.messages_from_rows(
        logged, seats, _TIMELINE_BUILDERS[rules.every_clue_is_a_round], _PROMPTS
    )


def _phase_and_round_of_each_row(
    logged: LoggedColumns, prompted_phases: PromptedPhases, *, every_clue_is_a_round: bool
) -> Timeline:
    """Return the phase and round of each logged row.

    Plain logs give every answer the type `text`, so the moderator's prompts tell them apart. In
    Chameleon each clue opens a round, in Undercover each player's n-th clue belongs to round n. In
    every other phase a player's n-th answer also belongs to round n.
    """
    prompts = iter(prompted_phases)
    prompted_phase, clue_round = Phase.CLUE, 0
    n_answers: Counter[tuple[Phase, str]] = Counter()
    timeline = Timeline([], [])
    for player, msg_type in zip(logged.player, logged.msg_type, strict=True):
        round_: int | None = None
        if player == MODERATOR:
            phase = Phase.MODERATION
            prompted_phase = next(prompts) or prompted_phase
        elif (phase := _PHASE_OF_TYPE.get(msg_type, prompted_phase)) is Phase.REFLECTION:
            round_ = clue_round or None
        else:
            n_answers[phase, player] += 1
            round_ = n_answers[phase, player]
            if phase is Phase.CLUE:
                clue_round = round_ = clue_round + 1 if every_clue_is_a_round else round_
        timeline.phase.append(phase)
        timeline.round.append(round_)
    return timeline


# Created once, because the cache of message columns uses the timeline function as a key.
_TIMELINE_BUILDERS = {
    by_clue: partial(_phase_and_round_of_each_row, every_clue_is_a_round=by_clue)
    for by_clue in (True, False)
}


def n_clue_rounds(rules: HiddenRoleRules, course: MessageColumns) -> int:
    """Return the number of rounds of clues that began.

    Args:
        rules: The rules of the game.
        course: The messages of the game, by column.
    """
    n_clues = [len(clues) for clues in course.message_indices_by_player(Phase.CLUE).values()]
    return sum(n_clues) if rules.every_clue_is_a_round else max(n_clues, default=0)


def build_seats(
    rules: HiddenRoleRules, hidden: str, models: dict[str, str | None], tested: set[str]
) -> list[Seat]:
    """Return the seats of a game in the order of `models`.

    Args:
        rules: The rules of the game.
        hidden: The player who has the hidden role.
        models: The model of each player.
        tested: The players whose models are tested.
    """
    return [
        Seat(
            player=player,
            model=model,
            role=rules.hidden_role if player == hidden else rules.civilian_role,
            is_tested=player in tested,
        )
        for player, model in models.items()
    ]


def build_guesses(game: GameRecord, rules: HiddenRoleRules, secret: str) -> list[Guess]:
    """Return the guess of the caught player as a list; empty if the game did not end with a guess.

    Args:
        game: The game with its seats, messages and outcome code, which says if the guess was right.
        rules: The rules of the game.
        secret: The secret word.
    """
    if game.outcome_code not in GUESS_FLAGS:
        return []
    is_correct = GUESS_FLAGS[game.outcome_code]
    hidden, name = next(
        (number, seat.player)
        for number, seat in enumerate(game.seats, start=1)
        if seat.role == rules.hidden_role
    )
    indices = game.messages.course.message_indices_by_player(Phase.GUESS).get(name, ())
    index = indices[-1] if indices else None
    word, status = None, ParseStatus.UNREADABLE
    if index is not None:
        word, status = parse_guessed_word(game.messages.content[index])
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


def parse_guessed_word(text: str) -> tuple[str | None, ParseStatus]:
    """Parse the one word that an answer guesses.

    Args:
        text: The answer of the caught player.

    Returns:
        The word without quotes, or None, and the parse status: `ambiguous` if the text names
        several words, `unreadable` if it names none, and `outage` if the model failed to answer.
    """
    if text.startswith(OUTAGE_MARK):
        return None, ParseStatus.OUTAGE
    text = remove_thoughts(text, Phase.GUESS)
    words = {_strip_reason_and_quotes(quoted or bare) for quoted, bare in _GUESS.findall(text)}
    if words:
        words |= {
            _strip_reason_and_quotes(second_word) for second_word in _SECOND_GUESS.findall(text)
        }
    else:
        words = {_strip_reason_and_quotes(quoted) for quoted in _QUOTED.findall(text)}
    words.discard("")
    if len(words) == 1:
        return words.pop(), ParseStatus.OK
    return None, ParseStatus.AMBIGUOUS if words else ParseStatus.UNREADABLE


def _strip_reason_and_quotes(word: str) -> str:
    """Return a guessed word without a reason that follows it, quotes and punctuation."""
    return _REASON.sub("", word).strip(" \t\"“”'‘’.!").removesuffix("<eos>").strip()


# In a game of werewolf a day is a round. The night after day d belongs to round d, and the first
# night to round 0.

# The number is limited, because whispers and attacks are stored for each werewolf. The largest
# known games have 15 players.
MAX_WEREWOLF_PLAYERS = 25
MAX_DAYS = 1_000
WEREWOLF = "werewolf"
TALK, WHISPER = "talk", "whisper"
EXECUTED, ATTACKED = "vote", "attack"


class WerewolfGameBuilder:
    """Collects what happens in a game of werewolf, day by day, and builds the game record from it.

    Attributes:
        seats: The seats of the game.
        faults: The faults found so far.
        eliminations: The eliminations added so far.
        abilities: The uses of abilities added so far.
    """

    def __init__(self, seats: list[Seat]) -> None:
        self.seats = seats
        self.faults: list[RecordError] = []
        self.eliminations: list[Elimination] = []
        self.abilities: list[Ability] = []
        self._known = {seat.player: seat.player for seat in seats}
        self._numbers = {seat.player: number for number, seat in enumerate(seats, start=1)}
        self._roles = {seat.player: seat.role for seat in seats}
        self._living = dict.fromkeys(self._numbers)
        self._spoken: list[LoggedMessage] = []
        self._votes: dict[tuple[int, str], Vote] = {}
        self._attacked: set[int] = set()
        self._n_used: dict[tuple[int, str], int] = {}

    def is_in_game(self, player: str) -> bool:
        """Return whether the player has not left the game yet."""
        return player in self._living

    def is_player(self, player: str, json_path: str) -> bool:
        """Return whether the name is a player's; add a fault at the JSON path if not."""
        if player not in self._roles:
            self.faults.append(
                RecordError(json_path, "whoever acts is a player", repr(player[:50]))
            )
        return player in self._roles

    def role(self, player: str) -> str | None:
        """Return the role of a player; None for a name that is not a player's."""
        return self._roles.get(player)

    def target(self, value: object, json_path: str) -> str | None:
        """Return the target player of an action; None for nobody or an unknown name."""
        return find_target(value, self._known, json_path, self.faults)

    def somebody(self, name: str | None) -> str | None:
        """Return the name, or None if it is a word for nobody and no player has it."""
        return None if name not in self._roles and means_nobody(name) else name

    def living(self, role: str) -> tuple[str, ...]:
        """Return the players with this role who are still in the game."""
        return tuple(player for player in self._living if self._roles[player] == role)

    def add_message(
        self, player: str, text: str, day: int, turn: int | None = None, *, is_whisper: bool = False
    ) -> None:
        """Add a message to all players, or a whisper that only the living werewolves hear."""
        phase, audience = (WHISPER, self.living(WEREWOLF)) if is_whisper else (TALK, EVERYONE)
        self._spoken.append(LoggedMessage(player, text, phase, day, audience, turn))

    def vote(self, player: str, target: str | None, day: int) -> None:
        """Add a player's vote, which replaces the player's earlier vote of the same day."""
        self._votes[day, player] = Vote(self._numbers[player], day, None, target)

    def use(
        self, player: str, ability: str, target: str | None, day: int, finding: str | None = None
    ) -> None:
        """Add the use of an ability, with what the player learnt from it."""
        number = self._n_used[day, player] = self._n_used.get((day, player), 0) + 1
        seat = self._numbers[player]
        self.abilities.append(Ability(seat, day, None, number, ability, target, finding))

    def attack(self, target: str, day: int, json_path: str) -> None:
        """Add an attack on a player by all living werewolves; raise if it is the night's second."""
        if day in self._attacked:
            raise invalid_document_error(
                json_path, "the werewolves attack once a night", repr(target[:50])
            )
        self._attacked.add(day)
        attacked = self.target(target, json_path)
        for wolf in self.living(WEREWOLF):
            self.use(wolf, "attack", attacked, day)

    def eliminate(self, player: str, day: int, cause: str, json_path: str) -> None:
        """Remove a player from the game; raise an error if the player is not in it."""
        if player not in self._living:
            raise invalid_document_error(
                json_path, "whoever leaves the game is still in it", repr(player[:50])
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
        """Build the game record, which is finished if it has an outcome.

        Args:
            system: The name of the system, which is also the name of the format.
            outcome: How the game ended; None if it did not end.
            n_rounds: The number of rounds.
            setting: Further entries of the setting, after the number of players in each role.
            ended_by: Why the game stopped, if it was stopped.

        Returns:
            The game record.
        """
        roles = [seat.role for seat in self.seats]
        composition: JsonValue = {role: roles.count(role) for role in sorted(set(roles))}
        return GameRecord(
            game_type=WEREWOLF_DEFINITION.name,
            system=system,
            format=system,
            setting={"roles": composition, **(setting or {})},
            is_finished=outcome is not None,
            outcome=outcome,
            ended_by=ended_by,
            n_rounds=n_rounds,
            seats=self.seats,
            messages=build_messages(self._spoken, self.seats),
            votes=list(self._votes.values()),
            abilities=self.abilities,
            eliminations=self.eliminations,
            faults=self.faults,
        )


def parse_werewolf_role(word: str, json_path: str) -> str:
    """Return the name of the werewolf role that a word of the log means.

    Args:
        word: The word of the log, in any case.
        json_path: The JSON path of the word.

    Raises:
        InvalidDocumentError: If the word is not the name of a role.
    """
    role = WEREWOLF_DEFINITION.role(word.lower())
    if role is None:
        rule = f"a role is one of {', '.join(role_.name for role_ in WEREWOLF_DEFINITION.roles)}"
        raise invalid_document_error(json_path, rule, repr(word[:50]))
    return role.name
