"""The use of resources from the ledger: now, its peak, and its idle part."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from accounting.domain.core.interval import to_ms
from accounting.domain.core.read_once import read_together
from accounting.domain.reports.efficiency import StateTimes

LOOK_BACK = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question about the use of a resource.

    Attributes:
        namespaces: of the pods; None counts every namespace.
        classes: priority classes that count; empty counts all pods.
        limit: GPUs; days with more held units are counted. None counts none.
    """

    resource: str
    namespaces: Sequence[str] | None
    classes: Sequence[str] = ()
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Use:
    """The use of a resource.

    Attributes:
        now: currently held units.
        peak: the most units held at once in 30 days.
        days_over: billing days with more than the limit.
        peaks: the maximum that each namespace held.
    """

    now: int = 0
    peak: int = 0
    days_over: int = 0
    peaks: Mapping[str, int] = field(default_factory=dict)


_QUERY = """
WITH ask AS (
    SELECT * FROM unnest(%(asks)s::int[], %(clusters)s::int[], %(resources)s::text[],
                         %(limits)s::int[]) AS t(ask, cluster_id, resource, gpus)
), place AS (
    SELECT * FROM unnest(%(place_asks)s::int[], %(places)s::text[]) AS t(ask, namespace)
), class AS (
    SELECT * FROM unnest(%(class_asks)s::int[], %(classes)s::text[]) AS t(ask, name)
), hold AS MATERIALIZED (
    SELECT a.ask, a.gpus, n.name AS namespace, h.units,
           greatest(h.bound_ms, %(since)s) AS low,
           CASE WHEN h.ended_ms IS NULL THEN NULL ELSE least(h.ended_ms, %(now)s) END AS high
    FROM accounting_podhold h
    JOIN accounting_pod p ON p.id = h.pod_id
    JOIN accounting_namespace n ON n.id = p.namespace_id
    JOIN ask a ON a.resource = h.resource AND a.cluster_id = p.cluster_id
    WHERE p.cluster_id = ANY(%(clusters)s) AND h.bound_ms < %(now)s
      AND (h.ended_ms IS NULL OR h.ended_ms > %(since)s)
      AND (EXISTS (SELECT FROM place WHERE place.ask = a.ask AND place.namespace = n.name)
           OR NOT EXISTS (SELECT FROM place WHERE place.ask = a.ask))
      AND (EXISTS (SELECT FROM class WHERE class.ask = a.ask AND class.name = p.priority_class)
           OR NOT EXISTS (SELECT FROM class WHERE class.ask = a.ask))
), change AS (
    SELECT ask, gpus, namespace, low AS at, units FROM hold
    UNION ALL
    SELECT ask, gpus, namespace, high, -units FROM hold WHERE high IS NOT NULL
), level AS (
    SELECT ask, gpus, at, sum(sum(units)) OVER w AS held,
           coalesce(lead(at) OVER w, %(now)s) AS until
    FROM change GROUP BY ask, gpus, at WINDOW w AS (PARTITION BY ask ORDER BY at)
), place_level AS (
    SELECT ask, namespace, sum(sum(units)) OVER w AS held
    FROM change GROUP BY ask, namespace, at
    WINDOW w AS (PARTITION BY ask, namespace ORDER BY at)
), day AS (
    SELECT ask, count(DISTINCT d) AS days
    FROM level, generate_series(
        (to_timestamp(at / 1000.0) AT TIME ZONE %(zone)s)::date,
        (to_timestamp((until - 1) / 1000.0) AT TIME ZONE %(zone)s)::date, '1 day') AS d
    WHERE held > gpus AND until > at GROUP BY ask
)
SELECT a.ask,
       coalesce((SELECT sum(units) FROM hold WHERE hold.ask = a.ask AND high IS NULL), 0),
       coalesce((SELECT max(held) FROM level WHERE level.ask = a.ask), 0),
       coalesce((SELECT days FROM day WHERE day.ask = a.ask), 0),
       (SELECT jsonb_object_agg(namespace, held) FROM (
            SELECT namespace, max(held) AS held FROM place_level
            WHERE place_level.ask = a.ask GROUP BY namespace) AS most)
FROM ask a
"""


def uses(
    cluster_id: int, asks: Sequence[Ask], now: datetime, zone: str = "UTC"
) -> list[Use]:
    """Use of resources of a cluster, in the order of the questions; one query."""
    return uses_of({cluster_id: asks}, now, zone)[cluster_id]


def uses_of(
    asks_of: Mapping[int, Sequence[Ask]], now: datetime, zone: str = "UTC"
) -> dict[int, list[Use]]:
    """The same of several clusters, by cluster; one query."""
    clusters = [cluster for cluster, some in asks_of.items() for _ in some]
    asks = [ask for some in asks_of.values() for ask in some]
    found = _uses(clusters, asks, now, zone) if asks else []
    answers = iter(found)
    return {one: [next(answers) for _ in some] for one, some in asks_of.items()}


def _uses(
    clusters: Sequence[int], asks: Sequence[Ask], now: datetime, zone: str
) -> list[Use]:
    numbered = list(enumerate(asks))
    places = [
        (i, name)
        for i, ask in numbered
        for name in (["*"] if ask.namespaces == [] else ask.namespaces or [])
    ]
    classes = [(i, name) for i, ask in numbered for name in ask.classes]
    parameters: dict[str, Any] = {
        "clusters": list(clusters),
        "asks": [i for i, _ in numbered],
        "resources": [ask.resource for ask in asks],
        "limits": [ask.limit for ask in asks],
        "place_asks": [i for i, _ in places],
        "places": [name for _, name in places],
        "class_asks": [i for i, _ in classes],
        "classes": [name for _, name in classes],
        "now": to_ms(now),
        "since": to_ms(now - LOOK_BACK),
        "zone": zone,
    }
    with connection.cursor() as cursor:
        cursor.execute(_QUERY, parameters)
        found = {
            ask: Use(int(held), int(peak), int(days), json.loads(peaks or "{}"))
            for ask, held, peak, days, peaks in cursor.fetchall()
        }
    return [found[i] for i, _ in numbered]


def idle_percents(
    cluster_id: int, teams: Iterable[int], now: datetime
) -> dict[int, int]:
    """Idle time of each team in percent of its observed time in 30 days; only with data."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT team_id, sum(busy_ms)::bigint, sum(idle_ms)::bigint
            FROM usage_hour
            WHERE cluster_id = %s AND team_id = ANY(%s) AND hour_start >= %s
            GROUP BY team_id
            """,
            [cluster_id, list(teams), now - LOOK_BACK],
        )
        found = {
            team: StateTimes(busy, idle, 0) for team, busy, idle in cursor.fetchall()
        }
    percents = {team: times.idle_percent for team, times in found.items()}
    return {team: each for team, each in percents.items() if each is not None}


@read_together
def pods_by_class(clusters: Sequence[int]) -> Mapping[int, Mapping[str, int]]:
    """Pods that hold GPUs of a cluster now, by their PriorityClass."""
    found: dict[int, dict[str, int]] = {one: {} for one in clusters}
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT p.cluster_id, p.priority_class, count(DISTINCT p.id)
            FROM accounting_podhold h JOIN accounting_pod p ON p.id = h.pod_id
            WHERE p.cluster_id = ANY(%s) AND h.ended_ms IS NULL AND p.priority_class <> ''
            GROUP BY p.cluster_id, p.priority_class
            """,
            [list(clusters)],
        )
        for cluster, name, count in cursor.fetchall():
            found[cluster][str(name)] = int(count)
    return found
