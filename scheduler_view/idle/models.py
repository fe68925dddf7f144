"""Holds that are idle now, and what people did about them."""

import pghistory
from django.conf import settings
from django.db import models

from accounting.access.models.teams import Team
from accounting.metering.models.cluster import Cluster
from accounting.metering.models.pod import Pod, Workload


class IdleLook(models.Model):
    """Up to which window the idle holds of a cluster are found."""

    cluster = models.OneToOneField(
        Cluster, on_delete=models.CASCADE, related_name="+", primary_key=True
    )
    until_ms = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.cluster}, {self.until_ms}"


class IdleHold(models.Model):
    """A pod that holds GPUs and is idle, as of the newest window of its cluster (S37).

    Written by `idle.tasks` alone; a row goes when its pod works or ends. `raw` is milliseconds x
    rate, exact; `rate` is of an hour of all its GPUs, null without a price.
    """

    pod = models.OneToOneField(Pod, on_delete=models.CASCADE, related_name="+")
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(
        Team, null=True, on_delete=models.CASCADE, related_name="+"
    )
    model = models.CharField(max_length=200)  # several with commas
    gpus = models.DecimalField(max_digits=12, decimal_places=6)
    since_ms = models.BigIntegerField()
    until_ms = models.BigIntegerField()
    idle_ms = models.BigIntegerField()
    gpu_ms = models.BigIntegerField()
    raw = models.DecimalField(max_digits=30, decimal_places=6)
    unpriced_ms = models.BigIntegerField()
    rate = models.DecimalField(max_digits=24, decimal_places=6, null=True)
    currency = models.CharField(max_length=3, blank=True)
    owner = models.CharField(max_length=253, blank=True)

    def __str__(self) -> str:
        return f"{self.pod} of {self.cluster}, since {self.since_ms}"


class IdleAct(models.TextChoices):
    """What a person did about an idle holder."""

    ASKED = "asked"
    IGNORED = "ignored"


@pghistory.track()
class IdleNote(models.Model):
    """What a person did about one idle holder: its workload, or a pod without one. Never changed.

    `since_ms` is when its idle time began that this is about. `text` is the message, or the reason;
    `to` whom it is for; `until` the day up to which the holder is not listed.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey(
        Team, null=True, on_delete=models.PROTECT, related_name="+"
    )
    workload = models.ForeignKey(
        Workload, null=True, on_delete=models.CASCADE, related_name="+"
    )
    pod = models.ForeignKey(Pod, null=True, on_delete=models.CASCADE, related_name="+")
    act = models.CharField(max_length=7, choices=IdleAct.choices)
    since_ms = models.BigIntegerField()
    to = models.CharField(max_length=253, blank=True)
    text = models.CharField(max_length=2000)
    until = models.DateField(null=True)
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(act="ignored", until__isnull=False)
                | models.Q(act="asked", until=None),
                name="idle_note_until",
            )
        ]

    def __str__(self) -> str:
        return f"{self.act} {self.pk}"
