"""`verify` finds what was changed in a closed month by SQL with triggers off (money.md M29)."""

from datetime import date

import pytest
from django.db import transaction

from accounting.months.models.period import PeriodRevision
from accounting.months.tasks import store
from accounting.months.tasks.close import close_period, reopen_period
from tests.database_flush import without_triggers
from tests.integration.months.command import command
from tests.integration.months.days import H100, Days
from tests.integration.months.people import person

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
    with without_triggers() as cursor:
        cursor.execute(statement)


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
REHASHED = """
    UPDATE accounting_periodrevision SET hash = '{}'
    WHERE period = '2026-11' AND reopened_at IS NULL
"""
SWAPPED = """
    UPDATE charge_line l SET ms = o.ms, raw = o.raw, charge = o.charge
    FROM charge_line o
    WHERE l.kind = 'usage' AND o.kind = 'usage' AND o.workload <> l.workload
"""


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


def test_lines_that_were_swapped_with_their_hash_are_found(days: Days) -> None:
    """All sums stay the same, and the stored hash is that of the swapped lines."""
    row = PeriodRevision.objects.get(period="2026-11")
    reopen_period(
        row.period, reason="x" * 10, by=person("anna"), confirmed_by=person("bert")
    )
    november = date(2026, 11, 5)
    days.use("vision", november, HOUR, workload="train")
    days.use("vision", november, 2 * HOUR, workload="serve")
    closed = close_period("2026-11")
    changed(SWAPPED)
    with transaction.atomic():
        found = store.hash_lines("charge_line", closed)
    assert found != closed.hash
    changed(REHASHED.format(found))
    out, _ = command("verify", "--period", "2026-11", status=1)
    failed = [line for line in out.splitlines() if line.startswith("FAIL")]
    rule = "the hash, and so payable and number of lines, is the one that the audit log has sealed"
    assert failed == [
        "FAIL 2026-11-r2: the hours of each line come to the line",
        f"FAIL 2026-11-r2: {rule}",
    ]
    assert f"hash: {found}, should be {closed.hash}" in out
