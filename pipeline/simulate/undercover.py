"""Undercover: one of three holds a near word and none knows who; two rounds of hints, one vote."""

from pipeline.simulate.dice import Dice
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
from pipeline.simulate.sentences import MORE, SAID, WHY, asides, ended, rambling
from pipeline.simulate.settings import HINTS, Pair, pair

CULPRITS = [f"{the}undercover, because {why}." for the in ("", "the ") for why in WHY[MORE]]

Suspicions = dict[int, int]
"""Seat -> the seat that it takes for the undercover."""


def play(deal: Deal, *, as_hidden: bool) -> Document:
    """The log of one game."""
    dice, model = deal.dice, deal.model
    setting = pair(deal.seed, deal.place)
    game = cast(setting.hidden, model, as_hidden=as_hidden)
    log = Transcript(deal.instant, 0 if model.is_pgm else 1)
    hidden = PLAYERS[setting.hidden - 1]
    log.moderate("Now the game starts!", step=0)
    log.say(MODERATOR, f"Your word is: {setting.hidden_word}", hidden, step=0)
    for seat in others(setting.hidden):
        log.say(MODERATOR, f"Your word is: {setting.civilian_word}", PLAYERS[seat - 1], step=0)
    log.moderate(
        "Now everyone gives one clue (but never include the secret word). "
        "You cannot repeat what others has said. We will start with Player 1."
    )
    consistency, pgm = {}, {}
    for n in ("0", "1"):
        if n == "1":
            log.moderate(
                "Now we starting another round of giving clue, we still start from Player 1"
            )
        suspicions = _clues(dice, log, setting, game, is_first=n == "0")
        consistency[n], answers = role_answers(
            dice, game, "undercover", unsure=0.6, reasons=SAID["why_role"]
        )
        log.analyses(answers, "metric_consistency")
        pgm[n] = _analyses(dice, log, game, suspicions)
    votes, win_flag = _votes(dice, log, game)
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


def _clues(dice: Dice, log: Transcript, setting: Pair, game: Cast, *, is_first: bool) -> Suspicions:
    """Whom each seat suspects after a round of hints. A PGM player thinks before and after it."""
    for seat, player in SEATED:
        if game.is_pgm(seat) and seat > 1:
            _think(dice, log, setting, game, seat)
        log.say(player, _clue(dice, setting, game, seat, is_first=is_first), msg_type="clue")
    for seat in SEATS:
        if game.is_pgm(seat):
            _think(dice, log, setting, game, seat)
    return _suspicions(dice, game)


def _clue(dice: Dice, setting: Pair, game: Cast, seat: int, *, is_first: bool) -> str:
    """The setting's hint of a fixed opponent until the tested player's first turn, then its own."""
    if is_first and seat < game.tested[0]:
        hint = setting.clues[seat - 1]
    else:
        word = setting.hidden_word if seat == setting.hidden else setting.civilian_word
        hint = dice.pick(HINTS[word])
    return ended(dice, dice.pick(SAID["hint_forms"]).format(hint))


def _suspicions(dice: Dice, game: Cast) -> Suspicions:
    """Each seat's suspect: the undercover as often as the seat's skill says."""
    suspects = {}
    for seat in SEATS:
        if dice.chance(game.skill(seat).reasoning_gold):
            suspects[seat] = game.hidden
        else:
            suspects[seat] = dice.pick(others(game.hidden))
    return suspects


def _analyses(
    dice: Dice, log: Transcript, game: Cast, suspicions: Suspicions
) -> dict[str, list[int]]:
    """One part of `pgm_metric`, after the three analyses that it was read from."""
    inter = [dice.chance(game.skill(seat).reasoning_inter) for seat in SEATS]
    for seat, player in SEATED:
        log.say(player, _analysis(dice, seat, suspicions, inter[seat - 1]), msg_type="metric_pgm")
    gold = [int(suspicions[seat] == game.hidden) for seat in SEATS]
    return {"gold": gold, "inter": list(map(int, inter))}


def _analysis(dice: Dice, seat: int, suspicions: Suspicions, inter: bool, first: int = 1) -> str:
    """Whom a seat suspects, and whom it believes the others suspect: rightly, where `inter`."""
    believed = {other: suspicions[other] for other in others(seat)}
    if not inter:
        wrong = dice.pick(others(seat))
        believed[wrong] = dice.pick(others(suspicions[wrong]))
    thoughts = [f"I think {PLAYERS[suspicions[seat] - 1]} is "]
    for other, suspect in believed.items():
        thoughts.append(f"I think {PLAYERS[other - 1]} thinks {PLAYERS[suspect - 1]} is ")
    is_numbered = first > 1 or dice.chance(0.85)
    lines = [
        f"{n}. {thought}{dice.pick(CULPRITS)}" if is_numbered else thought + dice.pick(CULPRITS)
        for n, thought in enumerate(thoughts, start=first)
    ]
    if more := asides(dice, 0.3):
        lines.append(more)
    return "\n".join(lines)


def _think(dice: Dice, log: Transcript, setting: Pair, game: Cast, seat: int) -> None:
    """The two private messages of a PGM player: its own role, then everybody's."""
    me, (one, other) = PLAYERS[seat - 1], others(seat)
    own_word = setting.hidden_word if seat == setting.hidden else setting.civilian_word
    described, role = dice.pick(
        (
            (own_word, "a non-undercover"),
            ("some other word", "the undercover"),
            (own_word, "not sure of my role"),
        )
    )
    number = "1. " if dice.chance(0.6) else ""
    text = (
        f"{number}Based on the clues, {PLAYERS[one - 1]} and {PLAYERS[other - 1]} seem to be "
        f"describing something related to {described}. Therefore I am {role}."
    )
    log.say(me, rambling(dice, text, 0.7), me, "pgm")
    text = _analysis(dice, seat, _suspicions(dice, game), dice.chance(0.5), first=2)
    if dice.chance(0.5):
        text += (
            f"\n5. With my next clue I will hint at {dice.pick(SAID['plans'])} and watch who nods."
        )
    log.say(me, text, me, "pgm")


def _votes(dice: Dice, log: Transcript, game: Cast) -> tuple[dict[str, str], int]:
    """The votes as logged, and the `win_flag` that follows from them."""
    is_pgm, hidden = game.model.is_pgm, PLAYERS[game.hidden - 1]
    template = ' You must use the template "I vote for Player xx."' if is_pgm else ""
    log.moderate(
        "Now vote which of the other players (excluding yourself) is the undercover. "
        f"You cannot vote for yourself.{template}"
    )
    votes = {}
    for seat, player in SEATED:
        text = vote_text(dice, seat, target(dice, game, seat), "undercover")
        votes[player] = registered(text) or (player if is_pgm else "")
        log.say(player, text, [player], "text" if is_pgm else "accuse", step=int(is_pgm))
    voted = accused(votes)
    log.moderate(_verdict(voted, hidden, is_pgm=is_pgm))
    return votes, 2 if voted is None else int(voted != hidden)


def _verdict(voted: str | None, hidden: str, *, is_pgm: bool) -> str:
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
