"""Change sets: what was asked, what was decided, and what happened to each object."""

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from accounting.models import Cluster


class ChangeState(models.TextChoices):
    """The state of a change set."""

    DRAFT = "draft"
    PLANNED = "planned"
    APPROVED = "approved"
    SCHEDULED = "scheduled"  # approved, and begins at `starts_at`
    APPLYING = "applying"
    APPLIED = "applied"
    PARTLY_APPLIED = "partly_applied"
    REFUSED = "refused"  # nothing of it was applied
    EXPIRED = "expired"  # its plan grew old before it was applied
    UNDONE = "undone"
    DECLINED = "declined"  # somebody else answered it with no
    DISCARDED = "discarded"  # its author took it back


# Nothing of it is in effect, and nothing of it is on its way.
CAME_TO_NOTHING = (
    ChangeState.REFUSED,
    ChangeState.EXPIRED,
    ChangeState.DECLINED,
    ChangeState.DISCARDED,
)


@pghistory.track()
class ChangeSet(models.Model):
    """One reviewed set of edits to the quotas and tiers of one cluster.

    Written by `actions.change_sets` and its neighbors; never deleted. Each change of
    state is one conditional update; `version` grows with each, `fence` with each claim of
    a worker. `edits` are desired values with the version that they were made from,
    `reverse` are the edits that lead back, filled when it is applied.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.PROTECT, related_name="change_sets"
    )
    state = models.CharField(
        max_length=14, choices=ChangeState.choices, default=ChangeState.DRAFT
    )
    version = models.PositiveIntegerField(default=1)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="+",
    )
    author_name = models.CharField(max_length=150)
    reason = models.CharField(max_length=200)
    made_at = models.DateTimeField(db_default=Now())
    edits = models.JSONField(default=list)
    reverse = models.JSONField(default=list, blank=True)
    forced = models.JSONField(default=list, blank=True)  # objects ticked by a person
    plan = models.JSONField(default=dict, blank=True)  # summary, effects, warnings
    plan_wanted_at = models.DateTimeField(null=True, blank=True)  # wakes the worker
    planned_at = models.DateTimeField(null=True, blank=True)
    plan_expires_at = models.DateTimeField(null=True, blank=True)
    needs_second = models.BooleanField(default=False)  # another admin must approve
    approved_by = models.CharField(max_length=150, blank=True)
    approved_at = models.DateTimeField(null=True, blank=True)
    starts_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(
        null=True, blank=True
    )  # then it is undone automatically
    apply_wanted_at = models.DateTimeField(null=True, blank=True)
    applied_at = models.DateTimeField(null=True, blank=True)
    retry_at = models.DateTimeField(null=True, blank=True)  # not before
    error = models.TextField(blank=True)  # why it waits or was refused
    ended_by = models.CharField(max_length=150, blank=True)  # who declined, discarded
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_reason = models.CharField(max_length=200, blank=True)
    undoes = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="undos"
    )
    fence = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_at__isnull=True)
                | Q(starts_at__isnull=True)
                | Q(ends_at__gt=F("starts_at")),
                name="change_start_before_end",
            )
        ]
        indexes = [
            models.Index(fields=["state"], name="change_by_state"),
        ]

    def __str__(self) -> str:
        return f"CS-{self.pk}"


class StepState(models.TextChoices):
    """What happened to one object."""

    WAITING = "waiting"
    SENT = "sent"  # the outcome is not known until it is read back
    APPLIED = "applied"
    UNCHANGED = "unchanged"  # it was as wanted; nothing was written
    REFUSED = "refused"


@pghistory.track()
class ChangeStep(models.Model):
    """One object of a plan: what is sent, what was there before, what the server said.

    Written by `actions.plan` and `actions.apply`; replaced as a whole by a new plan.
    """

    change_set = models.ForeignKey(
        ChangeSet, on_delete=models.PROTECT, related_name="steps"
    )
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    action = models.CharField(max_length=7)  # domain.plan.Action
    body = models.JSONField(null=True)  # what we apply; null removes the object
    before = models.JSONField(null=True)  # the object as it was read; null for none
    pin = models.JSONField(default=dict)  # domain.manifest.Pin
    changes = models.JSONField(default=list)  # [field, before, after]
    others = models.JSONField(default=dict)  # field -> managers beside us
    blocked = models.TextField(blank=True)
    note = models.TextField(blank=True)
    force = models.BooleanField(default=False)
    state = models.CharField(
        max_length=9, choices=StepState.choices, default=StepState.WAITING
    )
    code = models.PositiveSmallIntegerField(null=True)  # HTTP status
    message = models.TextField(blank=True)  # the server's own words
    done_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["change_set", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["change_set", "position"], name="change_step_unique"
            )
        ]

    def __str__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}"


class IdempotencyKey(models.Model):
    """One answered request of a program: the same key gets the same answer for a day.

    Written by the API; `digest` is of the request's address and body, so that a key that
    is used for something else is refused. Removed when it is a day old.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    change_set = models.ForeignKey(
        ChangeSet, null=True, on_delete=models.CASCADE, related_name="+"
    )
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "key"], name="idempotency_unique")
        ]

    def __str__(self) -> str:
        return self.key
