"""When a cluster was retired, and where its stored time begins and ends (rules.md N38)."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection

from accounting.core.interval import WINDOW_MS, to_ms

# Each computed hour asks twice: building this query with the ORM takes longer.
_RETIRED = """
    SELECT c.retired_at, p.end_ms FROM accounting_cluster c
    LEFT JOIN accounting_pendingretirement p ON p.cluster_id = c.id WHERE c.id = %s
"""


def retired_ms(cluster_id: int) -> int | None:
    """Where a cluster ends, in ms, as far as applied; None while it is in use.

    While `metering.tasks.retirement` still has days to clear, this is the end of the cleared time,
    so time is conserved at any moment.
    """
    with connection.cursor() as cursor:
        cursor.execute(_RETIRED, [cluster_id])
        at, reached = cursor.fetchone()
    if at is None:
        return None
    return max(to_ms(at), reached or 0)


_BOUNDS = """
    SELECT (SELECT min(hour_start) FROM usage_hour WHERE cluster_id = %(cluster)s),
           (SELECT max(window_start) FROM accounting_ingestwindow
            WHERE cluster_id = %(cluster)s AND shard = 0),
           (SELECT window_start FROM usage_window WHERE cluster_id = %(cluster)s
            ORDER BY window_start LIMIT 1)
"""


@dataclass(frozen=True, slots=True)
class Stored:
    """The stored time of a cluster; None without data.

    Attributes:
        first_hour: the oldest stored hour.
        end: of the newest window.
        first_fact: start of the oldest window with five-minute facts.
    """

    first_hour: datetime | None
    end: datetime | None
    first_fact: datetime | None

    def has_expired(self, at: datetime) -> bool:
        """True if an hour is stored and its five-minute facts are not."""
        if self.first_hour is None or at < self.first_hour:
            return False
        if self.first_fact is None:
            return True
        return at < self.first_fact.replace(minute=0, second=0, microsecond=0)


def stored(cluster_id: int) -> Stored:
    """The bounds of the stored time of a cluster."""
    with connection.cursor() as cursor:
        cursor.execute(_BOUNDS, {"cluster": cluster_id})
        first_hour, last, first_fact = cursor.fetchone()
    end = None if last is None else last + timedelta(milliseconds=WINDOW_MS)
    return Stored(first_hour, end, first_fact)
