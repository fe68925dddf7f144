"""The newest state of nodes, as kube-state-metrics shows it."""

from django.db import models

from accounting.metering.models.cluster import Cluster


class NodeState(models.Model):
    """One node in its newest scrape (`metering.rules.inventory.node_states`).

    Written by `metering.tasks.node_states`, only if the state changed (`digest`) or the node was
    missing; the order of reading makes no difference. `at_ms`: the scrape that first showed this
    state. It was shown up to the cluster's `NodeStateRead`, or up to `missing_ms` if later scrapes
    did not show the node. `taints` are [[key, value, effect], ...]. `NodeFact` has the history of
    capacity and labels that the ledger needs.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    name = models.CharField(max_length=253)
    at_ms = models.BigIntegerField()
    capacity = models.JSONField(default=dict)
    allocatable = models.JSONField(default=dict)
    taints = models.JSONField(default=list)
    is_cordoned = models.BooleanField(default=False)
    digest = models.CharField(max_length=32, blank=True)  # of the four columns before
    missing_ms = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "name"], name="node_state_unique"
            )
        ]

    def __str__(self) -> str:
        return self.name


class NodeStateRead(models.Model):
    """The newest scrape with states of nodes of a cluster: one row instead of one per node."""

    cluster = models.OneToOneField(
        Cluster, primary_key=True, on_delete=models.CASCADE, related_name="nodes_read"
    )
    at_ms = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.cluster_id} at {self.at_ms}"
