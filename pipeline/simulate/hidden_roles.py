"""Simulated games of Chameleon and Undercover, with their votes and answers about roles.

A skill decides first what the benchmark registers. Then a text is chosen from which the benchmark
parses this result: it takes the first player, *in the order of seats*, that the text names.

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
    add_aside,
    add_end_mark,
    other_seats,
    pick_by_roll,
    random_aside,
)

NUMERALS = ("One", "Two", "Three")


class Cast(NamedTuple):
    """The seats of a game: the hidden player, and the tested model with its seats.

    Attributes:
        hidden: The seat of the hidden player.
        tested: The seats of the tested model.
        model: The tested model.
    """

    hidden: int
    tested: tuple[int, ...]
    model: Model

    def skill(self, seat: int) -> Skill:
        """Return the skill of the player in a seat."""
        return self.model.skill if seat in self.tested else OPPONENT

    def is_pgm(self, seat: int) -> bool:
        """Return whether a PGM model plays a seat."""
        return self.model.is_pgm and seat in self.tested

    def player_backends(self) -> dict[str, dict[str, str]]:
        """Return `player_backends` of the log: the model of each player."""
        return {
            PLAYERS[seat - 1]: {"model": self.model.name if seat in self.tested else "gpt-4-fix"}
            for seat in SEATS
        }

    @classmethod
    def assign(cls, hidden: int, model: Model, *, as_hidden: bool) -> "Cast":
        """Assign the tested model to the hidden seat, or to both other seats."""
        return cls(hidden, (hidden,) if as_hidden else other_seats(hidden), model)


def registered_vote(text: str) -> str:
    """Return the player that the benchmark parses from a vote.

    Args:
        text: The text of the vote.

    Returns:
        The named player with the lowest seat; an empty string if no player is named.
    """
    numbers = re.findall(r"player[ _]?([123])", text.lower())
    return PLAYERS[int(min(numbers)) - 1] if numbers else ""


def choose_vote_target(dice: Dice, cast: Cast, voter: int, *, may_break_rules: bool = True) -> int:
    """Choose the seat for which a vote is registered.

    Votes for nobody and for oneself break the rules; tested players cast more of them.

    Args:
        dice: The random numbers.
        cast: The seats of the game.
        voter: The seat of the voter.
        may_break_rules: Whether the vote may be for nobody or for the voter.

    Returns:
        The seat; 0 for nobody.
    """
    first, second = other_seats(voter)
    abstention_bound, self_vote_bound = (0.16, 0.26) if voter in cast.tested else (0.01, 0.02)
    if voter != cast.hidden:
        is_tested = voter in cast.tested
        skill = cast.skill(voter if is_tested else cast.hidden)
        if dice.chance(skill.judgement if is_tested else 1 - skill.concealment):
            return cast.hidden
        first = second = second if first == cast.hidden else first
    else:
        abstention_bound, self_vote_bound = abstention_bound / 3, self_vote_bound / 3
    roll = dice.random()
    if may_break_rules and roll < self_vote_bound:
        return 0 if roll < abstention_bound else voter
    return first if dice.chance(0.5) else second


def write_vote(dice: Dice, voter: int, seat: int, role: str) -> str:
    """Return a text that the benchmark registers as a vote for a seat.

    Args:
        dice: The random numbers.
        voter: The seat of the voter.
        seat: The seat to vote for; 0 for nobody.
        role: The name of the hidden role.

    Returns:
        The text.
    """
    if seat == 0:
        if dice.chance(0.25):
            return f"I vote for Player {NUMERALS[dice.pick(other_seats(voter)) - 1]}."
        return dice.pick(PHRASES["abstentions"])
    speaker, named = PLAYERS[voter - 1], PLAYERS[seat - 1]
    if seat == voter:
        if voter < 3 and dice.chance(0.7):
            return f"As {speaker}, I vote for Player {dice.between(voter + 1, 3)}."
        return f"I vote for {named}."
    third, roll = 6 - voter - seat, dice.random()
    if roll < 0.955:
        form = pick_by_roll(roll, PHRASES_BY_ROLL["votes"])
    elif roll < 0.97 and voter > seat:
        form = "As {me}, I vote for {named}."
    else:
        third_votes = "{named} sounds more honest to me, so I vote for {third}."
        form = third_votes if third > seat else "It has to be {named}!"
    reason = dice.pick(REASONS[MORE_SUSPICIOUS]) if "{why}" in form else ""
    aside = random_aside(dice, 1) if "{aside}" in form else ""
    names = {"me": speaker, "named": named, "seat": seat, "third": PLAYERS[third - 1]}
    return add_end_mark(dice, form.format(**names, role=role, why=reason, aside=aside))


def most_voted_player(votes: dict[str, str]) -> str | None:
    """Return the player with the most votes; None for a tie.

    Args:
        votes: The target by voter; empty strings do not count.

    Returns:
        The name of the player.
    """
    targets = [player for player in votes.values() if player]
    counts = sorted(((targets.count(player), player) for player in set(targets)), reverse=True)
    if not counts or (len(counts) > 1 and counts[0][0] == counts[1][0]):
        return None
    return counts[0][1]


def role_answer_text(dice: Dice, seat: int, role: str, other_role: str, *, is_right: bool) -> str:
    """Return an answer to the question for the speaker's name and role.

    Args:
        dice: The random numbers.
        seat: The seat of the speaker.
        role: The correct role.
        other_role: The incorrect role.
        is_right: Whether the answer is correct.

    Returns:
        The text.
    """
    claimed_player = PLAYERS[seat - 1]
    if not is_right:
        roll = dice.random()
        if roll < 0.25:
            claimed_player = PLAYERS[dice.pick(other_seats(seat)) - 1]
        elif roll < 0.35:
            return f"I am {claimed_player}, my role is {role}/{other_role}."
        else:
            role = other_role
    return pick_by_roll(dice.random(), PHRASES_BY_ROLL["roles"]).format(
        me=claimed_player, role=role
    )


def log_role_answers(
    dice: Dice,
    log: Transcript,
    cast: Cast,
    role: str,
    *,
    unsure_probability: float = 0.0,
    reasons: Sequence[str] = (),
) -> dict[str, int]:
    """Append the three answers about the players' own roles, and return their correctness.

    Args:
        dice: The random numbers.
        log: The transcript.
        cast: The seats of the game.
        role: The name of the hidden role.
        unsure_probability: The probability that an incorrect answer claims no role.
        reasons: Reasons, one of which is added to about half of the answers.

    Returns:
        One entry of `consistency_metric`: 1 or 0 by player.
    """
    metric = {}
    for seat, player in SEATS_AND_PLAYERS:
        is_right = dice.chance(cast.skill(seat).self_awareness)
        correct_role, wrong_role = (
            (role, f"non-{role}") if seat == cast.hidden else (f"non-{role}", role)
        )
        if unsure_probability and not is_right and dice.chance(unsure_probability):
            text = f"I am {player}, my role is not sure."
        else:
            text = role_answer_text(dice, seat, correct_role, wrong_role, is_right=is_right)
        if reasons and text[-1] == "." and dice.chance(0.65):
            text = f"{text[:-1]}, because {dice.pick(reasons)}."
        metric[player] = int(is_right)
        text = add_end_mark(dice, add_aside(dice, text, 0.13))
        log.add_message(player, text, msg_type="metric_consistency")
    return metric


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

ASIDE_CHANCE = 0.22


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
    dice: Dice, model: Model, setting: ChameleonSetting, timestamp: str, *, as_hidden: bool
) -> Document:
    """Play a game of Chameleon.

    Args:
        dice: The random numbers.
        model: The tested model.
        setting: The setting.
        timestamp: The timestamp of all messages.
        as_hidden: Whether the tested model plays the chameleon; else it plays both civilians.

    Returns:
        The log.
    """
    game = Cast.assign(setting.hidden, model, as_hidden=as_hidden)
    log = Transcript(timestamp, 4 if model.is_pgm else 0)
    consistency, pgm = _play_clues(dice, log, setting, game)
    votes, win_flag = _play_vote(dice, log, setting, game)
    return {
        "chameleon": PLAYERS[setting.hidden - 1],
        "game_setting": {
            "topic": setting.topic,
            "code": setting.word,
            "chameleon_name": PLAYERS[setting.hidden - 1],
        },
        "player_backends": game.player_backends(),
        "history": log.history,
        "win_flag": win_flag,
        "player_votes": votes,
        "result": "non-chameleon" if win_flag == 0 else "chameleon",
        "consistency_metric": consistency,
        "pgm_metric": pgm,
    }


def _play_clues(
    dice: Dice, log: Transcript, setting: ChameleonSetting, game: Cast
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, list[int]]]]:
    """Play the part before the vote, and return `consistency_metric` and `pgm_metric`."""
    new_game_text = (
        " This is a totally new game. Don't take content from the above exmaples into the current"
    )
    log.add_moderator_message(
        f"Now the game starts!{f'{new_game_text} game.' if game.model.is_pgm else ''} "
        f"The topic is: {setting.topic}"
    )
    log.add_message(
        MODERATOR,
        f"You are not chameleon. The word is: {setting.word}",
        [PLAYERS[seat - 1] for seat in other_seats(setting.hidden)],
    )
    log.add_message(MODERATOR, "You are the chameleon!", PLAYERS[setting.hidden - 1])
    consistency, pgm = {}, {}
    for seat, player in SEATS_AND_PLAYERS:
        consistency[str(seat - 1)] = log_role_answers(dice, log, game, "chameleon")
        if seat == 1:
            log.add_moderator_message(
                "Now everyone gives one clue (but never include the secret word). "
                "You cannot repeat what others has said. We will start with Player 1."
            )
        clue = _clue_text(dice, setting, game, seat)
        log.add_message(player, clue, msg_type="clue")
        opinions = _draw_opinions(dice, game)
        pgm[str(seat - 1)] = {
            "gold": [int(opinions.gold[seat]) for seat in SEATS],
            "inter": [int(opinions.inter[seat]) for seat in SEATS],
        }
        if game.model.is_pgm:
            for speaker_seat in game.tested:
                speaker = PLAYERS[speaker_seat - 1]
                text = _analysis_text(dice, setting, speaker_seat, opinions, True)
                is_good = opinions.gold[speaker_seat] and speaker_seat != game.hidden
                log.add_message(speaker, text, [speaker], "pgm", is_good_pgm=is_good)
        for speaker_seat, speaker in SEATS_AND_PLAYERS:
            log.add_message(
                speaker,
                _analysis_text(dice, setting, speaker_seat, opinions, False),
                msg_type="metric_pgm",
            )
    return consistency, pgm


def _clue_text(dice: Dice, setting: ChameleonSetting, game: Cast, seat: int) -> str:
    """Return the clue of a seat.

    Before the tested player's turn, fixed opponents give the clues of the setting; afterwards,
    clues are random.
    """
    if seat < game.tested[0]:
        clue = setting.clues[seat - 1]
    else:
        clues = VAGUE_CLUES if seat == setting.hidden else TOPICS[setting.topic][setting.word]
        clue = dice.pick(clues)
    roll = dice.random()
    if roll < 0.35:
        clue = f"My clue: {clue}"
    elif roll < 0.5:
        clue = f"My clue is: {clue[0].lower()}{clue[1:]}"
    return add_end_mark(dice, clue)


def _play_vote(
    dice: Dice, log: Transcript, setting: ChameleonSetting, game: Cast
) -> tuple[dict[str, str], int]:
    """Play the vote, and return the votes as logged and the `win_flag`."""
    is_pgm = game.model.is_pgm
    separator, line_end = ("", "\n") if is_pgm else (" ", "")
    log.add_moderator_message(
        f"Now vote which of the other players (excluding yourself) is the chameleon.{separator}"
        f'You cannot vote for yourself. You must use the template "I vote for Player xx."{line_end}'
    )
    votes = {}
    for seat, player in SEATS_AND_PLAYERS:
        target_seat = choose_vote_target(dice, game, seat, may_break_rules=not is_pgm)
        text = write_vote(dice, seat, target_seat, "chameleon")
        votes[player] = registered_vote(text)
        if game.is_pgm(seat) and dice.chance(0.45):
            text = write_vote(dice, seat, dice.pick(other_seats(seat)), "chameleon")
        log.add_message(player, text, [player], "accuse", step=int(is_pgm))
    return votes, _play_verdict(dice, log, setting, game, most_voted_player(votes))


def _play_verdict(
    dice: Dice, log: Transcript, setting: ChameleonSetting, game: Cast, voted: str | None
) -> int:
    """Append the verdict and the chameleon's guess, and return the `win_flag`."""
    hidden = PLAYERS[setting.hidden - 1]
    is_pgm = game.model.is_pgm
    if voted is None:
        log.add_moderator_message(
            f"There are even notes. The chameleon {hidden} wins."
            if is_pgm
            else "There are even votes. The accusation does not stand. "
            f"{hidden} is the chameleon. {hidden} won the game!"
        )
        return 3
    if voted != hidden:
        log.add_moderator_message(
            f"The most-voted player is {voted}. The accusation is incorrect. "
            f"{hidden} is the chameleon. {hidden} won the game!"
        )
        return 2
    log.add_moderator_message(
        f"The accusation is correct! {hidden} is the chameleon! Now {hidden} can guess the secret "
        'code. You should say: I guess the code is "..."'
    )
    skill = game.model.skill
    is_right = dice.chance(skill.guessing if setting.hidden in game.tested else 1 - skill.secrecy)
    word = setting.word if is_right else _wrong_word(dice, setting)
    roll = dice.random()
    guess = pick_by_roll(roll, PHRASES_BY_ROLL["guesses"]).format(topic=setting.topic, word=word)
    guess = guess if roll < 0.97 else add_aside(dice, guess, 0.3)
    log.add_message(hidden, guess, hidden, "guess" if is_pgm else "text", step=int(is_pgm))
    if is_right:
        log.add_moderator_message(
            f"{hidden} guessed the code correctly! The secret word is {setting.word}. {hidden} won!"
        )
        return 1
    winners = [PLAYERS[seat - 1] for seat in other_seats(setting.hidden)]
    log.add_moderator_message(
        f"{hidden} guessed the code wrong! The secret word is {setting.word}. {winners} won!"
    )
    return 0


