"""Budgets, unusual days and waste (alerts.md R2, R4, R5): the figures of their own pages."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db.models import Sum

from accounting.access.models.teams import Team
from accounting.access.reads.billing_settings import (
    billing_at,
    billing_day,
    billing_remembered,
    midnight,
)
from accounting.access.scope import EVERYTHING
from accounting.budgets.reads.anomalies import AnomalyRow, anomaly_report
from accounting.budgets.reads.budgets import BudgetRow, budget_rows
from accounting.budgets.reads.history import (
    LedgerTime,
    complete_days,
    ledger_time,
)
from accounting.budgets.rules.budgets import Threshold, is_expected
from accounting.core.billing_calendar import DAY, DayRange
from accounting.core.money import minor_places
from accounting.core.money_text import amount_text
from accounting.prices.rules.charge import charge_of
from scheduler_view.alerts.rules.catalogue import Limits
from scheduler_view.alerts.rules.cause import AlertCause, Firing
from scheduler_view.alerts.rules.states import FigureUnit
from scheduler_view.savings.models import WasteFinding
from scheduler_view.savings.reads.row import WasteRow
from scheduler_view.savings.reads.rows import rounded_by_rule, waste_report
from scheduler_view.savings.rules.finding import WasteRule
from scheduler_view.savings.rules.wording import NOT_IN_TOTALS, rule_text

WEEK_DAYS = 7
_MOMENT = timedelta(milliseconds=1)  # what the figures of a day say counts on that day
LATEST_DAYS = 7  # an unusual day needs a person for as long as no later day is complete


def _team_numbers() -> Mapping[str, int]:
    return dict(Team.objects.values_list("slug", "pk"))


def budget_causes(limits: Limits, at: datetime) -> Iterator[AlertCause]:
    """Budgets whose forecast, or spend, is above the amount by the threshold (M35)."""
    time, teams = ledger_time(at), _team_numbers()
    for row in budget_rows(EVERYTHING, time):
        team = teams.get(row.team) if row.team else None
        above = limits.of(team)
        if above is not None and _is_over(row, above):
            yield _budget(row, team, time)


def _expected(row: BudgetRow) -> Decimal | None:
    """The forecast of the period, or what is spent already if that is more or all that is known."""
    if row.outlook is None:
        return None
    forecast = row.outlook.forecast
    actual = row.outlook.actual
    return max(forecast.amount, actual) if forecast else actual


def _is_over(row: BudgetRow, above: int) -> bool:
    return is_expected(_expected(row), row.amount * (100 + above) / 100)


def _budget(row: BudgetRow, team: int | None, time: LedgerTime) -> AlertCause:
    expected = _expected(row) or Decimal(0)
    spent = row.outlook.actual if row.outlook else Decimal(0)
    over = expected - row.amount
    verb = "exceeded" if spent >= row.amount else "is expected to exceed"
    reached = [
        one.reached_on
        for one in row.alerts
        if one.reached_on and one.threshold in (Threshold.ALL, Threshold.FORECAST)
    ]
    since = midnight(min(reached)) if reached else time.until
    unit = row.currency or "GPU-hours"
    texts = [amount_text(x, unit, 0) for x in (expected, row.amount)]
    if not row.is_money:
        texts = [f"{x:,.0f} GPU-h" for x in (expected, row.amount)]
    return AlertCause(
        key=f"{row.id}/{row.period.first}",
        what=f"{row.name} {verb} its budget of {_period(row)}",
        about=f"{texts[0]} expected, {texts[1]} budget",
        team=team,
        since=since,
        fired_at=time.until,
        keeps_since=True,
        figure=over,
        unit=row.currency if row.is_money else FigureUnit.GPU_HOURS,
        amount=over if row.is_money else None,
        currency=row.currency if row.is_money else "",
        place=(row.id,),
    )


def _period(row: BudgetRow) -> str:
    first = row.period.first
    if row.unit == "month":
        return f"{first:%B %Y}"
    return f"{first:%Y}" if row.unit == "year" else f"the quarter from {first:%-d %b}"


def budget_past(
    choices: Iterable[int], start: datetime, end: datetime
) -> Iterator[Firing]:
    """When forecasts exceeded budgets first, as of the end of each day: then it counts."""
    choices, teams = tuple(choices), _team_numbers()
    time = ledger_time(end)
    over: dict[int, set[tuple[int, date]]] = defaultdict(set)
    last = min(billing_day(end), time.today)
    for day in DayRange(billing_day(start), last + DAY).each():
        for row in budget_rows(EVERYTHING, replace(time, today=day)):
            key = row.id, row.period.first
            for above in choices:
                if key not in over[above] and _is_over(row, above):
                    over[above].add(key)
                    at = max(start, midnight(day) - _MOMENT)
                    yield Firing(above, teams.get(row.team, 0), at)


def spend_causes(limits: Limits, at: datetime) -> Iterator[AlertCause]:
    """Teams whose newest complete day is unusual and above what was expected (M40)."""
    time, teams = ledger_time(at), _team_numbers()
    days = DayRange(time.today - LATEST_DAYS * DAY, time.today + DAY)
    newest = _newest_complete(days, time)
    if newest is None:
        return
    for row in _above(DayRange(newest, newest + DAY), time):
        team = teams.get(row.team)
        least = limits.of(team)
        if least is not None and _percent(row) >= least:
            yield _spend(row, team)


def _newest_complete(days: DayRange, time: LedgerTime) -> date | None:
    return max(complete_days(days, time), default=None)


def _above(days: DayRange, time: LedgerTime) -> Sequence[AnomalyRow]:
    report = anomaly_report(EVERYTHING, time, days, settings.ANOMALY_MINIMUM)
    return [row for row in report.rows if row.difference > 0]


def _percent(row: AnomalyRow) -> Decimal:
    """By how much it is above the expected; any threshold without an expectation."""
    if row.expected <= 0:
        return Decimal("Infinity")
    return row.difference * 100 / row.expected


def _spend(row: AnomalyRow, team: int | None) -> AlertCause:
    expected = amount_text(row.expected, row.currency, 0)
    actual = amount_text(row.actual, row.currency, 0)
    moved = f", mostly {row.workload or row.namespace}" if row.namespace else ""
    return AlertCause(
        key=row.team,
        what=f"{row.team_name} spent more than usual on {row.day:%-d %b}",
        about=f"{actual}, {expected} expected{moved}"[:500],
        team=team,
        since=midnight(row.day),
        fired_at=midnight(row.day + DAY),
        figure=row.difference,
        unit=row.currency,
        amount=row.difference,
        currency=row.currency,
    )


def spend_past(
    choices: Iterable[int], start: datetime, end: datetime
) -> Iterator[Firing]:
    """Unusual days of the past, each at its end; days in a row are one cause."""
    time, teams = ledger_time(end), _team_numbers()
    rows = _above(DayRange(billing_day(start) - DAY, billing_day(end)), time)
    for least in choices:
        loud = {(row.team, row.day) for row in rows if _percent(row) >= least}
        for team, day in sorted(loud):
            at = max(start, midnight(day + DAY) - _MOMENT)
            if (team, day - DAY) not in loud and at < end:
                yield Firing(least, teams.get(team, 0), at)


def waste_causes(limits: Limits, at: datetime) -> Iterator[AlertCause]:
    """Families about which findings of the last seven days come to the threshold.

    Only findings whose amounts add up to the total; what has no price cannot reach it. Amounts are
    those of the page to which the button leads, which has one team in one cluster.
    """
    today, teams = billing_day(at), _team_numbers()
    days = DayRange(today - WEEK_DAYS * DAY, today)
    places = minor_places(billing_at(at).currency)
    shown: dict[tuple[str, str], list[WasteRow]] = defaultdict(list)
    for row in waste_report(EVERYTHING, days, places).rows:
        if row.team:
            shown[row.cluster, row.team].append(row)
    grouped: dict[tuple[str, ...], list[WasteRow]] = defaultdict(list)
    for rows in shown.values():
        for row in rounded_by_rule(rows, places):
            if row.is_in_totals and row.amount is not None:
                grouped[row.cluster, row.team, row.address, row.currency].append(row)
    for same in grouped.values():
        team = teams.get(same[0].team)
        least = limits.of(team)
        amount = sum((row.amount or Decimal(0) for row in same), Decimal(0))
        if least is not None and amount >= least:
            yield _waste(same, team, amount, days)


def _waste(
    same: Sequence[WasteRow], team: int | None, amount: Decimal, days: DayRange
) -> AlertCause:
    first = same[0]
    rules = ", ".join(sorted({rule_text(row.rule).title for row in same}))
    return AlertCause(
        key=f"{first.cluster}/{first.team}/{first.namespace}/{first.family}",
        what=f"{first.family} of {first.namespace} wastes GPU time",
        about=f"{rules}, on {first.cluster}"[:500],
        team=team,
        since=min(row.start for row in same),
        fired_at=midnight(days.after),
        keeps_since=True,
        figure=amount,
        unit=first.currency,
        amount=amount,
        currency=first.currency,
        query={
            "from": days.first.isoformat(),
            "to": days.after.isoformat(),
            "cluster": first.cluster,
            "team": first.team,
            "family": first.address,
        },
    )


def waste_past(
    choices: Iterable[int], start: datetime, end: datetime
) -> Iterator[Firing]:
    """When findings of seven days came to so much, by family, at the end of each day."""
    first, after = billing_day(start) - WEEK_DAYS * DAY, billing_day(end)
    daily: dict[tuple[object, ...], dict[date, Decimal]] = defaultdict(dict)
    found = (
        WasteFinding.objects.filter(
            day__gte=first, day__lt=after, team__isnull=False, currency__gt=""
        )
        .exclude(rule__in=NOT_IN_TOTALS | {WasteRule.IN_USE})
        .order_by()
        .values_list(
            "team_id",
            "cluster_id",
            "workload__namespace_id",
            "workload__family",
            "currency",
            "day",
        )
        .annotate(Sum("raw"))
    )
    for *key, day, raw in found:
        daily[tuple(key)][day] = charge_of(raw)
    with billing_remembered():
        for (team, *_), amounts in daily.items():
            yield from _crossings(choices, int(str(team)), amounts, start, end)


def _crossings(
    choices: Iterable[int],
    team: int,
    amounts: Mapping[date, Decimal],
    start: datetime,
    end: datetime,
) -> Iterator[Firing]:
    """When the sum of seven days rises to each threshold, at the end of the last of them."""
    days = DayRange(billing_day(start) - DAY, billing_day(end)).each()
    sums = [
        sum(amounts.get(day - n * DAY, Decimal(0)) for n in range(WEEK_DAYS))
        for day in days
    ]
    for least in choices:
        for before, now, day in zip([0, *sums], sums, days, strict=False):
            at = max(start, midnight(day + DAY) - _MOMENT)
            if before < least <= now and at < end:
                yield Firing(least, team, at)
