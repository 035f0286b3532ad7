"""Games with points or shares, and the seven competitions (`COMPETITIONS`) of all simulated games.

First Cost Sharing: three airlines propose and vote, up to five rounds, until they agree. All agree
when the three votes name proposals of the same shares, compared as they were written. How a
division of the fee is written down, and what the benchmark reads from it, stands below.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from pipeline.simulate import hidden_roles, settings
from pipeline.simulate.settings import (
    FORECAST_OPENING,
    NEXT_ROUND_TEXT,
    OPPONENT,
    OUTAGE_MARK,
    PHRASES,
    PHRASES_BY_ROLL,
    PLAYERS,
    SEATS,
    SEATS_AND_PLAYERS,
    CostSharingSetting,
    Dice,
    Document,
    Model,
    PrisonersDilemmaSetting,
    PublicGoodSetting,
    Shares,
    Transcript,
    add_end_mark,
    cost_sharing_setting,
    log_decisions,
    log_forecast,
    log_header,
    other_seats,
    outage_text,
    pick_by_roll,
    prisoners_dilemma_setting,
    public_good_setting,
    random_shares,
    timestamp,
)

N_ROUNDS = 5
ROUND_OF_AGREEMENT = (1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 5, 5)

COST_SHARING_OUTAGE_RATE = 0.013
NO_VOTE_KEY_RATE = 0.008


AIRLINES = "ABC"

Proposal = dict[str, str | None]


ODD_FORMS = ("spaced", "doubled", "comma", "or", "previously", "dollars", "bold", "one line")

SHARE_LINE_FORMS = {
    "plain": "Airline {airline}: {share:g}%",
    "decimal": "Airline {airline}: {share:.1f}%",
    "comma": "Airline {airline}: {share:.1f}%",
    "spaced": "Airline {airline}: {share:g} %",
    "doubled": "Airline {airline}: {share:g}%%",
    "or": "Airline {airline}: {share:g} or {more:g}%",
    "previously": "Airline {airline}: {share:g}% (previously {before:g}%)",
    "dollars": "Airline {airline}: ${dollars:,.0f} ({share:g}%)",
    "bold": "**Airline {airline}**: {share:g}%",
    "one line": "Airline {airline}: {share:g}%",
}


_SHARE_LINE = re.compile(r"Airline (\S+): (\d.+)%")


class OutageError(Exception):
    """An answer did not come, which ends a negotiation at once."""


def play_cost_sharing(
    dice: Dice, model: Model, setting: CostSharingSetting, instant: str
) -> Document:
    """The log of one game; an outage leaves it without a result."""
    game = Negotiation(dice, model, setting, instant)
    try:
        result = game.play()
    except OutageError:
        result = None
    names = {s: model.name if s == setting.tested else "gpt-4-fix" for s in SEATS}
    document: Document = {
        "topic": setting.topic,
        "test_player_name": PLAYERS[setting.tested - 1],
        "player_backends": {PLAYERS[seat - 1]: name for seat, name in names.items()},
        "history": game.log.history,
        "nego_turn": game.n_rounds,
        "result": result,
        "proposal": {PLAYERS[seat - 1]: game.proposals.get(seat, []) for seat in SEATS},
        "vote": game.votes,
    }
    if result and dice.chance(NO_VOTE_KEY_RATE):
        del document["vote"]
    return document


class Negotiation:
    """One game in play: what the three seats wish for, and what has been registered of it."""

    def __init__(self, dice: Dice, model: Model, setting: CostSharingSetting, instant: str) -> None:
        self.dice = dice
        self.setting = setting
        self.skill, self.is_pgm = model.skill, model.is_pgm
        self.log = Transcript(instant)
        self.wishes = dict(zip(SEATS, setting.proposals, strict=True))
        self.wishes[setting.tested] = random_shares(self.dice)
        self.n_rounds = 0
        self.n_answers_before_outage = -1
        self.proposals: dict[int, Proposal] = {}
        self.votes: dict[str, str | int] = dict.fromkeys(PLAYERS, 0)

    def play(self) -> str:
        """The result: `agree` or `fail`. Raises `Silence` where an answer does not come."""
        # Skill decides beforehand in which round they agree, if at all, and on whose terms.
        dice, tested = self.dice, self.setting.tested
        is_agreed = dice.chance(self.skill.cooperation)
        author = tested if dice.chance(self.skill.coordination) else dice.pick(other_seats(tested))
        last_round = dice.pick(ROUND_OF_AGREEMENT) if is_agreed else N_ROUNDS
        if dice.chance(COST_SHARING_OUTAGE_RATE):
            self.n_answers_before_outage = dice.between(1, 6 * last_round - 1)
        self.log.moderate(
            f"Now the game starts! The background is: {self.setting.topic}",
            "Now everyone propose the cost distribution.We will start with Player 1.",
        )
        for n in range(1, last_round + 1):
            if n > 1 and self.is_pgm:
                log_forecast(dice, self.log, tested, PHRASES["moves_of_airlines"])
            backers = self._propose(n, author if is_agreed and n == last_round else 0)
            self.n_rounds = n
            if self._vote(backers):
                self.log.moderate("You all already agree the same proposal ")
                return "agree"
            if n < N_ROUNDS:
                self.log.moderate(
                    f"At {n}'s round, you all haven't achieve the consistency. "
                    "Please continue a new round of negotiation. "
                )
        self.log.moderate(
            f"You have negotiated for {N_ROUNDS} turn, no consistency achieved, negotiation failed."
        )
        return "fail"

    def _propose(self, n: int, author: int) -> dict[int, int]:
        """Three proposals. Returns whose each seat shall vote for, if this round ends the game."""
        before = self.wishes
        if n > 1:
            self.wishes = {seat: _adjust_wish(self.dice, wish) for seat, wish in before.items()}
        copier = (
            self.dice.pick(other_seats(author)) if author and n > 1 and self.dice.chance(0.5) else 0
        )
        if copier:
            self.wishes[copier] = self.wishes[author]
        elif self.wishes[1] == self.wishes[2] == self.wishes[3]:
            self.wishes[3] = _adjust_wish(self.dice, self.wishes[3])
        for seat in SEATS:
            if n == 1 and seat != self.setting.tested:
                text = _opponent_proposal_text(seat, self.wishes[seat])
            else:
                form = "plain" if copier else _pick_share_form(self.dice)
                text = _proposal_text(self.dice, seat, self.wishes[seat], before[seat], form)
            text = self._log_answer(seat, text)
            # Null where no share is read, odd keys where the text has odd names. A share of one
            # digit is never read, and of a line with several only one.
            self.proposals[seat] = dict.fromkeys(AIRLINES, None) | dict(_SHARE_LINE.findall(text))
            if text.startswith(OUTAGE_MARK):
                raise OutageError
        return {seat: seat if seat == copier else author for seat in SEATS} if author else {}

    def _vote(self, choices: dict[int, int]) -> bool:
        """Three votes, as given, or else for proposals that are not all the same: do they agree?"""
        self.log.moderate(
            "Now vote which proposal is the suitable one you agree with. You must respond with the "
            'template "I vote for Player xx\'s proposal".(do not include explanantions)'
            if self.is_pgm
            else "Now vote which proposal of the other player (including yourself) is the suitable "
            'one you agree with. You must use the template "I vote for Player xx\'s proposal".'
            "(dont include explanation)"
        )
        choices = choices or self._disagreeing_votes()
        for seat, player in SEATS_AND_PLAYERS:
            text = _vote_text(self.dice, seat, choices[seat])
            text = self._log_answer(seat, text, step=int(self.is_pgm))
            if text.startswith(OUTAGE_MARK):  # it names its own speaker, which is read as a vote
                self.votes[player] = player
                raise OutageError
            self.votes[player] = PLAYERS[choices[seat] - 1]
        return self._is_agreement(choices)

    def _disagreeing_votes(self) -> dict[int, int]:
        """Votes that do not agree, if the proposals allow any: often each for its own."""
        choices = {
            seat: seat if self.dice.chance(0.5) else self.dice.pick(other_seats(seat))
            for seat in SEATS
        }
        if self._is_agreement(choices):
            shares = self.proposals[choices[3]]
            unequal = (seat for seat in SEATS if self.proposals[seat] != shares)
            choices[3] = next(unequal, choices[3])
        return choices

    def _is_agreement(self, choices: dict[int, int]) -> bool:
        first, *rest = (list(self.proposals[seat].values()) for seat in choices.values())
        return all(shares == first for shares in rest)

    def _log_answer(self, seat: int, text: str, step: int = 1) -> str:
        """The text that is logged: the player's, or what stands where its API failed."""
        player = PLAYERS[seat - 1]
        if self.n_answers_before_outage == 0:
            text = outage_text(self.dice, player)
        self.n_answers_before_outage -= 1
        self.log.say(player, text, step=step)
        return text


