"""Parameters of a query string or a form."""

from django.http import QueryDict


def parameter(values: QueryDict, name: str) -> str:
    """One value; empty where it is absent."""
    return values.get(name) or ""
