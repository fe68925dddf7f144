"""The use of resources from the ledger: now, its peak, and its idle part."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db import connection

from accounting.core.efficiency import StateTimes
from accounting.core.interval import to_ms
from accounting.core.read_once import read_once, read_together
from scheduler_view.quotas.rules.held_units import OPEN, HeldLevel, HeldUnits, level_of

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

    def counts(self, held: HeldUnits) -> bool:
        """True if it is about these holds."""
        return (
            held.resource == self.resource
            and (self.namespaces is None or held.namespace in self.namespaces)
            and (not self.classes or held.priority_class in self.classes)
        )


@dataclass(frozen=True, slots=True)
class Use:
    """The use of a resource.

    Attributes:
        now: currently held units.
        peak: the most units held at once in 30 days.
        until: the end of the 30 days; `zone` is the time zone of days.
    """

    now: int
    peak: int
    ask: Ask
    holds: Sequence[HeldUnits]
    level: HeldLevel
    until: datetime
    zone: str

    @property
    def days_over(self) -> int:
        """Billing days with more than the limit."""
        if self.ask.limit is None:
            return 0
        return self.level.days_above(self.ask.limit, to_ms(self.until), self.zone)

    @property
    def peaks(self) -> dict[str, int]:
        """The maximum that each namespace held."""
        return {
            name: level_of(one for one in self.holds if one.namespace == name).peak
            for name in sorted({one.namespace for one in self.holds})
        }


_HELD = """
SELECT n.cluster_id, n.name, held.* FROM (
    SELECT p.namespace_id, p.priority_class, h.resource,
           array_agg(greatest(h.bound_ms, %(since)s)),
           array_agg(CASE WHEN h.ended_ms IS NULL THEN %(open)s
                          ELSE least(h.ended_ms, %(now)s) END),
           array_agg(h.units)
    FROM accounting_podhold h JOIN accounting_pod p ON p.id = h.pod_id
    WHERE p.cluster_id = ANY(%(clusters)s) AND h.bound_ms < %(now)s
      AND (h.ended_ms IS NULL OR h.ended_ms > %(since)s)
    GROUP BY p.namespace_id, p.priority_class, h.resource
) held JOIN accounting_namespace n ON n.id = held.namespace_id
"""


@read_once
def _held_units(clusters: Sequence[int], now: datetime) -> Sequence[HeldUnits]:
    """Holds of 30 days; a page reads them once for all of its questions."""
    values: dict[str, Any] = {
        "clusters": list(clusters),
        "now": to_ms(now),
        "since": to_ms(now - LOOK_BACK),
        "open": OPEN,
    }
    with connection.cursor() as cursor:
        cursor.execute(_HELD, values)
        return [
            HeldUnits(
                *(cluster, namespace, priority_class, resource),
                *(np.array(each, np.int64) for each in arrays),
            )
            for cluster, namespace, _, priority_class, resource, *arrays in cursor
        ]


def uses(
    cluster_id: int, asks: Sequence[Ask], now: datetime, zone: str = "UTC"
) -> list[Use]:
    """Use of resources of a cluster, in the order of the questions; one query."""
    return uses_of({cluster_id: asks}, now, zone)[cluster_id]


def uses_of(
    asks_of: Mapping[int, Sequence[Ask]], now: datetime, zone: str = "UTC"
) -> dict[int, list[Use]]:
    """The same of several clusters, by cluster; one query, and none for the same clusters again."""
    held = _held_units(sorted(asks_of), now) if any(asks_of.values()) else []
    return {
        cluster: [
            _use(ask, [one for one in held if one.cluster_id == cluster], now, zone)
            for ask in asks
        ]
        for cluster, asks in asks_of.items()
    }


def _use(ask: Ask, held: Sequence[HeldUnits], now: datetime, zone: str) -> Use:
    counted = [one for one in held if ask.counts(one)]
    level = level_of(counted)
    units = sum(one.now for one in counted)
    return Use(units, level.peak, ask, counted, level, now, zone)


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