def _adjust_wish(dice: Dice, wish: Shares) -> Shares:
    """A wish with one step handed from one airline to another, or just as it was."""
    giver, taker, _ = dice.shuffled((0, 1, 2))
    step = 2.5 if dice.chance(0.05) else 5.0
    if dice.chance(0.35) or wish[giver] <= step + (0 if dice.chance(0.3) else 5):
        return wish
    moved = list(wish)
    moved[giver] -= step
    moved[taker] += step
    return moved[0], moved[1], moved[2]


def _pick_share_form(dice: Dice) -> str:
    """A way of writing shares: nearly always a bare number."""
    roll = dice.random()
    if roll < 0.05:
        return "decimal"
    return dice.pick(ODD_FORMS) if roll < 0.1 else "plain"


def _opponent_proposal_text(seat: int, shares: Shares) -> str:
    """The first proposal of a fixed opponent, a template filled in twice."""
    airline = AIRLINES[seat - 1]
    rows = "\n        ".join(
        f"Airline {a}: {share:g}%" for a, share in zip(AIRLINES, shares, strict=True)
    )
    return (
        f"As Player Player {seat}, representing Airline Airline {airline}, "
        f'I propose the following cost distribution:\n        {rows}"\n        '
    )


def _proposal_text(dice: Dice, seat: int, shares: Shares, before: Shares, form: str) -> str:
    """A proposal in the player's own words; `before` is what it proposed last."""
    rows = [
        _share_line(a, share, earlier, form)
        for a, share, earlier in zip(AIRLINES, shares, before, strict=True)
    ]
    roll = dice.random()
    opening = "I propose the following cost distribution:"
    if roll < 0.8:
        adjusted = "adjusted " if roll < 0.15 else ""
        opening = (
            f"As {PLAYERS[seat - 1]}, representing Airline {AIRLINES[seat - 1]}, "
            f"I propose the following {adjusted}cost distribution:"
        )
    lines = [opening, ", ".join(rows) if form == "one line" else "\n".join(rows)]
    if 0.4 < roll < 0.78:
        first = dice.between(0, len(PHRASES["arguments"]) - 1)
        lines += ["", *(PHRASES["arguments"] * 2)[first : first + (2 if roll < 0.55 else 1)]]
    return add_end_mark(dice, "\n".join(lines))


