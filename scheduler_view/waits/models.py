"""Why work waits, as last explained from the objects of its cluster."""

from django.db import models

from accounting.metering.models.cluster import Cluster


class UnitWait(models.Model):
    """One work unit that waits; the row is deleted when it no longer does.

    Written by `observation.explanations`, only if something changed. `content` is the part of a
    `WaitExplanation` that is not in a column (`mapping.wait_content`).
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="unit_waits"
    )
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    stage = models.CharField(max_length=16)
    cause = models.CharField(max_length=32)
    since = models.DateTimeField(null=True)  # when the unit was made
    cause_since = models.DateTimeField()  # when this cause was first found
    changed_at = models.DateTimeField()  # when anything of it last changed
    digest = models.CharField(max_length=32)  # of `content`
    content = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "namespace", "name"],
                name="unit_wait_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}: {self.cause}"
