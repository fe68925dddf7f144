"""Requests to close a month; a worker closes it (money.md M28)."""

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q


class CloseRequestState(models.TextChoices):
    """What became of a request."""

    WAITING = "waiting"  # for a worker, or a worker closes the month
    CLOSED = "closed"
    REFUSED = "refused"  # `error` and `checks` say why
    FAILED = "failed"  # workers stopped while they closed it
    EXPIRED = "expired"  # no worker closed it in time


@pghistory.track(exclude=["attempt", "started_at", "finished_at", "checks"])
class CloseRequest(models.Model):
    """One request to close a month. Written by `months.actions.close_requests`.

    A worker that closes the month locks the row until its transaction ends: a row that waits and is
    not locked has no worker. `attempt` rises with each start.
    """

    period = models.CharField(max_length=7)  # YYYY-MM
    revision = models.PositiveIntegerField()  # of the close that it makes
    # `content_of` the booking that the person read; "" to close whatever it comes to.
    version = models.CharField(max_length=32, blank=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    requested_at = models.DateTimeField()  # of the database's clock, as the others

    state = models.CharField(
        max_length=8,
        choices=CloseRequestState.choices,
        default=CloseRequestState.WAITING,
    )
    attempt = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)
    checks = models.JSONField(default=list)  # those that blocked a refused close

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["period"],
                condition=Q(state="waiting"),
                name="close_request_one_waiting",
            )
        ]

    def __str__(self) -> str:
        return f"{self.period}-r{self.revision}, {self.state}"
