"""Whether something was written since a month was booked."""

from django.db import connection

from accounting.months.models.period import PeriodRevision

# What a booking is computed from. Prices and mapping change usage: their hours are rolled up.
_TABLES = (
    "accounting_billing",
    "accounting_billingperiod",
    "accounting_conversionrate",
    "accounting_entry",
    "accounting_team",
    "accounting_teamquota",
)
# The database counts the rows that were written to each table. A count that arrives late, or is
# lost in a crash, only books a month once more.
_WRITTEN = """
    SELECT string_agg(c.relname || ' ' || pg_stat_get_tuples_inserted(c.oid)
                      + pg_stat_get_tuples_updated(c.oid)
                      + pg_stat_get_tuples_deleted(c.oid), ',' ORDER BY c.relname)
    FROM pg_class c
    WHERE c.relname = ANY(%s) AND c.relkind = 'r'
       OR c.oid IN (SELECT inhrelid FROM pg_inherits
                    WHERE inhparent = 'usage_day'::regclass)
"""


def inputs_now() -> str:
    """A text that differs after anything that a booking is computed from was written."""
    closed = PeriodRevision.objects.filter(
        closed_at__isnull=False, reopened_at__isnull=True
    )
    latest = closed.order_by("-period").values_list("pk", flat=True)[:1]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(f"SELECT md5(({_WRITTEN}))", [list(_TABLES)])
        [(written,)] = cursor.fetchall()
    return ",".join([written, *map(str, latest)])
