"""What-ifs that workers compute (scheduling.md S36)."""

import pghistory
from django.conf import settings
from django.db import models

from accounting.metering.models.cluster import Cluster


class WhatIfState(models.TextChoices):
    """What a reader can expect of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"  # `error` says why
    CANCELED = "canceled"


@pghistory.track(
    exclude=[
        *("state", "attempt", "seen_at", "started_at", "finished_at"),
        *("step", "events_done", "events_known", "result", "error"),
    ]
)
class WhatIfRun(models.Model):
    """One request of a what-if, and its result. Written by `what_if.actions`, `what_if.tasks.runs`.

    Its history has the request only. A worker that runs it updates `seen_at`; another one starts it
    again when that is too long ago. `attempt` rises with each start, so that the old one stops.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="what_ifs"
    )
    request = models.JSONField()  # as in a file: `what_if.tasks.request`
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    requested_at = models.DateTimeField()

    state = models.CharField(
        max_length=8, choices=WhatIfState.choices, default=WhatIfState.QUEUED
    )
    attempt = models.PositiveIntegerField(default=0)
    seen_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    step = models.CharField(max_length=200, blank=True)
    events_done = models.PositiveIntegerField(default=0)  # of this step
    events_known = models.PositiveIntegerField(default=0)  # so far: ends are added
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["state", "seen_at"], name="what_if_state")]

    def __str__(self) -> str:
        return f"what-if {self.pk} of {self.cluster}, {self.state}"
