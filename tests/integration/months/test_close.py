"""A close freezes a month; only the latest can be opened again (money.md M28-M30)."""

from datetime import date
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.db import DatabaseError, connection, transaction
from pytest_django import Settings

from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.files import write_file
from accounting.exports.tasks.request import ExportRequest
from accounting.months.models.period import PeriodRevision
from accounting.months.tasks import store
from accounting.months.tasks.close import close_period, reopen_period
from accounting.months.tasks.periods import PeriodError
from accounting.months.tasks.running import book_running
from accounting.months.tasks.verify import closed_verdicts
from tests.database_flush import without_triggers
from tests.integration.months.days import H100, Days, lines_of, payables

OCTOBER, NOVEMBER = date(2026, 10, 5), date(2026, 11, 10)


@pytest.fixture
def closed(days: Days) -> PeriodRevision:
    """October, closed."""
    days.price(H100, "1")
    days.use("vision", OCTOBER, 378_000)
    days.use("vision", NOVEMBER, 300_000)
    return close_period("2026-10")


def reopen(period: str) -> None:
    users = get_user_model().objects
    reopen_period(
        period,
        reason="a price list was missing",
        by=users.get_or_create(username="finance")[0],
        confirmed_by=users.get_or_create(username="admin")[0],
    )


def test_a_close_has_the_hash_of_its_lines(closed: PeriodRevision) -> None:
    # golden case 09 of the rules
    assert closed.hash == (
        "c1032f2ecb4f8614011622cc12ac09ce2485ec0dea6774347ee7bd4a8286d4a0"
    )
    assert store.hash_lines("charge_line", closed) == closed.hash
    assert closed.lines.get(kind="usage").line_id == "4155f756000ec2187afb4e8ee8d85123"


def test_the_organization_is_that_of_the_close(
    closed: PeriodRevision, settings: Settings, tmp_path: Path
) -> None:
    request = ExportRequest(What.FOCUS, "2026-10")
    before = write_file(request, tmp_path).path.read_bytes()
    assert closed.organization_name.encode() in before
    settings.ORGANIZATION_NAME, settings.ORGANIZATION_ID = "Acme Compute", "acme"
    assert write_file(request, tmp_path).path.read_bytes() == before
    running = book_running("2026-11")
    assert (running.organization_id, running.organization_name) == (
        "acme",
        "Acme Compute",
    )
    november = write_file(ExportRequest(What.FOCUS, "2026-11"), tmp_path)
    assert b"Acme Compute" in november.path.read_bytes()

    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # sealed, as by a commit
    assert all(one.holds for one in closed_verdicts())
    with (
        pytest.raises(DatabaseError, match="closed periods do not change"),
        transaction.atomic(),
    ):
        PeriodRevision.objects.update(organization_name="Other")
    with without_triggers() as cursor:
        cursor.execute(
            "UPDATE accounting_periodrevision SET organization_name = 'Other'"
            " WHERE closed_at IS NOT NULL"
        )
    (broken,) = (one for one in closed_verdicts() if not one.holds)
    assert broken.violations == (
        ("organization", "gpu-ledger, Other", "gpu-ledger, GPU Ledger"),
    )


def test_a_changed_amount_is_found_and_named(closed: PeriodRevision) -> None:
    """The triggers off, as their owner could: a line, then the total of the month."""
    statement = closed.statements.get(team="vision")
    with without_triggers() as cursor:
        cursor.execute(
            "UPDATE charge_line SET charge = charge + 1"
            " WHERE kind = 'usage' AND team = 'vision'"
        )
        cursor.execute("UPDATE accounting_periodrevision SET payable = payable + 2")
    found = {
        one.statement: one.violations for one in closed_verdicts() if one.violations
    }
    assert found["lines and header have the hash of the close"][0][2] == closed.hash
    assert found["statements are the sums of their lines"] == (
        (
            "vision, charges",
            f"{statement.own6}",
            f"{statement.own6 + 1}",
        ),
        ("vision, payable", f"{statement.payable}", f"{statement.payable + 1}"),
        ("vision, total", f"{statement.total6}", f"{statement.total6 + 1}"),
    )
    assert found["the period is the sum of its statements"] == (
        ("payable", f"{closed.payable + 2}", f"{closed.payable}"),
    )


def test_a_second_close_changes_nothing(closed: PeriodRevision, days: Days) -> None:
    days.forget()
    days.use("vision", OCTOBER, 540_000)
    again = close_period("2026-10")
    assert (again.pk, again.hash) == (closed.pk, closed.hash)
    assert lines_of(again) == lines_of(closed)
    assert book_running("2026-10").hash == closed.hash


def test_months_are_closed_in_order(closed: PeriodRevision) -> None:
    del closed
    with pytest.raises(PeriodError, match="2026-12 cannot be closed before 2026-11"):
        close_period("2026-12")
    with pytest.raises(PeriodError, match="2026-09 was not closed"):
        close_period("2026-09")


def test_only_the_latest_closed_month_is_reopened(closed: PeriodRevision) -> None:
    november = close_period("2026-11")
    assert november.previous_hash == closed.hash
    with pytest.raises(PeriodError, match="The latest is 2026-11"):
        reopen("2026-10")
    reopen("2026-11")
    reopen("2026-10")
    with pytest.raises(PeriodError, match="2026-11 cannot be closed before 2026-10"):
        close_period("2026-11")
    again = close_period("2026-10")
    assert (again.revision, again.hash != closed.hash) == (2, True)
    assert close_period("2026-11").previous_hash == again.hash
    closed.refresh_from_db()
    assert lines_of(closed)  # the old revision stays readable


CHANGES = (
    "UPDATE charge_line SET charge = charge",
    "DELETE FROM charge_line",
    "TRUNCATE charge_line CASCADE",
    """CREATE TEMP TABLE one ON COMMIT DROP AS SELECT * FROM charge_line LIMIT 1;
       UPDATE one SET line_id = 'another'; INSERT INTO charge_line SELECT * FROM one""",
    "UPDATE accounting_statement SET payable = payable",
    "DELETE FROM accounting_statement",
    "TRUNCATE accounting_statement CASCADE",
    "INSERT INTO accounting_statement SELECT * FROM accounting_statement LIMIT 1",
)


@pytest.mark.parametrize("change", CHANGES)
def test_sql_cannot_change_what_is_closed(closed: PeriodRevision, change: str) -> None:
    del closed
    with (
        pytest.raises(DatabaseError, match="closed periods do not change"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"SET CONSTRAINTS ALL IMMEDIATE; {change}")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE accounting_periodrevision SET hash = 'x'",
        "UPDATE accounting_periodrevision SET payable = 0",
        "UPDATE accounting_periodrevision SET closed_at = NULL",
        "UPDATE accounting_periodrevision SET method = 'x'",
    ],
)
def test_a_closed_revision_takes_only_its_reopening(
    closed: PeriodRevision, change: str
) -> None:
    del closed
    with (
        pytest.raises(DatabaseError, match="closed periods do not change"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(change)


def test_a_cell_changed_with_triggers_off_changes_the_hash(
    closed: PeriodRevision,
) -> None:
    with without_triggers() as cursor:
        cursor.execute("UPDATE charge_line SET charge = charge + 0.01")
    assert store.hash_lines("charge_line", closed) != closed.hash


def test_a_month_without_data_is_closed_too(closed: PeriodRevision, days: Days) -> None:
    del closed
    days.forget()
    days.use("vision", OCTOBER, 378_000)
    november = close_period("2026-11")
    assert payables(november) == {"platform": "0.00"}
