"""The use of resources from the ledger: now, its peak, and its idle part."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from accounting.core.efficiency import StateTimes
from accounting.core.interval import to_ms
from accounting.core.read_once import read_together

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
), wanted AS (
    SELECT a.*, n.id AS namespace_id
    FROM ask a JOIN accounting_namespace n ON n.cluster_id = a.cluster_id
    WHERE n.name IN (SELECT namespace FROM place WHERE place.ask = a.ask)
       OR a.ask NOT IN (SELECT ask FROM place)
), held AS MATERIALIZED (
    SELECT p.namespace_id, p.priority_class, h.resource, h.units,
           greatest(h.bound_ms, %(since)s) AS low,
           CASE WHEN h.ended_ms IS NULL THEN NULL ELSE least(h.ended_ms, %(now)s) END AS high
    FROM accounting_podhold h JOIN accounting_pod p ON p.id = h.pod_id
    WHERE p.cluster_id = ANY(%(clusters)s) AND h.bound_ms < %(now)s
      AND (h.ended_ms IS NULL OR h.ended_ms > %(since)s)
), hold AS MATERIALIZED (
    SELECT w.ask, w.gpus, namespace_id, units, low, high
    FROM held JOIN wanted w USING (namespace_id, resource)
    WHERE priority_class IN (SELECT name FROM class WHERE class.ask = w.ask)
       OR w.ask NOT IN (SELECT ask FROM class)
), change AS (
    SELECT ask, gpus, namespace_id, low AS at, units FROM hold
    UNION ALL
    SELECT ask, gpus, namespace_id, high, -units FROM hold WHERE high IS NOT NULL
), level AS (
    SELECT ask, gpus, at, sum(sum(units)) OVER w AS held,
           coalesce(lead(at) OVER w, %(now)s) AS until
    FROM change GROUP BY ask, gpus, at WINDOW w AS (PARTITION BY ask ORDER BY at)
), place_level AS (
    SELECT ask, namespace_id, sum(sum(units)) OVER w AS held
    FROM change GROUP BY ask, namespace_id, at
    WINDOW w AS (PARTITION BY ask, namespace_id ORDER BY at)
), day AS (
    SELECT ask, count(DISTINCT d) AS days
    FROM level, generate_series(
        (to_timestamp(at / 1000.0) AT TIME ZONE %(zone)s)::date,
        (to_timestamp((until - 1) / 1000.0) AT TIME ZONE %(zone)s)::date, '1 day') AS d
    WHERE held > gpus AND until > at GROUP BY ask
)
SELECT ask, coalesce(now.held, 0), coalesce(peak.held, 0), coalesce(days, 0), most
FROM ask
LEFT JOIN (SELECT ask, sum(units) AS held FROM hold WHERE high IS NULL GROUP BY ask) now USING (ask)
LEFT JOIN (SELECT ask, max(held) AS held FROM level GROUP BY ask) peak USING (ask)
LEFT JOIN day USING (ask)
LEFT JOIN (
    SELECT ask, jsonb_object_agg(n.name, held) AS most
    FROM (SELECT ask, namespace_id, max(held) AS held FROM place_level
          GROUP BY ask, namespace_id) m
    JOIN accounting_namespace n ON n.id = namespace_id GROUP BY ask
) places USING (ask)
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
