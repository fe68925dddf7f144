"""Checks of a close that subjects above months do: each registers what reads its causes."""

from collections.abc import Callable, Sequence

from accounting.months.rules.close_checks import Cause
from accounting.months.tasks.periods import PeriodTerms

REGISTERED: dict[str, Callable[[PeriodTerms], Sequence[Cause]]] = {}
"""By code; filled when the app starts (`accounting/apps.py`)."""