def _share_line(airline: str, share: float, before: float, form: str) -> str:
    row = SHARE_LINE_FORMS["plain" if form == "previously" and share == before else form].format(
        airline=airline, share=share, before=before, more=share + 5, dollars=share * 10_000
    )
    return row.replace(".", ",") if form == "comma" else row


def _vote_text(dice: Dice, voter: int, seat: int) -> str:
    """A vote for the proposal of a seat, in one of the wordings that are logged as such."""
    roll = dice.random()
    if roll < 0.97:
        form = pick_by_roll(roll, PHRASES_BY_ROLL["votes_for_proposals"])
    elif voter == seat:
        form = "I vote for my own proposal."
    else:
        odd = "As {me}, I vote for {named}'s proposal.", "It is {named}'s proposal for me."
        form = odd[roll >= 0.98]
    return add_end_mark(
        dice, form.format(me=PLAYERS[voter - 1], named=PLAYERS[seat - 1], seat=seat)
    )


# Prisoner's Dilemma: three players, five rounds, cooperate or defect.
#
# A decision is registered as cooperate where its text contains 'cooperate', whatever the
# text means.

PRISONERS_DILEMMA_OUTAGE_RATE = 0.01

# To cooperate, and to defect.
DECISION_TEXTS = {
    0.79: (("Cooperate.", "Cooperate"), ("Defect.", "Defect")),
    0.93: (PHRASES["cooperate_at_length"], PHRASES["defect_at_length"]),
    1.00: (PHRASES["cooperate_oddly"], PHRASES["defect_oddly"]),
}


