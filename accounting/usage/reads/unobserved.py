"""Gaps in a team's data: times without data, and held time that was not observed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime

from django.db import connection

from accounting.access.reads.billing_settings import billing_day, midnight
from accounting.access.scope import Scope
from accounting.core.efficiency import StateTimes
from accounting.core.interval import DAY_MS, Interval
from accounting.core.ledger_line import HELD_STATES
from accounting.kit.reads.selection import Selection, stored_period
from accounting.metering.sql.states_sql import held, sums
from accounting.usage.reads.usage import usage_rows
from accounting.usage.rules.rows import UsageRow


@dataclass(frozen=True, slots=True)
class DataGap:
    """A time in which no window of a cluster has facts; `end` is None while it lasts."""

    cluster: str
    start: datetime
    end: datetime | None

    @property
    def length_ms(self) -> int | None:
        """Its length; None while it lasts."""
        return None if self.end is None else Interval.of(self.start, self.end).length_ms


_GAPS = """
    SELECT c.name, f.window_end, f.next_start
    FROM (
        SELECT w.cluster_id, w.window_start + interval '5 minutes' AS window_end,
               lead(w.window_start) OVER (
                   PARTITION BY w.cluster_id ORDER BY w.window_start) AS next_start
        FROM accounting_ingestwindow w
        WHERE w.shard = 0 AND w.rows > 0
          AND w.window_start >= %(start)s AND w.window_start < %(end)s
    ) f JOIN accounting_cluster c ON c.id = f.cluster_id
    WHERE (f.next_start > f.window_end
           OR f.next_start IS NULL AND f.window_end < %(end)s AND c.retired_at IS NULL)
      AND (%(cluster)s = '' OR c.name = %(cluster)s)
    ORDER BY f.window_end DESC, c.name
"""


def data_gaps(scope: Scope, period: Interval, cluster: str = "") -> list[DataGap]:
    """Times without data between the first facts of a period and its end, newest first.

    Each cluster separately. Empty for people who see no usage.
    """
    if not scope.sees_any:
        return []
    values: dict[str, str | datetime] = {
        "start": period.start,
        "end": period.end,
        "cluster": cluster,
    }
    with connection.cursor() as cursor:
        cursor.execute(_GAPS, values)
        return [DataGap(*row) for row in cursor.fetchall()]


def newest_day() -> Interval | None:
    """The last 24 hours of five-minute facts; None without facts."""
    stored = stored_period()
    if stored is None:
        return None
    return Interval(max(stored.start_ms, stored.end_ms - DAY_MS), stored.end_ms)


def unobserved_gpus(selection: Selection, period: Interval) -> list[UsageRow]:
    """GPUs with held time that was not observed, the largest first.

    By cluster, node, GPU and team, from five-minute facts: those of `period` must be stored.
    """
    chosen = replace(selection, period=period)
    rows = usage_rows(chosen, ("cluster", "node", "gpu", "team"))
    found = [row for row in rows if row.unknown_ms]
    return sorted(found, key=lambda row: (-row.unknown_ms, row.key["gpu"]))


_HELD = f"""
    SELECT billing_on, {sums(states=HELD_STATES)} FROM usage_day_total
    WHERE billing_on >= %(first)s AND billing_on < %(after)s
    GROUP BY billing_on HAVING sum({held()}) > 0
"""


def held_by_day(selection: Selection, period: Interval) -> Mapping[date, StateTimes]:
    """Held time of each billing day of a period; its `coverage` is the observed part.

    The time of all teams on whole days is summed without any money.
    """
    first, after = billing_day(period.start), billing_day(period.end)
    is_whole = (midnight(first), midnight(after)) == (period.start, period.end)
    if not (is_whole and selection.scope.sees_all and not selection.filters):
        rows = usage_rows(replace(selection, period=period), ("day",))
        return {date.fromisoformat(row.key["day"]): row for row in rows}
    with connection.cursor() as cursor:
        cursor.execute(_HELD, {"first": first, "after": after})
        return {day: StateTimes(*times) for day, *times in cursor.fetchall()}
