"""Wasted time by rule and work unit, largest cost first: rows of pages, REST and commands."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from accounting.access.scope import Scope
from accounting.core.billing_calendar import DayRange
from accounting.core.interval import to_instant
from accounting.core.money import NOTHING, Money
from accounting.core.unmapped import UNMAPPED
from accounting.metering.rules.inventory.families import family_of
from accounting.prices.rules.charge import charge_of, page_charges
from scheduler_view.savings.reads.measured_days import measured_days
from scheduler_view.savings.reads.row import WasteRow
from scheduler_view.savings.rules.finding import WasteRule


@dataclass(frozen=True, slots=True)
class WasteReport:
    """Wasted time of some days.

    Attributes:
        rows: of families of work, largest amount first.
        days: of the range, whose findings are computed, in order.
        totals: of all rows that are in totals, one for each currency.
        gpu_ms, unpriced_ms: of the same rows; no amount includes `unpriced_ms`.
        computed_at: when the latest of these days was computed; None if none is.
    """

    rows: Sequence[WasteRow]
    days: Sequence[date]
    totals: Sequence[Money]
    gpu_ms: int
    unpriced_ms: int
    computed_at: datetime | None

    @property
    def measured(self) -> int:
        """How many days are computed."""
        return len(self.days)


SHOWN = tuple(rule for rule in WasteRule if rule != WasteRule.IN_USE)
KEYS = (
    *(
        "coalesce(f.team_id, 0)",
        "coalesce(f.workload_id, 0)",
        "coalesce(f.lone_pod, 0)",
    ),
    "coalesce(f.node_id, 0)",
    "CASE WHEN f.unit || f.pool = '' THEN 0 ELSE hashtextextended(f.unit || f.pool, 0) END",
)
LONE_POD = "CASE WHEN workload_id IS NULL THEN pod_id END AS lone_pod"
_BY = (
    "rule, cluster, slug, team, slot, namespace, kind, workload, family, node, pool, currency,"
    " is_free, key"
)
# Rows are summed by number before anything is joined: sorts of twenty names, and of a record for
# each finding, took five times as long.
_ROWS = f"""
WITH finding AS (
    SELECT parts.part, f.rule, f.cluster_id, f.team_id, f.workload_id, f.pod_id, f.node_id, f.unit,
           f.pool, f.currency, f.start_ms, f.end_ms, sum(f.gpu_ms) AS gpu_ms,
           sum(f.unpriced_ms) AS unpriced_ms, sum(f.raw) AS raw,
           sum(coalesce(f.raw_low, f.raw)) AS raw_low
    FROM unnest(%(firsts)s::date[], %(afters)s::date[], %(of_clusters)s::bigint[])
         WITH ORDINALITY AS parts (first, after, cluster, part)
    JOIN scheduler_view_wastefinding f ON f.day >= parts.first AND f.day < parts.after
         AND (f.cluster_id <> parts.cluster) IS NOT TRUE
    WHERE f.day >= %(first)s AND f.day < %(after)s AND f.rule = ANY(%(rules)s)
      AND (%(clusters)s::text[] IS NULL OR f.cluster_id = ANY(ARRAY(
               SELECT id FROM accounting_cluster WHERE name = ANY(%(clusters)s))))
      AND (%(teams)s::bigint[] IS NULL OR f.team_id = ANY(%(teams)s)
           OR (f.team_id IS NULL AND 0 = ANY(%(teams)s)))
      AND (%(slugs)s::text[] IS NULL
           OR (f.node_id IS NULL AND f.pool = '' AND (
               f.team_id = ANY(ARRAY(SELECT id FROM accounting_team WHERE slug = ANY(%(slugs)s)))
               OR (f.team_id IS NULL AND 'unmapped' = ANY(%(slugs)s)))))
    GROUP BY parts.part, f.rule, f.cluster_id, f.team_id, f.workload_id, f.pod_id, f.node_id,
             f.unit, f.pool, f.currency, f.start_ms, f.end_ms
), summed AS (
    SELECT part, rule, cluster_id, team_id, workload_id,
           {LONE_POD}, node_id, unit, pool, currency,
           count(*) AS findings, count(DISTINCT pod_id) AS pods, min(start_ms) AS start_ms,
           max(end_ms) AS end_ms, sum(gpu_ms)::bigint AS gpu_ms,
           sum(unpriced_ms)::bigint AS unpriced_ms, sum(raw_low) AS raw_low, sum(raw) AS raw
    FROM finding
    GROUP BY part, rule, cluster_id, team_id, workload_id, lone_pod, node_id, unit, pool, currency
)
SELECT f.part, f.rule, c.name AS cluster, coalesce(t.slug, '') AS slug,
       coalesce(t.name, '') AS team, coalesce(t.colour_slot, 0) AS slot,
       coalesce(n.name, split_part(f.unit, '/', 2)) AS namespace,
       coalesce(w.kind, split_part(f.unit, '/', 1)) AS kind,
       coalesce(w.name, p.name, split_part(f.unit, '/', 3)) AS workload,
       coalesce(w.family, '') AS family, coalesce(d.name, '') AS node, f.pool, f.currency,
       f.node_id IS NOT NULL OR f.pool <> '' AS is_free, ARRAY[{", ".join(KEYS)}] AS key,
       f.findings, f.pods, f.start_ms, f.end_ms, f.gpu_ms, f.unpriced_ms, f.raw_low, f.raw
