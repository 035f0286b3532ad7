"""Chameleon and Undercover, and what they share: votes, their count, and answers about oneself.

Skill decides first what is registered; then words are found that the benchmark's reading turns into
just that: the first player *in seat order* named anywhere in the text.
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
    """The seats of one game: who hides, and who is tested with which skill."""

    hidden: int
    tested: tuple[int, ...]
    model: Model

    def skill(self, seat: int) -> Skill:
        """Return the skill of a seat's player."""
        return self.model.skill if seat in self.tested else OPPONENT

    def is_pgm(self, seat: int) -> bool:
        """Return whether a seat's player uses PGM."""
        return self.model.is_pgm and seat in self.tested

    def player_backends(self) -> dict[str, dict[str, str]]:
        """`player_backends` of the log."""
        return {
            PLAYERS[seat - 1]: {"model": self.model.name if seat in self.tested else "gpt-4-fix"}
            for seat in SEATS
        }

    @classmethod
    def assign(cls, hidden: int, model: Model, *, as_hidden: bool) -> "Cast":
        """The tested model in the hidden seat, or in both of the others."""
        return cls(hidden, (hidden,) if as_hidden else other_seats(hidden), model)


def registered_vote(text: str) -> str:
    """The player that the benchmark reads from a vote, empty where none is named."""
    named = re.findall(r"player[ _]?([123])", text.lower())
    return PLAYERS[int(min(named)) - 1] if named else ""


def choose_vote_target(dice: Dice, cast: Cast, voter: int, *, may_stray: bool = True) -> int:
    """The seat that a vote is to count for; 0 for none.

    Votes for nobody and for oneself stray from the rules; tested players cast more of them.
    """
    one, other = other_seats(voter)
    nobody, oneself = (0.16, 0.26) if voter in cast.tested else (0.01, 0.02)
    if voter != cast.hidden:
        is_tested = voter in cast.tested
        skill = cast.skill(voter if is_tested else cast.hidden)
        if dice.chance(skill.judgement if is_tested else 1 - skill.concealment):
            return cast.hidden
        one = other = other if one == cast.hidden else one
    else:
        nobody, oneself = nobody / 3, oneself / 3
    roll = dice.random()
    if may_stray and roll < oneself:
        return 0 if roll < nobody else voter
    return one if dice.chance(0.5) else other


def write_vote(dice: Dice, voter: int, seat: int, role: str) -> str:
    """Words that are registered as a vote for the seat."""
    if seat == 0:
        if dice.chance(0.25):
            return f"I vote for Player {NUMERALS[dice.pick(other_seats(voter)) - 1]}."
        return dice.pick(PHRASES["abstentions"])
    me, named = PLAYERS[voter - 1], PLAYERS[seat - 1]
    if seat == voter:
        if voter < 3 and dice.chance(0.7):
            return f"As {me}, I vote for Player {dice.between(voter + 1, 3)}."
        return f"I vote for {named}."
    third, roll = 6 - voter - seat, dice.random()
    if roll < 0.955:
        form = pick_by_roll(roll, PHRASES_BY_ROLL["votes"])
    elif roll < 0.97 and voter > seat:
        form = "As {me}, I vote for {named}."
    else:
        third_votes = "{named} sounds more honest to me, so I vote for {third}."
        form = third_votes if third > seat else "It has to be {named}!"
    why = dice.pick(REASONS[MORE_SUSPICIOUS]) if "{why}" in form else ""
    aside = random_aside(dice, 1) if "{aside}" in form else ""
    names = {"me": me, "named": named, "seat": seat, "third": PLAYERS[third - 1]}
    return add_end_mark(dice, form.format(**names, role=role, why=why, aside=aside))


def most_voted_player(votes: dict[str, str]) -> str | None:
    """The player whom most votes name, empty ones left out; null for a tie."""
    named = [player for player in votes.values() if player]
    counts = sorted(((named.count(player), player) for player in set(named)), reverse=True)
    if not counts or (len(counts) > 1 and counts[0][0] == counts[1][0]):
        return None
    return counts[0][1]


