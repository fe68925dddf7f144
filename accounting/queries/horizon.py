"""From when the ledger has data, and whether any source is live."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

_QUERY = """
    SELECT (SELECT min(first.window_start) FROM accounting_cluster c
            CROSS JOIN LATERAL (
                SELECT window_start FROM accounting_ingestwindow w
                WHERE w.cluster_id = c.id AND w.shard = 0 AND w.rows > 0
                ORDER BY window_start LIMIT 1
            ) first),
           EXISTS (SELECT 1 FROM accounting_source
                   WHERE is_active AND kind <> 'openmetrics')
"""


@dataclass(frozen=True, slots=True)
class Horizon:
    """`since`: start of the oldest window with facts; None before the first one."""

    since: datetime | None
    is_live: bool


def horizon() -> Horizon:
    """One query over the window ledger, never over facts."""
    with connection.cursor() as cursor:
        cursor.execute(_QUERY)
        since, is_live = cursor.fetchone()
    return Horizon(since, bool(is_live))
