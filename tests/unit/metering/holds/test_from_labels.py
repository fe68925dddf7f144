"""Holds that only GPU labels show, and those that labels keep (rules N9, N11, N13)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from accounting.core.interval import Interval
from accounting.metering.rules.holds.from_labels import inferred_holds
from accounting.metering.rules.holds.hold import Hold
from accounting.metering.rules.holds.lifetime import End, bound_ms, end_of
from accounting.metering.rules.inventory.kube_state.visibility import (
    KubeState,
    kube_state,
)
from accounting.metering.rules.inventory.labels import LabeledSlot, Labels
from accounting.metering.rules.inventory.nodes import node_lives
from accounting.metering.rules.inventory.records import (
    Inventory,
    Naming,
    NodeRecord,
    PodRecord,
    SampleSpan,
    ScraperRecord,
)
from accounting.metering.rules.samples.series import PodName, ScraperIdentity
from accounting.metering.rules.units.geometry import GpuPart

KSM, SHARD = ScraperIdentity("ksm", "one"), ScraperIdentity("ksm", "two")
GPU = "nvidia.com/gpu"


def state(
    times: Sequence[int] = (), shard: Sequence[int] = (), pods: Sequence[PodRecord] = ()
) -> KubeState:
    """Scrapes at seconds; 30 s is the step of few."""
    inventory = Inventory(pods={pod.uid: pod for pod in pods})
    for scraper, found in ((KSM, times), (SHARD, shard)):
        if found:
            at = np.array(found, np.int64) * 1000
            inventory.scrapers[scraper] = ScraperRecord(scraper, kube_times=at)
    return kube_state(inventory)


def labels(*places: tuple[str, Sequence[int]], uid: str = "", kind: str = "") -> Labels:
    """Samples of GPUs of node n at seconds that name ns/a."""
    found = Labels()
    for uuid, times in places:
        part = GpuPart(uuid, 1, kind) if kind else GpuPart(uuid)
        at = np.array(times, np.int64) * 1000
        shown = Naming(at, np.full(len(at), 30_000, np.int32))
        found.put(LabeledSlot(part, "n", "", PodName("ns", "a", uid), shown))
    return found


def holds(
    shown: Labels,
    seen: KubeState,
    inventory: Inventory | None = None,
    until: int = 10_000,
) -> list[Hold]:
    return list(inferred_holds(inventory or Inventory(), seen, shown, until * 1000))


def spans(found: Sequence[Hold]) -> list[tuple[int, int, int | None, int]]:
    """Bind, booked until, end and units."""
    return [
        (
            h.bound_ms // 1000,
            h.booked_until_ms // 1000,
            None if h.ended_ms is None else h.ended_ms // 1000,
            h.units,
        )
        for h in found
    ]


# --- made by labels (N13) ------------------------------------------------------------


def test_labels_make_a_hold_while_kube_state_is_not_seen() -> None:
    """N13: it ends one step after the last sample; units = the places that it names."""
    [hold] = holds(labels(("A", [0, 30, 60]), ("B", [30, 90])), state())
    assert spans([hold]) == [(0, 120, 120, 2)]
    assert (hold.uid, hold.namespace, hold.pod, hold.node) == ("ns/a", "ns", "a", "n")
    assert (hold.resource, hold.share, hold.kind) == (GPU, Fraction(1), "")
    assert (hold.is_inferred, hold.inferred_from_ms, hold.created_ms) == (True, 0, None)
    assert (hold.ended_by, hold.is_shared) == ("gone", False)


def test_hold_lasts_while_the_data_do() -> None:
    """N11: `ended` stays null where the data end first."""
    found = holds(labels(("A", [0, 30])), state(), until=60)
    assert spans(found) == [(0, 60, None, 1)]
    assert found[0].ended_by == ""
    assert spans(holds(labels(("A", [0, 30])), state(), until=61)) == [(0, 60, 60, 1)]
    assert spans(holds(labels(("A", [0, 30])), state(), until=50)) == [(0, 50, None, 1)]


def test_kube_state_ends_it_when_it_is_seen_again() -> None:
    """N13: or when kube-state is seen again; one hold for each time that it was not."""
    seen = state([0, 30, 60, 150, 180, 210, 600, 630, 660])
    found = holds(labels(("A", [30, 60, 100, 140, 180, 300, 330]), ("B", [310])), seen)
    assert spans(found) == [(100, 150, 150, 1), (300, 360, 360, 2)]


def test_pod_that_kube_state_shows_needs_no_inferred_hold() -> None:
    """N13: a pod that kube-state never shows on this node; by uid where one is labelled."""
    shown = PodRecord("u", "ns", "a", 0, 0, node="n")
    known = Inventory(pods={"u": shown})
    assert holds(labels(("A", [0])), state(), known) == []
    assert holds(labels(("A", [0]), uid="u"), state(), known) == []
    [other] = holds(labels(("A", [0]), uid="v"), state(), known)
    assert other.uid == "v"
    shown.node = "m"
    assert len(holds(labels(("A", [0])), state(), known)) == 1
    assert len(holds(labels(("A", [0]), uid="u"), state(), known)) == 1


def test_pod_that_was_pending_is_held_by_its_labels() -> None:
    """N13: kube-state shows it, and never on this node."""
    waiting = Inventory(pods={"u": PodRecord("u", "ns", "a", 0, 30_000)})
    seen = state([0, 30])
    [hold] = holds(labels(("A", [45, 60, 90]), uid="u"), seen, waiting)
    assert spans([hold]) == [(60, 120, 120, 1)]
    assert (hold.uid, hold.is_inferred) == ("u", True)
    [named] = holds(labels(("A", [60, 90])), seen, waiting)
    assert named.uid == "ns/a"


def test_unit_is_judged_at_the_bind_of_each_hold() -> None:
    """Units: by labels and capacity at its bind, here shared from 10:00 on."""
    record = NodeRecord("n", capacity=[(0, {GPU: 1})])
    record.labels = [(0, {}), (600_000, {"label_nvidia_com_gpu_replicas": "4"})]
    shared = Inventory(nodes={"n": record})
    seen = state([300, 330])
    found = holds(labels(("A", [0, 30, 660, 690])), seen, shared)
    assert [(h.bound_ms, h.share) for h in found] == [(0, Fraction(1))]


def node(capacity: dict[str, int], labels_: dict[str, str] | None = None) -> Inventory:
    record = NodeRecord("n", capacity=[(0, capacity)], labels=[(0, labels_ or {})])
    return Inventory(nodes={"n": record})


@pytest.mark.parametrize(
    ("capacity", "kind", "resource", "share"),
    [
        ({GPU: 8}, "", GPU, Fraction(1)),
        ({"amd.com/gpu": 8}, "", "amd.com/gpu", Fraction(1)),
        ({"amd.com/gpu": 0, GPU: 1}, "", GPU, Fraction(1)),  # none of it is there
        ({"gpu.intel.com/i915": 8, GPU: 1}, "", GPU, Fraction(1)),  # the shortest name
        ({"nvidia.com/mig-1g.5gb": 7}, "1g.5gb", "nvidia.com/mig-1g.5gb", Fraction(1, 7)),
        ({GPU: 8}, "1g.5gb", "nvidia.com/mig-1g.5gb", Fraction(1, 7)),
        ({}, "1g.5gb+me", "nvidia.com/mig-1g.5gb.me", Fraction(1, 7)),
        ({}, "", GPU, Fraction(1)),
        ({}, "dpx", "amd.com/gpu", Fraction(1, 2)),  # kube-state never tells of the node
        ({}, "cpx", "amd.com/gpu", Fraction(1, 8)),
        ({GPU: 1}, "qpx", "amd.com/gpu", Fraction(1, 4)),
        ({"amd.com/qpx_nps1": 8}, "qpx", "amd.com/qpx_nps1", Fraction(1, 4)),
        ({"amd.com/qpx_nps1": 0}, "dpx", "amd.com/gpu", Fraction(1, 2)),
    ],
)  # fmt: skip
def test_resource_is_what_the_node_gives_out_for_that_kind(
    capacity: dict[str, int], kind: str, resource: str, share: Fraction
) -> None:
    model = {"label_nvidia_com_gpu_product": "NVIDIA-A100-SXM4-40GB"}
    [hold] = holds(labels(("A", [0]), kind=kind), state(), node(capacity, model))
    assert (hold.resource, hold.share, hold.kind) == (resource, share, kind)


def test_instance_that_cannot_be_makes_no_hold() -> None:
    assert holds(labels(("A", [0]), kind="9g.99gb"), state()) == []


def test_label_on_a_shared_gpu_makes_none_alone() -> None:
    """N13, N17: a label that N17 lets count."""
    shared = node({GPU: 4}, {"label_nvidia_com_gpu_replicas": "4"})
    assert holds(labels(("A", [0, 30])), state(), shared) == []
    both = labels(("A", [0, 30]))
    at = np.array([30_000], np.int64)
    naming = Naming(at, np.full(1, 30_000, np.int32))
    both.put(LabeledSlot(GpuPart("A"), "n", "", PodName("ns", "b"), naming))
    found = holds(both, state(), shared)
    assert [(h.pod, h.bound_ms, h.share, h.is_shared) for h in found] == [
        ("a", 30_000, Fraction(1, 4), True),
        ("b", 30_000, Fraction(1, 4), True),
    ]


# --- ends (N10, N11, N13) ------------------------------------------------------------


def pod(last: int = 60, **more: object) -> PodRecord:
    found = PodRecord("u", "ns", "a", 0, last * 1000, {KSM}, "n", node_first_ms=5000)
    for name, value in more.items():
        setattr(found, name, value)
    return found


def end(
    asks: PodRecord,
    seen: KubeState,
    shown: Labels | None = None,
    record: NodeRecord | None = None,
    until: int = 600,
) -> End:
    lives = node_lives(record, seen)
    return end_of(asks, record, seen, shown or Labels(), until * 1000, lives)


ALL = list(range(0, 600, 30))


def test_bind_is_the_scheduled_time_else_the_first_sample_with_a_node() -> None:
    """N10."""
    assert bound_ms(pod(scheduled_ms=7)) == 7
    assert bound_ms(pod()) == 5000
    assert bound_ms(pod(node_first_ms=None, first_ms=3)) == 3


def test_earliest_end_counts() -> None:
    """N11: completion, absence, node; and nothing of a pod that was refused."""
    done: dict[str, Any] = {"terminal_phase": "Failed", "terminal_first_ms": 50_000}
    done["has_run"] = True
    seen = state(ALL)
    assert end(pod(**done), seen) == End(50_000, 50_000, "Failed")
    assert end(pod(completion_ms=40_000, **done), seen) == End(40_000, 40_000, "Failed")
    assert end(pod(**done | {"has_run": False}), seen) == End(5_000, 5_000, "Failed")
    late = pod(completion_ms=95_000, **done)
    assert end(late, seen) == End(90_000, 90_000, "gone")  # 60 + 30: absent before
    gone = NodeRecord("n", [SampleSpan(0, 30_000, 30_000)])
    assert end(pod(**done), state(ALL), record=gone) == End(50_000, 50_000, "Failed")
    assert end(pod(30), seen, record=gone) == End(60_000, 60_000, "gone")
    sooner = NodeRecord("n", [SampleSpan(0, 30_000, 20_000)])
    assert end(pod(30), seen, record=sooner) == End(50_000, 50_000, "gone")


@pytest.mark.parametrize(
    ("last", "ended"),
    [
        (30, 50),  # the node ends at 50
        (49, 50),
        (50, 80),  # a sample at its end shows the pod after it
        (60, 90),
        (570, None),
    ],
)
def test_pod_that_is_shown_later_did_not_go_with_its_node(
    last: int, ended: int | None
) -> None:
    """N11: the end of its node, unless a later sample shows the pod on that name."""
    away = NodeRecord(
        "n", [SampleSpan(0, 30_000, 20_000), SampleSpan(120_000, 570_000, 30_000)]
    )
    found = end(pod(last), state(ALL), record=away)
    assert found.ended_ms == (None if ended is None else ended * 1000)


def test_node_that_went_before_the_bind_ends_nothing() -> None:
    early = NodeRecord("n", [SampleSpan(0, 0, 1000), SampleSpan(3000, 570_000, 30_000)])
    seen = state(sorted([*ALL, 2]))
    found = end(pod(scheduled_ms=10_000), seen, record=early)
    assert found.ended_ms == 90_000


def test_end_before_the_start_is_the_start() -> None:
    """N11."""
    found = end(
        pod(completion_ms=1000, terminal_first_ms=9000, terminal_phase="Succeeded"),
        state(ALL),
    )
    assert found == End(5000, 5000, "Succeeded")


def test_hold_without_a_later_scrape_is_booked_while_kube_state_is_seen() -> None:
    """N11: until kube-state is no longer seen or one step after the last label's sample."""
    seen = state([0, 30, 60])
    assert end(pod(60), seen) == End(None, 90_000, "")
    assert end(pod(60), seen, until=80) == End(None, 80_000, "")
    kept = end(pod(60), seen, labels(("A", [60, 90, 120])))
    assert kept == End(None, 150_000, "", 90_000)
    assert end(pod(60), seen, labels(("A", [0, 30]))) == End(None, 90_000, "")
    assert end(pod(60), state()) == End(None, 60_000, "")


