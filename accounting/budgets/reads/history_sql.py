"""SQL of amounts by billing day: frozen lines of closed periods, and rollups of all others.

Parameters: first, after (dates), currency (of bills), teams (ids, or NULL for all).
"""  # composed of this project's own constants

from accounting.core.ledger_line import HELD_STATES
from accounting.metering.sql.states_sql import held, sums
from accounting.prices.sql.charge_sql import HAS_RATE, raw_sum, unpriced_sum
from accounting.prices.sql.conversion_sql import fx


def _used(table: str, *names: str) -> str:
    """Days of open periods, by the method of their period: what a team pays for (money.md M22).

    The rate is in the currency of bills, NULL without a price or a conversion. Days are added up
    before their periods are looked up.

    Args:
        table: of days; `names` are its columns that are kept, with team and day.
    """
    columns = ", ".join(("team_id", "billing_on", *names))
    return f"""
    SELECT u.*, c.period IS NOT NULL AS is_closed
    FROM (
        SELECT {columns}, {held("d")} AS held_ms,
               CASE WHEN m.method LIKE 'busy-v1%%' THEN d.busy_ms + d.unknown_ms
                    ELSE {held("d")} END AS paid_ms,
               d.charged * {fx("d.currency", "d.billing_on")} AS rate
        FROM (SELECT {columns}, rate AS charged, currency, {sums(states=HELD_STATES)}
              FROM {table}
              WHERE cluster_id = ANY(ARRAY(SELECT id FROM accounting_cluster))
                AND billing_on >= %(first)s AND billing_on < %(after)s AND namespace_id <> 0
                AND (%(teams)s::bigint[] IS NULL OR team_id = ANY(%(teams)s))
              GROUP BY {columns}, rate, currency) d
        LEFT JOIN accounting_billingperiod m ON m.name = to_char(d.billing_on, 'YYYY-MM')
    ) u
    LEFT JOIN accounting_periodrevision c
        ON c.period = to_char(u.billing_on, 'YYYY-MM')
        AND c.closed_at IS NOT NULL AND c.reopened_at IS NULL"""


_OF_TEAMS = "%(teams)s::bigint[] IS NULL OR team_id = ANY(%(teams)s)"
# Lines have slugs, and their indexes, too: the lines of others are not read. 0 is any other slug.
_LINES_OF_TEAMS = """(%(teams)s::bigint[] IS NULL OR 0 = ANY(%(teams)s)
    OR l.team = ANY(ARRAY(SELECT slug FROM accounting_team WHERE id = ANY(%(teams)s))))"""


def _of_lines(table: str, kinds: str, *, is_closed: bool) -> str:
    """Own lines of a booking by team and day; what they held is not theirs to say."""
    return f"""
        SELECT coalesce(t.id, 0), l.billing_on, coalesce(sum(l.raw), 0), 0,
               coalesce(sum(l.ms) FILTER (WHERE l.status <> 'priced'), 0)
        FROM {table} l
        JOIN accounting_periodrevision r ON r.id = l.revision_id AND r.reopened_at IS NULL
            AND (r.closed_at IS NOT NULL) = {is_closed}
        LEFT JOIN accounting_team t ON t.slug = l.team
        WHERE l.kind IN ({kinds}) AND l.corrects = '' AND l.team <> 'platform'
          AND l.billing_on >= %(first)s AND l.billing_on < %(after)s
          AND {_LINES_OF_TEAMS}
        GROUP BY t.id, l.billing_on"""


