"""Chameleon: what players make of a clue, right or wrong as it was decided beforehand."""

from typing import NamedTuple

from pipeline.simulate.dice import Dice
from pipeline.simulate.hidden_roles import Cast
from pipeline.simulate.players import PLAYERS, SEATS, others
from pipeline.simulate.sentences import LESS, MORE, SAME, STATEMENTS, VERDICTS, WHY, asides
from pipeline.simulate.settings import Secret
from pipeline.simulate.words import TOPICS

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


def opinions(dice: Dice, game: Cast) -> Opinions:
    """Opinions as good as the skills of those who hold them."""
    gold = {seat: dice.chance(game.skill(seat).reasoning_gold) for seat in SEATS}
    inter = {seat: dice.chance(game.skill(seat).reasoning_inter) for seat in SEATS}
    verdicts = {}
    for seat in others(game.hidden):
        of_hidden, of_other = dice.pick(RIGHT if gold[seat] else WRONG)
        verdicts[seat] = {game.hidden: of_hidden, 6 - seat - game.hidden: of_other}
    return Opinions(gold, inter, verdicts)


def civilian(dice: Dice, hidden: int, seat: int, beliefs: Opinions) -> str:
    """What a civilian writes about the two others, and about what they think."""
    lines = [f"As {PLAYERS[seat - 1]},", "I think:"]
    verdicts = beliefs.verdicts[seat]
    lines += [dice.pick(STATEMENTS[other, verdicts[other]]) for other in others(seat)]
    if more := asides(dice, ASIDE):
        lines.append(more)
    lines.append("As for other players' thoughts:")
    lines += _reports(dice, hidden, seat, beliefs, "thinks")
    return "\n".join(lines)


def chameleon(dice: Dice, setting: Secret, beliefs: Opinions, *, is_pgm: bool) -> str:
    """What the chameleon writes: its guess of the word, and what the others think."""
    seat = setting.hidden
    word = setting.word if beliefs.gold[seat] else other_word(dice, setting)
    opening = "I think now the secret code is" if is_pgm else "I guess the secret code is"
    lines = [
        f'{opening} "{word}", because {dice.pick(WHY[LESS])}.',
        "\nAs for other players's views:" if is_pgm else "As for other players' view now:",
        *_reports(dice, seat, seat, beliefs, "thinks" if is_pgm else "think"),
    ]
    if is_pgm:
        lines.append(f'Next I will give a clue about "{word}".')
    return "\n".join(lines)


def other_word(dice: Dice, setting: Secret) -> str:
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
