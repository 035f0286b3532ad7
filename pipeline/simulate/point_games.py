"""Simulated games with points or shares, and the seven competitions of all simulated games.

First Cost Sharing: three airlines propose shares of a fee and vote, for up to five rounds. They
agree if the three votes name proposals with equal shares, compared as they are written. Then
Prisoner's Dilemma, Public Good and `COMPETITIONS`.

Used by `pipeline.simulate`; depends on `pipeline.simulate.settings` and
`pipeline.simulate.hidden_roles`.
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
    add_end_mark_by_chance,
    api_failure_text,
    cost_sharing_setting,
    log_decisions_to_moderator,
    log_header,
    log_private_forecast,
    other_seats,
    pick_by_roll,
    prisoners_dilemma_setting,
    public_good_setting,
    random_shares,
    random_timestamp,
)

N_ROUNDS = 5
ROUND_OF_AGREEMENT = (1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 5, 5)

COST_SHARING_OUTAGE_RATE = 0.013
NO_VOTE_KEY_RATE = 0.008


AIRLINES = "ABC"

Proposal = dict[str, str | None]


UNUSUAL_NOTATIONS = (
    "spaced",
    "doubled",
    "comma",
    "or",
    "previously",
    "dollars",
    "bold",
    "one line",
)

SHARE_LINE_TEMPLATES = {
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
    """A model did not answer because its API failed, which ends a negotiation at once."""


def play_cost_sharing(
    dice: Dice, model: Model, setting: CostSharingSetting, timestamp: str
) -> Document:
    """Play a game of Cost Sharing and return its log.

    Args:
        dice: The random numbers.
        model: The tested model.
        setting: The tested seat, the airlines and the first proposals.
        timestamp: The timestamp of all messages.

    Returns:
        The log; without a result if a missing answer ended the game.
    """
    game = Negotiation(dice, model, setting, timestamp)
    try:
        result = game.play_and_return_result()
    except OutageError:
        result = None
    document: Document = {
        "topic": setting.topic,
        "test_player_name": PLAYERS[setting.tested_seat - 1],
        "player_backends": {
            PLAYERS[seat - 1]: model.name if seat == setting.tested_seat else "gpt-4-fix"
            for seat in SEATS
        },
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
    """A game of Cost Sharing in progress.

    Attributes:
        log: The transcript.
        n_rounds: The number of rounds that were played.
        proposals: By seat, the shares that the benchmark registers for its last proposal.
        votes: By player, the target of its last vote; 0 without a vote.
        wishes: By seat, the shares that it proposes.
        n_answers_before_outage: The number of answers until an outage; negative if none comes.
    """

    def __init__(
        self, dice: Dice, model: Model, setting: CostSharingSetting, timestamp: str
    ) -> None:
        self.dice = dice
        self.setting = setting
        self.skill, self.is_pgm = model.skill, model.is_pgm
        self.log = Transcript(timestamp)
        self.wishes = dict(zip(SEATS, setting.proposals, strict=True))
        self.wishes[setting.tested_seat] = random_shares(self.dice)
        self.n_rounds = 0
        self.n_answers_before_outage = -1
        self.proposals: dict[int, Proposal] = {}
        self.votes: dict[str, str | int] = dict.fromkeys(PLAYERS, 0)

    def play_and_return_result(self) -> str:
        """Play all rounds and return whether the players agreed.

        Returns:
            `agree` or `fail`.

        Raises:
            OutageError: If an answer is missing.
        """
        # The skill decides first whether and when the players agree, and on whose proposal.
        dice, tested_seat = self.dice, self.setting.tested_seat
        has_agreement = dice.chance(self.skill.cooperation)
        author = (
            tested_seat
            if dice.chance(self.skill.coordination)
            else dice.pick(other_seats(tested_seat))
        )
        last_round = dice.pick(ROUND_OF_AGREEMENT) if has_agreement else N_ROUNDS
        if dice.chance(COST_SHARING_OUTAGE_RATE):
            self.n_answers_before_outage = dice.between(1, 6 * last_round - 1)
        self.log.add_moderator_message(
            f"Now the game starts! The background is: {self.setting.topic}",
            "Now everyone propose the cost distribution.We will start with Player 1.",
        )
        for round_number in range(1, last_round + 1):
            if round_number > 1 and self.is_pgm:
                log_private_forecast(dice, self.log, tested_seat, PHRASES["moves_of_airlines"])
            backers = self._log_proposals_and_return_agreeing_votes(
                round_number, author if has_agreement and round_number == last_round else 0
            )
            self.n_rounds = round_number
            if self._log_votes_and_return_whether_they_agree(backers):
                self.log.add_moderator_message("You all already agree the same proposal ")
                return "agree"
            if round_number < N_ROUNDS:
                self.log.add_moderator_message(
                    f"At {round_number}'s round, you all haven't achieve the consistency. "
                    "Please continue a new round of negotiation. "
                )
        self.log.add_moderator_message(
            f"You have negotiated for {N_ROUNDS} turn, no consistency achieved, negotiation failed."
        )
        return "fail"

    def _log_proposals_and_return_agreeing_votes(
        self, round_number: int, agreed_author: int
    ) -> dict[int, int]:
        """Log the proposals of a round; return the votes that follow if the players agree.

        Without an agreement, the result is empty; otherwise it has the seat voted for, by seat.
        """
        previous_wishes = self.wishes
        if round_number > 1:
            self.wishes = {
                seat: _randomly_adjusted_shares(self.dice, wish)
                for seat, wish in previous_wishes.items()
            }
        copier = (
            self.dice.pick(other_seats(agreed_author))
            if agreed_author and round_number > 1 and self.dice.chance(0.5)
            else 0
        )
        if copier:
            self.wishes[copier] = self.wishes[agreed_author]
        elif self.wishes[1] == self.wishes[2] == self.wishes[3]:
            self.wishes[3] = _randomly_adjusted_shares(self.dice, self.wishes[3])
        for seat in SEATS:
            if round_number == 1 and seat != self.setting.tested_seat:
                text = _first_opponent_proposal_text(seat, self.wishes[seat])
            else:
                share_notation = "plain" if copier else _pick_share_notation(self.dice)
                text = _proposal_text(
                    self.dice, seat, self.wishes[seat], previous_wishes[seat], share_notation
                )
            text = self._log_answer_or_failure(seat, text)
            # The shares as the benchmark registers them: None if it parses none, and unusual keys
            # for unusual names. It parses no share of one digit, and at most one share per line.
            self.proposals[seat] = dict.fromkeys(AIRLINES, None) | dict(_SHARE_LINE.findall(text))
            if text.startswith(OUTAGE_MARK):
                raise OutageError
        return (
            {seat: seat if seat == copier else agreed_author for seat in SEATS}
            if agreed_author
            else {}
        )

    def _log_votes_and_return_whether_they_agree(self, seats_voted_for: dict[int, int]) -> bool:
        """Log the votes of a round and return whether they agree.

        If no votes are given, they are random and do not agree.
        """
        self.log.add_moderator_message(
            "Now vote which proposal is the suitable one you agree with. You must respond with the "
            'template "I vote for Player xx\'s proposal".(do not include explanantions)'
            if self.is_pgm
            else "Now vote which proposal of the other player (including yourself) is the suitable "
            'one you agree with. You must use the template "I vote for Player xx\'s proposal".'
            "(dont include explanation)"
        )
        seats_voted_for = seats_voted_for or self._random_votes_without_agreement()
        for seat, player in SEATS_AND_PLAYERS:
            text = _vote_text(self.dice, seat, seats_voted_for[seat])
            text = self._log_answer_or_failure(seat, text, step=int(self.is_pgm))
            if text.startswith(OUTAGE_MARK):  # it names the speaker, which counts as a vote
                self.votes[player] = player
                raise OutageError
            self.votes[player] = PLAYERS[seats_voted_for[seat] - 1]
        return self._is_agreement(seats_voted_for)

    def _random_votes_without_agreement(self) -> dict[int, int]:
        """Return random votes by seat; they agree only if all proposals have equal shares."""
        seats_voted_for = {
            seat: seat if self.dice.chance(0.5) else self.dice.pick(other_seats(seat))
            for seat in SEATS
        }
        if self._is_agreement(seats_voted_for):
            last_shares = self.proposals[seats_voted_for[3]]
            unequal_seats = (seat for seat in SEATS if self.proposals[seat] != last_shares)
            seats_voted_for[3] = next(unequal_seats, seats_voted_for[3])
        return seats_voted_for

    def _is_agreement(self, seats_voted_for: dict[int, int]) -> bool:
        """Return whether all votes are for proposals with the same shares."""
        first_shares, *other_shares = (
            list(self.proposals[seat].values()) for seat in seats_voted_for.values()
        )
        return all(shares == first_shares for shares in other_shares)

    def _log_answer_or_failure(self, seat: int, text: str, step: int = 1) -> str:
        """Log an answer, or a failure of the API if it is due, and return the logged text."""
        player = PLAYERS[seat - 1]
        if self.n_answers_before_outage == 0:
            text = api_failure_text(self.dice, player)
        self.n_answers_before_outage -= 1
        self.log.add_message(player, text, step=step)
        return text


def _randomly_adjusted_shares(dice: Dice, shares: Shares) -> Shares:
    """Return shares with a small part moved from one airline to another, or unchanged."""
    giver, taker, _ = dice.shuffled_copy((0, 1, 2))
    step = 2.5 if dice.chance(0.05) else 5.0
    if dice.chance(0.35) or shares[giver] <= step + (0 if dice.chance(0.3) else 5):
        return shares
    adjusted_shares = list(shares)
    adjusted_shares[giver] -= step
    adjusted_shares[taker] += step
    return adjusted_shares[0], adjusted_shares[1], adjusted_shares[2]


def _pick_share_notation(dice: Dice) -> str:
    """Pick the name of a notation for shares: usually `plain`, rarely an unusual one."""
    roll = dice.random()
    if roll < 0.05:
        return "decimal"
    return dice.pick(UNUSUAL_NOTATIONS) if roll < 0.1 else "plain"


def _first_opponent_proposal_text(seat: int, shares: Shares) -> str:
    """Return the first proposal of a fixed opponent.

    It repeats words, as the template of the benchmark does.
    """
    rows = "\n        ".join(
        f"Airline {name}: {share:g}%" for name, share in zip(AIRLINES, shares, strict=True)
    )
    return (
        f"As Player Player {seat}, representing Airline Airline {AIRLINES[seat - 1]}, "
        f'I propose the following cost distribution:\n        {rows}"\n        '
    )


def _proposal_text(
    dice: Dice, seat: int, shares: Shares, previous_shares: Shares, share_notation: str
) -> str:
    """Return a proposal of shares: an opening, the shares, and sometimes arguments."""
    rows = [
        _share_line(airline, share, previous_share, share_notation)
        for airline, share, previous_share in zip(AIRLINES, shares, previous_shares, strict=True)
    ]
    roll = dice.random()
    opening = "I propose the following cost distribution:"
    if roll < 0.8:
        adjusted = "adjusted " if roll < 0.15 else ""
        opening = (
            f"As {PLAYERS[seat - 1]}, representing Airline {AIRLINES[seat - 1]}, "
            f"I propose the following {adjusted}cost distribution:"
        )
    lines = [opening, ", ".join(rows) if share_notation == "one line" else "\n".join(rows)]
    if 0.4 < roll < 0.78:
        argument_index = dice.between(0, len(PHRASES["arguments"]) - 1)
        lines += [
            "",
            *(PHRASES["arguments"] * 2)[
                argument_index : argument_index + (2 if roll < 0.55 else 1)
            ],
        ]
    return add_end_mark_by_chance(dice, "\n".join(lines))


def _share_line(airline: str, share: float, previous_share: float, share_notation: str) -> str:
    """Return the line of a proposal with the share of one airline."""
    line = SHARE_LINE_TEMPLATES[
        "plain" if share_notation == "previously" and share == previous_share else share_notation
    ].format(
        airline=airline, share=share, before=previous_share, more=share + 5, dollars=share * 10_000
    )
    return line.replace(".", ",") if share_notation == "comma" else line


def _vote_text(dice: Dice, voter_seat: int, proposal_seat: int) -> str:
    """Return a text that the benchmark registers as a vote for the proposal of a seat."""
    roll = dice.random()
    if roll < 0.97:
        template = pick_by_roll(roll, PHRASES_BY_ROLL["votes_for_proposals"])
    elif voter_seat == proposal_seat:
        template = "I vote for my own proposal."
    elif roll < 0.98:
        template = "As {me}, I vote for {named}'s proposal."
    else:
        template = "It is {named}'s proposal for me."
    text = template.format(
        me=PLAYERS[voter_seat - 1], named=PLAYERS[proposal_seat - 1], seat=proposal_seat
    )
    return add_end_mark_by_chance(dice, text)


# Prisoner's Dilemma: three players, five rounds, cooperate or defect.
#
# The benchmark registers a decision as cooperate if its text contains 'cooperate', regardless of
# the meaning.

PRISONERS_DILEMMA_OUTAGE_RATE = 0.01

# By upper bound of the random number: the texts to cooperate, and the texts to defect.
DECISION_TEXTS = {
    0.79: (("Cooperate.", "Cooperate"), ("Defect.", "Defect")),
    0.93: (PHRASES["cooperate_at_length"], PHRASES["defect_at_length"]),
    1.00: (PHRASES["cooperate_oddly"], PHRASES["defect_oddly"]),
}


def play_prisoners_dilemma(
    dice: Dice, model: Model, setting: PrisonersDilemmaSetting, timestamp: str
) -> Document:
    """Play a game of Prisoner's Dilemma and return its log.

    Args:
        dice: The random numbers.
        model: The tested model.
        setting: The tested seat and the payoffs.
        timestamp: The timestamp of all messages.

    Returns:
        The log.
    """
    topic = _rules_text(setting)
    log = Transcript(timestamp)
    log.add_moderator_message(
        "Now the game starts!",
        topic,
        "This the first round. Now everyone give your decision. We will start with Player 1.",
    )
    scores = [0, 0, 0]
    outage_index = (
        dice.between(0, 3 * N_ROUNDS - 1) if dice.chance(PRISONERS_DILEMMA_OUTAGE_RATE) else -1
    )
    for round_number in range(1, N_ROUNDS + 1):
        if round_number > 1 and model.is_pgm:
            log_private_forecast(
                dice, log, setting.tested_seat, PHRASES["moves_of_prisoners"], FORECAST_OPENING
            )
        decisions = []
        for seat in SEATS:
            skill = model.skill if seat == setting.tested_seat else OPPONENT
            is_defection = dice.chance(skill.defection)
            decision = dice.pick(pick_by_roll(dice.random(), DECISION_TEXTS)[is_defection])
            decisions.append(add_end_mark_by_chance(dice, decision))
        if outage_index // 3 == round_number - 1:
            decisions[outage_index % 3] = api_failure_text(dice, PLAYERS[outage_index % 3])
        log_decisions_to_moderator(log, decisions)
        _add_points_of_round_to_scores(setting, decisions, scores)
        if round_number < N_ROUNDS:
            first, second, third = decisions
            log.add_moderator_message(
                f"Round {round_number} is over.\nPlayer 1 said: {first} \n"
                f"Player 2 said: {second}  \nPlayer 3 said: {third}\n{NEXT_ROUND_TEXT}"
            )
    log.add_moderator_message(f"{N_ROUNDS} rounds of decisions have been completed.")
    return {
        **log_header(dice, setting.tested_seat, model, topic, topic_values=setting.points_by_name),
        "history": log.history,
        "result": "win" if scores[setting.tested_seat - 1] == max(scores) else "lose",
        "scores": scores,
    }


def _add_points_of_round_to_scores(
    setting: PrisonersDilemmaSetting, decisions: list[str], scores: list[int]
) -> None:
    """Add the points of a round to the scores.

    The benchmark registers a decision as cooperate if its text contains 'cooperate'.
    """
    are_defections = ["cooperate" not in text.lower() for text in decisions]
    n_defects = sum(are_defections)
    points_of_defectors = (0, setting.one_defect, setting.two_defect, setting.defect)[n_defects]
    points_of_cooperators = setting.cooperate if n_defects == 0 else 0
    for player_index, is_defection in enumerate(are_defections):
        scores[player_index] += points_of_defectors if is_defection else points_of_cooperators


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


# Public Good: players contribute to a pool, which grows and is divided equally.
#
# The benchmark registers the first whole number of the text. In games of PGM models, it registers
# the number after 'I contribute', and the last round's contributions do not reach the pool.

STARTING_POINTS = 100
PUBLIC_GOOD_OUTAGE_RATE = 0.01

AMOUNTS = (0, 0, 2, 5, 5, 6, 8, 10, 10, 10, 12, 15, 15, 20, 25, 30)

_PLAIN_AMOUNT = re.compile(r"\b\d+\b")
_PGM_AMOUNT = re.compile(r"I contribute (\d+)")


def play_public_good(
    dice: Dice, model: Model, setting: PublicGoodSetting, timestamp: str
) -> Document:
    """Play a game of Public Good and return its log.

    Args:
        dice: The random numbers.
        model: The tested model.
        setting: The tested seat, the number of rounds and the multiplier.
        timestamp: The timestamp of all messages.

    Returns:
        The log.
    """
    log = Transcript(timestamp)
    log.add_moderator_message(
        f"Now the game starts! The background is: \n\nYou have {STARTING_POINTS} starting points "
        "to contribute to the communal pool each round. You need to remember how much money you "
        f"still have after each round and avoid to exceed the all {STARTING_POINTS} points in "
        f"{setting.n_rounds} rounds.\n",
        "Now everyone gives your decisionWe will start with Player 1.",
    )
    game = Contributions(dice, model, setting.tested_seat, setting.n_rounds)
    for round_number in range(1, setting.n_rounds + 1):
        if round_number > 1 and model.is_pgm:
            log_private_forecast(
                dice, log, setting.tested_seat, PHRASES["moves_of_givers"], FORECAST_OPENING
            )
        texts = game.play_round_and_return_texts(round_number)
        log_decisions_to_moderator(log, texts)
        if round_number < setting.n_rounds:
            statements = " \n".join(
                f"{player} said: {text}" for player, text in zip(PLAYERS, texts, strict=True)
            )
            log.add_moderator_message(
                f"Round {round_number} is over. \n {statements} \n {NEXT_ROUND_TEXT}"
            )
    log.add_moderator_message(f"{setting.n_rounds} rounds of decisions have been completed.")
    scores = game.final_scores(setting.multiplier)
    return {
        **log_header(
            dice,
            setting.tested_seat,
            model,
            topic="",
            game_round=setting.n_rounds,
            multiplier=setting.multiplier,
        ),
        "history": log.history,
        "result": "win" if scores[setting.tested_seat - 1] == max(scores) else "lose",
        "scores": scores,
    }


def parse_amount_as_benchmark(text: str, *, is_pgm: bool) -> int:
    """Return the amount that the benchmark registers for the text of a contribution.

    Args:
        text: The text of the contribution.
        is_pgm: Whether the tested model plays with the probabilistic graphical model (PGM).

    Returns:
        The amount; 0 if the text has none.
    """
    match = _PGM_AMOUNT.search(text) if is_pgm else _PLAIN_AMOUNT.search(text)
    return int(match.group(1 if is_pgm else 0)) if match else 0


class Contributions:
    """The contributions of a game of Public Good in progress.

    Attributes:
        points_left: The points that each seat has left.
        pool_points: The points in the pool.
        outage_index: The index of the answer that an outage replaces; negative if there is none.
    """

    def __init__(self, dice: Dice, model: Model, tested_seat: int, n_rounds: int) -> None:
        self.dice = dice
        self.model = model
        self.tested_seat = tested_seat
        self.n_rounds = n_rounds
        self.points_left = dict.fromkeys(SEATS, STARTING_POINTS)
        self.pool_points = 0
        has_outage = not model.is_pgm and dice.chance(PUBLIC_GOOD_OUTAGE_RATE)
        self.outage_index = dice.between(0, 3 * n_rounds - 1) if has_outage else -1

    def play_round_and_return_texts(self, round_number: int) -> list[str]:
        """Play a round, add its contributions to the pool, and return the texts of the players.

        The tested player's contribution is the smallest as often as its skill says.

        Args:
            round_number: The number of the round, from 1.

        Returns:
            The texts of the three players.
        """
        texts = {
            seat: self._opponent_text(seat, round_number) for seat in other_seats(self.tested_seat)
        }
        smallest_amount = min(
            parse_amount_as_benchmark(text, is_pgm=self.model.is_pgm) for text in texts.values()
        )
        texts[self.tested_seat] = self._contribution_text_by_skill(round_number, smallest_amount)
        ordered_texts = [texts[seat] for seat in SEATS]
        if self.outage_index // 3 == round_number - 1:
            ordered_texts[self.outage_index % 3] = api_failure_text(
                self.dice, PLAYERS[self.outage_index % 3]
            )
        for seat, text in zip(SEATS, ordered_texts, strict=True):
            amount = parse_amount_as_benchmark(text, is_pgm=self.model.is_pgm)
            self.points_left[seat] -= amount
            if round_number < self.n_rounds or not self.model.is_pgm:
                self.pool_points += amount
        return ordered_texts

    def final_scores(self, multiplier: float) -> list[float]:
        """Return the final points of each player: the points left, and a third of the grown pool.

        Args:
            multiplier: The factor by which the pool grows.

        Returns:
            The points, in the order of seats.
        """
        share_of_pool = self.pool_points * multiplier / len(SEATS)
        return [self.points_left[seat] + share_of_pool for seat in SEATS]

    def _opponent_text(self, seat: int, round_number: int) -> str:
        points = max(self.points_left[seat], 0)
        cautious_amount = points // (self.n_rounds - round_number + 1) + self.dice.between(0, 9)
        return self._contribution_text(
            seat, round_number, min(self.dice.pick(AMOUNTS), cautious_amount, points)
        )

    def _contribution_text_by_skill(self, round_number: int, smallest_amount: int) -> str:
        """Return a text whose amount is the smallest of the round as often as the skill says."""
        seat, is_pgm = self.tested_seat, self.model.is_pgm
        is_smallest = self.dice.chance(self.model.skill.free_riding)
        if is_smallest:
            amount = self.dice.pick((0, smallest_amount // 2, smallest_amount, smallest_amount))
        else:
            amount = smallest_amount + self.dice.pick((1, 2, 3, 5, 5, 8, 10))
        text = self._contribution_text(seat, round_number, amount)
        if (parse_amount_as_benchmark(text, is_pgm=is_pgm) <= smallest_amount) is not is_smallest:
            text = f"I contribute {amount}."
        return text

    def _contribution_text(self, seat: int, round_number: int, amount: int) -> str:
        roll = self.dice.random()
        if roll < 0.12:
            template = self.dice.pick(PHRASES["contribute_at_length"])
        elif roll < 0.155:
            template = self.dice.pick(PHRASES["contribute_oddly"])
        elif roll < 0.30 and not self.model.is_pgm:
            template = self.dice.pick(PHRASES["contribute_plainly"])
        else:
            template = self.dice.pick(PHRASES["contribute"])
        text = template.format(
            amount, me=PLAYERS[seat - 1], n=round_number, left=max(self.points_left[seat], 0)
        )
        return add_end_mark_by_chance(self.dice, text)


# The benchmark's seven competitions: the folders of their logs, and the functions that play them.


class Competition(NamedTuple):
    """A game, and for hidden roles the tested side of it.

    Attributes:
        name: The name of the competition.
        game: The name of the game's folder.
        folder: The part of the folder's name that identifies the competition.
        setting: A function of the seed and the game's index that returns the setting.
        play: A function that plays a game and returns its log.
    """

    name: str
    game: str
    folder: str
    setting: Callable[[int, int], object]
    play: Callable[..., Document]

    def log_folder(self, model: Model) -> str:
        """Return the path of the folder for a model's logs of this competition.

        Args:
            model: The model.

        Returns:
            The path below the output folder.
        """
        return f"results/{self.game}/{model.name}_{self.folder}_vs_gpt4"

    def play_game(self, seed: int, model: Model, game_index: int) -> Document:
        """Play a game of this competition and return its log.

        Args:
            seed: The seed of the run.
            model: The tested model.
            game_index: The index of the game.

        Returns:
            The log, which depends only on the arguments.
        """
        dice = Dice(seed, self.name, model.name, game_index)
        return self.play(
            dice, model, self.setting(seed, game_index), random_timestamp(seed, model, self.name)
        )


COMPETITIONS = (
    Competition(
        "chameleon_as_chameleon",
        "chameleon",
        "competition_as_chameleon",
        settings.chameleon_setting,
        partial(hidden_roles.play_chameleon, plays_hidden_role=True),
    ),
    Competition(
        "chameleon_as_non_chameleon",
        "chameleon",
        "competition_as_non_chameleon",
        settings.chameleon_setting,
        partial(hidden_roles.play_chameleon, plays_hidden_role=False),
    ),
    Competition(
        "undercover_as_undercover",
        "undercover",
        "competition_as_undercover",
        settings.undercover_setting,
        partial(hidden_roles.play_undercover, plays_hidden_role=True),
    ),
    Competition(
        "undercover_as_non_undercover",
        "undercover",
        "competition_as_non_undercover",
        settings.undercover_setting,
        partial(hidden_roles.play_undercover, plays_hidden_role=False),
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


def setting_documents_by_path(seed: int, n_games: int) -> dict[str, dict[str, object]]:
    """Return the documents of game settings that a run writes beside its logs, by path.

    Up to three games of Prisoner's Dilemma and Public Good have such a document.

    Args:
        seed: The seed of the run.
        n_games: The number of games of each model in each competition.

    Returns:
        The documents by path.
    """
    files: dict[str, dict[str, object]] = {}
    for index in range(min(n_games, 3)):
        dilemma, public_good = (
            prisoners_dilemma_setting(seed, index),
            public_good_setting(seed, index),
        )
        tested_player = {"test_player_name": PLAYERS[public_good.tested_seat - 1]}
        files[f"results/prisoner/setting/{index}.json"] = {
            **tested_player,
            "topic_values": dilemma.points_by_name,
        }
        files[f"results/public_good/setting/{index}.json"] = {
            **tested_player,
            "game_round": public_good.n_rounds,
            "multiplier": public_good.multiplier,
        }
    return files