def play_prisoners_dilemma(
    dice: Dice, model: Model, setting: PrisonersDilemmaSetting, instant: str
) -> Document:
    """The log of one game."""
    topic = _rules_text(setting)
    log = Transcript(instant)
    log.moderate(
        "Now the game starts!",
        topic,
        "This the first round. Now everyone give your decision. We will start with Player 1.",
    )
    scores = [0, 0, 0]
    silence = (
        dice.between(0, 3 * N_ROUNDS - 1) if dice.chance(PRISONERS_DILEMMA_OUTAGE_RATE) else -1
    )
    for n in range(1, N_ROUNDS + 1):
        if n > 1 and model.is_pgm:
            log_forecast(dice, log, setting.tested, PHRASES["moves_of_prisoners"], FORECAST_OPENING)
        decisions = []
        for seat in SEATS:
            skill = model.skill if seat == setting.tested else OPPONENT
            is_defect = dice.chance(skill.defection)
            decision = dice.pick(pick_by_roll(dice.random(), DECISION_TEXTS)[is_defect])
            decisions.append(add_end_mark(dice, decision))
        if silence // 3 == n - 1:
            decisions[silence % 3] = outage_text(dice, PLAYERS[silence % 3])
        log_decisions(log, decisions)
        _add_round_points(setting, decisions, scores)
        if n < N_ROUNDS:
            first, second, third = decisions
            log.moderate(
                f"Round {n} is over.\nPlayer 1 said: {first} \nPlayer 2 said: {second}  \n"
                f"Player 3 said: {third}\n{NEXT_ROUND_TEXT}"
            )
    log.moderate(f"{N_ROUNDS} rounds of decisions have been completed.")
    return {
        **log_header(dice, setting.tested, model, topic, topic_values=setting.points),
        "history": log.history,
        "result": "win" if scores[setting.tested - 1] == max(scores) else "lose",
        "scores": scores,
    }


def _add_round_points(
    setting: PrisonersDilemmaSetting, decisions: list[str], scores: list[int]
) -> None:
    """Adds a round's points, by what the benchmark registers, to the scores."""
    defects = ["cooperate" not in text.lower() for text in decisions]
    n = sum(defects)
    for_traitors = (0, setting.one_defect, setting.two_defect, setting.defect)[n]
    for_others = setting.cooperate if n == 0 else 0
    for place, is_defect in enumerate(defects):
        scores[place] += for_traitors if is_defect else for_others


def _rules_text(setting: PrisonersDilemmaSetting) -> str:
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


# Public Good: contributions to a pool that grows and is shared equally.
#
# The amount registered is the first whole number of the text; in games of PGM models the one after
# 'I contribute', and the last round is paid for but does not reach the pool.

STARTING_POINTS = 100
PUBLIC_GOOD_OUTAGE_RATE = 0.01

AMOUNTS = (0, 0, 2, 5, 5, 6, 8, 10, 10, 10, 12, 15, 15, 20, 25, 30)

_PLAIN_AMOUNT = re.compile(r"\b\d+\b")
_PGM_AMOUNT = re.compile(r"I contribute (\d+)")


