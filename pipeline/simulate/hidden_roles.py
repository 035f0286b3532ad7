"""Simulated games of Chameleon and Undercover, with their votes and answers about roles.

A skill first decides the result that the benchmark registers. Then a text is chosen from which the
benchmark parses this result: the first player, *in the order of seats*, that the text names.

Used by `pipeline.simulate.point_games`; depends on `pipeline.simulate.settings`.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.simulate.settings import (
    HINTS,
    LESS_SUSPICIOUS,
    MODERATOR,
    MORE_SUSPICIOUS,
    NO_CHANGE,
    OPPONENT,
    PHRASES,
    PHRASES_BY_ROLL,
    PLAYERS,
    REASONS,
    SEATS,
    SEATS_AND_PLAYERS,
    TOPICS,
    VAGUE_CLUES,
    VERDICT_SENTENCES,
    VERDICTS,
    ChameleonSetting,
    Dice,
    Document,
    Model,
    Skill,
    Transcript,
    UndercoverSetting,
    add_aside_by_chance,
    add_end_mark_by_chance,
    other_seats,
    pick_by_roll,
    random_aside,
)

NUMERALS = ("One", "Two", "Three")


class Cast(NamedTuple):
    """The seats of a game: the hidden player, and the tested model with its seats.

    Attributes:
        hidden_seat: The seat of the hidden player.
        tested_seats: The seats of the tested model.
        model: The tested model.
    """

    hidden_seat: int
    tested_seats: tuple[int, ...]
    model: Model

    def skill(self, seat: int) -> Skill:
        """Return the skill of the player in a seat; players of fixed opponents share one skill."""
        return self.model.skill if seat in self.tested_seats else OPPONENT

    def has_graphical_model(self, seat: int) -> bool:
        """Return whether the player in a seat plays with a probabilistic graphical model."""
        return self.model.is_pgm and seat in self.tested_seats

    def player_backends(self) -> dict[str, dict[str, str]]:
        """Return the name of the model of each player, in the form that a log has."""
        return {
            PLAYERS[seat - 1]: {
                "model": self.model.name if seat in self.tested_seats else "gpt-4-fix"
            }
            for seat in SEATS
        }

    @classmethod
    def from_hidden_seat(cls, hidden_seat: int, model: Model, *, plays_hidden_role: bool) -> "Cast":
        """Return a cast in which the model plays the hidden player, or else all other players."""
        return cls(
            hidden_seat, (hidden_seat,) if plays_hidden_role else other_seats(hidden_seat), model
        )


def parse_vote_as_benchmark(text: str) -> str:
    """Return the name of the player that the benchmark registers for the text of a vote.

    Args:
        text: The text of the vote.

    Returns:
        The player with the lowest seat that the text names; an empty string if it names none.
    """
    numbers = re.findall(r"player[ _]?([123])", text.lower())
    return PLAYERS[int(min(numbers)) - 1] if numbers else ""


def choose_seat_to_vote_for(
    dice: Dice, cast: Cast, voter_seat: int, *, may_break_rules: bool = True
) -> int:
    """Choose the seat for which a player votes, by its skill and that of the hidden player.

    Votes for nobody and for oneself break the rules; tested players cast more of them.

    Args:
        dice: The random numbers.
        cast: The seats of the game.
        voter_seat: The seat of the voter.
        may_break_rules: Whether the vote may be for nobody or for the voter.

    Returns:
        The seat; 0 for nobody.
    """
    first, second = other_seats(voter_seat)
    is_tested = voter_seat in cast.tested_seats
    abstention_bound, self_vote_bound = (0.16, 0.26) if is_tested else (0.01, 0.02)
    if voter_seat != cast.hidden_seat:
        skill = cast.skill(voter_seat if is_tested else cast.hidden_seat)
        if dice.chance(skill.judgement if is_tested else 1 - skill.concealment):
            return cast.hidden_seat
        first = second = second if first == cast.hidden_seat else first
    else:
        abstention_bound, self_vote_bound = abstention_bound / 3, self_vote_bound / 3
    roll = dice.random()
    if may_break_rules and roll < self_vote_bound:
        return 0 if roll < abstention_bound else voter_seat
    return first if dice.chance(0.5) else second


def vote_text(dice: Dice, voter_seat: int, target_seat: int, hidden_role: str) -> str:
    """Return a text that the benchmark registers as a vote for a seat.

    Args:
        dice: The random numbers.
        voter_seat: The seat of the voter.
        target_seat: The seat to vote for; 0 for nobody.
        hidden_role: The name of the hidden role.

    Returns:
        The text.
    """
    if target_seat == 0:
        if dice.chance(0.25):
            return f"I vote for Player {NUMERALS[dice.pick(other_seats(voter_seat)) - 1]}."
        return dice.pick(PHRASES["abstentions"])
    speaker, target = PLAYERS[voter_seat - 1], PLAYERS[target_seat - 1]
    if target_seat == voter_seat:
        if voter_seat < 3 and dice.chance(0.7):
            return f"As {speaker}, I vote for Player {dice.between(voter_seat + 1, 3)}."
        return f"I vote for {target}."
    third_seat, roll = 6 - voter_seat - target_seat, dice.random()
    if roll < 0.955:
        template = pick_by_roll(roll, PHRASES_BY_ROLL["votes"])
    elif roll < 0.97 and voter_seat > target_seat:
        template = "As {me}, I vote for {named}."
    elif third_seat > target_seat:
        template = "{named} sounds more honest to me, so I vote for {third}."
    else:
        template = "It has to be {named}!"
    text = template.format(
        me=speaker,
        named=target,
        seat=target_seat,
        third=PLAYERS[third_seat - 1],
        role=hidden_role,
        why=dice.pick(REASONS[MORE_SUSPICIOUS]) if "{why}" in template else "",
        aside=random_aside(dice, 1) if "{aside}" in template else "",
    )
    return add_end_mark_by_chance(dice, text)


def most_voted_player(targets_by_voter: dict[str, str]) -> str | None:
    """Return the player with the most votes; None for a tie.

    Args:
        targets_by_voter: The target of each voter; empty strings do not count.

    Returns:
        The name of the player.
    """
    targets = [player for player in targets_by_voter.values() if player]
    counts = sorted(((targets.count(player), player) for player in set(targets)), reverse=True)
    if not counts or (len(counts) > 1 and counts[0][0] == counts[1][0]):
        return None
    return counts[0][1]


def role_answer_text(
    dice: Dice, seat: int, correct_role: str, wrong_role: str, *, is_right: bool
) -> str:
    """Return a player's answer to the question for its own name and role.

    Args:
        dice: The random numbers.
        seat: The seat of the player.
        correct_role: The correct role.
        wrong_role: The wrong role.
        is_right: Whether the answer is correct.

    Returns:
        The text.
    """
    claimed_player, claimed_role = PLAYERS[seat - 1], correct_role
    if not is_right:
        roll = dice.random()
        if roll < 0.25:
            claimed_player = PLAYERS[dice.pick(other_seats(seat)) - 1]
        elif roll < 0.35:
            return f"I am {claimed_player}, my role is {correct_role}/{wrong_role}."
        else:
            claimed_role = wrong_role
    return pick_by_roll(dice.random(), PHRASES_BY_ROLL["roles"]).format(
        me=claimed_player, role=claimed_role
    )


def log_role_answers_and_return_correctness(
    dice: Dice,
    log: Transcript,
    cast: Cast,
    role: str,
    *,
    unsure_probability: float = 0.0,
    reasons: Sequence[str] = (),
) -> dict[str, int]:
    """Append each player's answer about its own role, and return which answers are correct.

    Args:
        dice: The random numbers.
        log: The transcript.
        cast: The seats of the game.
        role: The name of the hidden role.
        unsure_probability: The probability that an incorrect answer claims no role.
        reasons: Reasons, one of which is added to about half of the answers.

    Returns:
        1 or 0 by player: an entry of `consistency_metric` in the log.
    """
    correctness = {}
    for seat, player in SEATS_AND_PLAYERS:
        is_right = dice.chance(cast.skill(seat).self_awareness)
        roles = (role, f"non-{role}") if seat == cast.hidden_seat else (f"non-{role}", role)
        if unsure_probability and not is_right and dice.chance(unsure_probability):
            text = f"I am {player}, my role is not sure."
        else:
            text = role_answer_text(dice, seat, *roles, is_right=is_right)
        if reasons and text[-1] == "." and dice.chance(0.65):
            text = f"{text[:-1]}, because {dice.pick(reasons)}."
        correctness[player] = int(is_right)
        text = add_end_mark_by_chance(dice, add_aside_by_chance(dice, text, 0.13))
        log.add_message(player, text, msg_type="metric_consistency")
    return correctness


# Chameleon: one of three players does not know the word, gives a clue anyway, and may be caught.
#
# Whether a player's opinion on a clue is correct is decided first; then a text is chosen for it.

CORRECT_VERDICTS = ((MORE_SUSPICIOUS, NO_CHANGE), (MORE_SUSPICIOUS, LESS_SUSPICIOUS))
WRONG_VERDICTS = (
    (NO_CHANGE, NO_CHANGE),
    (LESS_SUSPICIOUS, NO_CHANGE),
    (NO_CHANGE, MORE_SUSPICIOUS),
    (LESS_SUSPICIOUS, MORE_SUSPICIOUS),
    (MORE_SUSPICIOUS, MORE_SUSPICIOUS),
)
"""A civilian's verdicts on the chameleon and on the other civilian."""

