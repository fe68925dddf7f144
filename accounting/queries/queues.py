"""Queues of batch schedulers as their metrics last reported (`report queues`)."""

import math
from dataclasses import dataclass

from accounting.domain.inventory.scheduler_queues import (
    QueueFacts,
    QueueKey,
    QueueValue,
    queue_facts,
)
from accounting.models import QueueSample
from accounting.queries.clusters import clusters_named


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One queue and resource of one cluster."""

    cluster: str
    facts: QueueFacts


def queue_rows(*, cluster: str = "") -> list[QueueRow]:
    """Every queue, by cluster, scheduler, name and resource; for people who see all teams."""
    found = []
    for one in clusters_named(cluster):
        values = {
            QueueKey(*row[:5]): QueueValue(
                row[6], math.inf if row[5] is None else row[5]
            )
            for row in QueueSample.objects.filter(cluster=one).values_list(
                "scheduler", "queue", "resource", "field", "part", "value", "at_ms"
            )
        }
        found += [QueueRow(one.name, facts) for facts in queue_facts(values)]
    return found
