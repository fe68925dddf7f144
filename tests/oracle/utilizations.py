"""What the exporter of a random fleet writes for a utilization."""

import random

from tests.oracle.plans import NodePlan

BLANK = 9223372036854775794.0
BAD = (float("nan"), float("inf"), -1.0, 7.0, 7.0, 7.0, BLANK)
RATIOS = (0.0, 0.0, 0.25, 0.5, 0.9, 0.97, 1.0, 1.05, 1 / 3)
NOT_WHOLE = {1.05: 1.0, 1 / 3: 0.3}  # as what else they come where all are whole


def utilization(dice: random.Random, odd: float) -> float:
    """A ratio, or what is no data; `odd` is the share of those."""
    return dice.choice(BAD if dice.random() < odd else RATIOS)


def as_percent(node: NodePlan, ratio: float, at: float) -> float:
    """A ratio under a name of percentages (or what 4.9 calls it), on the node's scale."""
    if is_bad(ratio):
        return ratio
    if node.even.has(at):
        return float(ratio > 0.5)
    if node.is_whole:
        ratio = NOT_WHOLE.get(ratio, ratio)
    return ratio if are_ratios(node, at) else ratio * 100


def are_ratios(node: NodePlan, at: float) -> bool:
    """True while values under that name are ratios."""
    return node.ratios.has(at) or (node.has_ratios and not node.percent.has(at))


def as_ratio(node: NodePlan, ratio: float, at: float) -> float:
    """A ratio under a name of ratios."""
    is_percent = node.percent.has(at) and not ratio > 7
    return 100 * ratio if is_percent else ratio


def is_bad(ratio: float) -> bool:
    """True for what is no data on any scale."""
    return ratio != ratio or ratio > 7  # noqa: PLR0124  # NaN
