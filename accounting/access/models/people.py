"""People: their role in the organization, their role in each team, and their preferences."""

import pghistory
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounting.access.models.teams import Team


class OrganizationRole(models.TextChoices):
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
        max_length=8, choices=OrganizationRole.choices, default=OrganizationRole.NONE
    )
    theme = models.CharField(max_length=6, default="system")  # system, light, dark
    density = models.CharField(max_length=11, default="comfortable")
    timezone = models.CharField(max_length=64, blank=True)  # labels only; "" = billing
    # kinds of `notifications.models` that are not wanted
    muted = ArrayField(models.CharField(max_length=8), default=list, db_default=[])

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