ASIDE_PROBABILITY = 0.22


ConsistencyMetric = dict[str, dict[str, int]]
"""By round: whether the answer of each player about its own role is correct, as 1 or 0."""
PgmMetric = dict[str, dict[str, list[int]]]
"""By round: the correctness of all analyses of the roles (`gold`) and of thoughts (`inter`)."""
VotesAndWinFlag = tuple[dict[str, str], int]
"""The target by voter, and the code of the ending."""


class Opinions(NamedTuple):
    """The opinions of all players after a clue.

    Attributes:
        gold: Whether each seat's analysis of the roles is correct (for the chameleon: of the word).
        inter: Whether each seat's analysis of the other players' thoughts is correct.
        verdicts: By civilian seat, its verdict on each other seat.
    """

    gold: dict[int, bool]
    inter: dict[int, bool]
    verdicts: dict[int, dict[int, str]]


def play_chameleon(
    dice: Dice, model: Model, setting: ChameleonSetting, timestamp: str, *, plays_hidden_role: bool
) -> Document:
    """Play a game of Chameleon and return its log.

    Args:
        dice: The random numbers.
        model: The tested model.
        setting: The topic, the word, the hidden seat and the clues.
        timestamp: The timestamp of all messages.
        plays_hidden_role: Whether the tested model plays the chameleon, or else both civilians.

    Returns:
        The log.
    """
    cast = Cast.from_hidden_seat(setting.hidden_seat, model, plays_hidden_role=plays_hidden_role)
    log = Transcript(timestamp, 4 if model.is_pgm else 0)
    consistency, pgm = _log_clues_and_return_metrics(dice, log, setting, cast)
    votes, win_flag = _log_vote_and_return_votes_and_win_flag(dice, log, setting, cast)
    return {
        "chameleon": PLAYERS[setting.hidden_seat - 1],
        "game_setting": {
            "topic": setting.topic,
            "code": setting.word,
            "chameleon_name": PLAYERS[setting.hidden_seat - 1],
        },
        "player_backends": cast.player_backends(),
        "history": log.history,
        "win_flag": win_flag,
        "player_votes": votes,
        "result": "non-chameleon" if win_flag == 0 else "chameleon",
        "consistency_metric": consistency,
        "pgm_metric": pgm,
    }


