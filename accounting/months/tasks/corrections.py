"""Corrections of closed periods: what they would be today, less what was booked (money.md M31).

They are booked in the first period that is not closed, and freeze with it. So booked +
corrections = now, always.
"""

from typing import Any

from django.db import connection

from accounting.core.charge_lines import KEY_FIELDS
from accounting.metering.sql.largest_remainder_sql import half_even, largest_remainder
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks import own_lines
from accounting.months.tasks.periods import PeriodTerms, closed_revisions

NOW = "now "  # marks lines of a closed period computed today, until they are compared
OWN_KINDS = "('usage', 'platform', 'difference', 'spread')"
_KEY = ", ".join(KEY_FIELDS)
_EITHER = ", ".join(f"coalesce(n.{name}, b.{name}) AS {name}" for name in KEY_FIELDS)

# Frozen lines of the period itself, and frozen corrections of it, of revisions in effect. The
# conversion is that of the line booked last.
_BOOKED = f"""
    SELECT {_KEY}, sum(ms)::bigint AS ms, sum(raw) AS raw,
           (array_agg(fx ORDER BY period DESC) FILTER (WHERE fx IS NOT NULL))[1] AS fx
    FROM (
        SELECT l.*, r.period FROM charge_line l
        JOIN accounting_periodrevision r ON r.id = l.revision_id
        WHERE r.id = %(closed)s AND l.corrects = '' AND l.kind IN {OWN_KINDS}
        UNION ALL
        SELECT l.*, r.period FROM charge_line l
        JOIN accounting_periodrevision r ON r.id = l.revision_id
        WHERE l.corrects = %(name)s AND r.id = ANY(%(in_force)s)
    ) booked
    GROUP BY {_KEY}
"""
_NOW = f"SELECT {_KEY}, ms, raw, fx FROM booking_line WHERE corrects = %(mark)s"
_CHANGED = f"""
    SELECT {_EITHER}, coalesce(n.ms, 0) - coalesce(b.ms, 0) AS ms,
           CASE WHEN coalesce(n.status, b.status) = 'priced'
                THEN coalesce(n.raw, 0) - coalesce(b.raw, 0) END AS raw,
           CASE WHEN n.ms IS NULL THEN b.fx ELSE n.fx END AS fx
    FROM (SELECT *, row({_KEY})::text AS k FROM now) n
    FULL JOIN (SELECT *, row({_KEY})::text AS k FROM booked) b ON n.k = b.k
    WHERE coalesce(n.ms, 0) <> coalesce(b.ms, 0) OR coalesce(n.raw, 0) <> coalesce(b.raw, 0)
"""
# The charges of a team come to the difference of its rounded sums.
_TOTALS = f"""
    SELECT team, {half_even("now_raw", own_lines.MICRO_RAW)}
                 - {half_even("booked_raw", own_lines.MICRO_RAW)} AS micros
    FROM (
        SELECT team, sum(now_raw) AS now_raw, sum(booked_raw) AS booked_raw
        FROM (
            SELECT team, coalesce(raw, 0) AS now_raw, 0 AS booked_raw FROM now
            UNION ALL SELECT team, 0, coalesce(raw, 0) FROM booked
        ) both_sides
        GROUP BY team
    ) sums
"""
_INSERT = f"""
WITH booked AS MATERIALIZED ({_BOOKED}), now AS MATERIALIZED ({_NOW}),
changed AS MATERIALIZED ({_CHANGED}), total AS ({_TOTALS}),
listed AS MATERIALIZED (
    SELECT c.*, total.micros FROM changed c JOIN total USING (team) WHERE c.raw IS NOT NULL
), shared AS ({
    largest_remainder(
        "listed", "raw", own_lines.MICRO_RAW, "micros", "team", own_lines.KEY_TEXTS
    )
})
INSERT INTO booking_line ({_KEY}, fx, ms, raw, charge, corrects)
SELECT {_KEY}, fx, ms, raw, share * 0.000001, %(name)s FROM shared
UNION ALL
SELECT {_KEY}, fx, ms, NULL, NULL, %(name)s FROM changed WHERE raw IS NULL
"""


def insert(terms: PeriodTerms) -> None:
    """Add the corrections of every closed period before this one to `booking_line`."""
    closed = [one for one in closed_revisions() if one.period < terms.name]
    for revision in closed:
        _correct(revision, [one.pk for one in closed])


def _correct(revision: PeriodRevision, in_force: list[int]) -> None:
    mark = f"{NOW}{revision}"
    own_lines.insert(PeriodTerms.booked(revision), corrects=mark)
    values: dict[str, Any] = {
        "mark": mark,
        "name": str(revision),
        "closed": revision.pk,
        "in_force": in_force,
    }
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, values)
        cursor.execute("DELETE FROM booking_line WHERE corrects = %s", [mark])
