"""`manage.py reopen_period`."""

from accounting.months.commands.reopen_period import Command

__all__ = ["Command"]
