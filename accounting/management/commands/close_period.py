"""`manage.py close_period`."""

from accounting.months.commands.close_period import Command

__all__ = ["Command"]
