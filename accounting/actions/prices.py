"""Prices, valid from a time on. A change rolls hours up again and reads no metrics."""

from datetime import datetime
from decimal import Decimal

from django.db import connection
from django.db.models import Q

from accounting.audit import Actor, act
from accounting.domain.units.mig_profiles import normal
from accounting.models import Cluster, UnitPrice
from accounting.sources.catalogue import normal_model


def reprice(since: datetime | None = None, model: str | None = None) -> int:
    """Mark the hours dirty whose amounts a price change affects; returns their number."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO accounting_dirtyhour (cluster_id, hour_start, marked_at, reason)
            SELECT DISTINCT cluster_id, hour_start, statement_timestamp(), 'price'
            FROM usage_hour
            WHERE (%s::timestamptz IS NULL OR hour_start >= date_trunc('hour', %s::timestamptz))
              AND (%s::text IS NULL OR model = %s)
            ON CONFLICT (cluster_id, hour_start) DO UPDATE SET marked_at = excluded.marked_at
            """,
            [since, since, model, model],
        )
        return int(cursor.rowcount)


def set_unit_price(
    *,
    model: str,
    rate_per_gpu_hour: Decimal,
    cost_per_gpu_hour: Decimal | None,
    currency: str,
    valid_from: datetime,
    profile: str = "",
    lifecycle: str = "",
    cluster: Cluster | None = None,
    tier: str = "",
    source_note: str = "",
    actor: Actor,
    reason: str,
) -> UnitPrice:
    """Add a price that is valid from a time on; the previous price ends at that time.

    Model and profile may be spelled as an exporter or a node does. A price with the same start is
    replaced; a later price is kept and ends this one.
    """
    model, profile = normal_model(model), normal(profile)
    with act(actor, reason):
        same = UnitPrice.objects.select_for_update().filter(
            model=model,
            profile=profile,
            lifecycle=lifecycle,
            cluster=cluster,
            tier=tier,
        )
        same.filter(valid_from=valid_from).delete()
        later = same.filter(valid_from__gt=valid_from).order_by("valid_from").first()
        before = same.filter(
            Q(valid_to__isnull=True) | Q(valid_to__gt=valid_from),
            valid_from__lt=valid_from,
        )
        for row in before:
            row.valid_to = valid_from
            row.save(update_fields=["valid_to"])
        price = UnitPrice(
            model=model,
            profile=profile,
            lifecycle=lifecycle,
            cluster=cluster,
            tier=tier,
            currency=currency,
            rate_per_gpu_hour=rate_per_gpu_hour,
            cost_per_gpu_hour=cost_per_gpu_hour,
            valid_from=valid_from,
            valid_to=later.valid_from if later else None,
            source_note=source_note,
        )
        price.full_clean()
        price.save()
        reprice(valid_from, model)
    return price
