"""T26: what a quota counts is not what is held: pods that wait count, and hold nothing.

On the API server's side (refused pods, scopes): `integration/changes`, `unit/.../test_standing`.
"""

from pathlib import Path

import pytest
from django.utils import timezone

from accounting.access import EVERYTHING
from accounting.models import Cluster, Team
from scheduler_view.models import Observation, QuotaTarget
from scheduler_view.queries.quotas import QuotaRow, quota_rows
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
        pool="nvidia.com/gpu",
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
    assert not row.is_over
    assert (row.lent.borrowed, row.lent.queues) == (None, ())
    lowered = quota_of(hard=2, used=4)
    assert lowered.is_over
    assert (lowered.in_use, lowered.pending) == (2, 2)
    assert lowered.fields()["used"] == 4
