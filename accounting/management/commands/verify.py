"""`manage.py verify`."""

from accounting.months.commands.verify import Command

__all__ = ["Command"]