def role_answer_text(dice: Dice, seat: int, role: str, other_role: str, *, is_right: bool) -> str:
    """An answer to 'who are you and what is your role', right or wrong."""
    me = PLAYERS[seat - 1]
    if not is_right:
        roll = dice.random()
        if roll < 0.25:
            me = PLAYERS[dice.pick(other_seats(seat)) - 1]
        elif roll < 0.35:
            return f"I am {me}, my role is {role}/{other_role}."
        else:
            role = other_role
    return pick_by_roll(dice.random(), PHRASES_BY_ROLL["roles"]).format(me=me, role=role)


def log_role_answers(
    dice: Dice,
    log: Transcript,
    cast: Cast,
    role: str,
    *,
    unsure: float = 0.0,
    reasons: Sequence[str] = (),
) -> dict[str, int]:
    """One part of `consistency_metric`, after the three answers that it was read from.

    `unsure` of the wrong answers know no role; half of all answers give one of the reasons.
    """
    metric = {}
    for seat, player in SEATS_AND_PLAYERS:
        is_right = dice.chance(cast.skill(seat).self_awareness)
        answered, rejected = (role, f"non-{role}") if seat == cast.hidden else (f"non-{role}", role)
        if unsure and not is_right and dice.chance(unsure):
            text = f"I am {player}, my role is not sure."
        else:
            text = role_answer_text(dice, seat, answered, rejected, is_right=is_right)
        if reasons and text[-1] == "." and dice.chance(0.65):
            text = f"{text[:-1]}, because {dice.pick(reasons)}."
        metric[player] = int(is_right)
        text = add_end_mark(dice, add_aside(dice, text, 0.13))
        log.add_message(player, text, msg_type="metric_consistency")
    return metric


# Chameleon: one of three does not know the word, gives a clue all the same, and may be caught.
#
# What players make of a clue is decided beforehand, right or wrong, and then put into words.

CORRECT_VERDICTS = ((MORE_SUSPICIOUS, NO_CHANGE), (MORE_SUSPICIOUS, LESS_SUSPICIOUS))
WRONG_VERDICTS = (
    (NO_CHANGE, NO_CHANGE),
    (LESS_SUSPICIOUS, NO_CHANGE),
    (NO_CHANGE, MORE_SUSPICIOUS),
    (LESS_SUSPICIOUS, MORE_SUSPICIOUS),
    (MORE_SUSPICIOUS, MORE_SUSPICIOUS),
)
"""What a civilian thinks of the chameleon and of the other civilian."""

ASIDE_CHANCE = 0.22


class Opinions(NamedTuple):
    """After one clue: whose analyses are right, and what the civilians think of the others.

    `gold`: against the truth, which for the chameleon is the word. `inter`: of what others think.
    """

    gold: dict[int, bool]
    inter: dict[int, bool]
    verdicts: dict[int, dict[int, str]]


def play_chameleon(
    dice: Dice, model: Model, setting: ChameleonSetting, instant: str, *, as_hidden: bool
) -> Document:
    """The log of one game."""
    game = Cast.assign(setting.hidden, model, as_hidden=as_hidden)
    log = Transcript(instant, 4 if model.is_pgm else 0)
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
    """The metrics, after all has been said up to the vote."""
    civilians = [PLAYERS[seat - 1] for seat in other_seats(setting.hidden)]
    new = " This is a totally new game. Don't take content from the above exmaples into the current"
    log.add_moderator_message(
        f"Now the game starts!{f'{new} game.' if game.model.is_pgm else ''} "
        f"The topic is: {setting.topic}"
    )
    log.add_message(MODERATOR, f"You are not chameleon. The word is: {setting.word}", civilians)
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
        beliefs = _draw_opinions(dice, game)
        pgm[str(seat - 1)] = {
            "gold": [int(beliefs.gold[seat]) for seat in SEATS],
            "inter": [int(beliefs.inter[seat]) for seat in SEATS],
        }
        if game.model.is_pgm:
            for s in game.tested:
                me = PLAYERS[s - 1]
                text = _analysis_text(dice, setting, s, beliefs, True)
                is_good = beliefs.gold[s] and s != game.hidden
                log.add_message(me, text, [me], "pgm", is_good_pgm=is_good)
        for s, me in SEATS_AND_PLAYERS:
            log.add_message(
                me, _analysis_text(dice, setting, s, beliefs, False), msg_type="metric_pgm"
            )
    return consistency, pgm


