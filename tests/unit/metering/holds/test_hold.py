"""From bind to end: effective requests, completion, absence, nodes that go (N9-N13)."""

from fractions import Fraction

from accounting.core.interval import Interval
from accounting.metering.rules.holds.derive import derive
from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.inventory.merge.samples import observe
from accounting.metering.rules.inventory.records import Inventory, PodRecord
from accounting.metering.rules.inventory.requests import effective_requests
from accounting.metering.rules.samples.series import ScraperIdentity
from tests.held_time import held_ms, held_ms_by
from tests.unit.metering.fleet import ZERO_MS, Fleet, ms


def holds_of(fleet: Fleet) -> list[Hold]:
    inventory = Inventory()
    whole = Interval(ZERO_MS, ms(fleet.until))
    observe(inventory, [fleet.reading()], whole)
    return list(derive(inventory, whole, whole.end_ms).holds)


def test_effective_request_is_for_the_whole_life() -> None:
    """T20b: an init container of 4 beside a sidecar of 1, two main containers of 1."""
    pod = PodRecord("u", "ns", "p", 0, 0)
    gpu = "nvidia.com/gpu"
    pod.requests = {("main", "a", gpu): 1, ("main", "b", gpu): 1}
    pod.requests |= {("init", "i1", gpu): 4, ("init", "side", gpu): 1}
    pod.sidecars = {"side"}
    assert effective_requests(pod) == {gpu: 5}


def test_completion_without_a_terminal_phase_ends_nothing() -> None:
    """T20a: a helper container ended while the pod runs on."""
    fleet = Fleet()
    fleet.node("n", 1)
    fleet.pod("a", "n", 0, fleet.scrapes)
    key = {"namespace": "ns", "pod": "a", "uid": "uid-a"}
    fleet.add("kube_pod_completion_time", fleet.every(ms(60) / 1000, 60), key)
    [hold] = holds_of(fleet)
    assert hold.ended_ms is None
    assert hold.booked_until_ms == ms(600)


def test_absence_ends_one_step_after_the_last_sample() -> None:
    fleet = Fleet()
    fleet.node("n", 1)
    fleet.pod("a", "n", 5, [t for t in fleet.scrapes if 5 < t < 200])
    [hold] = holds_of(fleet)
    assert (hold.bound_ms, hold.ended_ms, hold.ended_by) == (ms(5), ms(210), "gone")


def test_name_used_twice_is_two_holds() -> None:
    """T18: the key is the uid."""
    fleet = Fleet()
    fleet.node("n", 1)
    fleet.pod("a", "n", 0, [t for t in fleet.scrapes if t < 200], uid="one")
    fleet.pod("a", "n", 300, [t for t in fleet.scrapes if t >= 300], uid="two")
    first, second = holds_of(fleet)
    assert (first.uid, first.ended_ms) == ("one", ms(210))
    assert (second.uid, second.bound_ms) == ("two", ms(300))


def test_later_bind_takes_the_room_of_the_pod_that_is_gone() -> None:
    """N11: two units cannot be held on one GPU."""
    fleet = Fleet()
    fleet.node("n", 1)
    fleet.pod("old", "n", 0, [t for t in fleet.scrapes if t < 200])
    fleet.pod("new", "n", 195, [t for t in fleet.scrapes if t > 195])
    old, new = holds_of(fleet)
    assert old.ended_ms == new.bound_ms == ms(195)


def test_replicas_of_kube_state_are_one_source() -> None:
    """T22a: a pod that one replica has not shown yet is not gone."""
    fleet = Fleet()
    fleet.node("n", 1)
    fleet.pod("a", "n", 0, fleet.scrapes)
    [hold] = holds_of(fleet)
    assert hold.units == 1
    assert hold.share == Fraction(1)


def test_bound_and_ended_in_one_second_is_listed() -> None:
    """N12."""
    fleet = Fleet()
    fleet.node("n", 1)
    fleet.pod("a", "n", 31, [t for t in fleet.scrapes if t > 31], ended=31)
    [hold] = holds_of(fleet)
    assert hold.bound_ms == hold.ended_ms == ms(31)
    assert held_ms(hold, Interval(ZERO_MS, ms(600))) == 0


