"""Words from an address or a form, fit to be looked up."""

from django.http import QueryDict


def word(values: QueryDict, name: str) -> str:
    """One value; empty where it is absent."""
    return values.get(name) or ""
