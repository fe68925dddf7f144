"""How kube-state's samples become evidence of pods (rules N1, N10-N12, N25; trap T21).

Folding is free of order and pieces: the same data in any order give the same inventory.
"""

import math
from fractions import Fraction

from accounting.core.interval import Interval
from accounting.metering.mapping import pod_from_row, pod_to_json
from accounting.metering.rules.inventory.records import Inventory
from accounting.metering.rules.samples.series import ScraperIdentity
from tests.unit.metering.kube_series import (
    GPU,
    KSM,
    OTHER,
    of_pod,
    ones,
    pod,
    seen,
    series,
)

# --- pods ----------------------------------------------------------------------------


def test_pod_is_known_from_its_first_to_its_last_sample_of_any_series() -> None:
    record = pod(
        of_pod("info", ones(60, 90), node="n", priority_class="high"),
        of_pod("created", {30: 25.0, 60: 25.0}, OTHER),
        of_pod("unknown_metric", ones(120)),
    )
    assert (record.uid, record.namespace, record.name) == ("u", "ns", "a")
    assert (record.first_ms, record.last_ms) == (30_000, 120_000)
    assert record.scrapers == {KSM, OTHER}
    assert (record.node, record.node_first_ms) == ("n", 60_000)
    assert (record.created_ms, record.priority_class) == (25_000, "high")


def test_only_samples_of_the_period_are_folded() -> None:
    """N1: half-open; what lies around is context."""
    record = pod(
        of_pod("info", ones(0, 30, 60, 90), node="n"), period=Interval(30_000, 90_000)
    )
    assert (record.first_ms, record.last_ms) == (30_000, 60_000)
    inventory, touched = seen(of_pod("info", ones(90)), period=Interval(0, 90_000))
    assert (inventory.pods, touched.pods) == ({}, set())


def test_pod_without_a_uid_is_named() -> None:
    inventory, _ = seen(
        series("kube_pod_info", ones(0), {"namespace": "ns", "pod": "a"}),
        series("kube_pod_info", ones(0), {"pod": "b"}),
        series("kube_pod_info", ones(0), {"namespace": "ns", "uid": "nobody"}),
    )
    assert set(inventory.pods) == {"ns/a", "/b"}


def test_last_sample_says_which_node_and_the_first_of_it_since_when() -> None:
    """N10, in any order: an earlier one is that of a scraped target."""
    parts = [
        of_pod("info", ones(90), node="late"),
        of_pod("info", ones(60), node="early"),
        of_pod("info", ones(30)),
        of_pod("container_resource_requests", ones(75), node="late"),
    ]
    for found in (parts, parts[::-1]):
        record = pod(*found)
        assert (record.node, record.node_first_ms) == ("late", 75_000)


def test_times_are_the_last_value_in_milliseconds_and_no_time_is_none() -> None:
    """N10: seconds since 1970; 0, NaN and infinity are no time."""
    record = pod(
        of_pod("created", {0: 10.0, 30: 10.5}),
        of_pod("status_scheduled_time", {0: 20.0004}),
    )
    assert (record.created_ms, record.scheduled_ms) == (10_500, 20_000)
    for value in (0.0, -1.0, math.nan, math.inf):
        record = pod(
            of_pod("created", {0: value}),
            of_pod("status_scheduled_time", {0: value}),
            of_pod("completion_time", {0: value}),
        )
        times = (record.created_ms, record.scheduled_ms, record.completion_ms)
        assert times == (None, None, None)
    kept = pod(
        of_pod("created", {0: 10.0}),
        of_pod("created", {30: math.nan}, OTHER),
        of_pod("status_scheduled_time", {0: 20.0}),
        of_pod("status_scheduled_time", {30: 0.0}, OTHER),
    )
    assert (kept.created_ms, kept.scheduled_ms) == (10_000, 20_000)


def test_completion_is_the_value_of_its_last_sample() -> None:
    """N11, in any order."""
    parts = [
        of_pod("completion_time", {30: 28.0, 60: 29.0}),
        of_pod("completion_time", {90: 31.0}, OTHER),
        of_pod("completion_time", {120: math.nan}, ScraperIdentity("ksm", "three")),
    ]
    for found in (parts, parts[::-1]):
        record = pod(*found)
        assert (record.completion_ms, record.completion_at_ms) == (31_000, 90_000)


def test_first_sample_that_shows_a_terminal_phase_ends_it() -> None:
    """N11: Succeeded or Failed, and only where the value is 1."""
    parts = [
        of_pod("status_phase", {0: 0, 30: 0, 60: 1, 90: 1}, phase="Failed"),
        of_pod("status_phase", {90: 1}, OTHER, phase="Succeeded"),
        of_pod("status_phase", {0: 1, 30: 1}, phase="Running"),
    ]
    for found in (parts, parts[::-1]):
        record = pod(*found)
        assert (record.terminal_phase, record.terminal_first_ms) == ("Failed", 60_000)
    running = pod(of_pod("status_phase", {0: 0}, phase="Succeeded"))
    assert (running.terminal_phase, running.terminal_first_ms) == ("", None)


