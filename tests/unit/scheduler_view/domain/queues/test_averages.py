"""Averages over time, weighted by how long a value lasted: S16."""

from hypothesis import given
from hypothesis import strategies as st

from scheduler_view.domain.queues.averages import ObservedLevel, averages


def test_a_value_counts_as_long_as_it_lasted() -> None:
    """The example of docs/scheduling.md S16: 12 for 45 minutes and 4 for 15 are 10."""
    levels = [
        ObservedLevel(0, 45, 12),
        ObservedLevel(45, 60, 4),
        ObservedLevel(130, 150, 8),
    ]
    assert averages(levels, [(0, 60), (60, 120), (120, 180)]) == [10, None, 8]


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(0, 30)), max_size=20),
    st.integers(1, 40),
)
def test_an_average_lies_between_the_values_and_steps_sum_up(
    parts: list[tuple[int, int]], step: int
) -> None:
    levels, at = [], 0
    for length, value in parts:
        levels.append(ObservedLevel(at, at + length, value))
        at += length
    steps = [(start, start + step) for start in range(0, at, step)]
    found = averages(levels, steps)
    assert all(
        one is not None and min(v for _, v in parts) <= one <= max(v for _, v in parts)
        for one in found
    )
    total = sum(
        (one or 0) * (min(end, at) - start)
        for one, (start, end) in zip(found, steps, strict=True)
    )
    assert abs(total - sum(length * value for length, value in parts)) < 1e-6
