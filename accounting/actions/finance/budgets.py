"""Budgets: created, changed and ended by finance; alerts when they reach a threshold."""

from collections.abc import Iterable
from datetime import date
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounting.access import EVERYTHING
from accounting.audit import Actor, act
from accounting.domain.billing.budgets import period_of
from accounting.models import (
    Budget,
    BudgetAlert,
    BudgetMeasure,
    BudgetVersion,
    Team,
)
from accounting.queries.finance.budgets.budgets import (
    BudgetRow,
    budget_row,
    budget_rows,
)
from accounting.queries.finance.budgets.history import ledger_time

PLACES = Decimal("0.000001")
LARGEST = Decimal(10) ** 12


class BudgetError(ValueError):
    """The request cannot be fulfilled; nothing was changed."""


def create_budget(
    *,
    team: Team | None = None,
    department: str = "",
    unit: str,
    measure: str,
    amount: Decimal,
    from_on: date | None = None,
    actor: Actor,
    reason: str,
) -> Budget:
    """Create a budget of a team or a department.

    Args:
        team, department: exactly one of them; a department has at least one team.
        unit: `month`, `quarter` or `year`.
        measure: `money`, in the billing currency, or `gpu-hours`.
        amount: of each period.
        from_on: a day of the first period; None for the current one.
        actor: the person who creates it.
        reason: for the audit log.

    Raises:
        BudgetError: an amount or department that is not valid, or a budget that exists.
    """
    if bool(team) == bool(department):
        raise BudgetError("a budget is for one team or one department")
    if department and not Team.objects.filter(department=department).exists():
        raise BudgetError(f"no team belongs to the department {department!r}")
    time = ledger_time(timezone.now())
    is_money = measure == BudgetMeasure.MONEY
    budget = Budget(
        team=team,
        department=department,
        unit=unit,
        measure=measure,
        currency=time.currency if is_money else "",
    )
    with act(actor, reason):
        _check(budget)
        try:
            with transaction.atomic():
                budget.save()
        except IntegrityError:
            raise BudgetError(
                f"{team.slug if team else department} already has a budget by {unit} "
                f"in {'money' if is_money else 'GPU-hours'}: change its amount, or end it"
            ) from None
        first = period_of(unit, from_on or time.today).first
        _add_version(budget, amount, first, actor, reason)
    _record_now(budget)
    return budget


def change_budget(
    budget: Budget,
    amount: Decimal,
    *,
    from_on: date | None = None,
    actor: Actor,
    reason: str,
) -> BudgetVersion:
    """Give a budget another amount from a period on; earlier periods keep theirs.

    Args:
        budget: one that has not ended.
        amount: of each period.
        from_on: a day of the first period; None for the current one.
        actor: the person who changes it.
        reason: for the audit log.

    Raises:
        BudgetError: the budget has ended, a period that is over, or an amount that is not valid.
    """
    with act(actor, reason):
        budget = Budget.objects.select_for_update().get(pk=budget.pk)
        if budget.ended_on:
            raise BudgetError(f"this budget ended on {budget.ended_on}")
        today = ledger_time(timezone.now()).today
        current = period_of(budget.unit, today).first
        first = period_of(budget.unit, from_on).first if from_on else current
        if first < current:
            raise BudgetError(
                f"the {budget.unit} that began on {first} is over: its amount stays"
            )
        made = _add_version(budget, amount, first, actor, reason)
    _record_now(budget)
    return made


def end_budget(budget: Budget, *, actor: Actor, reason: str) -> Budget:
    """End a budget: it raises no more alerts. Its past periods stay readable.

    Raises:
        BudgetError: it has ended.
    """
    with act(actor, reason):
        budget = Budget.objects.select_for_update().get(pk=budget.pk)
        if budget.ended_on:
            raise BudgetError(f"this budget ended on {budget.ended_on}")
        budget.ended_on = ledger_time(timezone.now()).today
        budget.save(update_fields=["ended_on"])
    return budget


def _check(budget: Budget) -> None:
    try:
        budget.clean_fields()
    except ValidationError as error:
        texts = [
            f"{name}: {' '.join(said)}" for name, said in error.message_dict.items()
        ]
        raise BudgetError("; ".join(texts)) from None


def _add_version(
    budget: Budget, amount: Decimal, first: date, actor: Actor, reason: str
) -> BudgetVersion:
    if not 0 < amount < LARGEST or amount != amount.quantize(PLACES):
        raise BudgetError(
            f"the amount {amount} must be above 0 and below 10^12, with at most six places"
        )
    name = actor if isinstance(actor, str) else actor.get_username()
    return BudgetVersion.objects.create(
        budget=budget,
        number=budget.versions.count() + 1,
        amount=amount,
        from_on=first,
        set_by=name,
        reason=reason,
    )


def fire_alerts() -> int:
    """Record the thresholds that budgets have reached; returns how many are new.

    The period before the current one is checked as well: its last hours are known after its end.
    """
    time = ledger_time(timezone.now())
    rows = [
        *budget_rows(EVERYTHING, time),
        *budget_rows(EVERYTHING, time, periods_back=1),
    ]
    return _recorded(rows)


def _record_now(budget: Budget) -> None:
    """What a new amount has reached already, without waiting for the next check of all."""
    row = budget_row(EVERYTHING, ledger_time(timezone.now()), budget.pk)
    _recorded([row] if row else [])


def _recorded(rows: Iterable[BudgetRow]) -> int:
    wanted = [alert for row in rows for alert in _alerts(row)]
    with transaction.atomic():
        before = BudgetAlert.objects.count()
        BudgetAlert.objects.bulk_create(wanted, ignore_conflicts=True)
        return BudgetAlert.objects.count() - before


def _alerts(row: BudgetRow) -> list[BudgetAlert]:
    """The alerts of all thresholds that the amount in effect has reached."""
    return [
        BudgetAlert(
            version_id=row.version_id,
            period_on=row.period.first,
            threshold=one.threshold,
            reached_on=one.reached_on,
            actual=one.actual,
            forecast=one.forecast,
        )
        for one in row.alerts
        if one.version == row.version
    ]