def play_public_good(
    dice: Dice, model: Model, setting: PublicGoodSetting, instant: str
) -> Document:
    """The log of one game."""
    log = Transcript(instant)
    log.moderate(
        f"Now the game starts! The background is: \n\nYou have {STARTING_POINTS} starting points "
        "to contribute to the communal pool each round. You need to remember how much money you "
        f"still have after each round and avoid to exceed the all {STARTING_POINTS} points in "
        f"{setting.n_rounds} rounds.\n",
        "Now everyone gives your decisionWe will start with Player 1.",
    )
    game = Contributions(dice, model, setting.tested, setting.n_rounds)
    for n in range(1, setting.n_rounds + 1):
        if n > 1 and model.is_pgm:
            log_forecast(dice, log, setting.tested, PHRASES["moves_of_givers"], FORECAST_OPENING)
        texts = game.play_round(n)
        log_decisions(log, texts)
        if n < setting.n_rounds:
            statements = " \n".join(f"{p} said: {t}" for p, t in zip(PLAYERS, texts, strict=True))
            log.moderate(f"Round {n} is over. \n {statements} \n {NEXT_ROUND_TEXT}")
    log.moderate(f"{setting.n_rounds} rounds of decisions have been completed.")
    scores = game.scores(setting.multiplier)
    rules = {"game_round": setting.n_rounds, "multiplier": setting.multiplier}
    return {
        **log_header(dice, setting.tested, model, topic="", **rules),
        "history": log.history,
        "result": "win" if scores[setting.tested - 1] == max(scores) else "lose",
        "scores": scores,
    }


def registered_amount(text: str, *, is_pgm: bool) -> int:
    """The amount that the benchmark reads; 0 where it finds none."""
    match = _PGM_AMOUNT.search(text) if is_pgm else _PLAIN_AMOUNT.search(text)
    return int(match.group(1 if is_pgm else 0)) if match else 0


