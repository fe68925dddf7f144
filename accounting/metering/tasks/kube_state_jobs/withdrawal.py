"""Removes the evidence of a kube-state job (rules.md N40).

The windows of that time read it again, from the jobs that count.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from django.db import connection

from accounting.core.interval import HOUR_MS, Interval, to_instant, to_ms
from accounting.metering.mapping import pack_times, unpack_times
from accounting.metering.models.cluster import NodeSpan
from accounting.metering.models.evidence import ScrapeHour, ScrapeSpan
from accounting.metering.rules.inventory.records import SampleSpan


def withdraw(
    cluster_id: int,
    job: str,
    periods: Sequence[Interval],
    wide: Sequence[Interval],
    *,
    is_gone: bool,
) -> list[Interval]:
    """Remove the evidence of a job in some periods; returns where evidence may be missing.

    Evidence of other jobs for the same nodes and namespaces in `wide` is removed as well: it is
    read again with the windows.
    """
    values: dict[str, Any] = {"cluster": cluster_id, "job": job}
    with connection.cursor() as cursor:
        cursor.execute(_SCRAPERS, values)
        scrapers = [row[0] for row in cursor.fetchall()]
        cursor.execute(_NODES, {"scrapers": scrapers})
        nodes = [row[0] for row in cursor.fetchall()]
    _cut_scrapes(scrapers, wide)
    _cut_node_spans(nodes, wide)
    found: list[Interval] = []
    with connection.cursor() as cursor:
        for period in wide:
            values |= {"nodes": nodes, "start": period.start, "end": period.end}
            cursor.execute(_FACTS, values)
            cursor.execute(_NAMESPACE_LABELS, values)
        for period in periods:
            values |= {"start_ms": period.start_ms, "end_ms": period.end_ms}
            cursor.execute(_HOLDS, values)
            found += [Interval(a, max(a, b)) for a, b in cursor.fetchall()]
            cursor.execute(_PODS, values)
            found += [Interval(a, b + 1) for a, b in cursor.fetchall()]
        cursor.execute(_OWNERS, values)
        if is_gone:
            cursor.execute(_NODE_SCRAPERS, {"scrapers": scrapers})
    return found


_SCRAPERS = """
    SELECT id FROM accounting_scraper WHERE cluster_id = %(cluster)s AND job = %(job)s
"""
_NODES = """
    SELECT DISTINCT node_id FROM accounting_nodescraper WHERE scraper_id = ANY(%(scrapers)s)
"""
_NODE_SCRAPERS = """
    DELETE FROM accounting_nodescraper WHERE scraper_id = ANY(%(scrapers)s)
"""
_FACTS = """
    DELETE FROM accounting_nodefact
    WHERE node_id = ANY(%(nodes)s) AND valid_from >= %(start)s AND valid_from < %(end)s
"""
_NAMESPACE_LABELS = """
    DELETE FROM accounting_namespacelabels l USING accounting_namespace n
    WHERE n.id = l.namespace_id AND n.cluster_id = %(cluster)s
      AND l.valid_from >= %(start)s AND l.valid_from < %(end)s
"""
_SHOWN = """
    p.cluster_id = %(cluster)s AND NOT p.is_inferred
    AND p.first_ms < %(end_ms)s AND p.last_ms >= %(start_ms)s
    AND EXISTS (SELECT FROM jsonb_array_elements(p.record -> 'scrapers') s
                WHERE s ->> 0 = %(job)s)
"""
_HOLDS = f"""
    DELETE FROM accounting_podhold h USING accounting_pod p
    WHERE p.id = h.pod_id AND NOT h.is_inferred AND {_SHOWN}
    RETURNING h.bound_ms, coalesce(h.booked_until_ms, h.bound_ms)
"""
_PODS = f"""
    WITH shown AS (
        SELECT p.id, p.first_ms, p.last_ms FROM accounting_pod p WHERE {_SHOWN} FOR UPDATE
    )
    UPDATE accounting_pod p SET record = '{{}}', first_ms = NULL, last_ms = NULL
    FROM shown s WHERE s.id = p.id RETURNING s.first_ms, s.last_ms
"""
_OWNERS = """
    DELETE FROM accounting_owner o USING accounting_namespace n
    WHERE n.id = o.namespace_id AND n.cluster_id = %(cluster)s
      AND concat('owner ', o.kind, ' ', n.name, '/', o.name) IN (
          SELECT x.name FROM accounting_kubejobobject x
          JOIN accounting_kubejob j ON j.id = x.kube_job_id
          WHERE j.cluster_id = %(cluster)s AND j.job = %(job)s AND NOT x.is_reference)
"""


def _cut_scrapes(scrapers: Sequence[int], periods: Sequence[Interval]) -> None:
    """Delete the times at which scrapers scraped kube-state in some periods."""
    low = min(period.start_ms for period in periods)
    high = max(period.end_ms for period in periods)
    hours = ScrapeHour.objects.filter(
        scraper_id__in=scrapers,
        hour_start__gte=to_instant(low - low % HOUR_MS),
        hour_start__lt=to_instant(high),
    )
    for row in hours:
        start_ms = to_ms(row.hour_start)
        times = unpack_times(bytes(row.times), start_ms)
        taken = np.zeros(len(times), bool)
        for period in periods:
            taken |= (times >= period.start_ms) & (times < period.end_ms)
        if taken.all():
            row.delete()
        elif taken.any():
            row.times = pack_times(times[~taken], start_ms)
            row.save(update_fields=["times"])
    for scraper in scrapers:
        spans = ScrapeSpan.objects.filter(scraper_id=scraper)
        _cut(spans, periods, scraper_id=scraper)


def _cut_node_spans(nodes: Iterable[int], periods: Sequence[Interval]) -> None:
    """Delete the times at which nodes were shown in some periods."""
    for node in nodes:
        _cut(NodeSpan.objects.filter(node_id=node), periods, node_id=node)


def _cut(rows: Any, periods: Sequence[Interval], **owner: int) -> None:
    """Replace spans by their parts outside some periods."""
    low = min(period.start_ms for period in periods)
    high = max(period.end_ms for period in periods)
    for row in rows.filter(first_ms__lt=high, last_ms__gte=low):
        left = _outside(SampleSpan(row.first_ms, row.last_ms, row.step_ms), periods)
        row.delete()
        for span in left:
            rows.model.objects.create(
                first_ms=span.first_ms,
                last_ms=span.last_ms,
                step_ms=span.step_ms,
                **owner,
            )


def _outside(span: SampleSpan, periods: Sequence[Interval]) -> list[SampleSpan]:
    """The parts of a span outside a period; its last sample before it is no longer known."""
    pieces = [span]
    for period in periods:
        pieces = [
            part
            for piece in pieces
            for part in (
                SampleSpan(
                    piece.first_ms,
                    min(piece.last_ms, period.start_ms - 1),
                    piece.step_ms,
                ),
                SampleSpan(
                    max(piece.first_ms, period.end_ms), piece.last_ms, piece.step_ms
                ),
            )
            if part.first_ms <= part.last_ms
        ]
    return pieces
