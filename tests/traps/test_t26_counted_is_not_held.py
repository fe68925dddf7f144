"""T26: what a quota counts is not what is held: pods that wait count, and hold nothing.

On the API server's side (refused pods, scopes): `integration/changes`,
`unit/.../test_standing`.
"""

from pathlib import Path

import pytest
from django.utils import timezone

from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING
from accounting.metering.models.cluster import Cluster
from scheduler_view.clusters.models import Observation
from scheduler_view.quotas.models import QuotaTarget, Tier
from scheduler_view.quotas.reads.quotas import QuotaRow, quota_rows
from tests.builders import SETUP
from tests.traps.scene import START, Pod, Scene

pytestmark = pytest.mark.django_db(transaction=True)


def scene() -> Scene:
    """Two pods of one GPU run, one of two fits nowhere, one of one has ended."""
    told = Scene()
    told.node(units=2)
    for number in (1, 2):
        told.gpu(f"GPU-{number}", 0.5)
    told.pod(
        Pod("run-0"),
        Pod("run-1"),
        Pod("wide", units=2, bound=None),
        Pod("done", bound=START, finished=START + 300),
        Pod("left", units=2, bound=None, gone=START + 1800),  # given up
    )
    return told


def quota_of(hard: int, used: int) -> QuotaRow:
    """The quota as wanted, and as the API server counts."""
    cluster, team = Cluster.objects.get(), Team.objects.get(slug="vision")
    QuotaTarget.objects.update_or_create(
        cluster=cluster,
        team=team,
        resource="nvidia.com/gpu",
        defaults={"gpus": hard, "split": {"vision": hard}, "version": 1},
    )
    key = "requests.nvidia.com/gpu"
    Observation.objects.update_or_create(
        cluster=cluster,
        kind="ResourceQuota",
        namespace="vision",
        name="gpu-ledger",
        defaults={
            "manifest": {
                "metadata": {"name": "gpu-ledger"},
                "spec": {"hard": {key: str(hard)}},
                "status": {"used": {key: str(used)}},
            },
            "changed_at": timezone.now(),
        },
    )
    [row] = quota_rows(EVERYTHING, timezone.now())
    return row


def test_t26_two_are_held_two_wait_and_four_are_counted(tmp_path: Path) -> None:
    told = scene()
    naive = sum(
        s.value
        for s in told.samples
        if s.name == "kube_pod_container_resource_requests" and s.at == START
    )
    assert naive == 7

    told.read(tmp_path, SETUP)

    row = quota_of(hard=4, used=4)
    assert (row.in_use, row.pending, row.used) == (2, 2, 4)
    assert (row.room, row.is_over) == (0, False)
    assert (row.lent.borrowed, row.lent.queues) == (None, ())
    lowered = quota_of(hard=2, used=4)
    assert lowered.is_over
    assert (lowered.in_use, lowered.pending, lowered.room) == (2, 2, 0)
    assert lowered.used == 4


def test_t26_a_second_quota_of_a_tier_is_the_lesser_room(tmp_path: Path) -> None:
    """A critical pod that asks for 3 is refused although the general quota has room."""
    scene().read(tmp_path, SETUP)
    assert quota_of(hard=10, used=4).room == 6
    cluster, team = Cluster.objects.get(), Team.objects.get(slug="vision")
    Tier.objects.create(
        cluster=cluster, name="critical", value=9, class_name="critical-v1", version=1
    )
    QuotaTarget.objects.create(
        cluster=cluster,
        team=team,
        resource="nvidia.com/gpu",
        tier="critical",
        gpus=2,
        split={"vision": 2},
        version=1,
    )
    key = "requests.nvidia.com/gpu"
    term = {"scopeName": "PriorityClass", "operator": "In", "values": ["critical-v1"]}
    Observation.objects.create(
        cluster=cluster,
        kind="ResourceQuota",
        namespace="vision",
        name="gpu-ledger-critical",
        manifest={
            "metadata": {"name": "gpu-ledger-critical"},
            "spec": {
                "hard": {key: "2"},
                "scopeSelector": {"matchExpressions": [term]},
            },
            "status": {"used": {key: "0"}},
        },
        changed_at=timezone.now(),
    )
    rows = {row.tier: row for row in quota_rows(EVERYTHING, timezone.now())}
    assert (rows[""].room, rows["critical"].room) == (6, 2)
    assert (rows[""].used, rows["critical"].used) == (4, 0)