# What a closed period charges is as it was booked; what it held is as known now.
TOTALS = f"""
    WITH used AS ({_used("usage_family_day")}), amount AS (
        SELECT u.team_id, u.billing_on,
               {raw_sum("u.paid_ms", f"{HAS_RATE} AND NOT u.is_closed")} AS raw,
               sum(u.held_ms) AS held_ms,
               {unpriced_sum("u.paid_ms", f"{HAS_RATE} OR u.is_closed")} AS without_ms
        FROM used u GROUP BY u.team_id, u.billing_on
        UNION ALL {_of_lines("charge_line", "'usage', 'spread'", is_closed=True)}
        UNION ALL {_of_lines("running_line", "'spread'", is_closed=False)}
    )
    SELECT team_id, billing_on, sum(raw), sum(held_ms)::bigint, sum(without_ms)::bigint
    FROM amount WHERE {_OF_TEAMS}
    GROUP BY team_id, billing_on
"""
"""Team, day, raw, held ms, ms without money."""


def _corrections(table: str, *, is_closed: bool) -> str:
    return f"""
        SELECT coalesce(t.id, 0), to_date(r.period, 'YYYY-MM'), l.charge
        FROM {table} l
        JOIN accounting_periodrevision r ON r.id = l.revision_id AND r.reopened_at IS NULL
            AND (r.closed_at IS NOT NULL) = {is_closed}
        LEFT JOIN accounting_team t ON t.slug = l.team
        WHERE l.corrects <> '' AND l.team <> 'platform' AND {_LINES_OF_TEAMS}"""


EXTRAS = f"""
    WITH extra AS (
        SELECT e.team_id, e.billing_on, e.amount FROM accounting_entry e
        UNION ALL {_corrections("charge_line", is_closed=True)}
        UNION ALL {_corrections("running_line", is_closed=False)}
    )
    SELECT team_id, billing_on, sum(amount) FROM extra
    WHERE billing_on >= %(first)s AND billing_on < %(after)s AND ({_OF_TEAMS})
    GROUP BY team_id, billing_on
    HAVING sum(amount) <> 0
"""
"""Team, day, amount: entries on their day, corrections on the first day of the month that
booked them."""

PARTS = f"""
    WITH used AS ({_used("usage_day", "model", "namespace_id", "workload_id")})
    SELECT u.model, coalesce(n.name, '') AS namespace, coalesce(w.name, '') AS workload,
           u.billing_on, {raw_sum("u.paid_ms")}
    FROM used u
    LEFT JOIN accounting_namespace n ON n.id = u.namespace_id
    LEFT JOIN accounting_workload w ON w.id = u.workload_id
    GROUP BY u.model, n.name, w.name, u.billing_on
"""
"""Model, namespace, workload, day, raw, as known now."""

LEDGER_FIRST = """
    SELECT (SELECT min(day.at) FROM accounting_cluster c
            CROSS JOIN LATERAL (SELECT u.billing_on FROM usage_day u WHERE u.cluster_id = c.id
                                ORDER BY u.billing_on LIMIT 1) AS day(at)),
           (SELECT currency FROM accounting_periodrevision WHERE closed_at IS NOT NULL
            ORDER BY closed_at, id LIMIT 1)
"""
"""The first billing day, and the currency that the first close has fixed; each NULL without."""

READ_DAYS = """
    SELECT day.n FROM (
        SELECT n, at, lead(at) OVER (ORDER BY n) AS after
        FROM unnest(%(edges)s::timestamptz[]) WITH ORDINALITY AS edge (at, n)
    ) day
    WHERE EXISTS (
        SELECT FROM accounting_cluster c CROSS JOIN LATERAL (
            SELECT FROM accounting_ingestwindow w
            WHERE w.cluster_id = c.id AND w.shard = 0 AND w.rows > 0
              AND w.window_start >= day.at AND w.window_start < day.after LIMIT 1
        ) read OFFSET 0
    ) AND day.n NOT IN (
        SELECT width_bucket(window_start, %(edges)s::timestamptz[])
        FROM accounting_ingestwindow
        WHERE shard = 0 AND (state IN ('pending', 'claimed', 'failed')
                             OR (state = 'partial' AND next_attempt_at IS NOT NULL)))
"""
"""Numbers of the days between `edges` that have data, and no window that is due now or later.

One window of a day is looked up, and windows that are due: others are a thousand times as many.
"""
