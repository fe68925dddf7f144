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
from scheduler_view.savings.reads.rows import KEYS, LONE_POD


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
TEAM, WORKLOAD, POD, NODE, OTHER = KEYS
# Names of pods break ties: they are read of findings that are as large as the last one shown.
# Numbers that differ are compared first: the join sorts.
_EVIDENCE = f"""
WITH wanted AS (
    SELECT * FROM unnest(
        %(rules)s::text[], %(currencies)s::text[], %(teams)s::bigint[], %(workloads)s::bigint[],
        %(pods)s::bigint[], %(nodes)s::bigint[], %(others)s::bigint[], %(rows)s::int[]
    ) WITH ORDINALITY AS k (rule, currency, team, workload, pod, node, other, of_row, of_work)
), finding AS (
    SELECT k.of_row, k.of_work, f.pod_id, f.start_ms, f.end_ms,
           sum(f.gpu_ms)::bigint AS gpu_ms,
           sum(f.raw) / nullif(sum(f.gpu_ms - f.unpriced_ms), 0) AS rate,
           (array_agg(f.id ORDER BY f.gpu_ms DESC, f.id))[1] AS largest
    FROM (
        SELECT f.*, {LONE_POD} FROM scheduler_view_wastefinding f
        WHERE f.day >= %(first)s AND f.day < %(after)s AND f.rule = ANY(%(shown)s)
    ) f
    JOIN wanted k ON k.workload = {WORKLOAD} AND k.node = {NODE} AND k.pod = {POD}
         AND k.rule = f.rule AND k.team = {TEAM} AND k.other = {OTHER} AND k.currency = f.currency
    GROUP BY k.of_row, k.of_work, f.pod_id, f.start_ms, f.end_ms
), largest AS (
    SELECT * FROM (
        SELECT f.*, rank() OVER (PARTITION BY of_row ORDER BY gpu_ms DESC) FROM finding f
    ) f WHERE rank <= %(most)s
), placed AS (
    SELECT f.*, coalesce(p.name, '') AS pod, row_number() OVER (
               PARTITION BY of_work ORDER BY f.gpu_ms DESC, f.start_ms, p.name) AS place
    FROM largest f LEFT JOIN LATERAL (
        SELECT name FROM accounting_pod WHERE id = f.pod_id OFFSET 0
    ) p ON true
), listed AS (
    SELECT f.*, row_number() OVER (
               PARTITION BY of_row ORDER BY gpu_ms DESC, place, start_ms, pod) AS number
    FROM placed f
)
SELECT of_row, pod, start_ms, end_ms, gpu_ms, rate,
       (SELECT evidence::text FROM scheduler_view_wastefinding WHERE id = largest) AS evidence
FROM listed WHERE number <= %(most)s ORDER BY of_row, number
"""  # noqa: S608  # composed of constants
RowKey = tuple[str, str, tuple[int, ...]]


def evidence_of(
    rows: Sequence[WasteRow], days: DayRange
) -> dict[RowKey, list[EvidenceRow]]:
    """The largest findings of rows, by rule, currency and first key; one query."""
    of_work = {
        (row.rule, row.currency, key): (row.rule, row.currency, row.key)
        for row in rows
        for key in row.keys
    }
    numbers = {
        key: number for number, key in enumerate(dict.fromkeys(of_work.values()))
    }
    keys = [key for _, _, key in of_work]
    names = ("teams", "workloads", "pods", "nodes", "others")
    values: dict[str, Any] = {
        "rules": [rule for rule, _, _ in of_work],
        "currencies": [currency for _, currency, _ in of_work],
        **{name: [key[n] for key in keys] for n, name in enumerate(names)},
        "rows": [numbers[row] for row in of_work.values()],
        "shown": sorted({row.rule for row in rows}),
        "first": days.first,
        "after": days.after,
        "most": SHOWN_FINDINGS,
    }
    listed = [*numbers]
    found: dict[RowKey, list[EvidenceRow]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_EVIDENCE, values)
        for of_row, pod, start, end, gpu_ms, rate, text in cursor:
            one = EvidenceRow(
                pod, to_instant(start), to_instant(end), gpu_ms, rate, json.loads(text)
            )
            found.setdefault(listed[of_row], []).append(one)
    return found
