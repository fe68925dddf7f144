"""Choices of a random fleet: by Hypothesis, or by a number that gives the same for ever.

What Hypothesis makes of a seed depends on its version and on the constants of all modules
that are loaded; a number must mean one fleet, also after the product was mended.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
TRIES = 1500  # fleets that a search for a simpler one looks at


class Dice(Protocol):
    """Where choices come from; each choice is one of `count`, the simplest is 0."""

    def choose(self, count: int) -> int:
        """A number from 0 to below `count`."""
        ...


def number(dice: Dice, low: int, high: int) -> int:
    """An integer of [low, high]; 0 is the simplest, or what is nearest to it."""
    simplest = min(max(0, low), high)
    i = dice.choose(high - low + 1)
    return simplest + i if simplest + i <= high else high - i


def pick(dice: Dice, options: Sequence[T]) -> T:
    """One of some options; the first is the simplest."""
    return options[dice.choose(len(options))]


def flag(dice: Dice) -> bool:
    """Yes or no."""
    return pick(dice, [False, True])


def maybe(dice: Dice, make: Callable[[], T]) -> T | None:
    """Nothing, usually."""
    return make() if pick(dice, [False, False, True]) else None


def shuffled(dice: Dice, items: Iterable[T]) -> list[T]:
    """The items in any order."""
    left, found = list(items), []
    while left:
        found.append(left.pop(dice.choose(len(left))))
    return found


class OfHypothesis:
    """Choices that Hypothesis makes, remembers and simplifies."""

    def __init__(self, draw: st.DrawFn) -> None:
        """`draw` of a composite strategy."""
        self.draw = draw

    def choose(self, count: int) -> int:
        """A number from 0 to below `count`."""
        return self.draw(st.integers(0, count - 1))


class OfNumber:
    """Choices of a number, or those that were made before, then the simplest."""

    def __init__(self, seed: int, known: Sequence[int] | None = None) -> None:
        """`known` choices instead of the number's."""
        self.random, self.known = random.Random(seed), known
        self.made: list[int] = []

    def choose(self, count: int) -> int:
        """A number from 0 to below `count`."""
        if self.known is None:
            choice = self.random.randrange(count)
        else:
            n = len(self.made)
            choice = min(self.known[n], count - 1) if n < len(self.known) else 0
        self.made.append(choice)
        return choice


def simplest(seed: int, is_found: Callable[[OfNumber], bool]) -> list[int]:
    """Choices as simple as a short search finds, for which something is still found.

    Args:
        seed: for which it is found.
        is_found: draws by the dice and says whether what is drawn is what is sought.
    """
    dice = OfNumber(seed)
    if not is_found(dice):
        return dice.made
    best, tried = dice.made, 0
    is_better = True
    while is_better and tried < TRIES:
        is_better, n = False, 0
        while n < len(best) and tried < TRIES:
            for choices in _simpler(best, n):
                dice, tried = OfNumber(seed, choices), tried + 1
                if is_found(dice) and _weight(dice.made) < _weight(best):
                    best, is_better = dice.made, True
                    break
            n += 1
    return best


def _weight(choices: Sequence[int]) -> tuple[int, list[int]]:
    return len(choices), list(choices)


def _simpler(choices: Sequence[int], n: int) -> Iterable[list[int]]:
    """The choices with one of them left out, or smaller."""
    low, high = list(choices[:n]), list(choices[n + 1 :])
    for size in (20, 7, 1):
        yield [*low, *choices[n + size :]]
    if choices[n]:
        yield [*low, 0, *high]
        yield [*low, choices[n] // 2, *high]
        yield [*low, choices[n] - 1, *high]
