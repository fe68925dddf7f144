"""The outbox: messages to people and addresses, from when they were written until they expire."""

import pghistory
import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q


class NotificationKind(models.TextChoices):
    """What a message is about; a person can turn off each kind."""

    WEEKLY = "weekly", "Weekly summary of a team"
    ALERT = "alert", "Alerts"
    IDLE = "idle", "Questions about idle GPUs"


class NotificationState(models.TextChoices):
    """Where a message is."""

    WAITING = "waiting", "Waiting"
    SENT = "sent", "Sent"  # the mail server accepted it
    FAILED = "failed", "Failed"  # refused for good, or given up: `error` says why
    NOT_SENT = "not-sent", "Not sent"  # never tried: `error` says why


@pghistory.track(
    pghistory.UpdateEvent(
        "again",
        condition=pgtrigger.Condition(
            "OLD.state IN ('failed', 'not-sent') AND NEW.state = 'waiting'"
        ),
        trigger_name="again",
    ),
    fields=["id", "kind", "person", "address", "subject"],
    model_name="NotificationEvent",
    obj_field=pghistory.ObjForeignKey(related_name="events"),
)
class Notification(models.Model):
    """One message to one recipient. Written by `notifications.actions` and `notifications.tasks`.

    Its history has only that a person had it sent again; the rest is the work of the sender.

    Attributes:
        key: of what the message tells. A second message with it is not stored.
        person: whom it is for; the address is theirs at the time of sending.
        address: of somebody without an account; of a person, where it was sent last.
        message_id: the header, the same in each attempt: receivers recognize a repeat.
        next_at: when it is tried next.
        attempts: that ended; one whose sender was killed is not counted.
        error: why it is not sent, as a sentence; of a waiting one, why the last attempt failed.
    """

    key = models.CharField(max_length=200, unique=True)
    kind = models.CharField(max_length=8, choices=NotificationKind.choices)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    address = models.CharField(max_length=254, blank=True)
    subject = models.CharField(max_length=200)
    text = models.TextField()
    html = models.TextField(blank=True)
    message_id = models.CharField(max_length=200)
    state = models.CharField(
        max_length=8,
        choices=NotificationState.choices,
        default=NotificationState.WAITING,
    )
    created_at = models.DateTimeField()
    next_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    error = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(person__isnull=False) | ~Q(address=""),
                name="notification_recipient",
            ),
            models.CheckConstraint(
                condition=Q(state=NotificationState.WAITING, ended_at=None)
                | (~Q(state=NotificationState.WAITING) & Q(ended_at__isnull=False)),
                name="notification_ended",
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_at"],
                name="notification_due",
                condition=Q(state=NotificationState.WAITING),
            ),
            models.Index(fields=["ended_at"], name="notification_by_age"),
            models.Index(fields=["person", "-id"], name="notification_of_person"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}, {self.state}"