def test_hold_of_a_silent_shard_is_booked_until_nobody_is_seen() -> None:
    """N11: nobody who is read later lacks the pod.

    Its shard is read until 60, the other one until 75 and from 300 on, which is no evidence of an
    end: labels keep the hold beyond that (N13).
    """
    one = pod(60)
    one.scrapers = {KSM}
    seen = state([0, 30, 60], [15, 45, 75, 300, 330])
    assert end(one, seen) == End(None, 105_000, "")
    kept = end(one, seen, labels(("A", [90, 120, 330])))
    assert kept == End(None, 360_000, "", 105_000)
    kept = end(one, seen, labels(("A", [90, 290])))
    assert kept == End(None, 320_000, "", 105_000)
    kept = end(one, seen, labels(("A", [90, 120])))
    assert kept == End(None, 150_000, "", 105_000)


def test_label_keeps_a_hold_until_kube_state_comes_back() -> None:
    """N13: kube-state is not seen in [90, 300); it lacks the pod then."""
    seen = state([0, 30, 60, 300, 330, 360])
    assert end(pod(60), seen) == End(90_000, 90_000, "gone")
    kept = end(pod(60), seen, labels(("A", [90, 120, 330])))
    assert kept == End(150_000, 150_000, "gone", 90_000)
    cut = end(pod(60), seen, labels(("A", [90, 290])))
    assert cut == End(300_000, 300_000, "gone", 90_000)
    other = end(pod(60), seen, labels(("A", [120]), uid="other"))
    assert other == End(90_000, 90_000, "gone")


