"""Change sets: edits, decisions, and the result for each object."""

import pghistory
import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from accounting.metering.models.cluster import Cluster


class ChangeState(models.TextChoices):
    """The state of a change set."""

    DRAFT = "draft"
    PLANNED = "planned"
    APPROVED = "approved"
    SCHEDULED = "scheduled"  # approved, and starts at `starts_at`
    APPLYING = "applying"
    APPLIED = "applied"
    PARTLY_APPLIED = "partly_applied"
    REFUSED = "refused"  # nothing of it was applied
    EXPIRED = "expired"  # its plan expired before it was applied
    UNDONE = "undone"
    DECLINED = "declined"  # another person declined it
    DISCARDED = "discarded"  # its author discarded it


# It has no effect, now or later.
CAME_TO_NOTHING = (
    ChangeState.REFUSED,
    ChangeState.EXPIRED,
    ChangeState.DECLINED,
    ChangeState.DISCARDED,
)


WAIT_BEGINS = "Waits for a token: "
"""The beginning of `error` while a person must renew a token of the cluster."""


@pghistory.track(
    pghistory.InsertEvent(),
    # a worker renews its lease every few seconds
    pghistory.UpdateEvent(condition=pgtrigger.AnyChange(exclude=["lease_until"])),
    pghistory.DeleteEvent(),
)
class ChangeSet(models.Model):
    """One reviewed set of edits to the quotas and tiers of one cluster.

    Written by modules of `actions`; never deleted. Each change of
    state is one conditional update; `version` grows with each, `fence` with each claim of
    a worker. `edits` are desired values with their base version, `reverse` are the edits that undo
    them, set when it is applied.
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
    forced = models.JSONField(default=list, blank=True)  # objects selected by a person
    plan = models.JSONField(default=dict, blank=True)  # summary, effects, warnings
    plan_wanted_at = models.DateTimeField(null=True, blank=True)  # set to wake a worker
    plan_wanted_by = models.CharField(
        max_length=150, blank=True, default="", db_default=""
    )
    planned_at = models.DateTimeField(null=True, blank=True)
    plan_expires_at = models.DateTimeField(null=True, blank=True)
    # another administrator must approve
    needs_second = models.BooleanField(default=False)
    approved_by = models.CharField(max_length=150, blank=True)
    approved_at = models.DateTimeField(null=True, blank=True)
    starts_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)  # undone automatically
    apply_wanted_at = models.DateTimeField(null=True, blank=True)
    apply_wanted_by = models.CharField(
        max_length=150, blank=True, default="", db_default=""
    )
    # its edits became the desired state, with its first object
    stored_at = models.DateTimeField(null=True, blank=True)
    applied_at = models.DateTimeField(null=True, blank=True)  # the end of applying
    retry_at = models.DateTimeField(null=True, blank=True)  # earliest start
    # a token of the cluster had expired, at last then
    token_wait_until = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True)  # why it waits or was refused
    # who declined or discarded it
    ended_by = models.CharField(max_length=150, blank=True)
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

    @property
    def waits_for_token(self) -> bool:
        """It began, and goes on when a token of the cluster is renewed."""
        return is_token_wait(self.state, self.error)

    @property
    def planned_splits(self) -> dict[tuple[str, ...], dict[str, int]]:
        """The division of each quota by the plan: by team, resource and tier, GPUs by namespace."""
        return {tuple(key): parts for *key, parts in self.plan.get("splits", [])}


def is_token_wait(state: str, error: str) -> bool:
    """True for a change set that began and waits for a token."""
    return state == ChangeState.APPLYING and error.startswith(WAIT_BEGINS)


class StepState(models.TextChoices):
    """The result for one object."""

    WAITING = "waiting"
    SENT = "sent"  # the outcome is unknown until it is read back
    APPLIED = "applied"
    UNCHANGED = "unchanged"  # it matched the desired state; nothing was written
    REFUSED = "refused"


@pghistory.track()
class ChangeStep(models.Model):
    """One object of a plan: what is sent, the previous object, and the server's response.

    Written by `actions.plan` and `changes.actions.apply`; replaced as a whole by a new plan.
    """

    change_set = models.ForeignKey(
        ChangeSet, on_delete=models.PROTECT, related_name="steps"
    )
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    action = models.CharField(max_length=7)  # rules.steps.Action
    # the fields that we apply; null deletes the object
    body = models.JSONField(null=True)
    before = models.JSONField(null=True)  # the object as read; null if it did not exist
    # what the object gets back: clusters.rules.former.Former; null if nothing
    former = models.JSONField(null=True)
    pin = models.JSONField(default=dict)  # clusters.rules.live_objects.Pin
    changes = models.JSONField(default=list)  # [field, before, after]
    others = models.JSONField(default=dict)  # other managers by field
    blocked = models.TextField(blank=True)
    note = models.TextField(blank=True)
    force = models.BooleanField(default=False)
    state = models.CharField(
        max_length=9, choices=StepState.choices, default=StepState.WAITING
    )
    code = models.PositiveSmallIntegerField(null=True)  # HTTP status
    message = models.TextField(blank=True)  # the server's message
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
