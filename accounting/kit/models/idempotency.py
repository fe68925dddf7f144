"""Requests of programs, and entries of pages, that are done once (money.md M47, M25)."""

from django.conf import settings
from django.db import models


class IdempotencyKey(models.Model):
    """A request of a program or a preview of an entry: the same key gets the same answer for a day.

    Written by `kit.once`; `digest` is of the request's address and body, so that a key
    that is used for another request is rejected.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    key = models.CharField(max_length=200)
    digest = models.CharField(max_length=64)
    answer = models.JSONField(null=True)  # of `make`; None while it runs
    made_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "key"], name="idempotency_key_unique"
            )
        ]

    def __str__(self) -> str:
        return self.key
