"""Units requested by unscheduled pods, as last shown by kube-state.

Work that a queue holds back before it has pods is reported by `queue_borrowing` only.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from django.db.models import Max, Q

from accounting.domain.core.interval import to_ms
from accounting.domain.inventory.records import PodRecord
from accounting.domain.inventory.requests import effective_requests
from accounting.domain.samples.series import ScraperIdentity
from accounting.mapping import pod_from_row, unpack_times
from accounting.models import Pod, ScrapeHour, Scraper

# the pods of a scraper that is silent for longer are not counted
LOOK_BACK_MS = 2 * 3_600_000


class Waiting(NamedTuple):
    """Pending units, by namespace, class and resource."""

    namespace: str
    priority_class: str
    resource: str


def waiting_units(cluster_id: int) -> Counter[Waiting]:
    """Units by namespace, priority class and resource; a few queries, for any length of history."""
    found: Counter[Waiting] = Counter()
    for pod in waiting_pods(cluster_id, last_read(cluster_id)):
        for resource, units in effective_requests(pod).items():
            found[Waiting(pod.namespace, pod.priority_class, resource)] += units
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
    if not read:
        return
    rows = Pod.objects.filter(
        Q(record__requests__isnull=False),
        cluster_id=cluster_id,
        is_inferred=False,
        node__isnull=True,
        record__scheduled_ms__isnull=True,
        record__terminal_phase__isnull=True,
        last_ms__gte=max(read.values()) - LOOK_BACK_MS,
    )
    for uid, namespace, name, first, last, record in rows.values_list(
        "uid", "namespace__name", "name", "first_ms", "last_ms", "record"
    ):
        pod = pod_from_row(uid, namespace, name, first or 0, last or 0, record)
        if (last or 0) >= max((read.get(one, 0) for one in pod.scrapers), default=0):
            yield pod


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


def last_read(cluster_id: int) -> dict[ScraperIdentity, int]:
    """When each kube-state scraper was last scraped."""
    latest = (
        Scraper.objects.filter(cluster_id=cluster_id, is_kube_state=True)
        .annotate(hour=Max("scrapehour__hour_start"))
        .exclude(hour=None)
    )
    keys = {
        one.pk: (ScraperIdentity(one.job, one.instance, one.replica), one.hour)
        for one in latest
    }
    hours = ScrapeHour.objects.filter(
        scraper_id__in=keys, hour_start__in={hour for _, hour in keys.values()}
    )
    found: dict[ScraperIdentity, int] = {}
    for row in hours:
        key, hour = keys[row.scraper_id]
        if row.hour_start == hour:
            times = unpack_times(bytes(row.times), to_ms(hour))
            found[key] = int(times[-1]) if len(times) else 0
    return found
