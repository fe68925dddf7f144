"""Counts of samples that differ have a reason that people can read."""

import pytest

from accounting.metering.rules.samples.sample_counts import samples_note


@pytest.mark.parametrize(
    ("used", "expected", "unknown_ms", "note"),
    [
        (10, 10, 5, ""),
        (49_593, 49_432, 5, "the number used can be larger"),
        (1_005, 1_008, 0, "a single missing sample leaves no gap"),
        (1_005, 1_008, 60_000, "Time without a valid sample is No data"),
    ],
)
def test_a_note_says_why(used: int, expected: int, unknown_ms: int, note: str) -> None:
    text = samples_note(used, expected, unknown_ms)
    assert note in text
    assert bool(text) == bool(note)
