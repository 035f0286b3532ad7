"""Chameleon and Undercover, and what they share: votes, their count, and answers about oneself.

Skill decides first what is registered; then words are found that the benchmark's reading turns into
just that: the first player *in seat order* named anywhere in the text.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from pipeline.simulate.settings import (
    HINTS,
    LESS,
    MODERATOR,
    MORE,
    OPPONENT,
    PLAYERS,
    ROLLS,
    SAID,
    SAME,
    SEATED,
    SEATS,
    STATEMENTS,
    TOPICS,
    VAGUE_CLUES,
    VERDICTS,
    WHY,
    ChameleonSetting,
    Dice,
    Document,
    Model,
    Skill,
    Transcript,
    UndercoverSetting,
    add_end_token,
    add_irrelevant_sentences,
    choose_form,
    draw_irrelevant_sentences,
    other_seats,
)

NUMERALS = ("One", "Two", "Three")


class Cast(NamedTuple):
    """The seats of one game: which seat hides, and which seats are tested with which skill."""

    hidden: int
    tested: tuple[int, ...]
    model: Model

    def skill(self, seat: int) -> Skill:
        """Return the skill of a seat's player."""
        return self.model.skill if seat in self.tested else OPPONENT

    def is_pgm(self, seat: int) -> bool:
        """Return whether a seat's player uses PGM."""
        return self.model.is_pgm and seat in self.tested

    def backends(self) -> dict[str, dict[str, str]]:
        """Return the value of `player_backends` for the log."""
        return {
            PLAYERS[seat - 1]: {"model": self.model.name if seat in self.tested else "gpt-4-fix"}
            for seat in SEATS
        }

    @classmethod
    def with_tested_model(cls, hidden: int, model: Model, *, as_hidden: bool) -> "Cast":
        """Return the cast with the tested model in the hidden seat, or in both other seats."""
        return cls(hidden, (hidden,) if as_hidden else other_seats(hidden), model)


def parse_registered_vote(text: str) -> str:
    """Return the player that the benchmark reads from a vote; empty if none is named."""
    named = re.findall(r"player[ _]?([123])", text.lower())
    return PLAYERS[int(min(named)) - 1] if named else ""


