"""The rules behind explained numbers, each in a sentence."""

from accounting.kit.reads.selection import Selection
from accounting.metering.models.ledger import DataIssue
from accounting.metering.rules.samples.validity import LONGEST_GAP_STEPS

RULES = {
    "M5": "Closed days have the charges booked at their close. Corrections are in the month that "
    "books them.",
    "N5": f"A sample is valid until the next one, for at most {LONGEST_GAP_STEPS:g} scrape "
    "intervals.",
    "N6": "A sample applies only to pods that held the GPU when it was taken.",
    "N7": "Engine activity is used where enough samples exist, otherwise GPU utilization.",
    "N8": "Values whose scale is not declared are read as ratios if their scraper shows fractions "
    "from 0 to 1 and nothing above, at that time or at others. In doubt they are No data.",
    "N10": "An allocation begins when the pod is bound to its node.",
    "N11": "An allocation ends when the pod terminates or is deleted, or when its node is removed.",
    "N14": "A GPU is present from the first sample with its UUID.",
    "N15": "A GPU is gone when its node is removed or another node reports it. Missing samples "
    "alone do not end it.",
    "N21": "Held time that was not observed is unknown, never idle.",
    "N23": "Each window is rounded once, so that the states add up to the time the GPU was "
    "present.",
    "N26": "If several prices match, the most specific one applies. Without a price, the cost is "
    "unknown.",
    "N27": "Rates are per full GPU-hour. A share of a GPU pays the same share of the rate.",
    "N28": "Amounts are rounded once, on the total. Lines are rounded by largest remainder, so "
    "they add up.",
    "N34": "Ratios are computed from sums. Busy share is shown with its coverage.",
}
"""By the number of the rule."""

_OF_HELD_TIME = ("charge", "allocated")  # whatever the values of samples


def scale_rule(selection: Selection, figure: str) -> tuple[str, ...]:
    """The rule of scales, where values of that time were read on another one than their name's.

    Not the issue itself: it is of the whole cluster, and who sees only teams sees no issues.
    """
    if figure in _OF_HELD_TIME:
        return ()
    found = DataIssue.objects.filter(code="utilization_scale")
    if "cluster" in selection.filters:
        found = found.filter(cluster__name__in=selection.filters["cluster"])
    if selection.period is not None:
        period = selection.period
        found = found.filter(first_seen__lt=period.end, last_seen__gt=period.start)
    return ("N8",) if found.exists() else ()
