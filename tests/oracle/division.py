"""Whose activity it was on a GPU with several holders (rules.md N22)."""

from collections.abc import Sequence
from fractions import Fraction


def divided(
    activity: Fraction, shares: Sequence[Fraction], values: Sequence[Fraction] | None
) -> tuple[list[Fraction], Fraction]:
    """What each holder used, up to its share, and what goes beyond.

    In proportion to per-pod values where there are any, else to the shares.
    """
    weights = shares if values is None else values
    total = sum(weights, Fraction(0))
    if not total:
        return [Fraction(0) for _ in shares], activity
    wanted = [activity * weight / total for weight in weights]
    used = [min(w, share) for w, share in zip(wanted, shares, strict=True)]
    return used, activity - sum(used, Fraction(0))
