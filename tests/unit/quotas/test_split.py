"""A team's quota over its namespaces: parts are whole and sum to the quota."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_view.quotas.rules.split import SplitRefused, SplitRule, divide

NAMES = ("a", "b", "c")


def test_rules_can_be_read() -> None:
    assert divide(8, NAMES, SplitRule.EVENLY) == (
        {"a": 3, "b": 3, "c": 2},
        "evenly over 3 namespaces",
    )
    by_weights, _ = divide(8, NAMES, SplitRule.WEIGHTS, {"a": 3, "b": 1})
    assert by_weights == {"a": 6, "b": 2, "c": 0}
    assert divide(8, NAMES, SplitRule.BY_USE, {"c": 4, "a": 4}) == (
        {"a": 4, "b": 0, "c": 4},
        "by peak use in 30 days (a 4, b 0, c 4)",
    )
    unused, _ = divide(3, NAMES, SplitRule.BY_USE)
    assert unused == {"a": 1, "b": 1, "c": 1}
    assert divide(5, ["a"], SplitRule.EVENLY) == ({"a": 5}, "all to a")


@pytest.mark.parametrize("weights", [{"z": 1}, {"a": -1, "b": 2}, {"a": 0}, {}])
def test_what_cannot_be_divided_is_refused(weights: dict[str, int]) -> None:
    with pytest.raises(SplitRefused):
        divide(8, NAMES, SplitRule.WEIGHTS, weights)


def test_a_team_without_namespaces_has_no_quota() -> None:
    with pytest.raises(SplitRefused, match="no namespace"):
        divide(8, [], SplitRule.EVENLY)


@given(
    st.integers(0, 10_000),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 50), min_size=1),
)
def test_parts_sum_to_the_quota(gpus: int, weights: dict[str, int]) -> None:
    if not any(weights.values()):
        return
    parts, _ = divide(gpus, list(weights), SplitRule.WEIGHTS, weights)
    assert sum(parts.values()) == gpus
    assert min(parts.values()) >= 0