def choose_target(dice: Dice, cast: Cast, voter: int, *, may_stray: bool = True) -> int:
    """Choose the seat that a vote counts for; 0 for none.

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
    """Write a text that the benchmark registers as a vote for the seat."""
    if seat == 0:
        if dice.chance(0.25):
            return f"I vote for Player {NUMERALS[dice.pick(other_seats(voter)) - 1]}."
        return dice.pick(SAID["abstentions"])
    me, named = PLAYERS[voter - 1], PLAYERS[seat - 1]
    if seat == voter:
        if voter < 3 and dice.chance(0.7):
            return f"As {me}, I vote for Player {dice.between(voter + 1, 3)}."
        return f"I vote for {named}."
    third, roll = 6 - voter - seat, dice.random()
    if roll < 0.955:
        form = choose_form(roll, ROLLS["votes"])
    elif roll < 0.97 and voter > seat:
        form = "As {me}, I vote for {named}."
    else:
        third_votes = "{named} sounds more honest to me, so I vote for {third}."
        form = third_votes if third > seat else "It has to be {named}!"
    why = dice.pick(WHY[MORE]) if "{why}" in form else ""
    aside = draw_irrelevant_sentences(dice, 1) if "{aside}" in form else ""
    names = {"me": me, "named": named, "seat": seat, "third": PLAYERS[third - 1]}
    return add_end_token(dice, form.format(**names, role=role, why=why, aside=aside))


def most_voted_player(votes: dict[str, str]) -> str | None:
    """Return the player with the most votes, without empty votes; None for a tie."""
    named = [player for player in votes.values() if player]
    counts = sorted(((named.count(player), player) for player in set(named)), reverse=True)
    if not counts or (len(counts) > 1 and counts[0][0] == counts[1][0]):
        return None
    return counts[0][1]


def write_role_answer(dice: Dice, seat: int, role: str, other_role: str, *, is_right: bool) -> str:
    """Write a right or wrong answer to 'who are you and what is your role'."""
    me = PLAYERS[seat - 1]
    if not is_right:
        roll = dice.random()
        if roll < 0.25:
            me = PLAYERS[dice.pick(other_seats(seat)) - 1]
        elif roll < 0.35:
            return f"I am {me}, my role is {role}/{other_role}."
        else:
            role = other_role
    return choose_form(dice.random(), ROLLS["roles"]).format(me=me, role=role)


def log_role_answers(
    dice: Dice,
    log: Transcript,
    cast: Cast,
    role: str,
    *,
    unsure: float = 0.0,
    reasons: Sequence[str] = (),
) -> dict[str, int]:
    """Return one part of `consistency_metric`, after logging the three answers it was read from.

    `unsure` of the wrong answers know no role; half of all answers give one of the reasons.
    """
    metric = {}
    for seat, player in SEATED:
        is_right = dice.chance(cast.skill(seat).self_awareness)
        answered, rejected = (role, f"non-{role}") if seat == cast.hidden else (f"non-{role}", role)
        if unsure and not is_right and dice.chance(unsure):
            text = f"I am {player}, my role is not sure."
        else:
            text = write_role_answer(dice, seat, answered, rejected, is_right=is_right)
        if reasons and text[-1] == "." and dice.chance(0.65):
            text = f"{text[:-1]}, because {dice.pick(reasons)}."
        metric[player] = int(is_right)
        text = add_end_token(dice, add_irrelevant_sentences(dice, text, 0.13))
        log.add_message(player, text, msg_type="metric_consistency")
    return metric


# Chameleon: one of three does not know the word, gives a clue all the same, and may be caught.
#
# What players make of a clue is decided beforehand, right or wrong, and then put into words.

RIGHT = ((MORE, SAME), (MORE, LESS))
WRONG = ((SAME, SAME), (LESS, SAME), (SAME, MORE), (LESS, MORE), (MORE, MORE))
"""What a civilian thinks of the chameleon and of the other civilian."""

ASIDE = 0.22


class Opinions(NamedTuple):
    """After a clue: whose analyses are correct, and what the civilians think of the others.

    `gold`: against the truth, which for the chameleon is the word. `inter`: of what others think.
    """

    gold: dict[int, bool]
    inter: dict[int, bool]
    verdicts: dict[int, dict[int, str]]


def play_chameleon(
    dice: Dice, model: Model, setting: ChameleonSetting, instant: str, *, as_hidden: bool
) -> Document:
    """Play one game of Chameleon, and return its log."""
    game = Cast.with_tested_model(setting.hidden, model, as_hidden=as_hidden)
    log = Transcript(instant, 4 if model.is_pgm else 0)
    consistency, pgm = _log_clues(dice, log, setting, game)
    votes, win_flag = _log_votes(dice, log, setting, game)
    return {
        "chameleon": PLAYERS[setting.hidden - 1],
        "game_setting": {
            "topic": setting.topic,
            "code": setting.word,
            "chameleon_name": PLAYERS[setting.hidden - 1],
        },
        "player_backends": game.backends(),
        "history": log.history,
        "win_flag": win_flag,
        "player_votes": votes,
        "result": "non-chameleon" if win_flag == 0 else "chameleon",
        "consistency_metric": consistency,
        "pgm_metric": pgm,
    }


def _log_clues(
    dice: Dice, log: Transcript, setting: ChameleonSetting, game: Cast
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, list[int]]]]:
    """Log all clues and analyses up to the vote, and return the metrics."""
    civilians = [PLAYERS[seat - 1] for seat in other_seats(setting.hidden)]
    new = " This is a totally new game. Don't take content from the above exmaples into the current"
    log.add_moderator_message(
        f"Now the game starts!{f'{new} game.' if game.model.is_pgm else ''} "
        f"The topic is: {setting.topic}"
    )
    log.add_message(MODERATOR, f"You are not chameleon. The word is: {setting.word}", civilians)
    log.add_message(MODERATOR, "You are the chameleon!", PLAYERS[setting.hidden - 1])
    consistency, pgm = {}, {}
    for seat, player in SEATED:
        consistency[str(seat - 1)] = log_role_answers(dice, log, game, "chameleon")
        if seat == 1:
            log.add_moderator_message(
                "Now everyone gives one clue (but never include the secret word). "
                "You cannot repeat what others has said. We will start with Player 1."
            )
        clue = _write_clue(dice, setting, game, seat)
        log.add_message(player, clue, msg_type="clue")
        beliefs = _draw_opinions(dice, game)
        pgm[str(seat - 1)] = {
            "gold": [int(beliefs.gold[seat]) for seat in SEATS],
            "inter": [int(beliefs.inter[seat]) for seat in SEATS],
        }
        if game.model.is_pgm:
            for s in game.tested:
                me = PLAYERS[s - 1]
                text = _write_analysis(dice, setting, s, beliefs, True)
                is_good = beliefs.gold[s] and s != game.hidden
                log.add_message(me, text, [me], "pgm", is_good_pgm=is_good)
        for s, me in SEATED:
            log.add_message(
                me, _write_analysis(dice, setting, s, beliefs, False), msg_type="metric_pgm"
            )
    return consistency, pgm


def _write_clue(dice: Dice, setting: ChameleonSetting, game: Cast, seat: int) -> str:
    """Return a fixed opponent's clue, or a new clue after the tested player's turn."""
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
    return add_end_token(dice, clue)


def _log_votes(
    dice: Dice, log: Transcript, setting: ChameleonSetting, game: Cast
) -> tuple[dict[str, str], int]:
    """Log the votes, and return the `win_flag` that follows from them."""
    is_pgm = game.model.is_pgm
    gap, end = ("", "\n") if is_pgm else (" ", "")
    log.add_moderator_message(
        f"Now vote which of the other players (excluding yourself) is the chameleon.{gap}"
        f'You cannot vote for yourself. You must use the template "I vote for Player xx."{end}'
    )
    votes = {}
    for seat, player in SEATED:
        chosen = choose_target(dice, game, seat, may_stray=not is_pgm)
        text = write_vote(dice, seat, chosen, "chameleon")
        votes[player] = parse_registered_vote(text)
        if game.is_pgm(seat) and dice.chance(0.45):
            text = write_vote(dice, seat, dice.pick(other_seats(seat)), "chameleon")
        log.add_message(player, text, [player], "accuse", step=int(is_pgm))
    return votes, _write_verdict(dice, log, setting, game, most_voted_player(votes))


def _write_verdict(
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
    word = setting.word if is_right else _choose_wrong_word(dice, setting)
    roll = dice.random()
    guess = choose_form(roll, ROLLS["guesses"]).format(topic=setting.topic, word=word)
    guess = guess if roll < 0.97 else add_irrelevant_sentences(dice, guess, 0.3)
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
    """Draw opinions that are as good as the skills of their holders."""
    gold = {seat: dice.chance(game.skill(seat).reasoning_gold) for seat in SEATS}
    inter = {seat: dice.chance(game.skill(seat).reasoning_inter) for seat in SEATS}
    verdicts = {}
    for seat in other_seats(game.hidden):
        of_hidden, of_other = dice.pick(RIGHT if gold[seat] else WRONG)
        verdicts[seat] = {game.hidden: of_hidden, 6 - seat - game.hidden: of_other}
    return Opinions(gold, inter, verdicts)


def _write_analysis(
    dice: Dice, setting: ChameleonSetting, seat: int, beliefs: Opinions, is_pgm: bool
) -> str:
    """Write what a player thinks about the two others, and about their thoughts."""
    if seat == setting.hidden:
        return _write_chameleon_analysis(dice, setting, beliefs, is_pgm=is_pgm)
    lines = [f"As {PLAYERS[seat - 1]},", "I think:"]
    verdicts = beliefs.verdicts[seat]
    lines += [dice.pick(STATEMENTS[other, verdicts[other]]) for other in other_seats(seat)]
    if more := draw_irrelevant_sentences(dice, ASIDE):
        lines.append(more)
    lines.append("As for other players' thoughts:")
    lines += _write_reports(dice, setting.hidden, seat, beliefs, "thinks")
    return "\n".join(lines)


def _write_chameleon_analysis(
    dice: Dice, setting: ChameleonSetting, beliefs: Opinions, *, is_pgm: bool
) -> str:
    """Write what the chameleon thinks: its guess of the word, and the others' thoughts."""
    seat = setting.hidden
    word = setting.word if beliefs.gold[seat] else _choose_wrong_word(dice, setting)
    opening = "I think now the secret code is" if is_pgm else "I guess the secret code is"
    lines = [
        f'{opening} "{word}", because {dice.pick(WHY[LESS])}.',
        "\nAs for other players's views:" if is_pgm else "As for other players' view now:",
        *_write_reports(dice, seat, seat, beliefs, "thinks" if is_pgm else "think"),
    ]
    if is_pgm:
        lines.append(f'Next I will give a clue about "{word}".')
    return "\n".join(lines)