def test_requests_are_by_kind_container_and_resource() -> None:
    """rules.md "Requests": the last value; NaN is none, CPU is no GPU."""
    main, init = "container_resource_requests", "init_container_resource_requests"
    record = pod(
        of_pod(main, {0: 1, 30: 2}, container="c", resource="nvidia_com_gpu"),
        of_pod(main, {0: 8}, container="c", resource="cpu"),
        of_pod(main, {0: math.nan}, container="d", resource="nvidia_com_gpu"),
        of_pod(main, {0: 50}, container="e", resource="nvidia_com_gpucores"),
        of_pod(init, {0: 4}, container="i", resource="nvidia_com_mig_1g_10gb"),
        of_pod("init_container_info", ones(0), container="s", restart_policy="Always"),
        of_pod("init_container_info", ones(0), container="i"),
    )
    assert record.requests == {
        ("main", "c", GPU): 2,
        ("main", "e", "nvidia.com/gpucores"): 50,
        ("init", "i", "nvidia.com/mig-1g.10gb"): 4,
    }
    assert record.sidecars == {"s"}


def test_added_resource_is_a_request_and_a_capacity() -> None:
    inventory = Inventory(added={"ex.com/npu": Fraction(1)})
    labels = {"resource": "ex_com_npu"}
    seen(
        of_pod(
            "container_resource_requests", {0: 3}, container="c", resource="ex_com_npu"
        ),
        series("kube_node_status_capacity", {0: 8}, labels | {"node": "n"}),
        inventory=inventory,
    )
    assert inventory.pods["u"].requests == {("main", "c", "ex.com/npu"): 3}
    assert inventory.nodes["n"].capacity == [(0, {"ex.com/npu": 8})]


def test_owner_is_the_controller() -> None:
    """N25."""
    record = pod(
        of_pod(
            "owner",
            ones(0),
            owner_kind="X",
            owner_name="x",
            owner_is_controller="false",
        ),
        of_pod(
            "owner",
            ones(0),
            owner_kind="ReplicaSet",
            owner_name="r",
            owner_is_controller="true",
        ),
        of_pod(
            "owner",
            ones(0),
            owner_kind="<none>",
            owner_name="<none>",
            owner_is_controller="true",
        ),
        of_pod("owner", ones(0), owner_name="y", owner_is_controller="true"),
        of_pod("owner", ones(0), owner_kind="Z", owner_name="z"),
    )
    assert (record.owner_kind, record.owner_name) == ("ReplicaSet", "r")


def test_owners_of_replica_sets_and_jobs_are_kept() -> None:
    """N25: ReplicaSet to Deployment, Job to CronJob; a false controller is none."""
    deployment = {"owner_kind": "Deployment", "owner_name": "d"}
    inventory, touched = seen(
        series(
            "kube_replicaset_owner",
            ones(0),
            {"namespace": "ns", "replicaset": "r", **deployment},
        ),
        series(
            "kube_job_owner",
            ones(0),
            {
                "namespace": "ns",
                "job_name": "j",
                "owner_kind": "CronJob",
                "owner_name": "c",
            },
        ),
        series(
            "kube_job_owner",
            ones(0),
            {"namespace": "ns", "job_name": "k", "owner_kind": "<none>"},
        ),
        series("kube_job_owner", ones(0), {"namespace": "ns", "job_name": "l"}),
        series(
            "kube_replicaset_owner",
            ones(0),
            {"replicaset": "s", "owner_is_controller": "false", **deployment},
        ),
    )
    assert inventory.owners == {
        ("ns", "ReplicaSet", "r"): ("Deployment", "d"),
        ("ns", "Job", "j"): ("CronJob", "c"),
    }
    assert touched.owners == set(inventory.owners)


def test_labels_claims_and_annotations_are_kept() -> None:
    """T21: of annotations those that ask for fractions; a claim once it has a name."""
    record = pod(
        of_pod("labels", ones(0, 30), label_team="x"),
        of_pod("labels", ones(60), label_team="y", label_z="1"),
        of_pod("resourceclaim_info", ones(0), resourceclaim_name="c"),
        of_pod("resourceclaim_info", ones(0), resourceclaim_name=""),
        of_pod("annotations", ones(0), annotation_gpu_fraction="0.5", annotation_x="1"),
        of_pod(
            "annotations",
            ones(30),
            annotation_gpu_memory="",
            annotation_gpu_fraction="",
        ),
    )
    assert record.labels == [
        (0, {"label_team": "x"}),
        (60_000, {"label_team": "y", "label_z": "1"}),
    ]
    assert record.claims == {"c"}
    assert record.annotations == {"gpu_fraction": "0.5"}


def test_tolerations_are_united_and_the_last_unschedulable_sample_counts() -> None:
    """In any order; a pod that has a node is shown as schedulable (value 0), or no longer."""
    keyed = {"key": "team", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}
    parts = [
        of_pod("tolerations", ones(30), KSM, **keyed),
        of_pod("tolerations", ones(60), operator="Exists"),
        of_pod("status_unschedulable", {30: 1, 60: 1, 90: 0}),
        of_pod("status_unschedulable", ones(45), OTHER),
    ]
    for found in (pod(*parts), pod(*parts[::-1])):
        assert found.unschedulable_ms == 60_000
        assert found.tolerations == {
            ("team", "Equal", "ml", "NoSchedule"),
            ("", "Exists", "", ""),
        }
        row = pod_to_json(found)
        assert pod_from_row("u", "ns", "a", 30_000, 90_000, row) == found
