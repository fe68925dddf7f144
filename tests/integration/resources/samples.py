"""Items of each declared list, and what its verbs take: the contract test asks about these."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from accounting.actions.finance.budgets import SetBudget, create_budget
from accounting.audit import SYSTEM
from accounting.models import Team

REASON = "Agreed in the round of November."


@dataclass(frozen=True)
class Sample:
    """One list.

    Attributes:
        make: stores items, at least two; returns the number of one of vision.
        bodies: by verb, what may be sent once for that item.
        may: by verb, a person who may; finance without an entry.
    """

    make: Callable[[], int]
    bodies: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    may: Mapping[str, str] = field(default_factory=dict)


def _budgets() -> int:
    amount = Decimal(20_000)
    search = SetBudget(
        team=Team.objects.get(slug="search"), amount=amount, reason=REASON
    )
    vision = SetBudget(
        team=Team.objects.get(slug="vision"), amount=amount, reason=REASON
    )
    create_budget(search, SYSTEM)
    return create_budget(vision, SYSTEM).number


SAMPLES = {
    "budgets": Sample(
        _budgets,
        bodies={
            "": {"team": "vision", "amount": "21000", "reason": REASON},
            "end": {"reason": REASON},
        },
    ),
}