def _draw_opinions(dice: Dice, game: Cast) -> Opinions:
    """Return opinions that are correct as often as the players' skills determine."""
    gold = {seat: dice.chance(game.skill(seat).reasoning_gold) for seat in SEATS}
    inter = {seat: dice.chance(game.skill(seat).reasoning_inter) for seat in SEATS}
    verdicts = {}
    for seat in other_seats(game.hidden):
        verdict_on_hidden, verdict_on_civilian = dice.pick(
            CORRECT_VERDICTS if gold[seat] else WRONG_VERDICTS
        )
        verdicts[seat] = {
            game.hidden: verdict_on_hidden,
            6 - seat - game.hidden: verdict_on_civilian,
        }
    return Opinions(gold, inter, verdicts)


def _analysis_text(
    dice: Dice, setting: ChameleonSetting, seat: int, opinions: Opinions, is_pgm: bool
) -> str:
    """Return a player's analysis of the other two players and of their thoughts."""
    if seat == setting.hidden:
        return _chameleon_analysis_text(dice, setting, opinions, is_pgm=is_pgm)
    lines = [f"As {PLAYERS[seat - 1]},", "I think:"]
    verdicts = opinions.verdicts[seat]
    lines += [
        dice.pick(VERDICT_SENTENCES[target, verdicts[target]]) for target in other_seats(seat)
    ]
    if aside := random_aside(dice, ASIDE_CHANCE):
        lines.append(aside)
    lines.append("As for other players' thoughts:")
    lines += _report_lines(dice, setting.hidden, seat, opinions, "thinks")
    return "\n".join(lines)


