"""Chameleon: one of three does not know the word, gives a clue all the same, and may be caught.

What players make of a clue is decided beforehand, right or wrong, and then put into words.
"""

from typing import NamedTuple

from pipeline.simulate.dice import Dice, fallen
from pipeline.simulate.hidden_roles import (
    Cast,
    accused,
    cast,
    registered,
    role_answers,
    target,
    vote_text,
)
from pipeline.simulate.log import MODERATOR, Deal, Document, Transcript
from pipeline.simulate.players import PLAYERS, SEATED, SEATS, others
from pipeline.simulate.sentences import (
    LESS,
    MORE,
    ROLLS,
    SAME,
    STATEMENTS,
    TOPICS,
    VAGUE_CLUES,
    VERDICTS,
    WHY,
    asides,
    ended,
    rambling,
)
from pipeline.simulate.settings import Secret, secret

RIGHT = ((MORE, SAME), (MORE, LESS))
WRONG = ((SAME, SAME), (LESS, SAME), (SAME, MORE), (LESS, MORE), (MORE, MORE))
"""What a civilian thinks of the chameleon and of the other civilian."""

ASIDE = 0.22


class Opinions(NamedTuple):
    """After one clue: whose analyses are right, and what the civilians think of the others.

    `gold`: against the truth, which for the chameleon is the word. `inter`: of what others think.
    """

    gold: dict[int, bool]
    inter: dict[int, bool]
    verdicts: dict[int, dict[int, str]]

    def metric(self) -> dict[str, list[int]]:
        """One part of `pgm_metric`."""
        return {
            "gold": [int(self.gold[seat]) for seat in SEATS],
            "inter": [int(self.inter[seat]) for seat in SEATS],
        }


def play(deal: Deal, *, as_hidden: bool) -> Document:
    """The log of one game."""
    dice, model = deal.dice, deal.model
    setting = secret(deal.seed, deal.place)
    game = cast(setting.hidden, model, as_hidden=as_hidden)
    log = Transcript(deal.instant, 4 if model.is_pgm else 0)
    consistency, pgm = _clues(dice, log, setting, game)
    votes, win_flag = _votes(dice, log, setting, game)
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


def _clues(
    dice: Dice, log: Transcript, setting: Secret, game: Cast
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, list[int]]]]:
    """The metrics, after all has been said up to the vote."""
    civilians = [PLAYERS[seat - 1] for seat in others(setting.hidden)]
    new = " This is a totally new game. Don't take content from the above exmaples into the current"
    log.moderate(
        f"Now the game starts!{f'{new} game.' if game.model.is_pgm else ''} "
        f"The topic is: {setting.topic}"
    )
    log.say(MODERATOR, f"You are not chameleon. The word is: {setting.word}", civilians)
    log.say(MODERATOR, "You are the chameleon!", PLAYERS[setting.hidden - 1])
    consistency, pgm = {}, {}
    for seat, player in SEATED:
        consistency[str(seat - 1)], answers = role_answers(dice, game, "chameleon")
        log.analyses(answers, "metric_consistency")
        if seat == 1:
            log.moderate(
                "Now everyone gives one clue (but never include the secret word). "
                "You cannot repeat what others has said. We will start with Player 1."
            )
        clue = _clue(dice, setting, game, seat)
        log.say(player, clue, msg_type="clue")
        beliefs = _opinions(dice, game)
        pgm[str(seat - 1)] = beliefs.metric()
        if game.model.is_pgm:
            for s in game.tested:
                me = PLAYERS[s - 1]
                text = _analysis(dice, setting, s, beliefs, True)
                is_good = beliefs.gold[s] and s != game.hidden
                log.say(me, text, [me], "pgm", is_good_pgm=is_good)
        for s in SEATS:
            text = _analysis(dice, setting, s, beliefs, False)
            log.say(PLAYERS[s - 1], text, msg_type="metric_pgm")
    return consistency, pgm


def _analysis(dice: Dice, setting: Secret, seat: int, beliefs: Opinions, is_pgm: bool) -> str:
    if seat == setting.hidden:
        return _by_chameleon(dice, setting, beliefs, is_pgm=is_pgm)
    return _by_civilian(dice, setting.hidden, seat, beliefs)


def _clue(dice: Dice, setting: Secret, game: Cast, seat: int) -> str:
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
    return ended(dice, clue)


def _votes(dice: Dice, log: Transcript, setting: Secret, game: Cast) -> tuple[dict[str, str], int]:
    """The votes as logged, and the `win_flag` that follows from them."""
    is_pgm = game.model.is_pgm
    gap, end = ("", "\n") if is_pgm else (" ", "")
    log.moderate(
        f"Now vote which of the other players (excluding yourself) is the chameleon.{gap}"
        f'You cannot vote for yourself. You must use the template "I vote for Player xx."{end}'
    )
    votes = {}
    for seat, player in SEATED:
        chosen = target(dice, game, seat, may_stray=not is_pgm)
        text = vote_text(dice, seat, chosen, "chameleon")
        votes[player] = registered(text)
        if game.is_pgm(seat) and dice.chance(0.45):
            text = vote_text(dice, seat, dice.pick(others(seat)), "chameleon")
        log.say(player, text, [player], "accuse", step=int(is_pgm))
    return votes, _verdict(dice, log, setting, game, accused(votes))


