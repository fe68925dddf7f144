"""What waits, what is borrowed and who was pushed out, on the quotas pages and in the API."""

import re
from datetime import timedelta
from typing import Any

from accounting.metering.models.queue import QueueSample
from scheduler_view.clusters.models import Observation, Preemption
from tests.integration.changes.office import Office
from tests.integration.conftest import SignIn
from tests.page_html import html_of

RESOURCE = "nvidia.com/gpu"


def text(answer: Any) -> str:
    """A page without its tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def queue(desk: Office, name: str, **values: float | None) -> None:
    """What Kueue's metrics said of a ClusterQueue; None for no limit."""
    for field, value in values.items():
        counts_work = field in ("waiting", "preempted", "preempting")
        QueueSample.objects.create(
            cluster=desk.cluster,
            scheduler="kueue",
            queue=name,
            resource="" if counts_work else RESOURCE,
            field=field,
            value=value,
            at_ms=1_790_848_800_000,
        )


def serves(desk: Office, namespace: str, name: str) -> None:
    """A LocalQueue as it was seen."""
    Observation.objects.create(
        cluster=desk.cluster,
        kind="LocalQueue",
        namespace=namespace,
        name=f"to-{name}",
        manifest={"metadata": {}, "spec": {"clusterQueue": name}},
        changed_at=desk.now(),
    )


def test_without_queues_nothing_is_said_to_be_borrowed(
    desk: Office, sign_in: SignIn
) -> None:
    page = text(sign_in("ana").get("/quotas"))
    assert "orrowed" not in page  # neither a column nor a word of it
    assert "Workloads waiting" not in page
    (row,) = sign_in("luis").get("/api/v1/quotas").json()["rows"]
    assert (row["borrowed"], row["queued"], row["queues"]) == (None, None, [])
    assert row["pending"] == 0


def test_queues_are_shown_with_whose_preemption_it_was(
    desk: Office, sign_in: SignIn
) -> None:
    own = {"quota": 8, "borrowing_limit": None, "used": 11, "pending": 5}
    queue(desk, "vision-cq", **own, waiting=2, preempting=3)
    queue(desk, "research", quota=4, used=1, preempted=3)
    serves(desk, "vision-prod", "vision-cq")

    page = text(sign_in("ana").get("/quotas"))
    assert "and 5 held back by vision-cq" in page
    assert "vision-cq Kueue" in page
    assert "8 unlimited 11 3 5 2 Not reported 3" in page
    assert "4 Not reported 1 0 Not reported Not reported 3 Not reported" in page

    (row,) = sign_in("luis").get("/api/v1/quotas").json()["rows"]
    assert (row["borrowed"], row["queued"]) == (3, 5)
    assert row["queues"] == ["vision-cq"]
    lead = text(sign_in("luis").get("/quotas"))
    assert "research" not in lead  # queues of others are not theirs to see
    assert "and 5 held back by vision-cq" in lead
    table = sign_in("ana").get("/quotas?csv=quotas").content.decode()
    assert "pending,used,room,borrowed,queued" in table


def test_who_was_pushed_out_stays_on_the_teams_page(
    desk: Office, sign_in: SignIn
) -> None:
    for name, namespace, days in (
        ("train-0", "vision-prod", 1),
        ("long-ago", "vision-prod", 31),
        ("theirs", "search-prod", 1),
    ):
        Preemption.objects.create(
            cluster=desk.cluster,
            pod_uid=name,
            namespace=namespace,
            pod=name,
            at=desk.now() - timedelta(days=days),
            message="Preempted by pod 7f on node <gpu-01>",
        )
    page = sign_in("mia").get("/teams/vision/quota")
    assert "train-0" in text(page)
    assert "&lt;gpu-01&gt;" in html_of(page)
    assert "long-ago" not in text(page)
    assert "theirs" not in text(page)


def test_what_kubernetes_counts_is_told_where_it_is_something_else(
    desk: Office, sign_in: SignIn
) -> None:
    seen = {
        "metadata": {"name": "gpu-ledger"},
        "spec": {"hard": {f"requests.{RESOURCE}": "24"}},
        "status": {"used": {f"requests.{RESOURCE}": "25"}},
    }
    Observation.objects.update_or_create(
        cluster=desk.cluster,
        kind="ResourceQuota",
        namespace="vision-prod",
        name="gpu-ledger",
        defaults={"manifest": seen, "changed_at": desk.now()},
    )
    page = text(sign_in("ana").get("/quotas"))
    assert "Kubernetes counts 25" in page
    assert "Above its quota" in page
