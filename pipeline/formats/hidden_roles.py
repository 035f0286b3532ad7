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
    find_target_or_add_fault,
    is_word_for_nobody,
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
    """The rules of a game with a hidden role in which Chameleon and Undercover differ.

    Attributes:
        kind: The definition of the game.
        hidden_role: The name of the hidden role.
        civilian_role: The name of the other role.
        outcomes: The outcome for each value of the log's `win_flag`, from 0.
        every_clue_is_a_round: Whether each clue opens a round; otherwise each player's n-th clue
            belongs to round n.
    """

    definition: GameDefinition
    hidden_role: str
    civilian_role: str
    outcomes: tuple[str, ...]
    every_clue_is_a_round: bool

    def outcome_of_win_flag(self, win_flag: int | None) -> str | None:
        """Return the outcome that a log's `win_flag` means; None for a missing or unknown flag."""
        return dict(enumerate(self.outcomes)).get(-1 if win_flag is None else win_flag)


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


def build_hidden_role_messages(
    rules: HiddenRoleRules, logged_columns: LoggedColumns, players: Iterable[str]
) -> Messages:
    """Build the messages of a Chameleon or Undercover game, with the phase and round of each.

    The moderator's prompts begin the phases, and the clues are counted to number the rounds.

    Args:
        rules: The rules of the game.
        logged_columns: The logged messages, by column.
        players: The players in the order of their seats.
    """
    return record_builder.build_messages_from_columns(
        logged_columns, players, _TIMELINE_BUILDERS[rules.every_clue_is_a_round], _PROMPTS
    )


def _phase_and_round_of_each_row(
    logged_columns: LoggedColumns, prompted_phases: PromptedPhases, *, every_clue_is_a_round: bool
) -> Timeline:
    """Return the phase and round of each logged message.

    Plain logs give every answer the type `text`, so the moderator's last prompt decides its phase.
    In Chameleon each clue begins a round. In Undercover, and in all other phases of both games, a
    player's n-th answer belongs to round n.
    """
    prompts = iter(prompted_phases)
    prompted_phase, clue_round = Phase.CLUE, 0
    n_answers: Counter[tuple[Phase, str]] = Counter()
    timeline = Timeline([], [])
    for player, msg_type in zip(logged_columns.player, logged_columns.msg_type, strict=True):
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


def n_clue_rounds(rules: HiddenRoleRules, message_columns: MessageColumns) -> int:
    """Return the number of rounds of clues that were begun, even if the last is incomplete.

    Args:
        rules: The rules of the game.
        message_columns: The messages of the game, by column.
    """
    clues_by_player = message_columns.message_indices_by_player(Phase.CLUE)
    n_clues = [len(clues) for clues in clues_by_player.values()]
    return sum(n_clues) if rules.every_clue_is_a_round else max(n_clues, default=0)


def build_hidden_role_seats(
    rules: HiddenRoleRules,
    hidden_player: str,
    model_by_player: dict[str, str | None],
    tested_players: set[str],
) -> list[Seat]:
    """Build the seats of a game in which one player has the hidden role.

    Args:
        rules: The rules of the game.
        hidden_player: The player who has the hidden role.
        model_by_player: The model of each player, in the order of the seats.
        tested_players: The players whose models are tested.
    """
    return [
        Seat(
            player=player,
            model=model,
            role=rules.hidden_role if player == hidden_player else rules.civilian_role,
            is_tested=player in tested_players,
        )
        for player, model in model_by_player.items()
    ]


def build_guess_of_hidden_player(
    game: GameRecord, rules: HiddenRoleRules, secret_word: str
) -> list[Guess]:
    """Build a list with the last guess of the hidden player; empty if the game ended without one.

    Args:
        game: The game with its seats and messages. Its outcome code says if the guess was right.
        rules: The rules of the game.
        secret_word: The word that the hidden player had to guess.
    """
    if game.outcome_code not in GUESS_FLAGS:
        return []
    is_correct = GUESS_FLAGS[game.outcome_code]
    hidden_seat, hidden_player = next(
        (number, seat.player)
        for number, seat in enumerate(game.seats, start=1)
        if seat.role == rules.hidden_role
    )
    indices = game.messages.course.message_indices_by_player(Phase.GUESS).get(hidden_player, ())
    index = indices[-1] if indices else None
    word, status = None, ParseStatus.UNREADABLE
    if index is not None:
        word, status = parse_guessed_word(game.messages.content[index])
    return [
        Guess(
            seat=hidden_seat,
            round=1,
            message_index=index,
            parse_status=status,
            guess=word,
            secret=secret_word,
            is_correct=is_correct,
        )
    ]


