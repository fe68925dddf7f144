"""The provider's bill of the demo's closed month: close to our cost, with some differences.

One node is billed for more than the others, one lacks its last day, and two rows are of no node.
It goes through the product's own import, as a FOCUS file.
"""

import csv
import io
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import connection

from accounting.access.reads.billing_settings import midnight
from accounting.bills.actions.import_bill import import_bill
from accounting.core.interval import HOUR_MS
from accounting.core.rounding import half_even
from accounting.kit.audit import Actor
from accounting.metering.sql.states_sql import wall
from accounting.months.tasks.periods import PeriodTerms

ACCOUNT, PROVIDER = "123456789012", "AWS"
USUAL, DEARER = Decimal("1.02"), Decimal("1.15")  # of our cost
OTHERS = (
    ("arn:aws:ec2:eu-central-1:123456789012:volume/vol-0old", "Block Storage", "86.40"),
    ("", "Support", "350.00"),
)
_NODE_DAYS = f"""
    SELECT p.provider_id, g.billing_on, sum({wall("g")} * g.gpu_cost) / {HOUR_MS}
    FROM usage_gpu_day g JOIN accounting_nodeprovider p ON p.node_id = g.node_id
    WHERE g.gpu_cost IS NOT NULL AND g.billing_on >= %s AND g.billing_on < %s
    GROUP BY p.provider_id, g.billing_on ORDER BY p.provider_id, g.billing_on
"""  # noqa: S608  # of constants


def import_month(terms: PeriodTerms, actor: Actor, now: datetime) -> bool:
    """Import the bill of a month; False if no node has a cost and an id of a provider."""
    with connection.cursor() as cursor:
        cursor.execute(_NODE_DAYS, [terms.first, terms.after])
        found = cursor.fetchall()
    if not found:
        return False
    content = focus_file(terms, found)
    import_bill(
        io.BytesIO(content),
        name=f"aws-focus-{terms.first:%Y-%m}.csv",
        saves=True,
        is_final=True,
        actor=actor,
        now=now,
    )
    return True


def focus_file(terms: PeriodTerms, found: list[tuple[str, date, Decimal]]) -> bytes:
    """The bill as CSV.

    Args:
        found: provider id, billing day and our cost, in this order.
    """
    dearer, shorter = found[0][0], found[-1]
    same = {
        "BillingAccountId": ACCOUNT,
        "BillingCurrency": terms.currency,
        "BillingPeriodStart": terms.starts_at.isoformat(),
        "BillingPeriodEnd": terms.ends_at.isoformat(),
        "ChargeCategory": "Usage",
        "ProviderName": PROVIDER,
    }
    rows: list[dict[str, Any]] = []
    for provider_id, day, cost in found:
        if (provider_id, day, cost) == shorter and len(found) > 1:
            continue
        factor = DEARER if provider_id == dearer else USUAL
        machine = provider_id.rpartition("/")[2]
        rows.append(
            {
                "ServiceName": "Elastic Compute Cloud",
                "ResourceId": f"arn:aws:ec2:eu-central-1:{ACCOUNT}:instance/{machine}",
                "EffectiveCost": half_even(cost * factor, 6),
                **_on(day),
            }
        )
    rows += [
        {
            "ServiceName": service,
            "ResourceId": resource,
            "EffectiveCost": cost,
            **_on(terms.first),
        }
        for resource, service, cost in OTHERS
    ]
    out = io.StringIO()
    writer = csv.DictWriter(out, [*same, *rows[0]], lineterminator="\n")
    writer.writeheader()
    writer.writerows(same | row for row in rows)
    return out.getvalue().encode()


def _on(day: date) -> dict[str, str]:
    return {
        "ChargePeriodStart": midnight(day).isoformat(),
        "ChargePeriodEnd": midnight(day + timedelta(days=1)).isoformat(),
    }
