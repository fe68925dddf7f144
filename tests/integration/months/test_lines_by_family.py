"""Each sum of `charge_family_day`, as a function of Postgres and `verify` make it (decision 44)."""

from datetime import UTC, date, datetime

from django.db import connection, transaction

from accounting.core.ledger_line import STATES
from accounting.months.reads.invariants.sum_checks import LINES_CHECK
from accounting.months.tasks.close import close_period
from tests.integration.months.days import H100, Days

ON = date(2026, 10, 5)
_MORE = "UPDATE charge_family_day SET {name} = {name} + 1 WHERE {name} <> 0"
HELD = ("busy", "idle", "unknown")


def violations() -> int:
    october = {"start": datetime(2026, 10, 1, tzinfo=UTC)}
    with connection.cursor() as cursor:
        cursor.execute(
            LINES_CHECK.query, october | {"end": datetime(2026, 11, 1, tzinfo=UTC)}
        )
        return len(cursor.fetchall())


def test_every_sum_is_that_of_the_check(days: Days) -> None:
    """The sums stand twice: in a migration, which imports nothing of ours, and in the check."""
    for number, state in enumerate(STATES):
        days.price(f"{H100}-{state}", "1")
        for model in (H100, "unpriced"):
            team = "vision" if state in HELD else ""
            time = {"state": state, "workload": state, "model": f"{model}-{state}"}
            days.use(team, ON, 1_000_000 + number, **time)
    days.enter("E-1", "vision", ON, "-10.50")
    days.enter("E-2", "vision", ON, "0.25")
    close_period("2026-10")
    assert violations() == 0
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
               WHERE attrelid = 'charge_family_day'::regclass AND attnum > 0"""
        )
        kinds = dict(cursor.fetchall())
        sums = [name for name, kind in kinds.items() if kind in ("numeric", "bigint")]
        sums.remove("revision_id")
        assert len(sums) == 3 + 3 * len(STATES)
        for name in sums:
            with transaction.atomic():
                cursor.execute(_MORE.format(name=name))
                assert cursor.rowcount == violations() > 0, f"{name} is not checked"
                transaction.set_rollback(True)