def parse_guessed_word(text: str) -> tuple[str | None, ParseStatus]:
    """Parse the word that an answer guesses, and say how certain the result is.

    Args:
        text: The answer of the caught player.

    Returns:
        The word without quotes, or None, and the parse status: `ok` if the text names one word,
        `ambiguous` if it names several, `unreadable` if it names none, and `outage` if the model
        failed to answer.
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
    """Remove quotes, punctuation and a reason, such as "because ...", from a guessed word."""
    return _REASON.sub("", word).strip(" \t\"“”'‘’.!").removesuffix("<eos>").strip()


# In a game of werewolf each day is a round. The night after day d belongs to round d, and the first
# night belongs to round 0.

# The number of players is limited, because whispers and attacks are stored for each werewolf. The
# largest known games have 15 players.
MAX_WEREWOLF_PLAYERS = 25
MAX_DAYS = 1_000
WEREWOLF = "werewolf"
TALK, WHISPER = "talk", "whisper"
EXECUTED, ATTACKED = "vote", "attack"


class WerewolfGameBuilder:
    """Collects the events of a werewolf game in their order, then builds its game record.

    Attributes:
        seats: The seats of the game.
        faults: The validation errors found so far.
        eliminations: The eliminations added so far.
        abilities: The uses of abilities added so far.
    """

    def __init__(self, seats: list[Seat]) -> None:
        self.seats = seats
        self.faults: list[RecordError] = []
        self.eliminations: list[Elimination] = []
        self.abilities: list[Ability] = []
        self._player_by_name = {seat.player: seat.player for seat in seats}
        self._seat_by_player = {seat.player: number for number, seat in enumerate(seats, start=1)}
        self._role_by_player = {seat.player: seat.role for seat in seats}
        self._living = dict.fromkeys(self._seat_by_player)
        self._messages: list[LoggedMessage] = []
        self._vote_by_day_and_player: dict[tuple[int, str], Vote] = {}
        self._days_with_attack: set[int] = set()
        self._n_uses_by_day_and_player: dict[tuple[int, str], int] = {}

    def is_still_in_game(self, player: str) -> bool:
        """Return whether the player has not been eliminated yet."""
        return player in self._living

    def is_player_or_add_fault(self, player: str, json_path: str) -> bool:
        """Return whether a player of the game has this name; add a validation error if not."""
        if player not in self._role_by_player:
            self.faults.append(
                RecordError(json_path, "whoever acts is a player", repr(player[:50]))
            )
        return player in self._role_by_player

    def role_of_player(self, player: str) -> str | None:
        """Return the role of a player; None if the game has no such player."""
        return self._role_by_player.get(player)

    def find_target_or_add_fault(self, value: object, json_path: str) -> str | None:
        """Return the player that a logged target names, or None; add an error if it is unknown.

        A word for nobody, such as "none", is not an error.
        """
        return find_target_or_add_fault(value, self._player_by_name, json_path, self.faults)

    def none_if_word_for_nobody(self, name: str | None) -> str | None:
        """Return None if the name is a word for nobody, such as "none"; else return the name.

        A player can have such a word as a name, which is then returned.
        """
        return None if name not in self._role_by_player and is_word_for_nobody(name) else name

    def players_in_game_with_role(self, role: str) -> tuple[str, ...]:
        """Return the players with this role who have not been eliminated yet."""
        return tuple(player for player in self._living if self._role_by_player[player] == role)

    def add_message(
        self, player: str, text: str, day: int, turn: int | None = None, *, is_whisper: bool = False
    ) -> None:
        """Add a message that all players hear, or a whisper that only living werewolves hear."""
        phase, audience = (
            (WHISPER, self.players_in_game_with_role(WEREWOLF)) if is_whisper else (TALK, EVERYONE)
        )
        self._messages.append(LoggedMessage(player, text, phase, day, audience, turn))

    def set_vote(self, player: str, target: str | None, day: int) -> None:
        """Set the player's vote of a day; an earlier vote of the same day is replaced."""
        vote = Vote(self._seat_by_player[player], day, None, target)
        self._vote_by_day_and_player[day, player] = vote

    def add_ability_use(
        self, player: str, ability: str, target: str | None, day: int, finding: str | None = None
    ) -> None:
        """Add the use of a role's ability on a target, with the finding that the player learnt."""
        number = self._n_uses_by_day_and_player.get((day, player), 0) + 1
        self._n_uses_by_day_and_player[day, player] = number
        seat = self._seat_by_player[player]
        self.abilities.append(Ability(seat, day, None, number, ability, target, finding))

    def add_attack_by_all_werewolves(self, target: str, day: int, json_path: str) -> None:
        """Add an attack of each living werewolf on the target; raise at a day's second attack."""
        if day in self._days_with_attack:
            raise invalid_document_error(
                json_path, "the werewolves attack once a night", repr(target[:50])
            )
        self._days_with_attack.add(day)
        target_player = self.find_target_or_add_fault(target, json_path)
        for wolf in self.players_in_game_with_role(WEREWOLF):
            self.add_ability_use(wolf, "attack", target_player, day)

    def eliminate_player(self, player: str, day: int, cause: str, json_path: str) -> None:
        """Remove a player from the game and keep the elimination; raise if it is repeated."""
        if player not in self._living:
            raise invalid_document_error(
                json_path, "whoever leaves the game is still in it", repr(player[:50])
            )
        self.eliminations.append(Elimination(self._seat_by_player[player], day, None, cause))
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
        """Build the record of the game from the collected events.

        Args:
            system: The name of the system, which is also the name of the format.
            outcome: The outcome; None if the game is unfinished.
            n_rounds: The number of rounds.
            setting: The setting apart from the number of players in each role, which is added.
            ended_by: The reason why the game was stopped, if it was.
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
            messages=build_messages(self._messages, self.seats),
            votes=list(self._vote_by_day_and_player.values()),
            abilities=self.abilities,
            eliminations=self.eliminations,
            faults=self.faults,
        )


def parse_werewolf_role(word: str, json_path: str) -> str:
    """Return the name of the werewolf role that a logged word names in upper or lower case.

    Args:
        word: The logged word.
        json_path: The JSON path of the word.

    Raises:
        InvalidDocumentError: If werewolf has no role of this name.
    """
    role = WEREWOLF_DEFINITION.find_role(word.lower())
    if role is None:
        rule = f"a role is one of {', '.join(role_.name for role_ in WEREWOLF_DEFINITION.roles)}"
        raise invalid_document_error(json_path, rule, repr(word[:50]))
    return role.name