def _clue_text(dice: Dice, setting: ChameleonSetting, game: Cast, seat: int) -> str:
    """The setting's clue of a fixed opponent until the tested player's turn, a fresh one after."""
    if seat < game.tested[0]:
        clue = setting.clues[seat - 1]
    else:
        known = VAGUE_CLUES if seat == setting.hidden else TOPICS[setting.topic][setting.word]
        clue = dice.pick(known)
    roll = dice.random()
    if roll < 0.35:
        clue = f"My clue: {clue}"
    elif roll < 0.5:
        clue = f"My clue is: {clue[0].lower()}{clue[1:]}"
    return add_end_mark(dice, clue)


def _play_vote(
    dice: Dice, log: Transcript, setting: ChameleonSetting, game: Cast
) -> tuple[dict[str, str], int]:
    """The votes as logged, and the `win_flag` that follows from them."""
    is_pgm = game.model.is_pgm
    gap, end = ("", "\n") if is_pgm else (" ", "")
    log.add_moderator_message(
        f"Now vote which of the other players (excluding yourself) is the chameleon.{gap}"
        f'You cannot vote for yourself. You must use the template "I vote for Player xx."{end}'
    )
    votes = {}
    for seat, player in SEATS_AND_PLAYERS:
        chosen = choose_vote_target(dice, game, seat, may_stray=not is_pgm)
        text = write_vote(dice, seat, chosen, "chameleon")
        votes[player] = registered_vote(text)
        if game.is_pgm(seat) and dice.chance(0.45):
            text = write_vote(dice, seat, dice.pick(other_seats(seat)), "chameleon")
        log.add_message(player, text, [player], "accuse", step=int(is_pgm))
    return votes, _play_verdict(dice, log, setting, game, most_voted_player(votes))


def _play_verdict(
    dice: Dice, log: Transcript, setting: ChameleonSetting, game: Cast, voted: str | None
) -> int:
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
    as_hidden = setting.hidden in game.tested
    skill = game.model.skill
    is_right = dice.chance(skill.guessing if as_hidden else 1 - skill.secrecy)
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
    """Opinions as good as the skills of those who hold them."""
    gold = {seat: dice.chance(game.skill(seat).reasoning_gold) for seat in SEATS}
    inter = {seat: dice.chance(game.skill(seat).reasoning_inter) for seat in SEATS}
    verdicts = {}
    for seat in other_seats(game.hidden):
        of_hidden, of_other = dice.pick(CORRECT_VERDICTS if gold[seat] else WRONG_VERDICTS)
        verdicts[seat] = {game.hidden: of_hidden, 6 - seat - game.hidden: of_other}
    return Opinions(gold, inter, verdicts)


def _analysis_text(
    dice: Dice, setting: ChameleonSetting, seat: int, beliefs: Opinions, is_pgm: bool
) -> str:
    """What a player writes about the two others, and about what they think."""
    if seat == setting.hidden:
        return _chameleon_analysis_text(dice, setting, beliefs, is_pgm=is_pgm)
    lines = [f"As {PLAYERS[seat - 1]},", "I think:"]
    verdicts = beliefs.verdicts[seat]
    lines += [dice.pick(VERDICT_SENTENCES[other, verdicts[other]]) for other in other_seats(seat)]
    if more := random_aside(dice, ASIDE_CHANCE):
        lines.append(more)
    lines.append("As for other players' thoughts:")
    lines += _report_lines(dice, setting.hidden, seat, beliefs, "thinks")
    return "\n".join(lines)


