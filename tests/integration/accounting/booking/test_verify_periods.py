"""`verify` finds what was changed in a closed month by SQL with triggers off (money.md M29)."""

from datetime import date

import pytest
from django.db import connection, transaction

from accounting.booking.close import close_period
from tests.integration.accounting.booking.command import command
from tests.integration.accounting.booking.days import H100, Days

pytestmark = pytest.mark.django_db(transaction=True)

OCTOBER = date(2026, 10, 5)
HOUR = 3_600_000


@pytest.fixture(autouse=True)
def closed(days: Days) -> None:
    """October and November, closed."""
    days.price(H100, "1")
    days.use("vision", OCTOBER, HOUR)
    days.use("", OCTOBER, HOUR, state="free")
    close_period("2026-10")
    close_period("2026-11")


def changed(statement: str) -> None:
    """Change a closed period with triggers off, as an owner of the tables could."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement)
        cursor.execute("SET LOCAL session_replication_role = origin")


CHANGES = (
    ("UPDATE charge_line SET charge = charge + 0.01", "lines and header"),
    ("UPDATE charge_line SET raw = raw + 1", "lines and header"),
    (
        "UPDATE charge_line SET line_id = repeat('0', 32) WHERE kind = 'usage'",
        "has the id",
    ),
    ("UPDATE accounting_statement SET payable = payable + 0.01", "statements are"),
    ("UPDATE accounting_periodrevision SET payable = payable + 0.01", "sum of its"),
    ("UPDATE accounting_periodrevision SET hash = repeat('0', 64)", "lines and header"),
    (
        "UPDATE accounting_periodrevision SET previous_hash = '' WHERE period = '2026-11'",
        "continues",
    ),
    (
        "UPDATE accounting_periodrevision SET payers = payers - 'vision'",
        "names of teams",
    ),
    (
        """UPDATE accounting_periodrevision SET payers = '{"vision": {"name": "Other"}}'""",
        "names of teams",
    ),
    ("DELETE FROM charge_line WHERE kind = 'usage'", "lines and header"),
)


@pytest.mark.parametrize(("statement", "rule"), CHANGES)
def test_verify_finds_what_was_changed(statement: str, rule: str) -> None:
    out, _ = command("verify", "--period")
    assert "FAIL" not in out
    assert "2026-10-r1: lines and header have the hash of the close" in out
    changed(statement)
    out, _ = command("verify", "--period", status=1)
    assert any("FAIL" in line and rule in line for line in out.splitlines())


def test_verify_of_one_month_reads_only_that() -> None:
    changed("UPDATE charge_line SET charge = charge + 0.01 WHERE kind = 'usage'")
    command("verify", "--period", "2026-10", status=1)
    command("verify", "--period", "2026-11")
    out, _ = command("verify", status=1)
    assert "FAIL 2026-10-r1" in out


def test_a_month_that_is_not_closed_is_wrong_use() -> None:
    command("verify", "--period", "2026-12", status=2)
    command("verify", "--period", "October", status=2)
