"""Budgets: amounts by period, what they have used, and alerts that fire once (M35)."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
import time_machine
from django.contrib.auth import get_user_model
from django.utils import timezone
from pghistory.models import Events

from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING, NOTHING, Scope
from accounting.budgets.actions.budgets import (
    EndBudget,
    SetAmount,
    SetBudget,
    change_budget,
    create_budget,
    end_budget,
    fire_alerts,
)
from accounting.budgets.models import Budget, BudgetAlert
from accounting.budgets.pages.budget_lines import burn_chart, crossing_day
from accounting.budgets.reads.alerts import AlertRow
from accounting.budgets.reads.budgets import (
    BudgetRow,
    budget_detail,
    budget_rows,
    month_outlook,
)
from accounting.budgets.reads.history import ledger_time
from accounting.core.billing_calendar import DayRange
from accounting.kit.audit import SYSTEM, Actor
from accounting.kit.outcomes import Refused
from accounting.months.actions.entries import add_entry
from accounting.tasks import check_budgets
from portal.timetable import TIMETABLE
from tests.integration.budgets.days import FIRST, NOW, DayLedger
from tests.integration.months.people import person

REASON = "Agreed in the round of November."
NOVEMBER = date(2026, 11, 1)
TODAY = date(2026, 11, 20)


def budget(amount: int = 1000, actor: Actor = SYSTEM, **more: object) -> Budget:
    """A monthly budget in money, of Vision unless told otherwise."""
    wanted: dict[str, object] = {
        "team": None if "department" in more else Team.objects.get(slug="vision"),
        "unit": "month",
        "measure": "money",
        "amount": Decimal(amount),
        "reason": REASON,
    }
    made = create_budget(SetBudget(**wanted | more), actor)  # type: ignore[arg-type]
    return Budget.objects.get(pk=made.number)


def row(**more: object) -> BudgetRow:
    (found,) = budget_rows(EVERYTHING, ledger_time(timezone.now()), **more)  # type: ignore[arg-type]
    return found


def test_actual_forecast_and_range_of_the_month(ledger: DayLedger) -> None:
    """The example of M37 and M38, a month with 30 days: 14 complete days, 5 left."""
    ledger.steady(date(2026, 11, 12), date(2026, 11, 19), 10)
    ledger.steady(date(2026, 11, 19), date(2026, 11, 26), 12)
    ledger.read_to(NOW.replace(day=26, hour=0))
    budget(300)
    with time_machine.travel(NOW.replace(day=26, hour=0), tick=False):
        found = row()
    assert found.period == DayRange(NOVEMBER, date(2026, 12, 1))
    assert found.outlook
    assert found.outlook.actual == Decimal("154.000000")
    assert found.outlook.forecast
    assert found.outlook.forecast.amount == Decimal("209.000000")
    assert found.outlook.forecast.low == Decimal("186.862818")
    assert found.outlook.forecast.high == Decimal("231.137182")
    assert found.outlook.forecast.past_error == Decimal("0.1818")
    assert found.pace == Decimal("250.000000")  # 25 of 30 days are over
    assert found.left == Decimal("146.000000")


def test_without_enough_history_there_is_no_forecast(ledger: DayLedger) -> None:
    ledger.steady(date(2026, 11, 10), TODAY, 10)
    ledger.read_to(NOW)
    budget()
    outlook = row().outlook
    assert outlook
    assert (outlook.forecast, outlook.history_days) == (None, 10)
    assert outlook.actual == Decimal("100.000000")


def test_time_without_money_is_named(ledger: DayLedger) -> None:
    ledger.steady(FIRST, TODAY, 10)
    ledger.held(TODAY, 90, rate=None)
    budget()
    outlook = row().outlook
    assert outlook
    assert outlook.without_money_ms == 90_000


def test_a_budget_of_gpu_hours(ledger: DayLedger) -> None:
    ledger.steady(FIRST, TODAY, 3600)
    ledger.held(TODAY, 3600, rate=None)  # without a price: an hour all the same
    budget(100, measure="gpu-hours")
    found = row()
    assert found.outlook
    assert found.outlook.actual == Decimal("20.000000")
    assert found.outlook.without_money_ms == 0
    assert found.currency == ""


def test_a_department_is_its_teams_of_today(ledger: DayLedger) -> None:
    speech = Team.objects.create(slug="speech", name="Speech", department="Research")
    ledger.held(TODAY, 10)
    ledger.held(TODAY, 5, team=speech)
    budget(department="Research")
    assert row().outlook.actual == 15  # type: ignore[union-attr]
    speech.department = "Product"
    speech.save()
    assert row().outlook.actual == 10  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("unit", "first", "after", "actual"),
    [
        ("month", NOVEMBER, date(2026, 12, 1), 190),
        ("quarter", date(2026, 10, 1), date(2027, 1, 1), 500),
        ("year", date(2026, 1, 1), date(2027, 1, 1), 500),
    ],
)
def test_months_quarters_and_years(
    ledger: DayLedger, unit: str, first: date, after: date, actual: int
) -> None:
    ledger.steady(FIRST, TODAY, 10)
    budget(unit=unit)
    found = row()
    assert found.period == DayRange(first, after)
    assert found.outlook
    assert found.outlook.actual == actual


def test_an_earlier_period_keeps_its_amount(ledger: DayLedger) -> None:
    ledger.steady(FIRST, TODAY, 10)
    one = budget(400, from_on=FIRST)
    change_budget(one.pk, SetAmount(amount=Decimal(500), reason=REASON), SYSTEM)
    assert row().amount == 500
    assert row(periods_back=1).amount == 400
    change_budget(
        one.pk,
        SetAmount(amount=Decimal(600), from_on=date(2027, 1, 5), reason=REASON),
        SYSTEM,
    )
    assert row().amount == 500
    detail = budget_detail(EVERYTHING, ledger_time(timezone.now()), one.pk)
    assert detail
    assert [version.amount for version in detail.versions] == [600, 500, 400]
    assert detail.versions[0].from_on == date(2027, 1, 1)


def test_a_period_that_is_over_is_not_changed(ledger: DayLedger) -> None:
    del ledger
    one = budget(400, from_on=FIRST)
    with pytest.raises(Refused, match="is over"):
        change_budget(
            one.pk, SetAmount(amount=Decimal(5), from_on=FIRST, reason=REASON), SYSTEM
        )
    assert one.versions.count() == 1


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"amount": Decimal(0)}, "above 0"),
        ({"amount": Decimal("0.0000001")}, "six places"),
        ({"amount": Decimal(10) ** 12}, "below"),
        ({"department": "Nowhere"}, "no team belongs"),
        (
            {"department": "Research", "team": "vision"},
            "a team or a department, and not both",
        ),
        ({"unit": "week"}, "week"),
        ({"measure": "watts"}, "watts"),
    ],
)
def test_what_is_not_a_budget(
    ledger: DayLedger, more: dict[str, object], message: str
) -> None:
    if "team" in more:
        more = more | {"team": ledger.team}
    with pytest.raises(Refused, match=message):
        budget(**{"amount": 5} | more)  # type: ignore[arg-type]
    assert not Budget.objects.exists()


def test_one_budget_of_a_kind_until_it_ends(ledger: DayLedger) -> None:
    ledger.held(TODAY, 10)
    one = budget()
    budget(measure="gpu-hours")
    budget(unit="quarter")
    with pytest.raises(Refused, match="already has a budget by month in money"):
        budget()
    end_budget(one.pk, EndBudget(reason=REASON), SYSTEM)
    with pytest.raises(Refused, match="ended on 2026-11-20"):
        end_budget(one.pk, EndBudget(reason=REASON), SYSTEM)
    with pytest.raises(Refused, match="ended"):
        change_budget(one.pk, SetAmount(amount=Decimal(1), reason=REASON), SYSTEM)
    budget()
    found = budget_rows(EVERYTHING, ledger_time(timezone.now()))
    assert len(found) == 3


def test_changes_are_in_the_audit_log(ledger: DayLedger) -> None:
    del ledger
    fin = get_user_model().objects.create_user("fin")
    one = budget(actor=fin)
    change_budget(
        one.pk, SetAmount(amount=Decimal(7), reason="A second thought on it."), fin
    )
    found = [
        (event.pgh_model, event.pgh_context["actor"], event.pgh_context["reason"])
        for objects in ([one], list(one.versions.all()))
        for event in Events.objects.references(*objects)
    ]
    assert ("accounting.BudgetVersionEvent", "fin", "A second thought on it.") in found
    assert ("accounting.BudgetEvent", "fin", REASON) in found


def test_who_may_read_which_budget(ledger: DayLedger) -> None:
    ledger.held(TODAY, 10)
    speech = Team.objects.create(slug="speech", name="Speech", department="Research")
    budget()
    budget(team=speech)
    budget(department="Research")
    time = ledger_time(timezone.now())
    lead = Scope(frozenset({ledger.team.pk, speech.pk}), frozenset({speech.pk}))
    finance = Scope(None, is_finance=True)
    assert [one.team for one in budget_rows(lead, time)] == ["speech"]
    assert [one.team for one in budget_rows(finance, time)] == ["", "speech", "vision"]
    assert budget_rows(NOTHING, time) == []
    assert budget_detail(lead, time, Budget.objects.get(team=ledger.team).pk) is None


def test_money_of_another_currency_is_not_compared(ledger: DayLedger) -> None:
    ledger.held(TODAY, 10)
    budget()
    Budget.objects.update(currency="USD")
    assert row().outlook is None
    assert fire_alerts() == 0


# --- alerts -------------------------------------------------------------------------------


def fired() -> list[tuple[str, int]]:
    rows = BudgetAlert.objects.order_by("id").values_list(
        "threshold", "version__number"
    )
    return list(rows)


def test_thresholds_fire_once(ledger: DayLedger) -> None:
    ledger.held(TODAY, 49)
    budget(100)
    assert fire_alerts() == 0
    ledger.held(TODAY, 1, workload="more")
    assert fire_alerts() == 1
    assert fire_alerts() == 0
    ledger.held(TODAY, 60, workload="much")
    assert fire_alerts() == 2
    assert fired() == [("50", 1), ("80", 1), ("100", 1)]
    assert row().reached == ["50", "80", "100"]


def test_the_forecast_fires_before_the_money_is_spent(ledger: DayLedger) -> None:
    ledger.steady(FIRST, TODAY, 10)
    ledger.read_to(NOW)
    budget(300)  # 19 x 10 by now, and 11 x 10 to come
    assert fire_alerts() == 0  # they were recorded with the amount
    assert fired() == [("50", 1), ("forecast", 1)]
    alert = BudgetAlert.objects.get(threshold="forecast")
    assert [alert.actual, alert.forecast] == [190, 300]
    assert alert.period_on == NOVEMBER


def test_another_amount_fires_again(ledger: DayLedger) -> None:
    ledger.held(TODAY, 80)
    one = budget(100)
    fire_alerts()
    change_budget(one.pk, SetAmount(amount=Decimal(160), reason=REASON), SYSTEM)
    assert fire_alerts() == 0
    assert fired() == [("50", 1), ("80", 1), ("50", 2)]


def days_of(alerts: Sequence[AlertRow]) -> list[str]:
    """Amount, threshold, day, and what was spent then."""
    return [
        f"{one.amount:.0f} {one.threshold} {one.reached_on} {one.actual:.0f}"
        for one in alerts
    ]


def test_a_threshold_has_the_day_of_the_data(ledger: DayLedger) -> None:
    ledger.steady(NOVEMBER, TODAY, 10)
    made = budget(100)  # 10 on each day since the 1st
    reached = [
        "100 50 2026-11-05 50",
        "100 80 2026-11-08 80",
        "100 100 2026-11-10 100",
        "100 forecast 2026-11-20 190",  # the last day of the data
    ]
    assert days_of(row().alerts) == reached
    stored = BudgetAlert.objects.order_by("id").values_list("threshold", "reached_on")
    assert [f"100 {name} {day}" for name, day in stored] == [
        one.rsplit(" ", 1)[0] for one in reached
    ]
    assert fire_alerts() == 0
    change_budget(made.pk, SetAmount(amount=Decimal(140), reason=REASON), SYSTEM)
    assert days_of(row().alerts[:7]) == [
        *reached,
        "140 50 2026-11-07 70",
        "140 80 2026-11-12 120",
        "140 100 2026-11-14 140",
    ]


def test_thresholds_are_there_before_the_check_of_all(ledger: DayLedger) -> None:
    budget(100)
    assert row().reached == []
    ledger.held(TODAY, 85)
    assert row().reached == ["50", "80"]  # no task ran
    assert not BudgetAlert.objects.exists()


def test_a_credit_counts_from_its_day(ledger: DayLedger) -> None:
    ledger.steady(NOVEMBER, TODAY, 10)
    add_entry(
        "credit",
        ledger.team,
        date(2026, 11, 3),
        Decimal(-20),
        REASON,
        person("anna"),
    )
    budget(100)
    days = [one.reached_on and one.reached_on.day for one in row().alerts[:3]]
    assert days == [7, 10, 12]


def test_each_period_fires_anew(ledger: DayLedger) -> None:
    ledger.held(TODAY, 60)
    budget(100)
    fire_alerts()
    with time_machine.travel(datetime(2026, 12, 3, tzinfo=UTC), tick=False):
        ledger.held(date(2026, 11, 30), 40)  # known after the month has ended
        ledger.held(date(2026, 12, 2), 50)
        assert fire_alerts() == 3
    assert fired() == [("50", 1), ("50", 1), ("80", 1), ("100", 1)]
    periods = set(BudgetAlert.objects.values_list("period_on", flat=True))
    assert periods == {NOVEMBER, date(2026, 12, 1)}


def test_an_ended_budget_fires_no_more(ledger: DayLedger) -> None:
    one = budget(100)
    end_budget(one.pk, EndBudget(reason=REASON), SYSTEM)
    ledger.held(TODAY, 60)
    assert fire_alerts() == 0


def test_the_task_of_the_timetable_records_alerts(ledger: DayLedger) -> None:
    ledger.held(TODAY, 60)
    budget(100)
    entry = TIMETABLE["check_budgets"]
    assert entry["task"] == check_budgets.name
    check_budgets()
    assert fired() == [("50", 1)]


# --- one budget, one team -----------------------------------------------------------------


def test_the_days_of_a_period_end_in_the_forecast(ledger: DayLedger) -> None:
    ledger.steady(FIRST, TODAY, 10)
    ledger.held(TODAY, 4)
    ledger.read_to(NOW)
    one = budget(300)
    detail = budget_detail(EVERYTHING, ledger_time(timezone.now()), one.pk)
    assert detail
    assert detail.is_current
    assert len(detail.days) == 30
    by_day = {day.day: day for day in detail.days}
    assert by_day[date(2026, 11, 19)].actual == 190
    assert by_day[date(2026, 11, 19)].forecast is None
    assert by_day[TODAY].actual == 194
    of_today = by_day[TODAY].forecast
    assert of_today
    assert of_today.amount == 200  # the rest of the day is expected
    assert by_day[date(2026, 11, 21)].actual is None
    assert detail.row.outlook
    assert detail.days[-1].forecast == detail.row.outlook.forecast


def test_an_earlier_period_of_a_budget(ledger: DayLedger) -> None:
    ledger.steady(FIRST, TODAY, 10)
    ledger.read_to(NOW)
    one = budget(300, from_on=FIRST)
    time = ledger_time(timezone.now())
    detail = budget_detail(EVERYTHING, time, one.pk, date(2026, 10, 15))
    assert detail
    assert not detail.is_current
    assert detail.row.outlook
    assert detail.row.outlook.actual == 310
    assert detail.row.outlook.forecast
    assert detail.row.outlook.forecast.high == 310  # no day is left
    # before the first amount: the first period is shown
    early = budget_detail(EVERYTHING, time, one.pk, date(2026, 1, 15))
    assert early
    assert early.row.period.first == FIRST


def test_the_month_of_a_team(ledger: DayLedger) -> None:
    ledger.steady(FIRST, TODAY, 10)
    ledger.read_to(NOW)
    found = month_outlook(ledger.team.pk, ledger_time(timezone.now()))
    assert found.actual == 190
    assert found.forecast
    assert found.forecast.amount == 300


def test_the_day_on_which_a_budget_is_spent(ledger: DayLedger) -> None:
    ledger.steady(FIRST, TODAY, 10)
    ledger.read_to(NOW)
    time = ledger_time(timezone.now())
    spent, expected, never = (
        budget_detail(EVERYTHING, time, budget(amount, **more).pk)
        for amount, more in (
            (105, {}),
            (255, {"measure": "money", "unit": "month", "department": "Research"}),
            (9000, {"unit": "quarter"}),
        )
    )
    assert spent
    assert expected
    assert never
    assert crossing_day(spent) == date(2026, 11, 11)
    assert crossing_day(expected) == date(2026, 11, 26)
    assert crossing_day(never) is None
    assert "was spent on 11 Nov 2026" in burn_chart(spent).sentence
    assert "is expected to be spent on 26 Nov 2026" in burn_chart(expected).sentence
    assert burn_chart(never).sentence == "€8,500 of €9,000 left."
