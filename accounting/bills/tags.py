"""Words of bills on pages."""

from django import template

from accounting.bills.rules.words import TITLES

register = template.Library()


@register.filter
def bill_word(word: str) -> str:
    """The heading of rows of a bill, by the word that the API and files have."""
    return TITLES.get(word, word.replace("_", " ").capitalize())
