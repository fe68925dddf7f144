"""Applies the section `budgets` of a setup file."""

from accounting.access.models.teams import Team
from accounting.access.reads.billing_settings import billing_day
from accounting.budgets.actions.budgets import (
    SetAmount,
    SetBudget,
    change_budget,
    create_budget,
)
from accounting.budgets.models import Budget
from accounting.budgets.reads.history import ledger_time
from accounting.kit.audit import Actor
from accounting.kit.reads.database_clock import database_now
from accounting.setup.tasks.schema_budgets import BudgetSpec

REASON = "configure"


def set_budget(spec: BudgetSpec, changes: list[str], actor: Actor) -> None:
    """Create a budget, or change its amount; budgets that the file does not contain stay."""
    team = Team.objects.filter(slug=spec.team).first()
    budget = Budget.objects.filter(
        team=team,
        department=spec.department,
        unit=spec.per,
        measure=spec.measure,
        ended_on=None,
    ).first()
    first = billing_day(spec.valid_from) if spec.valid_from else None
    of = spec.team or spec.department
    if budget is None:
        wanted = SetBudget(
            team=team,
            department=spec.department,
            unit=spec.per,
            measure=spec.measure,
            amount=spec.limit,
            from_on=first,
            reason=REASON,
        )
        create_budget(wanted, actor)
        changes.append(f"budget of {of} by {spec.per}")
        return
    last = budget.versions.order_by("number").last()
    if last is not None and last.amount == spec.limit:
        return
    current = ledger_time(database_now()).today
    start = max(first or current, current)
    amount = SetAmount(amount=spec.limit, from_on=start, reason=REASON)
    change_budget(budget.pk, amount, actor)
    changes.append(f"budget of {of} by {spec.per}: {spec.limit}")