def _verdict(dice: Dice, log: Transcript, setting: Secret, game: Cast, voted: str | None) -> int:
    hidden = PLAYERS[setting.hidden - 1]
    is_pgm = game.model.is_pgm
    if voted is None:
        log.moderate(
            f"There are even notes. The chameleon {hidden} wins."
            if is_pgm
            else "There are even votes. The accusation does not stand. "
            f"{hidden} is the chameleon. {hidden} won the game!"
        )
        return 3
    if voted != hidden:
        log.moderate(
            f"The most-voted player is {voted}. The accusation is incorrect. "
            f"{hidden} is the chameleon. {hidden} won the game!"
        )
        return 2
    log.moderate(
        f"The accusation is correct! {hidden} is the chameleon! Now {hidden} can guess the secret "
        'code. You should say: I guess the code is "..."'
    )
    as_hidden = setting.hidden in game.tested
    skill = game.model.skill
    is_right = dice.chance(skill.guessing if as_hidden else 1 - skill.secrecy)
    word = setting.word if is_right else _other_word(dice, setting)
    guess = _guess(dice, setting, word)
    log.say(hidden, guess, hidden, "guess" if is_pgm else "text", step=int(is_pgm))
    if is_right:
        log.moderate(
            f"{hidden} guessed the code correctly! The secret word is {setting.word}. {hidden} won!"
        )
        return 1
    winners = [PLAYERS[seat - 1] for seat in others(setting.hidden)]
    log.moderate(
        f"{hidden} guessed the code wrong! The secret word is {setting.word}. {winners} won!"
    )
    return 0


def _guess(dice: Dice, setting: Secret, word: str) -> str:
    roll = dice.random()
    text = fallen(roll, ROLLS["guesses"]).format(topic=setting.topic, word=word)
    return text if roll < 0.97 else rambling(dice, text, 0.3)


def _opinions(dice: Dice, game: Cast) -> Opinions:
    """Opinions as good as the skills of those who hold them."""
    gold = {seat: dice.chance(game.skill(seat).reasoning_gold) for seat in SEATS}
    inter = {seat: dice.chance(game.skill(seat).reasoning_inter) for seat in SEATS}
    verdicts = {}
    for seat in others(game.hidden):
        of_hidden, of_other = dice.pick(RIGHT if gold[seat] else WRONG)
        verdicts[seat] = {game.hidden: of_hidden, 6 - seat - game.hidden: of_other}
    return Opinions(gold, inter, verdicts)


def _by_civilian(dice: Dice, hidden: int, seat: int, beliefs: Opinions) -> str:
    """What a civilian writes about the two others, and about what they think."""
    lines = [f"As {PLAYERS[seat - 1]},", "I think:"]
    verdicts = beliefs.verdicts[seat]
    lines += [dice.pick(STATEMENTS[other, verdicts[other]]) for other in others(seat)]
    if more := asides(dice, ASIDE):
        lines.append(more)
    lines.append("As for other players' thoughts:")
    lines += _reports(dice, hidden, seat, beliefs, "thinks")
    return "\n".join(lines)


def _by_chameleon(dice: Dice, setting: Secret, beliefs: Opinions, *, is_pgm: bool) -> str:
    """What the chameleon writes: its guess of the word, and what the others think."""
    seat = setting.hidden
    word = setting.word if beliefs.gold[seat] else _other_word(dice, setting)
    opening = "I think now the secret code is" if is_pgm else "I guess the secret code is"
    lines = [
        f'{opening} "{word}", because {dice.pick(WHY[LESS])}.',
        "\nAs for other players's views:" if is_pgm else "As for other players' view now:",
        *_reports(dice, seat, seat, beliefs, "thinks" if is_pgm else "think"),
    ]
    if is_pgm:
        lines.append(f'Next I will give a clue about "{word}".')
    return "\n".join(lines)


def _other_word(dice: Dice, setting: Secret) -> str:
    """A wrong guess: another word of the topic."""
    return dice.pick([word for word in TOPICS[setting.topic] if word != setting.word])


def _reports(dice: Dice, hidden: int, seat: int, beliefs: Opinions, thinks: str) -> list[str]:
    lines = []
    for other in others(seat):
        lines.append(f"I think now {PLAYERS[other - 1]} {thinks}:")
        report = _report(dice, hidden, seat, other, beliefs)
        lines += [dice.pick(STATEMENTS[third]) for third in report.items()]
    if more := asides(dice, ASIDE):
        lines.append(more)
    return lines


def _report(dice: Dice, hidden: int, seat: int, other: int, beliefs: Opinions) -> dict[int, str]:
    """What a player believes that another thinks of the two besides."""
    if other == hidden:
        return {third: dice.pick(VERDICTS) for third in others(other)}
    report = {third: beliefs.verdicts[other][third] for third in others(other)}
    if not beliefs.inter[seat]:
        third = dice.pick(others(other))
        report[third] = dice.pick([v for v in VERDICTS if v != report[third]])
    return report
