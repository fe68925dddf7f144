"""Why the number of used samples differs from the expected one (rules.md N4, N5, N33)."""

from accounting.metering.rules.samples.validity import LONGEST_GAP_STEPS


def samples_note(used: int, expected: int, unknown_ms: int) -> str:
    """One or two sentences for people; "" if the counts are equal.

    Args:
        used: samples that were counted.
        expected: presence / scrape interval, rounded down in each five-minute window.
        unknown_ms: held time that no sample covers.
    """
    if used == expected:
        return ""
    if used > expected:
        return (
            "The expected number is rounded down in each five-minute window, so the number used "
            "can be larger."
        )
    if unknown_ms:
        return (
            f"A sample is valid for up to {LONGEST_GAP_STEPS:g} scrape intervals. Time without a "
            "valid sample is No data."
        )
    return (
        "Samples are missing, but no time is missing: a sample is valid for up to "
        f"{LONGEST_GAP_STEPS:g} scrape intervals, so a single missing sample leaves no gap."
    )