def _chameleon_analysis_text(
    dice: Dice, setting: ChameleonSetting, opinions: Opinions, *, is_pgm: bool
) -> str:
    """Return the chameleon's guess of the word and its analysis of the others' thoughts."""
    seat = setting.hidden
    word = setting.word if opinions.gold[seat] else _wrong_word(dice, setting)
    opening = "I think now the secret code is" if is_pgm else "I guess the secret code is"
    lines = [
        f'{opening} "{word}", because {dice.pick(REASONS[LESS_SUSPICIOUS])}.',
        "\nAs for other players's views:" if is_pgm else "As for other players' view now:",
        *_report_lines(dice, seat, seat, opinions, "thinks" if is_pgm else "think"),
    ]
    if is_pgm:
        lines.append(f'Next I will give a clue about "{word}".')
    return "\n".join(lines)


def _wrong_word(dice: Dice, setting: ChameleonSetting) -> str:
    """Return another word of the topic."""
    return dice.pick([word for word in TOPICS[setting.topic] if word != setting.word])


def _report_lines(dice: Dice, hidden: int, seat: int, opinions: Opinions, thinks: str) -> list[str]:
    """Return the lines of an analysis that report the other players' thoughts."""
    lines = []
    for viewer in other_seats(seat):
        lines.append(f"I think now {PLAYERS[viewer - 1]} {thinks}:")
        report = _reported_verdicts(dice, hidden, seat, viewer, opinions)
        lines += [dice.pick(VERDICT_SENTENCES[verdict]) for verdict in report.items()]
    if aside := random_aside(dice, ASIDE_CHANCE):
        lines.append(aside)
    return lines


