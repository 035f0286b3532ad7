"""Prisoner's Dilemma: three players, five rounds, cooperate or defect.

A decision is registered as cooperate where its text contains 'cooperate', whatever the
text means.
"""

from pipeline.simulate.dice import Dice, fallen
from pipeline.simulate.log import Deal, Document, Transcript, outage
from pipeline.simulate.players import OPPONENT, PLAYERS, SEATS
from pipeline.simulate.rounds import NEXT, OPENING, decide, forecast, head
from pipeline.simulate.sentences import SAID, ended
from pipeline.simulate.settings import Payoffs, payoffs

N_ROUNDS = 5
OUTAGE_RATE = 0.01

# To cooperate, and to defect.
DECISIONS = {
    0.79: (("Cooperate.", "Cooperate"), ("Defect.", "Defect")),
    0.93: (SAID["cooperate_at_length"], SAID["defect_at_length"]),
    1.00: (SAID["cooperate_oddly"], SAID["defect_oddly"]),
}


def play(deal: Deal) -> Document:
    """The log of one game."""
    dice, model = deal.dice, deal.model
    setting = payoffs(deal.seed, deal.place)
    topic = _topic(setting)
    log = Transcript(deal.instant)
    log.moderate(
        "Now the game starts!",
        topic,
        "This the first round. Now everyone give your decision. We will start with Player 1.",
    )
    scores = [0, 0, 0]
    silence = dice.between(0, 3 * N_ROUNDS - 1) if dice.chance(OUTAGE_RATE) else -1
    for n in range(1, N_ROUNDS + 1):
        if n > 1 and model.is_pgm:
            forecast(dice, log, setting.tested, SAID["moves_of_prisoners"], OPENING)
        decisions = []
        for seat in SEATS:
            skill = model.skill if seat == setting.tested else OPPONENT
            decisions.append(_decision(dice, is_defect=dice.chance(skill.defection)))
        if silence // 3 == n - 1:
            decisions[silence % 3] = outage(dice, PLAYERS[silence % 3])
        decide(log, decisions)
        _pay(setting, decisions, scores)
        if n < N_ROUNDS:
            first, second, third = decisions
            log.moderate(
                f"Round {n} is over.\nPlayer 1 said: {first} \nPlayer 2 said: {second}  \n"
                f"Player 3 said: {third}\n{NEXT}"
            )
    log.moderate(f"{N_ROUNDS} rounds of decisions have been completed.")
    return {
        **head(dice, setting.tested, model, topic, topic_values=setting.points),
        "history": log.history,
        "result": "win" if scores[setting.tested - 1] == max(scores) else "lose",
        "scores": scores,
    }


def is_defection(text: str) -> bool:
    """What the benchmark registers."""
    return "cooperate" not in text.lower()


def _decision(dice: Dice, *, is_defect: bool) -> str:
    return ended(dice, dice.pick(fallen(dice.random(), DECISIONS)[is_defect]))


def _pay(setting: Payoffs, decisions: list[str], scores: list[int]) -> None:
    """Adds a round's points to the scores."""
    defects = [is_defection(text) for text in decisions]
    n = sum(defects)
    for_traitors = (0, setting.one_defect, setting.two_defect, setting.defect)[n]
    for_others = setting.cooperate if n == 0 else 0
    for place, is_defect in enumerate(defects):
        scores[place] += for_traitors if is_defect else for_others


def _topic(setting: Payoffs) -> str:
    return (
        "\nThe scoring is as follows:\n"
        f"- If all three choose to cooperate, they each get {setting.cooperate} points.\n"
        f"- If all three choose to defect, they each get {setting.defect} point.\n"
        "- If one chooses to defect and the others choose to cooperate, the betrayer gets "
        f" {setting.one_defect} points and the collaborators each get 0 points.\n"
        "- If two choose to defect and the other chooses to cooperate, the betrayers each get "
        f"{setting.two_defect} points, and the collaborator gets 0 points.\n"
        f"The game is played for {N_ROUNDS} rounds, and the total score is calculated at the end "
        "to determine the winner.\n"
    )
