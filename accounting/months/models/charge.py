"""Lines of a booking: what a team pays for some GPU time, or an entry (money.md M9-M12)."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

_LATER = ["revision", "billing_on", "cluster", "namespace", "workload", "state"]
_IS_LATER = ~Q(corrects="") | Q(kind__in=["credit", "adjustment"])
"""Finds the lines that a correction has its cause with, and those of a month that has few."""


class BookedLine(models.Model):
    """Columns that running and frozen lines share, in the order of M9.

    Text instead of references: a line does not change when a team or namespace is renamed.
    `rate` is per GPU-hour, `raw` in currency-milliseconds, exact; `charge` has six places.
    """

    line_id = models.CharField(max_length=32)
    kind = models.CharField(max_length=10)
    team = models.CharField(max_length=63)
    billing_on = models.DateField(null=True)  # only a rounding line has none
    cluster = models.CharField(max_length=63)
    namespace = models.CharField(max_length=63)
    workload_kind = models.CharField(max_length=63)
    workload = models.CharField(max_length=253)
    workload_type = models.CharField(max_length=32)
    model = models.CharField(max_length=200)
    profile = models.CharField(max_length=64)
    lifecycle = models.CharField(max_length=16)
    tier = models.CharField(max_length=253)
    state = models.CharField(max_length=8)
    price_currency = models.CharField(max_length=3)
    rate = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    fx = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    ms = models.BigIntegerField()
    raw = models.DecimalField(max_digits=38, decimal_places=16, null=True)
    charge = models.DecimalField(max_digits=26, decimal_places=6, null=True)
    status = models.CharField(max_length=11)
    corrects = models.CharField(max_length=16)  # YYYY-MM-rN
    reference = models.CharField(max_length=32)  # number of an entry

    class Meta:
        abstract = True


class ChargeLine(BookedLine):
    """A line of a closed period. Triggers refuse every change, and a revision that is not there.

    There is no foreign key: its check of each row would take a fifth of a close.
    """

    pk = models.CompositePrimaryKey("revision_id", "line_id")
    revision = models.ForeignKey(
        "accounting.PeriodRevision",
        on_delete=models.PROTECT,
        related_name="lines",
        db_constraint=False,
        db_index=False,
    )

    class Meta:
        db_table = "charge_line"
        indexes = [
            models.Index(fields=["revision", "billing_on"], name="charge_day"),
            models.Index(fields=["revision", "team", "billing_on"], name="charge_team"),
            models.Index(fields=_LATER, condition=_IS_LATER, name="charge_later"),
        ]


class RunningLine(BookedLine):
    """A line of a period that is not closed: replaced as a whole by the next booking."""

    pk = models.CompositePrimaryKey("revision_id", "line_id")
    revision = models.ForeignKey(
        "accounting.PeriodRevision",
        on_delete=models.CASCADE,
        related_name="running_lines",
        db_constraint=False,
        db_index=False,
    )

    class Meta:
        db_table = "running_line"
        indexes = [
            models.Index(fields=["revision", "billing_on"], name="running_day"),
            models.Index(
                fields=["revision", "team", "billing_on"], name="running_team"
            ),
            models.Index(fields=_LATER, condition=_IS_LATER, name="running_later"),
        ]


class LineHours(models.Model):
    """One line over the hours of its day: divided once, and frozen with a closed line (M5).

    Of every line of a closed period that has a day, and of the corrections and entries of one
    that is not closed.
    """

    pk = models.CompositePrimaryKey("revision_id", "line_id")
    revision = models.ForeignKey(
        "accounting.PeriodRevision",
        on_delete=models.CASCADE,
        related_name="line_hours",
        db_constraint=False,
    )
    line_id = models.CharField(max_length=32)
    hours = ArrayField(models.DateTimeField())  # where they begin, in their order
    # Of the charge, with six places; milliseconds where the line has no charge.
    parts = ArrayField(models.DecimalField(max_digits=26, decimal_places=6))

    class Meta:
        db_table = "line_hours"
