"""Teams, and the rules (bindings) that give usage to them."""

import pghistory
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import RangeOperators
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q

from accounting.access.models.validity import validity
from accounting.access.reserved_names import name_fault, slug_fault


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