FROM summed f
JOIN accounting_cluster c ON c.id = f.cluster_id
LEFT JOIN accounting_team t ON t.id = f.team_id
LEFT JOIN accounting_workload w ON w.id = f.workload_id
LEFT JOIN accounting_pod p ON p.id = f.lone_pod
LEFT JOIN accounting_namespace n ON n.id = coalesce(w.namespace_id, p.namespace_id)
LEFT JOIN accounting_node d ON d.id = f.node_id
ORDER BY f.part, f.raw DESC, f.gpu_ms DESC, {_BY}
"""  # noqa: S608  # composed of this module's constants


def waste_report(
    scope: Scope,
    days: DayRange,
    places: int,
    *,
    clusters: Collection[str] = (),
    teams: Collection[str] = (),
    read_team: int | None = None,
) -> WasteReport:
    """What was wasted on billing days, as far as a person may read it.

    Finance and administrators read all of it, leads that of their teams.

    Args:
        places: decimal places of amounts; those of a rule come to its total, as the bridge has it.
        clusters, teams: names and slugs; empty for all. With teams, free time is left out.
        read_team: the number of a team that the person may read without leading it.
    """
    measured, computed_at = measured_days(days, clusters)
    [each] = waste_parts(
        readable_teams(scope) if read_team is None else [read_team],
        [(days, None, measured)],
        clusters=clusters,
        teams=teams,
        by_family=True,
    )
    each.sort(key=lambda row: (-row.raw, -row.gpu_ms))
    rows = rounded_by_rule(each, places)
    days_of = {day for of_cluster in measured.values() for day in of_cluster}
    return _report(rows, sorted(days_of), computed_at)


def part_of(report: WasteReport, rule: str, family: str) -> WasteReport:
    """The rows of one rule, of one family or of both, with their sums; "" for all.

    Args:
        family: with its namespace, as in `WasteRow.address`.
    """
    rows = [
        row
        for row in report.rows
        if rule in ("", row.rule) and family in ("", row.address)
    ]
    return _report(rows, report.days, report.computed_at)


def _report(
    rows: Sequence[WasteRow], days: Sequence[date], computed_at: datetime | None
) -> WasteReport:
    claimed = [row for row in rows if row.is_in_totals]
    sums: dict[str, Money] = {}
    for row in claimed:
        if row.amount is not None:
            known = sums.get(row.currency, NOTHING)
            sums[row.currency] = known + Money(row.amount, row.currency)
    return WasteReport(
        rows,
        days,
        tuple(sums.values()),
        sum(row.gpu_ms for row in claimed),
        sum(row.unpriced_ms for row in claimed),
        computed_at,
    )


Part = tuple[DayRange, int | None, Mapping[str, Sequence[date]]]
"""Days, the number of a cluster or None for all, and the measured days by cluster."""


def readable_teams(scope: Scope) -> list[int] | None:
    """The numbers of the teams whose waste a person may read; None for everything."""
    return None if scope.sees_all else sorted(scope.lead_of)


def waste_parts(
    readable: Sequence[int] | None,
    parts: Sequence[Part],
    *,
    rules: Collection[WasteRule] = SHOWN,
    clusters: Collection[str] = (),
    teams: Collection[str] = (),
    by_family: bool = False,
) -> list[list[WasteRow]]:
    """What was wasted by each work unit, of each part, without amounts; one query.

    Args:
        readable: numbers of teams; None for all and for free time.
        by_family: one row for all work of a family of one rule and team; others stay.
    """
    values: dict[str, Any] = {
        "firsts": [days.first for days, *_ in parts],
        "afters": [days.after for days, *_ in parts],
        "of_clusters": [cluster for _, cluster, _ in parts],
        "first": min(days.first for days, *_ in parts),
        "after": max(days.after for days, *_ in parts),
        "clusters": list(clusters) or None,
        "teams": readable,
        "slugs": list(teams) or None,
        "rules": [rule.value for rule in rules],
    }
    found: list[dict[object, list[Sequence[Any]]]] = [{} for _ in parts]
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, values)
        for part, *row in cursor:
            same = found[part - 1]
            same.setdefault(_family(row) if by_family else len(same), []).append(row)
    return [
        [_row(rows, measured) for rows in of_part.values()]
        for of_part, (_, _, measured) in zip(found, parts, strict=True)
    ]


def rounded_by_rule(rows: Sequence[WasteRow], places: int) -> list[WasteRow]:
    """The same rows with amounts in `places`, which come to the rounded total of their rule.

    The bridge rounds that total alone: rows and parts are in one sum (scheduling.md "Waste").
    """
    amounts: dict[int, Money] = {}
    for rule in {row.rule for row in rows}:
        amounts |= page_charges(
            {
                i: (row.raw, row.currency)
                for i, row in enumerate(rows)
                if row.rule == rule and row.currency
            },
            places,
        )
    return [
        replace(
            row,
            amount=amounts[i].amount,
            amount_low=amounts[i].amount
            if row.raw_low == row.raw
            else min(charge_of(row.raw_low, places), amounts[i].amount),
        )
        if i in amounts
        else row
        for i, row in enumerate(rows)
    ]


def _family(row: Sequence[Any]) -> tuple[object, ...]:
    """What rows of one family have in common: rule, team, namespace, kind, node and currency."""
    return *row[:3], *row[5:7], row[8] or family_of(row[7], row[6]), *row[9:12]


def _row(
    rows: Sequence[Sequence[Any]], measured: Mapping[str, Sequence[date]]
) -> WasteRow:
    """The row of a unit or a family without amounts: those of a page are rounded together."""
    rule, cluster, slug, team, slot, namespace, kind, workload, family, node = rows[0][
        :10
    ]
    pool, currency, is_free = rows[0][10:13]
    family = family or family_of(workload, kind)
    of_rows = zip(*(row[13:] for row in rows), strict=True)
    keys, findings, pods, starts, ends, gpu_ms, unpriced_ms, low, raw = of_rows
    key, *more = map(tuple, keys)
    return WasteRow(
        rule=rule,
        cluster=cluster,
        team=slug or ("" if is_free else UNMAPPED),
        team_name=team or ("" if is_free else "Unmapped"),
        team_slot=slot,
        namespace=namespace,
        kind=kind,
        workload=family if more else workload,
        family=family,
        node=node,
        pool=pool,
        findings=sum(findings),
        pods=sum(pods),
        start=to_instant(min(starts)),
        end=to_instant(max(ends)),
        gpu_ms=sum(gpu_ms),
        unpriced_ms=sum(unpriced_ms),
        amount=None,
        amount_low=None,
        raw=sum(raw, Decimal(0)),
        raw_low=sum(low, Decimal(0)),
        currency=currency,
        days=len(measured.get(cluster, ())),
        key=key,
        more=tuple(more),
    )
