"""On random holds and gangs: no millisecond is found twice, and unknown time never.

The rules themselves are in `test_waste_by_hand.py`.
"""

from collections.abc import Mapping
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from accounting.core.interval import WINDOW_MS
from scheduler_view.savings.rules.find import find
from scheduler_view.savings.rules.finding import WasteRule
from scheduler_view.savings.rules.gangs import Gang, GangMember
from scheduler_view.savings.rules.held_time import HeldTime
from tests.unit.savings.fleets import HOUR, RATE, hold

TAKES_BUSY = {WasteRule.GANG, WasteRule.TOO_LONG, WasteRule.SPREAD}
letters = st.text("biiimuhg.", min_size=1, max_size=30)


@st.composite
def fleets(draw: st.DrawFn) -> tuple[list[HeldTime], Gang | None]:
    """Holds of one unit, and its gang."""
    holds = []
    for pod in range(draw(st.integers(1, 4))):
        count = draw(st.integers(1, 3))
        length = draw(st.integers(1, 30))
        gpus = [draw(letters)[:length].ljust(length, "i") for _ in range(count)]
        holds.append(
            hold(
                *gpus,
                start_ms=draw(st.integers(0, 12)) * WINDOW_MS,
                pod=pod,
                is_open=draw(st.booleans()),
                limit_ms=draw(st.none() | st.integers(1, HOUR)),
            )
        )
    if not draw(st.booleans()):
        return holds, None
    members = tuple(
        GangMember(
            one.pod,
            one.bound_ms,
            one.ended_ms,
            one.bound_ms,
            succeeded=draw(st.booleans()),
            node=draw(st.sampled_from("abc")),
            units=len(one.parts),
        )
        for one in holds
    )
    return holds, Gang(members, draw(st.none() | st.integers(1, 6)), {"d": 99})


def amounts(one: HeldTime) -> Mapping[str, int]:
    """Idle and observed time of a hold."""
    idle = sum(run.idle_ms for run in one.runs)
    return {"idle": idle, "known": idle + sum(run.busy_ms for run in one.runs)}


@given(fleets())
def test_no_millisecond_is_in_two_findings(
    fleet: tuple[list[HeldTime], Gang | None],
) -> None:
    holds, gang = fleet
    found = find(holds, gang, 100 * WINDOW_MS)
    for one in holds:
        of_pod = [finding for finding in found if finding.subject == one.pod]
        have = amounts(one)
        assert all(finding.gpu_ms > 0 for finding in of_pod)
        assert sum(finding.gpu_ms for finding in of_pod) <= have["known"]
        only_idle = [f.gpu_ms for f in of_pod if f.rule not in TAKES_BUSY]
        assert sum(only_idle) <= have["idle"]


@given(fleets())
def test_the_money_is_the_time_at_its_price(
    fleet: tuple[list[HeldTime], Gang | None],
) -> None:
    for one in find(*fleet, 100 * WINDOW_MS):
        assert one.raw == one.gpu_ms * Fraction(RATE)


@given(fleets())
def test_unknown_time_is_in_no_finding(
    fleet: tuple[list[HeldTime], Gang | None],
) -> None:
    holds, gang = fleet
    unknown = [
        hold(
            *["u" * 12] * max(len(one.parts), 1),
            start_ms=one.bound_ms,
            pod=one.pod,
            limit_ms=one.limit.limit_ms if one.limit else None,
        )
        for one in holds
    ]
    assert find(unknown, gang, 100 * WINDOW_MS) == []


@given(fleets())
def test_the_order_of_runs_does_not_matter(
    fleet: tuple[list[HeldTime], Gang | None],
) -> None:
    holds, gang = fleet
    turned = [
        HeldTime(o.pod, o.bound_ms, o.ended_ms, o.kind, o.runs[::-1], o.limit)
        for o in holds
    ]
    until = 100 * WINDOW_MS
    assert find(turned, gang, until) == find(holds, gang, until)
