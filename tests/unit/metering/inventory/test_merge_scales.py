"""Whose windows are read otherwise since a merge, and so are due again (N8, N1)."""

import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.merge.operations import ChangedRecords
from accounting.metering.rules.inventory.merge.scales import observe_scales
from accounting.metering.rules.inventory.records import Inventory, ScraperRecord
from accounting.metering.rules.samples.series import Reading, ScraperIdentity
from tests.unit.metering.utilization_series import ONE, TWO, series

EVER = Interval(0, 2**60)
UTIL = "DCGM_FI_DEV_GPU_UTIL"
THREE = ScraperIdentity("a", "three")


def merged(
    inventory: Inventory,
    samples: dict[float, float],
    *,
    by: ScraperIdentity = ONE,
    metric: str = "gpu_util",
    declared: frozenset[str] = frozenset(),
) -> ChangedRecords:
    touched, known = ChangedRecords(), frozenset(inventory.scrapers)
    told = series(metric, samples, name=UTIL, scraper=by)
    everything = [(told, Reading((told,), declared=declared))]
    observe_scales(inventory, everything, EVER, touched, known)
    return touched


@pytest.mark.parametrize(
    ("before", "after", "is_rescaled"),
    [
        (0.01, 0.005, True),  # 1, then a fraction
        (0.005, 0.5, True),  # a fraction, then whole percent
        (0.0, 0.005, False),  # 0 is 0 on every scale
        (0.5, 0.005, False),  # as is 50
        (0.01, 0.5, True),  # 1, then whole percent
        (0.01, 0.0, False),
    ],
)
def test_what_was_open_is_read_again(
    before: float, after: float, *, is_rescaled: bool
) -> None:
    inventory = Inventory()
    merged(inventory, {0: before})
    assert merged(inventory, {30: after}).rescaled == ({ONE} if is_rescaled else set())
    again = merged(inventory, {30: after})
    assert (again.rescaled, again.scrapers) == (set(), set())


def test_whole_percent_is_read_again_beside_ratios_of_another() -> None:
    inventory = Inventory()
    merged(inventory, {0: 0.01})
    merged(inventory, {0: 0.005}, by=TWO)
    assert merged(inventory, {30: 0.5}).rescaled == {ONE}


@pytest.mark.parametrize("shown", [0.5, 0.005])
def test_who_showed_only_1_is_read_again_when_another_shows_a_scale(
    shown: float,
) -> None:
    inventory = Inventory()
    merged(inventory, {0: 0.01, 30: 0.0})
    assert merged(inventory, {0: 0.01}, by=TWO).rescaled == set()
    assert merged(inventory, {60: shown}, by=TWO).rescaled == {ONE, TWO}
    assert merged(inventory, {90: shown}, by=THREE).rescaled == (
        set() if shown > 0.01 else {ONE}
    )


def test_who_showed_only_1_among_percent_stays_as_it_is() -> None:
    inventory = Inventory()
    merged(inventory, {0: 0.5}, by=TWO)
    merged(inventory, {0: 0.01})
    assert merged(inventory, {30: 0.5}).rescaled == set()


def test_a_fourth_fraction_is_nothing_new() -> None:
    inventory = Inventory()
    merged(inventory, {30: 0.005, 60: 0.005, 90: 0.005})
    earlier = merged(inventory, {0: 0.005})
    assert (earlier.rescaled, earlier.scrapers) == (set(), {ONE})  # kept, as the first


def test_of_samples_before_this_was_kept_nobody_knows() -> None:
    """A scraper that is known without what it showed, as after an upgrade; a new one is new."""
    inventory = Inventory(scrapers={ONE: ScraperRecord(ONE)})
    assert merged(inventory, {0: 0.0}).scrapers == {ONE}
    assert merged(inventory, {30: 0.0}).scrapers == set()
    assert merged(inventory, {60: 0.005}).rescaled == {ONE}
    merged(inventory, {0: 0.0}, by=TWO)
    assert merged(inventory, {30: 0.005}, by=TWO).rescaled == set()


def test_a_declared_name_and_another_metric_show_nothing() -> None:
    inventory = Inventory()
    merged(inventory, {0: 0.005}, declared=frozenset({UTIL}))
    merged(inventory, {0: 0.005}, metric="gpu_other")
    assert not inventory.scrapers
