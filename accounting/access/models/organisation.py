"""The organization: billing settings, people, teams, and the rules that map usage to teams."""

from datetime import datetime

import pghistory
from django.conf import settings
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import DateTimeRangeField, RangeOperators
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Func, Q
from knox.models import AbstractAuthToken

from accounting.access.reserved_names import (
    name_fault,
    slug_fault,
)


def validity() -> Func:
    """`tstzrange(valid_from, valid_to)`: half-open, as all periods.

    An expression of Django's own, so that no migration imports this module.
    """
    return Func(
        "valid_from",
        "valid_to",
        function="TSTZRANGE",
        output_field=DateTimeRangeField(),
    )


@pghistory.track()
class Billing(models.Model):
    """Currency and time zone of all bills, from a date on (rules.md N31).

    One row for each change; the row with the latest `valid_from` up to an instant applies.
    Written by `setup.tasks.apply`; never deleted.
    """

    currency = models.CharField(max_length=3)  # ISO 4217
    timezone = models.CharField(max_length=64)  # IANA name
    valid_from = models.DateTimeField(unique=True)

    class Meta:
        ordering = ["valid_from"]

    def __str__(self) -> str:
        return f"{self.currency} in {self.timezone} from {self.valid_from:%Y-%m-%d}"


class LabelPurpose(models.TextChoices):
    """The meaning of a configured label (`labels` of the setup file)."""

    WORKLOAD_TYPE = "workload_type"
    LIFECYCLE = "lifecycle"
    OWNER = "owner"
    FAMILY = "family"


@pghistory.track()
class LabelSpelling(models.Model):
    """One pod or node label whose value is of a purpose."""

    purpose = models.CharField(max_length=16, choices=LabelPurpose.choices)
    label = models.CharField(max_length=317)  # Kubernetes: prefix 253 + "/" + name 63
    position = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["purpose", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["purpose", "label"], name="label_spelling_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.label} spells {self.purpose}"


@pghistory.track()
class Team(models.Model):
    """One payer. Its color slot is stored, so that its color never changes."""

    slug = models.SlugField(max_length=63, unique=True)
    name = models.CharField(max_length=200)
    department = models.CharField(max_length=200, blank=True)
    cost_centre = models.CharField(max_length=100, blank=True)
    colour_slot = models.PositiveSmallIntegerField(default=0)  # 1..8; 0 = other

    class Meta:
        ordering = ["slug"]

    def __str__(self) -> str:
        return self.slug

    def clean(self) -> None:
        """Refuse the slug or name of another party of the ledger."""
        if found := slug_fault(self.slug):
            raise ValidationError({"slug": f"{self.slug!r} {found}."})
        if found := name_fault(self.name):
            raise ValidationError({"name": f"{self.name!r} {found}."})


class OrganisationRole(models.TextChoices):
    """What a person may read beyond their own teams."""

    NONE = "none"  # only their teams
    FINANCE = "finance"  # reads every team, prices and exports
    ADMIN = "admin"  # reads and edits everything


@pghistory.track()
class Person(models.Model):
    """A user's organization-wide role and display preferences. No row means no role."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="person"
    )
    role = models.CharField(
        max_length=8, choices=OrganisationRole.choices, default=OrganisationRole.NONE
    )
    theme = models.CharField(max_length=6, default="system")  # system, light, dark
    density = models.CharField(max_length=11, default="comfortable")
    timezone = models.CharField(max_length=64, blank=True)  # labels only; "" = billing

    def __str__(self) -> str:
        return f"{self.user} ({self.role})"


class TeamRole(models.TextChoices):
    """What a person may do in one team."""

    VIEWER = "viewer"
    LEAD = "lead"


@pghistory.track()
class Membership(models.Model):
    """One person in one team."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(
        max_length=6, choices=TeamRole.choices, default=TeamRole.VIEWER
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "team"], name="membership_unique")
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.team}"


class BindingKind(models.TextChoices):
    """What a binding matches."""

    NAMESPACE = "namespace"
    NAMESPACE_LABEL = "namespace_label"
    POD_LABEL = "pod_label"


@pghistory.track()
class Binding(models.Model):
    """A rule that assigns usage to a team, from a time on.

    The first matching rule by `position` applies. Two rows with the same rule may not
    overlap in time. Written by `organization.actions.teams`; ended, never deleted.
    """

    kind = models.CharField(max_length=16, choices=BindingKind.choices)
    label = models.CharField(max_length=317, blank=True)  # key, for the label kinds
    glob = models.CharField(max_length=253)  # shell glob over the value
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="bindings")
    position = models.PositiveIntegerField()
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(valid_to__isnull=True) | Q(valid_to__gt=F("valid_from")),
                name="binding_start_before_end",
            ),
            ExclusionConstraint(
                name="binding_no_overlap",
                expressions=[
                    ("kind", RangeOperators.EQUAL),
                    ("label", RangeOperators.EQUAL),
                    ("glob", RangeOperators.EQUAL),
                    (validity(), RangeOperators.OVERLAPS),
                ],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.label} {self.glob} -> {self.team}"


@pghistory.track(exclude=["digest", "last_used_at"])
class ApiToken(AbstractAuthToken):  # type: ignore[misc]  # untyped
    """A bearer token of one person; only its digest is stored.

    A token never has more permissions than its owner; `scopes` limits it further. Its history
    shows when it was created and revoked, and never contains the digest.
    """

    id: "models.BigAutoField[int, int]" = models.BigAutoField(primary_key=True)
    digest: "models.CharField[str, str]" = models.CharField(max_length=128, unique=True)
    name: "models.CharField[str, str]" = models.CharField(max_length=100)
    scopes = models.JSONField(
        default=list
    )  # such as ["read:usage"]; see accounting.access.scope
    last_used_at: "models.DateTimeField[datetime | None, datetime | None]" = (
        models.DateTimeField(null=True, blank=True)
    )

    class Meta(AbstractAuthToken.Meta):  # type: ignore[misc]  # untyped
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="token_name_unique")
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.token_key})"