def test_label_keeps_nothing_where_kube_state_is_seen() -> None:
    """T18: a stale label does not stretch a hold."""
    assert end(pod(60), state(ALL), labels(("A", [90, 120]))).booked_until_ms == 90_000


# --- when kube-state is seen (N9) -----------------------------------------------------


def test_one_step_is_the_longest_of_the_scrapers_that_gave_the_sample() -> None:
    """N9."""
    both = state([0, 30, 60, 90], [0, 60, 120])
    assert both.step_at(60_000, {KSM, SHARD}) == 60_000
    assert both.step_at(30_000, {KSM, SHARD}) == 30_000
    assert both.step_at(0, {KSM, SHARD}) == 60_000
    assert both.step_at(45_000, {KSM, SHARD}) == 60_000  # none gave it: of all of them
    assert both.step_at(60_000, {KSM}) == 30_000
    assert both.step_at(60_000, {ScraperIdentity("else")}) == 30_000


def test_kube_state_is_seen_where_a_scrape_of_any_scraper_is_valid() -> None:
    """N9: with its own step; half-open; a gap of 1.5 steps is none."""
    seen = state([0, 30, 60, 105, 200], [100, 160, 220])
    assert seen.seen(Interval(0, 1_000_000)) == [Interval(0, 280_000)]
    alone = state([0, 30, 60, 105, 200])
    assert alone.seen(Interval(0, 1_000_000)) == [
        Interval(0, 135_000),
        Interval(200_000, 230_000),
    ]
    assert alone.seen(Interval(10_000, 210_000)) == [
        Interval(10_000, 135_000),
        Interval(200_000, 210_000),
    ]
    assert alone.seen(Interval(135_000, 200_000)) == []
    assert [alone.is_seen(at) for at in (-1, 0, 134_999, 135_000, 200_000)] == [
        False,
        True,
        True,
        False,
        True,
    ]
    assert alone.seen_again_ms(105_000) == 200_000
    assert alone.seen_again_ms(104_999) == 105_000
    assert alone.seen_again_ms(200_000) is None
    assert seen.seen_again_ms(105_000) == 160_000


