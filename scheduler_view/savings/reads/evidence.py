"""The largest findings behind rows of waste: what their rule saw, and the price."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from accounting.core.billing_calendar import DayRange
from accounting.core.interval import to_instant
from scheduler_view.savings.reads.row import WasteRow
from scheduler_view.savings.reads.rows import KEY, LONE_POD


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One finding of a row: what the rule saw.

    Attributes:
        rate: per GPU-hour, the mean over its priced time; None without a price.
    """

    pod: str
    start: datetime
    end: datetime
    gpu_ms: int
    rate: Decimal | None
    evidence: Mapping[str, Any]


SHOWN_FINDINGS = 5
_EVIDENCE = f"""
WITH finding AS (
    SELECT f.rule, f.currency, f.team_id, f.workload_id, f.pod_id, {LONE_POD}, f.node_id, f.unit,
           f.pool, f.start_ms, f.end_ms, sum(f.gpu_ms)::bigint AS gpu_ms,
           sum(f.raw) / nullif(sum(f.gpu_ms - f.unpriced_ms), 0) AS rate,
           (array_agg(f.evidence::text ORDER BY f.gpu_ms DESC, f.id))[1] AS evidence
    FROM scheduler_view_wastefinding f
    WHERE f.day >= %(first)s AND f.day < %(after)s AND f.rule = ANY(%(rules)s)
      AND (f.workload_id = ANY(%(workloads)s) OR f.node_id = ANY(%(nodes)s)
           OR (f.unit || f.pool <> '' AND hashtextextended(f.unit || f.pool, 0)
               = ANY(%(others)s))
           OR (f.workload_id IS NULL AND f.pod_id = ANY(%(pods)s)))
    GROUP BY f.rule, f.currency, f.team_id, f.workload_id, f.pod_id, f.node_id, f.unit, f.pool,
             f.start_ms, f.end_ms
), placed AS (
    SELECT f.*, coalesce(p.name, '') AS pod, row_number() OVER (
               PARTITION BY f.rule, f.currency, f.team_id, f.workload_id, f.node_id, f.unit,
                   f.pool, f.lone_pod
               ORDER BY f.gpu_ms DESC, f.start_ms, p.name) AS place
    FROM finding f LEFT JOIN LATERAL (
        SELECT name FROM accounting_pod WHERE id = f.pod_id OFFSET 0
    ) p ON true
)
SELECT rule, currency, {KEY} AS key, pod, start_ms, end_ms, gpu_ms, rate, evidence
FROM placed f WHERE place <= %(most)s ORDER BY place, start_ms, pod
"""  # noqa: S608  # composed of constants
RowKey = tuple[str, str, tuple[int, ...]]


def evidence_of(
    rows: Sequence[WasteRow], days: DayRange
) -> dict[RowKey, list[EvidenceRow]]:
    """The largest findings of rows, by rule, currency and first key; one query."""
    first = {(row.rule, row.currency, key): row.key for row in rows for key in row.keys}
    keys = [key for _, _, key in first]
    workloads, pods, nodes, others = ([key[n] for key in keys] for n in (1, 2, 3, 4))
    values: dict[str, Any] = {
        "rules": sorted({row.rule for row in rows}),
        "first": days.first,
        "after": days.after,
        "workloads": [number for number in workloads if number],
        "pods": [number for number in pods if number],
        "nodes": [number for number in nodes if number],
        "others": [number for number in others if number],
        "most": SHOWN_FINDINGS,
    }
    found: dict[RowKey, list[EvidenceRow]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_EVIDENCE, values)
        for rule, currency, key, pod, start, end, gpu_ms, rate, text in cursor:
            one = EvidenceRow(
                pod, to_instant(start), to_instant(end), gpu_ms, rate, json.loads(text)
            )
            of_row = first.get((rule, currency, tuple(key)))
            if of_row is not None:
                found.setdefault((rule, currency, of_row), []).append(one)
    return {key: _largest(several) for key, several in found.items()}


def _largest(several: Sequence[EvidenceRow]) -> list[EvidenceRow]:
    return sorted(several, key=lambda one: -one.gpu_ms)[:SHOWN_FINDINGS]
