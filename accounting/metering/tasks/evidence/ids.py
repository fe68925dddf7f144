"""Row ids of a cluster's objects by name; creates missing rows."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from accounting.metering.models.cluster import Cluster, Node
from accounting.metering.models.pod import Namespace
from accounting.metering.rules.samples.series import ScraperIdentity

BATCH = 2000


@dataclass(slots=True)
class Ids:
    """Row ids by identity, of one cluster."""

    nodes: dict[str, int] = field(default_factory=dict)
    gpus: dict[str, int] = field(default_factory=dict)
    pods: dict[str, int] = field(default_factory=dict)
    namespaces: dict[str, int] = field(default_factory=dict)
    scrapers: dict[ScraperIdentity, int] = field(default_factory=dict)


def ensure_nodes(cluster: Cluster, ids: Ids, names: Iterable[str]) -> None:
    """Create missing rows of nodes."""
    missing = [name for name in sorted(names) if name not in ids.nodes]
    Node.objects.bulk_create(
        [Node(cluster=cluster, name=name) for name in missing], ignore_conflicts=True
    )
    found = Node.objects.filter(cluster=cluster, name__in=missing)
    ids.nodes.update(found.values_list("name", "pk"))


def ensure_namespaces(cluster: Cluster, ids: Ids, names: Iterable[str]) -> None:
    """Create missing rows of namespaces."""
    missing = [name for name in sorted(names) if name not in ids.namespaces]
    Namespace.objects.bulk_create(
        [Namespace(cluster=cluster, name=name) for name in missing],
        ignore_conflicts=True,
    )
    found = Namespace.objects.filter(cluster=cluster, name__in=missing)
    ids.namespaces.update(found.values_list("name", "pk"))


def rows_of(query: str, cluster: Cluster, **values: Any) -> list[tuple[Any, ...]]:
    """The rows of a query about a cluster, which it references as `%(cluster)s`."""
    with connection.cursor() as cursor:
        cursor.execute(query, {"cluster": cluster.pk, **values})
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows
