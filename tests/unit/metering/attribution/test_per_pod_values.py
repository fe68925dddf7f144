"""Per-pod values of a shared GPU, and how they divide its time (rules N22; trap T15)."""

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.attribution.activity import Share, measure, plain
from accounting.metering.rules.attribution.node_timeline import NodeTimeline
from accounting.metering.rules.attribution.per_pod_values import PodValues, pod_values
from accounting.metering.rules.attribution.pool_filling import Holder
from accounting.metering.rules.attribution.utilization import WindowUtilization
from accounting.metering.rules.inventory.labels import Ownership
from accounting.metering.rules.samples.scraper_series import BILLION, ValidInterval
from accounting.metering.rules.samples.series import (
    GpuKey,
    PodName,
    ScraperIdentity,
    Series,
)
from accounting.metering.rules.units.geometry import GpuPart

A, B = PodName("ns", "a"), PodName("ns", "b")
HALF, TENTH = BILLION // 2, BILLION // 10


def series(pod: PodName | None, samples: Mapping[int, float]) -> Series:
    times = np.array(list(samples), np.int64)
    values = np.array(list(samples.values()), np.float64)
    gpu = GpuKey("G", "n", plain=pod)
    return Series("gpu_util", "U", ScraperIdentity(), times, values, gpu=gpu)


def at(*parts: Series) -> Mapping[int, Mapping[PodName, int]] | None:
    found = pod_values(parts, Ownership())
    return None if found is None else found.at


# --- which values there are ----------------------------------------------------------


def test_values_of_pods_stand_beside_one_of_the_device() -> None:
    """N22: samples with a workload beside one without, of the same scrape."""
    found = at(
        series(None, {0: 0.6, 30: 0.6, 90: float("nan")}),
        series(A, {0: 0.5, 30: 0.1, 60: 0.9, 90: 0.9}),
        series(B, {0: 0.1}),
    )
    assert found == {0: {A: HALF, B: TENTH}, 30: {A: TENTH}}


def test_zero_of_the_device_is_a_value_beside_which_pods_stand() -> None:
    """N22: a number, though nothing is divided by it."""
    assert at(series(None, {0: 0.0}), series(A, {0: 0.5})) == {0: {A: HALF}}


def test_device_or_pods_alone_are_no_per_pod_values() -> None:
    assert at(series(None, {0: 0.6})) is None
    assert at(series(A, {0: 0.6}), series(B, {0: 0.1})) is None
    assert at(series(None, {0: float("nan")}), series(A, {0: 0.6})) is None
    assert at(series(None, {0: 0.6}), series(A, {30: 0.6})) is None
    assert at(series(None, {0: 0.6}), series(A, {0: 0.0})) is None


def test_of_one_pod_the_largest_counts() -> None:
    """N22: containers and replicas repeat one value."""
    parts = [series(A, {0: 0.1}), series(A, {0: 0.5}), series(A, {0: 0.2})]
    assert at(series(None, {0: 0.6}), *parts) == {0: {A: HALF}}


def test_all_zero_and_no_data_are_none() -> None:
    """N22: the exporter could not see processes."""
    device = series(None, {0: 0.6, 30: 0.6, 60: 0.0})
    found = at(device, series(A, {0: 0.0, 30: 0.5, 60: 0.0}), series(B, {0: 0, 30: -1}))
    assert found == {30: {A: HALF}}


@pytest.mark.parametrize(
    ("holders", "weights"),
    [
        ([("u1", ("ns", "a")), ("u2", ("ns", "b"))], [HALF, TENTH]),
        ([("u2", ("ns", "b")), ("u9", ("ns", "c"))], [TENTH, 0]),  # none counts 0
        ([("u9", ("ns", "c"))], None),
        ([("u1", ("other", "a"))], None),
    ],
)
def test_weights_are_those_of_the_holders(
    holders: list[tuple[str, tuple[str, str]]], weights: list[int] | None
) -> None:
    values = PodValues({0: {A: HALF, B: TENTH}})
    assert values.weights(0, holders) == weights
    assert values.weights(1, holders) is None


def test_value_with_a_uid_is_of_that_pod_only() -> None:
    """T18: a name used twice."""
    first, second = PodName("ns", "a", "u1"), PodName("ns", "a", "u2")
    values = PodValues({0: {first: HALF, second: TENTH}})
    assert values.weights(0, [("u2", ("ns", "a"))]) == [TENTH]
    assert values.weights(0, [("u1", ("ns", "a")), ("u2", ("ns", "a"))]) == [
        HALF,
        TENTH,
    ]


# --- how they divide -----------------------------------------------------------------

NODE = NodeTimeline(
    "n", [], {}, {}, frozenset(), {}, pods={"u1": ("ns", "a"), "u2": ("ns", "b")}
)