def _chameleon_analysis_text(
    dice: Dice, setting: ChameleonSetting, beliefs: Opinions, *, is_pgm: bool
) -> str:
    """What the chameleon writes: its guess of the word, and what the others think."""
    seat = setting.hidden
    word = setting.word if beliefs.gold[seat] else _wrong_word(dice, setting)
    opening = "I think now the secret code is" if is_pgm else "I guess the secret code is"
    lines = [
        f'{opening} "{word}", because {dice.pick(REASONS[LESS_SUSPICIOUS])}.',
        "\nAs for other players's views:" if is_pgm else "As for other players' view now:",
        *_report_lines(dice, seat, seat, beliefs, "thinks" if is_pgm else "think"),
    ]
    if is_pgm:
        lines.append(f'Next I will give a clue about "{word}".')
    return "\n".join(lines)


def _wrong_word(dice: Dice, setting: ChameleonSetting) -> str:
    """A wrong guess: another word of the topic."""
    return dice.pick([word for word in TOPICS[setting.topic] if word != setting.word])


def _report_lines(dice: Dice, hidden: int, seat: int, beliefs: Opinions, thinks: str) -> list[str]:
    lines = []
    for other in other_seats(seat):
        lines.append(f"I think now {PLAYERS[other - 1]} {thinks}:")
        report = _reported_verdicts(dice, hidden, seat, other, beliefs)
        lines += [dice.pick(VERDICT_SENTENCES[third]) for third in report.items()]
    if more := random_aside(dice, ASIDE_CHANCE):
        lines.append(more)
    return lines


def _reported_verdicts(
    dice: Dice, hidden: int, seat: int, other: int, beliefs: Opinions
) -> dict[int, str]:
    """What a player believes that another thinks of the two besides."""
    if other == hidden:
        return {third: dice.pick(VERDICTS) for third in other_seats(other)}
    report = {third: beliefs.verdicts[other][third] for third in other_seats(other)}
    if not beliefs.inter[seat]:
        third = dice.pick(other_seats(other))
        report[third] = dice.pick([v for v in VERDICTS if v != report[third]])
    return report


# Undercover: one of three holds a near word and none knows who; two rounds of hints, one vote.

UNDERCOVER_CLAIMS = [
    f"{the}undercover, because {why}." for the in ("", "the ") for why in REASONS[MORE_SUSPICIOUS]
]

Suspicions = dict[int, int]
"""Seat -> the seat that it takes for the undercover."""


def play_undercover(
    dice: Dice, model: Model, setting: UndercoverSetting, instant: str, *, as_hidden: bool
) -> Document:
    """The log of one game."""
    game = Cast.assign(setting.hidden, model, as_hidden=as_hidden)
    log = Transcript(instant, 0 if model.is_pgm else 1)
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
    for n in ("0", "1"):
        if n == "1":
            log.add_moderator_message(
                "Now we starting another round of giving clue, we still start from Player 1"
            )
        suspicions = _play_undercover_clues(dice, log, setting, game, is_first=n == "0")
        consistency[n] = log_role_answers(
            dice, log, game, "undercover", unsure=0.6, reasons=PHRASES["why_role"]
        )
        pgm[n] = _log_undercover_analyses(dice, log, game, suspicions)
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
    """Whom each seat suspects after a round of hints. A PGM player thinks before and after it."""
    for seat, player in SEATS_AND_PLAYERS:
        if game.is_pgm(seat) and seat > 1:
            _log_private_thoughts(dice, log, setting, game, seat)
        # The setting's hint of a fixed opponent until the tested player's first turn, then its own.
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
    """Each seat's suspect: the undercover as often as the seat's skill says."""
    return {
        seat: game.hidden
        if dice.chance(game.skill(seat).reasoning_gold)
        else dice.pick(other_seats(game.hidden))
        for seat in SEATS
    }


