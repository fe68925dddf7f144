"""Work that waits for long (alerts.md R3), by family: an array of jobs is one cause."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db.models import BooleanField, ExpressionWrapper, Max, Q

from accounting.core.interval import to_instant, to_ms
from accounting.kit.tags.units import short_model
from accounting.metering.models.cluster import Cluster
from accounting.metering.rules.inventory.families import family_of
from scheduler_view.alerts.rules.catalogue import Limits
from scheduler_view.alerts.rules.cause import AlertCause, Firing, first_at_once
from scheduler_view.alerts.rules.states import FigureUnit
from scheduler_view.clusters.models import METRIC_WAITS, WAITS, ObservationRun
from scheduler_view.queues.reads.queued_units import WAITING
from scheduler_view.quotas.reads.namespaces import owners
from scheduler_view.savings.rules.idle import MINUTE_MS
from scheduler_view.waits.models import WaitRecord
from scheduler_view.waits.rules.wording import cause_text


class _Wait(NamedTuple):
    pk: int
    cluster_id: int
    namespace: str
    kind: str
    name: str
    units: int
    model: str
    cause: str
    waits_since: datetime


def wait_causes(limits: Limits, at: datetime) -> Iterator[AlertCause]:
    """Families whose oldest work waits for the threshold, as last observed.

    How long it waits is counted up to the last observation: what was not observed since may run.
    """
    waits = WaitRecord.objects.filter(WAITING, waits_since__isnull=False)
    grouped: dict[tuple[int, str, str], list[_Wait]] = defaultdict(list)
    order = waits.order_by("waits_since", "pk")
    for one in map(_Wait._make, order.values_list(*_Wait._fields)):
        family = family_of(one.name, one.kind)
        grouped[one.cluster_id, one.namespace, family].append(one)
    if not grouped:
        return
    seen = _seen_at()
    names = dict(Cluster.objects.values_list("pk", "name"))
    teams = _teams(grouped, at)
    for (cluster, namespace, family), same in grouped.items():
        team = teams[cluster].get(namespace)
        least, until = limits.of(team), seen.get(cluster, at)
        waited_ms = to_ms(until) - to_ms(same[0].waits_since)
        if least is not None and waited_ms >= least * MINUTE_MS:
            yield _cause(same, names[cluster], family, team, waited_ms, least)


def _cause(
    same: list[_Wait], cluster: str, family: str, team: int | None, ms: int, least: int
) -> AlertCause:
    oldest = same[0]
    units = sum(one.units for one in same)
    model = short_model(oldest.model) if oldest.model else "GPUs"
    is_one = len(same) == 1
    who = f"{oldest.name} waits" if is_one else f"{len(same)} runs of {family} wait"
    return AlertCause(
        key=f"{oldest.cluster_id}/{oldest.namespace}/{family}",
        what=f"{who} for {units} {model}",
        about=f"{oldest.namespace} on {cluster}. {cause_text(oldest.cause)}"[:500],
        team=team,
        since=oldest.waits_since,
        fired_at=to_instant(to_ms(oldest.waits_since) + least * MINUTE_MS),
        figure=Decimal(ms),
        unit=FigureUnit.MS,
        place=(oldest.pk,),
    )


def _seen_at() -> Mapping[int, datetime]:
    """When each cluster's waits were last observed."""
    runs = ObservationRun.objects.filter(
        kind__in=(WAITS, METRIC_WAITS), seen_at__isnull=False
    )
    return dict(runs.values_list("cluster_id").annotate(Max("seen_at")))


def _teams(
    keys: Iterable[tuple[int, str, str]], at: datetime
) -> Mapping[int, Mapping[str, int]]:
    spaces: dict[int, set[str]] = defaultdict(set)
    for cluster, namespace, *_ in keys:
        spaces[cluster].add(namespace)
    return {
        cluster: owners(cluster, sorted(names), at) for cluster, names in spaces.items()
    }


def wait_past(
    choices: Iterable[int], start: datetime, end: datetime
) -> Iterator[Firing]:
    """When families had waited for so long, from records of waits; whose they are is as of now.

    Work of which only some pods are bound still waits for the others.
    """
    ended = Q(ended_at__isnull=True) | Q(ended_at__gte=start)
    waits = WaitRecord.objects.filter(ended, waits_since__isnull=False).annotate(
        still_waits=ExpressionWrapper(WAITING, BooleanField())
    )
    spans: dict[tuple[int, str, str], list[tuple[int, int]]] = defaultdict(list)
    fields = ("cluster_id", "namespace", "kind", "name", "waits_since")
    rows = waits.values_list(*fields, "bound_at", "ended_at", "still_waits")
    for cluster, namespace, kind, name, since, bound, gone, still_waits in rows:
        ends = (None if still_waits else bound, gone, end)
        until = min(at for at in ends if at is not None)
        key = cluster, namespace, family_of(name, kind)
        spans[key].append((to_ms(since or until), to_ms(until)))
    teams = _teams(spans, end)
    for least in choices:
        for (cluster, namespace, _), of_family in spans.items():
            for fired_ms in first_at_once(
                of_family, least * MINUTE_MS, to_ms(start), to_ms(end)
            ):
                team = teams[cluster].get(namespace, 0)
                yield Firing(least, team, to_instant(fired_ms))
