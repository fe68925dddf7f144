"""Computes the lines and statements of a period into tables of the transaction.

The result is a function of usage, prices, conversions, mapping, entries and what was closed
before: never of the order of rows or of earlier computations.
"""

from django.db import connection

from accounting.months.tasks import corrections, entries, own_lines, statements
from accounting.months.tasks.periods import PeriodTerms

_TABLES = """
CREATE TEMPORARY TABLE booking_line (
    kind text NOT NULL, team text NOT NULL, billing_on date,
    cluster text NOT NULL DEFAULT '', namespace text NOT NULL DEFAULT '',
    workload_kind text NOT NULL DEFAULT '', workload text NOT NULL DEFAULT '',
    workload_type text NOT NULL DEFAULT '', model text NOT NULL DEFAULT '',
    profile text NOT NULL DEFAULT '', lifecycle text NOT NULL DEFAULT '',
    tier text NOT NULL DEFAULT '', state text NOT NULL DEFAULT '',
    price_currency text NOT NULL DEFAULT '', rate numeric(12, 6), fx numeric(20, 10),
    ms bigint NOT NULL DEFAULT 0, raw numeric(38, 16), charge numeric(26, 6),
    status text NOT NULL DEFAULT 'priced', corrects text NOT NULL DEFAULT '',
    reference text NOT NULL DEFAULT ''
) ON COMMIT DROP;
CREATE TEMPORARY TABLE booking_statement (
    team text PRIMARY KEY, own6 numeric(26, 6) NOT NULL, entries6 numeric(26, 6) NOT NULL,
    corrections6 numeric(26, 6) NOT NULL, total6 numeric(26, 6) NOT NULL,
    payable numeric(26, 6) NOT NULL, busy_ms bigint NOT NULL, idle_ms bigint NOT NULL,
    unknown_ms bigint NOT NULL, without_money_ms bigint NOT NULL
) ON COMMIT DROP
"""


def compute(terms: PeriodTerms, *, books_corrections: bool) -> None:
    """Fill the temporary tables `booking_line` and `booking_statement`; in a transaction.

    Args:
        terms: of the period.
        books_corrections: whether it is the first period that is not closed: corrections of
            closed periods are booked there.
    """
    prepare()
    own_lines.insert(terms)
    own_lines.share_charges(corrects="")
    entries.insert(terms)
    if books_corrections:
        corrections.insert(terms)
    statements.insert(terms)


def prepare() -> None:
    """Create the two temporary tables, empty."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS booking_line, booking_statement")
        cursor.execute(_TABLES)
        cursor.execute("SET LOCAL jit = off; SET LOCAL work_mem = '256MB'")
