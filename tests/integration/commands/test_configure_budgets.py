"""The section `budgets` of a setup file: created, changed, and left alone."""

from datetime import date
from pathlib import Path

import pytest
import time_machine

from accounting.budgets.models import Budget, BudgetVersion
from tests.integration.conftest import NOW
from tests.integration.metering.support import run

pytestmark = pytest.mark.django_db
SETUP = """\
billing: {currency: EUR, timezone: Europe/Berlin}
teams:
  - {slug: vision, department: Research}
  - {slug: search, department: Product}
budgets:
"""
VISION = "  - {team: vision, amount: 20000}\n"


def configure(path: Path, *budgets: str) -> str:
    file = path / "setup.yaml"
    file.write_text(SETUP + "".join(budgets))
    with time_machine.travel(NOW, tick=False):
        return run("configure", file)


def versions() -> list[tuple[str, str, date]]:
    found = BudgetVersion.objects.select_related("budget__team")
    return [
        (str(one.budget), f"{one.amount:.6f}", one.from_on)
        for one in found.order_by("id")
    ]


def test_budgets_are_created_once(tmp_path: Path) -> None:
    hours = "  - {department: Research, per: quarter, gpu_hours: '4500.5'}\n"
    said = configure(tmp_path, VISION, hours)
    assert "changed: budget of vision by month" in said
    assert "changed: budget of Research by quarter" in said
    assert versions() == [
        ("vision by month in EUR", "20000.000000", date(2026, 11, 1)),
        ("Research by quarter in GPU-hours", "4500.500000", date(2026, 10, 1)),
    ]
    assert configure(tmp_path, VISION, hours) == "no changes\n"


def test_a_budget_can_begin_in_an_earlier_month(tmp_path: Path) -> None:
    configure(tmp_path, "  - {team: vision, amount: 5, valid_from: 2026-08-20}\n")
    assert versions() == [("vision by month in EUR", "5.000000", date(2026, 8, 1))]


def test_another_amount_is_another_version_from_the_current_period(
    tmp_path: Path,
) -> None:
    configure(tmp_path, VISION)
    said = configure(
        tmp_path, "  - {team: vision, amount: 21000, valid_from: 2026-08-20}\n"
    )
    assert "changed: budget of vision by month: 21000" in said
    assert [version[1:] for version in versions()] == [
        ("20000.000000", date(2026, 11, 1)),
        ("21000.000000", date(2026, 11, 1)),
    ]


def test_budgets_that_the_file_does_not_contain_stay(tmp_path: Path) -> None:
    configure(tmp_path, VISION)
    configure(tmp_path, "  - {team: search, amount: 5}\n")
    assert Budget.objects.filter(ended_on=None).count() == 2


def test_departments_of_stored_teams_are_known(tmp_path: Path) -> None:
    configure(tmp_path, VISION)
    file = tmp_path / "more.yaml"
    file.write_text("budgets:\n  - {department: Product, amount: 5}\n")
    assert "budget of Product" in run("configure", file)
