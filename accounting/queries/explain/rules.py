"""The rules behind explained numbers, each in a sentence."""

from accounting.domain.samples.validity import LONGEST_GAP_STEPS

RULES = {
    "M5": "Closed days have the charges booked at their close. Corrections are in the month that "
    "books them.",
    "N5": f"A sample is valid until the next one, for at most {LONGEST_GAP_STEPS:g} scrape "
    "intervals.",
    "N6": "A sample applies only to pods that held the GPU when it was taken.",
    "N7": "Engine activity is used where enough samples exist, otherwise GPU utilization.",
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