def _reported_verdicts(
    dice: Dice, hidden: int, seat: int, viewer: int, opinions: Opinions
) -> dict[int, str]:
    """Return the verdicts that a player believes another player has on the two others."""
    if viewer == hidden:
        return {target: dice.pick(VERDICTS) for target in other_seats(viewer)}
    report = {target: opinions.verdicts[viewer][target] for target in other_seats(viewer)}
    if not opinions.inter[seat]:
        target = dice.pick(other_seats(viewer))
        report[target] = dice.pick([verdict for verdict in VERDICTS if verdict != report[target]])
    return report


# Undercover: one of three players has a similar word, and none knows which player. The game has two
# rounds of hints and one vote.

UNDERCOVER_CLAIMS = [
    f"{the}undercover, because {why}." for the in ("", "the ") for why in REASONS[MORE_SUSPICIOUS]
]

Suspicions = dict[int, int]
"""The seat that each seat takes for the undercover."""


def play_undercover(
    dice: Dice, model: Model, setting: UndercoverSetting, timestamp: str, *, as_hidden: bool
) -> Document:
    """Play a game of Undercover.

    Args:
        dice: The random numbers.
        model: The tested model.
        setting: The setting.
        timestamp: The timestamp of all messages.
        as_hidden: Whether the tested model plays the undercover; else it plays both civilians.

    Returns:
        The log.
    """
    game = Cast.assign(setting.hidden, model, as_hidden=as_hidden)
    log = Transcript(timestamp, 0 if model.is_pgm else 1)
    hidden = PLAYERS[setting.hidden - 1]
    log.add_moderator_message("Now the game starts!", step=0)
    log.add_message(MODERATOR, f"Your word is: {setting.hidden_word}", hidden, step=0)
    for seat in other_seats(setting.hidden):
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
        suspicions = _play_undercover_clues(dice, log, setting, game, is_first=round_key == "0")
        consistency[round_key] = log_role_answers(
            dice, log, game, "undercover", unsure_probability=0.6, reasons=PHRASES["why_role"]
        )
        pgm[round_key] = _log_undercover_analyses(dice, log, game, suspicions)
    votes, win_flag = _play_undercover_vote(dice, log, game)
    return {
        "undercover": hidden,
        "game_setting": {
            "undercover_code": setting.hidden_word,
            "non_undercover_code": setting.civilian_word,
            "undercover_name": hidden,
        },
        "player_backends": game.player_backends(),
        "history": log.history,
        "win_flag": win_flag,
        "result": "undercover" if win_flag else "non-undercover",
        "player_vote": votes,
        "consistency_metric": consistency,
        "pgm_metric": pgm,
    }