def test_node_that_misses_from_scrapes_ends_no_hold_of_a_pod_that_is_shown() -> None:
    """N11: the end of its node, unless a later sample shows the pod on it."""
    for away in (range(300, 360), range(300, 900)):  # it comes back, or does not
        fleet = Fleet()
        fleet.node("n", 1, [t for t in fleet.scrapes if t not in away])
        fleet.node("other", 1)
        fleet.pod("a", "n", 0, fleet.scrapes)
        [hold] = holds_of(fleet)
        assert (hold.ended_ms, hold.booked_until_ms) == (None, ms(600))


def test_node_that_goes_ends_the_holds_that_nobody_shows_later() -> None:
    """N11: the scraper that shows the pod is gone, that of the node says that it went."""
    fleet = Fleet()
    early, late = ScraperIdentity("ksm", "pods"), ScraperIdentity("ksm", "nodes")
    fleet.node("n", 1, [t for t in fleet.scrapes if t < 330], scraper=late)
    fleet.node("other", 1, scraper=late)
    fleet.pod("a", "n", 0, [t for t in fleet.scrapes if t < 300], scraper=early)
    [hold] = holds_of(fleet)
    assert (hold.ended_ms, hold.ended_by) == (ms(330), "gone")


def test_held_time_is_share_weighted_and_clipped() -> None:
    hold = Hold(
        uid="u",
        namespace="ns",
        pod="p",
        node="n",
        resource="nvidia.com/mig-1g.10gb",
        units=7,
        share=Fraction(1, 7),
        created_ms=None,
        bound_ms=0,
        ended_ms=1000,
        booked_until_ms=1000,
    )
    assert held_ms_by([("t", hold)], Interval(500, 5000)) == {"t": 500}


def test_name_that_is_used_again_while_kube_state_is_silent() -> None:
    """N13: kube-state tells at 400 s of a bind at 250 s; labels carry no uid."""
    fleet = Fleet()
    fleet.node("n", 2, [t for t in fleet.scrapes if t < 100 or t >= 400])
    fleet.pod("a", "n", 0, [t for t in fleet.scrapes if t < 100], uid="one")
    fleet.pod("a", "n", 250, [t for t in fleet.scrapes if t >= 400], uid="two")
    fleet.gpu("G", "n", fleet.every(0.5), pod="a")
    first, second = holds_of(fleet)
    # kube-state is seen until 120 s; the last label before the bind is that of 240 s
    assert (first.uid, first.ended_ms, first.inferred_from_ms) == (
        "one",
        ms(270),
        ms(120),
    )
    assert (second.uid, second.bound_ms, second.ended_ms) == ("two", ms(250), None)


def test_name_that_was_silent_before_it_is_used_again() -> None:
    """N13: a hold ends one step after its own last label, not at the next bind."""
    fleet = Fleet()
    fleet.node("n", 2, [t for t in fleet.scrapes if t < 100 or t >= 400])
    fleet.pod("a", "n", 0, [t for t in fleet.scrapes if t < 100], uid="one")
    fleet.pod("a", "n", 250, [t for t in fleet.scrapes if t >= 400], uid="two")
    fleet.gpu("G", "n", fleet.every(0.5, 0, 150) | fleet.every(0.5, 270), pod="a")
    ends = [(hold.uid, hold.ended_ms) for hold in holds_of(fleet)]
    assert ends == [("one", ms(150)), ("two", None)]  # the label of 120 s + 30 s


def test_name_that_is_used_again_on_another_node() -> None:
    """T18 in the dark: a pod whose name another one has is gone, whatever its GPU says."""
    fleet = Fleet()
    for node in ("n", "m"):
        fleet.node(node, 1, [t for t in fleet.scrapes if t < 100 or t >= 400])
    fleet.pod("a", "n", 0, [t for t in fleet.scrapes if t < 100], uid="one")
    fleet.pod("a", "m", 200, [t for t in fleet.scrapes if t >= 400], uid="two")
    fleet.gpu("G", "n", fleet.every(0.5), pod="a")
    ends = {hold.uid: hold.ended_ms for hold in holds_of(fleet)}
    assert ends == {"one": ms(210), "two": None}  # 180 s + 30 s