def _log_clues_and_return_metrics(
    dice: Dice, log: Transcript, setting: ChameleonSetting, cast: Cast
) -> tuple[ConsistencyMetric, PgmMetric]:
    """Log the game before the vote; return the correctness of answers and of analyses."""
    new_game_text = (
        " This is a totally new game. Don't take content from the above exmaples into the current"
    )
    log.add_moderator_message(
        f"Now the game starts!{f'{new_game_text} game.' if cast.model.is_pgm else ''} "
        f"The topic is: {setting.topic}"
    )
    log.add_message(
        MODERATOR,
        f"You are not chameleon. The word is: {setting.word}",
        [PLAYERS[seat - 1] for seat in other_seats(setting.hidden_seat)],
    )
    log.add_message(MODERATOR, "You are the chameleon!", PLAYERS[setting.hidden_seat - 1])
    consistency, pgm = {}, {}
    for seat, player in SEATS_AND_PLAYERS:
        consistency[str(seat - 1)] = log_role_answers_and_return_correctness(
            dice, log, cast, "chameleon"
        )
        if seat == 1:
            log.add_moderator_message(
                "Now everyone gives one clue (but never include the secret word). "
                "You cannot repeat what others has said. We will start with Player 1."
            )
        log.add_message(player, _clue_text(dice, setting, cast, seat), msg_type="clue")
        opinions = _draw_opinions_by_skill(dice, cast)
        pgm[str(seat - 1)] = {
            "gold": [int(opinions.gold[seat]) for seat in SEATS],
            "inter": [int(opinions.inter[seat]) for seat in SEATS],
        }
        if cast.model.is_pgm:
            for speaker_seat in cast.tested_seats:
                speaker = PLAYERS[speaker_seat - 1]
                text = _analysis_text(dice, setting, speaker_seat, opinions, True)
                is_good = opinions.gold[speaker_seat] and speaker_seat != cast.hidden_seat
                log.add_message(speaker, text, [speaker], "pgm", is_good_pgm=is_good)
        for speaker_seat, speaker in SEATS_AND_PLAYERS:
            log.add_message(
                speaker,
                _analysis_text(dice, setting, speaker_seat, opinions, False),
                msg_type="metric_pgm",
            )
    return consistency, pgm