def test_where_kube_state_is_no_longer_seen_after_an_instant() -> None:
    """N11: the first such moment, not the last one."""
    alone = state([0, 30, 60, 105, 200])
    at = [-1, 0, 60_000, 134_999, 135_000, 200_000, 230_000]
    expected = [None, 135_000, 135_000, 135_000, None, 230_000, None]
    assert [alone.unseen_from_ms(instant) for instant in at] == expected
    both = state([0, 30, 60, 105, 200], [100, 160, 220])
    assert both.unseen_from_ms(60_000) == 280_000
    assert state().unseen_from_ms(0) is None


def test_scrapes_that_were_not_loaded_were_seen_too() -> None:
    """[0, 500] s are known as a span; 490 to 550 s were loaded, and 900 s on."""
    times = np.array([490, 520, 550, 900, 930], np.int64) * 1000
    record = ScraperRecord(KSM, kube_times=times)
    record.spans = [
        SampleSpan(0, 550_000, 30_000),
        SampleSpan(900_000, 930_000, 30_000),
    ]
    gone = ScraperRecord(SHARD, kube_times=np.empty(0, np.int64))
    gone.spans = [
        SampleSpan(0, 90_000, 60_000),
        SampleSpan(5_000_000, 5_030_000, 30_000),
    ]
    seen = kube_state(Inventory(scrapers={KSM: record, SHARD: gone}))
    at = [0, 300_000, 540_000, 600_000, 900_000, 5_000_000]
    expected = [580_000, 580_000, 580_000, None, 960_000, 5_060_000]
    assert [seen.unseen_from_ms(instant) for instant in at] == expected
