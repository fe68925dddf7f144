"""Price lists, and prices per GPU-hour from a time on: rates for teams, costs of the fleet."""

import pghistory
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import RangeOperators
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from accounting.access.models.validity import validity


class PriceKind(models.TextChoices):
    """Who a price is for."""

    RATE = "rate", "Rate"  # what teams are charged
    COST = "cost", "Cost"  # what a GPU costs the organization


@pghistory.track()
class PriceList(models.Model):
    """Prices of one kind, in one currency, from one source (money.md M13)."""

    kind = models.CharField(max_length=4, choices=PriceKind.choices)
    name = models.CharField(max_length=100)
    currency = models.CharField(max_length=3)
    source = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["kind", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "name"], name="price_list_name_unique"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.kind}, {self.currency})"


@pghistory.track()
class UnitPrice(models.Model):
    """One price of one GPU model: a rate or a cost (rules.md N26-N28, money.md M13-M15).

    Which list it is in does not matter for matching. Empty `profile`, `lifecycle`, `tier` and a
    missing cluster match anything; if several rows match, the one that sets the most applies,
    with ties in the order cluster, profile, lifecycle, tier. Written by `prices.actions.prices`;
    ended, never deleted.
    """

    kind = models.CharField(
        max_length=4, choices=PriceKind.choices, default=PriceKind.RATE
    )
    price_list = models.ForeignKey(
        PriceList, null=True, blank=True, on_delete=models.PROTECT
    )
    # normalized, such as NVIDIA-A100-SXM4-80GB
    model = models.CharField(max_length=200)
    # MIG profile, such as 1g.10gb
    profile = models.CharField(max_length=64, blank=True)
    lifecycle = models.CharField(max_length=16, blank=True)  # spot, on-demand, reserved
    cluster = models.ForeignKey(
        "accounting.Cluster", null=True, blank=True, on_delete=models.PROTECT
    )
    tier = models.CharField(max_length=253, blank=True)  # PriorityClass name
    currency = models.CharField(max_length=3)
    # the price, whatever its kind
    rate_per_gpu_hour = models.DecimalField(max_digits=12, decimal_places=6)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)
    source_note = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["model", "valid_from", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(rate_per_gpu_hour__gte=0), name="price_rate_not_negative"
            ),
            models.CheckConstraint(
                condition=~Q(kind="cost") | Q(profile="", tier=""),
                name="price_cost_of_whole_gpus",
            ),
            models.CheckConstraint(
                condition=Q(valid_to__isnull=True) | Q(valid_to__gt=F("valid_from")),
                name="price_start_before_end",
            ),
            ExclusionConstraint(
                name="price_no_overlap",
                expressions=[
                    ("kind", RangeOperators.EQUAL),
                    ("model", RangeOperators.EQUAL),
                    ("profile", RangeOperators.EQUAL),
                    ("lifecycle", RangeOperators.EQUAL),
                    ("tier", RangeOperators.EQUAL),
                    (Coalesce("cluster_id", 0), RangeOperators.EQUAL),
                    (validity(), RangeOperators.OVERLAPS),
                ],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.rate_per_gpu_hour} {self.currency} per GPU-hour"