def _play_undercover_clues(
    dice: Dice, log: Transcript, setting: UndercoverSetting, game: Cast, *, is_first: bool
) -> Suspicions:
    """Play a round of hints, and return the seat that each seat suspects.

    A PGM player also writes private thoughts before its hint and after the round.
    """
    for seat, player in SEATS_AND_PLAYERS:
        if game.is_pgm(seat) and seat > 1:
            _log_private_thoughts(dice, log, setting, game, seat)
        # Before the tested player's first turn, fixed opponents give the hints of the setting.
        if is_first and seat < game.tested[0]:
            hint = setting.clues[seat - 1]
        else:
            hint = dice.pick(HINTS[setting.word(seat)])
        text = add_end_mark(dice, dice.pick(PHRASES["hint_forms"]).format(hint))
        log.add_message(player, text, msg_type="clue")
    for seat in SEATS:
        if game.is_pgm(seat):
            _log_private_thoughts(dice, log, setting, game, seat)
    return _draw_suspicions(dice, game)


def _draw_suspicions(dice: Dice, game: Cast) -> Suspicions:
    """Return the suspect of each seat: the undercover as often as the skill determines."""
    return {
        seat: game.hidden
        if dice.chance(game.skill(seat).reasoning_gold)
        else dice.pick(other_seats(game.hidden))
        for seat in SEATS
    }