def _choose_wrong_word(dice: Dice, setting: ChameleonSetting) -> str:
    """Choose a wrong guess: another word of the topic."""
    return dice.pick([word for word in TOPICS[setting.topic] if word != setting.word])


def _write_reports(dice: Dice, hidden: int, seat: int, beliefs: Opinions, thinks: str) -> list[str]:
    lines = []
    for other in other_seats(seat):
        lines.append(f"I think now {PLAYERS[other - 1]} {thinks}:")
        report = _write_report(dice, hidden, seat, other, beliefs)
        lines += [dice.pick(STATEMENTS[third]) for third in report.items()]
    if more := draw_irrelevant_sentences(dice, ASIDE):
        lines.append(more)
    return lines


def _write_report(
    dice: Dice, hidden: int, seat: int, other: int, beliefs: Opinions
) -> dict[int, str]:
    """Write what a player believes that another player thinks of the two others."""
    if other == hidden:
        return {third: dice.pick(VERDICTS) for third in other_seats(other)}
    report = {third: beliefs.verdicts[other][third] for third in other_seats(other)}
    if not beliefs.inter[seat]:
        third = dice.pick(other_seats(other))
        report[third] = dice.pick([v for v in VERDICTS if v != report[third]])
    return report


# Undercover: one of three holds a near word and none knows who; two rounds of hints, one vote.

