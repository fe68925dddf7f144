"""Views of Explore that people saved: a name for an address."""

import pghistory
from django.conf import settings
from django.db import models
from django.db.models import Q

from accounting.access.models.teams import Team
from accounting.explore.rules import Audience


@pghistory.track()
class SavedView(models.Model):
    """An address of Explore with a name; it has no figures, so everybody who opens it sees the own.

    Written by `explore.actions` alone. `query` is the address after the question mark.
    """

    name = models.CharField(max_length=80)
    audience = models.CharField(
        max_length=4, choices=[(one.value, one.value) for one in Audience]
    )
    team = models.ForeignKey(
        Team, null=True, on_delete=models.CASCADE, related_name="+"
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    query = models.CharField(max_length=4000, blank=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "name"],
                condition=Q(audience="mine"),
                name="saved_view_of_a_person",
            ),
            models.UniqueConstraint(
                fields=["team", "name"],
                condition=Q(audience="team"),
                name="saved_view_of_a_team",
            ),
            models.UniqueConstraint(
                fields=["name"], condition=Q(audience="all"), name="saved_view_of_all"
            ),
            models.CheckConstraint(
                condition=Q(audience="team", team__isnull=False)
                | Q(~Q(audience="team"), team__isnull=True),
                name="saved_view_has_its_team",
            ),
        ]

    def __str__(self) -> str:
        return self.name
