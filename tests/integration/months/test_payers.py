"""Names of teams on statements: of a closed month those of its close (money.md M29, M33).

Not here: names in the cells of FOCUS rows (tests/unit/exports/focus).
"""

import csv
from datetime import date
from pathlib import Path

import pytest
from django.db import DatabaseError, transaction
from django.test import Client

from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING
from accounting.exports.sql.file_tables import What
from accounting.exports.tasks.files import write_file
from accounting.exports.tasks.request import ExportRequest
from accounting.months.models.period import PeriodRevision
from accounting.months.reads.lines import booking_of
from accounting.months.reads.statements import statement_rows
from accounting.months.tasks.close import close_period, reopen_period
from accounting.months.tasks.running import book_running
from accounting.organization.actions.teams import save_team
from tests.database_flush import without_triggers
from tests.integration.months.days import H100, Days
from tests.integration.months.people import person
from tests.page_html import html_of

HOUR = 3_600_000
OLD, NEW = ("Vision", "Research", "CC-1"), ("Robotics", "Products", "CC-2")


@pytest.fixture(autouse=True)
def renamed(days: Days) -> None:
    """October, closed; then vision has another name, department and cost center."""
    days.price(H100, "1")
    days.use("vision", date(2026, 10, 5), HOUR)
    days.use("vision", date(2026, 11, 5), HOUR)
    rename(OLD)
    close_period("2026-10")
    rename(NEW)
    book_running("2026-11")


def rename(values: tuple[str, str, str]) -> None:
    name, department, cost_centre = values
    save_team(
        slug="vision",
        name=name,
        department=department,
        cost_centre=cost_centre,
        actor="test",
    )


def named(period: str, revision: int | None = None) -> tuple[str, str, str]:
    rows = statement_rows(booking_of(period, revision), EVERYTHING)
    [one] = [row for row in rows if row.team == "vision"]
    return one.name, one.department, one.cost_centre


def signed_in(name: str = "fin") -> Client:
    client = Client()
    client.force_login(person(name))
    return client


def test_a_closed_statement_keeps_the_names_of_its_close() -> None:
    assert named("2026-10") == OLD
    assert named("2026-11") == NEW
    fin = signed_in()
    for page in ("/statements/vision/2026-10", "/months/2026-10"):
        html = html_of(fin.get(page))
        assert "Vision" in html, page
        assert "Robotics" not in html, page
    statement = html_of(fin.get("/statements/vision/2026-10"))
    assert "Department: Research." in statement
    assert "Cost center: CC-1." in statement
    running = html_of(fin.get("/statements/vision/2026-11"))
    assert "Statement of Robotics" in running
    assert "Department: Products." in running


def test_charges_of_a_closed_month_name_teams_as_it_does() -> None:
    fin = signed_in()
    rows = fin.get("/charges?period=2026-10&by=team").context["page"].lines
    assert "Vision" in {row["fields"][0] for row in rows}
    rows = fin.get("/charges?period=2026-11&by=team").context["page"].lines
    assert "Robotics" in {row["fields"][0] for row in rows}


@pytest.mark.parametrize(("period", "expected"), [("2026-10", OLD), ("2026-11", NEW)])
def test_rest_has_the_names_of_the_close(
    period: str, expected: tuple[str, str, str]
) -> None:
    fin = signed_in()
    one = fin.get(f"/api/v1/statements/vision/{period}").json()
    listed = fin.get(f"/api/v1/statements?period={period}&team=vision").json()["rows"][
        0
    ]
    for found in (one, listed):
        assert (found["name"], found["department"], found["cost_center"]) == expected
    platform = fin.get(f"/api/v1/statements/platform/{period}").json()
    assert (platform["name"], platform["department"]) == ("Platform", None)


@pytest.mark.parametrize(("period", "expected"), [("2026-10", OLD), ("2026-11", NEW)])
def test_files_have_the_names_of_the_close(
    period: str, expected: tuple[str, str, str], tmp_path: Path
) -> None:
    focus = written(ExportRequest(What.FOCUS, period), tmp_path)
    names = {row["SubAccountId"]: row["SubAccountName"] for row in focus}
    assert names["vision"] == expected[0]
    statements = written(ExportRequest(What.STATEMENTS, period), tmp_path)
    rows = {row["team"]: row for row in statements}
    vision = rows["vision"]
    assert (vision["name"], vision["department"], vision["cost_center"]) == expected
    assert (rows["platform"]["name"], rows["platform"]["department"]) == (
        "Platform",
        "",
    )


def written(request: ExportRequest, folder: Path) -> list[dict[str, str]]:
    with write_file(request, folder).path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_the_names_of_a_close_do_not_change() -> None:
    with (
        pytest.raises(DatabaseError, match="closed periods do not change"),
        transaction.atomic(),
    ):
        PeriodRevision.objects.filter(period="2026-10").update(payers={})
    assert named("2026-10") == OLD


def test_the_next_revision_has_the_names_of_its_own_close() -> None:
    reopen_period(
        "2026-10", reason="x" * 10, by=person("anna"), confirmed_by=person("ben")
    )
    close_period("2026-10")
    assert named("2026-10") == NEW
    assert named("2026-10", 1) == OLD


def test_a_close_without_stored_names_has_those_of_today() -> None:
    """As closed before they were stored."""
    with without_triggers() as cursor:
        cursor.execute("UPDATE accounting_periodrevision SET payers = '{}'")
    assert PeriodRevision.objects.get(period="2026-10").payers == {}
    assert named("2026-10") == NEW
    Team.objects.filter(slug="vision").update(name="Vision again")
    assert named("2026-10")[0] == "Vision again"
