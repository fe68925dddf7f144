"""The sentence with which the page of a team begins."""

from collections.abc import Sequence

from accounting.budgets.pages.budget_lines import MonthCard
from accounting.kit.tags import units
from accounting.usage.pages.family_lines import FamilyUseLine
from accounting.usage.pages.lede import causes_of, spend_lede
from accounting.usage.pages.page_state import PageState
from accounting.usage.reads.breakdown import Breakdown
from accounting.usage.rules.sentence import MonthBudget, Sentence, budget_sentence


def team_lede(
    state: PageState,
    found: Breakdown,
    missing: Sequence[object],
    families: Sequence[FamilyUseLine],
    month: MonthCard,
    *,
    who: str,
) -> list[Sentence]:
    """What the team spent and mostly for which family, how much was idle, and its budget.

    An earlier range is not followed by the budget of this month.
    """
    named = [line for line in families if line.row.key["family"]]
    told = spend_lede(state, found, missing, who, causes_of(named))
    if state.days.after <= month.outlook.period.first:
        return told
    return [*told, budget_sentence(_budget(month))]


def _budget(month: MonthCard) -> MonthBudget | None:
    """The budget of the card beside the sentence."""
    outlook = month.outlook
    if month.budget is None:
        return None
    return MonthBudget(
        month=outlook.period.first,
        amount=month.budget.amount,
        actual=outlook.actual,
        forecast=outlook.forecast.amount if outlook.forecast else None,
        is_partial=bool(outlook.without_money_ms),
        money=lambda amount: units.quantity(amount, month.currency),
    )
