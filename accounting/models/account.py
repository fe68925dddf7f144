"""Accounts of people: what is on record of them, and the counters that slow guessing down."""

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
    """Django's user, with its history: made, renamed, deactivated, given a new password.

    The history never holds a password or its hash. Written by `actions.people`.
    """

    class Meta:
        proxy = True


class SignInOutcome(models.TextChoices):
    """What happened at the sign-in of an account."""

    SIGNED_IN = "signed-in"
    FAILED = "failed"
    LINK = "link"  # a link to choose a password was made


@pghistory.track(exclude=["last_at", "count"])
class SignInRecord(models.Model):
    """A sign-in, a burst of failed attempts at one account, or a link that was made.

    Attempts that fail within `actions.sign_in.BURST` of each other are one row and one
    entry of the audit log; `count` and `last_at` go on in the row. Attempts at names that
    no account has share the account "": what was typed there may be a password.
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
    """How many attempts one key has made since a time (`actions.sign_in`).

    `key` is a digest: it holds neither names nor addresses in clear text.
    """

    key = models.CharField(primary_key=True, max_length=64)
    attempts = models.PositiveIntegerField()
    since = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["since"], name="sign_in_limit_by_age")]

    def __str__(self) -> str:
        return f"{self.attempts} since {self.since}"
