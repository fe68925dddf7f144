"""What clusters show of quotas, queues and waits, in the story's cluster: for the contract test."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounting.metering.models.queue import QueueSample
from scheduler_view.clusters.models import Observation, ObservationRun, Preemption
from scheduler_view.quotas.models import QuotaTarget, Tier
from tests.browser.waits.stored_waits import store_waits
from tests.story import Story

GPU = "nvidia.com/gpu"
FLAVOR = {"name": "a100", "resources": [{"name": GPU, "nominalQuota": "9"}]}
QUEUES: dict[str, dict[str, Any]] = {
    "ClusterQueue": {
        "spec": {"resourceGroups": [{"coveredResources": [GPU], "flavors": [FLAVOR]}]}
    },
    "VolcanoQueue": {"spec": {"weight": 1, "capability": {GPU: "8"}}},
}


def store_scheduling(story: Story) -> int:
    """At least two of each list; returns a number, which none of these lists has."""
    now = timezone.now()
    store_waits(story)
    for slug in ("vision", "search"):
        QuotaTarget.objects.create(
            cluster=story.cluster,
            team=story.teams[slug],
            resource=GPU,
            gpus=8,
            split={f"{slug}-prod": 8},
            version=1,
        )
        Tier.objects.create(
            cluster=story.cluster,
            name=f"{slug}-tier",
            value=len(slug),
            class_name=f"{slug}-tier",
            version=1,
        )
        Preemption.objects.create(
            cluster=story.cluster,
            pod_uid=slug,
            namespace=f"{slug}-prod",
            pod=slug,
            at=now - timedelta(days=1),
            message="Preempted by pod x",
        )
        QueueSample.objects.create(
            cluster=story.cluster,
            scheduler="kueue",
            queue=slug,
            resource=GPU,
            field="quota",
            part="a",
            value=4,
            at_ms=1_790_848_800_000,
        )
    _queues(story)
    since = {"since_ms": 1_790_848_800_000}
    ObservationRun.objects.filter(cluster=story.cluster).update(
        notes=[
            {"kind": "silent_nodes", "node": name, "resource": GPU, **since}
            for name in ("gpu-01", "gpu-02")
        ]
    )
    return 0


def _queues(story: Story) -> None:
    for kind, manifest in QUEUES.items():
        Observation.objects.create(
            cluster=story.cluster,
            kind=kind,
            name="shared",
            uid=kind,
            digest=kind,
            manifest={"metadata": {"name": "shared"}, **manifest},
            changed_at=timezone.now(),
        )
