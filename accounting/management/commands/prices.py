"""`manage.py prices`."""

from accounting.prices.commands.prices import Command

__all__ = ["Command"]
