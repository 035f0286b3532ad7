"""Chance that is the same everywhere: it depends on words, not on clock, process or Python version.

Only `Random.random()` is used, which Python promises never to change for a seed; `choice` and
`shuffle` carry no such promise.
"""

import random
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def fallen(roll: float, forms: Mapping[float, T]) -> T:
    """What a roll falls on: the first whose bound, which is its key, is above the roll."""
    return next(form for bound, form in forms.items() if roll < bound)


class Dice:
    """A source of chance for one purpose; the words it is made of set it apart from every other."""

    __slots__ = ("random",)

    def __init__(self, *words: str | int) -> None:
        self.random = random.Random("|".join(map(str, words))).random

    def chance(self, probability: float) -> bool:
        """True as often as asked."""
        return self.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """One of the items, all equally likely."""
        return items[int(self.random() * len(items))]

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + int(self.random() * (high - low + 1))

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in a new order, all orders equally likely."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = int(self.random() * (last + 1))
            order[last], order[other] = order[other], order[last]
        return order
