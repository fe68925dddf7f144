"""Budgets: created, changed and ended by finance; alerts when they reach a threshold."""

from collections.abc import Iterable
from datetime import date
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounting.access.models.teams import Team
from accounting.access.scope import EVERYTHING
from accounting.budgets.models import (
    Budget,
    BudgetAlert,
    BudgetMeasure,
    BudgetUnit,
    BudgetVersion,
)
from accounting.budgets.reads.budgets import BudgetRow, budget_row, budget_rows
from accounting.budgets.reads.history import ledger_time
from accounting.budgets.rules.budgets import period_of
from accounting.kit.audit import Actor, act
from accounting.kit.inputs import body, reason, value
from accounting.kit.outcomes import Done, RefusalCode, Refused

PLACES = Decimal("0.000001")
LARGEST = Decimal(10) ** 12
DIGITS = (18, 6)
AMOUNT = {  # on pages
    "min_value": 0,
    "help_text": "For each period, in the billing currency or in GPU-hours.",
}
FROM_ON = {
    "label": "From the period with this day",
    "help_text": "If empty, the current period.",
}


@body("BudgetBody")
class SetBudget:
    """A budget to create; the amount of an existing one is changed."""

    team: Team | None = value(by="slug", default=None)
    department: str = value(size=(1, 200), default="")
    unit: str = value(
        choices=BudgetUnit,
        default=BudgetUnit.MONTH,
        page={"label": "For each", "required": True},
    )
    measure: str = value(
        choices=BudgetMeasure,
        default=BudgetMeasure.MONEY,
        page={"label": "Measured in", "required": True},
    )
    amount: Decimal = value(size=DIGITS, page=AMOUNT)
    from_on: date | None = value(
        "a day of the first period; default: the current one",
        default=None,
        page=FROM_ON,
    )
    reason: str = reason()

    def check(self) -> None:
        """Exactly one of team and department."""
        if bool(self.team) == bool(self.department):
            raise Refused("Give a team or a department, and not both.", member="team")


@body("BudgetAmount")
class SetAmount:
    """An amount of a budget, from a period on."""

    amount: Decimal = value(size=DIGITS, page=AMOUNT)
    from_on: date | None = value(default=None, page=FROM_ON)
    reason: str = reason()


@body("BudgetEnd")
class EndBudget:
    """Why a budget ends."""

    reason: str = reason()


def set_budget(given: SetBudget, actor: Actor) -> Done:
    """Create a budget, or change the amount of the same one.

    Raises:
        Refused: as `create_budget` and `change_budget`.
    """
    known = Budget.objects.filter(
        team=given.team,
        department=given.department,
        unit=given.unit,
        measure=given.measure,
        ended_on=None,
    ).first()
    if known is None:
        return create_budget(given, actor)
    amount = SetAmount(amount=given.amount, from_on=given.from_on, reason=given.reason)
    change_budget(known.pk, amount, actor)
    return Done(known.pk)


def create_budget(given: SetBudget, actor: Actor) -> Done:
    """Create a budget of a team or a department, which has at least one team.

    Raises:
        Refused: an amount or department that is not valid, or a budget that exists.
    """
    given.check()
    team, department = given.team, given.department
    if department and not Team.objects.filter(department=department).exists():
        raise Refused(
            f"no team belongs to the department {department!r}", member="department"
        )
    time = ledger_time(timezone.now())
    is_money = given.measure == BudgetMeasure.MONEY
    budget = Budget(
        team=team,
        department=department,
        unit=given.unit,
        measure=given.measure,
        currency=time.currency if is_money else "",
    )
    with act(actor, given.reason):
        _check(budget)
        try:
            with transaction.atomic():
                budget.save()
        except IntegrityError:
            raise Refused(
                f"{team.slug if team else department} already has a budget by {given.unit} "
                f"in {'money' if is_money else 'GPU-hours'}: change its amount, or end it"
            ) from None
        first = period_of(given.unit, given.from_on or time.today).first
        _add_version(budget, given, first, actor)
    _record_now(budget)
    return Done(budget.pk, is_new=True)


def change_budget(number: int, given: SetAmount, actor: Actor) -> None:
    """Give a budget another amount from a period on; earlier periods keep theirs.

    Raises:
        Refused: the budget has ended, a period that is over, or an amount that is not valid.
    """
    with act(actor, given.reason):
        budget = _open(number)
        today = ledger_time(timezone.now()).today
        current = period_of(budget.unit, today).first
        first = (
            period_of(budget.unit, given.from_on).first if given.from_on else current
        )
        if first < current:
            raise Refused(
                f"the {budget.unit} that began on {first} is over: its amount stays",
                member="from_on",
            )
        _add_version(budget, given, first, actor)
    _record_now(budget)


def end_budget(number: int, given: EndBudget, actor: Actor) -> None:
    """End a budget: it raises no more alerts. Its past periods stay readable.

    Raises:
        Refused: it has ended.
    """
    with act(actor, given.reason):
        budget = _open(number)
        budget.ended_on = ledger_time(timezone.now()).today
        budget.save(update_fields=["ended_on"])


def _open(number: int) -> Budget:
    """A budget that has not ended, locked."""
    budget = Budget.objects.select_for_update().get(pk=number)
    if budget.ended_on:
        raise Refused(f"this budget ended on {budget.ended_on}", RefusalCode.CONFLICT)
    return budget


def _check(budget: Budget) -> None:
    try:
        budget.clean_fields()
    except ValidationError as error:
        texts = [
            f"{name}: {' '.join(said)}" for name, said in error.message_dict.items()
        ]
        raise Refused("; ".join(texts)) from None


def _add_version(
    budget: Budget, given: SetBudget | SetAmount, first: date, actor: Actor
) -> None:
    amount = given.amount
    if not 0 < amount < LARGEST or amount != amount.quantize(PLACES):
        raise Refused(
            f"the amount {amount} must be above 0 and below 10^12, with at most six places",
            member="amount",
        )
    name = actor if isinstance(actor, str) else actor.get_username()
    BudgetVersion.objects.create(
        budget=budget,
        number=budget.versions.count() + 1,
        amount=amount,
        from_on=first,
        set_by=name,
        reason=given.reason,
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
