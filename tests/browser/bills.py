"""Bills of the story's nodes: what pages of bills show in browsers."""

import csv
import io
from datetime import date, timedelta

from django.db import connection
from django.utils import timezone

from accounting.access.reads.billing_settings import midnight
from accounting.bills.actions.import_bill import import_bill
from accounting.bills.models import Bill, BillLine
from accounting.core.billing_calendar import months_later
from accounting.core.interval import to_ms
from accounting.kit.audit import SYSTEM
from accounting.metering.models.cluster import Node
from accounting.metering.models.evidence import NodeProvider
from tests.browser.forget import forget
from tests.story import Story

NODE = "arn:aws:ec2:eu-central-1:123456789012:instance/i-0{:03d}"


def import_two(story: Story) -> None:
    """Each node is billed for a day: once without its support fee, then with it."""
    forget_bills()
    for node in Node.objects.filter(cluster=story.cluster):
        NodeProvider.objects.create(
            node=node,
            provider_id=f"aws:///eu-central-1a/i-0{int(node.name[-2:]):03d}",
            first_ms=to_ms(story.since),
            last_ms=to_ms(story.until),
        )
    nodes = [(NODE.format(number), "401.18") for number in range(1, 12)]
    others = [("arn:aws:s3:::datasets", "61.07"), ("", "120.00")]
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(billing_on) FROM usage_gpu_day")
        (day,) = cursor.fetchone()
    for name, rows in (("first.csv", nodes), ("second.csv", [*nodes, *others])):
        import_bill(
            io.BytesIO(_focus(day, rows)),
            name=name,
            saves=True,
            actor=SYSTEM,
            now=timezone.now(),
        )


def _focus(day: date, rows: list[tuple[str, str]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    same = {
        "BillingAccountId": "123456789012",
        "BillingCurrency": "EUR",
        "BillingPeriodStart": f"{day:%Y-%m}-01T00:00:00Z",
        "BillingPeriodEnd": f"{months_later(day.replace(day=1), 1)}T00:00:00Z",
        "ChargeCategory": "Usage",
        "ChargePeriodStart": midnight(day).isoformat(),
        "ChargePeriodEnd": midnight(day + timedelta(days=1)).isoformat(),
        "ProviderName": "AWS",
        "ServiceName": "Elastic Compute Cloud",
    }
    writer.writerow([*same, "ResourceId", "EffectiveCost"])
    writer.writerows([*same.values(), *row] for row in rows)
    return out.getvalue().encode()


def forget_bills() -> None:
    """Delete all bills and the evidence that they are matched by; the next bill has number 1."""
    forget(BillLine, Bill, NodeProvider)