def _clue_text(dice: Dice, setting: ChameleonSetting, cast: Cast, seat: int) -> str:
    """Return the clue of the player in a seat.

    Before the tested player's turn, fixed opponents give the clues of the setting. Later clues are
    random.
    """
    if seat < cast.tested_seats[0]:
        clue = setting.clues[seat - 1]
    else:
        clue = dice.pick(
            VAGUE_CLUES if seat == setting.hidden_seat else TOPICS[setting.topic][setting.word]
        )
    roll = dice.random()
    if roll < 0.35:
        clue = f"My clue: {clue}"
    elif roll < 0.5:
        clue = f"My clue is: {clue[0].lower()}{clue[1:]}"
    return add_end_mark_by_chance(dice, clue)


def _log_vote_and_return_votes_and_win_flag(
    dice: Dice, log: Transcript, setting: ChameleonSetting, cast: Cast
) -> VotesAndWinFlag:
    """Log the vote and the verdict; return the votes, and the code of the ending."""
    is_pgm = cast.model.is_pgm
    separator, line_end = ("", "\n") if is_pgm else (" ", "")
    log.add_moderator_message(
        f"Now vote which of the other players (excluding yourself) is the chameleon.{separator}"
        f'You cannot vote for yourself. You must use the template "I vote for Player xx."{line_end}'
    )
    votes = {}
    for seat, player in SEATS_AND_PLAYERS:
        target_seat = choose_seat_to_vote_for(dice, cast, seat, may_break_rules=not is_pgm)
        text = vote_text(dice, seat, target_seat, "chameleon")
        votes[player] = parse_vote_as_benchmark(text)
        if cast.has_graphical_model(seat) and dice.chance(0.45):
            text = vote_text(dice, seat, dice.pick(other_seats(seat)), "chameleon")
        log.add_message(player, text, [player], "accuse", step=int(is_pgm))
    return votes, _log_verdict_and_return_win_flag(
        dice, log, setting, cast, most_voted_player(votes)
    )


