"""Conversion rates: the list, and the form that sets one; both are declared."""

from accounting.kit.pages.declared import form_page, list_page
from accounting.prices.resource import CONVERSIONS, SET_RATE

rates = list_page(CONVERSIONS, "Conversion rates", "from_currency to_currency on rate")
rate_add = form_page(CONVERSIONS, SET_RATE, to="conversion-rates")
