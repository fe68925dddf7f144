"""Units requested by unscheduled pods, as last shown by kube-state.

Work that a queue holds back before it has pods is reported by `queue_borrowing` only.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

from django.db.models import Max, Q

from accounting.core.interval import to_ms
from accounting.core.read_once import read_together
from accounting.metering.mapping import pod_from_row, unpack_times
from accounting.metering.models.evidence import ScrapeHour, Scraper
from accounting.metering.models.pod import Pod
from accounting.metering.rules.inventory.records import PodRecord
from accounting.metering.rules.inventory.requests import effective_requests
from accounting.metering.rules.samples.series import ScraperIdentity

# the pods of a scraper that is silent for longer are not counted
LOOK_BACK_MS = 2 * 3_600_000


class Waiting(NamedTuple):
    """Pending units, by namespace, class and resource."""

    namespace: str
    priority_class: str
    resource: str


@read_together
def waiting_units(clusters: Sequence[int]) -> Mapping[int, Mapping[Waiting, int]]:
    """Units by namespace, priority class and resource; a few queries, for any length of history."""
    found: dict[int, Counter[Waiting]] = {one: Counter() for one in clusters}
    for cluster, pod in _waiting({one: last_read(one) for one in clusters}):
        for resource, units in effective_requests(pod).items():
            key = Waiting(pod.namespace, pod.priority_class, resource)
            found[cluster][key] += units
    return found


def waiting_pods(
    cluster_id: int, read: Mapping[ScraperIdentity, int]
) -> Iterator[PodRecord]:
    """Pods that request GPUs and wait.

    A pod waits while it is unscheduled, has not ended, and is in the newest scrape of one of its
    scrapers (the reverse of rules.md N11).

    Args:
        read: when each kube-state scraper was last scraped.
    """
    return (pod for _, pod in _waiting({cluster_id: read}))


def _waiting(
    reads: Mapping[int, Mapping[ScraperIdentity, int]],
) -> Iterator[tuple[int, PodRecord]]:
    """The waiting pods of clusters with scrapers, each with its cluster; one query."""
    known = [
        Q(cluster_id=one, last_ms__gte=max(read.values()) - LOOK_BACK_MS)
        for one, read in reads.items()
        if read
    ]
    if not known:
        return
    rows = Pod.objects.filter(
        reduce(or_, known),
        Q(record__requests__isnull=False),
        is_inferred=False,
        node__isnull=True,
        record__scheduled_ms__isnull=True,
        record__terminal_phase__isnull=True,
    )
    names = ("uid", "namespace__name", "name", "first_ms", "last_ms", "record")
    for cluster, uid, namespace, name, first, last, record in rows.values_list(
        "cluster_id", *names
    ):
        pod = pod_from_row(uid, namespace, name, first or 0, last or 0, record)
        seen = (reads[cluster].get(one, 0) for one in pod.scrapers)
        if (last or 0) >= max(seen, default=0):
            yield cluster, pod


def units_of(
    waiting: Mapping[Waiting, int],
    resource: str,
    namespaces: Iterable[str],
    classes: Iterable[str],
) -> int:
    """The units of some namespaces, for all priority classes if none is named."""
    places, named = set(namespaces), set(classes)
    return sum(
        units
        for one, units in waiting.items()
        if one.resource == resource
        and one.namespace in places
        and (not named or one.priority_class in named)
    )


@read_together
def last_read(clusters: Sequence[int]) -> Mapping[int, Mapping[ScraperIdentity, int]]:
    """When each kube-state scraper of a cluster was last scraped; two queries."""
    latest = (
        Scraper.objects.filter(cluster_id__in=clusters, is_kube_state=True)
        .annotate(hour=Max("scrapehour__hour_start"))
        .exclude(hour=None)
    )
    known = {one.pk: one for one in latest}
    hours = ScrapeHour.objects.filter(
        scraper_id__in=known, hour_start__in={one.hour for one in known.values()}
    )
    found: dict[int, dict[ScraperIdentity, int]] = {one: {} for one in clusters}
    for row in hours:
        one = known[row.scraper_id]
        if row.hour_start == one.hour:
            times = unpack_times(bytes(row.times), to_ms(one.hour))
            key = ScraperIdentity(one.job, one.instance, one.replica)
            found[one.cluster_id][key] = int(times[-1]) if len(times) else 0
    return found