def _log_verdict_and_return_win_flag(
    dice: Dice, log: Transcript, setting: ChameleonSetting, cast: Cast, most_voted: str | None
) -> int:
    """Log the verdict and the chameleon's guess; return the code of the ending."""
    chameleon, is_pgm = PLAYERS[setting.hidden_seat - 1], cast.model.is_pgm
    if most_voted is None:
        log.add_moderator_message(
            f"There are even notes. The chameleon {chameleon} wins."
            if is_pgm
            else "There are even votes. The accusation does not stand. "
            f"{chameleon} is the chameleon. {chameleon} won the game!"
        )
        return 3
    if most_voted != chameleon:
        log.add_moderator_message(
            f"The most-voted player is {most_voted}. The accusation is incorrect. "
            f"{chameleon} is the chameleon. {chameleon} won the game!"
        )
        return 2
    log.add_moderator_message(
        f"The accusation is correct! {chameleon} is the chameleon! Now {chameleon} can guess the "
        'secret code. You should say: I guess the code is "..."'
    )
    skill = cast.model.skill
    is_right = dice.chance(
        skill.guessing if setting.hidden_seat in cast.tested_seats else 1 - skill.secrecy
    )
    word = setting.word if is_right else _random_wrong_word(dice, setting)
    roll = dice.random()
    guess = pick_by_roll(roll, PHRASES_BY_ROLL["guesses"]).format(topic=setting.topic, word=word)
    guess = guess if roll < 0.97 else add_aside_by_chance(dice, guess, 0.3)
    log.add_message(chameleon, guess, chameleon, "guess" if is_pgm else "text", step=int(is_pgm))
    if is_right:
        log.add_moderator_message(
            f"{chameleon} guessed the code correctly! The secret word is {setting.word}. "
            f"{chameleon} won!"
        )
        return 1
    winners = [PLAYERS[seat - 1] for seat in other_seats(setting.hidden_seat)]
    log.add_moderator_message(
        f"{chameleon} guessed the code wrong! The secret word is {setting.word}. {winners} won!"
    )
    return 0


def _draw_opinions_by_skill(dice: Dice, cast: Cast) -> Opinions:
    """Draw the opinions of all players, which are correct as often as the players' skills say."""
    gold = {seat: dice.chance(cast.skill(seat).reasoning_gold) for seat in SEATS}
    inter = {seat: dice.chance(cast.skill(seat).reasoning_inter) for seat in SEATS}
    verdicts = {}
    for seat in other_seats(cast.hidden_seat):
        verdict_on_hidden, verdict_on_civilian = dice.pick(
            CORRECT_VERDICTS if gold[seat] else WRONG_VERDICTS
        )
        verdicts[seat] = {
            cast.hidden_seat: verdict_on_hidden,
            6 - seat - cast.hidden_seat: verdict_on_civilian,
        }
    return Opinions(gold, inter, verdicts)


def _analysis_text(
    dice: Dice, setting: ChameleonSetting, seat: int, opinions: Opinions, is_pgm: bool
) -> str:
    """Return what a player thinks about the other two players, and about their thoughts."""
    if seat == setting.hidden_seat:
        return _chameleon_analysis_text(dice, setting, opinions, is_pgm=is_pgm)
    lines = [f"As {PLAYERS[seat - 1]},", "I think:"]
    verdicts = opinions.verdicts[seat]
    lines += [
        dice.pick(VERDICT_SENTENCES[target, verdicts[target]]) for target in other_seats(seat)
    ]
    if aside := random_aside(dice, ASIDE_PROBABILITY):
        lines.append(aside)
    lines.append("As for other players' thoughts:")
    lines += _lines_about_thoughts_of_others(dice, setting.hidden_seat, seat, opinions, "thinks")
    return "\n".join(lines)


def _chameleon_analysis_text(
    dice: Dice, setting: ChameleonSetting, opinions: Opinions, *, is_pgm: bool
) -> str:
    """Return the chameleon's guess of the word, and what it thinks that the civilians think."""
    seat = setting.hidden_seat
    word = setting.word if opinions.gold[seat] else _random_wrong_word(dice, setting)
    opening = "I think now the secret code is" if is_pgm else "I guess the secret code is"
    lines = [
        f'{opening} "{word}", because {dice.pick(REASONS[LESS_SUSPICIOUS])}.',
        "\nAs for other players's views:" if is_pgm else "As for other players' view now:",
        *_lines_about_thoughts_of_others(
            dice, seat, seat, opinions, "thinks" if is_pgm else "think"
        ),
    ]
    if is_pgm:
        lines.append(f'Next I will give a clue about "{word}".')
    return "\n".join(lines)


def _random_wrong_word(dice: Dice, setting: ChameleonSetting) -> str:
    """Return a random word of the topic that is not the secret word."""
    return dice.pick([word for word in TOPICS[setting.topic] if word != setting.word])


def _lines_about_thoughts_of_others(
    dice: Dice, hidden_seat: int, speaker_seat: int, opinions: Opinions, verb: str
) -> list[str]:
    """Return the lines in which a player says what the other two players think."""
    lines = []
    for thinker_seat in other_seats(speaker_seat):
        lines.append(f"I think now {PLAYERS[thinker_seat - 1]} {verb}:")
        verdicts = _verdicts_attributed_to_player(
            dice, hidden_seat, speaker_seat, thinker_seat, opinions
        )
        lines += [dice.pick(VERDICT_SENTENCES[verdict]) for verdict in verdicts.items()]
    if aside := random_aside(dice, ASIDE_PROBABILITY):
        lines.append(aside)
    return lines


def _verdicts_attributed_to_player(
    dice: Dice, hidden_seat: int, speaker_seat: int, thinker_seat: int, opinions: Opinions
) -> dict[int, str]:
    """Return the verdicts that a speaker believes another player to have, by target seat.

    One of them is wrong if `opinions.inter` is false for the speaker. Verdicts of the chameleon are
    random.
    """
    target_seats = other_seats(thinker_seat)
    if thinker_seat == hidden_seat:
        return {target_seat: dice.pick(VERDICTS) for target_seat in target_seats}
    verdicts = {
        target_seat: opinions.verdicts[thinker_seat][target_seat] for target_seat in target_seats
    }
    if not opinions.inter[speaker_seat]:
        target_seat = dice.pick(target_seats)
        verdicts[target_seat] = dice.pick(
            [verdict for verdict in VERDICTS if verdict != verdicts[target_seat]]
        )
    return verdicts


# Undercover: one of three players has a similar word, and none knows which player. The game has two
# rounds of hints and one vote.

UNDERCOVER_CLAIMS = [
    f"{the}undercover, because {why}." for the in ("", "the ") for why in REASONS[MORE_SUSPICIOUS]
]

Suspicions = dict[int, int]
"""By seat, the seat that the player takes for the undercover."""


