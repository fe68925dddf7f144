"""Parameters of a query string or a form."""

from django.http import QueryDict


def parameter(values: QueryDict, name: str) -> str:
    """One value; empty if missing."""
    return values.get(name) or ""