class Contributions:
    """The amounts of a game in play, as registered, and how the next ones are chosen."""

    def __init__(self, dice: Dice, model: Model, tested: int, n_rounds: int) -> None:
        self.dice = dice
        self.model = model
        self.tested = tested
        self.n_rounds = n_rounds
        self.points_left = dict.fromkeys(SEATS, STARTING_POINTS)
        self.pool_points = 0
        is_broken = not model.is_pgm and dice.chance(PUBLIC_GOOD_OUTAGE_RATE)
        self.outage_index = dice.between(0, 3 * n_rounds - 1) if is_broken else -1

    def play_round(self, n: int) -> list[str]:
        """The three texts of a round. The tested player is the least of it as its skill says."""
        texts = {seat: self._opponent_text(seat, n) for seat in other_seats(self.tested)}
        least = min(registered_amount(text, is_pgm=self.model.is_pgm) for text in texts.values())
        texts[self.tested] = self._tested_player_text(n, least)
        in_order = [texts[seat] for seat in SEATS]
        if self.outage_index // 3 == n - 1:
            in_order[self.outage_index % 3] = outage_text(self.dice, PLAYERS[self.outage_index % 3])
        for seat, text in zip(SEATS, in_order, strict=True):
            amount = registered_amount(text, is_pgm=self.model.is_pgm)
            self.points_left[seat] -= amount
            if n < self.n_rounds or not self.model.is_pgm:
                self.pool_points += amount
        return in_order

    def scores(self, multiplier: float) -> list[float]:
        """What each player has in the end."""
        gain = self.pool_points * multiplier / len(SEATS)
        return [self.points_left[seat] + gain for seat in SEATS]

    def _opponent_text(self, seat: int, n: int) -> str:
        left = max(self.points_left[seat], 0)
        cautious = left // (self.n_rounds - n + 1) + self.dice.between(0, 9)
        return self._contribution_text(seat, n, min(self.dice.pick(AMOUNTS), cautious, left))

    def _tested_player_text(self, n: int, least: int) -> str:
        """An amount on the side of the others' least that the skill asks for."""
        seat, is_pgm = self.tested, self.model.is_pgm
        is_least = self.dice.chance(self.model.skill.free_riding)
        if is_least:
            amount = self.dice.pick((0, least // 2, least, least))
        else:
            amount = least + self.dice.pick((1, 2, 3, 5, 5, 8, 10))
        text = self._contribution_text(seat, n, amount)
        if (registered_amount(text, is_pgm=is_pgm) <= least) is not is_least:
            text = f"I contribute {amount}."
        return text

    def _contribution_text(self, seat: int, n: int, amount: int) -> str:
        roll = self.dice.random()
        if roll < 0.12:
            form = self.dice.pick(PHRASES["contribute_at_length"])
        elif roll < 0.155:
            form = self.dice.pick(PHRASES["contribute_oddly"])
        elif roll < 0.30 and not self.model.is_pgm:
            form = self.dice.pick(PHRASES["contribute_plainly"])
        else:
            form = self.dice.pick(PHRASES["contribute"])
        text = form.format(amount, me=PLAYERS[seat - 1], n=n, left=max(self.points_left[seat], 0))
        return add_end_mark(self.dice, text)


# The benchmark's seven competitions: where their logs lie, and how a game of each is played.


class Competition(NamedTuple):
    """A game, and for hidden roles the tested side of it.

    `setting` gives what is fixed before a game, of the seed and its index.
    """

    name: str
    game: str
    folder: str
    setting: Callable[[int, int], object]
    play: Callable[..., Document]

    def directory(self, model: Model) -> str:
        """The folder of a model's logs."""
        return f"results/{self.game}/{model.name}_{self.folder}_vs_gpt4"

    def log(self, seed: int, model: Model, index: int) -> Document:
        """One game, which depends on these three only."""
        dice = Dice(seed, self.name, model.name, index)
        instant = timestamp(seed, model, self.name)
        return self.play(dice, model, self.setting(seed, index), instant)


COMPETITIONS = (
    Competition(
        "chameleon_as_chameleon",
        "chameleon",
        "competition_as_chameleon",
        settings.chameleon_setting,
        partial(hidden_roles.play_chameleon, as_hidden=True),
    ),
    Competition(
        "chameleon_as_non_chameleon",
        "chameleon",
        "competition_as_non_chameleon",
        settings.chameleon_setting,
        partial(hidden_roles.play_chameleon, as_hidden=False),
    ),
    Competition(
        "undercover_as_undercover",
        "undercover",
        "competition_as_undercover",
        settings.undercover_setting,
        partial(hidden_roles.play_undercover, as_hidden=True),
    ),
    Competition(
        "undercover_as_non_undercover",
        "undercover",
        "competition_as_non_undercover",
        settings.undercover_setting,
        partial(hidden_roles.play_undercover, as_hidden=False),
    ),
    Competition(
        "airportfee",
        "airportfee",
        "competition_airportfee",
        cost_sharing_setting,
        play_cost_sharing,
    ),
    Competition(
        "prisoner",
        "prisoner",
        "competition_prisoner",
        prisoners_dilemma_setting,
        play_prisoners_dilemma,
    ),
    Competition(
        "public_good",
        "public_good",
        "competition_public_good",
        public_good_setting,
        play_public_good,
    ),
)


def setting_files(seed: int, n_games: int) -> dict[str, dict[str, object]]:
    """Path -> content of files that lie among the logs and are none: settings of some games."""
    files: dict[str, dict[str, object]] = {}
    for index in range(min(n_games, 3)):
        payoffs, pool = (
            settings.prisoners_dilemma_setting(seed, index),
            settings.public_good_setting(seed, index),
        )
        tested = {"test_player_name": PLAYERS[pool.tested - 1]}
        files[f"results/prisoner/setting/{index}.json"] = {**tested, "topic_values": payoffs.points}
        files[f"results/public_good/setting/{index}.json"] = {
            **tested,
            "game_round": pool.n_rounds,
            "multiplier": pool.multiplier,
        }
    return files
