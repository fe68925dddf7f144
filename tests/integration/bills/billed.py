"""Nodes with GPU time and cost on whole days, and the FOCUS files that a provider bills them by."""

import csv
import io
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from django.db import connection
from django.utils import timezone

from accounting.bills.actions.import_bill import BillImport, import_bill
from accounting.core.interval import HOUR_MS, to_ms
from accounting.kit.audit import SYSTEM
from accounting.metering.models.cluster import Cluster, Node
from accounting.metering.models.evidence import NodeProvider
from accounting.metering.tasks.facts import partitions
from tests.integration.budgets.days import DayLedger

MODEL = "NVIDIA-H100"
AWS = "aws:///eu-central-1a/i-0{:03d}"
ARN = "arn:aws:ec2:eu-central-1:123456789012:instance/i-0{:03d}"
HEADER = (
    *("BillingAccountId", "SubAccountId", "BillingCurrency", "BillingPeriodStart"),
    *("BillingPeriodEnd", "ChargeCategory", "ChargePeriodStart", "ChargePeriodEnd"),
    *("EffectiveCost", "ResourceId", "ResourceName", "ServiceName", "ProviderName"),
)


@dataclass
class Fleet:
    """Nodes of the cluster `north`, numbered; each has eight GPUs."""

    ledger: DayLedger
    nodes: dict[int, Node] = field(default_factory=dict)

    def node(
        self, number: int, provider_id: str = "", cluster: Cluster | None = None
    ) -> Node:
        """A node that was one machine all October and November."""
        node = Node.objects.create(
            cluster=cluster or self.ledger.cluster, name=f"gpu-{number:02d}"
        )
        NodeProvider.objects.create(
            node=node,
            provider_id=provider_id or AWS.format(number),
            first_ms=to_ms(datetime(2026, 9, 30, 22, tzinfo=UTC)),
            last_ms=to_ms(datetime(2026, 11, 20, tzinfo=UTC)),
        )
        self.nodes[number] = node
        return node

    def used(
        self, number: int, day: date, cost: str | None = "2.35", model: str = MODEL
    ) -> None:
        """Eight GPUs for 24 hours at a cost per GPU-hour."""
        node = self.nodes[number]
        at = datetime(day.year, day.month, day.day, tzinfo=UTC)
        tables = (partitions.DAYS, partitions.GPU_DAYS)
        partitions.ensure(tables, at, at + timedelta(days=1))
        with connection.cursor() as cursor:
            for gpu in range(8):
                cursor.execute(
                    """INSERT INTO usage_gpu_day (cluster_id, billing_on, gpu_id, node_id,
                           model, lifecycle, gpu_cost, idle_ms)
                       VALUES (%s, %s, %s, %s, %s, 'on-demand', %s, %s)""",
                    [
                        *(node.cluster_id, day, number * 10 + gpu, node.pk, model),
                        *(cost, 24 * HOUR_MS),
                    ],
                )
            cursor.execute(
                """INSERT INTO usage_day (cluster_id, billing_on, namespace_id, team_id,
                       workload_id, model, lifecycle, gpu_cost, idle_ms)
                   VALUES (%s, %s, %s, 0, %s, %s, 'on-demand', %s, %s)""",
                [
                    *(node.cluster_id, day, self.ledger.namespace.pk, node.pk),
                    *(model, cost, 8 * 24 * HOUR_MS),
                ],
            )


def charge(cost: str, resource: str = "", **cells: str) -> dict[str, str]:
    """A row of 1 October 2026 in Berlin, of the bill of October."""
    return {
        "BillingAccountId": "acme",
        "BillingCurrency": "EUR",
        "BillingPeriodStart": "2026-10-01T00:00:00Z",
        "BillingPeriodEnd": "2026-11-01T00:00:00Z",
        "ChargeCategory": "Usage",
        "ChargePeriodStart": "2026-10-01T00:00:00Z",
        "ChargePeriodEnd": "2026-10-01T01:00:00Z",
        "EffectiveCost": cost,
        "ResourceId": resource,
        "ServiceName": "Elastic Compute",
        "ProviderName": "AWS",
    } | cells


def focus(*rows: dict[str, str], header: tuple[str, ...] = HEADER) -> bytes:
    """A FOCUS file as CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, header, "", "ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def taken(content: bytes, *, saves: bool = True, is_final: bool = False) -> BillImport:
    """Import a file."""
    return import_bill(
        io.BytesIO(content),
        name="october.csv",
        saves=saves,
        is_final=is_final,
        actor=SYSTEM,
        now=timezone.now(),
    )
