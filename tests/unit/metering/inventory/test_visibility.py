"""Whose silence says that an object is gone: replicas, shards, restarts (N9, N11, N4)."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.kube_state.visibility import (
    KubeState,
    VisibleObject,
    kube_state,
)
from accounting.metering.rules.inventory.merge.samples import kube_steps
from accounting.metering.rules.inventory.nodes import NodeLife, node_lives
from accounting.metering.rules.inventory.records import (
    Inventory,
    NodeRecord,
    SampleSpan,
    ScraperRecord,
)
from accounting.metering.rules.samples.series import ScraperIdentity
from tests.unit.metering.kube_series import KSM, of_pod, ones, seen, series

ONE, TWO, THREE = (ScraperIdentity("ksm", name) for name in ("one", "two", "three"))
ALL = range(0, 600, 30)


def state(times: Mapping[ScraperIdentity, Sequence[int]]) -> KubeState:
    """Scrapes at seconds."""
    inventory = Inventory()
    for scraper, found in times.items():
        at = np.array(found, np.int64) * 1000
        inventory.scrapers[scraper] = ScraperRecord(scraper, kube_times=at)
    return kube_state(inventory)


def shown(first: int, last: int, *scrapers: ScraperIdentity) -> VisibleObject:
    return VisibleObject(first * 1000, last * 1000, set(scrapers))


# --- whose scrapes lack an object (N11) --------------------------------------


def test_a_scraper_that_shows_an_object_lacks_it_later() -> None:
    found = state({ONE: ALL})
    assert found.is_lacked(shown(0, 60, ONE), 60_000)
    assert not found.is_lacked(shown(0, 570, ONE), 570_000)
    assert found.is_lacked(shown(0, 60, ONE), 60_000, 91_000)
    assert not found.is_lacked(shown(0, 60, ONE), 60_000, 90_000)  # none in between


def test_a_shard_of_other_objects_lacks_nothing() -> None:
    """It was read while the object was there, and never shows it."""
    found = state({ONE: [0, 30, 60], TWO: ALL})
    assert not found.is_lacked(shown(0, 60, ONE), 60_000)
    assert found.is_lacked(shown(0, 60, ONE, TWO), 60_000)  # a replica


def test_a_gap_between_two_loaded_scrapes_lacks_nothing() -> None:
    """Scrapes of a replica were lost: nobody was read in between, whatever its step is."""
    inventory = Inventory()
    inventory.scrapers[ONE] = ScraperRecord(
        ONE,
        spans=[SampleSpan(420_000, 465_000, 15_000)],
        kube_times=np.array([420_000, 465_000], np.int64),
    )
    found = kube_state(inventory)
    assert not found.is_lacked(shown(0, 432, ONE), 432_125, 462_125)
    assert found.is_lacked(shown(0, 432, ONE), 432_125, 465_001)


def test_a_scraper_that_began_later_lacks_what_is_gone() -> None:
    """A restarted kube-state: nobody can say that it is a shard of other objects."""
    found = state({ONE: [0, 30, 60], TWO: [95, 125]})
    assert found.is_lacked(shown(0, 60, ONE), 60_000)


@pytest.mark.parametrize(
    ("scrape", "is_other"), [(29, False), (30, True), (60, True), (61, False)]
)
def test_between_its_first_and_last_sample_is_inclusive(
    scrape: int, is_other: bool
) -> None:
    found = state({ONE: [30, 60], TWO: [scrape, 90]})
    assert found.is_lacked(shown(30, 60, ONE), 60_000) is not is_other


def test_where_nobody_is_known_to_show_an_object_every_scrape_lacks_it() -> None:
    assert state({ONE: ALL}).is_lacked(shown(0, 60), 60_000)


def test_scrapes_that_were_not_loaded_are_known_by_their_spans() -> None:
    """[0, 500] s of both were read and are not at hand; of one shard nothing is."""
    inventory = Inventory()
    for scraper, times in ((ONE, [600, 630]), (TWO, [610, 640]), (THREE, [])):
        record = ScraperRecord(scraper, kube_times=np.array(times, np.int64) * 1000)
        record.spans = [SampleSpan(0, 500_000, 30_000)]
        inventory.scrapers[scraper] = record
    found = kube_state(inventory)
    assert not found.is_lacked(shown(100, 630, ONE), 630_000)  # TWO is another shard
    assert found.is_lacked(shown(100, 630, ONE, TWO), 630_000)
    assert found.is_lacked(shown(0, 100, THREE), 100_000, 400_000)
    assert not found.is_lacked(shown(0, 500, THREE), 500_000)
    # shorter than 1.5 steps: nobody knows whether a scrape lies in it
    assert not found.is_lacked(shown(0, 100, THREE), 100_000, 130_000)


# --- nodes ----------------------------------------------------------------------------


def test_node_that_another_shard_scrapes_is_never_gone() -> None:
    node = NodeRecord(
        "n", [SampleSpan(0, 60_000, 30_000), SampleSpan(300_000, 570_000, 30_000)]
    )
    node.scrapers = {ONE}
    outage = [at for at in ALL if not 60 < at < 300]
    found = node_lives(node, state({ONE: outage, TWO: ALL}))
    assert found == [NodeLife(0, 570_000, 30_000, is_over=False)]
    found = node_lives(node, state({ONE: ALL, TWO: ALL}))
    assert found == [
        NodeLife(0, 60_000, 30_000, is_over=True),
        NodeLife(300_000, 570_000, 30_000, is_over=False),
    ]


def test_evidence_of_a_node_says_who_shows_it() -> None:
    inventory, touched = seen(
        series("kube_node_info", ones(0, 30), {"node": "n"}, ONE),
        series("kube_node_labels", ones(0, 30), {"node": "n"}, TWO),
        series("kube_node_info", ones(0, 30), {"node": "m"}, THREE),
    )
    assert inventory.nodes["n"].scrapers == {ONE, TWO}
    assert touched.nodes == {"n", "m"}
    _, again = seen(
        series("kube_node_info", ones(0, 30), {"node": "n"}, THREE), inventory=inventory
    )
    assert again.nodes == {"n"}  # another scraper of the same times


# --- steps of a restarted kube-state (N4) ------------------------------------


def steps(
    times: Mapping[ScraperIdentity, Sequence[int]], of: ScraperIdentity, at: int
) -> int:
    inventory = Inventory()
    for scraper, found in times.items():
        inventory.scrapers[scraper] = ScraperRecord(
            scraper, kube_times=np.array(found, np.int64) * 1000
        )
    return kube_steps(inventory)[of].at(at * 1000)


EARLY = list(range(0, 1200, 60))  # a step of 60 s, until 20:00


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ({TWO: [3600]}, 30_000),  # nothing else is known
        ({ONE: EARLY, TWO: [3600]}, 60_000),  # the last step of its job
        ({ONE: EARLY, TWO: [3600, 3620, 3640]}, 20_000),  # three of its own
        ({ONE: EARLY, TWO: [3600, 3620]}, 60_000),
        ({ScraperIdentity("other", "one"): EARLY, TWO: [3600]}, 30_000),  # another job
        # other scrapers at that time go first, of any job
        (
            {ONE: EARLY, TWO: [3600], ScraperIdentity("other"): [3600, 3615, 3630]},
            15_000,
        ),
        # of several that stopped the one that was read last
        ({ONE: EARLY, THREE: [1500, 1545, 1590], TWO: [3600]}, 45_000),
        ({TWO: [*EARLY, 3600]}, 60_000),  # its own, before an outage
    ],
)
def test_step_of_few_scrapes(
    times: Mapping[ScraperIdentity, Sequence[int]], expected: int
) -> None:
    assert steps(times, TWO, 3600) == expected


def test_step_of_hours_that_are_not_at_hand() -> None:
    inventory = Inventory()
    for scraper, at in ((ONE, []), (TWO, [3_600_000])):
        times = np.array(at, np.int64)
        inventory.scrapers[scraper] = ScraperRecord(scraper, kube_times=times)
    inventory.scrapers[ONE].spans = [SampleSpan(0, 600_000, 45_000)]
    assert kube_steps(inventory)[TWO].at(3_600_000) == 45_000


def test_a_restart_is_no_reason_for_dark_time() -> None:
    """Two samples of a new instance, 60 s apart: the second is valid for 60 s, not for 30."""
    inventory, _ = seen(
        of_pod("info", ones(*range(0, 300, 60)), ONE, node="n"),
        of_pod("info", ones(320, 380), TWO, node="n"),
    )
    found = kube_state(inventory)
    assert not found.is_seen(440_000)
    assert found.is_seen(439_999)


def test_after_a_restart_of_shards_the_last_sample_gives_the_step() -> None:
    """Both shards have a step in the last window that was read; the second was read later."""
    at = {ONE: range(0, 201, 50), TWO: range(0, 241, 60), THREE: [1500]}
    inventory = Inventory()
    for scraper, seconds in at.items():
        times = np.array(seconds, np.int64) * 1000
        inventory.scrapers[scraper] = ScraperRecord(scraper, kube_times=times)
    assert kube_steps(inventory)[THREE].at(1_500_000) == 60_000
    inventory.scrapers[ONE].kube_times = np.arange(40, 241, 50) * 1000
    assert kube_steps(inventory)[THREE].at(1_500_000) == 50_000  # the lower median


def test_older_samples_give_later_ones_their_step() -> None:
    """Two scrapes after an hour have 30 s until the earlier ones say 60 s, in any order (N1)."""
    early, late = (
        of_pod("info", ones(*times)) for times in (EARLY, [6900, 6960, 14400, 14460])
    )
    ever = Interval(0, 20_000_000)
    whole, _ = seen(early, late, period=ever)
    pieces, _ = seen(late, period=ever)
    older = Interval(0, 1_200_000)
    _, touched = seen(early, period=older, inventory=pieces)
    assert pieces.scrapers[KSM].spans == whole.scrapers[KSM].spans
    assert [span.step_ms for span in pieces.scrapers[KSM].spans] == [60_000] * 3
    assert touched.restepped == [
        Interval(at * 1000, at * 1000 + 90_001) for at in (6900, 6960, 14400, 14460)
    ]
    _, again = seen(early, period=older, inventory=pieces)
    assert not again.restepped
    assert not again.scrapers


def test_older_samples_leave_steps_that_are_known() -> None:
    """The three samples have a step of their own, and those after them the step of their job."""
    late = of_pod("info", ones(6900, 6930, 6960, 14400))
    inventory, _ = seen(late, period=Interval(0, 20_000_000))
    early = of_pod("info", ones(*EARLY))
    _, touched = seen(early, period=Interval(0, 1_200_000), inventory=inventory)
    assert not touched.restepped


def test_evidence_keeps_when_kube_state_was_read() -> None:
    inventory, touched = seen(of_pod("info", ones(0, 30, 60, 300, 330), ONE))
    assert touched.scrapers == {ONE}
    assert inventory.scrapers[ONE].spans == [
        SampleSpan(0, 60_000, 30_000),
        SampleSpan(300_000, 330_000, 30_000),
    ]