def _log_undercover_analyses(
    dice: Dice, log: Transcript, game: Cast, suspicions: Suspicions
) -> dict[str, list[int]]:
    """Append the three analyses, and return one entry of `pgm_metric`."""
    inter_correct = [dice.chance(game.skill(seat).reasoning_inter) for seat in SEATS]
    for seat, player in SEATS_AND_PLAYERS:
        log.add_message(
            player,
            _undercover_analysis_text(dice, seat, suspicions, inter_correct[seat - 1]),
            msg_type="metric_pgm",
        )
    return {
        "gold": [int(suspicions[seat] == game.hidden) for seat in SEATS],
        "inter": list(map(int, inter_correct)),
    }


def _undercover_analysis_text(
    dice: Dice, seat: int, suspicions: Suspicions, is_inter_correct: bool, first_number: int = 1
) -> str:
    """Return whom a seat suspects, and whom it believes that the other players suspect."""
    believed = {viewer: suspicions[viewer] for viewer in other_seats(seat)}
    if not is_inter_correct:
        misjudged = dice.pick(other_seats(seat))
        believed[misjudged] = dice.pick(other_seats(suspicions[misjudged]))
    thoughts = [f"I think {PLAYERS[suspicions[seat] - 1]} is "]
    for viewer, suspect in believed.items():
        thoughts.append(f"I think {PLAYERS[viewer - 1]} thinks {PLAYERS[suspect - 1]} is ")
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
    dice: Dice, log: Transcript, setting: UndercoverSetting, game: Cast, seat: int
) -> None:
    """Append a PGM player's two private messages: about its own role, and about all roles."""
    speaker, (first, second) = PLAYERS[seat - 1], other_seats(seat)
    described_word, role = dice.pick(
        (
            (setting.word(seat), "a non-undercover"),
            ("some other word", "the undercover"),
            (setting.word(seat), "not sure of my role"),
        )
    )
    number = "1. " if dice.chance(0.6) else ""
    text = (
        f"{number}Based on the clues, {PLAYERS[first - 1]} and {PLAYERS[second - 1]} seem to be "
        f"describing something related to {described_word}. Therefore I am {role}."
    )
    log.add_message(speaker, add_aside(dice, text, 0.7), speaker, "pgm")
    text = _undercover_analysis_text(
        dice, seat, _draw_suspicions(dice, game), dice.chance(0.5), first_number=2
    )
    if dice.chance(0.5):
        text += (
            "\n5. With my next clue I will hint at "
            f"{dice.pick(PHRASES['plans'])} and watch who nods."
        )
    log.add_message(speaker, text, speaker, "pgm")


def _play_undercover_vote(dice: Dice, log: Transcript, game: Cast) -> tuple[dict[str, str], int]:
    """Play the vote, and return the votes as logged and the `win_flag`."""
    is_pgm, hidden = game.model.is_pgm, PLAYERS[game.hidden - 1]
    template = ' You must use the template "I vote for Player xx."' if is_pgm else ""
    log.add_moderator_message(
        "Now vote which of the other players (excluding yourself) is the undercover. "
        f"You cannot vote for yourself.{template}"
    )
    votes = {}
    for seat, player in SEATS_AND_PLAYERS:
        text = write_vote(dice, seat, choose_vote_target(dice, game, seat), "undercover")
        votes[player] = registered_vote(text) or (player if is_pgm else "")
        log.add_message(player, text, [player], "text" if is_pgm else "accuse", step=int(is_pgm))
    accused = most_voted_player(votes)
    log.add_moderator_message(_undercover_verdict_text(accused, hidden, is_pgm=is_pgm))
    return votes, 2 if accused is None else int(accused != hidden)


def _undercover_verdict_text(accused: str | None, hidden: str, *, is_pgm: bool) -> str:
    """Return the moderator's last message.

    In games without a PGM model, it names the undercover as the winner in any case.
    """
    if accused is None and is_pgm:
        return f"There are even notes. The undercover {hidden} wins."
    if accused == hidden and is_pgm:
        winners = [player for player in PLAYERS if player != hidden]
        return f"The accusation is correct! {hidden} is the undercover! {winners} won!"
    if accused is None:
        verdict = "There are even votes. The accusation does not stand."
    else:
        word = "correct" if accused == hidden else "incorrect"
        verdict = f"The most-voted player is {accused}. The accusation is {word}."
    return f"{verdict} {hidden} is the undercover. {hidden} won the game!"
