"""Words from an address or a form, fit to be looked up."""

from django.http import QueryDict


def word(values: QueryDict, name: str) -> str:
    """One value; empty where it is absent or has a NUL in it, which PostgreSQL refuses."""
    value = values.get(name) or ""
    return "" if "\0" in value else value
