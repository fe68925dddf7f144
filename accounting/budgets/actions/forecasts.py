"""Records forecasts of the running month, so that they can be compared with what it came to."""

from django.utils import timezone

from accounting.access.models.teams import Team
from accounting.budgets.models import ForecastRecord
from accounting.budgets.reads.history import ledger_time
from accounting.budgets.reads.outlook import history_of, outlook
from accounting.budgets.rules.budgets import period_of

RECORDED_DAYS = (10, 20)  # money.md M39


def record_forecasts() -> int:
    """On the 10th and 20th day of a month, record each team's forecast once.

    Returns:
        How many are new; a team without enough history has none.
    """
    time = ledger_time(timezone.now())
    if time.first is None or time.today.day not in RECORDED_DAYS:
        return 0
    period = period_of("month", time.today)
    known = ForecastRecord.objects.filter(period_on=period.first, day=time.today.day)
    recorded = set(known.values_list("team_id", flat=True))
    missing = [team for team in Team.objects.all() if team.pk not in recorded]
    if not missing:
        return 0
    history = history_of([period], time, [team.pk for team in missing])
    found = [
        ForecastRecord(
            team=team,
            period_on=period.first,
            day=time.today.day,
            currency=time.currency,
            amount=one.amount,
            low=one.low,
            high=one.high,
        )
        for team in missing
        if (one := outlook(history, [team.pk], period, is_money=True).forecast)
    ]
    ForecastRecord.objects.bulk_create(found, ignore_conflicts=True)
    return len(found)
