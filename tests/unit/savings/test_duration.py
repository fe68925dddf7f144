"""Limits of tiers and teams (scheduling.md S23).

Not here: the time after a limit (`test_waste_by_hand.py`).
"""

import pytest

from scheduler_view.savings.rules.duration import duration_limits
from scheduler_view.savings.rules.held_time import HoldLimit

HOUR = 3_600_000


def test_the_smaller_limit_of_tier_and_team_counts() -> None:
    found = duration_limits(["tier:batch=12h", "team:search=1d12h", "team:lab=90m"])
    batch = HoldLimit(12 * HOUR, "MAX_DURATIONS, tier batch")
    assert found.of("batch", "search") == batch
    lab = HoldLimit(90 * 60_000, "MAX_DURATIONS, team lab")
    assert found.of("batch", "lab") == lab
    search = HoldLimit(36 * HOUR, "MAX_DURATIONS, team search")
    assert found.of("other", "search") == search
    assert found.of("other", "other") is None
    assert found.of("search", "batch") is None
    assert duration_limits([]).of("batch", "") is None


def test_the_last_limit_of_a_name_counts() -> None:
    found = duration_limits(["tier:b=2h", "tier:b=1h"])
    assert found.of("b", "") == HoldLimit(HOUR, "MAX_DURATIONS, tier b")


@pytest.mark.parametrize(
    "text", ["batch=1h", "tier:batch", "tier:batch=0h", "tier:=1h", "pod:b=1h", ""]
)
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a limit such as tier:batch=12h"):
        duration_limits([text])