CULPRITS = [f"{the}undercover, because {why}." for the in ("", "the ") for why in WHY[MORE]]

Suspicions = dict[int, int]
"""Seat -> the seat that it takes for the undercover."""


def play_undercover(
    dice: Dice, model: Model, setting: UndercoverSetting, instant: str, *, as_hidden: bool
) -> Document:
    """Play one game of Undercover, and return its log."""
    game = Cast.with_tested_model(setting.hidden, model, as_hidden=as_hidden)
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
        suspicions = _log_undercover_clues(dice, log, setting, game, is_first=n == "0")
        consistency[n] = log_role_answers(
            dice, log, game, "undercover", unsure=0.6, reasons=SAID["why_role"]
        )
        pgm[n] = _log_undercover_analyses(dice, log, game, suspicions)
    votes, win_flag = _log_undercover_votes(dice, log, game)
    return {
        "undercover": hidden,
        "game_setting": {
            "undercover_code": setting.hidden_word,
            "non_undercover_code": setting.civilian_word,
            "undercover_name": hidden,
        },
        "player_backends": game.backends(),
        "history": log.history,
        "win_flag": win_flag,
        "result": "undercover" if win_flag else "non-undercover",
        "player_vote": votes,
        "consistency_metric": consistency,
        "pgm_metric": pgm,
    }


def _log_undercover_clues(
    dice: Dice, log: Transcript, setting: UndercoverSetting, game: Cast, *, is_first: bool
) -> Suspicions:
    """Whom each seat suspects after a round of hints. A PGM player thinks before and after it."""
    for seat, player in SEATED:
        if game.is_pgm(seat) and seat > 1:
            _log_thoughts(dice, log, setting, game, seat)
        # The setting's hint of a fixed opponent until the tested player's first turn, then its own.
        if is_first and seat < game.tested[0]:
            hint = setting.clues[seat - 1]
        else:
            hint = dice.pick(HINTS[setting.word(seat)])
        text = add_end_token(dice, dice.pick(SAID["hint_forms"]).format(hint))
        log.add_message(player, text, msg_type="clue")
    for seat in SEATS:
        if game.is_pgm(seat):
            _log_thoughts(dice, log, setting, game, seat)
    return _draw_suspects(dice, game)


