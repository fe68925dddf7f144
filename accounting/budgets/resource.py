"""Budgets of teams and departments: leads read theirs, finance sets them."""

from django.utils import timezone

from accounting.access.rights import BUDGETS as READ
from accounting.access.rights import SET_BUDGETS
from accounting.access.scope import Scope
from accounting.budgets.actions import budgets as actions
from accounting.budgets.reads.budgets import BudgetRow, budget_row, budget_rows
from accounting.budgets.reads.history import ledger_time
from accounting.kit.resources.resource import Filters, Resource, Verb


def _read(scope: Scope, filters: Filters) -> list[BudgetRow]:
    now = ledger_time(timezone.now())
    return budget_rows(scope, now, teams=filters.get("team", ()))


def _item(scope: Scope, number: int) -> BudgetRow | None:
    return budget_row(scope, ledger_time(timezone.now()), number)


SET = Verb(
    "",
    actions.set_budget,
    actions.SetBudget,
    SET_BUDGETS,
    "Create a budget (201), or change the amount of the same one (200).",
)
END = Verb(
    "end",
    actions.end_budget,
    actions.EndBudget,
    SET_BUDGETS,
    "End a budget: it raises no more alerts, and its past periods stay readable.",
    done="The budget of {row.name} has ended.",
)
CREATE = Verb(
    "new",
    actions.create_budget,
    actions.SetBudget,
    SET_BUDGETS,
    "Set a budget of a team or a department.",
    done="The budget is saved.",
)
CHANGE = Verb(
    "change",
    actions.change_budget,
    actions.SetAmount,
    SET_BUDGETS,
    "Another amount from a period on; earlier periods keep theirs.",
    done="The amount is saved.",
)
BUDGETS = Resource(
    "budgets",
    BudgetRow,
    READ,
    _read,
    item=_item,
    about="List budgets in their current period: all, or those of the teams that one leads.",
    filters=("team",),
    verbs=(SET, END),
)
