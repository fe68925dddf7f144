"""What is wrong with data and quotas (alerts.md R7-R10): issues, differences and late windows."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Max, QuerySet

from accounting.access.reads.billing_settings import billing_at
from accounting.access.scope import EVERYTHING
from accounting.core.interval import HOUR_MS, to_instant, to_ms
from accounting.health.reads.issues import UNMAPPED, IssueRow, issue_rows
from accounting.health.reads.unassigned import NAMESPACES
from accounting.kit.inbox import Asker, InboxRow
from accounting.kit.reads.selection import Selection
from accounting.kit.tags.units import duration
from accounting.metering.models.cluster import Cluster, Source, SourceKind
from accounting.metering.models.evidence import ScrapeSpan
from accounting.metering.models.ledger import DataIssue
from accounting.usage.reads.windows import newest_end_ms
from scheduler_view.alerts.models import Alert
from scheduler_view.alerts.reads.causes.gpus import HARDWARE, issues_within
from scheduler_view.alerts.rules.catalogue import AlertRule, Limits
from scheduler_view.alerts.rules.cause import AlertCause, Firing, fired_within
from scheduler_view.alerts.rules.states import FigureUnit
from scheduler_view.quotas.reads.drift_inbox import DIFFERENCES
from scheduler_view.savings.rules.idle import MINUTE_MS

_OTHERS = frozenset({UNMAPPED, "unpriced_gpu", "cluster_silent", *HARDWARE})
"""Codes of rules of their own, or of the inbox."""


def _minutes(count: int) -> timedelta:
    return timedelta(minutes=count)


def _waiting(row: InboxRow, least: int, at: datetime) -> AlertCause:
    """A row of the inbox that has been there for long."""
    figure, unit = _figure(row, at)
    return AlertCause(
        key=f"{row.what.partition(':')[0]}/{row.about if row.kind == 'namespace' else row.query}",
        what=row.what,
        about=row.about,
        since=row.since,
        fired_at=row.since + _minutes(least),
        figure=figure,
        unit=unit,
        amount=row.amount,
        currency=row.currency,
        query=row.query,
    )


def _figure(row: InboxRow, at: datetime) -> tuple[Decimal, str]:
    """Its money, else its GPU time, else how long it lasts; and the unit."""
    if row.amount is not None:
        return row.amount, row.currency
    if row.gpu_ms:
        return Decimal(row.gpu_ms), FigureUnit.GPU_MS
    return Decimal(to_ms(at) - to_ms(row.since)), FigureUnit.MS


def namespace_causes(limits: Limits, at: datetime) -> Iterator[AlertCause]:
    """Namespaces that have held GPUs without a team for so long; those of the inbox."""
    least = limits.organization or 0
    for row in NAMESPACES.rows(Asker(EVERYTHING, 0, "", at)):
        if at - row.since >= _minutes(least):
            yield _waiting(row, least, at)


def namespace_past(
    choices: Iterable[int], start: datetime, end: datetime
) -> Iterator[Firing]:
    """When namespaces had been without a team for so long."""
    found = DataIssue.objects.filter(code=UNMAPPED).exclude(severity="info")
    spans = found.values_list("first_seen", "resolved_at", "last_seen")
    lasted = [(since, max(gone or end, last)) for since, gone, last in spans]
    yield from _lasted(lasted, choices, start, end)


def _lasted(
    spans: Iterable[tuple[datetime, datetime]],
    choices: Iterable[int],
    start: datetime,
    end: datetime,
) -> Iterator[Firing]:
    """When each of some had lasted for so many minutes."""
    spans = tuple(spans)
    for least in choices:
        for since, until in spans:
            if at := fired_within(since + _minutes(least), until, start, end):
                yield Firing(least, 0, at)


def drift_causes(limits: Limits, at: datetime) -> Iterator[AlertCause]:
    """Quotas and tiers that have differed from the cluster for so long; those of the inbox."""
    least = limits.organization or 0
    for row in DIFFERENCES.rows(Asker(EVERYTHING, 0, "", at)):
        if at - row.since >= _minutes(least):
            yield _waiting(row, least, at)


def drift_past(
    choices: Iterable[int], start: datetime, end: datetime
) -> Iterator[Firing]:
    """When differences had lasted so long: those that last, and those that alerts remember."""
    lasting = [
        (row.since, end) for row in DIFFERENCES.rows(Asker(EVERYTHING, 0, "", end))
    ]
    ended = Alert.objects.filter(rule=AlertRule.DRIFT, resolved_at__isnull=False)
    past = ended.values_list("since", "resolved_at")
    spans = [*lasting, *((since, until) for since, until in past if until)]
    yield from _lasted(spans, choices, start, end)


def _live() -> QuerySet[Source]:
    return Source.objects.filter(is_active=True).exclude(kind=SourceKind.OPENMETRICS)


def _awaited() -> QuerySet[Cluster]:
    """Clusters that should send data."""
    return Cluster.objects.filter(
        pk__in=_live().values("cluster"), retired_at__isnull=True
    )


def late_causes(limits: Limits, at: datetime) -> Iterator[AlertCause]:
    """Clusters with a live source whose newest window is older than the threshold."""
    least = limits.organization or 0
    clusters = _awaited()
    errors = dict(
        _live().exclude(last_error="").values_list("cluster_id", "last_error")
    )
    for cluster in clusters.order_by("name"):
        end_ms = newest_end_ms(cluster.pk)
        if end_ms is None or to_ms(at) - end_ms < least * MINUTE_MS:
            continue
        yield AlertCause(
            key=str(cluster.pk),
            what=f"No new data of {cluster.name}",
            about=errors.get(cluster.pk, "")[:500],
            since=to_instant(end_ms),
            fired_at=to_instant(end_ms + least * MINUTE_MS),
            figure=Decimal(to_ms(at) - end_ms),
            unit=FigureUnit.MS,
        )


def late_past(
    choices: Iterable[int], start: datetime, end: datetime
) -> Iterator[Firing]:
    """Gaps in the scrapes of kube-state-metrics; a source that was read later has none."""
    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    found = ScrapeSpan.objects.filter(last_ms__gte=to_ms(start))
    for cluster, first, last in found.values_list(
        "scraper__cluster_id", "first_ms", "last_ms"
    ):
        spans[cluster].append((first, last))
    before = ScrapeSpan.objects.filter(
        last_ms__lt=to_ms(start), scraper__cluster__in=_awaited()
    )
    newest = before.values_list("scraper__cluster_id").annotate(Max("last_ms"))
    for cluster, last in newest.order_by():
        spans[cluster].append((last, last))
    gaps = [
        (to_instant(since_ms), to_instant(until_ms))
        for of_cluster in spans.values()
        for since_ms, until_ms in _gaps(sorted(of_cluster), to_ms(end))
    ]
    yield from _lasted(gaps, choices, start, end)


def _gaps(spans: Sequence[tuple[int, int]], end_ms: int) -> Iterator[tuple[int, int]]:
    known = spans[0][1]
    for first, last in spans[1:]:
        if first > known:
            yield known, first
        known = max(known, last)
    if end_ms > known:
        yield known, end_ms


def issue_causes(limits: Limits, at: datetime) -> Iterator[AlertCause]:
    """Open faults in the data with so much time at stake, by cluster and code."""
    currency = billing_at(at).currency
    least_ms = (limits.organization or 0) * HOUR_MS
    grouped: dict[tuple[str, str], list[IssueRow]] = defaultdict(list)
    for row in issue_rows(Selection(EVERYTHING)):
        if row.severity != "info" and row.code not in _OTHERS:
            grouped[row.cluster, row.code].append(row)
    for (cluster, code), same in grouped.items():
        ms = sum(row.at_stake_ms for row in same)
        if ms >= least_ms:
            yield _issue(f"{cluster}/{code}", same, ms, currency)


def _issue(key: str, same: Sequence[IssueRow], ms: int, currency: str) -> AlertCause:
    first = same[0]
    charges = [row.at_stake_charge for row in same if row.at_stake_charge is not None]
    amount = sum(charges, Decimal(0)) if charges else None
    count = f" ({len(same)})" if len(same) > 1 else ""
    where = f" on {first.cluster}" if first.cluster else ""
    at_stake = f" GPU time at stake: {duration(ms)}." if ms else ""
    return AlertCause(
        key=key,
        what=f"{first.title}{count}{where}",
        about=f"{first.subject}.{at_stake} {first.advice}"[:500],
        since=min(row.first_seen for row in same),
        fired_at=min(row.first_seen for row in same),
        figure=Decimal(ms),
        unit=FigureUnit.GPU_MS,
        amount=amount,
        currency="" if amount is None else currency,
    )


def issue_past(
    choices: Iterable[int], start: datetime, end: datetime
) -> Iterator[Firing]:
    """When faults were first found, with what they have at stake by now."""
    found = issues_within(start, end)
    found = found.exclude(severity="info").exclude(code__in=_OTHERS)
    grouped: dict[tuple[int | None, str], list[tuple[datetime, int]]] = defaultdict(
        list
    )
    for cluster, code, seen, ms in found.values_list(
        "cluster_id", "code", "first_seen", "at_stake_ms"
    ):
        grouped[cluster, code].append((seen, ms))
    for least in choices:
        for same in grouped.values():
            if sum(ms for _, ms in same) >= least * HOUR_MS:
                yield Firing(least, 0, max(start, min(seen for seen, _ in same)))
