"""`manage.py correct`."""

from accounting.months.commands.correct import Command

__all__ = ["Command"]