def _log_undercover_analyses(
    dice: Dice, log: Transcript, game: Cast, suspicions: Suspicions
) -> dict[str, list[int]]:
    """One part of `pgm_metric`, after the three analyses that it was read from."""
    inter = [dice.chance(game.skill(seat).reasoning_inter) for seat in SEATS]
    for seat, player in SEATS_AND_PLAYERS:
        log.add_message(
            player,
            _undercover_analysis_text(dice, seat, suspicions, inter[seat - 1]),
            msg_type="metric_pgm",
        )
    gold = [int(suspicions[seat] == game.hidden) for seat in SEATS]
    return {"gold": gold, "inter": list(map(int, inter))}


def _undercover_analysis_text(
    dice: Dice, seat: int, suspicions: Suspicions, inter: bool, first: int = 1
) -> str:
    """Whom a seat suspects, and whom it believes the others suspect: rightly, where `inter`."""
    believed = {other: suspicions[other] for other in other_seats(seat)}
    if not inter:
        wrong = dice.pick(other_seats(seat))
        believed[wrong] = dice.pick(other_seats(suspicions[wrong]))
    thoughts = [f"I think {PLAYERS[suspicions[seat] - 1]} is "]
    for other, suspect in believed.items():
        thoughts.append(f"I think {PLAYERS[other - 1]} thinks {PLAYERS[suspect - 1]} is ")
    is_numbered = first > 1 or dice.chance(0.85)
    lines = [
        f"{n}. {thought}{dice.pick(UNDERCOVER_CLAIMS)}"
        if is_numbered
        else thought + dice.pick(UNDERCOVER_CLAIMS)
        for n, thought in enumerate(thoughts, start=first)
    ]
    if more := random_aside(dice, 0.3):
        lines.append(more)
    return "\n".join(lines)


def _log_private_thoughts(
    dice: Dice, log: Transcript, setting: UndercoverSetting, game: Cast, seat: int
) -> None:
    """The two private messages of a PGM player: its own role, then everybody's."""
    me, (one, other) = PLAYERS[seat - 1], other_seats(seat)
    described, role = dice.pick(
        (
            (setting.word(seat), "a non-undercover"),
            ("some other word", "the undercover"),
            (setting.word(seat), "not sure of my role"),
        )
    )
    number = "1. " if dice.chance(0.6) else ""
    text = (
        f"{number}Based on the clues, {PLAYERS[one - 1]} and {PLAYERS[other - 1]} seem to be "
        f"describing something related to {described}. Therefore I am {role}."
    )
    log.add_message(me, add_aside(dice, text, 0.7), me, "pgm")
    text = _undercover_analysis_text(
        dice, seat, _draw_suspicions(dice, game), dice.chance(0.5), first=2
    )
    if dice.chance(0.5):
        plan = dice.pick(PHRASES["plans"])
        text += f"\n5. With my next clue I will hint at {plan} and watch who nods."
    log.add_message(me, text, me, "pgm")


def _play_undercover_vote(dice: Dice, log: Transcript, game: Cast) -> tuple[dict[str, str], int]:
    """The votes as logged, and the `win_flag` that follows from them."""
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
    voted = most_voted_player(votes)
    log.add_moderator_message(_undercover_verdict_text(voted, hidden, is_pgm=is_pgm))
    return votes, 2 if voted is None else int(voted != hidden)


def _undercover_verdict_text(voted: str | None, hidden: str, *, is_pgm: bool) -> str:
    """The moderator's last words; in plain games they call the undercover the winner regardless."""
    if voted is None and is_pgm:
        return f"There are even notes. The undercover {hidden} wins."
    if voted == hidden and is_pgm:
        winners = [player for player in PLAYERS if player != hidden]
        return f"The accusation is correct! {hidden} is the undercover! {winners} won!"
    if voted is None:
        verdict = "There are even votes. The accusation does not stand."
    else:
        word = "correct" if voted == hidden else "incorrect"
        verdict = f"The most-voted player is {voted}. The accusation is {word}."
    return f"{verdict} {hidden} is the undercover. {hidden} won the game!"
