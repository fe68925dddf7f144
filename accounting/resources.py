"""Every declared list of this app."""

from accounting.resources.budgets import BUDGETS
from accounting.resources.clusters import CLUSTERS
from accounting.resources.contests import CONTESTS
from accounting.resources.conversions import CONVERSIONS
from accounting.resources.price_lists import PRICE_LISTS

RESOURCES = (BUDGETS, CLUSTERS, CONTESTS, CONVERSIONS, PRICE_LISTS)