def play_undercover(
    dice: Dice, model: Model, setting: UndercoverSetting, timestamp: str, *, plays_hidden_role: bool
) -> Document:
    """Play a game of Undercover and return its log.

    Args:
        dice: The random numbers.
        model: The tested model.
        setting: The two words, the hidden seat and the first hints.
        timestamp: The timestamp of all messages.
        plays_hidden_role: Whether the tested model plays the undercover, or else both civilians.

    Returns:
        The log.
    """
    cast = Cast.from_hidden_seat(setting.hidden_seat, model, plays_hidden_role=plays_hidden_role)
    log = Transcript(timestamp, 0 if model.is_pgm else 1)
    undercover = PLAYERS[setting.hidden_seat - 1]
    log.add_moderator_message("Now the game starts!", step=0)
    log.add_message(MODERATOR, f"Your word is: {setting.hidden_word}", undercover, step=0)
    for seat in other_seats(setting.hidden_seat):
        log.add_message(
            MODERATOR, f"Your word is: {setting.civilian_word}", PLAYERS[seat - 1], step=0
        )
    log.add_moderator_message(
        "Now everyone gives one clue (but never include the secret word). "
        "You cannot repeat what others has said. We will start with Player 1."
    )
    consistency, pgm = {}, {}
    for round_key in ("0", "1"):
        if round_key == "1":
            log.add_moderator_message(
                "Now we starting another round of giving clue, we still start from Player 1"
            )
        suspicions = _log_undercover_clues_and_return_suspicions(
            dice, log, setting, cast, is_first_round=round_key == "0"
        )
        consistency[round_key] = log_role_answers_and_return_correctness(
            dice, log, cast, "undercover", unsure_probability=0.6, reasons=PHRASES["why_role"]
        )
        pgm[round_key] = _log_undercover_analyses_and_return_correctness(
            dice, log, cast, suspicions
        )
    votes, win_flag = _log_undercover_vote_and_return_votes_and_win_flag(dice, log, cast)
    return {
        "undercover": undercover,
        "game_setting": {
            "undercover_code": setting.hidden_word,
            "non_undercover_code": setting.civilian_word,
            "undercover_name": undercover,
        },
        "player_backends": cast.player_backends(),
        "history": log.history,
        "win_flag": win_flag,
        "result": "undercover" if win_flag else "non-undercover",
        "player_vote": votes,
        "consistency_metric": consistency,
        "pgm_metric": pgm,
    }


def _log_undercover_clues_and_return_suspicions(
    dice: Dice, log: Transcript, setting: UndercoverSetting, cast: Cast, *, is_first_round: bool
) -> Suspicions:
    """Log a round of hints; return the seat that each seat suspects.

    A player with a probabilistic graphical model also writes private thoughts, before its hint and
    after the round.
    """
    for seat, player in SEATS_AND_PLAYERS:
        if cast.has_graphical_model(seat) and seat > 1:
            _log_private_thoughts(dice, log, setting, cast, seat)
        # Before the tested player's first turn, fixed opponents give the hints of the setting.
        if is_first_round and seat < cast.tested_seats[0]:
            hint = setting.clues[seat - 1]
        else:
            hint = dice.pick(HINTS[setting.word_of_player(seat)])
        text = add_end_mark_by_chance(dice, dice.pick(PHRASES["hint_forms"]).format(hint))
        log.add_message(player, text, msg_type="clue")
    for seat in SEATS:
        if cast.has_graphical_model(seat):
            _log_private_thoughts(dice, log, setting, cast, seat)
    return _draw_suspicions_by_skill(dice, cast)


def _draw_suspicions_by_skill(dice: Dice, cast: Cast) -> Suspicions:
    """Draw the seat that each seat suspects: the undercover as often as the skill says."""
    return {
        seat: cast.hidden_seat
        if dice.chance(cast.skill(seat).reasoning_gold)
        else dice.pick(other_seats(cast.hidden_seat))
        for seat in SEATS
    }


def _log_undercover_analyses_and_return_correctness(
    dice: Dice, log: Transcript, cast: Cast, suspicions: Suspicions
) -> dict[str, list[int]]:
    """Log each player's analysis; return the correctness of all analyses, in the order of seats."""
    inter_correct = [dice.chance(cast.skill(seat).reasoning_inter) for seat in SEATS]
    for seat, player in SEATS_AND_PLAYERS:
        log.add_message(
            player,
            _undercover_analysis_text(dice, seat, suspicions, inter_correct[seat - 1]),
            msg_type="metric_pgm",
        )
    return {
        "gold": [int(suspicions[seat] == cast.hidden_seat) for seat in SEATS],
        "inter": list(map(int, inter_correct)),
    }


