"""Pending work and the reasons: unscheduled pods, and controllers whose pods a quota refused.

As last observed; empty if the portal may not read pods. Work that a queue holds back before it has
pods is reported by `queue_borrowing` only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from accounting.access import Scope
from accounting.domain.reports.rows import UNMAPPED
from accounting.models import Cluster, Team
from scheduler_view.domain.waits.wait_reason import (
    WaitReason,
    asked_of_pod,
    asked_of_refusal,
    reason_of_pod,
)
from scheduler_view.models import Observation
from scheduler_view.queries.namespaces import owners
from scheduler_view.queries.resources import added_names

STILL_TRIES = timedelta(minutes=20)  # Kubernetes' controllers retry within 17 min


@dataclass(frozen=True, slots=True)
class PendingPodRow:
    """One pod, or one controller that creates pods.

    Attributes:
        team: slug; `unmapped` if the namespace has no team.
        kind, name: `Pod`, or the controller.
        asked: units by resource, of one pod.
        since: when it was created, or first refused.
        last: when it was last refused; None for a pod.
        message: of the scheduler or the API server.
    """

    cluster: str
    team: str
    namespace: str
    kind: str
    name: str
    asked: Mapping[str, int]
    priority_class: str
    since: datetime | None
    last: datetime | None
    reason: WaitReason
    message: str


def held_up_rows(
    scope: Scope, now: datetime, *, cluster: str = "", team: str = ""
) -> list[PendingPodRow]:
    """Pending work of the teams that the person may read, longest first."""
    clusters = Cluster.objects.order_by("name")
    if cluster:
        clusters = clusters.filter(name=cluster)
    slugs = dict(Team.objects.values_list("pk", "slug"))
    found: list[PendingPodRow] = []
    for one in clusters:
        rows = [*_pods(one), *_refused(one, now)]
        if not rows:
            continue
        owner = owners(one.pk, (row.namespace for row in rows), now)
        for row in rows:
            number = owner.get(row.namespace)
            slug = UNMAPPED if number is None else slugs[number]
            is_theirs = scope.sees_all or (
                number is not None and scope.sees_team(number)
            )
            if is_theirs and team in ("", slug):
                found.append(replace(row, team=slug))
    return sorted(found, key=lambda row: (row.since or now, row.namespace, row.name))


def _pods(cluster: Cluster) -> Iterator[PendingPodRow]:
    added = added_names()
    seen = Observation.objects.filter(
        cluster=cluster,
        kind="Pod",
        manifest__spec__nodeName__isnull=True,
        manifest__status__phase="Pending",
        manifest__metadata__deletionTimestamp__isnull=True,
    )
    for one in seen:
        reason, message = reason_of_pod(one.manifest, added)
        yield PendingPodRow(
            cluster.name,
            "",
            one.namespace,
            "Pod",
            one.name,
            asked_of_pod(one.manifest, added),
            str(one.manifest["spec"].get("priorityClassName") or ""),
            _instant(one.manifest["metadata"].get("creationTimestamp")),
            None,
            reason,
            message,
        )


def _refused(cluster: Cluster, now: datetime) -> Iterator[PendingPodRow]:
    """The newest refusal of each controller; controllers that stopped retrying are left out."""
    added = added_names()
    newest: dict[tuple[str, str, str], PendingPodRow] = {}
    for one in Observation.objects.filter(cluster=cluster, kind="Event"):
        event = one.manifest
        about, message = event.get("involvedObject") or {}, str(event.get("message"))
        asked, last = asked_of_refusal(message, added), _last(event)
        if not asked or last is None or last < now - STILL_TRIES:
            continue
        first = _instant(event.get("firstTimestamp") or event.get("eventTime"))
        key = (one.namespace, str(about.get("kind")), str(about.get("name")))
        row = PendingPodRow(
            cluster.name, "", *key, asked, "", first, last, WaitReason.QUOTA, message
        )
        known = newest.get(key)
        if known is None or known.last is None or known.last < last:
            newest[key] = row
    yield from newest.values()


def _last(event: Mapping[str, Any]) -> datetime | None:
    series = event.get("series") or {}
    for value in (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
    ):
        if value:
            return _instant(value)
    return None


def _instant(value: object) -> datetime | None:
    try:
        found = parse_datetime(str(value)) if value else None
    except ValueError:
        return None
    return found if found is not None and timezone.is_aware(found) else None
