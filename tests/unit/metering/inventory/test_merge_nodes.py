"""How kube-state's samples become evidence of nodes, namespaces and scrapes (N1, N4, N9)."""

import math
from collections.abc import Mapping, Sequence

from accounting.core.interval import Interval
from accounting.metering.rules.inventory.merge.samples import kube_steps
from accounting.metering.rules.inventory.records import NodeRecord, SampleSpan
from accounting.metering.rules.samples.series import Series
from tests.unit.metering.kube_series import (
    GPU,
    KSM,
    OTHER,
    POD,
    of_pod,
    ones,
    seen,
    series,
)

# --- nodes ---------------------------------------------------------------------------


def of_node(metric: str, samples: Mapping[int, float], **labels: str) -> Series:
    return series(f"kube_node_{metric}", samples, {"node": "n"} | labels)


def node(*found: Series, interval_ms: int | None = None) -> NodeRecord:
    inventory, touched = seen(*found, interval_ms=interval_ms)
    assert touched.nodes == {"n"}
    return inventory.nodes["n"]


def test_node_is_there_while_any_series_of_it_is_sampled() -> None:
    """N9: with the longest step of the scrapers that gave the sample."""
    record = node(
        of_node("info", ones(*range(0, 150, 30))),
        of_node("labels", ones(300, 330)),
        series("kube_node_info", ones(*range(0, 180, 60)), {"node": "n"}, OTHER),
    )
    # the second scraper has a step of 60 s, so that 120 + 60 is its last proof
    assert record.spans == [
        SampleSpan(0, 120_000, 60_000),
        SampleSpan(300_000, 330_000, 30_000),
    ]


def test_ids_of_the_provider_have_their_first_and_last_sample() -> None:
    """M42: a node that became another machine has both."""
    record = node(
        of_node("info", ones(30, 60, 90), provider_id="aws:///a/i-1"),
        of_node("info", ones(120), provider_id="aws:///a/i-2"),
        of_node("info", ones(150), provider_id=""),
        of_node("labels", ones(180), provider_id="ignored"),
    )
    assert record.provider_ids == {
        "aws:///a/i-1": (30_000, 90_000),
        "aws:///a/i-2": (120_000, 120_000),
    }


def test_declared_interval_is_the_step() -> None:
    """N4."""
    record = node(of_node("info", ones(0, 30, 60)), interval_ms=45_000)
    assert record.spans == [SampleSpan(0, 60_000, 45_000)]


def test_capacity_is_known_at_each_change() -> None:
    """Latest capacity; one resource more is a change, the same value is none."""
    record = node(
        of_node(
            "status_capacity",
            {0: 8, 30: 8, 60: 7, 90: math.nan},
            resource="nvidia_com_gpu",
        ),
        of_node("status_capacity", {60: 2}, resource="nvidia_com_mig_1g_10gb"),
        of_node("status_capacity", {0: 64}, resource="cpu"),
        of_node("status_allocatable", {0: 1}, resource="nvidia_com_gpu"),
    )
    assert record.capacity == [
        (0, {GPU: 8}),
        (60_000, {GPU: 7, "nvidia.com/mig-1g.10gb": 2}),
    ]


def test_allocatable_counts_where_no_capacity_is_shown() -> None:
    record = node(
        of_node("status_capacity", {0: 64}, resource="cpu"),
        of_node("status_allocatable", {0: 4, 30: 4}, resource="nvidia_com_gpu"),
    )
    assert record.capacity == [(0, {GPU: 4})]


def test_labels_of_a_node_are_known_at_each_change() -> None:
    parts = [
        of_node("labels", ones(60, 90), label_a="2"),
        of_node("labels", ones(0, 30), label_a="1"),
        of_node("spec_unschedulable", {0: 0, 60: 0}),
    ]
    for found in (parts, parts[::-1]):
        record = node(*found)
        assert record.labels == [(0, {"label_a": "1"}), (60_000, {"label_a": "2"})]


def test_cordoned_node_says_so_beside_its_labels() -> None:
    """A node is cordoned from the first sample that says so until one says it is not."""
    cordon = {"unschedulable": "true"}
    record = node(
        of_node("labels", ones(0, 30, 60, 90), label_a="1"),
        of_node("labels", ones(120), label_a="2"),
        of_node("spec_unschedulable", {30: 0, 60: 1, 90: 1, 120: 1, 150: 0}),
    )
    assert record.labels == [
        (0, {"label_a": "1"}),
        (60_000, {"label_a": "1"} | cordon),
        (120_000, {"label_a": "2"} | cordon),
        (150_000, {"label_a": "2"}),
    ]
    early = node(
        of_node("spec_unschedulable", {0: 1, 60: 0}),
        of_node("labels", ones(30), label_a="1"),
    )
    assert early.labels == [
        (0, {"label_a": "1"} | cordon),
        (60_000, {"label_a": "1"}),
    ]


