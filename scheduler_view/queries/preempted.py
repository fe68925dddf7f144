"""Pods of a team that the scheduler pushed out for others."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from accounting.models import Cluster
from scheduler_view.models import Preemption
from scheduler_view.queries.namespaces import known_namespaces, namespaces_by_team

LOOK_BACK = timedelta(days=30)
MOST = 100  # rows of a page


@dataclass(frozen=True, slots=True)
class PreemptedRow:
    """One pod that was pushed out.

    Attributes:
        words: the scheduler's own, by whom; empty where only the pod's condition told.
    """

    cluster: str
    namespace: str
    pod: str
    at: datetime
    words: str


def preempted_rows(team_id: int, now: datetime) -> Sequence[PreemptedRow]:
    """The newest of 30 days, of the namespaces that are the team's now."""
    rows: list[PreemptedRow] = []
    found = Preemption.objects.filter(at__gte=now - LOOK_BACK, at__lte=now)
    for cluster in Cluster.objects.filter(pk__in=found.values("cluster_id")):
        own = found.filter(cluster=cluster)
        names = own.values_list("namespace", flat=True).distinct()
        labels: dict[str, dict[str, str]] = {name: {} for name in names}
        labels |= known_namespaces(cluster.pk)
        places = namespaces_by_team(labels, now).get(team_id, [])
        rows += [
            PreemptedRow(cluster.name, row.namespace, row.pod, row.at, row.words)
            for row in own.filter(namespace__in=places).order_by("-at")[:MOST]
        ]
    return sorted(rows, key=lambda row: row.at, reverse=True)[:MOST]
