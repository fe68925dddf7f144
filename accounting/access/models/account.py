"""Accounts of people: their sign-in records, and the counters that limit guessing."""

import pghistory
import pgtrigger
from django.contrib.auth.models import User
from django.db import models


@pghistory.track(
    pghistory.InsertEvent(),
    pghistory.UpdateEvent(),
    pghistory.DeleteEvent(),
    pghistory.UpdateEvent(
        "password", condition=pgtrigger.AnyChange("password"), trigger_name="password"
    ),
    fields=[
        "id",
        "username",
        "first_name",
        "last_name",
        "email",
        "is_active",
        "is_staff",
        "is_superuser",
    ],
    model_name="AccountEvent",
    obj_field=pghistory.ObjForeignKey(related_name="events"),
)
class Account(User):  # type: ignore[django-manager-missing]  # knox's is untyped
    """Django's user with its history: created, renamed, deactivated, password changed.

    The history never contains a password or its hash. Written by `organization.actions.people`.
    """

    class Meta:
        proxy = True


class SignInOutcome(models.TextChoices):
    """The result of a sign-in attempt, or another event of an account."""

    SIGNED_IN = "signed-in"
    FAILED = "failed"
    LINK = "link"  # a link to choose a password was created
    ENDED = "ended", "Sessions ended"  # by an administrator


@pghistory.track(exclude=["last_at", "count"])
class SignInRecord(models.Model):
    """A sign-in, a burst of failed attempts at one account, or a link that was created.

    Attempts that fail within `actions.sign_in_attempts.BURST` of each other are one row and one
    entry of the audit log; the row's `count` and `last_at` increase. Attempts for names without an
    account share the account "": the typed text may be a password.
    """

    account = models.CharField(max_length=150, blank=True)
    outcome = models.CharField(max_length=9, choices=SignInOutcome.choices)
    address = models.GenericIPAddressField(null=True)
    at = models.DateTimeField()
    last_at = models.DateTimeField()
    count = models.PositiveIntegerField(default=1)

    class Meta:
        ordering = ["-last_at", "-id"]
        indexes = [
            models.Index(fields=["account", "-last_at"], name="sign_in_by_account")
        ]

    def __str__(self) -> str:
        return f"{self.account or 'unknown account'}: {self.outcome} at {self.at}"


class SignInLimit(models.Model):
    """The number of attempts of one key since a time (`organization.actions.sign_in_attempts`).

    `key` is a digest: it contains neither names nor addresses in clear text.
    """

    key = models.CharField(primary_key=True, max_length=64)
    attempts = models.PositiveIntegerField()
    since = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["since"], name="sign_in_limit_by_age")]

    def __str__(self) -> str:
        return f"{self.attempts} since {self.since}"
