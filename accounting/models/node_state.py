"""The newest state of nodes, as kube-state-metrics shows it."""

from django.db import models

from accounting.models.cluster import Cluster


class NodeState(models.Model):
    """One node in its newest scrape (`domain.inventory.node_states`).

    Written by `ingest.node_states`: a newer sample replaces an older one, regardless of the order
    of reading. `taints` are [[key, value, effect], ...]. `NodeFact` has the history of capacity
    and labels that the ledger needs.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    name = models.CharField(max_length=253)
    at_ms = models.BigIntegerField()
    capacity = models.JSONField(default=dict)
    allocatable = models.JSONField(default=dict)
    taints = models.JSONField(default=list)
    is_cordoned = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "name"], name="node_state_unique"
            )
        ]

    def __str__(self) -> str:
        return self.name
