"""Bills of providers: what was billed for machines, matched to nodes (money.md M41-M43)."""

import pghistory
from django.conf import settings
from django.db import models


@pghistory.track()
class Bill(models.Model):
    """One account's bill of one billing period, from one file. Written by `bills.actions`.

    Another file for the same account and period is the next revision. `rows` are those of the file
    by word (`bills.rules.words`). Nothing changes after the import but `is_final` and
    `replaced_at`: a trigger refuses it.
    """

    account = models.CharField(max_length=253)  # BillingAccountId
    provider = models.CharField(max_length=253, blank=True)
    starts_at = models.DateTimeField()  # of the billing period
    ends_at = models.DateTimeField()
    month = models.CharField(max_length=7)  # YYYY-MM in which most of it is
    revision = models.PositiveIntegerField()
    currency = models.CharField(max_length=3)
    file_name = models.CharField(max_length=253)
    sha256 = models.CharField(max_length=64)
    rows = models.JSONField(default=dict)
    is_final = models.BooleanField(default=False)  # the provider closed the period
    replaced_at = models.DateTimeField(null=True, blank=True)  # by the next revision
    imported_at = models.DateTimeField()
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering = ["-starts_at", "account", "-revision"]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "starts_at", "ends_at", "revision"],
                name="bill_revision_unique",
            ),
            models.UniqueConstraint(
                fields=["account", "starts_at", "ends_at"],
                condition=models.Q(replaced_at=None),
                name="bill_in_effect_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.month} {self.account} r{self.revision}"


class BillLine(models.Model):
    """Rows of a bill for one resource, service and billing day; `cost` is exact (M41).

    A trigger refuses every change but of `word`, `node` and `cluster`, which say what the resource
    was matched to (M42): evidence of nodes may arrive later. There are no foreign keys: checking
    each of a million rows would take longer than its import.
    """

    bill = models.ForeignKey(
        Bill, on_delete=models.PROTECT, related_name="lines", db_constraint=False
    )
    billing_on = models.DateField()
    sub_account = models.CharField(max_length=253)
    resource = models.CharField(max_length=2048)
    resource_name = models.CharField(max_length=2048)
    service = models.CharField(max_length=253)
    rows = models.PositiveIntegerField()
    cost = models.DecimalField(
        max_digits=38, decimal_places=16
    )  # in the bill's currency
    word = models.CharField(max_length=12)
    node = models.ForeignKey(
        "accounting.Node",
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_constraint=False,
    )
    cluster = models.ForeignKey(
        "accounting.Cluster",
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_constraint=False,
    )

    class Meta:
        indexes = [models.Index(fields=["bill", "word"], name="bill_line_word")]
