"""What adds up for one GPU in one window, the long way (rules N19, N21-N23, N33)."""

from collections.abc import Mapping
from fractions import Fraction

import pytest

from accounting.core.interval import Interval
from accounting.core.ledger_line import ESTIMATED, INFERRED, SUSPECT, LedgerLine
from accounting.metering.rules.attribution.activity import Share
from accounting.metering.rules.attribution.gpu_totals import GpuSum, add, rounded
from accounting.metering.rules.attribution.node_timeline import NodeTimeline
from accounting.metering.rules.attribution.per_pod_values import PodValues
from accounting.metering.rules.attribution.pool_filling import Holder
from accounting.metering.rules.attribution.segment import Segment
from accounting.metering.rules.attribution.utilization import WindowUtilization
from accounting.metering.rules.samples.scraper_series import BILLION, ValidInterval
from accounting.metering.rules.samples.series import PodName, ScraperIdentity
from accounting.metering.rules.units.geometry import GpuPart

WINDOW = Interval(0, 300_000)
ALL, HALF = Fraction(1), Fraction(1, 2)
GPU = GpuPart("G")
NODE = NodeTimeline(
    "n", [], {}, {}, frozenset(), {}, pods={"u": ("ns", "a"), "v": ("ns", "b")}
)


def segment(*, is_seen: bool = True) -> Segment:
    return Segment(WINDOW, {GPU: ALL}, {}, {}, {}, is_seen=is_seen)


def utilization(
    ratio: float,
    until: int = 300_000,
    *,
    is_suspect: bool = False,
    values: Mapping[PodName, int] | None = None,
) -> WindowUtilization:
    piece = ValidInterval(0, until, round(ratio * BILLION), 0, ScraperIdentity())
    times = tuple(range(0, until, 30_000))
    by_pod = {ScraperIdentity(): PodValues({0: values})} if values else {}
    return WindowUtilization((piece,), 1, times, 30_000, is_suspect, by_pod)


def lines(
    said: WindowUtilization,
    *holders: Holder,
    period: Interval = WINDOW,
    is_seen: bool = True,
    part: GpuPart = GPU,
    own: Fraction = ALL,
) -> dict[str, LedgerLine]:
    """The lines of a GPU of which one part is looked at, by pod."""
    total = GpuSum("G", "n", present_ms=int(period.length_ms * own))
    share = Share(part, own, holders)
    add(total, share, period, said, segment(is_seen=is_seen), NODE)
    return {line.pod_uid: line for line in rounded([total])}


def line(uid: str, **values: int) -> LedgerLine:
    told = {"metric": 1, "samples_expected": 10, "samples_used": 10}
    return LedgerLine("G", "n", -1, uid, **(told | values))


def test_held_time_is_busy_idle_and_unknown() -> None:
    """N21: utilization x share is busy, the rest idle; not sampled is unknown."""
    found = lines(utilization(0.25, 240_000), Holder("u", ALL, INFERRED))
    expected = line(
        "u",
        busy_ms=60_000,
        idle_ms=180_000,
        unknown_ms=60_000,
        flags=INFERRED,
        samples_used=8,
    )
    assert found == {"u": expected}


def test_time_that_nobody_holds_is_free_and_stray_or_dark() -> None:
    """N21: stray as far as active where kube-state is seen; else dark, sampled or not."""
    assert lines(utilization(0.25)) == {"": line("", free_ms=225_000, stray_ms=75_000)}
    dark = line("", dark_ms=300_000, over_share_ms=75_000)
    assert lines(utilization(0.25), is_seen=False) == {"": dark}


def test_excess_is_stray_as_far_as_a_part_is_free() -> None:
    """N22: half is held; 0.9 is active: half busy, 0.4 stray."""
    found = lines(utilization(0.9), Holder("u", HALF))
    assert found == {
        "u": line("u", busy_ms=150_000),
        "": line("", free_ms=30_000, stray_ms=120_000),
    }


def test_what_no_holder_may_have_is_over_share() -> None:
    """N22: kept beside the states: 0.9 by one of two holders, of whom each has a half."""
    values = {PodName("ns", "a"): 1}
    found = lines(utilization(0.9, values=values), Holder("u", HALF), Holder("v", HALF))
    assert found == {
        "u": line("u", busy_ms=150_000),
        "v": line("v", idle_ms=150_000),
        "": line("", over_share_ms=120_000, samples_expected=0, samples_used=0),
    }


