"""What observations keep for rules of waste: why units waited, what policy keeps free, kept nodes,
CPU beside free GPUs.

Covered: stretches that are extended, begin again, and end with the bind; pods of lower priority;
priority, request, retries and deadline of units; units by node of a pool; nodes without GPU work.
The rules that read them: `tests/integration/savings`.
"""

from datetime import datetime, timedelta
from typing import Any

import pytest

from accounting.core.interval import to_ms
from accounting.metering.models.cluster import Cluster
from scheduler_view.clusters.models import ObservationRun
from scheduler_view.queues.models.memory import (
    FreeCpuSample,
    KeptNode,
    PodNeedRecord,
    WaitStretch,
)
from scheduler_view.queues.models.queues import PoolSample
from scheduler_view.queues.tasks.observe_queues import store_waits
from scheduler_view.queues.tasks.queues import forget_queues
from scheduler_view.waits.models import WaitRecord
from scheduler_view.waits.rules.world.world import read_world
from tests.integration.queues.observed import MINUTE, NOW, bound, made
from tests.unit.waits.worlds import GPU, job, node, owned, pod

pytestmark = pytest.mark.django_db
HIGH = {"priority": 50_000, "preemptionPolicy": "Never"}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="north")


def observe(cluster: Cluster, at: datetime, **objects: Any) -> None:
    ObservationRun.objects.all().delete()  # once a minute else
    objects = {"Node": [node("a", 8)]} | objects
    store_waits(cluster, read_world(objects, to_ms(at)), at)


def spans() -> list[tuple[float, float]]:
    rows = WaitStretch.objects.order_by("since")
    return [((row.since - NOW) / MINUTE, (row.until - NOW) / MINUTE) for row in rows]


def test_a_wait_behind_lower_priorities_is_kept_until_the_bind(
    cluster: Cluster,
) -> None:
    low = bound("low", 8, NOW - 60 * MINUTE, NOW - 50 * MINUTE)
    low["spec"]["priority"] = 10
    high = pod("high", 2, spec=HIGH, meta=made("high", NOW - MINUTE))
    observe(cluster, NOW, Pod=[low, high])
    observe(cluster, NOW + MINUTE, Pod=[low, high])
    kept = WaitStretch.objects.get()
    assert (kept.stage, kept.cause, kept.priority, kept.units) == (
        "unschedulable",
        "no_free_gpu",
        50_000,
        2,
    )
    assert (kept.lower_units, kept.lower_since, kept.lower_pods) == (
        8,
        NOW - 50 * MINUTE,
        ["uid-low"],
    )
    assert spans() == [(0, 1)]
    now = bound("high", 2, NOW - MINUTE, NOW + 90 * timedelta(seconds=1))
    observe(cluster, NOW + 2 * MINUTE, Pod=[now])
    observe(cluster, NOW + 3 * MINUTE, Pod=[now])
    assert spans() == [(0, 1.5)], "until its bind"
    forget_queues(NOW + timedelta(days=300))
    assert not WaitStretch.objects.exists()


def test_a_stretch_begins_again_when_its_cause_changes_or_after_a_gap(
    cluster: Cluster,
) -> None:
    waits = pod("w", 9, meta=made("w", NOW - MINUTE))
    observe(cluster, NOW, Pod=[waits])
    gated = pod("w", 9, meta=made("w", NOW - MINUTE))
    gated["spec"]["schedulingGates"] = [{"name": "wait"}]
    observe(cluster, NOW + MINUTE, Pod=[gated])
    observe(cluster, NOW + 2 * MINUTE, Pod=[gated])
    observe(cluster, NOW + 30 * MINUTE, Pod=[gated])
    assert spans() == [(0, 1), (1, 2), (30, 30)]
    assert [row.cause for row in WaitStretch.objects.order_by("since")] == [
        "too_big",
        "gated",
        "gated",
    ]


def test_a_unit_keeps_its_priority_request_retries_and_deadline(
    cluster: Cluster,
) -> None:
    runs = bound("low", 4, NOW - 60 * MINUTE, NOW - 50 * MINUTE)
    runs["metadata"] |= owned("Job", "work")
    runs["spec"] |= {"priority": 7, "activeDeadlineSeconds": 7_200}
    work = job("work", gpus=4, backoffLimit=3, activeDeadlineSeconds=3_600)
    observe(cluster, NOW, Pod=[runs], Job=[work])
    kept = WaitRecord.objects.get()
    assert (kept.kind, kept.priority, kept.pod_units) == ("Job", 7, 4)
    assert (kept.backoff_limit, kept.deadline_s) == (3, 3_600)
    assert (kept.resource, kept.model) == (GPU, "")
    before = WaitRecord.objects.values().get()
    observe(cluster, NOW + MINUTE, Pod=[runs], Job=[work])
    assert WaitRecord.objects.values().get() == before


