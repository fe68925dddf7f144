"""Every declared list of this app."""

from accounting.resources.budgets import BUDGETS
from accounting.resources.contests import CONTESTS

RESOURCES = (BUDGETS, CONTESTS)