def test_one_of_two_that_say_cordoned_is_enough() -> None:
    parts = [
        of_node("labels", ones(0), label_a="1"),
        of_node("spec_unschedulable", {0: 1}),
        series("kube_node_spec_unschedulable", {0: 0}, {"node": "n"}, OTHER),
    ]
    for found in (parts, parts[::-1]):
        assert node(*found).labels == [(0, {"label_a": "1", "unschedulable": "true"})]


def test_nothing_new_touches_nothing() -> None:
    """N1: reading again makes nothing dirty."""
    parts = [
        of_node("info", ones(0, 30, 60)),
        of_node("status_capacity", {0: 8}, resource="nvidia_com_gpu"),
        of_node("labels", ones(0), label_a="1"),
        series(
            "kube_namespace_labels", ones(0, 60), {"namespace": "ns", "label_a": "1"}
        ),
    ]
    inventory, first = seen(*parts)
    assert (first.nodes, first.namespaces, first.scrapers) == ({"n"}, {"ns"}, {KSM})
    _, again = seen(*parts, inventory=inventory)
    assert (again.nodes, again.namespaces, again.scrapers) == (set(), set(), set())
    capacity = of_node("status_capacity", {60: 7}, resource="nvidia_com_gpu")
    assert seen(capacity, inventory=inventory)[1].nodes == {"n"}
    labels = of_node("labels", ones(60), label_a="2")
    assert seen(labels, inventory=inventory)[1].nodes == {"n"}


def test_node_that_is_sampled_on_is_touched_though_its_labels_are_known() -> None:
    """N1: its time goes on; so does a new capacity beside the same labels."""
    labels = of_node("labels", ones(0, 30), label_a="1")
    inventory, _ = seen(labels)
    longer = of_node("labels", ones(0, 30, 60), label_a="1")
    assert seen(longer, inventory=inventory)[1].nodes == {"n"}
    capacity = of_node("status_capacity", {60: 4}, resource="nvidia_com_gpu")
    assert seen(longer, capacity, inventory=inventory)[1].nodes == {"n"}


def test_series_of_a_node_without_name_or_samples_are_left_out() -> None:
    inventory, touched = seen(
        series("kube_node_info", ones(0), {"node": ""}),
        series("kube_node_info", ones(0), {}),
        of_node("info", {700: 1.0}),
    )
    assert "" not in inventory.nodes
    assert touched.nodes == set()


def test_labels_of_a_namespace_are_known_at_each_change() -> None:
    inventory, _ = seen(
        series(
            "kube_namespace_labels", ones(0, 30), {"namespace": "ns", "label_a": "1"}
        ),
        series("kube_namespace_labels", ones(60), {"namespace": "ns", "label_a": "2"}),
        series("kube_namespace_labels", ones(60), {"label_a": "3"}),
        series("kube_namespace_labels", {700: 1.0}, {"namespace": "other"}),
    )
    changes = [(0, {"label_a": "1"}), (60_000, {"label_a": "2"})]
    assert inventory.namespaces == {"ns": changes}


def test_labels_that_come_back_are_known_however_much_is_folded_at_once() -> None:
    """N1: a day at once says what its hours say one by one."""

    def shown(times: Sequence[int], label: str) -> list[Series]:
        labels = {"label_a": label}
        return [
            of_node("labels", ones(*times), **labels),
            series("kube_namespace_labels", ones(*times), {"namespace": "ns"} | labels),
            series("kube_pod_labels", ones(*times), POD | labels),
        ]

    found = [*shown([0, 30, 240, 270], "1"), *shown([120, 150], "2")]
    at_once, _ = seen(*found)
    in_parts, _ = seen(*found, period=Interval(0, 60_000))
    for start in (60_000, 180_000):
        period = Interval(start, start + 120_000)
        in_parts, _ = seen(*found, period=period, inventory=in_parts)
    changes = [
        (0, {"label_a": "1"}),
        (120_000, {"label_a": "2"}),
        (240_000, {"label_a": "1"}),
    ]
    for inventory in (at_once, in_parts):
        assert inventory.nodes["n"].labels == changes
        assert inventory.namespaces["ns"] == changes
        assert inventory.pods["u"].labels == changes


# --- when kube-state was read (N9) ---------------------------------------------------


def test_every_scrape_of_kube_state_is_known() -> None:
    inventory, touched = seen(
        of_node("info", ones(0, 60)),
        of_pod("info", ones(30, 60)),
        of_pod("info", ones(0, 90), OTHER),
        series("up", ones(120), {}),
        interval_ms=20_000,
    )
    times = {k: s.times for k, s in kube_steps(inventory).items()}
    assert times == {KSM: [0, 30_000, 60_000], OTHER: [0, 90_000]}
    assert touched.scrapers == {KSM, OTHER}
    assert {s.interval_ms for s in kube_steps(inventory).values()} == {20_000}
    _, later = seen(of_node("info", ones(60, 120)), inventory=inventory)
    assert kube_steps(inventory)[KSM].times == [0, 30_000, 60_000, 120_000]
    assert later.scrapers == {KSM}
