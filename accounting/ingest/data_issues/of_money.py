"""Names what has no price and no team: time that nobody is charged for, or nobody's."""

from datetime import date, timedelta

from django.db import connection

from accounting.domain.core.interval import to_ms
from accounting.domain.core.issue import Issue
from accounting.ingest.data_issues import record
from accounting.queries.database_clock import database_now
from accounting.rating.billing_settings import midnight


def record_money_issues(cluster_id: int) -> None:
    """Name the models without a price and the namespaces without a team."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT model, min(billing_on), max(billing_on),
                   sum(busy_ms + idle_ms + unknown_ms + free_ms + stranded_ms + stray_ms
                       + dark_ms)::bigint
            FROM usage_day WHERE cluster_id = %s AND (price_id = 0 OR gpu_price_id = 0)
            GROUP BY 1
            """,
            [cluster_id],
        )
        unpriced = cursor.fetchall()
        cursor.execute(
            """
            SELECT n.name, min(d.billing_on), max(d.billing_on),
                   sum(busy_ms + idle_ms + unknown_ms)::bigint
            FROM usage_day d JOIN accounting_namespace n ON n.id = d.namespace_id
            WHERE d.cluster_id = %s AND d.team_id = 0 AND d.namespace_id <> 0 GROUP BY 1
            """,
            [cluster_id],
        )
        unmapped = cursor.fetchall()
        cursor.execute(
            """
            UPDATE accounting_dataissue SET resolved_at = clock_timestamp()
            WHERE cluster_id = %s AND resolved_at IS NULL
              AND ((code = 'unpriced_gpu' AND NOT subject = ANY(%s))
                OR (code = 'unmapped_namespace' AND NOT subject = ANY(%s)))
            """,
            [
                cluster_id,
                [r[0] or "no model" for r in unpriced],
                [r[0] for r in unmapped],
            ],
        )
    found = [
        Issue(
            code="unpriced_gpu",
            subject=model or "no model",
            message="No price matches.",
            first_ms=_first_ms(first),
            last_ms=_last_ms(last),
            at_stake_ms=stake,
            severity="error",
        )
        for model, first, last, stake in unpriced
    ]
    found.extend(
        Issue(
            code="unmapped_namespace",
            subject=name,
            message="No attribution rule maps this namespace to a team.",
            first_ms=_first_ms(first),
            last_ms=_last_ms(last),
            at_stake_ms=stake,
        )
        for name, first, last, stake in unmapped
    )
    record.record(cluster_id, found)


def _first_ms(day: date) -> int:
    return to_ms(midnight(day))


def _last_ms(day: date) -> int:
    """Where a billing day ends; now, while it still runs."""
    return to_ms(min(midnight(day + timedelta(days=1)), database_now()))