def share(*parts: Fraction, own: Fraction = Fraction(1)) -> Share:
    holders = tuple(Holder(f"u{n}", part) for n, part in enumerate(parts, start=1))
    return Share(GpuPart("G"), own, holders)


def utilization(
    *pieces: ValidInterval, values: Mapping[PodName, int] | None = None
) -> WindowUtilization:
    by_pod = {ScraperIdentity(): PodValues({0: values})} if values else {}
    return WindowUtilization(pieces=pieces, by_pod=by_pod)


def piece(start: int, end: int, ratio: float, at_ms: int = 0) -> ValidInterval:
    return ValidInterval(start, end, round(ratio * BILLION), at_ms, ScraperIdentity())


def test_activity_is_divided_by_per_pod_values() -> None:
    """T15: 0.6 of the device, 0.45 to one and 0.15 to the other."""
    values = {A: 450_000_000, B: 150_000_000}
    found = measure(
        share(Fraction(1, 2), Fraction(1, 2)),
        Interval(0, 100),
        utilization(piece(0, 100, 0.6), values=values),
        NODE,
    )
    assert (found.covered, found.is_estimated) == (100, False)
    assert found.busy == [45 * BILLION, 15 * BILLION]
    assert (found.excess, found.stray) == (0, 0)


def test_what_is_above_a_holders_share_goes_to_nobody_else() -> None:
    """N22: 0.9 x 3/4 is above the half; a quarter of the GPU is free for stray."""
    values = {A: 3, B: 1}
    found = measure(
        share(Fraction(1, 2), Fraction(1, 4)),
        Interval(0, 100),
        utilization(piece(0, 100, 0.9), values=values),
        NODE,
    )
    assert found.busy == [50 * BILLION, Fraction(225, 10) * BILLION]
    assert found.excess == found.stray == Fraction(175, 10) * BILLION
    full = measure(
        share(Fraction(1, 2), Fraction(1, 2)),
        Interval(0, 100),
        utilization(piece(0, 100, 0.9), values=values),
        NODE,
    )
    assert (full.excess, full.stray) == (Fraction(175, 10) * BILLION, 0)


def test_without_values_activity_goes_by_shares() -> None:
    """N22: up to what is held; the rest is stray as far as a part is free."""
    found = measure(
        share(Fraction(1, 4), Fraction(1, 8)),
        Interval(0, 100),
        utilization(piece(0, 100, 0.9)),
        NODE,
    )
    assert found.busy == [25 * BILLION, Fraction(125, 10) * BILLION]
    assert found.excess == found.stray == Fraction(525, 10) * BILLION
    assert found.is_estimated
    little = measure(
        share(Fraction(1, 4), Fraction(1, 8)),
        Interval(0, 100),
        utilization(piece(0, 100, 0.3)),
        NODE,
    )
    assert little.busy == [20 * BILLION, 10 * BILLION]
    assert little.excess == 0


def test_values_count_only_in_the_scrape_that_has_them() -> None:
    """N22: of the scrape whose utilization is in force."""
    found = measure(
        share(Fraction(1, 2), Fraction(1, 2)),
        Interval(0, 100),
        utilization(piece(0, 50, 0.5), piece(50, 100, 0.5, at_ms=50), values={A: 1}),
        NODE,
    )
    assert found.busy == [Fraction(75, 2) * BILLION, Fraction(25, 2) * BILLION]
    assert found.is_estimated


def test_only_time_inside_the_period_is_covered() -> None:
    """N5, N6: cut where holders change."""
    pieces = [
        piece(0, 20, 1.0),
        piece(20, 30, 0.5),
        piece(40, 60, 1.0),
        piece(60, 90, 1),
    ]
    found = measure(share(Fraction(1)), Interval(20, 60), utilization(*pieces), NODE)
    assert (found.covered, found.busy) == (30, [25 * BILLION])
    nobody = measure(share(), Interval(20, 60), utilization(*pieces), NODE)
    assert (nobody.busy, nobody.excess, nobody.stray) == ([], *[25 * BILLION] * 2)


def test_a_millisecond_counts() -> None:
    """N2: whole milliseconds."""
    found = measure(
        share(Fraction(1)), Interval(0, 100), utilization(piece(99, 130, 1.0)), NODE
    )
    assert (found.covered, found.busy) == (1, [BILLION])


def test_instance_has_its_part_of_the_activity() -> None:
    """N21: utilization x share."""
    part = share(Fraction(1, 7), own=Fraction(1, 7))
    found = measure(part, Interval(0, 70), utilization(piece(0, 70, 0.5)), NODE)
    assert found.busy == [5 * BILLION]


def test_whole_number_is_an_int() -> None:
    assert type(plain(Fraction(4, 2))) is int
    assert plain(Fraction(1, 2)) == Fraction(1, 2)
    assert plain(3) == 3