def test_a_pool_keeps_what_policy_holds_back_and_what_nobody_can_use(
    cluster: Cluster,
) -> None:
    """Of 8 free on `a`, a gated pod of 5 would fit; 3 are left over."""
    gated = pod("w", 5, meta=made("w", NOW), spec={"schedulingGates": [{"name": "x"}]})
    observe(cluster, NOW, Pod=[gated])
    observe(cluster, NOW + MINUTE)
    first, second = PoolSample.objects.order_by("since")
    assert (first.policy_nodes, first.unused_nodes) == ({"a": 5}, {"a": 3})
    assert (second.policy_nodes, second.unused_nodes) == ({}, {})


def test_a_node_without_gpu_work_is_kept_by_pods_that_do_not_return(
    cluster: Cluster,
) -> None:
    agent = pod("agent", None, "a", meta=owned("DaemonSet", "agent"))
    agent["metadata"] |= {"name": "agent", "namespace": "lab", "uid": "uid-agent"}
    bare = pod("bare", None, "a")
    observe(cluster, NOW, Pod=[agent])
    assert not KeptNode.objects.exists()
    observe(cluster, NOW + MINUTE, Pod=[agent, bare])
    observe(cluster, NOW + 2 * MINUTE, Pod=[agent, bare])
    kept = KeptNode.objects.get()
    assert (kept.node, kept.pods) == ("a", [["lab/bare", "no_controller"]])
    assert (kept.since, kept.until) == (NOW + MINUTE, NOW + 2 * MINUTE)
    observe(cluster, NOW + 3 * MINUTE, Pod=[agent, bare, pod("g", 1, "a")])
    observe(cluster, NOW + 4 * MINUTE, Pod=[agent, bare])
    assert KeptNode.objects.count() == 2, "with GPU work between them"


PRODUCT = "nvidia.com/gpu.product"


def requests(name: str, cpu: str, gpus: int, **spec: Any) -> dict[str, Any]:
    """A pod on node `a` with CPUs; `spec` as of `pod`."""
    found = pod(name, gpus or None, "a", spec=spec)
    asked = found["spec"]["containers"][0]["resources"]["requests"]
    asked["cpu"] = cpu
    return found


def test_cpu_beside_free_gpus_and_needs_of_pods_are_kept(cluster: Cluster) -> None:
    # Of 96 CPUs a pod with GPUs requests 10.5, another one 80: 5.5 are free. Node b is full.
    nodes = [
        node("a", 8, labels={PRODUCT: "H100"}),
        node("b", 8, labels={PRODUCT: "L4"}),
    ]
    full = pod("full", 8, "b")
    two = requests("two", "10500m", 2, nodeSelector={PRODUCT: "H100"})
    web = requests("web", "80", 0)
    observe(cluster, NOW, Node=nodes, Pod=[two, full, web])
    observe(cluster, NOW + MINUTE, Node=nodes, Pod=[two, full, web])
    observe(cluster, NOW + 2 * MINUTE, Node=nodes, Pod=[two, full])
    fields = ("node", "model", "cpu_milli", "since", "until")
    rows = FreeCpuSample.objects.order_by("since").values_list(*fields)
    assert list(rows) == [
        ("a", "H100", 5_500, NOW, NOW + 2 * MINUTE),
        ("a", "H100", 85_500, NOW + 2 * MINUTE, NOW + 2 * MINUTE),
    ]
    needs = PodNeedRecord.objects.order_by("pod_uid")
    kept = needs.values_list("pod_uid", "cpu_milli", "accepted_models", "seen_at")
    assert list(kept) == [
        ("uid-full", 0, [], NOW),
        ("uid-two", 10_500, ["H100"], NOW),
    ]
    forget_queues(NOW + timedelta(days=300))
    assert not FreeCpuSample.objects.exists()
    assert not PodNeedRecord.objects.exists()


@pytest.mark.parametrize(
    ("note", "value", "reason"),
    [
        ("karpenter.sh/do-not-disrupt", "true", "do_not_disrupt"),
        (
            "cluster-autoscaler.kubernetes.io/safe-to-evict",
            "false",
            "not_safe_to_evict",
        ),
        ("cluster-autoscaler.kubernetes.io/safe-to-evict", "true", ""),
    ],
)
def test_annotations_keep_a_node(
    cluster: Cluster, note: str, value: str, reason: str
) -> None:
    one = pod("web", None, "a", meta=made("web", NOW) | owned("ReplicaSet", "web"))
    one["metadata"]["annotations"] = {note: value}
    observe(cluster, NOW, Pod=[one])
    found = [row.pods[0][1] for row in KeptNode.objects.all()]
    assert found == ([reason] if reason else [])