def test_less_than_a_millisecond_of_over_share_makes_no_line() -> None:
    """N23: whole milliseconds, rounded down."""
    values = {PodName("ns", "a"): 1}
    little = utilization(0.5 + 2e-6, values=values)
    assert set(lines(little, Holder("u", HALF), Holder("v", HALF))) == {"u", "v"}
    more = utilization(0.500005, values=values)  # 1.5 ms
    assert lines(more, Holder("u", HALF), Holder("v", HALF))[""].over_share_ms == 1


def test_division_without_values_is_estimated_only_where_it_is_sampled() -> None:
    """N19: several holders, sampled time, no per-pod values."""
    two = Holder("u", HALF), Holder("v", HALF)
    assert [x.flags for x in lines(utilization(0.5), *two).values()] == [ESTIMATED] * 2
    known = utilization(0.5, values={PodName("ns", "a"): 1, PodName("ns", "b"): 1})
    assert [x.flags for x in lines(known, *two).values()] == [0, 0]
    assert [x.flags for x in lines(WindowUtilization(), *two).values()] == [0, 0]
    assert lines(utilization(0.5), Holder("u", HALF))["u"].flags == 0


def test_suspect_time_is_unknown_and_says_so() -> None:
    """N21: its sampled time in that window."""
    found = lines(utilization(0.0, is_suspect=True), Holder("u", ALL))
    assert found == {"u": line("u", unknown_ms=300_000, flags=SUSPECT)}
    total = GpuSum("G", "n", present_ms=300_000)
    for _ in range(2):
        add(
            total,
            Share(GPU, ALL, ()),
            WINDOW,
            utilization(0, is_suspect=True),
            segment(),
            NODE,
        )
    assert total.suspects == [GPU]


def test_samples_expected_are_presence_by_step() -> None:
    """N33: rounded down; without a metric by the default step, and none is used."""
    silent = lines(WindowUtilization(), Holder("u", ALL), period=Interval(0, 100_000))
    assert silent == {
        "u": line("u", unknown_ms=100_000, metric=0, samples_expected=3, samples_used=0)
    }
    found = lines(utilization(1.0), Holder("u", HALF), period=Interval(30_000, 100_000))
    told = {"samples_expected": 2, "samples_used": 3}  # at 30, 60 and 90 s
    assert found == {
        "u": line("u", busy_ms=35_000, **told),
        "": line("", stray_ms=35_000, **told),
    }


def test_instance_is_named_and_has_its_part() -> None:
    part = GpuPart("G", 3, "1g.5gb")
    seventh = Fraction(1, 7)
    found = lines(
        utilization(0.5),
        Holder("u", seventh),
        part=part,
        own=seventh,
        period=Interval(0, 70_000),
    )
    [only] = found.values()
    assert (only.instance, only.busy_ms, only.idle_ms) == (3, 5000, 5000)


# --- rounding (N23) ------------------------------------------------------------------


def total(node: str, present_ms: int, *cells: tuple[int, str, str, Fraction]) -> GpuSum:
    found = GpuSum("G", node, present_ms=present_ms)
    for instance, uid, state, ms in cells:
        found.amounts[instance, uid, state] += ms * BILLION
        found.heads[instance, uid].samples += 1
    return found


@pytest.mark.parametrize("order", [1, -1])
def test_lines_of_a_gpu_are_rounded_once_and_sum_to_its_presence(order: int) -> None:
    """N23: largest remainder; ties by instance, pod uid, then state."""
    third = Fraction(1, 3)
    cells = [
        (2, "u", "busy", 10 + third),
        (2, "u", "idle", 20 + third),
        (10, "a", "busy", 30 + third),
        (-1, "", "stranded", Fraction(1)),
    ]
    found = rounded([total("n", 62, *cells[::order])])
    assert {
        (x.instance, x.pod_uid): (x.busy_ms, x.idle_ms, x.stranded_ms) for x in found
    } == {
        (-1, ""): (0, 0, 1),
        (2, "u"): (11, 20, 0),  # the first of three equal remainders
        (10, "a"): (30, 0, 0),
    }


def test_gpu_that_changed_its_node_is_rounded_over_both() -> None:
    """N23: one list per GPU and window, also where it changed the node."""
    half = Fraction(1, 2)
    first = total("n", 10, (-1, "", "free", 9 + half))
    second = total("m", 10, (-1, "", "free", 9 + half), (-1, "u", "idle", half))
    found = rounded([first, second])
    assert sum(line.total_ms for line in found) == 20
    assert [(x.node, x.pod_uid, x.free_ms, x.idle_ms) for x in found] == [
        ("n", "", 10, 0),
        ("m", "", 9, 0),
        ("m", "u", 0, 1),
    ]