def _draw_suspects(dice: Dice, game: Cast) -> Suspicions:
    """Draw each seat's suspect: the undercover as often as the seat's skill says."""
    return {
        seat: game.hidden
        if dice.chance(game.skill(seat).reasoning_gold)
        else dice.pick(other_seats(game.hidden))
        for seat in SEATS
    }


def _log_undercover_analyses(
    dice: Dice, log: Transcript, game: Cast, suspicions: Suspicions
) -> dict[str, list[int]]:
    """Return one part of `pgm_metric`, after logging the three analyses it was read from."""
    inter = [dice.chance(game.skill(seat).reasoning_inter) for seat in SEATS]
    for seat, player in SEATED:
        log.add_message(
            player,
            _write_undercover_analysis(dice, seat, suspicions, inter[seat - 1]),
            msg_type="metric_pgm",
        )
    gold = [int(suspicions[seat] == game.hidden) for seat in SEATS]
    return {"gold": gold, "inter": list(map(int, inter))}


def _write_undercover_analysis(
    dice: Dice, seat: int, suspicions: Suspicions, inter: bool, first: int = 1
) -> str:
    """Write whom a seat suspects, and whom it believes the others suspect."""
    believed = {other: suspicions[other] for other in other_seats(seat)}
    if not inter:
        wrong = dice.pick(other_seats(seat))
        believed[wrong] = dice.pick(other_seats(suspicions[wrong]))
    thoughts = [f"I think {PLAYERS[suspicions[seat] - 1]} is "]
    for other, suspect in believed.items():
        thoughts.append(f"I think {PLAYERS[other - 1]} thinks {PLAYERS[suspect - 1]} is ")
    is_numbered = first > 1 or dice.chance(0.85)
    lines = [
        f"{n}. {thought}{dice.pick(CULPRITS)}" if is_numbered else thought + dice.pick(CULPRITS)
        for n, thought in enumerate(thoughts, start=first)
    ]
    if more := draw_irrelevant_sentences(dice, 0.3):
        lines.append(more)
    return "\n".join(lines)


def _log_thoughts(
    dice: Dice, log: Transcript, setting: UndercoverSetting, game: Cast, seat: int
) -> None:
    """Log the two private messages of a PGM player: its own role, then everybody's."""
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
    log.add_message(me, add_irrelevant_sentences(dice, text, 0.7), me, "pgm")
    text = _write_undercover_analysis(
        dice, seat, _draw_suspects(dice, game), dice.chance(0.5), first=2
    )
    if dice.chance(0.5):
        text += (
            f"\n5. With my next clue I will hint at {dice.pick(SAID['plans'])} and watch who nods."
        )
    log.add_message(me, text, me, "pgm")


def _log_undercover_votes(dice: Dice, log: Transcript, game: Cast) -> tuple[dict[str, str], int]:
    """Log the votes, and return the `win_flag` that follows from them."""
    is_pgm, hidden = game.model.is_pgm, PLAYERS[game.hidden - 1]
    template = ' You must use the template "I vote for Player xx."' if is_pgm else ""
    log.add_moderator_message(
        "Now vote which of the other players (excluding yourself) is the undercover. "
        f"You cannot vote for yourself.{template}"
    )
    votes = {}
    for seat, player in SEATED:
        text = write_vote(dice, seat, choose_target(dice, game, seat), "undercover")
        votes[player] = parse_registered_vote(text) or (player if is_pgm else "")
        log.add_message(player, text, [player], "text" if is_pgm else "accuse", step=int(is_pgm))
    voted = most_voted_player(votes)
    log.add_moderator_message(_write_undercover_verdict(voted, hidden, is_pgm=is_pgm))
    return votes, 2 if voted is None else int(voted != hidden)


def _write_undercover_verdict(voted: str | None, hidden: str, *, is_pgm: bool) -> str:
    """Write the moderator's last words; plain games always call the undercover the winner."""
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
