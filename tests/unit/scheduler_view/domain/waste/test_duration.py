"""Limits of tiers and teams (scheduling.md S23).

Not here: the time after a limit (`test_waste_by_hand.py`).
"""

import pytest

from scheduler_view.domain.waste.duration import duration_limits

HOUR = 3_600_000


def test_the_smaller_limit_of_tier_and_team_counts() -> None:
    found = duration_limits(["tier:batch=12h", "team:search=1d12h", "team:lab=90m"])
    assert found.of("batch", "search") == 12 * HOUR
    assert found.of("batch", "lab") == 90 * 60_000
    assert found.of("other", "search") == 36 * HOUR
    assert found.of("other", "other") is None
    assert found.of("search", "batch") is None
    assert duration_limits([]).of("batch", "") is None


def test_the_last_limit_of_a_name_counts() -> None:
    assert duration_limits(["tier:b=2h", "tier:b=1h"]).of("b", "") == HOUR


@pytest.mark.parametrize(
    "text", ["batch=1h", "tier:batch", "tier:batch=0h", "tier:=1h", "pod:b=1h", ""]
)
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a limit such as tier:batch=12h"):
        duration_limits([text])
