"""Queues of batch schedulers as their metrics last reported (`report queues`)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from accounting.core.read_once import read_once
from accounting.metering.models.queue import QueueSample
from accounting.metering.reads.clusters import clusters_named
from accounting.metering.rules.inventory.scheduler_queues import (
    QueueFacts,
    QueueKey,
    QueueValue,
    queue_facts,
)


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue and resource of one cluster."""

    cluster: str
    facts: QueueFacts


def queue_rows(*, cluster: str = "") -> list[QueueRow]:
    """Every queue, by cluster, scheduler, name and resource; for people who see all teams."""
    values = _values()
    return [
        QueueRow(one.name, facts)
        for one in clusters_named(cluster)
        for facts in queue_facts(values.get(one.pk, {}))
    ]


@read_once
def _values() -> Mapping[int, Mapping[QueueKey, QueueValue]]:
    """What metrics say, by number of the cluster."""
    found: dict[int, dict[QueueKey, QueueValue]] = {}
    rows = QueueSample.objects.values_list(
        *("cluster", "scheduler", "queue", "resource", "field", "part"),
        *("value", "at_ms"),
    )
    for cluster, *key, value, at_ms in rows:
        amount = math.inf if value is None else value
        found.setdefault(cluster, {})[QueueKey(*key)] = QueueValue(at_ms, amount)
    return found
