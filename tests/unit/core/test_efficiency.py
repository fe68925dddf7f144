"""Allocated, efficiency and coverage: their values, and that one module computes them."""

import ast
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.core.efficiency import NO_TIME, StateTimes, sum_times, times_of

ROOT = Path(__file__).resolve().parents[3]
HOME = Path("accounting/core/efficiency.py")
MS = st.integers(0, 10**15)
TIMES = st.builds(StateTimes, MS, MS, MS)


@given(TIMES)
def test_ratios_are_of_what_was_observed_and_of_what_was_allocated(
    times: StateTimes,
) -> None:
    busy, idle, unknown = times.busy_ms, times.idle_ms, times.unknown_ms
    assert times.allocated_ms == busy + idle + unknown
    if busy + idle:
        assert times.efficiency == float(Fraction(busy, busy + idle))
        exact = Fraction(100 * idle, busy + idle)
        assert times.idle_percent is not None
        assert -Fraction(1, 2) < times.idle_percent - exact <= Fraction(1, 2)
    if times.allocated_ms:
        assert times.coverage == float(Fraction(busy + idle, busy + idle + unknown))


def test_what_was_not_observed_has_no_efficiency_and_is_not_idle() -> None:
    unseen = StateTimes(0, 0, 5)
    assert (unseen.efficiency, unseen.idle_percent, unseen.coverage) == (None, None, 0)
    assert NO_TIME.coverage is None


@given(st.lists(TIMES))
def test_a_sum_is_of_each_state(several: list[StateTimes]) -> None:
    total = sum_times(several)
    assert total.allocated_ms == sum(one.allocated_ms for one in several)
    assert total.observed_ms == sum(one.observed_ms for one in several)


def test_the_states_of_a_ledger_row_give_what_was_held() -> None:
    row = {"dark": 9, "busy": 1, "idle": 2, "unknown": 3, "free": 4}
    assert times_of(row) == StateTimes(1, 2, 3)


def adds_states(text: str) -> bool:
    """Whether a module adds busy time and idle time by hand; SQL texts are not seen."""

    def names(node: ast.expr) -> str:
        return " ".join(
            str(
                getattr(one, "attr", None)
                or getattr(one, "id", None)
                or getattr(one, "value", "")
            )
            for one in ast.walk(node)
        )

    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and "busy" in names(node.left)
        and "idle" in names(node.right)
        for node in ast.walk(ast.parse(text))
    )


def test_the_scan_sees_sums_of_names_fields_and_keys() -> None:
    assert adds_states("x = row.busy_ms + row.idle_ms")
    assert adds_states("x = (row.busy_ms or 0) + (row.idle_ms or 0)")
    assert adds_states("x = ms['busy'] + ms['idle'] + ms['unknown']")
    assert not adds_states("x = busy + dark")


@pytest.mark.timeout(60)  # parses every module of the product
def test_no_other_module_computes_them() -> None:
    others = {
        HOME,
        Path("accounting/core/ledger_line.py"),  # all seven states of a line
    }
    found = {
        path.relative_to(ROOT)
        for app in ("accounting", "scheduler_view", "portal")
        for path in (ROOT / app).rglob("*.py")
        if "busy" in (text := path.read_text()) and adds_states(text)
    }
    assert found == others
