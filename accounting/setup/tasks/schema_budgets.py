"""The section `budgets` of the setup file."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, model_validator

from accounting.budgets.models import BudgetMeasure
from accounting.setup.tasks.fields import (
    Instant,
    Note,
    Number,
    Section,
    existing,
    fault,
    refuse_second,
)

Amount = Annotated[Decimal, Field(gt=0, lt=10**12, decimal_places=6), Number]


class BudgetSpec(Section):
    """A budget of a team or a department, in money or in GPU-hours."""

    team: Annotated[Note, existing("team", "add it under `teams`")] = ""
    department: Annotated[Note, existing("department", "known: {known}")] = ""
    per: Literal["month", "quarter", "year"] = "month"
    amount: Amount | None = None  # in the billing currency
    gpu_hours: Amount | None = None
    valid_from: Instant | None = None  # in the first period; default: the current one

    @property
    def measure(self) -> str:
        """Money or GPU-hours, by the key that is set."""
        return BudgetMeasure.MONEY if self.amount else BudgetMeasure.GPU_HOURS

    @property
    def limit(self) -> Decimal:
        """The amount, in either measure."""
        return self.amount or self.gpu_hours or Decimal(0)

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> "BudgetSpec":
        if bool(self.team) == bool(self.department):
            raise fault("give exactly one of team, department", "team")
        if (self.amount is None) == (self.gpu_hours is None):
            raise fault("give exactly one of amount, gpu_hours", "amount")
        key = ("budget", self.team, self.department, self.per, self.measure)
        refuse_second(info, key, "duplicate budget", "team")
        return self