def _undercover_analysis_text(
    dice: Dice, seat: int, suspicions: Suspicions, is_inter_correct: bool, first_number: int = 1
) -> str:
    """Return whom a player suspects, and whom it thinks that the other two players suspect."""
    reported_suspicions = {viewer: suspicions[viewer] for viewer in other_seats(seat)}
    if not is_inter_correct:
        viewer = dice.pick(other_seats(seat))
        reported_suspicions[viewer] = dice.pick(other_seats(suspicions[viewer]))
    thoughts = [
        f"I think {PLAYERS[suspicions[seat] - 1]} is ",
        *(
            f"I think {PLAYERS[viewer - 1]} thinks {PLAYERS[suspect - 1]} is "
            for viewer, suspect in reported_suspicions.items()
        ),
    ]
    is_numbered = first_number > 1 or dice.chance(0.85)
    lines = [
        f"{number}. {thought}{dice.pick(UNDERCOVER_CLAIMS)}"
        if is_numbered
        else thought + dice.pick(UNDERCOVER_CLAIMS)
        for number, thought in enumerate(thoughts, start=first_number)
    ]
    if aside := random_aside(dice, 0.3):
        lines.append(aside)
    return "\n".join(lines)


def _log_private_thoughts(
    dice: Dice, log: Transcript, setting: UndercoverSetting, cast: Cast, seat: int
) -> None:
    """Append two private messages of a player: on its own role, and on all roles."""
    speaker, (first, second) = PLAYERS[seat - 1], other_seats(seat)
    described_word, role = dice.pick(
        (
            (setting.word_of_player(seat), "a non-undercover"),
            ("some other word", "the undercover"),
            (setting.word_of_player(seat), "not sure of my role"),
        )
    )
    number = "1. " if dice.chance(0.6) else ""
    text = (
        f"{number}Based on the clues, {PLAYERS[first - 1]} and {PLAYERS[second - 1]} seem to be "
        f"describing something related to {described_word}. Therefore I am {role}."
    )
    log.add_message(speaker, add_aside_by_chance(dice, text, 0.7), speaker, "pgm")
    text = _undercover_analysis_text(
        dice, seat, _draw_suspicions_by_skill(dice, cast), dice.chance(0.5), first_number=2
    )
    if dice.chance(0.5):
        text += (
            "\n5. With my next clue I will hint at "
            f"{dice.pick(PHRASES['plans'])} and watch who nods."
        )
    log.add_message(speaker, text, speaker, "pgm")


def _log_undercover_vote_and_return_votes_and_win_flag(
    dice: Dice, log: Transcript, cast: Cast
) -> VotesAndWinFlag:
    """Log the vote and the verdict; return the votes, and the code of the ending."""
    is_pgm, undercover = cast.model.is_pgm, PLAYERS[cast.hidden_seat - 1]
    template = ' You must use the template "I vote for Player xx."' if is_pgm else ""
    log.add_moderator_message(
        "Now vote which of the other players (excluding yourself) is the undercover. "
        f"You cannot vote for yourself.{template}"
    )
    votes = {}
    for seat, player in SEATS_AND_PLAYERS:
        text = vote_text(dice, seat, choose_seat_to_vote_for(dice, cast, seat), "undercover")
        votes[player] = parse_vote_as_benchmark(text) or (player if is_pgm else "")
        log.add_message(player, text, [player], "text" if is_pgm else "accuse", step=int(is_pgm))
    most_voted = most_voted_player(votes)
    log.add_moderator_message(_undercover_verdict_text(most_voted, undercover, is_pgm=is_pgm))
    return votes, 2 if most_voted is None else int(most_voted != undercover)


def _undercover_verdict_text(most_voted: str | None, undercover: str, *, is_pgm: bool) -> str:
    """Return the moderator's last message, which tells who won.

    Without a probabilistic graphical model, it always names the undercover as the winner.
    """
    if most_voted is None and is_pgm:
        return f"There are even notes. The undercover {undercover} wins."
    if most_voted == undercover and is_pgm:
        winners = [player for player in PLAYERS if player != undercover]
        return f"The accusation is correct! {undercover} is the undercover! {winners} won!"
    if most_voted is None:
        verdict = "There are even votes. The accusation does not stand."
    else:
        word = "correct" if most_voted == undercover else "incorrect"
        verdict = f"The most-voted player is {most_voted}. The accusation is {word}."
    return f"{verdict} {undercover} is the undercover. {undercover} won the game!"
