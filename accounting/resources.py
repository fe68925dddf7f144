"""Every declared list of this app."""

from accounting.budgets.resource import BUDGETS
from accounting.fleet.resource import CLUSTERS
from accounting.months.resource import CONTESTS, METHODS
from accounting.prices.resource import CONVERSIONS, PRICE_LISTS

RESOURCES = (BUDGETS, CLUSTERS, CONTESTS, CONVERSIONS, METHODS, PRICE_LISTS)
