"""Unusual days of teams, and what drove them (M40)."""

from datetime import date, timedelta
from decimal import Decimal

from django.utils import timezone

from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING, Scope
from accounting.budgets.reads.anomalies import (
    AnomalyReport,
    anomaly_report,
    compared_days,
)
from accounting.budgets.reads.history import ledger_time
from accounting.core.billing_calendar import DayRange
from tests.integration.budgets.days import FIRST, NOW, DayLedger

NOVEMBER = DayRange(date(2026, 11, 1), date(2026, 12, 1))
ODD = date(2026, 11, 18)
FIFTY = Decimal(50)


def report(
    scope: Scope = EVERYTHING, minimum: Decimal = FIFTY, **more: object
) -> AnomalyReport:
    time = ledger_time(timezone.now())
    return anomaly_report(scope, time, NOVEMBER, minimum, **more)  # type: ignore[arg-type]


def test_an_unusual_day_names_its_driver(ledger: DayLedger) -> None:
    ledger.steady(FIRST, date(2026, 11, 20), 100)
    ledger.held(ODD, 30, workload="sweep", model="NVIDIA-A10")
    ledger.held(ODD, 40, workload="other")
    ledger.read_to(NOW)
    (row,) = report().rows
    assert (row.team, row.day, row.currency) == ("vision", ODD, "EUR")
    assert [row.expected, row.actual, row.difference] == [100, 170, 70]
    assert (row.model, row.namespace) == ("NVIDIA-L40S", "vision-prod")
    assert row.workload == "other"


def test_a_day_without_time_of_a_team_is_an_anomaly(ledger: DayLedger) -> None:
    day = FIRST
    while day < date(2026, 11, 20):
        if day != ODD:
            ledger.held(day, 100)
        ledger.read(day)
        day += timedelta(days=1)
    ledger.read_to(NOW)
    (row,) = report().rows
    assert [row.actual, row.difference] == [0, -100]
    assert row.workload == "train"


def test_the_minimum_and_the_teams(ledger: DayLedger) -> None:
    ledger.steady(FIRST, date(2026, 11, 20), 100)
    ledger.held(ODD, 70, workload="sweep")
    ledger.read_to(NOW)
    assert report(minimum=Decimal(70)).rows
    assert not report(minimum=Decimal("70.000001")).rows
    assert report(teams=["vision"]).rows
    assert not report(teams=["unmapped"]).rows


def test_unmapped_time_is_for_finance(ledger: DayLedger) -> None:
    nobody = Team(pk=0)
    day = FIRST
    while day < date(2026, 11, 20):
        ledger.held(day, 200 if day == ODD else 100, team=nobody)
        ledger.read(day)
        day += timedelta(days=1)
    ledger.read_to(NOW)
    assert [row.team for row in report().rows] == ["unmapped"]
    lead = Scope(frozenset({ledger.team.pk}), frozenset({ledger.team.pk}))
    assert report(lead).rows == ()


def test_a_lead_sees_their_team_and_a_member_none(ledger: DayLedger) -> None:
    speech = Team.objects.create(slug="speech", name="Speech")
    ledger.steady(FIRST, date(2026, 11, 20), 100)
    for team in (ledger.team, speech):
        ledger.held(ODD, 170, team=team, workload="sweep")
    ledger.read_to(NOW)
    assert {row.team for row in report().rows} == {"vision"} | {"speech"}
    both = frozenset({ledger.team.pk, speech.pk})
    assert [r.team for r in report(Scope(both, frozenset({speech.pk}))).rows] == [
        "speech"
    ]
    assert report(Scope(both)).rows == ()


def test_days_without_enough_history_are_counted(ledger: DayLedger) -> None:
    ledger.steady(date(2026, 11, 1), date(2026, 11, 20), 100)
    ledger.read_to(NOW)
    found = report()
    assert (found.rows, found.checked, found.days) == ((), 5, 20)  # from the 15th on


def test_the_days_of_a_team_are_those_of_the_report(ledger: DayLedger) -> None:
    ledger.steady(FIRST, date(2026, 11, 20), 100)
    ledger.held(ODD, 70, workload="sweep")
    ledger.read_to(NOW)
    found = report()
    (series,) = found.series.values()
    days = compared_days(series, NOVEMBER, FIFTY)
    assert [one.day for one in days] == [date(2026, 11, n) for n in range(1, 20)]
    assert {(one.low, one.expected, one.high) for one in days} == {
        (Decimal(50), Decimal(100), Decimal(150))
    }
    outside = [one for one in days if not one.low < one.actual < one.high]  # type: ignore[operator]
    assert [(one.day, one.actual) for one in outside] == [
        (row.day, row.actual) for row in found.rows
    ]


def test_days_without_enough_history_have_no_range(ledger: DayLedger) -> None:
    ledger.steady(date(2026, 11, 1), date(2026, 11, 20), 100)
    ledger.read_to(NOW)
    (series,) = report().series.values()
    days = compared_days(series, NOVEMBER, FIFTY)
    assert [one.day.day for one in days if one.expected is not None] == [*range(15, 20)]
    assert {one.actual for one in days} == {Decimal(100)}
