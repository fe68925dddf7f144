"""Every declared list of this app."""

from accounting.resources.budgets import BUDGETS

RESOURCES = (BUDGETS,)
